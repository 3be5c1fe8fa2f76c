#include "experiments/advise/predicted_steps.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/undefined.hpp"
#include "experiments/advise/measure.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "linalg/polar.hpp"

namespace ranklab::advise {
namespace {

constexpr std::size_t numbers_of_steps = 2 * directions,
                      numbers_of_fresh = 1 + 2 * numbers_of_steps + directions;

std::string steps_key_of(const std::string& layer, std::int64_t step) {
  return "predicted steps of " + layer + " at step " + std::to_string(step);
}

void pack(const BestSteps& steps, std::vector<double>& out) {
  for (const BestStep& step : steps) out.insert(out.end(), {step.length, step.decrease});
}

BestSteps unpack(const double* values) {
  BestSteps out;
  for (std::size_t d = 0; d < directions; ++d) out[d] = {values[2 * d], values[2 * d + 1]};
  return out;
}

/// The sums of one matrix over one or several batches.
struct Sums {
  arma::mat G, M, B;  // gradient (m, k), sum a a' (k, k) or its diagonal, sum e e' (m, m)

  void add(const Sums& other) {
    G += other.G;
    M += other.M;
    B += other.B;
  }
  /// After adding `batches` batches: the gradient of their mean loss, in which e is divided by
  /// their number.
  void average(double batches) {
    G /= batches;
    B /= batches * batches;
  }
};

/// The whole matrix of a pair, in the order of its stored rows.
Sums sums_of(const Pair& pair, OpenTensors& open) {
  const StoredGradient gradient{open_gradient(pair, open), pair.gradient_transposed,
                                pair.first_feature, pair.k};
  const StoredMoment inputs{open_second_moment(pair, open), pair.is_packed};
  const StoredTensor errors = open.at(pair.error_moment);
  const StoredMoment outputs{errors, errors.shape().size() == 1};
  Layer all{"", 0, gradient.rows()};
  all.run = all.stride = all.m;
  return {rows_of(gradient, all).block, inputs.block(pair.first_feature, pair.k).block,
          outputs.block(0, all.m).block};
}

arma::uvec rows_in(const Layer& layer) {
  arma::uvec out(layer.m);
  for (std::uint64_t i = 0; i < layer.m; ++i)
    out(i) = layer.first_row + i / layer.run * layer.stride + i % layer.run;
  return out;
}

using DirectionMatrices = std::array<arma::mat, directions>;

/// The decrease t slope - t^2 / 2 curvature of the loss along each direction.
struct Quadratic {
  double slope = undefined, curvature = undefined;
};
using Quadratics = std::array<Quadratic, directions>;

BestSteps best_steps(const Quadratics& quadratics) {
  BestSteps out;
  for (std::size_t d = 0; d < directions; ++d)
    out[d] = best_step(quadratics[d].slope, quadratics[d].curvature);
  return out;
}

/// The rows of a layer in a matrix.
struct Part {
  arma::mat G, M, B;

  Part(const Sums& sums, const arma::uvec& rows)
      : G(sums.G.rows(rows)), M(sums.M), B(sums.B.submat(rows, rows)) {}

  DirectionMatrices along(const arma::mat& polar_of_whole, const arma::uvec& rows) const {
    const bool is_cut = rows.n_elem < polar_of_whole.n_rows;
    return {G, polar_of_whole.rows(rows), arma::sign(G),
            is_cut ? polar_factor(G).factor : arma::mat()};
  }
  Quadratics quadratics(const DirectionMatrices& along) const {
    Quadratics out;
    for (std::size_t d = 0; d < directions; ++d) {
      if (!along[d].is_empty()) out[d] = {arma::dot(G, along[d]), kronecker_form(along[d], M, B)};
    }
    return out;
  }
};

/// The batches of one matrix at one step.
struct Batches {
  std::vector<std::size_t> pairs;  // indices into the plan
  std::vector<Sums> sums;
};

bool same_shape(const Sums& a, const Sums& b) {
  return arma::size(a.G) == arma::size(b.G) && arma::size(a.M) == arma::size(b.M);
}

bool is_finite(const Sums& sums) {
  return sums.G.is_finite() && sums.M.is_finite() && sums.B.is_finite();
}

/// Those of `pairs` whose layers are all usable, finite and of one shape.
Batches read_batches(const Plan& plan, const std::vector<std::size_t>& pairs, const Trial& trial,
                     OpenTensors& open,
                     const std::function<bool(std::size_t, std::size_t)>& usable) {
  Batches out;
  for (const std::size_t p : pairs) {
    trial.check_interrupt();
    bool all = true;
    for (std::size_t l = 0; l < plan.pairs[p].layers.size(); ++l) all = all && usable(p, l);
    if (!all) continue;
    Sums sums = sums_of(plan.pairs[p], open);
    if (!is_finite(sums) || (!out.sums.empty() && !same_shape(out.sums.front(), sums))) continue;
    out.pairs.push_back(p);
    out.sums.push_back(std::move(sums));
  }
  return out;
}

Sums joined(const std::vector<Sums>& batches) {
  Sums out = batches.front();
  for (std::size_t b = 1; b < batches.size(); ++b) out.add(batches[b]);
  out.average(static_cast<double>(batches.size()));
  return out;
}

}  // namespace

const std::string& name_of(Direction direction) {
  static const std::array<std::string, directions> names = {"gradient", "polar", "sign",
                                                            "polar-per-part"};
  return names[static_cast<std::size_t>(direction)];
}

bool PredictedSteps::are_known() const {
  return std::isfinite(joined[static_cast<std::size_t>(Direction::polar)].length);
}

void predict_steps(const Plan& plan, const Trial& trial,
                   const std::function<bool(std::size_t, std::size_t)>& usable,
                   const std::function<double(std::size_t, std::size_t)>& ratio,
                   TrialRecord& record) {
  using Group = std::pair<std::string, std::int64_t>;  // a matrix at a step
  std::map<Group, std::vector<std::size_t>> groups;
  std::map<std::string, std::set<std::int64_t>> steps;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const Pair& pair = plan.pairs[p];
    if (pair.error_moment.empty() || pair.layers.empty()) continue;
    const std::string& name = pair.layers.front().name;
    groups[{name, pair.when.step}].push_back(p);
    steps[name].insert(pair.when.step);
  }
  const std::vector<std::pair<Group, std::vector<std::size_t>>> in_order(groups.begin(),
                                                                         groups.end());
  std::vector<double> costs;
  for (const auto& [at, pairs] : in_order) {
    costs.push_back(0);
    for (const std::size_t p : pairs) costs.back() += estimate_of(plan.pairs[p]).flops;
  }
  std::vector<TrialRecord> predicted(in_order.size());
  std::vector<OpenTensors> open(in_order.size());  // one for each worker
  trial.for_each_part(costs, [&](std::size_t g, std::size_t worker) {
    const auto& [at, pairs] = in_order[g];
    const Batches batches = read_batches(plan, pairs, trial, open[worker], usable);
    const std::size_t count = batches.sums.size();
    if (count == 0) return;
    const Sums whole = joined(batches.sums);
    const arma::mat polar_of_whole = polar_factor(whole.G).factor;
    // Batches alone are needed for an interval at the only step, and for the validation.
    const bool needs_batches = count > 1 && (plan.validates || steps.at(at.first).size() == 1);
    std::vector<arma::mat> polars;
    for (std::size_t b = 0; needs_batches && b < count; ++b) {
      trial.check_interrupt();
      polars.push_back(polar_factor(batches.sums[b].G).factor);
    }
    const std::vector<Layer>& layers = plan.pairs[batches.pairs.front()].layers;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const arma::uvec rows = rows_in(layers[l]);
      const Part part(whole, rows);
      std::vector<double> packed;
      pack(best_steps(part.quadratics(part.along(polar_of_whole, rows))), packed);
      for (std::size_t b = 0; needs_batches && b < count; ++b) {
        trial.check_interrupt();
        const Part own(batches.sums[b], rows);
        const DirectionMatrices along = own.along(polars[b], rows);
        const BestSteps expected = best_steps(own.quadratics(along));
        Quadratics other;
        const std::size_t partner = b % 2 == 0 ? b + 1 : b - 1;
        if (plan.validates && partner < count)
          other = Part(batches.sums[partner], rows).quadratics(along);
        packed.push_back(ratio(batches.pairs[b], l));
        pack(expected, packed);
        pack(best_steps(other), packed);
        for (std::size_t d = 0; d < directions; ++d) {
          const double t = expected[d].length;
          packed.push_back(t * other[d].slope - t * t / 2 * other[d].curvature);
        }
      }
      predicted[g].set(steps_key_of(layers[l].name, at.second), packed);
    }
  });
  for (const TrialRecord& of_matrix : predicted) record.insert(of_matrix);
}

PredictedSteps predicted_steps(const TrialRecord& record, const std::string& layer,
                               std::int64_t step) {
  PredictedSteps out;
  const std::string key = steps_key_of(layer, step);
  if (!record.has(key)) {
    out.joined.fill({undefined, undefined});
    return out;
  }
  const std::vector<double>& values = record.array(key);
  out.joined = unpack(values.data());
  for (const double* at = values.data() + numbers_of_steps; at < values.data() + values.size();
       at += numbers_of_fresh) {
    PredictedSteps::Fresh one{at[0], unpack(at + 1), unpack(at + 1 + numbers_of_steps), {}};
    std::copy_n(at + 1 + 2 * numbers_of_steps, directions, one.decrease.begin());
    out.batches.push_back(one.expected);
    if (std::isfinite(one.decrease.front())) out.fresh.push_back(one);
  }
  return out;
}

}  // namespace ranklab::advise
