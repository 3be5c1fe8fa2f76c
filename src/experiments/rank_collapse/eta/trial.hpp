// What the study eta holds fixed at each d and t, and one trial, which draws a W for each.
//
// As in the paper tokens are rows in formulas, X (n, d), and columns in memory, X' (d, n).
#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "experiments/rank_collapse/eta/config.hpp"
#include "models/token_escalation.hpp"
#include "run/trials.hpp"

namespace ranklab {

namespace eta {
/// Name of a quantity at one d: "d=10." + quantity.
std::string at_dim(std::uint64_t dim, const std::string& quantity);
}  // namespace eta

/// xi = ||A + alpha B W||_F^2 / ||A||_F^2 as a random variable, A and B (n, d) fixed, entries of W (d, d) N(0, 1/d).
struct XiLaw {
  double mean = 0.0;       // [Shallow] eq. (9): 1 + alpha^2 ||B||_F^2 / ||A||_F^2
  double deviation = 0.0;  // standard: of ||A||_F^2 xi, the square is (4 alpha^2 ||B'A||_F^2 + 2 alpha^4 ||B'B||_F^2) / d
};

/// A' and B' (d, n).
XiLaw xi_law(const arma::mat& A, const arma::mat& B, double alpha);

/// X = e v' + t Q with its attention matrix, the same in every trial.
template <class T>
struct EtaCase {
  std::uint64_t dim = 0;
  double t = 0.0;
  arma::Mat<T> X, PX;  // (d, n)
  XiLaw law[2];        // of xi_1 and xi_2, for this X and P
  HeadMeasures head;
};

/// By d, then t, ascending. v (d) and Q (n, d) have entries N(0, 1), W_q and W_k uniform on (-1, 1)/sqrt(d), all from the first
/// trial's streams; e = 1/sqrt(n) in every entry; P is eq. (2)'s.
template <class T>
std::vector<EtaCase<T>> eta_cases(const EtaConfig& config, const Trial& trial);

/// Records for each d arrays over t: `eta`, `xi_1`, `xi_2`, and what is fixed: `expected_xi_<i>`, `deviation_<i>`,
/// `mu_<i>_squared`, `mu_<i>_bound`. Every d and t has a W of its own.
template <class T>
TrialRecord eta_trial(const EtaConfig& config, const std::vector<EtaCase<T>>& cases, const Trial& trial);

}  // namespace ranklab
