// Layers with all their measurements: the rows of the table.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/statistics.hpp"
#include "experiments/advise/advice.hpp"
#include "experiments/advise/measure.hpp"
#include "experiments/advise/predicted_steps.hpp"
#include "report/result.hpp"

namespace ranklab::advise {

/// A layer at one step, on one batch; ranks of missing matrices are NaN.
struct Observation {
  const Pair& pair;
  const Layer& layer;
  std::size_t pair_index, layer_index;
  Ranks activation, gradient;

  double stable_rank() const { return activation.stable_rank; }
  double nuclear_rank() const { return gradient.nuclear_rank; }
  double gradient_stable_rank() const { return gradient.stable_rank; }
  double ratio() const { return gradient.nuclear_rank / activation.stable_rank; }
  double log_ratio() const { return std::log(ratio()); }
};

using Value = double (Observation::*)() const;

/// A layer at all its steps and batches; at least one.
struct Row {
  std::vector<Observation> all;
  std::map<std::int64_t, std::vector<Joined>> joined;  // by step, for steps with several batches
  std::map<std::int64_t, PredictedSteps> steps;        // by step, where they are known
  PooledRatio ratio = {};                              // of judged layers
  // What the curvature predicts, if it is known: the decrease of the loss along the polar factor
  // over that along the gradient, and the decrease and the length of the best step along each
  // direction (infinite or NaN: no such direction).
  PooledRatio advantage = {};
  std::array<PooledRatio, directions> decrease = {}, length = {};

  const std::string& name() const { return all.front().layer.name; }
  const Pair& pair() const { return all.front().pair; }
  std::uint64_t m() const { return all.front().layer.m; }
  bool is_judged() const { return pair().has_activation() && pair().has_gradient(); }
  bool has_steps() const;

  double mean(Value value) const;
  /// Summary over the batches of each step.
  std::map<std::int64_t, Summary> by_step(Value value) const;
  /// nr/st at each step: of the joined batches, or the geometric mean over batches that could not
  /// be joined.
  std::map<std::int64_t, double> ratio_by_step() const;
  LogRatios log_ratios() const;
  /// nr/st with the st of all samples is between this share of `ratio` and `ratio`; below 1 if st
  /// is that of samples drawn at random.
  double least_share_of_ratio() const;
  bool has_predicted_steps() const { return !steps.empty(); }
  bool has_direction(Direction direction) const {
    return length[static_cast<std::size_t>(direction)].ratio > 0;
  }
  const PooledRatio& decrease_of(Direction direction) const {
    return decrease[static_cast<std::size_t>(direction)];
  }
  const PooledRatio& length_of(Direction direction) const {
    return length[static_cast<std::size_t>(direction)];
  }
  /// Upper limits of the ranks from the shapes. The rank of G = E A' is at most the number of
  /// samples.
  std::uint64_t stable_rank_limit() const;
  std::uint64_t nuclear_rank_limit() const;
  Advice advice() const;
};

/// Whether nr/st is at least 1 with the drawn samples but may be below 1 with all.
bool drawing_hides(const Row& row);

struct Rows {
  // Layers that have all their ranks, and pass the checks, in at least one recording
  std::vector<Row> rows;
  // The other layers, and those that are left out of some recordings
  std::vector<Skipped> skipped;
  std::size_t not_judged = 0;  // layers without advice

  std::size_t count(Settled settled) const;
};
Rows rows_of(const Plan& plan, const TrialRecord& record);

}  // namespace ranklab::advise
