// Claims about Lemmas G.1 and G.2 of [Spectral], which the proof of Theorem 3.9 uses, and about the
// steps of their proofs: on the matrices of the run and in worked examples.
#include <algorithm>
#include <cmath>

#include "experiments/spike_plus_bulk/features/measure.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::features {
namespace {

// Lemma G.1
// -----------------------------------------------------------------------------------------
//
// M = [a z'; 0 D] = A N with A = [a 0; 0 D] (q, p + 1) and N = [1 z'/a; 0 I] (p + 1, p + 1). In the
// proof of Theorem 3.9 q = p + 1 = k.

// sigma_(p+1)(N), the smallest: N has the singular values s, 1, ..., 1, 1/s with s - 1/s =
// ||z||/|a|.
double smallest_of_N(double a, double z) {
  return 2.0 / (z / a + std::hypot(z / a, 2.0));
}

// q = p = 2, a = 1, z = (2, 0)', D = [1 0].
struct Blocked {
  double M, A, N, smallest_of_N;  // sigma_2 of each, and sigma_3(N)
};
Blocked blocked_example() {
  const arma::mat A = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}},
                  N = {{1.0, 2.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  const arma::vec of_N = singular_values(N);
  return {singular_values(arma::mat(A * N))(1), singular_values(A)(1), of_N(1), of_N(2)};
}

void judge_blocked(const SizeClaims& over_d) {
  const Place lemma{"spectral/lemma-G.1", "spectral/lemma-G.1",
                    "Lemma G.1, in the proof of Theorem 3.9"},
      proof{lemma.statement_id, "spectral/lemma-G.1/", "Lemma G.1, proof, eq. (G.1)", Part::proof};
  const Metric of_A = [](const AtSize& at) { return std::min(at(corner), at(D_min)); };
  const Metric bound = [=](const AtSize& at) {
    return of_A(at) / (1.0 + at(corner_row) / at(corner));
  };
  over_d.everywhere(
      lemma("",
            "The smallest singular value of [a z'; 0 D] is at least min(|a|, s_(k-1)(D)) / (1 + "
            "||z||/|a|)"),
      [=](const AtSize& at) { return at(blocked_min) * (1.0 + rounding_of_norms) - bound(at); },
      "quotient of the two sides " + over_d.range(ratio(blocked_min, bound)));

  const Misprint index = proof.misprint(
      "spectral/lemma-G.1/index", "index", "sigma_q(M) >= sigma_q(A) sigma_q(N) for M = A N",
      "sigma_q(M) >= sigma_q(A) sigma_(p+1)(N) for M = A N, with the smallest singular value of N");
  const Metric product = [=](const AtSize& at) {
    return of_A(at) * smallest_of_N(at(corner), at(corner_row));
  };
  const Blocked example = blocked_example();
  const auto judge = [&](const Statement& statement, double right) {
    Tally cases = over_d.tally([&](const AtSize& at, Tally& t) {
      if (std::isnan(at(blocked_min))) return;
      t.count(at(blocked_min) * (1.0 + rounding_of_norms) < product(at));
    });
    cases.count(example.M * (1.0 + rounding_of_norms) < right);
    over_d.claims.never_violated(
        statement, cases,
        "q = p + 1 in the run, where both forms agree; in the example q = p = 2, a = 1, z = (2, "
        "0)', D = [1 0] the sides are " +
            short_number(example.M) + " and " + short_number(right));
  };
  judge(index.as_printed, example.A * example.N);
  judge(index.corrected, example.A * example.smallest_of_N);
}

// Lemma G.2
// -----------------------------------------------------------------------------------------

// Smallest eigenvalues of M Diag(v)^2 M' - q^2 X, q = min over P of |v_i|, where X is M e_P e_P' M'
// as printed or M_P M_P'.
struct Gap {
  double as_printed, corrected;
};
Gap gap_of(const arma::mat& M, const arma::vec& v, const arma::uvec& P) {
  const double q = arma::abs(v.elem(P)).min();
  const arma::mat scaled = M * arma::diagmat(v), M_P = M.cols(P), left = scaled * scaled.t();
  const arma::vec sum = arma::sum(M_P, 1);
  return {symmetric_eigenvalues(left - q * q * sum * sum.t()).front(),
          symmetric_eigenvalues(left - q * q * M_P * M_P.t()).front()};
}

double without_rounding(double eigenvalue) {
  return std::fabs(eigenvalue) < rounding_of_norms ? 0.0 : eigenvalue;
}

void judge_columns(const SizeClaims& over_d) {
  const Place lemma{"spectral/lemma-G.2", "spectral/lemma-G.2",
                    "Lemma G.2, in the proof of Theorem 3.9"},
      proof{lemma.statement_id, "spectral/lemma-G.2/", "Lemma G.2, proof", Part::proof};
  const Metric bound = [](const AtSize& at) {
    return std::min(1.0, at(cross_sigma_d)) * at(M_nuclear);
  };
  over_d.everywhere(
      lemma("",
            "||H||_* >= min_(i in P) |v_i| ||M_P||_* for H = M Diag(v), here with M = W-bar L-bar "
            "and P = {1, ..., d}"),
      [=](const AtSize& at) { return at(H_nuclear) * (1.0 + rounding_of_norms) - bound(at); },
      "quotient of the two sides " + over_d.range(ratio(H_nuclear, bound)));

  const Misprint diagonal = proof.misprint(
      "spectral/lemma-G.2/diagonal", "diagonal",
      "M Diag(v)^2 M' >= q^2 M e_P e_P' M' = q^2 M_P M_P' for the vector e_P with ones in P",
      "M Diag(v)^2 M' >= q^2 M Diag(e_P) M' = q^2 M_P M_P'");
  // M = I, v = (1, 1)', P = {1, 2}: the eigenvalues of I - e_P e_P' are 1 and -1. Then M_ij =
  // 1/(i + j - 1), v = (1, -2, 3, -4)', and all subsets P.
  Tally as_printed, corrected;
  const auto count = [&](const arma::mat& M, const arma::vec& v, const arma::uvec& P) {
    const Gap gap = gap_of(M, v, P);
    as_printed.count(gap.as_printed < -rounding_of_norms, gap.as_printed);
    corrected.count(gap.corrected < -rounding_of_norms, gap.corrected);
  };
  count(arma::mat(2, 2, arma::fill::eye), {1.0, 1.0}, {0, 1});
  arma::mat hilbert(3, 4);
  for (arma::uword i = 0; i < 3; ++i) {
    for (arma::uword j = 0; j < 4; ++j) hilbert(i, j) = 1.0 / static_cast<double>(i + j + 1);
  }
  for (unsigned subset = 1; subset < 16; ++subset) {
    std::vector<arma::uword> P;
    for (unsigned j = 0; j < 4; ++j) {
      if ((subset >> j & 1U) != 0) P.push_back(j);
    }
    count(hilbert, {1.0, -2.0, 3.0, -4.0}, P);
  }
  const std::string shown =
      "smallest eigenvalue of the difference of the two sides, over the "
      "example M = I, v = (1, 1)', P = {1, 2} and 15 subsets of 4 columns: ";
  over_d.claims.never_violated(diagonal.as_printed, as_printed,
                               shown + short_number(as_printed.smallest), WorstCase::smallest);
  over_d.claims.never_violated(diagonal.corrected, corrected,
                               shown + short_number(without_rounding(corrected.smallest)),
                               WorstCase::smallest);
}

}  // namespace

void judge_appendix(const SizeClaims& over_d) {
  judge_blocked(over_d);
  judge_columns(over_d);
}

}  // namespace ranklab::features
