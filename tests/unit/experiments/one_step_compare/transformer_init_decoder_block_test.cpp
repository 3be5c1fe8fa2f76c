// The decoder block agrees with loops over tokens that follow the equations.
#include "experiments/one_step_compare/transformer_init.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/tolerances.hpp"

namespace transformer_init_decoder_block_test {

using namespace ranklab;
using namespace ranklab::transformer_init;

namespace {

constexpr arma::uword d = 6, n = 9, k = 15;

arma::mat drawn(const Trial& trial, const char* name, arma::uword rows, arma::uword columns) {
  arma::mat out(rows, columns);
  trial.stream(name).fill_normal({out.memptr(), out.n_elem});
  return out;
}

arma::vec rms_token(const arma::vec& x) {
  double sum = 0;
  for (const double entry : x) sum += entry * entry;
  return x * std::sqrt(static_cast<double>(x.n_elem) / sum);
}

// The attention output of token t, with weights exp(k_i . q_t / sqrt(d)) / sum.
arma::vec attended(const DecoderWeights& w, const std::vector<arma::vec>& a, arma::uword t) {
  const arma::vec q = w.W_Q * a[t];
  arma::vec h(d, arma::fill::zeros);
  double sum = 0;
  for (const arma::vec& each : a) {
    const double weight = std::exp(arma::dot(w.W_K * each, q) / std::sqrt(double(d)));
    h += weight * (w.W_V * each);
    sum += weight;
  }
  return h / sum;
}

double error(const arma::vec& got, const arma::vec& expected) {
  return arma::norm(got - expected) / arma::norm(expected);
}

}  // namespace

TEST_CASE("the decoder block equals its equations, token by token") {
  const Trial trial(3, 0, 0);
  const DecoderWeights w = draw_decoder_weights(trial, 2, d, k);
  const arma::mat X = drawn(trial, "X", d, n);
  const DecoderStates states = decoder_block(w, X);
  std::vector<arma::vec> a;
  for (arma::uword t = 0; t < n; ++t) a.push_back(rms_token(X.col(t)));
  for (arma::uword t = 0; t < n; ++t) {
    const arma::vec h = attended(w, a, t), x_att = X.col(t) + w.W_O * h, a_mlp = rms_token(x_att);
    arma::vec b = w.W_1 * a_mlp;
    for (double& entry : b) entry = std::fmax(entry, 0.0);
    const double tolerance = tolerance::residual<double>;
    CHECK(error(states.A_rms.col(t), a[t]) < tolerance);
    CHECK(error(states.H.col(t), h) < tolerance);
    CHECK(error(states.X_att.col(t), x_att) < tolerance);
    CHECK(error(states.A_mlp_rms.col(t), a_mlp) < tolerance);
    CHECK(error(states.B.col(t), b) < tolerance);
    CHECK(error(states.X_plus.col(t), x_att + w.W_2 * b) < tolerance);
  }
}

TEST_CASE(
    "decoder weights have variance 1 / columns, and each matrix and block has its own stream") {
  const Trial trial(4, 1, 0);
  const std::uint64_t width = 64, wide = 256;
  const DecoderWeights w = draw_decoder_weights(trial, 1, width, wide);
  const DecoderWeights other = draw_decoder_weights(trial, 2, width, wide);
  for (const arma::mat* W : {&w.W_Q, &w.W_K, &w.W_V, &w.W_O, &w.W_1, &w.W_2}) {
    // The mean square of N normal entries has a relative standard deviation of sqrt(2 / N).
    const double entries = static_cast<double>(W->n_elem),
                 mean_square = arma::dot(*W, *W) / entries;
    CHECK(std::fabs(mean_square * static_cast<double>(W->n_cols) - 1) <
          tolerance::standard_errors * std::sqrt(2 / entries));
  }
  CHECK(w.W_1.n_rows == wide);
  CHECK(w.W_2.n_cols == wide);
  const arma::mat* square[] = {&w.W_Q, &w.W_K, &w.W_V, &w.W_O, &other.W_Q};
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < i; ++j) CHECK((*square[i])(0, 0) != (*square[j])(0, 0));
  }
}

}  // namespace transformer_init_decoder_block_test
