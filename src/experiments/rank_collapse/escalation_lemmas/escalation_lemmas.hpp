// Internal header of the study escalation-lemmas. In the formulas tokens are rows, X (n, d), as in
// [Shallow]. In memory they are columns, X' (d, n).
//
// For normal W, the "absolute constant" c of (25) to (28) can be 1/8, with K = sigma = 1/sqrt(d):
//   (25)  2 <a, w> / ||a|| has the law N(0, 4 K^2), and P(N(0, 1) >= x) <= exp(-x^2/2).
//   (26)  A sum of p_i g_i^2 with sum p_i = 1 has its heaviest tails if one p_i is 1, because its
//         log moment generating function is convex in p. The bound of Chernoff then gives
//         c = (1 - log 2)/2 = 0.153 at eps = K = 1, the worst case.
//   (27)  is the union of both, and (28) adds the lower tails, which are lighter.
#pragma once

#include <armadillo>
#include <array>
#include <string>

#include "experiments/rank_collapse/escalation_lemmas/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::escalation_lemmas {

inline constexpr double lemma_constant = 1.0 / 8;  // c

/// How P is computed from the scores M = X W_q (X W_k)' / sqrt(d).
enum class Attention {
  softmax,    // eq. (2)
  sinkhorn,   // exp(M) with rows and columns scaled to sum to one
  symmetric,  // the same with W_k = W_q
};
inline constexpr std::array attentions = {Attention::softmax, Attention::sinkhorn,
                                          Attention::symmetric};
std::string name_of(Attention attention);

/// One setting of X, P and alpha.
struct Cell {
  Attention attention;
  std::uint64_t dim;
  double t, alpha;
};

struct Plan {
  explicit Plan(const EscalationLemmasConfig& config);

  std::uint64_t tokens;
  std::vector<std::uint64_t> dim;  // ascending
  std::vector<double> t, alpha;    // ascending
  std::vector<Cell> cells;         // d varies fastest, then t, alpha, attention
};

// What a trial records ----------------------------------------------------------------------------

// Arrays over cells. The first group is the same in every trial. `linear_size` is ||a|| for a =
// alpha X'P' Pi_i X / ||Pi_i X||_F^2, and `ratio` is E[xi_1/xi_2] by quadrature.
inline constexpr char similarity[] = "token_similarity", omega[] = "omega", delta[] = "delta",
                      lambda_2[] = "lambda_2", ratio[] = "expected_ratio";
inline constexpr const char* mu_squared[] = {"mu_1_squared", "mu_2_squared"};
inline constexpr const char* linear_size[] = {"linear_size_1", "linear_size_2"};
// For the W of the trial: xi_i, its terms 2 alpha <Pi_i X, Pi_i P X W> and alpha^2 ||Pi_i P X
// W||_F^2, both divided by ||Pi_i X||_F^2, and the rate (5).
inline constexpr const char* xi[] = {"xi_1", "xi_2"};
inline constexpr const char* linear[] = {"linear_1", "linear_2"};
inline constexpr const char* quadratic[] = {"quadratic_1", "quadratic_2"};
inline constexpr char rate[] = "rate";
// Over d, for the pre-norm block (19) at the largest t: (||Y||_F^2 - ||X||_F^2) / ||P(X^) X^||_F^2,
// and (||Z||_F^2 - ||Y||_F^2) / (n d/2) with a feed-forward net of width 2 d.
inline constexpr char attention_growth[] = "pre_norm_growth", net_growth[] = "pre_norm_net_growth";

/// Scales the rows and columns of a positive matrix so that they sum to one, by Sinkhorn's
/// iteration. Throws Failure if it does not converge to rounding.
arma::mat doubly_stochastic(arma::mat kernel);

/// E[xi_1/xi_2] for Y = X + alpha P X W, where the entries of W are independent and N(0, 1/d).
/// Takes X' and (P X)' (d, n). Uses E[xi_1/xi_2] = int_0^inf E[xi_1 exp(-s xi_2)] ds; the
/// expectation is over a normal w, column by column of W.
double expected_ratio(const arma::mat& X, const arma::mat& PX, double alpha);

Work work_of(const Plan& plan);

// From the records to the result ------------------------------------------------------------------

double at(const TrialRecord& record, const char* name, std::size_t cell);

/// kappa_i of Lemma A.5 for a cell. `from_27`: as (27) gives it, ||B||_F^2 + ||B'a||, where B is
/// the map from the d^2 entries of W, so ||B||_F^2 = d alpha^2 mu_i^2. `without_d`: alpha^2 mu_i^2
/// + ||B'a||.
enum class Kappa { from_27, without_d };
double kappa(const Plan& plan, const TrialRecord& record, std::size_t cell, std::size_t i,
             Kappa which);

/// P(||Bw||^2 >= (1 + eps) ||B||_F^2) for w of N(0, I) and B of one row.
double tail_of_one_row(double eps);

/// ||Pi_2 P_k ... P_1 x|| / ||Pi_2 x|| for a worked example of Section 2.2.1: x = (0, 0, 1)', and
/// P_k of odd and of even k are two 0/1 matrices of 3 rows with the eigenvalues 1, 0, 0.
double rest_after_products(int factors);

/// The right-hand side of (9).
double expected_xi(const Plan& plan, const TrialRecord& record, std::size_t cell, std::size_t i);
/// The right-hand side of (16), from the bounds (11) on mu_1^2 and mu_2^2; for a cell, (1 -
/// omega)^2 and delta^2.
double guaranteed_rate(double alpha, double mu_1_bound, double mu_2_bound, double t_sim);
double guaranteed_rate(const Plan& plan, const TrialRecord& record, std::size_t cell);

void judge(const Plan& plan, const Records& records, Claims& claims);

}  // namespace ranklab::escalation_lemmas
