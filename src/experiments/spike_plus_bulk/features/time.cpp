// Eq. (1.9) at the first two iterates, and the time that gradient descent takes, [Spectral]
// Sections 1 and 3.1.4. Shapes: W, W-bar (k, k); B, B-bar (k, k). The Hessian of L is I (x) B, so
// L_t = ||B||_op, and the curvature along the polar factor P of the gradient is J_t = tr(P B P').
#include <cmath>

#include "core/undefined.hpp"
#include "experiments/spike_plus_bulk/features/measure.hpp"
#include "linalg/decompositions.hpp"

namespace ranklab::features {
namespace {

constexpr double longest_time = 1e9;  // iterations that are searched

// J/L, nr, and the decrease of L(W) = tr(W B W')/2 - tr(W C') by the best step along P, divided by
// ||G||_F^2/(2 ||B||), the decrease that GD guarantees. C = W-bar B-bar, G = W B - C.
void measure_hessian_ratio(const arma::mat& W, const arma::mat& B, const arma::mat& C,
                           double largest, std::size_t iterate, TrialRecord& record) {
  const auto loss = [&](const arma::mat& X) { return arma::dot(X, 0.5 * X * B - C); };
  const arma::mat G = W * B - C;
  const Svd<double> svd = thin_svd(G);
  const arma::mat P = svd.U * svd.V.t();
  const double nuclear = arma::accu(svd.s), squared = arma::dot(svd.s, svd.s),
               curvature = arma::dot(P, P * B);
  record.set(hessian_ratio[iterate], curvature / largest);
  record.set(gradient_rank[iterate], nuclear * nuclear / squared);
  record.set(polar_gain[iterate],
             (loss(W) - loss(W - nuclear / curvature * P)) / (squared / (2.0 * largest)));
}

}  // namespace

double remaining_error(const arma::vec& lambda, const arma::vec& g, double t) {
  return arma::dot(g, arma::pow(1.0 - lambda / lambda.back(), 2.0 * t));
}

double descent_time(const arma::vec& lambda, const arma::vec& g, double error) {
  const auto reached = [&](double t) { return remaining_error(lambda, g, t) <= error; };
  if (reached(0.0)) return 0.0;
  double low = 0.0, high = 1.0;
  while (!reached(high)) {
    low = high;
    high *= 2.0;
    if (high > longest_time) return undefined;
  }
  while (high - low > 1.0) {
    const double middle = std::floor((low + high) / 2.0);
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

void measure_times(const Size& size, double offset, const FeatureSamples& samples,
                   const Trial& trial, TrialRecord& record) {
  const arma::mat B = FeatureSamples::total(samples.student).gram(),
                  B_bar = FeatureSamples::total(samples.cross).gram();
  const arma::mat W_bar = draw_weights(trial, size, "W-bar", size.k);
  const arma::mat C = W_bar * B_bar;
  const SymmetricEigen gram = symmetric_eigen(B);
  const double largest = gram.w.back();
  trial.check_interrupt();
  record.set(stable_rank_A, arma::accu(gram.w) / largest);
  const arma::mat W_0(arma::size(C), arma::fill::zeros);
  measure_hessian_ratio(W_0, B, C, largest, 0, record);
  trial.check_interrupt();
  measure_hessian_ratio(C / (offset + largest), B, C, largest, 1, record);
  trial.check_interrupt();

  // L(W_t) - min L = sum_i lambda_i ||E_0 q_i||^2 (1 - eta lambda_i)^(2t) / 2 with eta = 1/||B||,
  // E_0 = W_0 - W* and W* = W# or C B^-1.
  constexpr double rounding = 1e-12;  // such as two features of one input: d = 1 and relu
  const bool singular = size.n <= size.k || gram.w.front() <= rounding * largest;
  record.set(decay, singular ? undefined : -2.0 * std::log1p(-gram.w.front() / largest));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const arma::mat rotated = (i == 0 ? W_bar : C) * gram.Q;
    const arma::vec squares = arma::sum(arma::square(rotated), 0).t();
    const arma::vec g = 0.5 * (i == 0 ? arma::vec(squares % gram.w) : arma::vec(squares / gram.w));
    std::vector<double> relative, absolute;
    for (const double error : relative_errors) {
      relative.push_back(singular ? undefined : descent_time(gram.w, g, error * arma::accu(g)));
    }
    for (const double error : absolute_errors) {
      absolute.push_back(singular ? undefined : descent_time(gram.w, g, error));
    }
    record.set(relative_time[i], relative);
    record.set(absolute_time[i], absolute);
  }
}

}  // namespace ranklab::features
