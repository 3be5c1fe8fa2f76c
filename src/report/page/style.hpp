// The style sheet of the report. Text has a contrast of at least 4.5 to 1 in both color schemes.
// Verdicts also differ by word and symbol, so no information depends on color.
#pragma once

namespace ranklab {

inline constexpr const char* html_style = R"css(
:root { color-scheme: light dark; --text: #1b1f24; --soft: #4d5661; --page: #ffffff; --panel: #f4f6f8; --rule: #c9d0d8;
  --link: #0b57a4; --holds: #0f6b2f; --fails: #a8200d; --missed: #8a4b00; --misprint: #6a2c91; --warn: #fff1d6; --warn-rule: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ed; --soft: #aeb7c2; --page: #14181d; --panel: #1f252c; --rule: #424c58;
    --link: #82bdff; --holds: #6fd08c; --fails: #ff9d8a; --missed: #f0b45a; --misprint: #d3a6f2; --warn: #3b2a0c; --warn-rule: #e0a040; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: .75rem 1rem 2rem; background: var(--page); color: var(--text);
  font: .86rem/1.37 system-ui, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
h2 { font-size: 1.1rem; margin: 1rem 0 .35rem; padding-top: .35rem; border-top: 2px solid var(--rule); line-height: 1.3; font-weight: 600; }
h3 { font-size: .89rem; margin: 0 0 .25rem; line-height: 1.25; }
p, ul, dl { margin: .25rem 0; }
ul { padding-left: 1.2rem; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .86em; }
pre { margin: .3rem 0 0; padding: .3rem .5rem; background: var(--panel); border-radius: 4px; white-space: pre-wrap; line-height: 1.3; }
small, .facts, .evidence { color: var(--soft); font-size: .88em; }
.facts { margin: .1rem 0; }
.changed { color: var(--fails); font-weight: 600; overflow-wrap: anywhere; }
sub, sup { line-height: 0; font-size: .75em; }
h2.plain { border: 0; padding: 0; margin: .5rem 0 .2rem; font-size: .95rem; }
h4 { font-size: .86rem; margin: .5rem 0 .15rem; }
.first { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .2rem 2rem; align-items: start; }
.first > p, .contents { font-size: 1.02em; }
.contents { list-style: none; padding: 0; line-height: 1.55; }
.contents li { padding-left: 1rem; text-indent: -1rem; }
.findings { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 0 1.6rem; }
.findings ul { list-style: none; padding: 0; }
.findings li { display: flex; gap: .6rem; align-items: center; margin: .3rem 0; }
.findings li > span { flex: 1 1 8rem; }
.thumbnail { flex: 0 0 auto; background: #ffffff; border: 1px solid var(--rule); border-radius: 4px; line-height: 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 32rem), 1fr)); gap: .5rem 2rem; align-items: start; }
.columns > * { min-width: 0; }
.symbols { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: .4rem 2rem; }
.symbols dt { font-weight: 600; display: inline; margin-right: .4rem; }
.symbols dd { margin: 0; display: inline; }
table { border-collapse: collapse; width: 100%; font-size: .92em; }
table.compact { width: auto; min-width: 50%; }
caption { text-align: left; color: var(--soft); padding: .3rem 0 .1rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--rule); font-weight: normal; }
thead th { font-weight: 600; white-space: nowrap; }
tr.paper th { font-weight: 600; padding-top: .5rem; }
tfoot td, tfoot th { border-bottom: 0; border-top: 2px solid var(--rule); }
table.overview { font-size: .86em; line-height: 1.25; }
table.overview caption { font-weight: 600; }
table.overview thead th { white-space: normal; }
table.overview td, table.overview th { padding: .08rem .4rem .08rem 0; }
table.kinds { width: auto; }
table.kinds th, table.kinds td { padding-right: .8rem; }
table.claims { line-height: 1.3; }
table.claims td { border: 0; padding-bottom: 0; }
table.claims td:first-child { white-space: nowrap; width: 8.5rem; }
table.claims td:nth-child(3) { width: 15rem; }
table.claims td:nth-child(4) { width: 9rem; }
table.claims tr.fine td { color: var(--soft); font-size: .86em; padding: 0 .6rem .25rem 9rem; border-bottom: 1px solid var(--rule); white-space: normal; width: auto; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: var(--holds); }
.fails { color: var(--fails); }
.missed { color: var(--missed); }
.misprint { color: var(--misprint); }
.undecided, .not-applicable { color: var(--soft); }
.warning { margin: .25rem 0; padding: .15rem .5rem; font-size: .92em; background: var(--warn); border-left: 5px solid var(--warn-rule); }
.result { display: flex; flex-wrap: wrap; gap: .1rem 1.4rem; align-items: flex-start; margin: 0 0 1rem; scroll-margin-top: .5rem; }
.result > h3, .result > .folds { flex: 0 0 100%; min-width: 0; }
.result > .text { flex: 1 1 17rem; min-width: 0; }
.picture { margin: 0; max-width: 100%; overflow-x: auto; background: #ffffff; border: 1px solid var(--rule); border-radius: 4px; }
.picture svg { display: block; }
.lines { list-style: none; padding: 0; }
.lines li { margin: .15rem 0; }
.text { line-height: 1.32; }
.folds { display: flex; flex-wrap: wrap; gap: 0 .9rem; align-items: baseline; font-size: .96em; }
.folds > * { flex: 0 0 100%; min-width: 0; }
.folds > details:not([open]) { flex: 0 0 auto; max-width: 100%; font-size: .94em; }
details { margin: .1rem 0; }
details[open] { overflow-x: auto; }
table.compact td, pre, .text code, .fine code { overflow-wrap: anywhere; }
summary { cursor: pointer; }
@media (max-width: 640px) {
  body { padding: .6rem .85rem 2rem; font-size: 1rem; }
  table.cards thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  table.cards, table.cards caption, table.cards tbody, table.cards tr, table.cards th, table.cards td { display: block; width: auto !important; }
  table.cards tr { border: 1px solid var(--rule); border-radius: 6px; padding: .3rem .7rem; margin: .6rem 0; }
  table.cards tr.paper { border: 0; padding: 0; }
  table.cards th, table.cards td { border: 0; padding: .2rem 0; }
  table.cards td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
  .first { display: block; }
  .findings li { flex-wrap: wrap; }
  table.claims, table.claims tbody, table.claims tr, table.claims td { display: block; width: auto !important; white-space: normal !important; }
  table.claims caption { display: block; }
  table.claims thead { display: none; }
  table.claims tr.fine td { padding-left: 0; }
  table.claims td:nth-child(3):not(:empty)::before { content: "Measured: "; color: var(--soft); }
  table.claims td:nth-child(4):not(:empty)::before { content: "Expected: "; color: var(--soft); }
  table.overview thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  table.overview, table.overview caption, table.overview tbody, table.overview tfoot { display: block; }
  table.overview tr { display: flex; flex-wrap: wrap; gap: 0 .8rem; border-bottom: 1px solid var(--rule); padding: .2rem 0; }
  table.overview th { flex: 0 0 100%; }
  table.overview th, table.overview td { border: 0; padding: 0; }
  table.overview td[data-label]::before { content: attr(data-label) " "; color: var(--soft); }
  table.compact { width: 100%; }
  td.number { white-space: normal; }
  math { font-size: .95em; }
  .symbols dd { overflow-x: auto; }
}
@media print {
  @page { margin: 12mm; }
  :root { color-scheme: light; --text: #000000; --soft: #333333; --page: #ffffff; --panel: #ffffff; --rule: #888888; --link: #000000;
    --holds: #000000; --fails: #000000; --missed: #000000; --misprint: #000000; --warn: #ffffff; --warn-rule: #000000; }
  body { max-width: none; padding: 0; font-size: 8.5pt; }
  .columns { display: block; }
  .result { display: block; margin-bottom: .6rem; }
  .picture { border: 0; overflow: visible; }
  .picture svg { max-width: 92%; height: auto; max-height: 20cm; }
  table.claims { font-size: 7.5pt; }
  details.notes::details-content, details.printed::details-content { content-visibility: visible; block-size: auto; }
  h2, .picture, tr, .warning, pre, .text > p { break-inside: avoid; }
  h2, h3, caption, .picture { break-after: avoid; }
  .fails { text-decoration: underline; }
}
)css";

}  // namespace ranklab
