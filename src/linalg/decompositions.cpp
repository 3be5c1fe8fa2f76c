#include "linalg/decompositions.hpp"

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

void require_symmetric_shape(const arma::mat& S) {
  if (!S.is_square()) throw Failure(std::string(eigen_name) + ": " + shape(S) + " is not square");
  require_finite(eigen_name, S);
}

}  // namespace

template <class T>
void require_finite(const char* what, const arma::Mat<T>& A) {
  if (!A.is_finite()) throw Failure(std::string(what) + ": " + shape(A) + " has non-finite entries");
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

arma::vec singular_values(const arma::mat& A) {
  require_finite(svd_name, A);
  if (A.empty()) return {};
  arma::vec s;
  if (arma::svd(s, A)) return s;
  return thin_svd(A).s;
}

SymmetricEigen symmetric_eigen(const arma::mat& S) {
  require_symmetric_shape(S);
  SymmetricEigen eigen;
  if (arma::eig_sym(eigen.w, eigen.Q, S, "dc")) return eigen;
  if (arma::eig_sym(eigen.w, eigen.Q, S, "std")) return eigen;
  no_convergence(eigen_name, S);
}

arma::vec symmetric_eigenvalues(const arma::mat& S) {
  require_symmetric_shape(S);
  arma::vec w;
  if (arma::eig_sym(w, S)) return w;
  return symmetric_eigen(S).w;
}

}  // namespace ranklab
