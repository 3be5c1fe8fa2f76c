#include "figure/words.hpp"

#include "core/text.hpp"
#include "figure/note.hpp"
#include "figure/text.hpp"

namespace ranklab {
namespace {

std::string axis_words(const Axis& axis, const std::string& fallback) {
  const std::string label = one_line(axis.label);
  return (label.empty() ? fallback : label) +
         (axis.scale == Scale::log || axis.scale == Scale::log10 ? " (log scale)" : "");
}

std::string list_of(const std::string& what, const std::vector<std::string>& items) {
  return items.empty() ? "" : "; " + what + ": " + joined(items);
}

std::string panel_words(const Panel& panel) {
  const std::string title = one_line(panel.title);
  const std::string out = (title.empty() ? "" : title + ": ") + axis_words(panel.y, "values") +
                          " against " + axis_words(panel.x, "x");
  std::vector<std::string> curves, shaded, lines;
  std::size_t unlabeled = 0;
  for (const Curve& curve : panel.curves) {
    const std::string label = one_line(curve.label);
    if (label.empty()) {
      ++unlabeled;
    } else {
      curves.push_back(label + " (" + std::string(name_of(curve.style)) + ")");
    }
  }
  if (unlabeled > 0) curves.push_back(std::to_string(unlabeled) + " more without a label");
  for (const auto& line : panel.lines) {
    const std::string label = one_line(line.label);
    lines.push_back((label.empty() ? "" : label + " at ") + number_with_digits(line.y, 4));
  }
  for (const auto& band : panel.bands) {
    const std::string label = one_line(band.label);
    shaded.push_back((label.empty() ? "" : label + " ") + "from " +
                     number_with_digits(band.x_low, 4) + " to " +
                     number_with_digits(band.x_high, 4));
  }
  return out + list_of("curves", curves) + list_of("shaded", shaded) +
         list_of("reference lines", lines) + ".";
}

}  // namespace

std::string describe_figure(const FigureData& data) {
  std::string out = plural(data.figure.panels.size(), "panel") + ".";
  for (const FigureTable& table : data.figure.tables)
    out += " Table: " + one_line(table.title) + ", " + plural(table.rows.size(), "row") + ", " +
           plural(table.columns.size(), "column") + " (" + one_line(joined(table.columns)) + ").";
  if (!data.changes.empty()) out += " Not the unchanged preset: " + one_line(data.changes) + ".";
  for (const Panel& panel : data.figure.panels) out += " " + panel_words(panel);
  const std::uint64_t trials = data.trials.completed;
  if (trials > 0) {
    out += trials == 1 ? " One " + data.trial_unit() + "."
                       : " Over " + plural(trials, data.trial_unit()) + ". " + note_for(data, {});
  }
  if (data.status != Status::complete)
    out += " Status of the run: " + std::string(name_of(data.status)) + ".";
  return out;
}

}  // namespace ranklab
