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

// Whether the figure shows single trials in this way: as dots, or as lines.
bool shows_trials(const FigureData& data, bool dots) {
  return std::ranges::any_of(data.figure.panels, [&](const Panel& panel) {
    return std::ranges::any_of(panel.curves, [&](const Curve& curve) {
      return band_of(curve, data) == BandKind::trials && (curve.style == LineStyle::points) == dots;
    });
  });
}

// "Thin lines: single seeds (5); thick lines: their median."
std::string words_for_trials(const FigureData& data) {
  const bool dots = shows_trials(data, true), lines = shows_trials(data, false);
  if (!dots && !lines) return "";
  const std::string single =
      "single " + data.trial_unit() + "s (" + std::to_string(data.trials.completed) + "); ";
  if (!dots) return "Thin lines: " + single + "thick lines: their median.";
  if (!lines) return "Dots: " + single + "dashes: their median.";
  return "Thin lines and dots: " + single + "thick lines and dashes: their median.";
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

// The labels of the curves along which trials drop out, by how many are left at the end.
struct Remaining {
  std::map<std::uint64_t, std::vector<std::string>> labels;
  bool some_stay = false;  // of another curve
};

Remaining remaining_trials(const FigureData& data) {
  Remaining out;
  std::set<std::string> seen;
  for (const Panel& panel : data.figure.panels) {
    for (const Curve& curve : panel.curves) {
      const Series& series = data.series.at(curve.series);
      const auto last =
          std::find_if(series.n.rbegin(), series.n.rend(), [](std::uint64_t n) { return n > 0; });
      const bool drops = last != series.n.rend() && *last < data.trials.completed;
      const std::string label = one_line(curve.label);
      out.some_stay |= !drops;
      if (drops && seen.insert(label).second) out.labels[*last].push_back(label);
    }
  }
  return out;
}

// "2 of 16 (SpecGD)". Curves that lose the same number are named only if others lose another
// number.
std::string counts_of(const Remaining& remaining, std::uint64_t trials, bool left) {
  constexpr std::size_t most_names = 4;
  std::vector<std::string> parts;
  for (const auto& [n, names] : remaining.labels) {
    const bool is_named =
        (remaining.labels.size() > 1 || remaining.some_stay) && names.size() <= most_names;
    parts.push_back(std::to_string(left ? n : trials - n) + " of " + std::to_string(trials) +
                    (is_named ? " (" + joined(names) + ")" : ""));
  }
  return joined(parts, "; ");
}

bool most_dropped(const Remaining& remaining, std::uint64_t trials) {
  return !remaining.labels.empty() && 2 * remaining.labels.begin()->first < trials;
}

}  // namespace

std::string warning_for(const FigureData& data) {
  const Remaining left = remaining_trials(data);
  if (data.status != Status::diverged || !most_dropped(left, data.trials.completed)) return "";
  return "Diverged " + data.trial_unit() + "s: " + counts_of(left, data.trials.completed, false);
}

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
  const std::string of_trials = words_for_trials(data);
  if (!of_trials.empty()) note += (note.empty() ? "" : " ") + of_trials;
  if (std::ranges::any_of(panels,
                          [](const PlacedPanel& placed) { return placed.panel.in_stretches; }))
    note +=
        " Where they oscillate: medians over short stretches of the x axis, and their range "
        "shaded.";
  const Remaining left = remaining_trials(data);
  if (!left.labels.empty() && warning_for(data).empty())
    note += " " + capitalized(data.trial_unit()) +
            "s left at the end: " + counts_of(left, data.trials.completed, true) + ".";
  if (most_dropped(left, data.trials.completed) && shows_trials(data, false))
    note += " No median where fewer than half are left.";
  if (data.status == Status::interrupted)
    note += " Interrupted after " + std::to_string(data.trials.completed) + " of " +
            std::to_string(data.trials.requested) + " trials.";
  if (data.status == Status::diverged)
    note += " Some trials diverged; undefined points are left out.";
  return one_line(note);
}

}  // namespace ranklab
