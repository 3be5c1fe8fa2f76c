#include "experiments/rank_collapse/bounds/layer.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/decompositions.hpp"
#include "linalg/similarity.hpp"
#include "models/blocks/norms.hpp"

namespace ranklab::bounds {
namespace {

// Norms of a mixing matrix M (N, N) behind values of these norms.
StackNorms norms_of(const arma::mat& M, const ValueNorms& values, double d) {
  StackNorms norms;
  norms.N = static_cast<double>(M.n_rows);
  norms.d = d;
  norms.S = values.frobenius;
  norms.C_M = arma::norm(M, "fro");
  norms.tau = values.largest * singular_values(M).front();
  norms.row = values.largest * std::sqrt(arma::vec(arma::sum(arma::square(M), 1)).max());
  return norms;
}

double square(double x) {
  return x * x;
}

}  // namespace

ValueNorms value_norms(const arma::mat& C_V) {
  return {arma::norm(C_V, "fro"), singular_values(C_V).front()};
}

Layer open_layer(const arma::mat& Y, const arma::mat& M, const arma::mat& C_V, const ValueNorms& values, double lambda,
                 const arma::mat& next) {
  const arma::mat mixed = (C_V.t() * Y) * M.t() + lambda * Y;
  const arma::rowvec rows = arma::sqrt(arma::sum(arma::square(mixed), 0));
  Layer layer;
  layer.norms = norms_of(M, values, static_cast<double>(Y.n_rows));
  layer.lambda = lambda;
  layer.mu = token_spread(Y);
  layer.mu_mixed = token_spread(mixed);
  layer.mu_next = token_spread(next);
  layer.largest_row = rows.max();
  layer.row_spread = arma::norm(rows - arma::mean(rows));
  return layer;
}

void judge_layer(const Layer& layer, double slack, Findings& findings) {
  const StackNorms& n = layer.norms;
  const double lambda = layer.lambda, size = std::abs(lambda), largest = layer.largest_row;
  const double mixed_slack = slack * n.N * square(size + n.mix());  // of mu(Y~)^2
  findings["thm-4.1/cap"].compare(square(layer.mu_next), n.N, slack * n.N);

  const double mixed = square(layer.mu_mixed), kept = square(lambda * layer.mu);
  findings["thm-4.1/step-cross-term/as-printed"].compare(kept - 2 * lambda * n.N * n.d * n.mix(), mixed, mixed_slack);
  findings["thm-4.1/step-cross-term/corrected"].compare(kept - 2 * size * n.N * n.tau, mixed, mixed_slack);
  findings["thm-4.1/step-row-normalisation/as-printed"].compare(mixed / square(largest), square(layer.mu_next), slack * n.N);
  findings["thm-4.1/step-row-normalisation/corrected"].compare((layer.mu_mixed - layer.row_spread) / largest, layer.mu_next,
                                                               slack * std::sqrt(n.N));
  findings["thm-4.1/step-largest-row/as-printed"].compare(largest, n.mix() + size, slack * largest);
  findings["thm-4.1/step-largest-row/corrected"].compare(largest, std::sqrt(n.N) * n.row + size, slack * largest);

  const double next = square(layer.mu_next);
  const std::string sign = lambda < 0 ? "negative" : "positive";
  Tally printed;
  printed.compare(layer_printed(layer.mu, lambda, n), next, slack * n.N);
  findings["thm-4.1/per-layer/as-printed"].add(printed);
  findings["thm-4.1/per-layer/as-printed/" + sign].add(printed);
  const double corrected = layer_corrected(layer.mu, lambda, n), turned = turned_after(1, layer.mu, lambda, n);
  findings["thm-4.1/per-layer/corrected"].compare(corrected, next, slack * n.N);
  findings["thm-4.1/per-layer/turning"].compare(turned, layer.mu_next, slack * std::sqrt(n.N));
  // How many of these cases say more than mu >= 0.
  findings["thm-4.1/per-layer/corrected/positive"].count(corrected > 0);
  findings["thm-4.1/per-layer/turning/positive"].count(turned > 0);
}

void judge_stack(const StackEnd& end, const std::vector<double>& a, double slack, Findings& findings) {
  const double start = square(end.mu_0), last = square(end.mu_K), N = end.norms.N;
  for (const double rate : a) {
    const double limit = threshold_7(rate, end.norms.mix());
    if (std::abs(std::abs(end.lambda) - limit) > slack * limit) {
      findings["thm-4.1/threshold"].count(condition_7(end.lambda, rate, end.norms.mix()) != (std::abs(end.lambda) > limit));
    }
    if (!condition_7(end.lambda, rate, end.norms.mix())) continue;
    const double promised = std::pow(rate, end.K) * start;
    const std::string sign = end.lambda < 0 ? "negative" : "positive";
    findings["thm-4.1/condition-7"].count(false);
    if (start >= hypothesis_printed(end.lambda, rate, end.K, end.norms)) {
      Tally printed;
      printed.compare(promised, last, slack * N);
      findings["thm-4.1/statement/as-printed"].add(printed);
      findings["thm-4.1/statement/as-printed/" + sign].add(printed);
    }
    if (start >= hypothesis_corrected(end.lambda, rate, end.K, end.norms)) {
      findings["thm-4.1/statement/corrected"].compare(promised, last, slack * N);
    }
  }
  if (end.lambda == 0) return;
  const double turned = turned_after(end.K, end.mu_0, end.lambda, end.norms);
  if (turned > 0) findings["thm-4.1/statement/turning"].compare(turned, end.mu_K, slack * std::sqrt(N));
}

}  // namespace ranklab::bounds
