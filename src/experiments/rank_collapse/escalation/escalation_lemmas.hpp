// For the tests of the study escalation-lemmas.
#pragma once

#include <armadillo>
#include <array>

#include "experiments/kit.hpp"

namespace ranklab::escalation_lemmas {

/// How P is computed from the scores M = X W_q (X W_k)' / sqrt(d).
enum class Attention {
  softmax,    // eq. (2)
  sinkhorn,   // exp(M) with rows and columns scaled to sum to one
  symmetric,  // the same with W_k = W_q
};

/// One setting of X, P and alpha. A trial records arrays over cells.
struct Cell {
  std::size_t index;
  Attention attention;
  std::uint64_t dim;
  double t, alpha;
};

struct Config : Study {
  std::uint64_t tokens = 32;                      // n, at least 2
  std::vector<std::uint64_t> dim = {16, 32, 64};  // d
  std::vector<double> t = {0.01, 0.3, 1.0};       // X = e v' + t Q
  std::vector<double> alpha = {0.5, 1.0, 2.0};    // Y = X + alpha P X W

  std::vector<Field> flags() override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override { return "Lemmas behind the expected escalation rate"; }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  std::vector<Cell> cells() const;  // d varies fastest, then t, alpha, attention
};

inline constexpr double lemma_constant = 1.0 / 8;  // c

/// Scales the rows and columns of a positive matrix so that they sum to one, by Sinkhorn's
/// iteration. Throws Failure if it does not converge to rounding.
arma::mat doubly_stochastic(arma::mat kernel);

/// E[xi_1/xi_2] for Y = X + alpha P X W, where the entries of W are independent and N(0, 1/d).
/// Takes X' and (P X)' (d, n). Uses E[xi_1/xi_2] = int_0^inf E[xi_1 exp(-s xi_2)] ds; the
/// expectation is over a normal w, column by column of W.
double expected_ratio(const arma::mat& X, const arma::mat& PX, double alpha);

/// kappa_i of Lemma A.5 for a cell; i is 0 or 1. `from_27`: as (27) gives it, ||B||_F^2 + ||B'a||,
/// where B is the map from the d^2 entries of W, so ||B||_F^2 = d alpha^2 mu_i^2. `without_d`:
/// alpha^2 mu_i^2 + ||B'a||.
enum class Kappa { from_27, without_d };
double kappa(const Cell& cell, const TrialRecord& record, std::size_t i, Kappa which);

/// P(||Bw||^2 >= (1 + eps) ||B||_F^2) for w of N(0, I) and B of one row.
double tail_of_one_row(double eps);

/// ||Pi_2 F_k ... F_1 x|| / ||Pi_2 x|| with F_k = (alpha_0 I + P_k)/(alpha_0 + 1) for a worked
/// example of Section 2.2.1: x = (0, 0, 1)', and P_k of odd and of even k are two 0/1 matrices of
/// 3 rows with the eigenvalues 1, 0, 0. Without a skip (0), F_k is P_k.
double rest_after_products(int factors, double skip = 0);

/// Token similarity before and after ReLU, for the tokens (1, -1) and (-1, 1), which ReLU takes to
/// (1, 0) and (0, 1), and for two equal tokens (1, -2).
struct Similarities {
  double before, after;
};
Similarities opposite_tokens_after_relu();
Similarities equal_tokens_after_relu();

/// (E[r] - 1)/t_sim of a worked example of Theorem 2.6, with normal entries of W of variance
/// `variance`/d. P = Pi_1 + 0.3 u u' with u = (1, -1, 0)'/sqrt(2) is symmetric and stochastic, so
/// mu_1 = 1, omega = 0 and delta = 0.3. The rest Pi_2 X has the squared share 1/9 along u, and P
/// removes the other 8/9, so mu_2 = 0.1.
double excess_of_example(double variance);

}  // namespace ranklab::escalation_lemmas
