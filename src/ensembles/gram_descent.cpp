#include "ensembles/gram_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/undefined.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double epsilon = std::numeric_limits<double>::epsilon();

std::string shape(const arma::mat& M) {
  return std::to_string(M.n_rows) + " x " + std::to_string(M.n_cols);
}

// t log |f|, with 0 log 0 = 0, because any zeroth power is 1.
double log_power(std::uint64_t t, double log_f) {
  return t == 0 ? 0.0 : static_cast<double>(t) * log_f;
}

}  // namespace

GramDescent::Eigenbasis GramDescent::eigenbasis(const arma::mat& G_0, const arma::mat& B) {
  if (B.n_rows != B.n_cols || B.n_rows != G_0.n_cols || B.is_empty()) {
    throw Failure("gradient descent: the gradient is " + shape(G_0) + " but the Gram matrix is " +
                  shape(B));
  }
  require_finite("gradient descent: the gradient", G_0);
  SymmetricEigen eigen = symmetric_eigen(B);
  Eigenbasis basis{arma::reverse(eigen.w), arma::fliplr(eigen.Q)};
  const double smallest = basis.lambda.back(), largest = std::max(basis.lambda.front(), -smallest);
  const double rounding = static_cast<double>(B.n_rows) * epsilon * largest;
  if (smallest < -rounding) {
    throw Failure("gradient descent: the Gram matrix of " + shape(B) +
                  " has the negative eigenvalue " + std::to_string(smallest));
  }
  basis.lambda.elem(arma::find(basis.lambda <= rounding)).zeros();
  return basis;
}

GramDescent::GramDescent(const arma::mat& G_0, Eigenbasis basis, double eta)
    : U_(std::move(basis.U)), rotated_(G_0 * U_), lambda_(std::move(basis.lambda)), eta_(eta) {
  require_step();
  // Rounding errors in the kernel of B would never decay and would dominate in the end.
  rotated_.cols(arma::find(lambda_ == 0)).zeros();
  norm_ = arma::sqrt(arma::sum(arma::square(rotated_), 0));
}

void GramDescent::require_step() const {
  if (lambda_(0) > 0 && !(eta_ > 0 && std::isfinite(eta_))) {
    throw Failure("gradient descent: the step " + std::to_string(eta_) +
                  " is not positive and finite");
  }
}

GramDescent::GramDescent(const arma::mat& G_0, const arma::mat& B, double eta)
    : GramDescent(G_0, eigenbasis(G_0, B), eta) {}

GramDescent GramDescent::with_step(const arma::mat& G_0, const arma::mat& B, double c) {
  Eigenbasis basis = eigenbasis(G_0, B);
  const double eta = step(basis.lambda, c, 0.0);
  return GramDescent(G_0, std::move(basis), eta);
}

GramDescent GramDescent::with_eta(double eta) const {
  GramDescent other = *this;
  other.eta_ = eta;
  other.require_step();
  return other;
}

double GramDescent::step(const arma::vec& lambda, double c, double offset) {
  return 1.0 / (c * lambda(0) + offset);
}

double GramDescent::log_factor(arma::uword j) const {
  if (lambda_(j) == 0) return 0.0;
  const double x = eta_ * lambda_(j);
  if (std::abs(1.0 - x) <= 4 * epsilon) return -infinity;  // eta = 1 / lambda_j, rounded
  return x < 1 ? std::log1p(-x) : std::log(x - 1);
}

arma::mat GramDescent::gradient(std::uint64_t t) const {
  arma::mat gradient = rotated_;
  for (arma::uword j = 0; j < lambda_.n_elem && lambda_(j) > 0; ++j) {
    const bool negative = t % 2 == 1 && eta_ * lambda_(j) > 1;
    const double power = std::exp(log_power(t, log_factor(j)));
    gradient.col(j) *= negative ? -power : power;
  }
  return gradient * U_.t();
}

double GramDescent::decrease_to_minimum() const {
  double sum = 0;
  for (arma::uword j = 0; j < lambda_.n_elem && lambda_(j) > 0; ++j) {
    sum += arma::dot(rotated_.col(j), rotated_.col(j)) / lambda_(j);
  }
  return sum / 2;
}

arma::vec GramDescent::singular_values(std::uint64_t t) const {
  // Column j of G_t U is (1 - eta lambda_j)^t times that of G_0 U. Column sizes are kept as
  // logarithms, relative to the largest. The sign of a column does not affect singular values.
  arma::rowvec log_size(norm_.n_elem);
  for (arma::uword j = 0; j < norm_.n_elem; ++j)
    log_size(j) = log_power(t, log_factor(j)) + std::log(norm_(j));
  const double largest = log_size.max();
  if (largest == -infinity)
    return arma::vec(std::min(rotated_.n_rows, rotated_.n_cols), arma::fill::zeros);
  arma::mat gradient = rotated_;
  for (arma::uword j = 0; j < norm_.n_elem; ++j) {
    if (norm_(j) > 0) gradient.col(j) *= std::exp(log_size(j) - largest) / norm_(j);
  }
  return ranklab::singular_values(gradient);
}

double GramDescent::nuclear_rank(std::uint64_t t) const {
  return ranklab::nuclear_rank(singular_values(t));
}

double GramDescent::log_frobenius(double t) const {
  arma::rowvec log_size = arma::log(norm_);
  for (arma::uword j = 0; j < norm_.n_elem && t > 0; ++j) log_size(j) += t * log_factor(j);
  const double largest = log_size.max();
  return largest == -infinity
             ? largest
             : largest + std::log(arma::accu(arma::exp(2 * (log_size - largest)))) / 2;
}

double GramDescent::condition(std::uint64_t t) const {
  double low = infinity, high = -infinity;
  for (arma::uword j = 0; j < lambda_.n_elem && lambda_(j) > 0; ++j) {
    const double log_eigenvalue = std::log(lambda_(j)) + log_power(t, log_factor(j));
    low = std::min(low, log_eigenvalue);
    high = std::max(high, log_eigenvalue);
  }
  if (low == infinity) return undefined;
  return low == -infinity ? infinity : std::exp(high - low);
}

}  // namespace ranklab
