
#include "core/text.hpp"
#include "report/catalog.hpp"
#include "report/figure/text.hpp"
#include "report/page/claim_table.hpp"
#include "report/page/entry.hpp"
#include "report/page/markdown.hpp"
#include "report/page/page.hpp"
#include "report/page/paper_view.hpp"
#include "report/page/prose.hpp"
#include "report/page/summary.hpp"
#include "report/page/text.hpp"

namespace ranklab {
namespace {

std::string picture_of(const std::string& file_name) {
  return file_name.substr(0, file_name.rfind(".json")) + ".svg";
}

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
           markdown(short_name(*finding.entry->result)) + "](" +
           link_target(picture_of(finding.entry->file_name)) + "))\n";
  }
  return out.empty() ? "" : out + "\n";
}

// A link to each further picture.
Markdown more_pictures(const Entry& entry) {
  const std::vector<Figure>& more = entry.result->more_figures;
  std::vector<Markdown> links;
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::string main = picture_of(entry.file_name);
    links.push_back("<a href=\"" + link_target(main.substr(0, main.size() - 3)) +
                    Markdown::number(i + 2) + ".svg\">" + markdown(escape_markup(more[i].title)) +
                    "</a>");
  }
  return links.empty() ? "" : "<br>More: " + joined(links, "; ");
}

Markdown cell_of(const Entry& entry) {
  const Markdown picture = link_target(picture_of(entry.file_name)),
                 name = markdown(short_name(*entry.result));
  return "<td width=\"50%\"><a href=\"" + picture + "\"><img src=\"" + picture + "\" alt=\"" +
         name + "\"></a><br><b>" + name + "</b> <code>" + markdown(link_name(*entry.result)) +
         "</code><br>" + markdown(escape_markup(counts_text(count(entry.result->claims)))) +
         more_pictures(entry) + "</td>\n";
}

Markdown false_statements_markdown(const std::vector<PaperView>& views) {
  Markdown out;
  for (const PaperView& view : views) {
    for (const auto& [entry, slip] : false_statements(view.statements)) {
      out += "* " + on_one_line(escape_markup(view.paper->key)) + " [" +
             on_one_line(prose(entry->name)) + "](statements.md#" + on_one_line(anchor_of(*entry)) +
             ")" + (slip->is_typo() ? Markdown(" (typo or constant)") : "") + ": " +
             on_one_line(prose(slip->says)) + "\n";
    }
  }
  return out.empty() ? "" : "\nNumbered statements that are false as printed:\n\n" + out;
}

}  // namespace

std::string markdown_gallery(const std::vector<ResultFile>& results,
                             const std::vector<std::string>& file_names) {
  constexpr std::size_t columns = 2;
  const std::vector<Entry> entries = entries_of(results, file_names);
  const std::vector<PaperView> views = views_of(entries);
  Markdown out = counts_markdown(views) + false_statements_markdown(views) +
                 findings_markdown(findings_of(entries)) + "\n<table>\n";
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

std::string markdown_statements(const std::vector<ResultFile>& results,
                                const std::vector<std::string>& file_names,
                                const std::string& page) {
  const std::vector<Entry> entries = entries_of(results, file_names);
  const std::vector<PaperView> views = views_of(entries);
  return ("# What the papers say, and what was found\n\n" + Markdown(introduction) +
          " The rule is in [README.md](README.md); `ranklab papers spectral \"Theorem 3.7\"` "
          "prints one statement with the derivation of its slips, `ranklab where spectral "
          "\"Theorem "
          "3.7\"` the lines of the source behind it.\n\n" +
          counts_markdown(views) + statements_markdown(views, entries, page))
      .text();
}

}  // namespace ranklab
