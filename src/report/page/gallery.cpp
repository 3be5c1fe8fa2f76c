#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/figure/text.hpp"
#include "report/page/claim_table.hpp"
#include "report/page/entry.hpp"
#include "report/page/page.hpp"
#include "report/page/prose.hpp"
#include "report/page/statements.hpp"
#include "report/page/summary.hpp"
#include "report/page/text.hpp"
#include "report/papers.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// "7 hold, 1 misprint, 2 fail, 1 undecided": statements as the page counts them, a misprint and its
// corrected form as one.
std::string verdicts_of(const Json& result) {
  const StandingCounts counts = count(statements_of({&result}));
  const std::string holds = counts.holds == 1 ? " holds" : " hold",
                    misprints = counts.misprints == 1 ? " misprint" : " misprints",
                    fails = counts.fails == 1 ? " fails" : " fail";
  std::vector<std::string> words;
  if (counts.holds > 0) words.push_back(std::to_string(counts.holds) + holds);
  if (counts.misprints > 0) words.push_back(std::to_string(counts.misprints) + misprints);
  if (counts.fails > 0) words.push_back(std::to_string(counts.fails) + fails);
  if (counts.missed > 0)
    words.push_back(std::to_string(counts.missed) +
                    (counts.missed == 1 ? " of ours fails" : " of ours fail"));
  if (counts.undecided > 0) words.push_back(std::to_string(counts.undecided) + " undecided");
  if (counts.not_applicable > 0)
    words.push_back(std::to_string(counts.not_applicable) + " not applicable");
  return words.empty() ? "no claims" : joined(words);
}

std::string picture_of(const std::string& file_name) {
  return file_name.substr(0, file_name.rfind(".json")) + ".svg";
}

std::string number_or_dash(std::size_t count) {
  return count == 0 ? "" : std::to_string(count);
}

std::string counts_row(const std::string& name, const StandingCounts& counts) {
  std::string out = "| " + name;
  for (const std::size_t count : {counts.holds, counts.misprints, counts.fails, counts.missed,
                                  counts.undecided, counts.not_applicable})
    out += " | " + number_or_dash(count);
  return out + " |\n";
}

std::string kinds_markdown(const std::vector<JudgedStatement>& statements) {
  std::string out =
      "| kind | \u2713 holds | \u270E misprint | \u2717 fails | \u25B3 ours fails | ? undecided | "
      "\u25CB not applicable |\n|---|--:|--:|--:|--:|--:|--:|\n";
  for (const KindCounts& row : counts_by_kind(statements)) out += counts_row(row.kind, row.counts);
  const StandingCounts all = count(statements);
  return out + counts_row("all " + std::to_string(all.total()), all);
}

// A paragraph per paper, a sentence per finding.
std::string findings_markdown(const std::vector<Finding>& findings) {
  std::string out;
  std::size_t paper = papers.size() + 1;
  for (const Finding& finding : findings) {
    if (finding.entry->paper != paper) {
      paper = finding.entry->paper;
      out += "\n**" + name_of_paper(paper) + "**\n\n";
    }
    out += "* " + std::string(symbol_of(finding.standing)) + " " + prose(finding.sentence) + " ([" +
           short_name(*finding.entry->result) + "](" + picture_of(finding.entry->file_name) +
           "))\n";
  }
  return out.empty() ? "" : out + "\n";
}

// A link to each further picture.
std::string more_pictures(const Entry& entry) {
  const Json& more = member(*entry.result, "more_figures");
  std::vector<std::string> links;
  for (std::size_t i = 0; more.is_array() && i < more.size(); ++i) {
    const std::string main = picture_of(entry.file_name);
    links.push_back(
        "<a href=\"" +
        escape_markup(main.substr(0, main.size() - 4) + "." + std::to_string(i + 2) + ".svg") +
        "\">" + html(member(more[i], "title")) + "</a>");
  }
  return links.empty() ? "" : "<br>More: " + joined(links, "; ");
}

std::string cell_of(const Entry& entry) {
  const std::string picture = escape_markup(picture_of(entry.file_name)),
                    name = short_name(*entry.result);
  return "<td width=\"50%\"><a href=\"" + picture + "\"><img src=\"" + picture + "\" alt=\"" +
         name + "\"></a><br><b>" + name + "</b> <code>" + link_name(*entry.result) + "</code><br>" +
         verdicts_of(*entry.result) + more_pictures(entry) + "</td>\n";
}

}  // namespace

std::string markdown_gallery(const std::vector<Json>& results,
                             const std::vector<std::string>& file_names) {
  constexpr std::size_t columns = 2;
  const std::vector<Entry> entries = entries_of(results, file_names);
  std::vector<const Json*> documents;
  for (const Entry& entry : entries) documents.push_back(entry.result);
  const std::vector<JudgedStatement> statements = statements_of(documents);
  std::string out = std::string(introduction) + "\n\n" + kinds_markdown(statements) +
                    findings_markdown(findings_of(entries, statements)) + "\n<table>\n";
  std::size_t column = 0, last = papers.size() + 1;
  for (const Entry& entry : entries) {
    if (is_input(entry)) continue;
    if (entry.paper != last) {
      last = entry.paper;
      if (column > 0) out += "</tr>\n";
      column = 0;
      out += "<tr><th colspan=\"" + std::to_string(columns) + "\">" + name_of_paper(last) +
             "</th></tr>\n";
    }
    if (column == 0) out += "<tr>\n";
    out += cell_of(entry);
    column = (column + 1) % columns;
    if (column == 0) out += "</tr>\n";
  }
  return out + (column > 0 ? "</tr>\n" : "") + "</table>\n";
}

}  // namespace ranklab
