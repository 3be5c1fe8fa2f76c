// The random problem of one trial of the study regression.
#pragma once

#include <armadillo>
#include <cstdint>

#include "experiments/one_step_compare/regression/config.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// L(W) = ||W A - Y||_F^2 / (2 n): A (k, n), W (m, k), Y (m, n).
template <class T>
struct OneStepProblem {
  arma::Mat<T> A, W, Y;
  std::size_t features = 0, labels = 0;  // which of the config's lists
  double log10_scale = 0.0;              // of the power of ten that A was multiplied by
};

/// Every matrix comes from a stream of its own, and so does every number.
template <class T>
OneStepProblem<T> draw_one_step_problem(const RegressionConfig& config, const Trial& trial);

/// A number from the stream `name`, uniform in (low, high); log-uniform; and a log-uniform integer in [low, high].
double uniform_number(const Trial& trial, const char* name, double low, double high);
double log_uniform_number(const Trial& trial, const char* name, double low, double high);
std::uint64_t log_uniform_integer(const Trial& trial, const char* name, std::uint64_t low, std::uint64_t high);

}  // namespace ranklab
