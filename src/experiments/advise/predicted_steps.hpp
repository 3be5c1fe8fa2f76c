// How far a step along a direction lowers the loss, by the curvature of the layer (K-FAC,
// linalg/kronecker.hpp). Only for recordings with second moments of output gradients.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/record.hpp"
#include "experiments/advise/advise.hpp"
#include "linalg/kronecker.hpp"

namespace ranklab::advise {

/// A step W - t D. `polar`: the rows of the polar factor of the whole matrix; `polar_per_part`: the
/// polar factor of these rows alone, only for matrices that are cut into rows.
enum class Direction : std::size_t { gradient, polar, sign, polar_per_part };
inline constexpr std::size_t directions = 4;
/// "gradient", "polar", "sign", "polar-per-part".
const std::string& name_of(Direction direction);

/// By direction; NaN if there is no such direction or no second moment of output gradients.
using BestSteps = std::array<BestStep, directions>;

/// A layer at one step of training.
struct PredictedSteps {
  BestSteps joined;                // all batches joined into one
  std::vector<BestSteps> batches;  // each of several batches alone, at the only step
  // What the direction and length from one batch do on another one, by the curvature of that
  // batch. Batches 0 and 1 check each other, then 2 and 3, ...; a last one alone is not checked.
  // Empty unless the plan validates.
  struct Fresh {
    double ratio;              // nr/st of the first batch
    BestSteps expected, best;  // by the first batch; by the other one, along the same directions
    std::array<double, directions> decrease;  // on the other batch, at the expected length
  };
  std::vector<Fresh> fresh;

  bool are_known() const;
};

/// The mean gradient of all batches of a step of a layer that is a whole matrix.
struct JoinedGradient {
  std::vector<std::size_t> pairs;  // the batches: indices into the plan
  double nuclear_rank;             // ||G||_* = <G, polar(G)>
};
/// By the layer's name and the step.
using JoinedGradients = std::map<std::pair<std::string, std::int64_t>, JoinedGradient>;

/// Adds the steps of all layers to the record. With several batches of a step the second moments
/// add up; the gradients, and with them the output gradients, are means. `usable(pair, layer)` says
/// whether a layer passes the checks; `ratio(pair, layer)` is its nr/st. Returns what its polar
/// factors tell about the joined gradients. Throws Interrupted.
JoinedGradients predict_steps(const Plan& plan, const Trial& trial,
                              const std::function<bool(std::size_t, std::size_t)>& usable,
                              const std::function<double(std::size_t, std::size_t)>& ratio,
                              TrialRecord& record);

/// Read from a trial's record.
PredictedSteps predicted_steps(const TrialRecord& record, const std::string& layer,
                               std::int64_t step);

}  // namespace ranklab::advise
