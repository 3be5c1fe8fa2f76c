#include "experiments/advise/predicted_steps.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

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

/// The rows of a layer in the matrix of `sums`, with `polar` the polar factor of the whole.
struct Part {
  arma::mat G, M, B;

  Part(const Sums& sums, const arma::uvec& rows)
      : G(sums.G.rows(rows)), M(sums.M), B(sums.B.submat(rows, rows)) {}

  DirectionMatrices along(const arma::mat& polar_of_whole, const arma::uvec& rows) const {
    const bool is_cut = rows.n_elem < polar_of_whole.n_rows;
    return {G, polar_of_whole.rows(rows), arma::sign(G),
            is_cut ? polar_factor(G).factor : arma::mat()};
  }
  double slope(const arma::mat& D) const { return arma::dot(G, D); }
  double curvature(const arma::mat& D) const { return kronecker_form(D, M, B); }
  BestSteps best(const DirectionMatrices& along) const {
    BestSteps out;
    for (std::size_t d = 0; d < directions; ++d) {
      out[d] = along[d].is_empty() ? BestStep{undefined, undefined}
                                   : best_step(slope(along[d]), curvature(along[d]));
    }
    return out;
  }
};

/// What `length` along each direction does on the batch of `part`.
std::array<double, directions> decreases(const Part& part, const DirectionMatrices& along,
                                         const BestSteps& expected) {
  std::array<double, directions> out;
  for (std::size_t d = 0; d < directions; ++d) {
    const double t = expected[d].length;
    out[d] = along[d].is_empty() ? undefined
                                 : t * part.slope(along[d]) - t * t / 2 * part.curvature(along[d]);
  }
  return out;
}

/// The batches of one matrix at one step: indices of pairs.
using Batches = std::vector<std::size_t>;

bool same_shape(const Sums& a, const Sums& b) {
  return arma::size(a.G) == arma::size(b.G) && arma::size(a.M) == arma::size(b.M);
}

bool is_finite(const Sums& sums) {
  return sums.G.is_finite() && sums.M.is_finite() && sums.B.is_finite();
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
  std::map<std::pair<std::string, std::int64_t>, Batches> groups;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const Pair& pair = plan.pairs[p];
    if (!pair.error_moment.empty() && !pair.layers.empty())
      groups[{pair.layers.front().name, pair.when.step}].push_back(p);
  }
  for (auto& [at, pairs] : groups) {
    std::vector<Sums> each;
    Batches batches;
    for (const std::size_t p : pairs) {
      trial.check_interrupt();
      bool all = true;
      for (std::size_t l = 0; l < plan.pairs[p].layers.size(); ++l) all = all && usable(p, l);
      if (!all) continue;
      Sums sums = sums_of(plan.pairs[p], *plan.open);
      if (!is_finite(sums) || (!each.empty() && !same_shape(each.front(), sums))) continue;
      each.push_back(std::move(sums));
      batches.push_back(p);
    }
    if (each.empty()) continue;
    Sums joined = each.front();
    for (std::size_t b = 1; b < each.size(); ++b) joined.add(each[b]);
    joined.average(static_cast<double>(each.size()));
    const arma::mat polar_of_joined = polar_factor(joined.G).factor;
    std::vector<arma::mat> polars;
    for (const Sums& sums : each) {
      trial.check_interrupt();
      polars.push_back(each.size() > 1 ? polar_factor(sums.G).factor : polar_of_joined);
    }
    const std::vector<Layer>& layers = plan.pairs[batches.front()].layers;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      trial.check_interrupt();
      const arma::uvec rows = rows_in(layers[l]);
      const Part whole(joined, rows);
      std::vector<double> packed;
      pack(whole.best(whole.along(polar_of_joined, rows)), packed);
      packed.push_back(static_cast<double>(each.size() > 1 ? each.size() : 0));
      for (std::size_t b = 0; each.size() > 1 && b < each.size(); ++b) {
        const Part own(each[b], rows), other(each[(b + 1) % each.size()], rows);
        const DirectionMatrices along = own.along(polars[b], rows);
        const BestSteps expected = own.best(along);
        packed.push_back(ratio(batches[b], l));
        pack(expected, packed);
        pack(other.best(along), packed);
        for (const double decrease : decreases(other, along, expected)) packed.push_back(decrease);
      }
      record.set(steps_key_of(layers[l].name, at.second), packed);
    }
  }
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
  for (const double* at = values.data() + numbers_of_steps + 1; at < values.data() + values.size();
       at += numbers_of_fresh) {
    PredictedSteps::Fresh one{at[0], unpack(at + 1), unpack(at + 1 + numbers_of_steps), {}};
    std::copy_n(at + 1 + 2 * numbers_of_steps, directions, one.decrease.begin());
    out.batches.push_back(one.expected);
    out.fresh.push_back(one);
  }
  return out;
}

}  // namespace ranklab::advise
