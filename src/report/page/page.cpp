#include "report/page/page.hpp"

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "report/figure/gnuplot.hpp"
#include "report/figure/json.hpp"
#include "report/page/entry.hpp"
#include "report/page/open_points.hpp"
#include "report/page/overview.hpp"
#include "report/page/section.hpp"
#include "report/page/statements.hpp"
#include "report/page/style.hpp"
#include "report/page/summary.hpp"
#include "report/page/symbols.hpp"
#include "report/papers.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

constexpr const char* head =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
    "name=\"viewport\" "
    "content=\"width=device-width, initial-scale=1\">\n<title>ranklab report</title>\n<style>";

std::string sections_html(const std::vector<Entry>& entries) {
  std::string out;
  std::size_t last = papers.size() + 1;
  for (const Entry& entry : entries) {
    if (is_input(entry)) continue;
    const std::size_t paper = entry.paper;
    if (paper != last) {
      last = paper;
      out += out.empty() ? "" : "</div>\n";
      out += paper < papers.size() ? "<h2 id=\"" + std::string(papers[paper].anchor) + "\">" +
                                         citation_html(paper) + "</h2>\n"
                                   : "<h2 id=\"results\">Results</h2>\n";
      out += "<div class=\"results\">\n";
    }
    out += section_html(entry, entries);
  }
  return out + (out.empty() ? "" : "</div>\n");
}

}  // namespace

DrawnPictures draw_pictures(const nlohmann::json& result) {
  DrawnPictures out;
  try {
    for (std::size_t which = 0; which < number_of_figures(result); ++which)
      out.figures.push_back(draw_svg(result, Extract::untitled, which));
    const nlohmann::json& panel = member(member(result, "finding"), "panel");
    if (panel.is_number_integer() && panel > 0)
      out.thumbnail = draw_svg(result, Extract::thumbnail, 0, panel.get<std::size_t>() - 1);
  } catch (const Failure& failure) {
    out.problem = failure.what();
  }
  return out;
}

std::string html_report(const std::vector<nlohmann::json>& results,
                        const std::vector<std::string>& file_names,
                        const std::vector<DrawnPictures>& pictures) {
  std::vector<DrawnPictures> drawn = pictures;
  drawn.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (drawn[i].figures.empty()) drawn[i] = draw_pictures(results[i]);
  }
  const std::vector<Entry> entries = entries_of(results, file_names, drawn);
  std::vector<const nlohmann::json*> documents;
  bool of_papers = false;
  for (const Entry& entry : entries) {
    documents.push_back(entry.result);
    of_papers = of_papers || entry.paper < papers.size();
  }
  const std::vector<JudgedStatement> statements = statements_of(documents);
  return head + std::string(html_style) +
         "</style>\n</head>\n<body>\n<header><h1>ranklab report</h1></header>\n<main>\n" +
         overview_html(entries, statements) + sections_html(entries) +
         open_points_html(statements, entries) + results_html(entries, statements) +
         (of_papers ? symbols_html() : "") + "</main>\n</body>\n</html>\n";
}

}  // namespace ranklab
