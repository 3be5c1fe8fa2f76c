// Token similarity escalation, the theory of [Shallow] Section 2.2: how much a step from X to Y
// increases the shared part of the tokens and the rest, and what the attention matrices predict
// about it. The step is step 1 of Algorithm 1,
//
//   Y = lambda X + alpha [P_1 X W_1 ... P_h X W_h]
//
// Tokens are columns: the paper's X is X' here. The P of a head is passed as P' (N, N), whose
// columns sum to one, as attention_matrices returns it. All computations are in double precision.
#pragma once

#include <armadillo>
#include <vector>

#include "linalg/similarity.hpp"
#include "nn/blocks/model_spec.hpp"

namespace ranklab {

/// A step from X to Y. Values are NaN or infinite if one part of X or Y is zero.
struct Escalation {
  double xi_1 = 0.0, xi_2 = 0.0;  // eq. (7): xi_i = ||Pi_i Y||_F^2 / ||Pi_i X||_F^2
  double rate = 0.0;  // eq. (5): r = t_div(X) / t_div(Y); above 1 if the similarity rises

  double xi_ratio() const { return xi_1 / xi_2; }
};
Escalation measure_escalation(const TokenParts& X, const TokenParts& Y);

/// [Shallow] eq. (6): r = 1 + excess t_sim(X), where excess = xi_1/xi_2 - 1.
double rate_from_excess(double excess, double similarity);

/// The error of the identity (6) divided by max(1, r), which is only rounding. `similarity` is
/// t_sim(X).
double identity_error(const Escalation& step, double similarity);

/// The measures of one head for one X. Values are NaN or infinite if a part of X is zero.
struct HeadMeasures {
  double omega = 0.0;  // eq. (12): ||e'P Pi_2 X|| / ||e'X||, e = 1/sqrt(N)
  double delta = 0.0;  // eq. (12): ||Pi_2 P||_2
  double mu_1_squared = 0.0, mu_2_squared = 0.0;  // eq. (10): mu_i = ||Pi_i P X||_F / ||Pi_i X||_F

  /// The bounds (11): mu_1^2 >= (1 - omega)^2, also for omega above 1, and mu_2^2 <= delta^2.
  double mu_1_bound() const { return (1 - omega) * (1 - omega); }
  double mu_2_bound() const { return delta * delta; }
};

/// P (N, N) and X (d, N). Throws Failure if an entry of P is not finite.
HeadMeasures head_measures(const arma::mat& P, const arma::mat& X);

/// Means over the heads of one step, which replace (10), (11) and (12) in [Shallow] Proposition
/// 2.9.
struct AttentionMeasures {
  double omega = 0.0, delta = 0.0;
  double mu_1_squared = 0.0, mu_2_squared = 0.0;  // mu-bar_1^2 and mu-bar_2^2
  double mu_1_bound = 0.0, mu_2_bound = 0.0;      // means of (1 - omega_k)^2 and of delta_k^2
};
AttentionMeasures mean_over_heads(const std::vector<HeadMeasures>& heads);

/// |lambda_2(P)|: the largest modulus of the eigenvalues without the 1 of the vector of ones.
/// Throws the same exceptions as spectral_radius.
double second_eigenvalue(const arma::mat& P);

/// ||P - P'||_F / ||P||_F.
double asymmetry(const arma::mat& P);

/// The strengths of the two terms of step 1: lambda^2, and alpha^2 d sigma^2, where sigma^2 is the
/// variance of the entries of W.
struct StepStrength {
  double skip = 1.0, attention = 1.0;
};
StepStrength step_strength(const ModelSpec& spec, double lambda);

/// E[xi_i] over W: lambda^2 + alpha^2 d sigma^2 mu_i^2, with mu_i^2 averaged over heads. [Shallow]
/// eq. (9) and (29) have lambda = 1; the terms linear in W have mean zero for any lambda.
double expected_xi(const StepStrength& strength, double mu_squared);

/// E[xi_1]/E[xi_2] - 1 = alpha^2 d sigma^2 (mu_1^2 - mu_2^2) / (lambda^2 + alpha^2 d sigma^2
/// mu_2^2): [Shallow] eq. (13), (18). Estimate 1, eq. (16), replaces mu_1^2 and mu_2^2 by the
/// bounds (11). Estimate 2, eq. (17), replaces them by 1 and |lambda_2|^2.
double expected_excess(const StepStrength& strength, double mu_1_squared, double mu_2_squared);

/// The random variable xi = ||A + alpha B W||_F^2 / ||A||_F^2 for fixed A and B (N, d), where the
/// entries of W (d, d) are N(0, 1/d).
struct XiLaw {
  double mean = 0.0;  // [Shallow] eq. (9): 1 + alpha^2 ||B||_F^2 / ||A||_F^2
  // Standard deviation. The variance of ||A||_F^2 xi is (4 alpha^2 ||B'A||_F^2 + 2 alpha^4
  // ||B'B||_F^2) / d.
  double deviation = 0.0;
};

/// Takes A' and B' (d, N).
XiLaw xi_law(const arma::mat& A, const arma::mat& B, double alpha);

}  // namespace ranklab
