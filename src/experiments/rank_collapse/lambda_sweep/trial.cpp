#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "experiments/rank_collapse/depth/run.hpp"
#include "experiments/rank_collapse/lambda_sweep/lambda_sweep.hpp"
#include "experiments/rank_collapse/lambda_sweep/skip_threshold.hpp"
#include "models/blocks/bare_block.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab::lambda_sweep {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
// Beyond so many tokens, the mixing matrix of Theorem 4.1 is not formed: its norm is left undefined.
constexpr std::uint64_t most_mixing_tokens = 2048;

std::vector<DepthCurve> curves_of(const std::vector<double>& lambda) {
  std::vector<DepthCurve> curves;
  for (const double strength : lambda) curves.push_back({"lambda=" + series_number(strength), {strength}});
  return curves;
}

double least_after_input(const DepthTrace& trace, double TokenGeometry::*measure) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k < trace.after.size(); ++k) {
    const double value = trace.after[k].*measure;
    if (std::isnan(value)) return undefined;
    least = std::min(least, value);
  }
  return least;
}

// An undefined measure keeps nothing apart.
bool keeps_apart(const DepthTrace& trace, double threshold) {
  return least_after_input(trace, &TokenGeometry::mu_normalized) > threshold &&
         least_after_input(trace, &TokenGeometry::rank_one_residual) > threshold;
}

std::vector<bool> kept(const DepthTraces& traces, double threshold) {
  std::vector<bool> out;
  for (const DepthTrace& trace : traces) out.push_back(keeps_apart(trace, threshold));
  return out;
}

void record_grid(const DepthTraces& traces, const std::string& prefix, TrialRecord& record) {
  const auto store = [&](const std::string& what, double TokenGeometry::*measure) {
    std::vector<double> last, least;
    for (const DepthTrace& trace : traces) {
      last.push_back(trace.after.back().*measure);
      least.push_back(least_after_input(trace, measure));
    }
    record.set(prefix + at_last_layer(what), last);
    record.set(prefix + least_over_layers(what), least);
  };
  store(measure::mu_normalized, &TokenGeometry::mu_normalized);
  store(measure::rank_one_residual, &TokenGeometry::rank_one_residual);
  store(measure::cosine_similarity, &TokenGeometry::cosine_similarity);
  double degenerate = 0, overflowed = 0;
  for (const DepthTrace& trace : traces) {
    degenerate += trace.degenerate_rows;
    if (trace.overflow_layer > 0) overflowed += 1;
  }
  record.set(prefix + degenerate_rows, degenerate);
  record.set(prefix + diverged_curves, overflowed);
}

// Where the grid leaves the smallest strength of one sign, and the strengths in between that are still to be tried.
struct Search {
  const Sign* sign;
  double smallest;
  std::vector<double> between;
};

std::vector<Search> searches(const Plan& plan, const std::vector<bool>& on_grid) {
  std::vector<Search> out;
  for (const Sign& sign : signs) {
    const SkipBracket bracket = skip_bracket(plan.lambda, on_grid, sign.of_lambda);
    out.push_back({&sign, bracket.keeps, inside(bracket, plan.refine)});
  }
  return out;
}

// Both signs in one passage through the layers.
std::vector<DepthCurve> curves_between(const std::vector<Search>& of_trial) {
  std::vector<double> lambda;
  for (const Search& search : of_trial) {
    for (const double strength : search.between) lambda.push_back(search.sign->of_lambda * strength);
  }
  return curves_of(lambda);
}

void record_search(const std::vector<Search>& of_trial, const std::vector<bool>& finer, const std::string& prefix,
                   TrialRecord& record) {
  std::size_t first = 0;
  for (const Search& search : of_trial) {
    double smallest = search.smallest;
    for (std::size_t i = search.between.size(); i-- > 0 && finer[first + i];) smallest = search.between[i];
    first += search.between.size();
    record.set(prefix + search.sign->smallest_lambda, smallest);
  }
}

// The grid's traces, and for bare stacks what Theorem 4.1 says of them.
template <class T>
DepthTraces watched_grid(const Plan& plan, const StackedModel& model, const Trial& trial, TrialRecord& record) {
  const ModelSpec& spec = model.spec;
  const std::vector<DepthCurve> curves = curves_of(plan.lambda);
  std::vector<double> S(curves.size(), 0.0), C_M = S;  // of each curve, over its layers
  const DepthObserver<T> observe = [&](std::size_t c, const Block<T>& block, const State<T>& state) {
    const auto& bare = dynamic_cast<const BareBlock<T>&>(block);
    S[c] = std::max(S[c], static_cast<double>(arma::norm(bare.value_matrix(), "fro")));
    C_M[c] = std::max(C_M[c], static_cast<double>(arma::norm(bare.mixing_matrix(state), "fro")));
  };
  DepthTraces traces = run_depth<T>({spec, curves}, trial, observe);
  const double mu = traces.front().after.front().mu, N = static_cast<double>(spec.tokens);
  const SkipTheorem theorem{*std::max_element(S.begin(), S.end()), *std::max_element(C_M.begin(), C_M.end()), N,
                            static_cast<double>(spec.dim),         static_cast<double>(spec.layers),          mu * mu};
  // Unit rows: ||Y||_F^2 = N, so that a normalised mu at the threshold is mu^2 = threshold^2 N.
  const double a = theorem.collapse_rate(plan.threshold * plan.threshold * N);
  record.set(model.prefix + theorem_S, theorem.S);
  record.set(model.prefix + theorem_C_M, theorem.C_M);
  record.set(model.prefix + theorem_rate, a);
  record.set(model.prefix + theorem_condition, theorem.condition_threshold(a));
  record.set(model.prefix + theorem_lambda, theorem.hypothesis_threshold(a));
  return traces;
}

std::vector<DepthTraces> grids(const Plan& plan, const StackedModel& model, const std::vector<Trial>& trials, bool single_precision,
                               Records& records) {
  const ModelSpec& spec = model.spec;
  if (spec.row().bare && spec.norm == "rows" && spec.tokens <= most_mixing_tokens) {
    std::vector<DepthTraces> traces;
    for (std::size_t t = 0; t < trials.size(); ++t) {
      const auto watched = single_precision ? watched_grid<float> : watched_grid<double>;
      traces.push_back(watched(plan, model, trials[t], records[t]));
    }
    return traces;
  }
  return run_trials(spec, {trials.size(), curves_of(plan.lambda)}, trials, single_precision);
}

void record_model(const Plan& plan, const StackedModel& model, const std::vector<Trial>& trials, bool single_precision,
                  Records& records) {
  const std::vector<DepthTraces> traces = grids(plan, model, trials, single_precision, records);
  std::vector<std::vector<Search>> open;
  std::vector<std::vector<DepthCurve>> between;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    record_grid(traces[t], model.prefix, records[t]);
    open.push_back(searches(plan, kept(traces[t], plan.threshold)));
    between.push_back(curves_between(open.back()));
  }
  const bool all_known = std::all_of(between.begin(), between.end(), [](const auto& curves) { return curves.empty(); });
  const auto finer =
      all_known ? std::vector<DepthTraces>(trials.size()) : run_trials(model.spec, between, trials, single_precision);
  for (std::size_t t = 0; t < trials.size(); ++t) {
    record_search(open[t], kept(finer[t], plan.threshold), model.prefix, records[t]);
  }
}

}  // namespace

Records run_batch(const Plan& plan, const std::vector<Trial>& trials, bool single_precision) {
  Records records(trials.size());
  for (const StackedModel& model : plan.models) record_model(plan, model, trials, single_precision, records);
  return records;
}

}  // namespace ranklab::lambda_sweep
