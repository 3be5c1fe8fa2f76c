// The proof of Theorem 3.9, [Spectral] Section 3.2.3. Shapes: B = L S L', B-bar = L-bar S-bar
// R-bar' (k, k), singular values descending; r_0, l_0 (k) are the first columns of R-bar and L, R_0
// and L_0 (k, k - 1) the others; Q (k, k) with S-bar R-bar'L (I - eta S) = Diag(1, s-bar_2, ...) Q.
#include <algorithm>
#include <cmath>

#include "experiments/spike_plus_bulk/features/measure.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::features {

void measure_step(const Size& size, double offset, const FeatureSamples& samples,
                  const Trial& trial, TrialRecord& record) {
  const arma::mat B = FeatureSamples::total(samples.student).gram(),
                  B_bar = FeatureSamples::total(samples.cross).gram();
  const SymmetricEigen gram = symmetric_eigen(B);
  trial.check_interrupt();
  const Svd<double> cross = thin_svd(B_bar);
  trial.check_interrupt();
  const arma::mat L = arma::fliplr(gram.Q);
  const arma::vec factor = 1.0 - arma::reverse(gram.w) / (offset + gram.w.back());  // I - eta S
  const arma::mat rotation = cross.V.t() * L;                                       // R-bar'L
  const arma::uword last = rotation.n_rows - 1;
  record.set(block_row, arma::norm(rotation(0, arma::span(1, last))));
  record.set(block_column, arma::norm(rotation(arma::span(1, last), 0)));
  record.set(angle_error,
             std::fabs(singular_values(rotation(arma::span(1, last), arma::span(1, last))).back() -
                       std::fabs(rotation(0, 0))));
  record.set(step_factor, factor(0));
  trial.check_interrupt();

  arma::mat Q = rotation * arma::diagmat(factor);
  Q.row(0) *= cross.s(0);
  arma::mat blocked = Q;  // [a z'; 0 D]
  blocked(arma::span(1, last), 0).zeros();
  record.set(corner, std::fabs(Q(0, 0)));
  record.set(corner_row, arma::norm(Q(0, arma::span(1, last))));
  record.set(corner_error, arma::norm(Q(arma::span(1, last), 0)));
  const arma::vec whole = singular_values(Q);
  trial.check_interrupt();
  const arma::vec D = singular_values(Q(arma::span(1, last), arma::span(1, last)));
  trial.check_interrupt();
  record.set(Q_max, whole.front());
  record.set(Q_min, whole.back());
  record.set(D_max, D.front());
  record.set(D_min, D.back());
  record.set(blocked_min, singular_values(blocked).back());
  trial.check_interrupt();

  const arma::mat W_bar = draw_weights(trial, size, "W-bar", size.k);
  const arma::mat rotated = W_bar * cross.U;
  arma::vec scale = cross.s;
  scale(0) = 1.0;
  const arma::vec h = singular_values(rotated * arma::diagmat(scale));
  trial.check_interrupt();
  record.set(H_nuclear, arma::accu(h));
  record.set(H_frobenius, arma::norm(h));
  record.set(M_nuclear, arma::accu(singular_values(rotated.head_cols(std::min(size.d, size.k)))));
  record.set(W_frobenius, arma::norm(W_bar, "fro"));
  record.set(W_norm, operator_norm(W_bar));
  trial.check_interrupt();
  const double rank =
      nuclear_rank(arma::mat(W_bar * (B_bar - B_bar * B / (offset + gram.w.back()))));
  record.set(rank_quotient, rank / nuclear_rank(h));
}

}  // namespace ranklab::features
