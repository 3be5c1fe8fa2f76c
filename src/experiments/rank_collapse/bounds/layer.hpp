// One layer of a bare stack, opened up: what the proof of [LambdaSkip] Theorem 4.1 looks at between its input and its output.
#pragma once

#include <armadillo>

#include "experiments/rank_collapse/bounds/findings.hpp"
#include "experiments/rank_collapse/bounds/formulas.hpp"

namespace ranklab::bounds {

/// Norms of C_V (d, d), which all skips share.
struct ValueNorms {
  double frobenius = 0.0, largest = 0.0;  // ||C_V||_F, sigma_max(C_V)
};
ValueNorms value_norms(const arma::mat& C_V);

struct Layer {
  StackNorms norms;
  double lambda = 0.0;
  double mu = 0.0;           // of the input Y
  double mu_mixed = 0.0;     // of Y~ = M Y C_V + lambda Y
  double mu_next = 0.0;      // of D Y~
  double largest_row = 0.0;  // max_i ||Y~_i||
  double row_spread = 0.0;   // sqrt(sum_i (||Y~_i|| - their mean)^2)
};

/// Y, next (d, N), one token per column; M (N, N), row i for output token i; C_V (d, d). `next` is D Y~ as the stack has it.
Layer open_layer(const arma::mat& Y, const arma::mat& M, const arma::mat& C_V, const ValueNorms& values, double lambda,
                 const arma::mat& next);

/// Every inequality about one layer with lambda != 0, as printed and corrected, into tallies named after the claims.
void judge_layer(const Layer& layer, double slack, Findings& findings);

/// Theorem 4.1 for a stack of K layers with these suprema, at every collapse rate a: eq. (7), b, and the conclusion.
struct StackEnd {
  StackNorms norms;
  double lambda = 0.0, K = 0.0, mu_0 = 0.0, mu_K = 0.0;
};
void judge_stack(const StackEnd& end, const std::vector<double>& a, double slack, Findings& findings);

}  // namespace ranklab::bounds
