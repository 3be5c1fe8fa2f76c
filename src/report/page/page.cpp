#include "report/page/page.hpp"

#include <nlohmann/json.hpp>

#include "report/page/entry.hpp"
#include "report/page/open_points.hpp"
#include "report/page/overview.hpp"
#include "report/page/section.hpp"
#include "report/page/statements.hpp"
#include "report/page/style.hpp"
#include "report/page/symbols.hpp"
#include "report/papers.hpp"

namespace ranklab {
namespace {

constexpr const char* head =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
    "name=\"viewport\" "
    "content=\"width=device-width, initial-scale=1\">\n<title>ranklab report</title>\n<style>";

std::string sections_html(const std::vector<Entry>& entries) {
  std::string out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t paper = entries[i].paper;
    if (i == 0 || entries[i - 1].paper != paper) {
      out += i == 0 ? "" : "</div>\n";
      out += paper < papers.size() ? "<h2 id=\"" + std::string(papers[paper].anchor) + "\">" +
                                         citation_html(paper) + "</h2>\n"
                                   : "<h2 id=\"results\">Results</h2>\n";
      out += "<div class=\"results\">\n";
    }
    out += section_html(entries[i], entries);
  }
  return out + (entries.empty() ? "" : "</div>\n");
}

}  // namespace

std::string html_report(const std::vector<nlohmann::json>& results,
                        const std::vector<std::string>& file_names,
                        const std::vector<std::string>& pictures) {
  const std::vector<Entry> entries = entries_of(results, file_names, pictures);
  std::vector<const nlohmann::json*> documents;
  bool of_papers = false;
  for (const Entry& entry : entries) {
    documents.push_back(entry.result);
    of_papers = of_papers || entry.paper < papers.size();
  }
  const std::vector<JudgedStatement> statements = statements_of(documents);
  return head + std::string(html_style) +
         "</style>\n</head>\n<body>\n<header><h1>ranklab report</h1></header>\n<main>\n" +
         overview_html(entries, statements) + (of_papers ? symbols_html() : "") +
         open_points_html(statements, entries) + sections_html(entries) +
         "</main>\n</body>\n</html>\n";
}

}  // namespace ranklab
