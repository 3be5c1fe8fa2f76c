#include "experiments/rank_collapse/lambda_sweep_trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/rank_collapse/depth_report.hpp"
#include "experiments/rank_collapse/series_number.hpp"
#include "experiments/rank_collapse/skip_threshold.hpp"
#include "models/bare_block.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
// Beyond so many tokens, the mixing matrix of Theorem 4.1 is not formed: its norm is left undefined.
constexpr std::uint64_t most_mixing_tokens = 2048;

DepthGroup group_of(const ModelSpec& spec, const std::vector<double>& lambda) {
  DepthGroup group{spec, {}};
  for (const double strength : lambda) group.curves.push_back({"lambda=" + series_number(strength), {strength}, {}});
  return group;
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

template <class T>
void record_model(const LambdaSweepConfig& config, const SweptModel& swept, const Trial& trial, TrialRecord& record) {
  const std::vector<double> lambda = config.ascending_lambda();
  const ModelSpec& spec = swept.spec;
  const bool theorem_speaks = spec.is_bare() && spec.norm == "rows" && spec.tokens <= most_mixing_tokens;
  NormWatch<T> watch(lambda.size());
  DepthObserver<T> observe;
  if (theorem_speaks) observe = [&](std::size_t c, const Block<T>& block, const State<T>& state) { watch.see(c, block, state); };
  const std::vector<DepthTrace> traces = run_depth<T>(group_of(spec, lambda), trial, false, observe);

  for (const auto& [name, measure] : {std::pair{"mu_normalized", &TokenGeometry::mu_normalized},
                                      std::pair{"rank_one_residual", &TokenGeometry::rank_one_residual},
                                      std::pair{"cosine_similarity", &TokenGeometry::cosine_similarity}}) {
    std::vector<double> last, least;
    for (const DepthTrace& trace : traces) {
      last.push_back(trace.after.back().*measure);
      least.push_back(least_after_input(trace, measure));
    }
    record.set(swept.prefix + "final." + name, last);
    record.set(swept.prefix + "least." + name, least);
  }
  double degenerate = 0, overflowed = 0;
  for (const DepthTrace& trace : traces) {
    degenerate += trace.degenerate_rows;
    if (trace.overflow_layer > 0) overflowed += 1;
  }
  record.set(swept.prefix + "degenerate_rows", degenerate);
  record.set(swept.prefix + "diverged", overflowed);

  const std::vector<bool> on_grid = kept(traces, config.threshold);
  for (const int sign : {1, -1}) {
    const SkipBracket bracket = skip_bracket(lambda, on_grid, sign);
    double smallest = bracket.keeps;
    const std::vector<double> between = inside(bracket, config.refine);
    if (!between.empty()) {
      std::vector<double> signed_lambda;
      for (const double strength : between) signed_lambda.push_back(sign * strength);
      const std::vector<bool> finer = kept(run_depth<T>(group_of(spec, signed_lambda), trial), config.threshold);
      for (std::size_t i = between.size(); i-- > 0 && finer[i];) smallest = between[i];
    }
    record.set(swept.prefix + (sign > 0 ? "smallest_lambda_positive" : "smallest_lambda_negative"), smallest);
  }
  if (theorem_speaks) {
    const double mu = traces.front().after.front().mu, N = static_cast<double>(spec.tokens);
    const SkipTheorem theorem{watch.S(), watch.C_M(), N, static_cast<double>(spec.dim), static_cast<double>(spec.layers), mu * mu};
    // Unit rows: ||Y||_F^2 = N, so that a normalised mu at the threshold is mu^2 = threshold^2 N.
    record_theorem(theorem, config.threshold * config.threshold * N, swept.prefix, record);
  }
}

}  // namespace

template <class T>
TrialRecord lambda_sweep_trial(const LambdaSweepConfig& config, const Trial& trial) {
  TrialRecord record;
  for (const SweptModel& swept : swept_models(config)) record_model<T>(config, swept, trial, record);
  return record;
}

template TrialRecord lambda_sweep_trial<float>(const LambdaSweepConfig&, const Trial&);
template TrialRecord lambda_sweep_trial<double>(const LambdaSweepConfig&, const Trial&);

}  // namespace ranklab
