// The bounds of [LambdaSkip] as functions of what a stack measures: as printed in the text used here, and corrected.
//
// N tokens of dimension d; mu of [LambdaSkip] eq. (5). Bounds that leave the range of a double are natural logarithms.
#pragma once

namespace ranklab::bounds {

// Theorem 4.1 ---------------------------------------------------------------------------------------------------------

/// What Theorem 4.1 needs to know of a stack, or of one layer of it.
struct StackNorms {
  double N = 0.0, d = 0.0;
  double S = 0.0;    // sup ||C_V||_F
  double C_M = 0.0;  // sup ||M||_F
  double tau = 0.0;  // sup sigma_max(C_V) ||M||_2, at most S C_M
  double row = 0.0;  // sup sigma_max(C_V) max_i ||row i of M||_2, at most tau

  double mix() const { return S * C_M; }
};

/// Eq. (7): lambda^2 - a (S C_M + |lambda|)^2 > 0.
bool condition_7(double lambda, double a, double mix);

/// (a + sqrt a) S C_M / (1 - a): Section 4.1 says that eq. (7) asks for a larger |lambda|.
double threshold_7(double a, double mix);

/// b = a^-K 2 lambda N d S C_M / (lambda^2 - a (S C_M + |lambda|)^2), where eq. (7) holds. Negative for lambda < 0.
double hypothesis_printed(double lambda, double a, double K, const StackNorms& norms);

/// The same with |lambda|, and with tau in place of d S C_M.
double hypothesis_corrected(double lambda, double a, double K, const StackNorms& norms);

/// The smallest |lambda| at which b is at most mu's own limit N, so that Theorem 4.1 may say anything.
double lambda_for_printed(double a, double K, const StackNorms& norms);
double lambda_for_corrected(double a, double K, const StackNorms& norms);
/// The smallest |lambda| at which `turned_after` leaves something of mu = sqrt N.
double lambda_for_turning(double K, const StackNorms& norms);

/// mu^2 after one layer is at least (lambda^2 mu^2 - 2 lambda N d S C_M) / (S C_M + |lambda|)^2.
double layer_printed(double mu, double lambda, const StackNorms& norms);

/// The same with |lambda|, and with tau in place of d S C_M. The printed proof does not give it, as it compares rows with the
/// largest row; this does: token i becomes the direction of lambda y_i + w_i, w_i row i of M Y C_V, so that it turns (against
/// sign(lambda) y_i) by an angle of sine at most s_i = |w_i|/|lambda|, with sum s_i^2 <= N t^2, t = tau/|lambda|. The chord c of
/// that angle is 2 sin(asin(s)/2), and at most 2 for s > 1. Let mu^2 = N (1 - u^2), u the norm of the mean token, which moves
/// by the mean chord H <= the concave hull of c(s^2) at t^2. The bound is empty unless u^2 <= 1 - 2 t, and then it follows
/// from H <= 1 - sqrt(1 - 2 t) <= sqrt(u^2 + 2 t) - u: N (1 - (u + H)^2) >= mu^2 - 2 N t, without any denominator.
double layer_corrected(double mu, double lambda, const StackNorms& norms);

/// mu after K layers is at least mu - 2 K sqrt(N) tau / |lambda|, whatever mu is: |x/|x| - y/|y|| <= 2 |x - y| / (|x| + |y|)
/// bounds the chords by 2 s_i, and mu is a norm. Not in the paper.
double turned_after(double K, double mu, double lambda, const StackNorms& norms);

// Theorem 4.2 (A.2) ---------------------------------------------------------------------------------------------------

/// sqrt(N) (1 - epsilon^2)^(K/2), epsilon the smallest attention weight: Theorem A.2 at diameter r = 1 with C = sqrt N.
double attention_bound(double N, double epsilon, double K);

// Theorem 4.3 ---------------------------------------------------------------------------------------------------------

/// A selective state-space model of transition alpha; lambda_min and lambda_max are those of (W_B W_C' + W_C W_B')/2.
struct SelectiveNorms {
  double N = 0.0, alpha = 0.0, c = 0.0;  // c <= the smallest inner product of two tokens
  double lambda_min = 0.0, lambda_max = 0.0;
};

/// sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^K.
double selective_printed(const SelectiveNorms& norms, double K);

/// The exponent K/2 that the proof arrives at.
double selective_half(const SelectiveNorms& norms, double K);

/// sqrt(N) (1 - q)^(K/2), q = (c lambda_min alpha^(N-1) / (N lambda_max))^2. With Lemma A.4, rows of M over their sums are
/// stochastic and give token 1 a weight of at least sqrt q; dividing by a norm below 1 raises inner products. Neither
/// lambda_max <= 1/N nor row sums of at least 1 are asked for.
double selective_corrected(const SelectiveNorms& norms, double K);

// Theorem A.10 --------------------------------------------------------------------------------------------------------

/// Logarithms of (sqrt(N) ||W_BC||_F)^((3^(k-1)+1)/2) ||Y0||_F^(3^k), of the same with the exponent (3^k - 1)/2 of Lemma A.9,
/// and of that without sqrt N: the entries of 1SS(alpha) are at most 1, so ||M||_F <= ||W_BC||_F ||Y||_F^2.
double cubic_printed(double k, double N, double log_w, double log_norm);
double cubic_corrected(double k, double N, double log_w, double log_norm);
double cubic_sharper(double k, double log_w, double log_norm);

/// ||1SS(alpha)||_F of N tokens, all transitions alpha in [0, 1].
double semiseparable_norm(double N, double alpha);

}  // namespace ranklab::bounds
