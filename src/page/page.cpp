#include "page/page.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "judge/catalog.hpp"
#include "page/entry.hpp"
#include "page/overview.hpp"
#include "page/paper_view.hpp"
#include "page/section.hpp"
#include "page/summary.hpp"
#include "page_files.hpp"  // page.html, search.js, style.css and symbols.html as text

namespace ranklab {
namespace {

// The text with each {{name}} replaced by its part. Parts are not searched for further names.
std::string filled(std::string_view text, const std::map<std::string_view, Markup>& parts) {
  std::string out;
  for (std::size_t open = text.find("{{"); open != std::string_view::npos; open = text.find("{{")) {
    const std::size_t close = text.find("}}", open);
    out += text.substr(0, open);
    out += parts.at(text.substr(open + 2, close - open - 2)).text();
    text.remove_prefix(close + 2);
  }
  return out.append(text);
}

Markup sections_html(const std::vector<Entry>& entries, PenSheet& pens) {
  Markup out;
  std::size_t last = papers().size() + 1;
  for (const Entry& entry : entries) {
    if (is_input(entry)) continue;
    const std::size_t paper = entry.paper;
    if (paper != last) {
      last = paper;
      out += out.empty() ? Markup() : "</div>\n";
      out += paper < papers().size() ? "<h2 id=\"" + escape_markup(papers()[paper].anchor) +
                                           "-results\">" + name_of_paper(paper) + ": results</h2>\n"
                                     : "<h2 id=\"results\">Results</h2>\n";
      out += "<div class=\"results\">\n";
    }
    out += section_html(entry, entries, pens);
  }
  return out.empty() ? out : out + "</div>\n";
}

}  // namespace

std::string html_report(const std::vector<ResultFile>& results,
                        const std::vector<std::string>& file_names,
                        const std::vector<std::string>& notes) {
  const std::vector<Entry> entries = entries_of(results, file_names);
  const bool of_papers = std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
    return entry.paper < papers().size();
  });
  const std::vector<PaperView> views = views_of(entries);
  PenSheet pens;
  const Markup overview = overview_html(entries, views, pens),
               sections = sections_html(entries, pens);
  std::string style(style_css);
  for (const auto& [declarations, name] : pens) style += "." + name + "{" + declarations + "}\n";
  return filled(page_html, {{"style", Markup::trusted(style)},
                            {"script", search_js},
                            {"overview", overview},
                            {"papers", views_html(views, entries)},
                            {"sections", sections},
                            {"results", results_html(entries, notes)},
                            {"symbols", of_papers ? Markup(symbols_html) : ""}});
}

}  // namespace ranklab
