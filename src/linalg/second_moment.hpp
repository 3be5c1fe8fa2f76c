// The second moment M = sum x x' (k, k) of samples x. Few samples are kept as they are: they are
// fewer numbers than M, and products with them cost less.
#pragma once

#include <armadillo>
#include <functional>

namespace ranklab {

enum class MomentForm { whole, diagonal, samples };

template <class T>
struct SecondMoment {
  MomentForm form = MomentForm::whole;
  arma::Mat<T> values;  // M (k, k); its diagonal (k, 1); or samples as rows (n, k)
  double factor = 1;    // of all of M

  /// k.
  arma::uword size() const { return form == MomentForm::samples ? values.n_cols : values.n_rows; }
  /// The moment of these features, in this order; not for a diagonal.
  SecondMoment part(const arma::uvec& features) const;
};

/// a + b, as samples if both are and together have at most k. Throws std::logic_error if only one
/// of them is a diagonal.
void add_to(SecondMoment<double>& a, const SecondMoment<double>& b);

/// factor * A, rounded to T.
template <class T>
arma::Mat<T> scaled_to(const arma::mat& A, double factor);

/// Rounded to single precision after a scaling to entries near 1, so that products neither overflow
/// nor underflow.
SecondMoment<float> in_single_precision(const SecondMoment<double>& M);

/// The diagonal of M: sums of squares.
arma::vec diagonal_of(const SecondMoment<double>& M);

/// [Spectral] Section 1.1: st(A) = tr(M) / lambda_max(M) for M = A A', from the smaller Gram matrix
/// of samples; NaN of a zero matrix. Calls `between_steps` now and then.
double stable_rank_of_moment(const SecondMoment<double>& M,
                             const std::function<void()>& between_steps = {});

}  // namespace ranklab
