#include "linalg/kronecker.hpp"

#include "core/undefined.hpp"

namespace ranklab {

double kronecker_form(const arma::mat& D, const arma::mat& M, const arma::mat& B) {
  const arma::mat DM = M.n_cols == 1 ? arma::mat(D.each_row() % M.t()) : arma::mat(D * M);
  return arma::accu((B * D) % DM);
}

BestStep best_step(double slope, double curvature) {
  if (!(slope > 0) || !(curvature > 0)) return {undefined, undefined};
  return {slope / curvature, slope * slope / (2 * curvature)};
}

}  // namespace ranklab
