// The style sheet of the report. Text keeps a contrast of at least 4.5 to 1 in both schemes; verdicts also differ by word and
// symbol, so nothing depends on colour.
#pragma once

namespace ranklab {

inline constexpr const char* html_style = R"css(
:root { color-scheme: light dark; --text: #1b1f24; --soft: #4d5661; --page: #ffffff; --panel: #f4f6f8; --rule: #c9d0d8;
  --link: #0b57a4; --holds: #0f6b2f; --fails: #a8200d; --warn: #fff1d6; --warn-rule: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ed; --soft: #aeb7c2; --page: #14181d; --panel: #1f252c; --rule: #424c58;
    --link: #82bdff; --holds: #6fd08c; --fails: #ff9d8a; --warn: #3b2a0c; --warn-rule: #e0a040; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.25rem 3rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; margin: .5rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; padding-top: .75rem; border-top: 2px solid var(--rule); line-height: 1.3; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .4rem; }
a { color: var(--link); }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .88em; }
pre { margin: 0; padding: .5rem .7rem; background: var(--panel); border-radius: 4px; white-space: pre-wrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
table.compact { width: auto; min-width: 50%; }
caption { text-align: left; color: var(--soft); padding: .2rem 0; }
th, td { text-align: left; vertical-align: top; padding: .4rem .7rem .4rem 0; border-bottom: 1px solid var(--rule); font-weight: normal; }
tbody th, tbody td { overflow-wrap: anywhere; }
thead th { font-weight: 600; white-space: nowrap; }
td.number { font-variant-numeric: tabular-nums; overflow-wrap: normal; }
@media (min-width: 641px) { td.number { white-space: nowrap; } }
small { color: var(--soft); font-size: .88em; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: var(--holds); }
.fails { color: var(--fails); }
.open { color: var(--soft); }
.warning { margin: .6rem 0; padding: .6rem .8rem; background: var(--warn); border-left: 5px solid var(--warn-rule); }
.figure { overflow-x: auto; background: #ffffff; border: 1px solid var(--rule); border-radius: 4px; padding: .4rem; text-align: center; }
details { margin: .4rem 0; }
summary { cursor: pointer; padding: .2rem 0; }
.back { font-size: .9rem; margin-top: 1rem; }
@media (max-width: 640px) {
  body { padding: .75rem .85rem 2rem; }
  .figure svg { max-width: none !important; width: 44rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .4rem; }
  table.cards thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  table.cards, table.cards caption, table.cards tbody, table.cards tr, table.cards th, table.cards td { display: block; width: auto; }
  table.cards tr { border: 1px solid var(--rule); border-radius: 6px; padding: .3rem .7rem; margin: .6rem 0; }
  table.cards th, table.cards td { border: 0; padding: .2rem 0; }
  table.cards td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
  table.compact { width: 100%; }
}
@media print {
  :root { color-scheme: light; --text: #000000; --soft: #333333; --page: #ffffff; --panel: #ffffff; --rule: #888888; --link: #000000;
    --holds: #000000; --fails: #000000; --warn: #ffffff; --warn-rule: #000000; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .figure, tr, .warning, pre { break-inside: avoid; }
  .figure { overflow: visible; border: 0; padding: 0; }
  h2, h3, caption { break-after: avoid; }
  .fails { text-decoration: underline; }
  .back { display: none; }
}
)css";

}  // namespace ranklab
