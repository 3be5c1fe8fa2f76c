// The random problem of a trial of the study regression.
#include <algorithm>

#include "ensembles/random_features.hpp"
#include "experiments/one_step_compare/regression/regression.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/polar.hpp"

namespace ranklab::regression {
namespace {

constexpr double least_noise = 0.01,
                 most_noise = 1.0;  // of `noisy` labels, relative to the RMS of the labels

double root_mean_square(const arma::mat& A) {
  return std::sqrt(arma::dot(A, A) / static_cast<double>(A.n_elem));
}

// The rank of A: full, or log-uniform in the share `deficient` of the trials.
std::uint64_t drawn_rank(const Config& config, const Trial& trial, std::uint64_t full) {
  const bool cut = uniform_number(trial, "deficient", 0.0, 1.0) < config.deficient;
  return cut ? log_uniform_integer(trial, "rank", 1, full) : full;
}

arma::mat gaussian_features(const Config& config, const Trial& trial, const FeatureSizes& sizes) {
  const std::uint64_t full = std::min(sizes.k, sizes.n), rank = drawn_rank(config, trial, full);
  if (rank == full) return draw_gaussian<double>(trial, "A", sizes.k, sizes.n, 1.0);
  return draw_gaussian<double>(trial, "A.left", sizes.k, rank,
                               1 / std::sqrt(static_cast<double>(rank))) *
         draw_gaussian<double>(trial, "A.right", rank, sizes.n, 1.0);
}

// Random orthonormal singular vectors, s_i = i^-p.
arma::mat power_law_features(const Config& config, const Trial& trial, const FeatureSizes& sizes) {
  const std::uint64_t rank = drawn_rank(config, trial, std::min(sizes.k, sizes.n));
  const double decay = uniform_number(trial, "decay", 0.0, config.decay);
  const arma::mat U =
      polar_factor(draw_gaussian<double>(trial, "A.left", sizes.k, rank, 1.0)).factor;
  const arma::mat V =
      polar_factor(draw_gaussian<double>(trial, "A.right", sizes.n, rank, 1.0)).factor;
  const arma::vec s = arma::pow(arma::regspace(1, static_cast<double>(rank)), -decay);
  return std::sqrt(static_cast<double>(sizes.n)) * U * arma::diagmat(s) * V.t();
}

arma::mat drawn_features(const Config& config, const Trial& trial, FeatureSizes sizes,
                         const std::string& name) {
  if (name == "gaussian") return gaussian_features(config, trial, sizes);
  if (name == "power-law") return power_law_features(config, trial, sizes);
  sizes.d = log_uniform_integer(trial, "d", 1, 2 * sizes.k);
  return draw_random_features(trial, sizes, name, 1 / std::sqrt(static_cast<double>(sizes.d)));
}

// W after t steps of gradient descent: W# + (W - W#) (I - B / lambda_1)^t with B = A A'.
arma::mat after_descent(const arma::mat& W, const arma::mat& W_sharp, const arma::mat& A,
                        double t) {
  const SymmetricEigen B = symmetric_eigen(A * A.t());
  const double largest = B.w.back();
  if (!(largest > 0)) return W;
  const arma::vec factor = arma::pow(1 - arma::clamp(B.w / largest, 0.0, 1.0), t);
  return W_sharp + (W - W_sharp) * B.Q * arma::diagmat(factor) * B.Q.t();
}

// Sets Y, and W for `late` labels.
void draw_labels(const Config& config, const Trial& trial, const std::string& kind,
                 OneStepProblem& problem) {
  const arma::uword m = problem.W.n_rows, k = problem.A.n_rows, n = problem.A.n_cols;
  const arma::mat &A = problem.A, prediction = problem.W * A;
  if (kind == "arbitrary") {
    problem.Y = draw_gaussian<double>(trial, "Y", m, n, 1.0) * root_mean_square(prediction);
    return;
  }
  if (kind == "low-rank") {
    const std::uint64_t rank = log_uniform_integer(trial, "residual.rank", 1, std::min(m, n));
    const arma::mat R =
        draw_gaussian<double>(trial, "R.left", m, rank, 1 / std::sqrt(static_cast<double>(rank))) *
        draw_gaussian<double>(trial, "R.right", rank, n, 1.0);
    problem.Y = prediction - root_mean_square(prediction) * R;
    return;
  }
  const double std_W = root_mean_square(problem.W);
  const arma::mat W_sharp = draw_gaussian<double>(trial, "W_sharp", m, k, std_W);
  problem.Y = W_sharp * A;
  if (kind == "noisy") {
    const double noise = log_uniform_number(trial, "noise", least_noise, most_noise);
    problem.Y += noise * root_mean_square(problem.Y) * draw_gaussian<double>(trial, "Y", m, n, 1.0);
  }
  if (kind == "late") {
    const double t = static_cast<double>(log_uniform_integer(trial, "descent", 1, config.late));
    problem.W = after_descent(problem.W, W_sharp, A, t);
  }
}

std::size_t drawn_index(const Trial& trial, const char* name, std::size_t count) {
  return std::min(count - 1, static_cast<std::size_t>(
                                 uniform_number(trial, name, 0.0, static_cast<double>(count))));
}

}  // namespace

double uniform_number(const Trial& trial, const char* name, double low, double high) {
  return low + (high - low) * trial.stream(name).uniform();
}

double log_uniform_number(const Trial& trial, const char* name, double low, double high) {
  return low * std::pow(high / low, trial.stream(name).uniform());
}

std::uint64_t log_uniform_integer(const Trial& trial, const char* name, std::uint64_t low,
                                  std::uint64_t high) {
  const double drawn =
      log_uniform_number(trial, name, static_cast<double>(low), static_cast<double>(high) + 1);
  return std::clamp(static_cast<std::uint64_t>(drawn), low, high);
}

OneStepProblem draw_one_step_problem(const Config& config, const Trial& trial) {
  FeatureSizes sizes;
  sizes.m = log_uniform_integer(trial, "m", config.m_low, config.m_high);
  sizes.k = log_uniform_integer(trial, "k", config.k_low, config.k_high);
  sizes.n = log_uniform_integer(trial, "n", config.n_low, config.n_high);
  OneStepProblem problem;
  problem.features = drawn_index(trial, "features", config.features.size());
  problem.labels = drawn_index(trial, "labels", config.labels.size());
  problem.log10_scale =
      uniform_number(trial, "scale.A", -config.scale_decades, config.scale_decades);
  problem.A = drawn_features(config, trial, sizes, config.features[problem.features]) *
              std::pow(10.0, problem.log10_scale);
  const double scale_W =
      std::pow(10.0, uniform_number(trial, "scale.W", -config.scale_decades, config.scale_decades));
  problem.W = draw_gaussian<double>(trial, "W", sizes.m, sizes.k,
                                    scale_W / std::sqrt(static_cast<double>(sizes.k)));
  draw_labels(config, trial, config.labels[problem.labels], problem);
  return problem;
}

}  // namespace ranklab::regression
