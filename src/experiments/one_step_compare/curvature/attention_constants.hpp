// The constants J and H of [Spectral] Section 4.2.1 for attention, H(Q, K, V) = V P with P =
// softmax(K'Q / sqrt(d)) over columns: the operator norm of its derivative, and the size of its
// second derivative. Q = W_Q A, K = W_K A and V = W_V A are (d, T), and the columns of A have norm
// sqrt(d), as after RMSNorm.
//
// The paper bounds both by the operator norms of the projections, times a constant that depends
// neither on d nor on T. Two examples contradict this. Let R be the largest row sum of P: the
// attention that one token receives in sum, between 1 and T. For projections of operator norm at
// most 1,
//   J <= sqrt(R) (1 + sqrt(d)) + sqrt(d)
//   H <= R (4 sqrt(d) + 4)
// because a change of q_t changes h_t by at most sqrt(d), the norm of v, times that of k / sqrt(d);
// and P, whose columns sum to one, has operator norm at most sqrt(R).
#pragma once

#include <armadillo>
#include <vector>

#include "core/random.hpp"
#include "core/record.hpp"
#include "report/builder.hpp"
#include "report/claims.hpp"

namespace ranklab::curvature {

/// A change of Q, K and V, each (d, T).
struct Projected {
  arma::mat Q, K, V;

  double norm() const;
};

class AttentionMap {
 public:
  explicit AttentionMap(Projected at);

  const arma::mat& P() const { return P_; }  // (T, T), columns sum to one
  arma::uword width() const { return at_.V.n_rows; }
  /// The derivative of H along U, (d, T).
  arma::mat derivative(const Projected& U) const;
  /// Its transpose, applied to G (d, T).
  Projected transposed(const arma::mat& G) const;
  /// D^2 H[U, U], (d, T).
  arma::mat second_derivative(const Projected& U) const;
  /// J, by power iteration from a random start. If the largest singular values are close, the
  /// result may be too small, by less than 1e-3.
  double slope(Stream start) const;
  /// R.
  double most_attended() const;

 private:
  arma::mat change_of_scores(const Projected& U) const;

  Projected at_;
  arma::mat P_;
};

/// The bounds above, for projections of operator norm at most 1.
double slope_bound(const AttentionMap& map);
double second_derivative_bound(const AttentionMap& map);
/// Counts both bounds, the second one along directions of norm 1.
void count_bounds(const AttentionMap& map, double slope, const std::vector<Projected>& along,
                  TrialRecord& record);

/// Normal tokens, and Gaussian projections of operator norm 1.
AttentionMap normal_attention(arma::uword d, arma::uword T, const Streams& streams);
/// Tokens sqrt(d) v and, three times as often, -sqrt(d) v; W_Q = w w' with w orthogonal to v, W_K =
/// W_V = 1, so that all operator norms are 1. P is uniform, J = sqrt(1 + 9 d / 16), and D^2 H along
/// a unit change v of one q has norm 3 sqrt(d) / 4.
AttentionMap two_sided_attention(arma::uword d, arma::uword T);
/// Tokens sqrt(d/2) (v + w) and, all others, sqrt(d/2) (v - w); W_Q = v v', W_K = v w', W_V = 1.
/// Every token attends to the first, so J is at least ||P||_op, near sqrt(T).
AttentionMap one_sided_attention(arma::uword d, arma::uword T);

/// Sizes at which the constants are computed, with the other size at `attention_size`.
inline const std::vector<double> attention_sizes = {16, 32, 64, 128, 256};
inline constexpr arma::uword attention_size = 64;

/// Adds J and H over both sizes, and counts the bounds.
void measure_attention(const Streams& streams, TrialRecord& record);
void judge_attention(const Records& records, Claims& claims);
/// Series and one panel.
void draw_attention(ResultBuilder& out);

}  // namespace ranklab::curvature
