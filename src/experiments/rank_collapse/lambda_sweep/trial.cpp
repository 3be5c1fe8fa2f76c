#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/undefined.hpp"
#include "experiments/rank_collapse/depth/run.hpp"
#include "experiments/rank_collapse/lambda_sweep/lambda_sweep.hpp"
#include "nn/blocks/bare_block.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::lambda_sweep {
namespace {

// With more tokens the mixing matrix is not formed, and the norms of Theorem 4.1 are not recorded.
constexpr std::uint64_t most_mixing_tokens = 2048;

// The curves are named by their index: "0", "1", ...
std::vector<DepthCurve> curves_of(const std::vector<double>& lambda) {
  std::vector<DepthCurve> curves;
  for (const double strength : lambda)
    curves.push_back({std::to_string(curves.size()), {strength}});
  return curves;
}

// The values of one curve, one for each layer.
const std::vector<double>& by_layer(const TrialRecord& curves, std::size_t curve,
                                    const std::string& what) {
  return curves.array(of_curve(std::to_string(curve), what));
}

double least_after_input(const std::vector<double>& by_layer) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k < by_layer.size(); ++k) {
    if (std::isnan(by_layer[k])) return undefined;
    least = std::min(least, by_layer[k]);
  }
  return least;
}

// Whether each curve keeps its tokens apart at every layer. An undefined measure counts as
// collapsed.
std::vector<bool> kept(const TrialRecord& curves, std::size_t count, double threshold) {
  std::vector<bool> out;
  for (std::size_t c = 0; c < count; ++c) {
    out.push_back(least_after_input(by_layer(curves, c, measure::mu_normalized)) > threshold &&
                  least_after_input(by_layer(curves, c, measure::rank_one_residual)) > threshold);
  }
  return out;
}

void record_grid(const TrialRecord& grid, std::size_t strengths, const std::string& prefix,
                 TrialRecord& record) {
  for (const char* what : swept_measures) {
    std::vector<double> last, least;
    for (std::size_t i = 0; i < strengths; ++i) {
      last.push_back(by_layer(grid, i, what).back());
      least.push_back(least_after_input(by_layer(grid, i, what)));
    }
    record.set(prefix + at_last_layer + what, last);
    record.set(prefix + least_over_layers + what, least);
  }
  double degenerate = 0, overflowed = 0;
  for (std::size_t i = 0; i < strengths; ++i) {
    degenerate += grid.scalar(of_curve(std::to_string(i), degenerate_rows));
    if (grid.scalar(of_curve(std::to_string(i), overflow_layer)) > 0) overflowed += 1;
  }
  record.set(degenerate_rows, record.scalar(degenerate_rows) + degenerate);
  record.set(diverged, record.scalar(diverged) + overflowed);
}

// The grid of one trial of a bare stack. Records the quantities of Theorem 4.1.
template <class T>
TrialRecord observed_grid(const Plan& plan, const StackedModel& model, const Trial& trial,
                          TrialRecord& record) {
  const ModelSpec& spec = model.spec;
  // The suprema over the layers, for each curve.
  std::vector<double> S(plan.lambda.size(), 0.0), C_M = S;
  const DepthObserver<T> observe = [&](std::size_t c, const Block<T>& block,
                                       const State<T>& state) {
    const auto& bare = dynamic_cast<const BareBlock<T>&>(block);
    S[c] = std::max(S[c], static_cast<double>(arma::norm(bare.value_matrix(), "fro")));
    C_M[c] = std::max(C_M[c], static_cast<double>(arma::norm(bare.mixing_matrix(state), "fro")));
  };
  TrialRecord grid = run_observed<T>({spec, curves_of(plan.lambda)}, trial, observe);
  const double mu = by_layer(grid, 0, measure::mu).front(), N = static_cast<double>(spec.tokens);
  const SkipTheorem theorem{
      *std::max_element(S.begin(), S.end()), *std::max_element(C_M.begin(), C_M.end()), N,
      static_cast<double>(spec.dim),         static_cast<double>(spec.layers),          mu * mu};
  // With unit rows ||Y||_F^2 = N, so normalized mu at the threshold means mu^2 = threshold^2 N.
  const double a = theorem.collapse_rate(plan.threshold * plan.threshold * N);
  record.set(model.prefix + theorem_S, theorem.S);
  record.set(model.prefix + theorem_C_M, theorem.C_M);
  record.set(model.prefix + theorem_rate, a);
  record.set(model.prefix + theorem_condition, theorem.condition_threshold(a));
  record.set(model.prefix + theorem_lambda, theorem.hypothesis_threshold(a));
  return grid;
}

Records run_grids(const Plan& plan, const StackedModel& model, const std::vector<Trial>& trials,
                  Records& records) {
  const ModelSpec& spec = model.spec;
  if (!(spec.row().bare && spec.norm == "rows" && spec.tokens <= most_mixing_tokens)) {
    return run_groups({{spec, curves_of(plan.lambda)}}, trials, plan.single_precision);
  }
  Records grids;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    grids.push_back(plan.single_precision
                        ? observed_grid<float>(plan, model, trials[t], records[t])
                        : observed_grid<double>(plan, model, trials[t], records[t]));
  }
  return grids;
}

// The smallest sufficient strength of one sign on the grid, and the strengths below it that the
// refinement still has to try.
struct Search {
  const Sign* sign;
  double smallest;
  std::vector<double> between;
};

std::vector<Search> searches(const Plan& plan, const TrialRecord& grid) {
  const std::vector<bool> on_grid = kept(grid, plan.lambda.size(), plan.threshold);
  std::vector<Search> out;
  for (const Sign& sign : signs) {
    const SkipBracket bracket = skip_bracket(plan.lambda, on_grid, sign.of_lambda);
    out.push_back({&sign, bracket.keeps, points_inside(bracket, plan.refine)});
  }
  return out;
}

// Both signs run in one pass through the layers.
std::vector<DepthCurve> curves_between(const std::vector<Search>& of_trial) {
  std::vector<double> lambda;
  for (const Search& search : of_trial) {
    for (const double strength : search.between)
      lambda.push_back(search.sign->of_lambda * strength);
  }
  return curves_of(lambda);
}

void record_search(const std::vector<Search>& of_trial, const std::vector<bool>& finer,
                   const std::string& prefix, TrialRecord& record) {
  std::size_t first = 0;
  for (const Search& search : of_trial) {
    double smallest = search.smallest;
    for (std::size_t i = search.between.size(); i-- > 0 && finer[first + i];)
      smallest = search.between[i];
    first += search.between.size();
    record.set(prefix + search.sign->smallest_lambda, smallest);
    if (!record.has(prefix + theorem_lambda)) continue;
    const double required = record.scalar(prefix + theorem_lambda);
    record.set(prefix + search.sign->orders_of_magnitude,
               smallest > 0 ? std::log10(required / smallest) : undefined);
  }
}

void record_model(const Plan& plan, const StackedModel& model, const std::vector<Trial>& trials,
                  Records& records) {
  const Records grids = run_grids(plan, model, trials, records);
  std::vector<std::vector<Search>> refinements;
  std::vector<std::vector<DepthCurve>> between;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    record_grid(grids[t], plan.lambda.size(), model.prefix, records[t]);
    refinements.push_back(searches(plan, grids[t]));
    between.push_back(curves_between(refinements.back()));
  }
  Records finer(trials.size());
  const bool nothing_to_refine = std::all_of(between.begin(), between.end(),
                                             [](const auto& curves) { return curves.empty(); });
  if (!nothing_to_refine) run_curves(model.spec, between, trials, plan.single_precision, finer);
  for (std::size_t t = 0; t < trials.size(); ++t) {
    record_search(refinements[t], kept(finer[t], between[t].size(), plan.threshold), model.prefix,
                  records[t]);
  }
}

}  // namespace

SkipBracket skip_bracket(const std::vector<double>& lambda, const std::vector<bool>& kept,
                         int sign) {
  std::vector<std::pair<double, bool>> strengths;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    if (sign * lambda[i] >= 0) strengths.emplace_back(std::abs(lambda[i]), kept[i]);
  }
  std::sort(strengths.begin(), strengths.end());
  SkipBracket bracket{undefined, undefined};
  // From the largest strength down, while the tokens are kept apart.
  for (std::size_t i = strengths.size(); i-- > 0;) {
    if (!strengths[i].second) {
      bracket.fails = strengths[i].first;
      break;
    }
    bracket.keeps = strengths[i].first;
  }
  return bracket;
}

std::vector<double> points_inside(const SkipBracket& bracket, std::size_t points) {
  std::vector<double> strengths;
  if (std::isnan(bracket.fails) || std::isnan(bracket.keeps)) return strengths;
  const double step = (bracket.keeps - bracket.fails) / static_cast<double>(points + 1);
  for (std::size_t i = 1; i <= points; ++i)
    strengths.push_back(bracket.fails + step * static_cast<double>(i));
  return strengths;
}

double SkipTheorem::collapse_rate(double least) const {
  const double a = std::pow(least / mu_squared, 1 / layers);
  return a > 0 && a < 1 ? a : undefined;
}

double SkipTheorem::condition_threshold(double a) const {
  return (a + std::sqrt(a)) * S * C_M / (1 - a);
}

double SkipTheorem::hypothesis_threshold(double a) const {
  // mu^2 >= b is equivalent to A lambda^2 - B lambda - C >= 0.
  const double mixing = S * C_M, guaranteed = mu_squared * std::pow(a, layers);
  const double A = guaranteed * (1 - a),
               B = 2 * guaranteed * a * mixing + 2 * tokens * dim * mixing,
               C = guaranteed * a * mixing * mixing;
  return (B + std::sqrt(B * B + 4 * A * C)) / (2 * A);
}

Records run_batch(const Plan& plan, const std::vector<Trial>& trials) {
  Records records(trials.size());
  for (TrialRecord& record : records) {
    record.set(degenerate_rows, 0.0);
    record.set(diverged, 0.0);
  }
  for (const StackedModel& model : plan.models) record_model(plan, model, trials, records);
  return records;
}

}  // namespace ranklab::lambda_sweep
