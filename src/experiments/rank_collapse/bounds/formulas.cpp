#include "experiments/rank_collapse/bounds/formulas.hpp"

#include <cmath>

namespace ranklab::bounds {
namespace {

// The larger root of (1 - a) x^2 - 2 (a mix + p) x - a mix^2 = 0: beyond it a p-fold cross term is paid for.
double lambda_for(double a, double mix, double p) {
  const double half = a * mix + p;
  return (half + std::sqrt(half * half + (1 - a) * a * mix * mix)) / (1 - a);
}

double square(double x) {
  return x * x;
}

// Left-hand side of eq. (7).
double margin(double lambda, double a, double mix) {
  return square(lambda) - a * square(mix + std::abs(lambda));
}

}  // namespace

bool condition_7(double lambda, double a, double mix) {
  return margin(lambda, a, mix) > 0;
}

double threshold_7(double a, double mix) {
  return (a + std::sqrt(a)) * mix / (1 - a);
}

double hypothesis_printed(double lambda, double a, double K, const StackNorms& norms) {
  return std::pow(a, -K) * 2 * lambda * norms.N * norms.d * norms.mix() / margin(lambda, a, norms.mix());
}

double hypothesis_corrected(double lambda, double a, double K, const StackNorms& norms) {
  return std::pow(a, -K) * 2 * std::abs(lambda) * norms.N * norms.tau / margin(lambda, a, norms.mix());
}

double lambda_for_printed(double a, double K, const StackNorms& norms) {
  return lambda_for(a, norms.mix(), std::pow(a, -K) * norms.d * norms.mix());
}

double lambda_for_corrected(double a, double K, const StackNorms& norms) {
  return lambda_for(a, norms.mix(), std::pow(a, -K) * norms.tau);
}

double lambda_for_turning(double K, const StackNorms& norms) {
  return 2 * K * norms.tau;
}

double layer_printed(double mu, double lambda, const StackNorms& norms) {
  return (square(lambda * mu) - 2 * lambda * norms.N * norms.d * norms.mix()) / square(norms.mix() + std::abs(lambda));
}

double layer_corrected(double mu, double lambda, const StackNorms& norms) {
  return (square(lambda * mu) - 2 * std::abs(lambda) * norms.N * norms.tau) / square(norms.mix() + std::abs(lambda));
}

double turned_after(double K, double mu, double lambda, const StackNorms& norms) {
  return mu - 2 * K * std::sqrt(norms.N) * norms.tau / std::abs(lambda);
}

double attention_bound(double N, double epsilon, double K) {
  return std::sqrt(N) * std::pow(1 - square(epsilon), K / 2);
}

double selective_printed(const SelectiveNorms& norms, double K) {
  return std::sqrt(norms.N) * std::pow(1 - square(norms.c * norms.lambda_min * std::pow(norms.alpha, norms.N)), K);
}

double selective_half(const SelectiveNorms& norms, double K) {
  return selective_printed(norms, K / 2);
}

double selective_corrected(const SelectiveNorms& norms, double K) {
  const double first = norms.c * norms.lambda_min * std::pow(norms.alpha, norms.N - 1) / (norms.N * norms.lambda_max);
  return std::sqrt(norms.N) * std::pow(1 - square(first), K / 2);
}

double cubic_printed(double k, double N, double log_w, double log_norm) {
  return (std::pow(3, k - 1) + 1) / 2 * (std::log(N) / 2 + log_w) + std::pow(3, k) * log_norm;
}

double cubic_corrected(double k, double N, double log_w, double log_norm) {
  return cubic_sharper(k, std::log(N) / 2 + log_w, log_norm);
}

double cubic_sharper(double k, double log_w, double log_norm) {
  return (std::pow(3, k) - 1) / 2 * log_w + std::pow(3, k) * log_norm;
}

double semiseparable_norm(double N, double alpha) {
  double sum = 0, power = 1;  // N - l entries are alpha^l
  for (double l = 0; l < N; ++l, power *= alpha * alpha) sum += (N - l) * power;
  return std::sqrt(sum);
}

}  // namespace ranklab::bounds
