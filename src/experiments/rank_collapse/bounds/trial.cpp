#include "experiments/rank_collapse/bounds/trial.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace ranklab::bounds {
namespace {

std::vector<Sizes> all_sizes(const BoundsConfig& config) {
  std::vector<Sizes> sizes;
  for (const std::uint64_t N : config.tokens) {
    for (const std::uint64_t d : config.dim) sizes.push_back({N, d});
  }
  return sizes;
}

// Multiplications and additions of one layer's forward pass, and of M beside it.
double layer_flops(const BoundsConfig& config, const std::string& model, Sizes sizes) {
  const double N = static_cast<double>(sizes.tokens), d = static_cast<double>(sizes.dim);
  const ModelSpec spec = bounds_spec(config, model, sizes.tokens, sizes.dim, "rows");
  return 2 * flops_per_block(spec) + 2 * N * N * (d + static_cast<double>(spec.state));
}

}  // namespace

std::string skip_prefix(const std::string& model, double lambda) {
  return model + ".lambda=" + series_number(lambda) + ".";
}

TrialRecord bounds_trial(const BoundsConfig& config, bool single_precision, const Trial& trial) {
  Findings findings;
  for (const Sizes sizes : all_sizes(config)) {
    for (const std::string& model : config.models) findings.add(judge_skips(config, model, sizes, single_precision, trial));
    findings.add(judge_attention(config, sizes, single_precision, trial));
    findings.add(judge_selective(config, sizes, single_precision, trial));
    findings.add(judge_pure_attention(config, sizes, single_precision, trial));
    for (const bool share : {true, false}) findings.add(judge_lti(config, sizes, share, single_precision, trial));
    findings.add(judge_pure_selective(config, sizes, single_precision, trial));
  }
  return to_record(findings);
}

Estimate bounds_estimate(const BoundsConfig& config) {
  const double skips = static_cast<double>(config.lambda.size()), layers = static_cast<double>(config.spec.layers);
  Estimate cost;
  for (const Sizes sizes : all_sizes(config)) {
    const double N = static_cast<double>(sizes.tokens), d = static_cast<double>(sizes.dim);
    // Singular values alone cost about 8/3 n^3; the bidiagonal form is found at half the speed of a product.
    const double svd_N = 6 * N * N * N, svd_d = 6 * d * d * d, open = 2 * N * d * d + 2 * N * N * d + svd_N;
    for (const std::string& model : config.models) {
      cost.flops += layers * (skips * (layer_flops(config, model, sizes) + open) + svd_d);
    }
    const double attention = layer_flops(config, "attention", sizes), selective = layer_flops(config, "selective-ssm", sizes);
    cost.flops += layers * (2 * attention + 6 * selective + 2 * layer_flops(config, "lti-ssm", sizes) + 2 * svd_N + 4 * N * N * d);
    // States of every skip; M, its copy in double precision and its decomposition; weights and theirs.
    cost.bytes = std::max(cost.bytes, 8 * ((skips + 12) * N * d + 8 * N * N + 8 * d * d));
  }
  return cost;
}

}  // namespace ranklab::bounds
