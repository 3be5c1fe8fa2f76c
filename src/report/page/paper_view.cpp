#include "report/page/paper_view.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/text.hpp"
#include "report/catalog.hpp"
#include "report/figure/text.hpp"
#include "report/page/claim_table.hpp"
#include "report/page/evidence.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"

namespace ranklab {
namespace {

// A page of fewer results of a paper shows only the statements that they judge.
constexpr std::ptrdiff_t results_of_a_survey = 3;

const char* class_of(StatementVerdict verdict) {
  return words_of(words_of(verdict).color).name;
}

// Why a statement has no verdict.
std::string reason_of(const JudgedStatement& statement) {
  if (statement.verdict != StatementVerdict::not_judged) return "";
  if (!statement.entry->not_judged.empty()) return statement.entry->not_judged;
  for (const auto& [claim, result] : statement.claims) {
    if (claim->verdict == Verdict::not_applicable && claim->judged_in.empty() && !claim->undecided)
      return claim->detail;
  }
  return statement.claims.empty() ? "no result here judges it" : "";
}

std::string place_of(const Slip& slip) {
  return slip.where == "statement" ? "" : "in the " + slip.where + ": ";
}

std::string slips_html(const JudgedStatement& statement) {
  std::string out;
  for (const Slip& slip : statement.entry->slips) {
    std::vector<std::string> lines;
    for (const std::string& line : slip.derivation) lines.push_back(prose(line));
    out += "<br>" + capitalized(place_of(slip)) + prose(slip.says) +
           "<details class=\"derivation\"><summary>derivation</summary>" + joined(lines, "<br>") +
           "</details>";
  }
  return out;
}

// The results that judge a statement, with the number of claims in each, as links.
template <class Link>
std::string results_of(const JudgedStatement& statement, const Link& link) {
  std::map<std::size_t, std::size_t> claims, inapplicable;
  for (const auto& [claim, result] : statement.claims) {
    if (!claim->judged_in.empty()) continue;
    ++(standing_of(*claim) == Standing::not_applicable ? inapplicable : claims)[result];
  }
  if (claims.empty()) claims = inapplicable;
  std::vector<std::string> links;
  for (const auto& [result, n] : claims)
    links.push_back(link(result) + (n > 1 ? " (" + std::to_string(n) + " claims)" : ""));
  return joined(links);
}

std::string row_html(const JudgedStatement& statement, const std::vector<Entry>& entries) {
  const PaperStatement& entry = *statement.entry;
  const std::string reason = reason_of(statement), evidence = statement.evidence(),
                    results = results_of(statement, [&](std::size_t result) {
                      return link_to(entries[result], link_name(*entries[result].result));
                    });
  std::string says = prose(entry.says);
  if (!entry.hypotheses.empty())
    says += " <small>Hypotheses: " + prose(entry.hypotheses) + "</small>";
  std::string found = prose(evidence);
  if (!entry.scale.empty()) found += (found.empty() ? "" : "; ") + prose(entry.scale);
  if (!results.empty()) found += (found.empty() ? "" : "<br>") + results;
  return "<tr id=\"" + anchor_of(entry) + "\"><th scope=row>" + prose(entry.name) +
         (entry.name.starts_with("Section") || entry.name.starts_with("Appendix")
              ? ""
              : " <small>" + escape_markup(entry.section) + "</small>") +
         "<td>" + says + "<td>" + verdict_html(statement) +
         (reason.empty() ? "" : "<br>" + prose(reason)) + slips_html(statement) + "<td>" + found +
         "</tr>\n";
}

std::string counts_row_html(const std::string& name, const VerdictCounts& counts) {
  std::string out = "<tr><th scope=row>" + name + "</th>";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const VerdictGroup& group = groups_of_verdicts[i];
    out += cell(group.words,
                counts[i] == 0 ? "0"
                               : colored(class_of(group.verdict), words_of(group.verdict).symbol +
                                                                      std::to_string(counts[i])),
                "number");
  }
  return out + "</tr>\n";
}

std::size_t total(const VerdictCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

VerdictCounts sum_of(const std::vector<PaperView>& views) {
  VerdictCounts out{};
  for (const PaperView& view : views) {
    const VerdictCounts own = count_numbered(view.statements);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += own[i];
  }
  return out;
}

std::string markdown(const std::string& text) {
  std::string out;
  for (const char c : prose(text)) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

std::vector<PaperView> views_of(const std::vector<Entry>& entries) {
  std::vector<PaperView> out;
  for (std::size_t i = 0; i < papers().size(); ++i) {
    PaperView view{&papers()[i], judge_statements(papers()[i], claims_of(entries))};
    const auto results = std::count_if(entries.begin(), entries.end(),
                                       [&](const Entry& entry) { return entry.paper == i; });
    if (results < results_of_a_survey)
      std::erase_if(view.statements,
                    [](const JudgedStatement& statement) { return statement.claims.empty(); });
    if (!view.statements.empty()) out.push_back(std::move(view));
  }
  return out;
}

std::string anchor_of(const PaperStatement& statement) {
  std::string out = statement.id;
  std::replace(out.begin(), out.end(), '/', '-');
  return out;
}

std::string verdict_html(const JudgedStatement& statement) {
  return colored(class_of(statement.verdict), words_of(statement.verdict).symbol) + " <b>" +
         prose(statement.words()) + "</b>";
}

std::string counts_html(const std::vector<PaperView>& views) {
  std::vector<std::string> names = {"Numbered statements"};
  for (const VerdictGroup& group : groups_of_verdicts) names.push_back(capitalized(group.words));
  std::string out = table_start(
      "Numbered statements of each paper: theorems, lemmas, propositions, corollaries, remarks, "
      "examples",
      names, "overview kinds");
  for (const PaperView& view : views) {
    const VerdictCounts counts = count_numbered(view.statements);
    out += counts_row_html("<a href=\"#" + view.paper->anchor + "\">" + view.paper->key + "</a>, " +
                               std::to_string(total(counts)),
                           counts);
  }
  const VerdictCounts all = sum_of(views);
  return out + "</tbody>\n<tfoot>" + counts_row_html("all " + std::to_string(total(all)), all) +
         "</tfoot></table>\n";
}

std::string counts_markdown(const std::vector<PaperView>& views) {
  std::string head = "| numbered statements", rule = "|---";
  for (const VerdictGroup& group : groups_of_verdicts) {
    head += std::string(" | ") + words_of(group.verdict).symbol + " " + group.words;
    rule += "|--:";
  }
  std::string out = head + " |\n" + rule + "|\n";
  const auto row = [&](const std::string& name, const VerdictCounts& counts) {
    out += "| " + name + ", " + std::to_string(total(counts));
    for (const std::size_t n : counts) out += " | " + (n == 0 ? std::string() : std::to_string(n));
    out += " |\n";
  };
  for (const PaperView& view : views) row(view.paper->key, count_numbered(view.statements));
  row("all", sum_of(views));
  return out;
}

std::string false_statements_html(const std::vector<PaperView>& views) {
  std::string out;
  for (const PaperView& view : views) {
    for (const auto& [entry, slip] : false_statements(view.statements)) {
      out += "<li><a href=\"#" + anchor_of(*entry) + "\">" + view.paper->key + " " +
             prose(entry->name) + "</a>" + (slip->is_typo() ? " (typo or constant)" : "") + ": " +
             prose(slip->says) + "</li>\n";
    }
  }
  return out.empty() ? ""
                     : "<h2 class=\"plain\">Numbered statements that are false as printed</h2>\n"
                       "<ul class=\"lines\">\n" +
                           out + "</ul>\n";
}

std::string views_html(const std::vector<PaperView>& views, const std::vector<Entry>& entries) {
  std::string out;
  for (const PaperView& view : views) {
    const Paper& paper = *view.paper;
    out += "<h2 id=\"" + paper.anchor + "\">" + citation_html(paper) + "</h2>\n" +
           table_start("What the paper says, and what was found",
                       {"Statement", "Says", "Verdict", "Evidence"}, "cards statements");
    for (const JudgedStatement& statement : view.statements) out += row_html(statement, entries);
    out += "</tbody></table>\n";
  }
  return out;
}

std::string citation_html(const Paper& paper) {
  return "<b>" + paper.key + "</b> " + paper.authors + ", <cite>" + escape_markup(paper.title) +
         "</cite>, <a href=\"https://arxiv.org/abs/" +
         paper.version.substr(paper.version.find(':') + 1) + "\">" + paper.version + "</a>";
}

std::string statements_markdown(const std::vector<PaperView>& views,
                                const std::vector<Entry>& entries, const std::string& page) {
  std::string out;
  for (const PaperView& view : views) {
    const Paper& paper = *view.paper;
    out += "\n## " + paper.key + "\n\n" + paper.authors + ", " + escape_markup(paper.title) +
           ", [" + paper.version + "](https://arxiv.org/abs/" +
           paper.version.substr(paper.version.find(':') + 1) +
           ")\n\n| statement | says | verdict | evidence |\n|---|---|---|---|\n";
    for (const JudgedStatement& statement : view.statements) {
      const PaperStatement& entry = *statement.entry;
      std::string verdict = std::string(words_of(statement.verdict).symbol) + " **" +
                            markdown(statement.words()) + "**",
                  found = markdown(statement.evidence());
      if (const std::string reason = reason_of(statement); !reason.empty())
        verdict += ". " + markdown(reason);
      for (const Slip& slip : entry.slips)
        verdict += ". " + capitalized(place_of(slip)) + markdown(slip.says);
      if (!entry.scale.empty()) found += (found.empty() ? "" : "; ") + markdown(entry.scale);
      const std::string results = results_of(statement, [&](std::size_t result) {
        const Entry& one = entries[result];
        return "[" + link_name(*one.result) + "](" + page + "#" + one.anchor + ")";
      });
      if (!results.empty()) found += (found.empty() ? "" : "; ") + results;
      out += "| <a id=\"" + anchor_of(entry) + "\"></a>" + markdown(entry.name) + " | " +
             markdown(entry.says) + " | " + verdict + " | " + found + " |\n";
    }
  }
  return out;
}

}  // namespace ranklab
