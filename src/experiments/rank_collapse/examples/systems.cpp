#include "experiments/rank_collapse/examples/systems.hpp"

#include <algorithm>
#include <cmath>

#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/norms.hpp"

namespace ranklab::examples {
namespace {

constexpr double degenerate_norm = 1e-10;  // norm of a row below which normalize_rows gives up

// M' for [LambdaSkip] eq. (6): with one token per column, M Y + lambda Y becomes Y M' + lambda Y.
arma::mat mixing_transposed(bool selective, const arma::mat& Y) {
  const double below = selective ? arma::dot(Y.col(0), Y.col(1)) : 2;
  return {{1, below}, {0, 1}};
}

// Y with one token per column.
double largest_difference(const arma::mat& Y, const TwoTokenForm& form) {
  const std::array<double, 4> expected = form.Y();
  double largest = 0;
  for (arma::uword i = 0; i < 4; ++i) largest = std::max(largest, std::abs(Y[i] - expected[i]));
  return largest;
}

// The largest rounding error expected in an entry of Y(k). Every layer adds a few rounding errors
// of the terms of M Y + lambda Y, divided by the norm of its rows, and neither system amplifies a
// relative error of the ratio x_k.
double rounding_allowance(const TwoTokenSystem& system, std::uint64_t k) {
  return tolerance::closed_form<double> + 4 * tolerance::epsilon<double> * static_cast<double>(k) *
                                              (2 + std::abs(system.lambda)) / system.shortest_row();
}

// Cosine and sine of the angle whose cotangent is x.
struct Direction {
  double cosine, sine;
};
Direction direction(double x) {
  if (std::abs(x) <= 1) return {x / std::hypot(1.0, x), 1 / std::hypot(1.0, x)};
  const double inverse = 1 / std::abs(x), length = std::hypot(1.0, inverse);
  return {std::copysign(1 / length, x), inverse / length};
}

}  // namespace

double TwoTokenSystem::shortest_row() const {
  const double first = std::abs(1 + lambda),
               second = std::hypot(selective ? (2 + lambda) * alpha0 : 2, (1 + lambda) * beta0);
  return std::min(first, second);
}

bool TwoTokenSystem::is_degenerate() const {
  return shortest_row() < degenerate_norm;
}

TwoTokenSystem two_token_system(const ExamplesConfig& config, double lambda) {
  TwoTokenSystem system;
  system.selective = config.system == "sys2";
  system.lambda = lambda;
  if (system.selective) {
    system.alpha0 = config.alpha0;
    system.beta0 = std::sqrt((1 - config.alpha0) * (1 + config.alpha0));
  }
  return system;
}

std::array<double, 4> TwoTokenForm::Y() const {
  const Direction second = direction(x);
  return {sign_first, 0.0, sign_second * second.cosine, sign_second * second.sine};
}

double TwoTokenForm::mu() const {
  const Direction second = direction(x);
  // 1 - cos, without cancellation.
  return std::sqrt(x > 0 ? second.sine * second.sine / (1 + second.cosine) : 1 - second.cosine);
}

std::vector<TwoTokenForm> exact_forms(const TwoTokenSystem& system, std::uint64_t layers) {
  std::vector<TwoTokenForm> forms;
  double sign = 1, x = system.alpha0 / system.beta0;
  for (std::uint64_t k = 0; k <= layers; ++k) {
    if (system.selective)
      x = std::pow(system.ratio(), static_cast<double>(k)) * system.alpha0 / system.beta0;
    forms.push_back({sign, sign, x});
    if (!system.selective) x += 2 / (1 + system.lambda) * std::hypot(1.0, x);
    if (1 + system.lambda < 0) sign = -sign;
  }
  return forms;
}

std::vector<TwoTokenForm> printed_forms(const TwoTokenSystem& system, std::uint64_t layers) {
  std::vector<TwoTokenForm> forms = exact_forms(system, layers);
  double root = 0;  // sqrt(alpha_k - 1)
  for (TwoTokenForm& form : forms) {
    form.sign_first = 1;
    if (system.selective) continue;
    form.sign_second = 1;
    form.x = root;
    // alpha_(k+1) = (1 + c^2) alpha_k + 2 c sqrt(alpha_k - 1) sqrt(alpha_k) equals 1 +
    // (sqrt(alpha_k - 1) + c sqrt(alpha_k))^2.
    root = std::abs(root + 2 / (1 + system.lambda) * std::hypot(1.0, root));
  }
  return forms;
}

TwoTokenPath iterate(const TwoTokenSystem& system, std::uint64_t layers, const Trial& trial) {
  std::vector<TwoTokenForm> exact, printed;
  if (!system.is_degenerate()) {
    exact = exact_forms(system, layers);
    printed = printed_forms(system, layers);
  }
  TwoTokenPath path;
  State<double> state;
  state.Y = {{1, system.alpha0}, {0, system.beta0}};
  for (std::uint64_t k = 0; k <= layers; ++k) {
    if (k % 1024 == 0) trial.check_interrupt();
    if (k > 0) {
      state.Y = arma::mat(state.Y * mixing_transposed(system.selective, state.Y) +
                          system.lambda * state.Y);
      state.normalize(Norm::rows);
    }
    const TokenGeometry geometry = token_geometry(state.Y);
    path.mu.push_back(geometry.mu);
    path.rank_one_residual.push_back(geometry.rank_one_residual);
    path.mu_closed_form.push_back(exact.empty() ? undefined : exact[k].mu());
    if (exact.empty()) continue;
    count_deviation(system, k, largest_difference(state.Y, exact[k]), path.exact);
    count_deviation(system, k, largest_difference(state.Y, printed[k]), path.printed);
  }
  path.degenerate_rows = state.degenerate_rows;
  return path;
}

void count_deviation(const TwoTokenSystem& system, std::uint64_t k, double deviation,
                     Tally& tally) {
  if (!std::isfinite(deviation)) return;
  tally.count(deviation > rounding_allowance(system, k), deviation);
}

}  // namespace ranklab::examples
