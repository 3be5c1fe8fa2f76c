#include "report/page/section.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "report/catalog.hpp"
#include "report/figure/picture.hpp"
#include "report/figure/text.hpp"
#include "report/page/claim_list.hpp"
#include "report/page/folds.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// The picture keeps its size, at which its text is readable. A narrow screen scrolls it sideways.
std::string picture_html(const Entry& entry, std::size_t which) {
  try {
    return "<figure class=\"picture\" tabindex=\"0\">\n" +
           draw_svg(*entry.result, Extract::untitled, which) + "\n</figure>\n";
  } catch (const Failure& failure) {
    return "<p class=\"not-drawn\">Not drawn: " + escape_markup(failure.what()) + ".</p>\n";
  }
}

// The further figures, folded, each with its title.
std::string more_figures_html(const Entry& entry) {
  const Json& more = member(*entry.result, "more_figures");
  if (!more.is_array() || more.empty()) return "";
  std::string out;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < more.size(); ++i) {
    titles.push_back(html(member(more[i], "title")));
    out += "<h4>" + prose(titles.back()) + "</h4>\n" + picture_html(entry, i + 1);
  }
  return "<details class=\"more\">\n<summary>" + counted(titles.size(), "more picture") + ": " +
         joined(titles, "; ") + "</summary>\n" + out + "</details>\n";
}

bool is_changed(const Json& result) {
  const Json& changed = member(result, "changed");
  return changed.is_array() && !changed.empty();
}

std::string see_html(const Json& result) {
  const Json& see = member(result, "see");
  if (!see.is_string() || see.get_ref<const std::string&>().empty()) return "";
  return "<p class=\"see\">" +
         std::string(is_changed(result) ? "<em>For the unchanged preset:</em> " : "") +
         prose(plain(see)) + "</p>\n";
}

// "gd in 13 of 16, specgd in 14 of 16", from the scalars <method>.diverged, which are fractions of
// the trials.
std::string diverged_html(const Json& result) {
  const Json& scalars = member(result, "scalars");
  std::vector<std::string> methods;
  if (!scalars.is_object()) return "";
  constexpr std::string_view ending = ".diverged";
  for (const auto& [name, scalar] : scalars.items()) {
    const Json &mean = member(scalar, "mean"), &n = member(scalar, "n");
    if (!name.ends_with(ending) || !mean.is_number() || !n.is_number() || mean == 0) continue;
    methods.push_back(
        "<code>" + escape_markup(name.substr(0, name.size() - ending.size())) + "</code> in " +
        html_number(std::round(mean.get<double>() * n.get<double>())) + " of " + html_number(n));
  }
  return joined(methods);
}

std::string warning_html(const Json& result) {
  const std::string status = plain(member(result, "status"));
  if (status == "complete") return "";
  std::string meaning = "The run did not finish.";
  if (status == "interrupted")
    meaning = "The run was stopped; the results are from the trials that had finished.";
  if (status == "diverged") {
    const std::string where = diverged_html(result);
    meaning =
        (where.empty()
             ? "Some trials"
             : where + (member(member(result, "trials"), "unit").is_string() ? "" : " trials")) +
        " reached values that are not finite; these values and all later ones are left out of the "
        "means.";
    return "<p class=\"warning\"><strong>\u26A0 Diverged:</strong> " + meaning + "</p>\n";
  }
  return "<p class=\"warning\"><strong>\u26A0 Status: " +
         (status.empty() ? "none" : escape_markup(status)) + ".</strong> " + meaning + "</p>\n";
}

// Commands that repeat the run from the root of the project. `make` covers only unchanged presets;
// a changed run is repeated from the config in its result.
std::vector<std::string> commands(const Entry& entry) {
  const std::string preset = plain(member(*entry.result, "preset"));
  const std::string program =
                        "build/ranklab " + shell_word(plain(member(*entry.result, "command"))),
                    file = shell_word(entry.file_name);
  if (preset.empty() || is_changed(*entry.result))
    return {"build/ranklab verify " + file, program + " --config " + file + " --out again.json"};
  return {"make " + shell_word(preset), program + " --preset " + shell_word(preset)};
}

std::string heading_html(const Entry& entry) {
  const Json& result = *entry.result;
  const std::string title = html(member(result, "title")), changes = changes_html(result);
  const bool has_source = !plain(member(member(result, "source"), "figure")).empty();
  return "<h3 id=\"" + entry.anchor + "-heading\">" +
         (has_source ? short_name(result) + ": " : "") + (title.empty() ? "untitled" : title) +
         (changes.empty() ? "" : " <small class=\"changed\">" + changes + "</small>") + "</h3>\n";
}

// The command that repeats the run comes first: `make` if the preset is unchanged.
std::string facts_html(const Entry& entry, const std::vector<Entry>& all) {
  const Json& result = *entry.result;
  std::string out = "<code>" + escape_markup(commands(entry).front()) + "</code>";
  const std::string time = html_duration(member(member(result, "timing"), "wall_s"));
  for (const std::string& fact : {trials_html(result), time})
    out += (fact.empty() ? "" : " \u00B7 ") + fact;
  return "<p class=\"facts\">" + out + "." + elsewhere_html(entry, all) + "</p>\n";
}

}  // namespace

std::string section_html(const Entry& entry, const std::vector<Entry>& all) {
  const Json& result = *entry.result;
  return "<section class=\"result\" id=\"" + entry.anchor + "\" aria-labelledby=\"" + entry.anchor +
         "-heading\">\n" + heading_html(entry) + picture_html(entry, 0) + "<div class=\"text\">\n" +
         see_html(result) + warning_html(result) + claim_lines_html(entry) +
         facts_html(entry, all) + notes_html(result) + "</div>\n<div class=\"folds\">\n" +
         claims_html(entry) + more_figures_html(entry) +
         table_html(result, entry.paper == papers().size()) + scalars_html(result) +
         provenance_html(result, commands(entry),
                         all.front().result == entry.result ? nullptr : all.front().result,
                         link_to(all.front(), link_name(*all.front().result))) +
         "</div>\n</section>\n";
}

}  // namespace ranklab
