// Checks for blocks of state-space models: causality, scaled streams, single precision, extreme
// weights.
#pragma once

#include <doctest/doctest.h>

#include "core/tolerances.hpp"
#include "nn/blocks/by_loops.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/perturbed_tensors.hpp"
#include "nn/blocks/stack.hpp"

namespace block_checks {

/// A change of token `changed` changes no earlier token, and every later one. A power of two that
/// the state keeps apart changes nothing.
inline void check_causal_and_scaled(const ranklab::ModelSpec& spec, arma::uword tokens,
                                    arma::uword changed) {
  PerturbedTensors<double> tensors;
  const auto block = ranklab::make_block<double>(spec, tensors);
  arma::mat R = gaussian(spec.dim, tokens, "R");
  const arma::mat Y = output(*block, R, 0.5);
  ranklab::State<double> scaled;
  scaled.Y = R / 1024;
  scaled.log2_scale = 10;
  block->forward(scaled, 0.5);
  CHECK(scaled.log2_scale == 10.0);
  CHECK(relative_error<double>(1024 * scaled.Y, Y) <= ranklab::tolerance::closed_form<double>);

  R.col(changed) += 1;
  const arma::mat Z = output(*block, R, 0.5);
  CHECK(arma::approx_equal(Y.head_cols(changed), Z.head_cols(changed), "absdiff", 0.0));
  for (arma::uword t = changed; t < tokens; ++t) CHECK(arma::norm(Y.col(t) - Z.col(t)) > 0);
}

/// The outputs in float and in double agree up to rounding.
inline void check_single_precision(const ranklab::ModelSpec& spec) {
  PerturbedTensors<double> tensors;
  PerturbedTensors<float> rounded;
  const arma::mat R = gaussian(spec.dim, 150, "R"),
                  Y = output(*ranklab::make_block<double>(spec, tensors), R, 1.0);
  const auto Z = output(*ranklab::make_block<float>(spec, rounded), R, 1.0);
  CHECK(relative_error(Z, Y) <= ranklab::tolerance::residual<float>);
}

/// No NaN for streams that are 0, tiny or huge, with and without the block's norm.
inline void check_stays_finite(ranklab::ModelSpec spec) {
  PerturbedTensors<double> tensors;
  const auto block = ranklab::make_block<double>(spec, tensors);
  spec.norm = "none";
  const auto bare = ranklab::make_block<double>(spec, tensors);
  for (const double size : {0.0, 1e-200, 1e30}) {
    CHECK(output(*block, size * gaussian(spec.dim, 70, "R"), 1.0).is_finite());
    CHECK(output(*bare, size * gaussian(spec.dim, 70, "R"), 1.0).is_finite());
  }
}

/// The drawn part of a tensor of this shape: without what PerturbedTensors adds.
inline arma::mat drawn_part(const PerturbedTensors<double>& tensors, const std::string& name,
                            arma::uword rows, arma::uword cols = 1) {
  const arma::mat& W = tensors[name];
  CHECK(arma::size(W) == arma::SizeMat(rows, cols));
  return W - 0.1 * gaussian(W.n_rows, W.n_cols, ("moved " + name).c_str());
}

/// Whether the draws lie in [low, high] and reach its ends up to a few percent.
inline bool is_uniform(const arma::mat& W, double low, double high) {
  const double slack = 0.02 * (high - low);
  return W.min() >= low && W.min() <= low + slack && W.max() <= high && W.max() >= high - slack;
}

}  // namespace block_checks
