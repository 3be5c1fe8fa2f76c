// The state that passes through the blocks, and the normalizations of its tokens.
#pragma once

#include <armadillo>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/undefined.hpp"
#include "nn/blocks/dropout.hpp"

namespace ranklab {

/// Frobenius norms of the input and output of a block's mixing branch; NaN if the block does not
/// record them.
struct BranchNorms {
  double input = undefined, output = undefined;
};

enum class Norm { rows, layer, rms, none };

/// A representation 2^s Y of N tokens of dimension d at some depth. The scale s is used by bare
/// stacks without a norm, and by residual streams whose branch input is normalized, R <- lambda R +
/// branch(norm(R)). There R may grow like lambda^K beyond the range of T, while norm(R) does not
/// depend on the size of R.
template <class T>
struct State {
  arma::Mat<T> Y;           // (d, N), one token per column
  double log2_scale = 0.0;  // s; may be nonzero if a stream grows or decays without bound
  // Number of tokens that normalize_rows set to zero, over all depths so far.
  std::uint64_t degenerate_rows = 0;
  BranchNorms branch = {};              // of the last block
  std::optional<Dropout> dropout = {};  // for encoders in training mode

  /// Applies a norm with gain 1 and bias 0; epsilon is 1e-5 for layer and rms. Counts degenerate
  /// rows.
  void normalize(Norm norm);

  /// Moves a power of two from Y into s, so that the largest entry of Y is in [1/2, 1). Exact. Does
  /// not change a zero or non-finite Y.
  void rescale();
  /// The inverse, for blocks that are not homogeneous: s becomes 0. Exact except for entries
  /// outside of T's range.
  void unscale();
  /// Rescales if entries of Y are large.
  void keep_in_range();

  /// The epsilon for norms of Y that corresponds to `epsilon` for 2^s Y. Positive.
  double scaled_epsilon(double epsilon) const;
  /// R <- lambda R + branch, with R = 2^s Y; the branch is not scaled. Changes s only if lambda
  /// shrinks a large stream to the size of its branches.
  void add_branch(double lambda, const arma::Mat<T>& branch);
};

/// "rows", "layer", "rms" or "none". Throws a UsageError that names --norm.
Norm find_norm(std::string_view name);

/// [LambdaSkip] eq. (4), D: scales every token to Euclidean norm 1. Tokens of norm below 1e-10
/// become zero, because dividing would amplify rounding noise to a unit vector. Returns their
/// number.
template <class T>
std::uint64_t normalize_rows(arma::Mat<T>& Y);

/// LN(x) = gain (x - mean) / sqrt(variance + epsilon) + bias, with the population variance (divided
/// by d). A null pointer means gain 1 or bias 0.
template <class T>
void layer_norm(arma::Mat<T>& Y, double epsilon, const arma::Col<T>* gain = nullptr,
                const arma::Col<T>* bias = nullptr);

/// RMSNorm(x) = gain x / sqrt(mean of x^2 + epsilon). A null pointer means gain 1.
template <class T>
void rms_norm(arma::Mat<T>& Y, double epsilon, const arma::Col<T>* gain = nullptr);

}  // namespace ranklab
