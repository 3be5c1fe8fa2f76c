#include "page/section.hpp"

#include "core/error.hpp"
#include "core/text.hpp"
#include "figure/picture.hpp"
#include "figure/text.hpp"
#include "judge/catalog.hpp"
#include "judge/references.hpp"
#include "page/claim_list.hpp"
#include "page/folds.hpp"
#include "page/prose.hpp"
#include "page/text.hpp"

namespace ranklab {
namespace {

// The picture keeps its size, at which its text is readable. A narrow screen scrolls it sideways,
// and shows the caption.
Markup picture_html(const Entry& entry, std::size_t which, PenSheet& pens) {
  const Result& result = *entry.result;
  const Figure& figure = which == 0 ? result.figure : result.more_figures[which - 1];
  const std::size_t panels = figure.panels.size();
  try {
    return "<figure class=\"picture\" tabindex=\"0\">\n<figcaption>" +
           (panels > 1 ? escape_markup(plural(panels, "panel")) + ": scroll" : Markup("scroll")) +
           " sideways \u2192</figcaption>" +
           draw_svg(*entry.result, Extract::untitled, which, 0, &pens) + "\n</figure>\n";
  } catch (const Failure& failure) {
    return "<p class=\"not-drawn\">Not drawn: " + escape_markup(failure.what()) + ".</p>\n";
  }
}

// The further figures, folded, each with its title.
Markup more_figures_html(const Entry& entry, PenSheet& pens) {
  const std::vector<Figure>& more = entry.result->more_figures;
  if (more.empty()) return "";
  Markup out;
  std::vector<Markup> titles;
  for (std::size_t i = 0; i < more.size(); ++i) {
    titles.push_back(escape_markup(more[i].title));
    out += "<h4>" + prose(more[i].title) + "</h4>\n" + picture_html(entry, i + 1, pens);
  }
  return "<details class=\"more\">\n<summary>" +
         escape_markup(plural(titles.size(), "more picture")) + ": " + joined(titles, "; ") +
         "</summary>\n" + out + "</details>\n";
}

Markup see_html(const ResultFile& result) {
  if (result.see.empty()) return "";
  return "<p class=\"see\">" +
         (result.changed.empty() ? Markup() : "<em>For the unchanged preset:</em> ") +
         prose(without_references(result.see)) + "</p>\n";
}

// "gd in 13 of 16, specgd in 14 of 16".
Markup diverged_html(const ResultFile& result) {
  std::vector<Markup> methods;
  for (const auto& [method, trials] : result.diverged_methods)
    methods.push_back("<code>" + escape_markup(method) + "</code> in " + Markup::number(trials) +
                      " of " + Markup::number(result.trials.completed));
  return joined(methods);
}

Markup warning_html(const ResultFile& result) {
  if (result.status == Status::complete) return "";
  if (result.status == Status::interrupted)
    return "<p class=\"warning\"><strong>\u26A0 Status: interrupted.</strong> The run was stopped; "
           "the results are from the trials that had finished.</p>\n";
  const Markup where = diverged_html(result);
  return "<p class=\"warning\"><strong>\u26A0 Diverged:</strong> " +
         (where.empty() ? "Some trials"
                        : where + (result.trials.unit.empty() ? Markup(" trials") : "")) +
         " reached values that are not finite; these values and all later ones are left out of the "
         "means.</p>\n";
}

// Commands that repeat the run from the root of the project. `make` covers only unchanged presets;
// a changed run is repeated from the config in its result.
std::vector<std::string> commands(const Entry& entry) {
  const ResultFile& result = *entry.result;
  const std::string preset = preset_of(result),
                    program = "build/ranklab " + shell_word(result.command),
                    file = shell_word(entry.file_name);
  if (preset.empty() || !result.changed.empty())
    return {"build/ranklab verify " + file, program + " --config " + file + " --out again.json"};
  return {"make " + shell_word(preset), program + " --preset " + shell_word(preset)};
}

Markup heading_html(const Entry& entry) {
  const ResultFile& result = *entry.result;
  const Markup title = escape_markup(result.title), changes = changes_html(result);
  const bool has_source = result.source && !result.source->figure.empty();
  return "<h3 id=\"" + entry.anchor + "-heading\">" +
         (has_source ? short_name(result) + ": " : "") + (title.empty() ? "untitled" : title) +
         (changes.empty() ? "" : " <small class=\"changed\">" + changes + "</small>") + "</h3>\n";
}

// The command that repeats the run comes first: `make` if the preset is unchanged.
Markup facts_html(const Entry& entry, const std::vector<Entry>& all) {
  Markup out = "<code>" + escape_markup(commands(entry).front()) + "</code>";
  const Markup time = html_duration(entry.result->timing.cpu) + " of CPU time";
  for (const Markup& fact : {trials_html(*entry.result), time})
    out += fact.empty() ? fact : " \u00B7 " + fact;
  return "<p class=\"facts\">" + out + "." + elsewhere_html(entry, all) + "</p>\n";
}

}  // namespace

Markup section_html(const Entry& entry, const std::vector<Entry>& all, PenSheet& pens) {
  const ResultFile& result = *entry.result;
  return "<section class=\"result\" id=\"" + entry.anchor + "\" aria-labelledby=\"" + entry.anchor +
         "-heading\">\n" + heading_html(entry) + picture_html(entry, 0, pens) +
         "<div class=\"text\">\n" + see_html(result) + warning_html(result) +
         claim_lines_html(entry) + facts_html(entry, all) + notes_html(result) +
         "</div>\n<div class=\"folds\">\n" + claims_html(entry, all) +
         more_figures_html(entry, pens) + table_html(result, entry.paper == papers().size()) +
         provenance_html(result, commands(entry),
                         all.front().result == entry.result ? nullptr : all.front().result,
                         link_to(all.front().anchor, link_name(*all.front().result))) +
         "</div>\n</section>\n";
}

}  // namespace ranklab
