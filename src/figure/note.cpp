#include "figure/note.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "figure/text.hpp"

namespace ranklab {
namespace {

// The unit of trials of the run, in words: "12 seeds".
std::string trials_of(const FigureData& data) {
  return data.trials.completed > 0 ? plural(data.trials.completed, data.trial_unit())
                                   : "the " + data.trial_unit() + "s";
}

BandKind band_of(const Curve& curve, const FigureData& data) {
  // A result with many trials does not keep their values, and shows the spread instead.
  const bool falls_back =
      curve.band == BandKind::trials && !shows_each(data.series.at(curve.series).trials.size());
  return falls_back ? BandKind::std : curve.band;
}

// The numbers of the panels that draw something of this kind: a spread of zero draws no band.
// Without `panels`, of those that ask for it.
std::vector<std::size_t> panels_with(BandKind kind, const FigureData& data,
                                     const std::vector<PlacedPanel>& panels) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < data.figure.panels.size(); ++i) {
    const std::vector<Curve>& curves = data.figure.panels[i].curves;
    for (std::size_t c = 0; c < curves.size(); ++c) {
      const bool is_drawn = kind == BandKind::trials || i >= panels.size() ||
                            c >= panels[i].panel.curves.size() || panels[i].panel.curves[c].band;
      if (band_of(curves[c], data) != kind || !is_drawn) continue;
      out.push_back(i + 1);
      break;
    }
  }
  return out;
}

std::string words_for(BandKind kind, const FigureData& data) {
  const std::string trials = trials_of(data);
  switch (kind) {
    case BandKind::std:
      return "one standard deviation over " + trials;
    case BandKind::standard_error:
      return "standard error of the mean over " + trials;
    case BandKind::interval:
      return "99 % confidence interval of the mean over " + trials + ", as in the verdicts";
    case BandKind::trials:
      break;
  }
  return "";
}

// "Left at the end: 2 of 16 (SpecGD)", if trials drop out along a curve. Curves that lose the same
// number are named only if others lose another number.
std::string remaining(const FigureData& data) {
  constexpr std::size_t most_names = 4;
  std::map<std::uint64_t, std::vector<std::string>> labels;
  std::set<std::string> seen;
  bool some_stay = false;
  for (const Panel& panel : data.figure.panels) {
    for (const Curve& curve : panel.curves) {
      const Series& series = data.series.at(curve.series);
      const auto last =
          std::find_if(series.n.rbegin(), series.n.rend(), [](std::uint64_t n) { return n > 0; });
      const bool drops = last != series.n.rend() && *last < data.trials.completed;
      const std::string label = one_line(curve.label);
      some_stay |= !drops;
      if (drops && seen.insert(label).second) labels[*last].push_back(label);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [n, names] : labels) {
    const bool is_named = (labels.size() > 1 || some_stay) && names.size() <= most_names;
    parts.push_back(std::to_string(n) + " of " + std::to_string(data.trials.completed) +
                    (is_named ? " (" + joined(names) + ")" : ""));
  }
  return parts.empty() ? ""
                       : " " + capitalized(data.trial_unit()) +
                             "s left at the end: " + joined(parts, "; ") + ".";
}

}  // namespace

std::string note_for(const FigureData& data, const std::vector<PlacedPanel>& panels) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> kinds;
  for (const BandKind kind : {BandKind::std, BandKind::standard_error, BandKind::interval}) {
    const auto where = panels_with(kind, data, panels);
    if (!where.empty()) kinds.emplace_back(words_for(kind, data), where);
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> bands;
  for (const auto& [words, where] : kinds) {
    std::vector<std::string> numbers;
    for (const std::size_t number : where) numbers.push_back(std::to_string(number));
    bands.push_back(words + (kinds.size() == 1 ? ""
                                               : (where.size() == 1 ? " (panel " : " (panels ") +
                                                     joined(numbers) + ")"));
  }
  std::string note = bands.empty() ? "" : "Bands: " + joined(bands, "; ") + ".";
  if (!panels_with(BandKind::trials, data, panels).empty())
    note += std::string(note.empty() ? "" : " ") + "Thin lines and dots: single " +
            data.trial_unit() + "s (" + std::to_string(data.trials.completed) +
            "); thick lines and dashes: their median.";
  note += remaining(data);
  if (data.status == Status::interrupted)
    note += " Interrupted after " + std::to_string(data.trials.completed) + " of " +
            std::to_string(data.trials.requested) + " trials.";
  if (data.status == Status::diverged)
    note += " Some trials diverged; undefined points are left out.";
  return one_line(note);
}

}  // namespace ranklab
