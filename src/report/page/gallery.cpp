#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/figure/svg.hpp"
#include "report/page/entry.hpp"
#include "report/page/page.hpp"
#include "report/page/statements.hpp"
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

std::string cell_of(const Entry& entry) {
  const std::string picture = escape_markup(picture_of(entry.file_name)),
                    name = short_name(*entry.result);
  return "<td width=\"33%\"><a href=\"" + picture + "\"><img src=\"" + picture + "\" alt=\"" +
         name + "\"></a><br><b>" + name + "</b> <code>" + link_name(*entry.result) + "</code><br>" +
         verdicts_of(*entry.result) + "</td>\n";
}

}  // namespace

std::string markdown_gallery(const std::vector<Json>& results,
                             const std::vector<std::string>& file_names) {
  constexpr std::size_t columns = 3;
  const std::vector<Entry> entries = entries_of(results, file_names, {});
  std::string out = "<table>\n";
  std::size_t column = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t paper = entries[i].paper;
    if (i == 0 || entries[i - 1].paper != paper) {
      if (column > 0) out += "</tr>\n";
      column = 0;
      const std::string key =
          paper < papers.size() ? std::string(papers[paper].key) : std::string("Other results");
      out += "<tr><th colspan=\"3\">" + key + "</th></tr>\n";
    }
    if (column == 0) out += "<tr>\n";
    out += cell_of(entries[i]);
    column = (column + 1) % columns;
    if (column == 0) out += "</tr>\n";
  }
  return out + (column > 0 ? "</tr>\n" : "") + "</table>\n";
}

}  // namespace ranklab
