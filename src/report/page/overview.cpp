#include "report/page/overview.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "core/text.hpp"
#include "report/changes.hpp"
#include "report/figure/svg.hpp"
#include "report/page/claim_list.hpp"
#include "report/page/text.hpp"
#include "report/papers.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

std::set<std::size_t> papers_of(const std::vector<Entry>& entries) {
  std::set<std::size_t> out;
  for (const Entry& entry : entries) {
    if (entry.paper < papers.size()) out.insert(entry.paper);
  }
  return out;
}

std::string introduction_html(const std::vector<Entry>& entries) {
  const std::set<std::size_t> shown = papers_of(entries);
  if (shown.empty()) {
    return "<p>" + counted(entries.size(), "result") +
           " of ranklab: the pictures, the claims with their verdicts, and the command that "
           "repeats each run.</p>\n";
  }
  std::string out =
      "<p>This page compares figures and printed statements of " + counted(shown.size(), "paper") +
      " with the numbers that one program, ranklab, computes on a CPU. Each statement is judged "
      "from the numbers of its own run, with one of four verdicts. It <b>holds</b> or "
      "<b>fails</b> if the numbers confirm or contradict it. It is <b>undecided</b> if the run has "
      "too few data, or if the confidence interval contains the limit. It is <b>not applicable</b> "
      "if a hypothesis of the statement is not met in the run. A misprinted statement is judged as "
      "printed and in its corrected form. Networks have "
      "random weights unless a figure says otherwise. A curve is the mean over the trials; its "
      "band is one standard deviation on either side. A statement about a mean holds if the 99 % "
      "confidence interval of the mean is inside the region that the statement allows, and fails "
      "if the interval is outside.</p>\n<ul class=\"papers\">\n";
  for (const std::size_t paper : shown) out += "<li>" + citation_html(paper) + "</li>\n";
  return out + "</ul>\n";
}

std::string totals_html(const std::vector<JudgedStatement>& statements) {
  const StandingCounts counts = count(statements);
  const auto verb = [](std::size_t n, const char* one, const char* many) {
    return std::to_string(n) + (n == 1 ? one : many);
  };
  return "<p class=\"totals\">Of " +
         verb(counts.total(), " distinct statement, ", " distinct statements, ") +
         "<span class=\"verdict holds\">\u2713 " + verb(counts.holds, " holds", " hold") +
         "</span>, <span class=\"verdict fails\">\u2717 " +
         verb(counts.misprints, " fails as printed and holds in its corrected form",
              " fail as printed and hold in their corrected form") +
         "</span>, <span class=\"verdict fails\">\u2717 " + verb(counts.fails, " fails", " fail") +
         "</span>, <span class=\"verdict missed\">\u25B3 " +
         verb(counts.missed, " of ours fails", " of ours fail") +
         "</span>, <span class=\"verdict undecided\">? " +
         verb(counts.undecided, " is undecided", " are undecided") +
         "</span>, and <span class=\"verdict not-applicable\">\u25CB " +
         verb(counts.not_applicable, " is not applicable", " are not applicable") +
         "</span>. A statement that several results judge counts once; it fails if it fails in one "
         "of them. \"Ours\" are readings with a threshold that no paper prints, and statements "
         "that are not in the papers.</p>\n";
}

std::string count_cell(const char* label, std::size_t count, const char* kind, const char* sign) {
  return cell(label,
              count == 0 ? "0"
                         : "<span class=\"verdict " + std::string(kind) + "\">" + sign +
                               std::to_string(count) + "</span>",
              "number");
}

std::string count_cells(const StandingCounts& counts) {
  return count_cell("Holds", counts.holds, "holds", "\u2713") +
         count_cell("Misprint", counts.misprints, "fails", "\u2717") +
         count_cell("Fails", counts.fails, "fails", "\u2717") +
         count_cell("Ours fail", counts.missed, "missed", "\u25B3") +
         count_cell("Undecided", counts.undecided, "undecided", "?") +
         count_cell("Not applicable", counts.not_applicable, "not-applicable", "\u25CB");
}

std::string row_html(const Entry& entry) {
  const Json& result = *entry.result;
  const bool complete = plain(member(result, "status")) == "complete";
  const std::string preset = html(member(result, "preset")),
                    status = html(member(result, "status"));
  std::string name = link_to(entry, short_name(result));
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
  return table_start(
             name,
             {"Result", "Trials", "Time", "Holds", "Misprint", "Fails", "Ours fail",
              "<abbr title=\"undecided\">?</abbr>", "<abbr title=\"not applicable\">\u25CB</abbr>"},
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
  std::string out = introduction_html(entries) + "<h2 id=\"overview\">Verdicts</h2>\n" +
                    totals_html(statements) + "<div class=\"columns\">\n<div>\n";
  for (std::size_t paper = 0; paper <= papers.size(); ++paper) {
    if (paper == 1) out += "</div>\n<div>\n";
    out += paper_table(paper, entries, statements);
  }
  return out + "</div>\n</div>\n";
}

}  // namespace ranklab
