#include "report/page/page.hpp"

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/page/section.hpp"
#include "report/page/style.hpp"
#include "report/page/text.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

std::string summary_html(const std::vector<Json>& results) {
  VerdictCounts total;
  for (const Json& result : results) {
    const VerdictCounts counts = count_verdicts(result);
    total.holds += counts.holds;
    total.fails += counts.fails;
    total.not_applicable += counts.not_applicable;
    total.unknown += counts.unknown;
  }
  std::string out = "<p>" + counted(results.size(), "result") + ". Of their claims " + std::to_string(total.holds) +
                    (total.holds == 1 ? " holds, " : " hold, ") + std::to_string(total.fails) +
                    (total.fails == 1 ? " fails, " : " fail, ") + std::to_string(total.not_applicable) +
                    " could not be judged (a hypothesis is not met, or too few trials)";
  if (total.unknown > 0) out += ", " + std::to_string(total.unknown) + " without a known verdict";
  return out + ".</p>\n";
}

std::string overview_html(const std::vector<Json>& results) {
  std::string out = "<h2 id=\"overview\">Overview</h2>\n" + summary_html(results) +
                    table_start("Results, with the number of claims by verdict",
                                {"Result", "Paper figure", "Status", "Holds", "Fails", "Not applicable"}, "cards");
  const auto count_cell = [](const char* label, std::size_t count, const std::string& shown) {
    return cell(label, count == 0 ? "0" : shown + std::to_string(count) + "</span>", "number");
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const VerdictCounts counts = count_verdicts(results[i]);
    const bool complete = plain(member(results[i], "status")) == "complete";
    const std::string title = html(member(results[i], "title"));
    out += "<tr><th scope=\"row\"><a href=\"#result-" + std::to_string(i + 1) + "\">" + (title.empty() ? "untitled" : title) +
           "</a></th>" + cell("Paper figure", source_html(results[i])) +
           cell("Status", (complete ? "" : "<strong>\u26A0 ") + status_html(results[i]) + (complete ? "" : "</strong>")) +
           count_cell("Holds", counts.holds, "<span class=\"verdict holds\">\u2713 ") +
           count_cell("Fails", counts.fails, "<span class=\"verdict fails\">\u2717 ") +
           count_cell("Not applicable", counts.not_applicable, "<span class=\"verdict open\">\u25CB ") + "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

}  // namespace

std::string html_report(const std::vector<Json>& results, const std::vector<std::string>& file_names) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n"
      "<title>ranklab report</title>\n<style>" +
      std::string(html_style) + "</style>\n</head>\n<body>\n<header><h1>ranklab report</h1></header>\n<main>\n";
  out += overview_html(results);
  for (std::size_t i = 0; i < results.size(); ++i)
    out += section_html(results[i], i < file_names.size() ? file_names[i] : "RESULT.json", i + 1);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace ranklab
