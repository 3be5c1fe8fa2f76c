// The parts of one trial of the study bounds. Each works on its own stacks and is independent of the others.
//
// Curves over the layers belong to one representative stack: that of the last sizes in the lists, and for Theorem 4.3 of the
// first number of tokens: its bound is strictest where they are few.
#pragma once

#include <array>
#include <string>

#include "experiments/rank_collapse/bounds/config.hpp"
#include "experiments/rank_collapse/bounds/findings.hpp"

namespace ranklab::bounds {

/// N and d of one stack.
struct Sizes {
  std::uint64_t tokens = 0, dim = 0;
};

/// "<model>.lambda=<v>."
std::string skip_prefix(const std::string& model, double lambda);

/// Theorem 4.1: one stack of `model` per skip, all with the same weights and the same input.
Findings judge_skips(const BoundsConfig& config, const std::string& model, Sizes sizes, bool single_precision, const Trial& trial);

/// Theorem A.2: attention with orthogonal W_V, norm rows, no skip, tokens in a cone.
Findings judge_attention(const BoundsConfig& config, Sizes sizes, bool single_precision, const Trial& trial);

/// Theorem 4.3: selective-ssm with W_B = W_C, norm rows, no skip, tokens in a cone.
Findings judge_selective(const BoundsConfig& config, Sizes sizes, bool single_precision, const Trial& trial);

/// Theorem A.3: attention without norm and skip.
Findings judge_pure_attention(const BoundsConfig& config, Sizes sizes, bool single_precision, const Trial& trial);

/// Theorems A.7 (the same weights at every layer) and A.8 (weights of their own): lti-ssm without norm and skip.
Findings judge_lti(const BoundsConfig& config, Sizes sizes, bool share_weights, bool single_precision, const Trial& trial);

/// Theorem A.10 is judged at these multiples of --weight-scale: M takes their square, and k layers their (3^k - 1)-th power.
inline constexpr std::array weight_factors = {0.1, 1.0, 10.0, 100.0};

/// Theorem A.10: selective-ssm without norm and skip, the same weights at every layer.
Findings judge_pure_selective(const BoundsConfig& config, Sizes sizes, bool single_precision, const Trial& trial);

/// All parts, for every model and size of the lists.
TrialRecord bounds_trial(const BoundsConfig& config, bool single_precision, const Trial& trial);

/// Cost of the same.
Estimate bounds_estimate(const BoundsConfig& config);

}  // namespace ranklab::bounds
