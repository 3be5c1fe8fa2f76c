#include "experiments/rank_collapse/lambda_sweep/trial.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/rank_collapse/depth/run.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/skip_threshold.hpp"
#include "models/blocks/bare_block.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
// Beyond so many tokens, the mixing matrix of Theorem 4.1 is not formed: its norm is left undefined.
constexpr std::uint64_t most_mixing_tokens = 2048;

std::vector<DepthCurve> curves_of(const std::vector<double>& lambda) {
  std::vector<DepthCurve> curves;
  for (const double strength : lambda) curves.push_back({"lambda=" + series_number(strength), {strength}, {}});
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

std::vector<bool> kept(const std::vector<DepthTrace>& traces, double threshold) {
  std::vector<bool> out;
  for (const DepthTrace& trace : traces) out.push_back(keeps_apart(trace, threshold));
  return out;
}

// S and C_M over the layers of a run, and over its curves.
template <class T>
class NormWatch {
 public:
  explicit NormWatch(std::size_t curves) : S_(curves, 0.0), C_M_(curves, 0.0) {}

  void see(std::size_t curve, const Block<T>& block, const State<T>& state) {
    const auto& bare = dynamic_cast<const BareBlock<T>&>(block);
    S_[curve] = std::max(S_[curve], static_cast<double>(arma::norm(bare.value_matrix(), "fro")));
    C_M_[curve] = std::max(C_M_[curve], static_cast<double>(arma::norm(bare.mixing_matrix(state), "fro")));
  }
  double S() const { return *std::max_element(S_.begin(), S_.end()); }
  double C_M() const { return *std::max_element(C_M_.begin(), C_M_.end()); }

 private:
  std::vector<double> S_, C_M_;
};

void record_theorem(const SkipTheorem& theorem, double least, const std::string& prefix, TrialRecord& record) {
  const double a = theorem.collapse_rate(least);
  record.set(prefix + "S", theorem.S);
  record.set(prefix + "C_M", theorem.C_M);
  record.set(prefix + "theorem_rate", a);
  record.set(prefix + "theorem_condition", theorem.condition_threshold(a));
  record.set(prefix + "theorem_lambda", theorem.hypothesis_threshold(a));
}

void record_grid(const std::vector<DepthTrace>& traces, const std::string& prefix, TrialRecord& record) {
  for (const auto& [name, measure] : {std::pair{"mu_normalized", &TokenGeometry::mu_normalized},
                                      std::pair{"rank_one_residual", &TokenGeometry::rank_one_residual},
                                      std::pair{"cosine_similarity", &TokenGeometry::cosine_similarity}}) {
    std::vector<double> last, least;
    for (const DepthTrace& trace : traces) {
      last.push_back(trace.after.back().*measure);
      least.push_back(least_after_input(trace, measure));
    }
    record.set(prefix + "final." + name, last);
    record.set(prefix + "least." + name, least);
  }
  double degenerate = 0, overflowed = 0;
  for (const DepthTrace& trace : traces) {
    degenerate += trace.degenerate_rows;
    if (trace.overflow_layer > 0) overflowed += 1;
  }
  record.set(prefix + "degenerate_rows", degenerate);
  record.set(prefix + "diverged", overflowed);
}

// Where the grid leaves the smallest strength of one sign, and the strengths in between that are still to be tried.
struct Search {
  int sign;
  double smallest;
  std::vector<double> between;
};

std::vector<Search> searches(const LambdaSweepConfig& config, const std::vector<bool>& on_grid) {
  std::vector<Search> out;
  for (const int sign : {1, -1}) {
    const SkipBracket bracket = skip_bracket(config.ascending_lambda(), on_grid, sign);
    out.push_back({sign, bracket.keeps, inside(bracket, config.refine)});
  }
  return out;
}

// Both signs in one passage through the layers.
std::vector<DepthCurve> curves_between(const std::vector<Search>& of_trial) {
  std::vector<double> lambda;
  for (const Search& search : of_trial) {
    for (const double strength : search.between) lambda.push_back(search.sign * strength);
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
    record.set(prefix + (search.sign > 0 ? "smallest_lambda_positive" : "smallest_lambda_negative"), smallest);
  }
}

// The grid's traces, and for bare stacks what Theorem 4.1 says of them.
template <class T>
std::vector<DepthTrace> watched_grid(const LambdaSweepConfig& config, const StackedModel& swept, const Trial& trial,
                                     TrialRecord& record) {
  const ModelSpec& spec = swept.spec;
  const std::vector<DepthCurve> curves = curves_of(config.ascending_lambda());
  NormWatch<T> watch(curves.size());
  const DepthObserver<T> observe = [&](std::size_t c, const Block<T>& block, const State<T>& state) { watch.see(c, block, state); };
  std::vector<DepthTrace> traces = run_depth<T>({spec, curves}, trial, observe);
  const double mu = traces.front().after.front().mu, N = static_cast<double>(spec.tokens);
  const SkipTheorem theorem{watch.S(), watch.C_M(), N, static_cast<double>(spec.dim), static_cast<double>(spec.layers), mu * mu};
  // Unit rows: ||Y||_F^2 = N, so that a normalised mu at the threshold is mu^2 = threshold^2 N.
  record_theorem(theorem, config.threshold * config.threshold * N, swept.prefix, record);
  return traces;
}

template <class T>
void record_model(const LambdaSweepConfig& config, const StackedModel& swept, const std::vector<Trial>& trials,
                  std::vector<TrialRecord>& records) {
  const ModelSpec& spec = swept.spec;
  const std::vector<DepthCurve> grid = curves_of(config.ascending_lambda());
  std::vector<std::vector<DepthTrace>> traces;
  if (spec.row().bare && spec.norm == "rows" && spec.tokens <= most_mixing_tokens) {
    for (std::size_t t = 0; t < trials.size(); ++t) traces.push_back(watched_grid<T>(config, swept, trials[t], records[t]));
  } else {
    traces = run_trials(spec, {trials.size(), grid}, trials, std::is_same_v<T, float>);
  }
  std::vector<std::vector<Search>> open;
  std::vector<std::vector<DepthCurve>> between;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    record_grid(traces[t], swept.prefix, records[t]);
    open.push_back(searches(config, kept(traces[t], config.threshold)));
    between.push_back(curves_between(open.back()));
  }
  const bool all_known = std::all_of(between.begin(), between.end(), [](const auto& curves) { return curves.empty(); });
  const auto finer =
      all_known ? std::vector<std::vector<DepthTrace>>(trials.size()) : run_trials(spec, between, trials, std::is_same_v<T, float>);
  for (std::size_t t = 0; t < trials.size(); ++t) {
    record_search(open[t], kept(finer[t], config.threshold), swept.prefix, records[t]);
  }
}

}  // namespace

template <class T>
std::vector<TrialRecord> lambda_sweep_trials(const LambdaSweepConfig& config, const std::vector<Trial>& trials) {
  std::vector<TrialRecord> records(trials.size());
  for (const StackedModel& swept : stacked_models(config.model, config.also)) record_model<T>(config, swept, trials, records);
  return records;
}

template std::vector<TrialRecord> lambda_sweep_trials<float>(const LambdaSweepConfig&, const std::vector<Trial>&);
template std::vector<TrialRecord> lambda_sweep_trials<double>(const LambdaSweepConfig&, const std::vector<Trial>&);

}  // namespace ranklab
