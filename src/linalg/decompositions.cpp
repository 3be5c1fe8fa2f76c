#include "linalg/decompositions.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace ranklab {
namespace {

template <class T>
std::string shape(const arma::Mat<T>& A) {
  return std::to_string(A.n_rows) + " x " + std::to_string(A.n_cols) + " matrix";
}

template <class T>
[[noreturn]] void no_convergence(const char* what, const arma::Mat<T>& A) {
  throw Failure(std::string(what) + ": no driver converges for a " + shape(A));
}

constexpr const char* svd_name = "singular value decomposition";
constexpr const char* eigen_name = "symmetric eigendecomposition";
constexpr const char* qr_name = "QR decomposition";
constexpr const char* radius_name = "spectral radius";

void require_finite_square(const char* what, const arma::mat& A) {
  if (!A.is_square()) throw Failure(std::string(what) + ": " + shape(A) + " is not square");
  require_finite(what, A);
}

}  // namespace

template <class T>
void require_finite(const char* what, const arma::Mat<T>& A) {
  if (!A.is_finite())
    throw Failure(std::string(what) + ": " + shape(A) + " has non-finite entries");
}

template void require_finite<float>(const char*, const arma::fmat&);
template void require_finite<double>(const char*, const arma::mat&);

template <class T>
Svd<T> thin_svd(const arma::Mat<T>& A) {
  require_finite(svd_name, A);
  Svd<T> svd;
  if (A.empty()) {  // Armadillo would return square identities here
    svd.U.set_size(A.n_rows, 0);
    svd.V.set_size(A.n_cols, 0);
    return svd;
  }
  if (arma::svd_econ(svd.U, svd.s, svd.V, A, "both", "dc")) return svd;
  if (arma::svd_econ(svd.U, svd.s, svd.V, A, "both", "std")) return svd;
  no_convergence(svd_name, A);
}

template Svd<float> thin_svd<float>(const arma::fmat&);
template Svd<double> thin_svd<double>(const arma::mat&);

SymmetricEigen symmetric_eigen(const arma::mat& S) {
  require_finite_square(eigen_name, S);
  SymmetricEigen eigen;
  if (arma::eig_sym(eigen.w, eigen.Q, S, "dc")) return eigen;
  if (arma::eig_sym(eigen.w, eigen.Q, S, "std")) return eigen;
  no_convergence(eigen_name, S);
}

arma::vec symmetric_eigenvalues(const arma::mat& S) {
  require_finite_square(eigen_name, S);
  arma::vec w;
  if (arma::eig_sym(w, S)) return w;
  return symmetric_eigen(S).w;
}

template <class T>
arma::Mat<T> triangular_factor(const arma::Mat<T>& A) {
  require_finite(qr_name, A);
  arma::Mat<T> Q, R;
  if (A.empty()) return arma::Mat<T>(std::min(A.n_rows, A.n_cols), A.n_cols);
  if (!arma::qr_econ(Q, R, A)) no_convergence(qr_name, A);
  for (arma::uword i = 0; i < R.n_rows; ++i) {
    if (R(i, i) < 0) R.row(i) *= T{-1};
  }
  return R;
}

template arma::fmat triangular_factor<float>(const arma::fmat&);
template arma::mat triangular_factor<double>(const arma::mat&);

double spectral_radius(const arma::mat& A) {
  require_finite_square(radius_name, A);
  if (A.empty()) return 0.0;
  arma::cx_vec w;
  if (!arma::eig_gen(w, A) && !arma::eig_gen(w, A, "balance")) no_convergence(radius_name, A);
  return arma::abs(w).max();
}

}  // namespace ranklab
