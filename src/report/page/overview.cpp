#include "report/page/overview.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "report/changes.hpp"
#include "report/figure/picture.hpp"
#include "report/figure/text.hpp"
#include "report/page/claim_table.hpp"
#include "report/page/prose.hpp"
#include "report/page/summary.hpp"
#include "report/page/text.hpp"
#include "report/papers.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

std::string count_cell(const char* label, std::size_t count, const char* kind, const char* sign) {
  return cell(label,
              count == 0 ? "0"
                         : "<span class=\"verdict " + std::string(kind) + "\">" + sign +
                               std::to_string(count) + "</span>",
              "number");
}

std::string count_cells(const StandingCounts& counts) {
  return count_cell("Holds", counts.holds, "holds", "\u2713") +
         count_cell("Misprint", counts.misprints, "misprint", "\u270E") +
         count_cell("Fails", counts.fails, "fails", "\u2717") +
         count_cell("Ours fail", counts.missed, "missed", "\u25B3") +
         count_cell("Undecided", counts.undecided, "undecided", "?") +
         count_cell("Not applicable", counts.not_applicable, "not-applicable", "\u25CB");
}

// Rows are kinds of statements, columns are verdicts.
std::string kinds_html(const std::vector<JudgedStatement>& statements) {
  std::string out = table_start(
      "Distinct statements by kind and verdict",
      {"Kind", "Holds", "Misprint", "Fails", "Ours fail", "Undecided", "Not applicable"},
      "overview kinds");
  for (const KindCounts& row : counts_by_kind(statements))
    out += "<tr><th scope=\"row\">" + row.kind + "</th>" + count_cells(row.counts) + "</tr>\n";
  const StandingCounts all = count(statements);
  return out + "</tbody>\n<tfoot><tr><th scope=\"row\">all " + std::to_string(all.total()) +
         "</th>" + count_cells(all) + "</tr></tfoot></table>\n";
}

// The panel that shows the finding, drawn small; empty if the result does not name one.
std::string thumbnail_html(const Entry& entry) {
  const nlohmann::json& panel = member(member(*entry.result, "finding"), "panel");
  if (!panel.is_number_integer() || panel <= 0) return "";
  try {
    return "<a class=\"thumbnail\" href=\"#" + entry.anchor + "\" title=\"" +
           short_name(*entry.result) + "\">" +
           draw_svg(*entry.result, Extract::thumbnail, 0, panel.get<std::size_t>() - 1) + "</a>";
  } catch (const Failure&) {
    return "";  // the section says why
  }
}

std::string finding_html(const Finding& finding) {
  const Entry& entry = *finding.entry;
  return "<li>" + thumbnail_html(entry) + "<span>" + standing_html(finding.standing) + " " +
         prose(finding.sentence) + " " + link_to(entry, short_name(*entry.result)) +
         "</span></li>\n";
}

std::string findings_html(const std::vector<Entry>& entries,
                          const std::vector<JudgedStatement>& statements) {
  std::string out;
  std::size_t paper = papers.size();
  for (const Finding& finding : findings_of(entries, statements)) {
    if (out.empty() || finding.entry->paper != paper) {
      out += out.empty() ? "" : "</ul></div>\n";
      paper = finding.entry->paper;
      out += "<div><h2 class=\"plain\">" + name_of_paper(paper) + "</h2>\n<ul>\n";
    }
    out += finding_html(finding);
  }
  return out.empty() ? "" : "<div class=\"findings\">\n" + out + "</ul></div>\n</div>\n";
}

// The links of one paper on a line: a figure's results that share its name are told apart by their
// presets.
std::string contents_html(const std::vector<Entry>& entries) {
  std::map<std::string, int> uses;
  const auto key = [](const Entry& entry) {
    return std::to_string(entry.paper) + short_name(*entry.result);
  };
  for (const Entry& entry : entries) ++uses[key(entry)];
  std::string out;
  for (std::size_t paper = 0; paper <= papers.size(); ++paper) {
    std::vector<std::string> links;
    for (const Entry& entry : entries) {
      if (entry.paper != paper || is_input(entry)) continue;
      const std::string preset = html(member(*entry.result, "preset"));
      const std::string more =
          uses[key(entry)] > 1 && !preset.empty() ? " <small>" + preset + "</small>" : "";
      links.push_back(link_to(entry, short_name(*entry.result)) + more);
    }
    if (links.empty()) continue;
    out += "<li><b>" + name_of_paper(paper) + "</b> " + joined(links, " \u00B7 ") + "</li>\n";
  }
  return "<nav aria-label=\"Contents\"><ul class=\"contents\">\n" + out +
         "<li><a href=\"#open-points\">Misprints, failures and undecided statements</a> \u00B7 "
         "<a href=\"#all-results\">all results with times and counts</a></li>\n</ul></nav>\n";
}

std::string row_html(const Entry& entry) {
  const Json& result = *entry.result;
  const bool complete = plain(member(result, "status")) == "complete";
  const std::string preset = html(member(result, "preset")),
                    status = html(member(result, "status"));
  std::string name = is_input(entry) ? short_name(result) : link_to(entry, short_name(result));
  if (!preset.empty()) name += " <code>" + preset + "</code>";
  if (changes_more_than_trials(result)) name += " <small class=\"changed\">changed</small>";
  if (!complete)
    name +=
        " <small><strong>\u26A0 " + (status.empty() ? "no status" : status) + "</strong></small>";
  return "<tr><th scope=\"row\">" + name + "</th>" + cell("Trials", trials_html(result), "number") +
         cell("Time", html_duration(member(member(result, "timing"), "wall_s")), "number") +
         count_cells(count(statements_of({&result}))) + "</tr>\n";
}

std::string paper_table(std::size_t paper, const std::vector<Entry>& entries,
                        const std::vector<JudgedStatement>& statements) {
  std::vector<JudgedStatement> own;
  for (const JudgedStatement& statement : statements) {
    if (entries[statement.as_printed.front().result].paper == paper) own.push_back(statement);
  }
  std::string rows;
  double seconds = 0;
  for (const Entry& entry : entries) {
    if (entry.paper != paper) continue;
    rows += row_html(entry);
    const Json& time = member(member(*entry.result, "timing"), "wall_s");
    if (time.is_number()) seconds += time.get<double>();
  }
  if (rows.empty()) return "";
  const std::string name = paper < papers.size()
                               ? "<a href=\"#" + std::string(papers[paper].anchor) + "\">" +
                                     std::string(papers[paper].key) + "</a>"
                               : std::string("Other results");
  return table_start(name,
                     {"Result", "Trials", "Time", "Holds", "Misprint", "Fails", "Ours fail",
                      "Undecided", "Not applicable"},
                     "overview") +
         rows + "</tbody>\n<tfoot><tr><th scope=\"row\">distinct statements</th><td></td>" +
         cell("Time", html_duration(Json(seconds)), "number") + count_cells(count(own)) +
         "</tr></tfoot></table>\n";
}

}  // namespace

std::string citation_html(std::size_t paper) {
  const Paper& p = papers[paper];
  return "<b>" + std::string(p.key) + "</b> " + std::string(p.authors) + ", <cite>" +
         escape_markup(p.title) + "</cite>, <a href=\"https://arxiv.org/abs/" +
         std::string(p.version.substr(p.version.find(':') + 1)) + "\">" + std::string(p.version) +
         "</a>";
}

std::string overview_html(const std::vector<Entry>& entries,
                          const std::vector<JudgedStatement>& statements) {
  return "<div class=\"first\">\n<div>\n<p>" + std::string(introduction) + "</p>\n" +
         contents_html(entries) + "</div>\n" + kinds_html(statements) + "</div>\n" +
         findings_html(entries, statements);
}

std::string results_html(const std::vector<Entry>& entries,
                         const std::vector<JudgedStatement>& statements) {
  std::string out;
  for (std::size_t paper = 0; paper <= papers.size(); ++paper) {
    if (paper == 1) out += "</div>\n<div>\n";
    out += paper_table(paper, entries, statements);
  }
  return "<h2 id=\"all-results\">All results</h2>\n<details>\n<summary>" +
         counted(entries.size(), "result") +
         ": trials, time and verdicts</summary>\n<p>A statement that several results judge counts "
         "once in the last line of a table; it fails if it fails in one of them. \"Ours\" are "
         "readings with a threshold that no paper prints, and statements that are not in the "
         "papers.</p>\n<div class=\"columns\">\n<div>\n" +
         out + "</div>\n</div>\n</details>\n";
}

}  // namespace ranklab
