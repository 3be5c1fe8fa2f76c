// [Spectral] Lemma 3.1, about Hadamard products, counted over random matrices and over matrices at
// which an inequality is an equality.
#include <algorithm>
#include <array>

#include "core/tolerances.hpp"
#include "experiments/spike_plus_bulk/features/measure.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::features {
namespace {

const Place lemma{"spectral/lemma-3.1", "spectral/lemma-3.1/", "Lemma 3.1"};
const std::array<Inequality, 3> items = {
    lemma.counted("1", "||Q o P||_op <= max_ij |Q_ij| ||P||_F for any two matrices"),
    lemma.counted("2", "||Q o P||_op <= max_i Q_ii ||P||_op if Q >= 0"),
    lemma.counted("3", "Q o P >= 0 if Q >= 0 and P >= 0")};

constexpr std::array<arma::uword, 5> matrix_sizes = {1, 2, 5, 12, 30};

arma::mat draw(Stream& stream, arma::uword rows, arma::uword columns) {
  arma::mat G(rows, columns);
  stream.fill_normal({G.memptr(), G.n_elem});
  return G;
}

// A positive semidefinite matrix of the given rank.
arma::mat draw_semidefinite(Stream& stream, arma::uword k, arma::uword rank) {
  const arma::mat G = draw(stream, k, rank);
  return G * G.t();
}

void count_pair(const arma::mat& Q, const arma::mat& P, bool Q_semidefinite, bool P_semidefinite,
                TrialRecord& record) {
  constexpr double allowed = 1.0 + tolerance::residual<double>;
  const HadamardQuotients sides = hadamard_quotients(Q, P);
  record.count(items[0].id, sides.frobenius > allowed, sides.frobenius);
  if (!Q_semidefinite) return;
  record.count(items[1].id, sides.diagonal > allowed, sides.diagonal);
  if (!P_semidefinite) return;
  const double smallest = symmetric_eigenvalues(Q % P).front() / sides.norm;
  record.count(items[2].id, smallest < 1.0 - allowed, smallest);
}

}  // namespace

HadamardQuotients hadamard_quotients(const arma::mat& Q, const arma::mat& P) {
  const double norm = operator_norm(arma::mat(Q % P));
  return {norm, norm / (arma::abs(Q).max() * arma::norm(P, "fro")),
          norm / (Q.diag().max() * operator_norm(P))};
}

void count_hadamard(const Trial& trial, TrialRecord& record) {
  for (const Inequality& item : items) record.add(item.id, {});
  Stream stream = trial.stream("lemma-3.1");
  for (const arma::uword k : matrix_sizes) {
    const arma::mat ones(k, k, arma::fill::ones);
    for (const arma::uword rank : {arma::uword(1), std::max<arma::uword>(k / 2, 1), k}) {
      const arma::mat Q = draw_semidefinite(stream, k, rank),
                      P = draw_semidefinite(stream, k, k + 1 - rank), G = draw(stream, k, k),
                      H = draw(stream, k, rank) * draw(stream, rank, k);
      count_pair(G, H, false, false, record);
      count_pair(Q, G, true, false, record);
      count_pair(Q, H, true, false, record);
      count_pair(Q, P, true, true, record);
      count_pair(ones, H, true, false, record);  // equality in 2; in 1 if the rank is 1
      count_pair(Q, ones, true, true, record);
    }
  }
}

void judge_hadamard(const Records& records, Claims& claims) {
  const std::array<const char*, 3> shown = {"quotient of the two sides",
                                            "quotient of the two sides",
                                            "smallest eigenvalue of Q o P over its norm"};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Tally tally = tally_of(records, items[i].id);
    claims.never_violated(items[i], records,
                          std::string("random matrices of 1 to 30 rows and all ranks; ") +
                              shown[i] + " from " + short_number(tally.smallest) + " to " +
                              short_number(tally.largest),
                          i == 2 ? WorstCase::smallest : WorstCase::largest);
  }
}

}  // namespace ranklab::features
