#include "experiments/advise/predicted_steps.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <variant>

#include "core/undefined.hpp"
#include "experiments/advise/measure.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "linalg/polar.hpp"
#include "linalg/scale_exponent.hpp"

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
  arma::mat G;                // gradient (m, k)
  SecondMoment<double> M, B;  // sum a a' (k, k), sum e e' (m, m)

  void add(const Sums& other) {
    G += other.G;
    add_to(M, other.M);
    add_to(B, other.B);
  }
  /// After adding `batches` batches: the gradient of their mean loss, in which e is divided by
  /// their number.
  void average(double batches) {
    G /= batches;
    B.factor /= batches * batches;
  }
};

StoredMoment error_moment_in(const Pair& pair, OpenTensors& open) {
  return {open.at(pair.error_moment), pair.error_storage};
}

/// The whole matrix of a pair, in the order of its stored rows.
Sums sums_of(const Pair& pair, OpenTensors& open) {
  const StoredGradient gradient{open_gradient(pair, open), pair.gradient_transposed,
                                pair.first_feature, pair.k};
  const StoredMoment inputs{open_second_moment(pair, open), pair.moment_storage},
      outputs = error_moment_in(pair, open);
  Layer all{"", 0, gradient.rows()};
  all.run = all.stride = all.m;
  return {rows_of(gradient, all).block, inputs.moment(pair.first_feature, pair.k),
          outputs.moment(0, all.m)};
}

/// Whether all numbers of a pair have at most the precision of float.
bool is_single_precision(const Pair& pair, OpenTensors& open) {
  const auto is_short = [](const StoredTensor& tensor) {
    return is_floating(tensor.dtype()) && tensor.dtype() != Dtype::f64;
  };
  return is_short(open_gradient(pair, open)) && is_short(open_second_moment(pair, open)) &&
         is_short(open.at(pair.error_moment));
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

/// Whether these rows are all rows of a matrix, in order.
bool are_all(const arma::uvec& rows, arma::uword all) {
  return rows.n_elem == all && rows.is_sorted();
}

/// The rows of a matrix; all of them share its memory.
arma::mat selected(const arma::mat& whole, const arma::uvec& rows) {
  if (!are_all(rows, whole.n_rows)) return whole.rows(rows);
  return {const_cast<double*>(whole.memptr()), whole.n_rows, whole.n_cols, false, true};
}

/// Shares the memory of G and of the polar factor.
DirectionMatrices directions_of(const arma::mat& G, const arma::mat& polar_of_whole,
                                const arma::uvec& rows) {
  const bool is_cut = rows.n_elem < polar_of_whole.n_rows;
  DirectionMatrices out;
  out[0] = selected(G, arma::regspace<arma::uvec>(0, G.n_rows - 1));
  out[1] = selected(polar_of_whole, rows);
  out[2] = arma::sign(G);
  if (is_cut) out[3] = polar_factor_of_long(G);
  return out;
}

/// Products in single precision take half the time. In a matrix of this size, rounding errors
/// average out: they change a predicted step by less than 1e-6 of it (see the tests).
constexpr arma::uword fewest_in_single_precision = 1 << 16;

/// The moments of one matrix, in single precision if its files hold no more and it is large.
class Curvature {
 public:
  Curvature(const Sums& sums, bool single) {
    if (single) {
      moments_ = std::pair(in_single_precision(sums.M), in_single_precision(sums.B));
    } else {
      moments_ = std::pair(sums.M, sums.B);
    }
  }
  /// tr(D M D' B) of these rows of the matrix.
  double along(const arma::mat& D, const arma::uvec& rows) const {
    return std::visit([&](const auto& both) { return form(D, rows, both.first, both.second); },
                      moments_);
  }

 private:
  template <class T>
  static double form(const arma::mat& D, const arma::uvec& rows, const SecondMoment<T>& M,
                     const SecondMoment<T>& B) {
    const int exponent = scale_exponent(D);
    const auto scaled = scaled_to<T>(D, std::ldexp(1.0, -exponent));
    return std::ldexp(are_all(rows, B.size()) ? kronecker_form(scaled, M, B)
                                              : kronecker_form(scaled, M, B.part(rows)),
                      2 * exponent);
  }

  template <class T>
  using Moments = std::pair<SecondMoment<T>, SecondMoment<T>>;  // M, B
  std::variant<Moments<float>, Moments<double>> moments_;
};

Quadratics quadratics(const arma::mat& G, const DirectionMatrices& along,
                      const Curvature& curvature, const arma::uvec& rows) {
  Quadratics out;
  for (std::size_t d = 0; d < directions; ++d) {
    if (!along[d].is_empty()) out[d] = {arma::dot(G, along[d]), curvature.along(along[d], rows)};
  }
  return out;
}

/// The batches of one matrix at one step.
struct Batches {
  std::vector<std::size_t> pairs;  // indices into the plan
  std::vector<Sums> sums;
  bool single_precision = true;
};

bool same_shape(const Sums& a, const Sums& b) {
  return arma::size(a.G) == arma::size(b.G) &&
         (a.M.form == MomentForm::diagonal) == (b.M.form == MomentForm::diagonal);
}

bool is_finite(const Sums& sums) {
  return sums.G.is_finite() && sums.M.values.is_finite() && sums.B.values.is_finite();
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
    out.single_precision &= is_single_precision(plan.pairs[p], open);
    out.sums.push_back(std::move(sums));
  }
  return out;
}

/// Takes the moments of the batches, and leaves their gradients.
Sums joined(std::vector<Sums>& batches) {
  Sums out{batches.front().G, std::move(batches.front().M), std::move(batches.front().B)};
  for (std::size_t b = 1; b < batches.size(); ++b) {
    out.add(batches[b]);
    batches[b].M = batches[b].B = {};
  }
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

JoinedGradients predict_steps(const Plan& plan, const Trial& trial,
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
    for (const std::size_t p : pairs) costs.back() += flops_of(plan.pairs[p]);
  }
  std::vector<TrialRecord> predicted(in_order.size());
  std::vector<JoinedGradients> gradients(in_order.size());
  std::vector<OpenTensors> open(in_order.size());  // one for each worker
  trial.for_each_part(costs, [&](std::size_t g, std::size_t worker) {
    const auto& [at, pairs] = in_order[g];
    Batches batches = read_batches(plan, pairs, trial, open[worker], usable);
    const std::size_t count = batches.sums.size();
    if (count == 0) return;
    // Batches alone are needed for an interval at the only step, and for the validation.
    const bool needs_batches = count > 1 && (plan.validates || steps.at(at.first).size() == 1);
    const bool single =
        batches.single_precision && batches.sums.front().G.n_elem >= fewest_in_single_precision;
    std::vector<Curvature> curvatures;
    std::vector<arma::mat> polars;
    for (std::size_t b = 0; needs_batches && b < count; ++b) {
      trial.check_interrupt();
      curvatures.emplace_back(batches.sums[b], single);
      polars.push_back(polar_factor_of_long(batches.sums[b].G));
    }
    Sums whole = joined(batches.sums);
    const Curvature curvature(whole, single);
    whole.M = whole.B = {};
    const arma::mat polar_of_whole = polar_factor_of_long(whole.G);
    const std::vector<Layer>& layers = plan.pairs[batches.pairs.front()].layers;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const arma::uvec rows = rows_in(layers[l]);
      const arma::mat G = selected(whole.G, rows);
      if (are_all(rows, whole.G.n_rows)) {
        const double norm = arma::norm(G, "fro"), nuclear = arma::dot(G / norm, polar_of_whole);
        gradients[g][{layers[l].name, at.second}] = {batches.pairs, nuclear * nuclear};
      }
      std::vector<double> packed;
      pack(best_steps(quadratics(G, directions_of(G, polar_of_whole, rows), curvature, rows)),
           packed);
      for (std::size_t b = 0; needs_batches && b < count; ++b) {
        trial.check_interrupt();
        const arma::mat own = selected(batches.sums[b].G, rows);
        const DirectionMatrices along = directions_of(own, polars[b], rows);
        const BestSteps expected = best_steps(quadratics(own, along, curvatures[b], rows));
        Quadratics other;
        const std::size_t partner = b % 2 == 0 ? b + 1 : b - 1;
        if (plan.validates && partner < count) {
          other =
              quadratics(selected(batches.sums[partner].G, rows), along, curvatures[partner], rows);
        }
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
  JoinedGradients out;
  for (std::size_t g = 0; g < in_order.size(); ++g) {
    record.insert(predicted[g]);
    out.merge(gradients[g]);
  }
  return out;
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
