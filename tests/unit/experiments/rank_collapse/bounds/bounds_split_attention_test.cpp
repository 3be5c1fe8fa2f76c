// Attention that stores the mean token separately, compared with the bare block, and with extended
// precision for nearly equal tokens.
#include "experiments/rank_collapse/bounds/attention.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "core/random.hpp"
#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/bare_block.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/stack.hpp"
#include "run/trials.hpp"

namespace bounds_split_attention_test {

using namespace ranklab;
using namespace ranklab::bounds;

namespace {

using Real = long double;

struct Weights {
  arma::mat Q, K, V;
};

Weights weights(arma::uword d, double scale) {
  const double std = scale / std::sqrt(static_cast<double>(d));
  return {std * gaussian(d, d, "split.Q"), std * gaussian(d, d, "split.K"),
          std * gaussian(d, d, "split.V")};
}

// One layer by loops in extended precision; one token per row of Y.
template <class Rows>
Rows layer(const Rows& Y, const Weights& W, bool normalized) {
  const std::size_t N = Y.size(), d = Y[0].size();
  const auto mapped = [&](const arma::mat& map) {
    Rows out(N, std::vector<Real>(d, 0));
    for (std::size_t t = 0; t < N; ++t) {
      for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j < d; ++j) out[t][j] += Y[t][i] * map(i, j);
      }
    }
    return out;
  };
  const Rows Q = mapped(W.Q), K = mapped(W.K), V = mapped(W.V);
  Rows out(N, std::vector<Real>(d, 0));
  for (std::size_t i = 0; i < N; ++i) {
    std::vector<Real> p(N);
    Real sum = 0, square = 0;
    for (std::size_t j = 0; j < N; ++j) {
      Real logit = 0;
      for (std::size_t c = 0; c < d; ++c) logit += Q[i][c] * K[j][c];
      sum += p[j] = std::exp(logit / std::sqrt(static_cast<Real>(d)));
    }
    for (std::size_t c = 0; c < d; ++c) {
      for (std::size_t j = 0; j < N; ++j) out[i][c] += p[j] / sum * V[j][c];
      square += out[i][c] * out[i][c];
    }
    if (normalized) {
      for (Real& y : out[i]) y /= std::sqrt(square);
    }
  }
  return out;
}

Real spread(const std::vector<std::vector<Real>>& Y) {
  Real sum = 0;
  for (std::size_t c = 0; c < Y[0].size(); ++c) {
    Real mean = 0;
    for (const auto& y : Y) mean += y[c] / static_cast<Real>(Y.size());
    for (const auto& y : Y) sum += (y[c] - mean) * (y[c] - mean);
  }
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("split attention: a state consists of its mean token and the deviations from it") {
  const arma::mat Y = gaussian(3, 5, "split.Y");
  const SplitState state(Y);
  CHECK(arma::approx_equal(state.tokens(), Y, "absdiff", tolerance::residual<double>));
  CHECK(arma::approx_equal(state.shared, arma::vec(arma::mean(Y, 1)), "absdiff",
                           tolerance::residual<double>));
  CHECK(state.log_mu() ==
        doctest::Approx(std::log(token_spread(Y))).scale(0).epsilon(tolerance::residual<double>));
  CHECK(SplitState(arma::mat(3, 5, arma::fill::ones)).log_mu() == -arma::datum::inf);
}

TEST_CASE("split attention: far from collapse, the layers equal those of the bare block") {
  // Larger weights keep the tokens apart.
  for (const double scale : {0.5, 1.0, 3.0, 40.0}) {
    for (const bool normalized : {false, true}) {
      CAPTURE(scale);
      CAPTURE(normalized);
      ModelSpec spec;
      spec.norm = normalized ? "rows" : "none";
      spec.tokens = 6;
      spec.dim = 4;
      resolve_defaults(spec);
      Trial trial(2, 0, 0);
      DrawnTensors<double> tensors(trial, "", scale);
      const auto block = make_block_of<BareBlock>(spec, tensors);
      const EntryLaw start = EntryLaw::normal(0.5);
      const arma::mat Q = tensors.matrix("W_Q", 4, 4, start),
                      K = tensors.matrix("W_K", 4, 4, start);
      State<double> whole{gaussian(4, 6, "split.Y"), 0.0, 0};
      SplitState split(whole.Y);
      block->forward(whole, 0.0);
      split_attention(split, Q, K, block->value_matrix());
      if (normalized) normalize_split_rows(split);
      const arma::mat expected = std::exp2(whole.log2_scale) * whole.Y;
      CHECK(arma::approx_equal(split.tokens(), expected, "absdiff",
                               10 * tolerance::residual<double> * arma::abs(expected).max()));
    }
  }
}

TEST_CASE("split attention: mu is right even if the tokens are equal in double precision") {
  for (const double size : {0.5, 2e-3, 6e-5}) {
    for (const bool normalized : {false, true}) {
      CAPTURE(size);
      CAPTURE(normalized);
      const Weights W = weights(3, 1.5);
      arma::mat Y = size * gaussian(3, 4, "split.Y");
      Y.each_col() += arma::vec{1.0, -0.5, 0.25};
      std::vector<std::vector<Real>> rows;
      for (arma::uword t = 0; t < 4; ++t) rows.push_back({Y(0, t), Y(1, t), Y(2, t)});
      SplitState split(Y);
      split_attention(split, W.Q, W.K, W.V);
      if (normalized) normalize_split_rows(split);
      rows = layer(rows, W, normalized);
      // The rounding error of Y, relative to mu, enters three times. Below size^3 the rounding
      // error of the loops dominates.
      const double loops =
          static_cast<double>(std::numeric_limits<Real>::epsilon()) / (size * size * size);
      const double tokens = tolerance::residual<double> / size;
      CHECK(split.log_mu() - static_cast<double>(std::log(spread(rows))) ==
            doctest::Approx(0).epsilon(std::max(tokens, 100 * loops)));
    }
  }
}

TEST_CASE(
    "split attention: far below rounding, a layer is cubic in the deviations from the mean token, "
    "and a norm is linear") {
  // The scales go past the points where expm1(h) becomes h and where the norm's expansion ends, and
  // beyond the range of doubles. Relative to the leading order, terms of order 2^s remain. A larger
  // mean token makes the attention weights p differ.
  const Weights W = weights(3, 1.5);
  const auto scaled = [&](double log2_scale, double shared) {
    SplitState state(gaussian(3, 4, "split.Y"));
    state.log2_scale = log2_scale;
    state.shared *= shared;
    return state;
  };
  const auto log2_mu = [](const SplitState& state) { return state.log_mu() / std::numbers::ln2; };
  const auto layer_at = [&](double log2_scale, double shared) {
    SplitState state = scaled(log2_scale, shared);
    split_attention(state, W.Q, W.K, W.V);
    return log2_mu(state) - 3 * log2_scale;
  };
  const auto norm_at = [&](double log2_scale) {
    SplitState state = scaled(log2_scale, 1.0);
    normalize_split_rows(state);
    return log2_mu(state) - log2_scale;
  };
  constexpr double rounding = 5000 * tolerance::closed_form<double>;
  for (const double log2_scale : {-20.0, -24.0, -26.0, -28.0, -48.0, -60.0, -1100.0}) {
    CAPTURE(log2_scale);
    const double first_order = 20 * std::exp2(log2_scale) + rounding;
    CHECK(layer_at(log2_scale, 1.0) - layer_at(-5000, 1.0) ==
          doctest::Approx(0).epsilon(first_order));
    CHECK(norm_at(log2_scale) - norm_at(-5000) == doctest::Approx(0).epsilon(first_order));
  }
  CHECK(layer_at(-20, std::exp2(20)) - layer_at(-40, std::exp2(40)) ==
        doctest::Approx(0).epsilon(20 * std::exp2(-20) + rounding));
}

TEST_CASE("split attention: the steps of log mu triple at any depth, with and without a norm") {
  const Weights W = weights(3, 1.0);
  for (const bool normalized : {false, true}) {
    CAPTURE(normalized);
    SplitState state(gaussian(3, 4, "split.Y"));
    std::vector<double> logs;
    for (int k = 0; k < 30; ++k) {
      split_attention(state, W.Q, W.K, W.V);
      if (normalized) normalize_split_rows(state);
      logs.push_back(state.log_mu());
    }
    const double growth = (logs[29] - logs[28]) / (logs[28] - logs[27]);
    CHECK(growth == doctest::Approx(3).scale(0).epsilon(tolerance::polar_agreement<double>));
    CHECK(logs[29] < -1e12);
    if (normalized)
      CHECK(arma::norm(state.shared) == doctest::Approx(1).epsilon(tolerance::residual<double>));
  }
}

}  // namespace bounds_split_attention_test
