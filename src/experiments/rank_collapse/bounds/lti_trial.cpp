// [LambdaSkip] Theorems A.7 and A.8: lti-ssm without norm and skip.
#include <cmath>

#include "core/fits.hpp"
#include "experiments/rank_collapse/bounds/curves.hpp"
#include "linalg/decompositions.hpp"
#include "models/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

// "||W||_F < 1" of Theorems A.7 and A.8; the factor moves mu, and leaves mu / ||Y||_F as it is.
constexpr double judged_norm = 0.9;

// Curves of Theorem A.7 or A.8, for M scaled to ||M||_F = judged_norm.
struct LtiCurves {
  std::vector<double> layer, log_mu, bound, normalised;
};

template <class T>
LtiCurves lti_curves(const ModelSpec& spec, const Trial& trial, const std::string& theorem, double slack, State<T>& state,
                     Findings& findings) {
  const double start = log_norm(state);
  const auto normalised = [&] { return std::sqrt(token_parts(state.Y).diversity()); };
  LtiCurves curves{{0}, {log_mu(state)}, {std::exp(start)}, {normalised()}};
  double bound = start, shift = 0;
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    DrawnTensors<T> tensors = block_tensors<T>(spec, trial, k);
    const auto block = make_bare_block(spec, tensors);
    const arma::mat M = exact(block->mixing_matrix(state));
    bound += std::log(singular_values(M).front());
    shift += std::log(judged_norm / arma::norm(M, "fro"));
    block->forward(state, 0.0);
    findings[theorem + "/bound"].compare_logs(log_mu(state), bound, slack);
    curves.layer.push_back(static_cast<double>(k + 1));
    curves.log_mu.push_back(log_mu(state) + shift);
    curves.bound.push_back(std::exp(bound + shift));
    curves.normalised.push_back(normalised());
  }
  return curves;
}

template <class T>
Findings lti(const BoundsConfig& config, Sizes sizes, bool share_weights, const Trial& trial) {
  ModelSpec spec = bounds_spec(config, "lti-ssm", sizes.tokens, sizes.dim, "none");
  spec.share_weights = share_weights ? "on" : "off";
  const std::string theorem = share_weights ? "thm-A.7" : "thm-A.8", prefix = size_prefix(theorem, sizes);
  State<T> state = draw_input<T>(spec, trial);
  Findings findings;
  const double slack = rounding_slack(sizeof(T) < sizeof(double)) * static_cast<double>(spec.layers);
  const LtiCurves curves = lti_curves(spec, trial, theorem, slack, state, findings);
  findings.values[prefix + "slope"] = {fit_line(curves.layer, curves.log_mu).slope};
  findings.values[prefix + "normalised_ratio"] = {curves.normalised.back() / curves.normalised.front()};
  findings.values[prefix + "rank_one_residual"] = {token_geometry(state.Y).rank_one_residual};
  if (!representative(config, sizes)) return findings;
  std::vector<double> mu;
  for (const double value : curves.log_mu) mu.push_back(std::exp(value));
  findings.values[theorem + ".mu"] = mu;
  findings.values[theorem + ".bound"] = curves.bound;
  findings.values[theorem + ".mu_normalized"] = curves.normalised;
  return findings;
}

}  // namespace

Findings judge_lti(const BoundsConfig& config, Sizes sizes, bool share_weights, bool single_precision, const Trial& trial) {
  return single_precision ? lti<float>(config, sizes, share_weights, trial) : lti<double>(config, sizes, share_weights, trial);
}

}  // namespace ranklab::bounds
