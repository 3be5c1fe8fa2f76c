// The overview of a README: the main findings, and every picture, small.

#include "core/text.hpp"
#include "figure/text.hpp"
#include "judge/catalog.hpp"
#include "page/entry.hpp"
#include "page/markdown.hpp"
#include "page/page.hpp"
#include "page/prose.hpp"
#include "page/summary.hpp"

namespace ranklab {
namespace {

// A paragraph per paper, a sentence per finding.
Markdown findings_markdown(const std::vector<Finding>& findings) {
  Markdown out;
  std::size_t paper = papers().size() + 1;
  for (const Finding& finding : findings) {
    if (finding.entry->paper != paper) {
      paper = finding.entry->paper;
      out += "\n**" + on_one_line(name_of_paper(paper)) + "**\n\n";
    }
    out += "* " + markdown(prose(finding.sentence)) + " ([" +
           markdown(short_name(*finding.entry->result)) + "](" + place_target(*finding.entry) +
           "))\n";
  }
  return out.empty() ? "" : out + "\n";
}

Markdown cell_of(const Entry& entry) {
  const Markdown picture = picture_target(entry), name = markdown(short_name(*entry.result));
  return "<td width=\"33%\"><a href=\"" + picture + "\"><img src=\"" + picture + "\" alt=\"" +
         name + "\"></a><br><a href=\"" + place_target(entry) + "\">" + name + "</a> <code>" +
         markdown(link_name(*entry.result)) + "</code></td>\n";
}

}  // namespace

std::string markdown_gallery(const std::vector<ResultFile>& results,
                             const std::vector<std::string>& file_names) {
  constexpr std::size_t columns = 3;
  const std::vector<Entry> entries = entries_of(results, file_names);
  Markdown out = findings_markdown(findings_of(entries)) + "\n<table>\n";
  std::size_t column = 0, last = papers().size() + 1;
  for (const Entry& entry : entries) {
    if (is_input(entry)) continue;
    if (entry.paper != last) {
      last = entry.paper;
      if (column > 0) out += "</tr>\n";
      column = 0;
      out += "<tr><th colspan=\"" + Markdown::number(columns) + "\">" +
             on_one_line(name_of_paper(last)) + "</th></tr>\n";
    }
    if (column == 0) out += "<tr>\n";
    out += cell_of(entry);
    column = (column + 1) % columns;
    if (column == 0) out += "</tr>\n";
  }
  return (out + (column > 0 ? Markdown("</tr>\n") : "") + "</table>\n").text();
}

}  // namespace ranklab
