// `ranklab plot RESULT.json`: draws the figure that a result describes.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/report_file.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "figure/picture.hpp"

namespace ranklab {
namespace {

std::string default_picture(const std::string& result) {
  return (result.ends_with(".json") ? result.substr(0, result.size() - 5) : result) + ".svg";
}

struct PlotOptions {
  std::string out, width, font, with;
  bool no_title = false, quiet = false;
};

/// "84mm" in points.
double points_of(const std::string& width) {
  constexpr double narrowest = 40, widest = 1000;  // mm
  constexpr std::array<std::pair<std::string_view, double>, 5> units = {
      {{"mm", 72 / 25.4}, {"cm", 72 / 2.54}, {"in", 72}, {"pt", 1}, {"px", 0.75}}};
  double number = 0;
  const auto [end, error] = std::from_chars(width.data(), width.data() + width.size(), number);
  const std::string unit(end, width.data() + width.size());
  const auto found = std::ranges::find(units, unit, [](const auto& each) { return each.first; });
  const double points = found == units.end() ? 0 : number * found->second, mm = points * 25.4 / 72;
  if (error != std::errc() || !(mm >= narrowest && mm <= widest))
    throw UsageError("--width: '" + printable_key(width) +
                     "' is not allowed; allowed: 40mm to 1000mm, in mm, cm, in, pt or px, as in "
                     "84mm");
  return points;
}

void require_font_name(const std::string& font) {
  const auto is_allowed = [](char c) {
    return is_letter(c) || is_digit(c) || c == ' ' || c == '-';
  };
  if (!font.empty() && std::ranges::all_of(font, is_allowed)) return;
  throw UsageError("--font: '" + printable_key(font) +
                   "' is not allowed; allowed: the name of a font family, of letters, digits, "
                   "blanks and hyphens");
}

// The figure becomes the panels of the report in the file.
void keep_panels_of(const std::string& file, ResultFile& result) {
  require_same_trials(result, "the result");
  const OwnReport report = report_for(result, file);
  remove_own_report(result, report);
  result.figure = {};
  result.more_figures.clear();
  Mistakes mistakes;
  add_own_quantities(report, result, mistakes);
  add_own_panels(report, result, mistakes);
  if (mistakes.empty() && report.panels.empty()) mistakes.push_back("report: has no panels");
  if (!mistakes.empty()) throw UsageError("--with " + printable(file) + ": " + mistakes.front());
}

int plot(const std::string& path, const PlotOptions& options) {
  Print print{.font = options.font, .title = !options.no_title};
  if (!options.width.empty()) print.width = points_of(options.width);
  if (!options.font.empty()) require_font_name(options.font);
  ResultFile result = read_result(path);
  if (!options.with.empty()) keep_panels_of(options.with, result);
  std::vector<std::string> pictures;
  try {
    pictures =
        draw_figure(result, options.out.empty() ? default_picture(path) : options.out, print);
  } catch (const Failure& error) {
    throw Failure(printable(path) + ": " + error.what());
  }
  for (const std::string& picture : pictures) {
    if (!options.quiet) std::fprintf(stderr, "%s\n", printable(picture).c_str());
  }
  return 0;
}

}  // namespace

Utility plot_command() {
  const auto options = std::make_shared<PlotOptions>();
  return {
      .name = "plot",
      .usage = "RESULT.json",
      .summary = "draw the figure of a result as SVG, PNG, PDF or EPS",
      .takes = {1, 1, "one result file"},
      .flags =
          {text_field("out", options->out,
                      "path of the figure, .svg, .png, .pdf or .eps (not given: RESULT.svg); "
                      "further figures of the result are written next to it, as RESULT.2.svg "
                      "and so on"),
           text_field("width", options->width,
                      "width on paper, such as 84mm for a column: panels are arranged for it, "
                      "and text has 7 to 10 pt; mm, cm, in, pt or px"),
           text_field(
               "font", options->font,
               "font family, such as \"Latin Modern\" (not given: a sans-serif one); an .svg only "
               "names it"),
           text_field("with", options->with,
                      "a preset whose report is applied: only its panels are drawn"),
           switch_field("no-title", options->no_title,
                        "leave out the title, for a figure with a caption"),
           switch_field("quiet", options->quiet, "print only errors on standard error")},
      .run = [options](const Arguments& given) { return plot(given.positional[0], *options); },
  };
}

}  // namespace ranklab
