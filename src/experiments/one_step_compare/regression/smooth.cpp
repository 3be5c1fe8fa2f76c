#include "experiments/one_step_compare/regression/smooth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tolerances.hpp"
#include "experiments/one_step_compare/regression/steps.hpp"
#include "linalg/spectra.hpp"
#include "models/random_features.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr double least_size = 0.1, most_size = 10.0;  // of predictions and labels, around where the losses bend

// log cosh(z), which cosh itself would overflow.
double log_cosh(double z) {
  return std::fabs(z) + std::log1p(std::exp(-2 * std::fabs(z))) - std::log(2.0);
}

double softplus(double u) {
  return std::fmax(u, 0.0) + std::log1p(std::exp(-std::fabs(u)));
}

// The decrease of the sum over entries, divided by n.
double decrease(SmoothLoss loss, const arma::mat& Z, const arma::mat& Y, const arma::mat& step) {
  double sum = 0;
  for (arma::uword i = 0; i < Z.n_elem; ++i) sum -= loss_change(loss, Z(i), Y(i), step(i));
  return sum / static_cast<double>(Z.n_cols);
}

}  // namespace

double loss_change(SmoothLoss loss, double z, double y, double step) {
  constexpr double small = 1.0;  // beyond, the exponentials may overflow and nothing cancels
  if (loss == SmoothLoss::log_cosh) {
    const double a = z - y;
    if (std::fabs(step) > small) return log_cosh(a + step) - log_cosh(a);
    // cosh(a + s) / cosh(a) - 1 = cosh(s) - 1 + tanh(a) sinh(s)
    return std::log1p(2 * std::pow(std::sinh(step / 2), 2) + std::tanh(a) * std::sinh(step));
  }
  if (std::fabs(step) > small) return softplus(-y * (z + step)) - softplus(-y * z);
  return std::log1p(std::expm1(-y * step) / (1 + std::exp(y * z)));
}

double loss_slope(SmoothLoss loss, double z, double y) {
  return loss == SmoothLoss::log_cosh ? std::tanh(z - y) : -y / (1 + std::exp(y * z));
}

double loss_curvature(SmoothLoss loss) {
  return loss == SmoothLoss::log_cosh ? 1.0 : 0.25;
}

template <class T>
SmoothComparison compare_smooth_steps(SmoothLoss loss, const arma::Mat<T>& A, const arma::Mat<T>& W, const arma::Mat<T>& Y) {
  const double n = static_cast<double>(A.n_cols), L = loss_curvature(loss) / n;
  const arma::Mat<T> Z = W * A;
  arma::Mat<T> slopes = Z;
  for (arma::uword i = 0; i < Z.n_elem; ++i) {
    slopes(i) = static_cast<T>(loss_slope(loss, static_cast<double>(Z(i)), static_cast<double>(Y(i))) / n);
  }
  const arma::mat wide_A = arma::conv_to<arma::mat>::from(A), wide_Z = arma::conv_to<arma::mat>::from(Z),
                  wide_Y = arma::conv_to<arma::mat>::from(Y);
  const double A_op = operator_norm(wide_A), A_F2 = arma::dot(wide_A, wide_A);
  const double largest_size = static_cast<double>(std::max({W.n_rows, A.n_rows, A.n_cols}));
  const double noise = largest_size * tolerance::epsilon<T> * arma::norm(arma::conv_to<arma::mat>::from(slopes), "fro") * A_op;
  const GradientParts<T> gradient = gradient_parts<T>(slopes * A.t(), noise);
  if (gradient.zero()) return {{undefined, undefined}, {undefined, undefined}};
  const arma::mat GA = arma::conv_to<arma::mat>::from(gradient.G) * wide_A,
                  PA = arma::conv_to<arma::mat>::from(gradient.polar) * wide_A;
  const auto ratios = [&](double a, double b) {  // steps -G / a and -(||G||_* / b) polar(G)
    return SmoothRatios{decrease(loss, wide_Z, wide_Y, GA / -a) / (gradient.frobenius_squared / (2 * a)),
                        decrease(loss, wide_Z, wide_Y, PA * (-gradient.nuclear / b)) / (std::pow(gradient.nuclear, 2) / (2 * b))};
  };
  return {ratios(A_op * A_op * L, A_F2 * L), ratios(A_op * A_op / n * L, A_F2 / n * L)};
}

template <class T>
SmoothComparison compare_smooth_steps(SmoothLoss loss, const OneStepProblem<T>& problem, const Trial& trial) {
  const std::string name = loss == SmoothLoss::log_cosh ? "log-cosh" : "logistic";
  const arma::mat Z = arma::conv_to<arma::mat>::from(problem.W * problem.A);
  const double size = std::sqrt(arma::dot(Z, Z) / static_cast<double>(Z.n_elem));
  if (size == 0) return {{undefined, undefined}, {undefined, undefined}};
  const double wanted = log_uniform_number(trial, (name + ".prediction").c_str(), least_size, most_size);
  const double labels = log_uniform_number(trial, (name + ".labels").c_str(), least_size, most_size);
  arma::Mat<T> Y = draw_gaussian<T>(trial, (name + ".Y").c_str(), Z.n_rows, Z.n_cols, labels);
  if (loss == SmoothLoss::logistic) {
    for (T& y : Y) y = y < 0 ? T(-1) : T(1);
  }
  return compare_smooth_steps<T>(loss, problem.A, problem.W * static_cast<T>(wanted / size), Y);
}

template SmoothComparison compare_smooth_steps(SmoothLoss, const arma::fmat&, const arma::fmat&, const arma::fmat&);
template SmoothComparison compare_smooth_steps(SmoothLoss, const arma::mat&, const arma::mat&, const arma::mat&);
template SmoothComparison compare_smooth_steps(SmoothLoss, const OneStepProblem<float>&, const Trial&);
template SmoothComparison compare_smooth_steps(SmoothLoss, const OneStepProblem<double>&, const Trial&);

}  // namespace ranklab
