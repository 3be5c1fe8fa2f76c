// The mathematics of the study bounds: the bounds of [LambdaSkip] as functions of what a stack measures, as printed in the text
// used here and corrected, and the parts of a trial, whose stacks are held against them.
//
// Y (d, N), one of N tokens of dimension d per column; M (N, N), row i for output token i; C_V (d, d); mu of [LambdaSkip] eq. (5).
// Bounds that leave the range of a double are natural logarithms.
#pragma once

#include <armadillo>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "experiments/rank_collapse/bounds/bounds.hpp"
#include "linalg/similarity.hpp"
#include "models/blocks/norms.hpp"

namespace ranklab::bounds {

inline double square(double x) {
  return x * x;
}

// Theorem 4.1 --------------------------------------------------------------------------------------------------------------

/// What Theorem 4.1 needs to know of a stack, or of one layer of it.
struct StackNorms {
  double N = 0.0, d = 0.0;
  double S = 0.0;    // sup ||C_V||_F
  double C_M = 0.0;  // sup ||M||_F
  double tau = 0.0;  // sup sigma_max(C_V) ||M||_2, at most S C_M
  double row = 0.0;  // sup sigma_max(C_V) max_i ||row i of M||_2, at most tau

  double mix() const { return S * C_M; }
};

/// The left-hand side of eq. (7), lambda^2 - a (S C_M + |lambda|)^2 > 0.
inline double margin_7(double lambda, double a, double mix) {
  return square(lambda) - a * square(mix + std::abs(lambda));
}
inline bool condition_7(double lambda, double a, double mix) {
  return margin_7(lambda, a, mix) > 0;
}

/// (a + sqrt a) S C_M / (1 - a): Section 4.1 says that eq. (7) asks for a larger |lambda|.
inline double threshold_7(double a, double mix) {
  return (a + std::sqrt(a)) * mix / (1 - a);
}

/// b = a^-K 2 lambda N d S C_M / (lambda^2 - a (S C_M + |lambda|)^2), where eq. (7) holds. Negative for lambda < 0.
inline double hypothesis_printed(double lambda, double a, double K, const StackNorms& norms) {
  return std::pow(a, -K) * 2 * lambda * norms.N * norms.d * norms.mix() / margin_7(lambda, a, norms.mix());
}

/// The same with |lambda|, and with tau in place of d S C_M.
inline double hypothesis_corrected(double lambda, double a, double K, const StackNorms& norms) {
  return std::pow(a, -K) * 2 * std::abs(lambda) * norms.N * norms.tau / margin_7(lambda, a, norms.mix());
}

/// The smallest |lambda| at which b is at most mu's own limit N, so that Theorem 4.1 may say anything: the larger root of
/// (1 - a) x^2 - 2 (a mix + p) x - a mix^2 = 0, beyond which a p-fold cross term is paid for.
inline double lambda_for(double a, double mix, double p) {
  const double half = a * mix + p;
  return (half + std::sqrt(half * half + (1 - a) * a * mix * mix)) / (1 - a);
}
inline double lambda_for_printed(double a, double K, const StackNorms& norms) {
  return lambda_for(a, norms.mix(), std::pow(a, -K) * norms.d * norms.mix());
}
inline double lambda_for_corrected(double a, double K, const StackNorms& norms) {
  return lambda_for(a, norms.mix(), std::pow(a, -K) * norms.tau);
}
/// The smallest |lambda| at which `turned_after` leaves something of mu = sqrt N.
inline double lambda_for_turning(double K, const StackNorms& norms) {
  return 2 * K * norms.tau;
}

/// mu^2 after one layer is at least (lambda^2 mu^2 - 2 lambda N d S C_M) / (S C_M + |lambda|)^2.
inline double layer_printed(double mu, double lambda, const StackNorms& norms) {
  return (square(lambda * mu) - 2 * lambda * norms.N * norms.d * norms.mix()) / square(norms.mix() + std::abs(lambda));
}

/// The same with |lambda|, and with tau in place of d S C_M. The printed proof does not give it, as it compares rows with the
/// largest row; this does: token i becomes the direction of lambda y_i + w_i, w_i row i of M Y C_V, so that it turns (against
/// sign(lambda) y_i) by an angle of sine at most s_i = |w_i|/|lambda|, with sum s_i^2 <= N t^2, t = tau/|lambda|. The chord c of
/// that angle is 2 sin(asin(s)/2), and at most 2 for s > 1. Let mu^2 = N (1 - u^2), u the norm of the mean token, which moves
/// by the mean chord H <= the concave hull of c(s^2) at t^2. The bound is empty unless u^2 <= 1 - 2 t, and then it follows
/// from H <= 1 - sqrt(1 - 2 t) <= sqrt(u^2 + 2 t) - u: N (1 - (u + H)^2) >= mu^2 - 2 N t, without any denominator.
inline double layer_corrected(double mu, double lambda, const StackNorms& norms) {
  return (square(lambda * mu) - 2 * std::abs(lambda) * norms.N * norms.tau) / square(norms.mix() + std::abs(lambda));
}

/// mu after K layers is at least mu - 2 K sqrt(N) tau / |lambda|, whatever mu is: |x/|x| - y/|y|| <= 2 |x - y| / (|x| + |y|)
/// bounds the chords by 2 s_i, and mu is a norm. Not in the paper.
inline double turned_after(double K, double mu, double lambda, const StackNorms& norms) {
  return mu - 2 * K * std::sqrt(norms.N) * norms.tau / std::abs(lambda);
}

// Theorem 4.2 (A.2) --------------------------------------------------------------------------------------------------------

/// sqrt(N) (1 - epsilon^2)^(K/2), epsilon the smallest attention weight: Theorem A.2 at diameter r = 1 with C = sqrt N.
inline double attention_bound(double N, double epsilon, double K) {
  return std::sqrt(N) * std::pow(1 - square(epsilon), K / 2);
}

// Theorem 4.3 --------------------------------------------------------------------------------------------------------------

/// A selective state-space model of transition alpha; lambda_min and lambda_max are those of (W_B W_C' + W_C W_B')/2.
struct SelectiveNorms {
  double N = 0.0, alpha = 0.0, c = 0.0;  // c <= the smallest inner product of two tokens
  double lambda_min = 0.0, lambda_max = 0.0;
};

/// sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^K.
inline double selective_printed(const SelectiveNorms& norms, double K) {
  return std::sqrt(norms.N) * std::pow(1 - square(norms.c * norms.lambda_min * std::pow(norms.alpha, norms.N)), K);
}

/// The exponent K/2 that the proof arrives at.
inline double selective_half(const SelectiveNorms& norms, double K) {
  return selective_printed(norms, K / 2);
}

/// sqrt(N) (1 - q)^(K/2), q = (c lambda_min alpha^(N-1) / (N lambda_max))^2. With Lemma A.4, rows of M over their sums are
/// stochastic and give token 1 a weight of at least sqrt q; dividing by a norm below 1 raises inner products. Neither
/// lambda_max <= 1/N nor row sums of at least 1 are asked for.
inline double selective_corrected(const SelectiveNorms& norms, double K) {
  const double first = norms.c * norms.lambda_min * std::pow(norms.alpha, norms.N - 1) / (norms.N * norms.lambda_max);
  return std::sqrt(norms.N) * std::pow(1 - square(first), K / 2);
}

// Theorem A.10 -------------------------------------------------------------------------------------------------------------

/// Logarithms of (sqrt(N) ||W_BC||_F)^((3^(k-1)+1)/2) ||Y0||_F^(3^k), of the same with the exponent (3^k - 1)/2 of Lemma A.9
/// but without sqrt N (the entries of 1SS(alpha) are at most 1, so ||M||_F <= ||W_BC||_F ||Y||_F^2), and of that with sqrt N.
inline double cubic_printed(double k, double N, double log_w, double log_norm) {
  return (std::pow(3, k - 1) + 1) / 2 * (std::log(N) / 2 + log_w) + std::pow(3, k) * log_norm;
}
inline double cubic_sharper(double k, double log_w, double log_norm) {
  return (std::pow(3, k) - 1) / 2 * log_w + std::pow(3, k) * log_norm;
}
inline double cubic_corrected(double k, double N, double log_w, double log_norm) {
  return cubic_sharper(k, std::log(N) / 2 + log_w, log_norm);
}

/// ||1SS(alpha)||_F of N tokens, all transitions alpha in [0, 1].
inline double semiseparable_norm(double N, double alpha) {
  double sum = 0, power = 1;  // N - l entries are alpha^l
  for (double l = 0; l < N; ++l, power *= alpha * alpha) sum += (N - l) * power;
  return std::sqrt(sum);
}

// What a stack shows (attention.cpp) ----------------------------------------------------------------------------------------

inline constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

template <class T>
arma::mat exact(const arma::Mat<T>& A) {
  return arma::conv_to<arma::mat>::from(A);
}

/// Natural logarithms of mu and of the Frobenius norm of 2^s Y.
template <class T>
double log_mu(const State<T>& state) {
  return std::log(token_spread(state.Y)) + state.log2_scale * std::numbers::ln2;
}
template <class T>
double log_norm(const State<T>& state) {
  return std::log(arma::norm(exact(state.Y), "fro")) + state.log2_scale * std::numbers::ln2;
}

/// phi of Theorem 4.3: the smallest inner product of two tokens of Y, N >= 2.
double smallest_cosine(const arma::mat& Y);
/// The smallest entry of M that a causal or full mask lets through.
double smallest_weight(const arma::mat& M, bool causal);

/// By what factor each step of log mu is longer than the one before, from the third value on: 3 for mu <- C mu^3, 1 for
/// mu <- C mu.
std::vector<double> growth_of_steps(const std::vector<double>& log_mu);
/// The same as one number: the mean growth of the later half of the steps between finite values. NaN below two steps, or where
/// their direction changes.
double mean_growth(const std::vector<double>& log_mu);

/// The values followed by NaN up to this size: the stack ended before.
std::vector<double> padded(std::vector<double> values, std::size_t size);

// Theorem 4.1 on one layer and on one stack (skips.cpp) --------------------------------------------------------------------

/// Norms of C_V, which all skips share.
struct ValueNorms {
  double frobenius = 0.0, largest = 0.0;  // ||C_V||_F, sigma_max(C_V)
};
ValueNorms value_norms(const arma::mat& C_V);

/// One layer of a bare stack, opened up: what the proof of Theorem 4.1 looks at between its input and its output.
struct Layer {
  StackNorms norms;
  double lambda = 0.0;
  double mu = 0.0;           // of the input Y
  double mu_mixed = 0.0;     // of Y~ = M Y C_V + lambda Y
  double mu_next = 0.0;      // of D Y~
  double largest_row = 0.0;  // max_i ||Y~_i||
  double row_spread = 0.0;   // sqrt(sum_i (||Y~_i|| - their mean)^2)
};

/// `next` (d, N) is D Y~ as the stack has it.
Layer open_layer(const arma::mat& Y, const arma::mat& M, const arma::mat& C_V, const ValueNorms& values, double lambda,
                 const arma::mat& next);

/// Every inequality about one layer with lambda != 0, as printed and corrected.
void judge_layer(const Layer& layer, double slack, TrialRecord& record);

/// Theorem 4.1 for a stack of K layers with these suprema, at every collapse rate a: eq. (7), b, and the conclusion.
struct StackEnd {
  StackNorms norms;
  double lambda = 0.0, K = 0.0, mu_0 = 0.0, mu_K = 0.0;
};
void judge_stack(const StackEnd& end, const std::vector<double>& a, double slack, TrialRecord& record);

// The parts of a trial (skips.cpp, attention.cpp, state_space.cpp), computed in T; each is independent of the others --------

/// Theorem 4.1: one stack of `model` per skip, all with the same weights and the same input.
template <class T>
void judge_skips(const BoundsConfig& config, const std::string& model, Sizes sizes, const Trial& trial, TrialRecord& record);

/// Theorem A.2: attention with orthogonal W_V, norm rows, no skip, tokens in a cone.
template <class T>
void judge_attention(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record);

/// Theorem 4.3: selective-ssm with W_B = W_C, norm rows, no skip, tokens in a cone.
template <class T>
void judge_selective(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record);

/// Theorem A.3: attention without norm and skip.
template <class T>
void judge_pure_attention(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record);

/// Theorems A.7 and A.8: lti-ssm without norm and skip.
template <class T>
void judge_lti(const BoundsConfig& config, const LtiTheorem& theorem, Sizes sizes, const Trial& trial, TrialRecord& record);

/// Theorem A.10: selective-ssm without norm and skip, the same weights at every layer.
template <class T>
void judge_pure_selective(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record);

}  // namespace ranklab::bounds
