// The engine of studies that train several models from the same batches and compare them. A run is
// one of these trainings. Its place, its name and its words follow from its settings, and its
// numbers lie at its place in the record of every trial. A study adds what it trains and measures,
// and what it claims.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/text.hpp"
#include "experiments/display.hpp"
#include "experiments/numbers.hpp"
#include "run/trials.hpp"

namespace ranklab::grid {

// What a run is -----------------------------------------------------------------------------------

using Axes = std::vector<std::string>;

/// A setting of a run.
struct Setting {
  std::string axis;        // "L"
  Coordinate value;        // 8
  std::string name = {};   // in the name of a run: "L=8"; empty: the name leaves it out
  std::string words = {};  // for readers: "8 layers"
  bool varies = false;     // it tells the runs apart
  bool operator==(const Setting& other) const { return axis == other.axis && value == other.value; }
};

/// Settings as a place that reads "attention,lambda=0,L=8". Those without a name are left out.
At place_of(const std::vector<Setting>& settings);

/// One training. A study's own Run adds what it needs to train.
struct Run {
  std::vector<Setting> settings;
  At place;           // of its numbers; it reads as the name of the run
  std::string label;  // in claims

  const std::string& name() const { return place.text; }
  /// One of its numbers, in a record and in the result: "adam.train_loss".
  Quantity key(const Quantity& number) const { return place / number; }

  /// The settings on these axes, in their order; those on all other axes.
  std::vector<Setting> on(const Axes& axes) const;
  std::vector<Setting> but_for(const Axes& axes) const;
  bool same_on(const Run& other, const Axes& axes) const { return on(axes) == other.on(axes); }
  bool same_but_for(const Run& other, const Axes& axes) const {
    return but_for(axes) == other.but_for(axes);
  }
};

/// Those that tell the runs apart, and their words.
std::vector<Setting> varying(std::vector<Setting> settings);
std::vector<std::string> words_of(const std::vector<Setting>& settings);

/// Two runs that are compared. Both are null if the plan has no such pair.
template <class R>
struct Pair {
  const R *first = nullptr, *second = nullptr;
  explicit operator bool() const { return first && second; }
};

/// The first run that satisfies ok(run), or null.
template <class R, class Ok>
const R* first_where(const std::vector<R>& runs, const Ok& ok) {
  for (const R& run : runs) {
    if (ok(run)) return &run;
  }
  return nullptr;
}
template <class R, class Ok>
const R* first_where(const std::vector<const R*>& runs, const Ok& ok) {
  for (const R* run : runs) {
    if (ok(*run)) return run;
  }
  return nullptr;
}

/// The runs in groups, with same(a, b) within each: in the order of their first runs.
template <class R, class Same>
std::vector<std::vector<const R*>> grouped(const std::vector<const R*>& runs, const Same& same) {
  std::vector<std::vector<const R*>> out;
  for (const R* run : runs) {
    auto group = out.begin();
    while (group != out.end() && !same(*group->front(), *run)) ++group;
    if (group == out.end()) group = out.emplace(group);
    group->push_back(run);
  }
  return out;
}
template <class R, class Same>
std::vector<std::vector<const R*>> grouped(const std::vector<R>& runs, const Same& same) {
  std::vector<const R*> pointers;
  for (const R& run : runs) pointers.push_back(&run);
  return grouped(pointers, same);
}

// Its numbers -------------------------------------------------------------------------------------

/// Every run has it.
inline constexpr Measure diverged = {"diverged", "", "1 if the run diverged, else 0"};

/// Trains every run in a trial: train(run) returns its numbers, which the record has at its place.
/// flops(run) says which runs take long.
template <class R, class Flops, class Train>
TrialRecord train_each(const std::vector<R>& runs, const Trial& trial, const Flops& flops,
                       const Train& train) {
  std::vector<double> costs;
  for (const R& run : runs) costs.push_back(flops(run));
  std::vector<TrialRecord> of_runs(runs.size());
  trial.for_each_piece(costs, [&](std::size_t i) { of_runs[i] = train(runs[i]); });
  TrialRecord out;
  for (std::size_t i = 0; i < runs.size(); ++i) out.insert(of_runs[i], runs[i].name() + ".");
  return out;
}

/// A run in one trial.
struct InTrial {
  const Run& run;
  const TrialRecord& record;

  double operator()(const Quantity& number) const { return record.scalar(run.key(number)); }
  const std::vector<double>& array(const Quantity& numbers) const {
    return record.array(run.key(numbers));
  }
};

/// A run in all trials.
class RunRecords {
 public:
  RunRecords(const Run& run, const Records& records) : run_(run), records_(records) {}

  const Records& records() const { return records_; }
  /// value(InTrial) of every trial.
  template <class Value>
  std::vector<double> per_trial(const Value& value) const {
    return ranklab::per_trial(records_, [&](const TrialRecord& record) {
      return value(InTrial{run_, record});
    });
  }
  /// One number of every trial. `of_diverged` stands for one that is not finite.
  std::vector<double> numbers(const Quantity& number) const;
  std::vector<double> numbers(const Quantity& number, double of_diverged) const;
  /// The tally that count(InTrial, tally) fills from every trial.
  template <class Count>
  Tally tally(const Count& count) const {
    return tally_of(records_, [&](const TrialRecord& record, Tally& tally) {
      count(InTrial{run_, record}, tally);
    });
  }
  Divergence divergence() const { return divergence_of(records_, run_.label, run_.key(diverged)); }
  double times_diverged() const;

 protected:
  const Run& run_;
  const Records& records_;
};

/// The trials in which each of these runs diverged; a null run is left out.
template <class R>
std::vector<Divergence> divergences_of(const std::vector<const R*>& runs, const Records& records) {
  std::vector<Divergence> out;
  for (const R* run : runs) {
    if (run) out.push_back(RunRecords(*run, records).divergence());
  }
  return out;
}

/// Marks the runs that diverged.
template <class R>
void derive_divergences(Numbers& out, const std::vector<R>& runs) {
  for (const R& run : runs)
    out.diverged(run.name(), RunRecords(run, out.records()).numbers(diverged));
}
/// Says in how many trials they diverged: called(run) begins the note, and `then` ends it.
template <class R, class Called>
void note_divergences(Display& out, const std::vector<R>& runs, const Called& called,
                      const std::string& then = "") {
  for (const R& run : runs) {
    const double times = RunRecords(run, out.records()).times_diverged();
    if (times == 0) continue;
    out.note(say("{} diverged in {} of {}.{}", called(run), times,
                 plural(out.records().size(), "trial"), then));
  }
}

// What figures show of it -------------------------------------------------------------------------

/// A curve that shows every training: trained networks can differ by more than a band shows.
inline CurveLook trials_look(LineStyle style, int color, double x_offset = 0) {
  return {.style = style, .color = color, .x_offset = x_offset, .band = BandKind::trials};
}

/// The trainings of some runs as dots of one color, each run at its place.
struct Dots {
  Quantity series;
  std::vector<double> places;
  ValueAtSize value;  // of the run at the i-th place
  std::string label;
  int color = 0;
  double offset = 0;  // to the right
};

/// A panel of dots with named places 1, 2, ..., such as one for each run. Described once: derive()
/// adds its series, show() draws them.
struct DotPanel {
  std::string title, x_name;  // x_name: of the series
  Axis x, y;
  std::vector<Dots> dots = {};

  void derive(Numbers& out) const;
  PanelBuilder show(Display& out) const;
};
/// 1 ... n.
std::vector<double> places_to(std::size_t n);

}  // namespace ranklab::grid
