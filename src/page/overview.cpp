#include "page/overview.hpp"

#include <map>

#include "core/error.hpp"
#include "core/text.hpp"
#include "figure/picture.hpp"
#include "figure/text.hpp"
#include "judge/catalog.hpp"
#include "page/claim_table.hpp"
#include "page/prose.hpp"
#include "page/summary.hpp"
#include "page/text.hpp"
#include "result/changes.hpp"

namespace ranklab {
namespace {

Markup heading_of(Standing standing) {
  return escape_markup(capitalized(words_of(standing).many));
}

Markup count_cells(const ClaimCounts& counts) {
  Markup out;
  for (std::size_t i = 0; i < standings; ++i) {
    const Standing standing = static_cast<Standing>(i);
    const std::size_t n = counts.by_standing[i];
    out += cell(
        heading_of(standing),
        n == 0 ? "0"
               : colored(standing, escape_markup(words_of(standing).symbol) + Markup::number(n)));
  }
  return out;
}

// The panel that shows the finding, drawn small; empty if the result does not name one.
Markup thumbnail_html(const Entry& entry, PenSheet& pens) {
  const std::uint64_t panel = entry.result->finding ? entry.result->finding->panel : 0;
  if (panel == 0) return "";
  try {
    return "<a class=\"thumbnail\" href=\"#" + entry.anchor + "\" title=\"" +
           short_name(*entry.result) + "\">" +
           draw_svg(*entry.result, Extract::thumbnail, 0, panel - 1, &pens) + "</a>";
  } catch (const Failure&) {
    return "";  // the section says why
  }
}

Markup finding_html(const Finding& finding, PenSheet& pens) {
  const Entry& entry = *finding.entry;
  return "<li>" + thumbnail_html(entry, pens) + "<span>" +
         (finding.is_ours ? Markup() : standing_html(*finding.claim) + " ") +
         prose(finding.sentence) + " " + link_to(entry.anchor, short_name(*entry.result)) +
         "</span></li>\n";
}

Markup findings_html(const std::vector<Entry>& entries, PenSheet& pens) {
  Markup out;
  std::size_t paper = papers().size();
  for (const Finding& finding : findings_of(entries)) {
    if (out.empty() || finding.entry->paper != paper) {
      out += out.empty() ? Markup() : "</ul></div>\n";
      paper = finding.entry->paper;
      out += "<div><h2 class=\"plain\">" + name_of_paper(paper) + "</h2>\n<ul>\n";
    }
    out += finding_html(finding, pens);
  }
  return out.empty() ? "" : "<div class=\"findings\">\n" + out + "</ul></div>\n</div>\n";
}

// The links of one paper on a line: a figure's results that share its name are told apart by their
// presets.
Markup contents_html(const std::vector<Entry>& entries) {
  std::map<std::string, int> uses;
  const auto key = [](const Entry& entry) {
    return std::to_string(entry.paper) + short_name(*entry.result).text();
  };
  for (const Entry& entry : entries) ++uses[key(entry)];
  Markup out;
  for (std::size_t paper = 0; paper <= papers().size(); ++paper) {
    std::vector<Markup> links;
    for (const Entry& entry : entries) {
      if (entry.paper != paper || is_input(entry)) continue;
      const Markup preset = escape_markup(preset_of(*entry.result));
      const Markup more =
          uses[key(entry)] > 1 && !preset.empty() ? " <small>" + preset + "</small>" : "";
      links.push_back(link_to(entry.anchor, short_name(*entry.result)) + more);
    }
    if (links.empty()) continue;
    out += "<li><b>" + name_of_paper(paper) + "</b> " + joined(links, " \u00B7 ") + "</li>\n";
  }
  return "<nav aria-label=\"Contents\"><details>\n<summary>Figures and tables</summary>\n"
         "<ul class=\"contents\">\n" +
         out +
         "<li><a href=\"#all-results\">all results with times and counts</a></li>\n</ul>\n"
         "</details></nav>\n";
}

Markup row_html(const Entry& entry) {
  const ResultFile& result = *entry.result;
  const Markup preset = escape_markup(preset_of(result));
  Markup name = is_input(entry) ? short_name(result) : link_to(entry.anchor, short_name(result));
  if (!preset.empty()) name += " <code>" + preset + "</code>";
  if (changes_more_than_trials(result)) name += " <small class=\"changed\">changed</small>";
  if (result.status != Status::complete) {
    name += " <small><strong>\u26A0 " + escape_markup(name_of(result.status)) + "</strong></small>";
  }
  return "<tr><th scope=row>" + name + "</th>" + cell("Trials", trials_html(result)) +
         cell("CPU time", html_duration(result.timing.cpu)) +
         count_cells(count(entry.result->claims)) + "</tr>\n";
}

Markup paper_table(std::size_t paper, const std::vector<Entry>& entries) {
  Markup rows;
  double seconds = 0;
  for (const Entry& entry : entries) {
    if (entry.paper != paper) continue;
    rows += row_html(entry);
    seconds += entry.result->timing.cpu;
  }
  if (rows.empty()) return "";
  std::vector<Markup> names = {"Result", "Trials", "CPU time"};
  for (std::size_t i = 0; i < standings; ++i) names.push_back(heading_of(static_cast<Standing>(i)));
  return table_start(name_of_paper(paper), names, "overview") + "<tbody>\n" + rows +
         "</tbody>\n<tfoot><tr><th scope=row>all</th><td></td>" +
         cell("CPU time", html_duration(seconds)) + "</tr></tfoot></table>\n";
}

}  // namespace

Markup overview_html(const std::vector<Entry>& entries, const std::vector<PaperView>& views,
                     PenSheet& pens) {
  return "<div class=\"first\">\n<div>\n<p>" + Markup(introduction) + "</p>\n</div>\n</div>\n" +
         counts_html(views) + contents_html(entries) + false_statements_html(views) +
         findings_html(entries, pens);
}

Markup results_html(const std::vector<Entry>& entries, const std::vector<std::string>& notes) {
  Markup out, below;
  for (const std::string& note : notes) below += "<p>" + escape_markup(note) + "</p>\n";
  for (std::size_t paper = 0; paper <= papers().size(); ++paper) {
    if (paper == 1) out += "</div>\n<div>\n";
    out += paper_table(paper, entries);
  }
  return "<h2 id=\"all-results\">All results</h2>\n<details>\n<summary>" +
         escape_markup(plural(entries.size(), "result")) +
         ": trials, time and claims</summary>\n<p>A corrected form counts with its form as "
         "printed; "
         "several claims that show one slip count once.</p>\n<div class=\"columns\">\n<div>\n" +
         out + "</div>\n</div>\n" + below + "</details>\n";
}

}  // namespace ranklab
