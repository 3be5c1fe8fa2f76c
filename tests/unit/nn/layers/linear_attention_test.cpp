#include "nn/layers/linear_attention.hpp"

#include "nn/layers/mixer_checks.hpp"

namespace linear_attention_test {

using namespace ranklab;
using namespace mixer_checks;

namespace {

constexpr arma::uword d = 6, length = 7;
const Streams trial(3, 0);
const InitialWeights initial(Initialization::fan, trial, "mixer.");
const arma::mat X = gaussian(d, 2 * length, "X");

template <class T = double>
LinearAttentionMixer<T> mixer_of(bool causal) {
  LinearAttentionMixer<T> mixer(d, length, causal, initial);
  perturb<T>(mixer);
  return mixer;
}

double phi(double x) {
  return x > 0 ? x + 1 : std::exp(x);
}

/// Computes one token and one number at a time.
arma::mat by_loops(Mixer<double>& mixer, bool causal) {
  const auto weights = mixer.parameters();
  const arma::mat q = weights[0]->W * X, k = weights[1]->W * X, v = weights[2]->W * X;
  arma::mat H(arma::size(X), arma::fill::zeros);
  for (arma::uword i = 0; i < X.n_cols; ++i) {
    const arma::uword first = i / length * length, end = causal ? i + 1 : first + length;
    double sum = causal ? 1e-12 : 1e-6;
    for (arma::uword j = first; j < end; ++j) {
      double along = 0;
      for (arma::uword c = 0; c < d; ++c) along += phi(q(c, i)) * phi(k(c, j));
      sum += along;
      H.col(i) += along * v.col(j);
    }
    H.col(i) /= sum;
  }
  return weights[3]->W * H;
}

}  // namespace

TEST_CASE("linear attention agrees with loops, full and causal") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    LinearAttentionMixer<double> mixer = mixer_of(causal);
    CHECK(relative(output<double>(mixer, X), by_loops(mixer, causal)) <=
          tolerance::residual<double>);
  }
}

TEST_CASE("linear attention: if all features are small, the epsilon of the denominator matters") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    LinearAttentionMixer<double> mixer = mixer_of(causal);
    for (const int map : {0, 1}) {  // q = k = (-s, ..., -s) in every token: phi = exp(-s)
      arma::mat& W = mixer.parameters()[static_cast<std::size_t>(map)]->W;
      W.zeros();
      W.col(0).fill(causal ? -13.0 : -6.0);
    }
    arma::mat ones = X;
    ones.row(0).ones();
    const arma::mat V = mixer.parameters()[3]->W * mixer.parameters()[2]->W * ones;
    const double along = d * std::exp(causal ? -26.0 : -12.0);
    const double seen = causal ? 1 : length;  // number of tokens that the first one attends to
    const arma::vec expected = along * arma::sum(V.head_cols(causal ? 1 : length), 1) /
                               (seen * along + (causal ? 1e-12 : 1e-6));
    CHECK(relative(output<double>(mixer, ones).col(0), expected) <= tolerance::residual<double>);
  }
}

TEST_CASE("linear attention: gradients agree with central differences") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    LinearAttentionMixer<double> mixer = mixer_of(causal);
    check_gradients(mixer, X);
  }
}

TEST_CASE(
    "linear attention: sequences are independent, causal if requested, and single precision "
    "agrees") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    LinearAttentionMixer<double> mixer = mixer_of(causal);
    LinearAttentionMixer<float> narrow = mixer_of<float>(causal);
    check_sequences_apart(mixer, X);
    if (causal) check_causal(mixer, X);
    check_single_precision(mixer, narrow, X);
  }
  arma::mat later = X;
  later.col(length - 1) *= -1.5;
  LinearAttentionMixer<double> full = mixer_of(false);
  CHECK(arma::norm(output<double>(full, X).col(0) - output<double>(full, later).col(0)) > 0);
}

TEST_CASE(
    "linear attention: sequences are independent if large maps are applied to all tokens at once") {
  constexpr arma::uword wide = 64, tokens = 90;  // 192 x 64 x 90 multiplications per sequence
  LinearAttentionMixer<double> mixer(wide, tokens, true, initial);
  perturb(mixer);
  check_sequences_apart(mixer, gaussian(wide, 2 * tokens, "X"));
}

TEST_CASE("linear attention has four named maps, all with weight decay") {
  LinearAttentionMixer<double> mixer(d, length, true, initial);
  std::string names;
  for (const Parameter<double>* parameter : mixer.parameters()) {
    names += parameter->name + " ";
    CHECK(parameter->decays);
    CHECK(arma::size(parameter->W) == arma::SizeMat(d, d));
  }
  CHECK(names == "mixer.Wq mixer.Wk mixer.Wv mixer.Wo ");
}

}  // namespace linear_attention_test
