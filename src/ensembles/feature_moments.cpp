#include "ensembles/feature_moments.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "core/error.hpp"
#include "ensembles/gaussian_moments.hpp"

namespace ranklab {
namespace {

using std::numbers::pi;

// The coefficients of an activation that is analytic in a strip decrease like exp(-const sqrt(m)).
// Those of silu and tanh at deviation 1 are below 1e-8 here, so the covariance, which contains
// their squares, is exact to rounding.
constexpr std::size_t hermite_terms = 96;

void require_pointwise(const Activation& activation) {
  if (activation.gated)
    throw UsageError("the gated activation '" + activation.name +
                     "' is not allowed: its moments depend on a second matrix");
}

// 2 pi E max(g, 0)^p max(h, 0)^p at correlation t: the arc-cosine kernel of degree p.
double half_line_kernel(int degree, double t) {
  const double sine = std::sqrt((1.0 - t) * (1.0 + t)), angle = pi - std::acos(t);
  if (degree == 1) return sine + angle * t;
  return 3.0 * sine * t + angle * (1.0 + 2.0 * t * t);
}

// sigma(x) = right x^p for x > 0 and left |x|^p for x < 0, and (-g, h) has the correlation -t.
double homogeneous_phi(const Activation& activation, double t) {
  const double right = activation.value(1.0), left = activation.value(-1.0);
  const int p = activation.degree;
  const double at_zero = half_line_kernel(p, 0.0);
  const double same = right * right + left * left, opposite = 2.0 * right * left;
  return same * (half_line_kernel(p, t) - at_zero) + opposite * (half_line_kernel(p, -t) - at_zero);
}

bool has_closed_form(const Activation& activation) {
  return activation.degree == 1 || activation.degree == 2;
}

double clamped(double t) {
  return std::clamp(t, -1.0, 1.0);
}

// Norms of the rows, and the rows at unit length (a zero row stays zero).
struct Directions {
  explicit Directions(const arma::mat& V)
      : norm(arma::sqrt(arma::sum(arma::square(V), 1))), unit(V) {
    for (arma::uword i = 0; i < V.n_rows; ++i) {
      if (norm(i) > 0.0) unit.row(i) /= norm(i);
    }
  }
  arma::vec norm;
  arma::mat unit;
};

// Column i: the coefficients at deviation norm(i); columns for locality.
arma::mat coefficient_columns(const Activation& activation, const arma::vec& norm) {
  arma::mat C(hermite_terms, norm.n_elem);
  for (arma::uword i = 0; i < norm.n_elem; ++i)
    C.col(i) = arma::vec(hermite_coefficients(activation, norm(i), hermite_terms));
  return C;
}

// sum_{m >= 1} c_m c'_m t^m, by Horner's rule.
double hermite_covariance(const double* c, const double* c_prime, double t) {
  double sum = 0.0;
  for (std::size_t m = hermite_terms - 1; m >= 1; --m) sum = (sum + c[m] * c_prime[m]) * t;
  return sum;
}

arma::mat covariance_of(const Activation& activation, const Directions& left,
                        const Directions& right) {
  arma::mat S = left.unit * right.unit.t();
  if (has_closed_form(activation)) {
    const arma::vec a = arma::pow(left.norm, activation.degree),
                    b = arma::pow(right.norm, activation.degree) / (2.0 * pi);
    for (arma::uword j = 0; j < S.n_cols; ++j) {
      for (arma::uword i = 0; i < S.n_rows; ++i)
        S(i, j) = a(i) * b(j) * homogeneous_phi(activation, clamped(S(i, j)));
    }
    return S;
  }
  const arma::mat C = coefficient_columns(activation, left.norm),
                  D = coefficient_columns(activation, right.norm);
  for (arma::uword j = 0; j < S.n_cols; ++j) {
    for (arma::uword i = 0; i < S.n_rows; ++i)
      S(i, j) = hermite_covariance(C.colptr(i), D.colptr(j), clamped(S(i, j)));
  }
  return S;
}

// Calls visit(m, h_m(g)) for m = 0 ... count - 1, by h_(m+1) = (g h_m - sqrt(m) h_(m-1)) / sqrt(m +
// 1).
template <class Visit>
void for_each_hermite(double g, std::size_t count, const Visit& visit) {
  double previous = 0.0, current = 1.0;
  for (std::size_t m = 0; m < count; ++m) {
    visit(m, current);
    const double x = static_cast<double>(m);
    const double next = (g * current - std::sqrt(x) * previous) / std::sqrt(x + 1.0);
    previous = current;
    current = next;
  }
}

// The trapezoid rule converges exponentially for an analytic integrand with a Gaussian weight: a
// pole at distance y from the real line causes an error of exp(-2 pi y / step). One sweep computes
// all coefficients.
std::vector<double> analytic_coefficients(const Activation& activation, double deviation,
                                          std::size_t count) {
  constexpr double reach = 14.0, step = 0.05;
  constexpr int nodes = static_cast<int>(reach / step);
  std::vector<double> c(count, 0.0);
  for (int i = -nodes; i <= nodes; ++i) {
    const double g = step * i;
    const double weighted =
        step / std::sqrt(2.0 * pi) * std::exp(-0.5 * g * g) * activation.value(deviation * g);
    for_each_hermite(g, count, [&](std::size_t m, double h) { c[m] += weighted * h; });
  }
  return c;
}

// A kink at 0 needs a quadrature that splits there.
double split_coefficient(const Activation& activation, std::size_t m) {
  const auto product = [&](double g) {
    double last = 0.0;
    for_each_hermite(g, m + 1, [&](std::size_t, double h) { last = h; });
    return activation.value(g) * last;
  };
  return gaussian_expectation(product, 1.0);
}

}  // namespace

std::vector<double> hermite_coefficients(const Activation& activation, double deviation,
                                         std::size_t count) {
  require_pointwise(activation);
  if (!has_closed_form(activation)) return analytic_coefficients(activation, deviation, count);
  std::vector<double> c(count);
  for (std::size_t m = 0; m < count; ++m)
    c[m] = std::pow(deviation, activation.degree) * split_coefficient(activation, m);
  return c;
}

double feature_phi(const Activation& activation, double t) {
  require_pointwise(activation);
  if (has_closed_form(activation)) return homogeneous_phi(activation, clamped(t));
  const std::vector<double> c = hermite_coefficients(activation, 1.0, hermite_terms);
  return 2.0 * pi * hermite_covariance(c.data(), c.data(), clamped(t));
}

std::vector<double> feature_phi_derivatives(const Activation& activation, std::size_t count) {
  const std::vector<double> c = hermite_coefficients(activation, 1.0, count);
  std::vector<double> derivatives(count, 0.0);
  double factorial = 1.0;
  for (std::size_t m = 1; m < count; ++m) {
    factorial *= static_cast<double>(m);
    derivatives[m] = 2.0 * pi * factorial * c[m] * c[m];
  }
  return derivatives;
}

double taylor_polynomial(const std::vector<double>& derivatives, double t) {
  double sum = 0.0;
  for (std::size_t m = derivatives.size(); m-- > 0;)
    sum = derivatives[m] + sum * t / static_cast<double>(m + 1);
  return sum;
}

arma::vec feature_mean(const Activation& activation, const arma::mat& V) {
  require_pointwise(activation);
  const arma::vec norm = Directions(V).norm;
  arma::vec mean(norm.n_elem);
  if (activation.degree > 0)
    return gaussian_moments(activation, 1.0).mean * arma::pow(norm, activation.degree);
  for (arma::uword i = 0; i < norm.n_elem; ++i)
    mean(i) = gaussian_moments(activation, norm(i) * norm(i)).mean;
  return mean;
}

arma::mat feature_covariance(const Activation& activation, const arma::mat& V) {
  require_pointwise(activation);
  const Directions rows(V);
  arma::mat S = covariance_of(activation, rows, rows);
  // On the diagonal t = 1, a truncated expansion converges worst, and the variance is known
  // directly.
  for (arma::uword i = 0; i < S.n_rows; ++i) {
    if (has_closed_form(activation)) {
      S(i, i) = std::pow(rows.norm(i), 2 * activation.degree) / (2.0 * pi) *
                homogeneous_phi(activation, 1.0);
    } else {
      const GaussianMoments moments = gaussian_moments(activation, rows.norm(i) * rows.norm(i));
      S(i, i) = moments.second - moments.mean * moments.mean;
    }
  }
  return arma::symmatu(S);
}

arma::mat feature_cross_covariance(const Activation& activation, const arma::mat& V_bar,
                                   const arma::mat& V) {
  require_pointwise(activation);
  if (V_bar.n_cols != V.n_cols) {
    throw Failure("cross-covariance of features: the rows of V-bar have " +
                  std::to_string(V_bar.n_cols) + " entries, those of V " +
                  std::to_string(V.n_cols));
  }
  return covariance_of(activation, Directions(V_bar), Directions(V));
}

}  // namespace ranklab
