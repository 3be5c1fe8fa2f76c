#include "page/paper_view.hpp"

#include <algorithm>
#include <numeric>

#include "core/text.hpp"
#include "figure/text.hpp"
#include "judge/catalog.hpp"
#include "judge/published.hpp"
#include "page/claim_table.hpp"
#include "page/evidence.hpp"
#include "page/prose.hpp"
#include "page/text.hpp"

namespace ranklab {
namespace {

// A page of fewer results of a paper than this, and than its presets, shows only the statements
// that they judge.
constexpr std::ptrdiff_t results_of_a_survey = 3;

std::ptrdiff_t presets_of(std::size_t paper) {
  return std::ranges::count_if(published_results(), [&](const ResultFile& result) {
    return result.source && paper_of(result.source->paper) == paper;
  });
}

Markup symbol_of(StatementVerdict verdict) {
  return escape_markup(words_of(verdict).symbol);
}

Markup name_of(const PaperView& view) {
  return escape_markup(view.paper->key);
}

Markup derivation_html(const Markup& summary, const std::vector<std::string>& derivation) {
  std::vector<Markup> lines;
  for (const std::string& line : derivation) lines.push_back(prose(line));
  return "<details class=\"derivation\"><summary>" + summary + "</summary>" +
         joined(lines, "<br>") + "</details>";
}

Markup slips_html(const PaperStatement& entry) {
  Markup out, notation;
  for (const Slip& slip : entry.slips) {
    if (slip.is_notation()) {
      notation += " " + prose(sentence_of(slip));
      continue;
    }
    out += "<br>" + prose(sentence_of(slip)) + " <small>(" +
           escape_markup(words_of(slip.consequence)) + ")</small>" +
           (slip.answer.empty() ? Markup() : " The authors: " + prose(slip.answer)) +
           derivation_html("derivation", slip.derivation);
  }
  return notation.empty() ? out : out + "<br>Notation:" + notation;
}

Markup names_html(const std::vector<const JudgedStatement*>& statements) {
  std::vector<Markup> links;
  for (const JudgedStatement* each : statements)
    links.push_back(link_to(anchor_of(*each->entry), prose(each->entry->name)));
  return joined(links);
}

Markup uses_html(const JudgedStatement& statement, const PaperView& view) {
  const auto [uses, users] = neighbors_of(statement, view);
  return (uses.empty() ? Markup() : "<br><small>Uses " + names_html(uses) + "</small>") +
         (users.empty() ? Markup() : "<br><small>Used by " + names_html(users) + "</small>");
}

Markup row_html(const JudgedStatement& statement, const PaperView& view,
                const std::vector<Entry>& entries) {
  const PaperStatement& entry = *statement.entry;
  const Markup reason = prose(reason_of(statement));
  std::vector<Markup> results;
  for (const auto& [result, claims] : results_of(statement))
    results.push_back(link_to(entries[result].anchor, link_name(*entries[result].result)) +
                      claims_in_brackets<Markup>(claims));
  Markup says = prose(entry.says), found = prose(statement.evidence());
  if (!entry.hypotheses.empty())
    says += " <small>Hypotheses: " + prose(entry.hypotheses) + "</small>";
  if (!entry.shows.empty()) {
    says += " <small>The paper shows: " + prose(entry.shows) + "</small>";
    found += (found.empty() ? Markup() : "<br>") + "Seen here: " + prose(entry.seen) +
             (entry.differs.empty() ? Markup() : " Why they differ: " + prose(entry.differs));
  }
  if (!entry.scale.empty()) found += (found.empty() ? Markup() : "; ") + prose(entry.scale);
  if (!results.empty()) found += (found.empty() ? Markup() : "<br>") + joined(results);
  return "<tr id=\"" + anchor_of(entry) + "\"><th scope=row>" + prose(entry.name) +
         (entry.name.starts_with("Section") || entry.name.starts_with("Appendix")
              ? ""
              : " <small>" + escape_markup(entry.section) + "</small>") +
         "<td>" + says + "<td>" + verdict_html(statement) +
         (reason.empty() ? "" : "<br>" + reason) + slips_html(entry) +
         (entry.proof.empty() ? Markup() : derivation_html("why it is true", entry.proof)) +
         uses_html(statement, view) + "<td>" + found + "</tr>\n";
}

Markup counts_row_html(const Markup& name, const VerdictCounts& counts) {
  Markup out = "<tr><th scope=row>" + name + "</th>";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const VerdictGroup& group = groups_of_verdicts[i];
    out += cell(escape_markup(group.words),
                counts[i] == 0 ? "0"
                               : colored(words_of(group.verdict).color,
                                         symbol_of(group.verdict) + Markup::number(counts[i])));
  }
  return out + "</tr>\n";
}

std::size_t total(const VerdictCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

VerdictCounts sum_of(const std::vector<PaperView>& views) {
  VerdictCounts out{};
  for (const PaperView& view : views) {
    const VerdictCounts counts = count_numbered(view.statements);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += counts[i];
  }
  return out;
}

}  // namespace

std::string reason_of(const JudgedStatement& statement) {
  if (statement.verdict != StatementVerdict::not_judged) return "";
  if (!statement.entry->not_judged.empty()) return statement.entry->not_judged;
  for (const auto& [claim, result] : statement.claims) {
    if (claim->verdict == Verdict::not_applicable && claim->judged_in.empty() && !claim->undecided)
      return claim->detail;
  }
  return statement.claims.empty() ? "no result here judges it" : "";
}

std::string sentence_of(const Slip& slip) {
  return slip.where == "statement" ? slip.says : "In the " + slip.where + ": " + slip.says;
}

std::map<std::size_t, std::size_t> results_of(const JudgedStatement& statement) {
  std::map<std::size_t, std::size_t> claims, inapplicable;
  for (const auto& [claim, result] : statement.claims) {
    if (!claim->judged_in.empty()) continue;
    ++(standing_of(*claim) == Standing::not_applicable ? inapplicable : claims)[result];
  }
  return claims.empty() ? inapplicable : claims;
}

std::vector<PaperView> surveys_of(const std::vector<Entry>& entries) {
  std::vector<PaperView> out;
  for (std::size_t i = 0; i < papers().size(); ++i) {
    PaperView view{&papers()[i], judge_statements(papers()[i], judges_of(entries))};
    const bool any = std::ranges::any_of(view.statements, [](const JudgedStatement& statement) {
      return !statement.claims.empty();
    });
    const bool is_source = std::ranges::count(entries, i, &Entry::paper) > 0;
    if (any || is_source) out.push_back(std::move(view));
  }
  return out;
}

std::vector<PaperView> views_of(const std::vector<Entry>& entries) {
  std::vector<PaperView> out = surveys_of(entries);
  for (PaperView& view : out) {
    const std::size_t paper = paper_of(view.paper->key);
    const auto results = std::ranges::count(entries, paper, &Entry::paper);
    if (results < results_of_a_survey && results < presets_of(paper))
      std::erase_if(view.statements,
                    [](const JudgedStatement& statement) { return statement.claims.empty(); });
  }
  std::erase_if(out, [](const PaperView& view) { return view.statements.empty(); });
  return out;
}

Neighbors neighbors_of(const JudgedStatement& statement, const PaperView& view) {
  const auto names = [](const PaperStatement& a, const PaperStatement& b) {
    return std::ranges::find(a.uses, b.id) != a.uses.end();
  };
  Neighbors out;
  for (const JudgedStatement& other : view.statements) {
    if (names(*statement.entry, *other.entry)) out.uses.push_back(&other);
    if (names(*other.entry, *statement.entry)) out.users.push_back(&other);
  }
  return out;
}

PageAnchor anchor_of(const PaperStatement& statement) {
  return PageAnchor(statement.id);
}

Markup verdict_html(const JudgedStatement& statement) {
  return colored(words_of(statement.verdict).color, symbol_of(statement.verdict)) + " <b>" +
         prose(statement.words()) + "</b>";
}

Markup counts_html(const std::vector<PaperView>& views) {
  const VerdictCounts all = sum_of(views);
  if (total(all) == 0) return {};
  std::vector<Markup> names = {"Numbered statements"};
  for (const VerdictGroup& group : groups_of_verdicts)
    names.push_back(escape_markup(capitalized(group.words)));
  Markup out = table_start(
                   "Numbered statements of each paper: theorems, lemmas, propositions, "
                   "corollaries, remarks, "
                   "examples",
                   names, "overview kinds") +
               "<tbody>\n";
  for (const PaperView& view : views) {
    const VerdictCounts counts = count_numbered(view.statements);
    out += counts_row_html("<a href=\"#" + escape_markup(view.paper->anchor) + "\">" +
                               name_of(view) + "</a>, " + Markup::number(total(counts)),
                           counts);
  }
  return out + "</tbody>\n<tfoot>" + counts_row_html("all " + Markup::number(total(all)), all) +
         "</tfoot></table>\n";
}

Markdown counts_markdown(const std::vector<PaperView>& views) {
  std::vector<Markdown> head = {"numbered statements"};
  Markdown rule = "|---";
  for (const VerdictGroup& group : groups_of_verdicts) {
    head.push_back(on_one_line(symbol_of(group.verdict) + " " + escape_markup(group.words)));
    rule += "|--:";
  }
  Markdown out = table_row(head) + rule + "|\n";
  const auto row = [&](const Markup& name, const VerdictCounts& counts) {
    std::vector<Markdown> cells = {on_one_line(name) + ", " + Markdown::number(total(counts))};
    for (const std::size_t n : counts) cells.push_back(n == 0 ? "" : Markdown::number(n));
    out += table_row(cells);
  };
  for (const PaperView& view : views) row(name_of(view), count_numbered(view.statements));
  row("all", sum_of(views));
  return out;
}

Markup false_statements_html(const std::vector<PaperView>& views) {
  Markup out;
  for (const PaperView& view : views) {
    for (const auto& [entry, slip] : false_statements(view.statements)) {
      out += "<li><a href=\"#" + anchor_of(*entry) + "\">" + name_of(view) + " " +
             prose(entry->name) + "</a>" + " (" + escape_markup(short_words_of(slip->how())) + ")" +
             ": " + prose(slip->says) + "</li>\n";
    }
  }
  return out.empty() ? ""
                     : "<h2 class=\"plain\">Numbered statements that are false as printed</h2>\n"
                       "<ul class=\"lines\">\n" +
                           out + "</ul>\n";
}

Markup views_html(const std::vector<PaperView>& views, const std::vector<Entry>& entries) {
  Markup out;
  for (const PaperView& view : views) {
    const Paper& paper = *view.paper;
    const std::string versions = versions_read(paper);
    out += "<h2 id=\"" + escape_markup(paper.anchor) + "\">" + citation_html(paper) + "</h2>\n" +
           (versions.empty() ? Markup()
                             : "<p>" + escape_markup(capitalized(versions)) +
                                   ": what is said here need not hold for it.</p>\n") +
           table_start("What the paper says, and what was found",
                       {"Statement", "Says", "Verdict", "Evidence"}, "cards statements") +
           "<tbody>\n";
    for (const JudgedStatement& statement : view.statements)
      out += row_html(statement, view, entries);
    out += "</tbody></table>\n";
  }
  return out;
}

Markup citation_html(const Paper& paper) {
  return "<b>" + escape_markup(paper.key) + "</b> " + escape_markup(paper.authors) + ", <cite>" +
         escape_markup(paper.title) + "</cite>, <a href=\"https://arxiv.org/abs/" +
         escape_markup(paper.number()) + "\">" + escape_markup(paper.version) + "</a>";
}

}  // namespace ranklab
