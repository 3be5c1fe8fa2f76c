#include "nn/blocks/attention.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "nn/blocks/by_loops.hpp"

namespace attention_test {

using namespace ranklab;

namespace {

// P'_ji = exp(scale q_i.k_j) / sum over the tokens j that token i attends to.
arma::mat weights_by_definition(const arma::mat& Q, const arma::mat& K, double scale, bool causal) {
  arma::mat P(Q.n_cols, Q.n_cols, arma::fill::zeros);
  for (arma::uword i = 0; i < Q.n_cols; ++i) {
    double sum = 0;
    for (arma::uword j = 0; j < (causal ? i + 1 : Q.n_cols); ++j) {
      double logit = 0;
      for (arma::uword c = 0; c < Q.n_rows; ++c) logit += Q(c, i) * K(c, j);
      sum += P(j, i) = std::exp(scale * logit);
    }
    for (arma::uword j = 0; j < Q.n_cols; ++j) P(j, i) /= sum;
  }
  return P;
}

constexpr double guard = 1e-12;  // in the denominators of linear attention

// y_i = sum_j (q_i.k_j) v_j / (sum_j q_i.k_j + 1e-12)
arma::mat linear_by_definition(const arma::mat& Q, const arma::mat& K, const arma::mat& V) {
  arma::mat Y(V.n_rows, V.n_cols, arma::fill::zeros);
  for (arma::uword i = 0; i < V.n_cols; ++i) {
    double sum = guard;
    for (arma::uword j = 0; j < V.n_cols; ++j) {
      double weight = 0;
      for (arma::uword c = 0; c < Q.n_rows; ++c) weight += Q(c, i) * K(c, j);
      for (arma::uword c = 0; c < V.n_rows; ++c) Y(c, i) += weight * V(c, j);
      sum += weight;
    }
    Y.col(i) /= sum;
  }
  return Y;
}

template <class T>
arma::Mat<T> as(const arma::mat& X) {
  return arma::conv_to<arma::Mat<T>>::from(X);
}

}  // namespace

TEST_CASE_TEMPLATE(
    "attention weights are exponentials divided by their sum; with causality, no token attends to "
    "later ones",
    T, float, double) {
  const arma::mat Q = gaussian(5, 17, "Q"), K = gaussian(5, 17, "K");
  for (const bool causal : {false, true}) {
    const arma::Mat<T> P = attention_matrix(as<T>(Q), as<T>(K), 0.7, causal);
    CHECK(relative_error(P, weights_by_definition(Q, K, 0.7, causal)) <= tolerance::closed_form<T>);
    CHECK(arma::abs(arma::sum(P, 0) - T{1}).max() <= tolerance::closed_form<T>);
    if (causal) CHECK(arma::accu(arma::trimatl(P, -1)) == 0);
  }
}

TEST_CASE_TEMPLATE("attention weights do not overflow for any logit or scale", T, float, double) {
  const arma::Mat<T> K = {{1, 1, -1}}, Q = {{1, -1, 0}};
  const arma::Mat<T> expected = {{0.5, 0, T{1} / 3}, {0.5, 0, T{1} / 3}, {0, 1, T{1} / 3}};
  for (const double size : {1e4, 1e30}) {
    CHECK(arma::approx_equal(attention_matrix<T>(static_cast<T>(size) * Q, K, 1.0), expected,
                             "absdiff", tolerance::closed_form<T>));
  }
  CHECK(arma::approx_equal(attention_matrix<T>(Q, K, std::numeric_limits<double>::infinity()),
                           expected, "absdiff", tolerance::closed_form<T>));
  CHECK(arma::approx_equal(attention_matrix<T>(Q, K, 1e-300), arma::Mat<T>(3, 3).fill(T{1} / 3),
                           "absdiff", tolerance::closed_form<T>));
}

TEST_CASE("attention weights of close logits near 1e4 keep their ratio") {
  const double logit = 1e4, next = logit - std::log(2.0);
  const arma::mat P =
      attention_matrix<double>(arma::mat{{logit, logit}}, arma::mat{{1.0, next / logit}}, 1.0);
  // The logits themselves carry rounding errors.
  CHECK(std::abs(P(0, 0) - 2.0 / 3) <= logit * tolerance::closed_form<double>);
  CHECK(std::abs(P(1, 0) - 1.0 / 3) <= logit * tolerance::closed_form<double>);
}

TEST_CASE_TEMPLATE("each head has its own rows of Q, K and V", T, float, double) {
  const arma::mat Q = gaussian(12, 9, "Q"), K = gaussian(12, 9, "K"), V = gaussian(12, 9, "V");
  for (const arma::uword heads : {1u, 3u, 12u}) {
    for (const bool causal : {false, true}) {
      const auto P = head_attention_matrices(as<T>(Q), as<T>(K), heads, 0.3, causal);
      REQUIRE(P.size() == heads);
      CHECK(relative_error(mixed_heads(as<T>(V), P),
                           by_loops::attention(Q, K, V, heads, 0.3, causal)) <=
            tolerance::closed_form<T>);
    }
  }
}

TEST_CASE_TEMPLATE("elu + 1 follows its formula", T, float, double) {
  arma::Mat<T> X = {{0, 1.5, -1, -50}};
  elu_plus_one(X);
  CHECK(X(0) == 1);
  CHECK(X(1) == T(2.5));
  CHECK(std::abs(X(2) - 0.36787944117144233) <= tolerance::closed_form<T>);
  CHECK(X(3) > 0);  // e^-50 instead of the 0 that exp(x) - 1 + 1 gives
}

TEST_CASE_TEMPLATE("linear attention follows its definition, term by term", T, float, double) {
  const arma::uword tokens = 150;
  arma::mat Q = gaussian(6, tokens, "Q"), K = gaussian(6, tokens, "K");
  const arma::mat V = gaussian(4, tokens, "V");
  elu_plus_one(Q);
  elu_plus_one(K);
  const arma::Mat<T> Y = linear_attention(as<T>(Q), as<T>(K), as<T>(V));
  CHECK(relative_error(Y, linear_by_definition(Q, K, V)) <= tolerance::residual<T>);
  // Weights that sum to one up to the guard keep equal values.
  const arma::Mat<T> equal =
      linear_attention(as<T>(Q), as<T>(K), arma::Mat<T>(4, tokens, arma::fill::ones));
  CHECK(arma::abs(equal - T{1}).max() <= guard + tolerance::residual<T>);
}

TEST_CASE("linear attention: if all weights of a token are zero, the output is zero, not 0/0") {
  const arma::mat Q(3, 4, arma::fill::zeros), K(3, 4, arma::fill::ones), V(2, 4, arma::fill::ones);
  CHECK(arma::abs(linear_attention(Q, K, V)).max() == 0);
}

}  // namespace attention_test
