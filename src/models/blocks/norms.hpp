// The state that travels through the blocks, and the normalisations of its tokens.
#pragma once

#include <armadillo>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/undefined.hpp"
#include "models/dropout.hpp"

namespace ranklab {

/// Frobenius norms of what entered the mixing branch of a block, and of what it gave; NaN where the block does not say.
struct BranchNorms {
  double input = undefined, output = undefined;
};

enum class Norm { rows, layer, rms, none };

/// A representation 2^s Y of N tokens of dimension d, at some depth. The scale s serves bare stacks without a norm, and residual
/// streams of blocks that normalise a branch's input, R <- lambda R + branch(norm(R)): R may grow like lambda^K, beyond the range
/// of T, and what the norm makes of it does not depend on its size.
template <class T>
struct State {
  arma::Mat<T> Y;                       // (d, N), one token per column
  double log2_scale = 0.0;              // s; not 0 where a stream grows or falls without limit
  std::uint64_t degenerate_rows = 0;    // tokens that normalise_rows set to zero, over all depths so far
  BranchNorms branch = {};              // of the last block
  std::optional<Dropout> dropout = {};  // of encoders in training

  /// The norm by its name, with gain 1 and bias 0; epsilon 1e-5 for layer and rms. Counts degenerate rows.
  void normalise(Norm norm);

  /// Moves a power of two from Y into s, so that the largest entry of Y is in [1/2, 1). Exact. A zero or non-finite Y stays as it
  /// is.
  void rescale();
  /// The inverse, for blocks that are not homogeneous: s becomes 0. Exact but for entries that leave T's range.
  void unscale();
  /// Rescales where entries of Y are large.
  void keep_in_range();

  /// The epsilon that makes of Y what `epsilon` makes of 2^s Y. Positive.
  double scaled_epsilon(double epsilon) const;
  /// R <- lambda R + branch, with R = 2^s Y; the branch has no scale. Moves s only where lambda brings a large stream back to the
  /// size of its branches.
  void add_branch(double lambda, const arma::Mat<T>& branch);
};

/// "rows", "layer", "rms" or "none"; throws UsageError that names --norm.
Norm find_norm(std::string_view name);

/// [LambdaSkip] eq. (4), D: every token to Euclidean norm 1. A token of norm under 1e-10 becomes zero, as dividing would blow
/// rounding noise up to a unit vector. Returns how many did.
template <class T>
std::uint64_t normalise_rows(arma::Mat<T>& Y);

/// LN(x) = gain (x - mean) / sqrt(variance + epsilon) + bias, with the population variance (divided by d). A null pointer
/// stands for gain 1, bias 0.
template <class T>
void layer_norm(arma::Mat<T>& Y, double epsilon, const arma::Col<T>* gain = nullptr, const arma::Col<T>* bias = nullptr);

/// RMSNorm(x) = gain x / sqrt(mean of x^2 + epsilon). A null pointer stands for gain 1.
template <class T>
void rms_norm(arma::Mat<T>& Y, double epsilon, const arma::Col<T>* gain = nullptr);

}  // namespace ranklab
