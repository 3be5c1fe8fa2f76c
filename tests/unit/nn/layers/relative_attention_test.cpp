// Compares attention with relative positions with its formulas written as loops, and its gradients
// with central differences.
#include "nn/layers/relative_attention.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "nn/de_escalated_models.hpp"
#include "nn/layers/attention_mixer.hpp"
#include "nn/layers/mixer_checks.hpp"

namespace relative_attention_test {

using namespace ranklab;
using mixer_checks::relative;

namespace {

constexpr arma::uword d = 8, heads = 2, length = 5, N = 10;
const Streams trial(29, 0);
const InitialWeights initial(Initialization::alg1, trial);

AttentionShape shape() {
  return {.heads = heads, .context = length};
}

/// `count` layers of attention in sequence. The parameters include u and v, which are drawn from
/// N(0, 1/d) and perturbed like the others.
template <class T>
class Layers final : public Mixer<T> {
 public:
  explicit Layers(std::size_t count, const AttentionMaps& maps = {})
      : shared_(d, initial), streams_(count + 1) {
    for (std::size_t l = 0; l < count; ++l) {
      layers_.push_back(std::make_unique<AttentionMixer<T>>(
          d, shape(), initial.of("layer" + std::to_string(l)), maps, &shared_));
    }
    mixer_checks::perturb<T>(*this);
  }

  std::vector<Parameter<T>*> parameters() override {
    std::vector<Parameter<T>*> out = {&shared_.u, &shared_.v};
    for (const auto& layer : layers_) {
      for (Parameter<T>* parameter : layer->parameters()) out.push_back(parameter);
    }
    return out;
  }
  void do_prepare() override {
    for (const auto& layer : layers_) layer->prepare();
  }
  void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override {
    streams_.front() = X;
    for (std::size_t l = 0; l < layers_.size(); ++l)
      layers_[l]->forward(streams_[l], streams_[l + 1]);
    Y = streams_.back();
  }
  void do_backward(const arma::Mat<T>&, const arma::Mat<T>& dY, arma::Mat<T>& dX, Turns&) override {
    dX = dY;
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const arma::Mat<T> above = dX;
      layers_[l]->backward(streams_[l], above, dX);
    }
  }
  void do_finish() override {
    for (const auto& layer : layers_) layer->finish();
  }

 private:
  RelativeBiases<T> shared_;
  std::vector<std::unique_ptr<AttentionMixer<T>>> layers_;
  std::vector<arma::Mat<T>> streams_;
};

template <class T>
void check_formulas() {
  RelativeBiases<T> shared(d, initial);
  RelativeAttention<T> attention(shape(), d, shared, initial);
  AttentionPass<T> pass;
  const auto drawn = [](const char* name) {
    return arma::conv_to<arma::Mat<T>>::from(gaussian(d, N, name));
  };
  pass.q = drawn("q"), pass.k = drawn("k"), pass.v = drawn("v");
  attention.prepare();
  attention.forward(pass);
  REQUIRE(arma::size(pass.P) == arma::SizeMat(length, N * heads));
  REQUIRE(arma::size(pass.H) == arma::SizeMat(d, N));
  const auto wide = [](const auto& M) { return arma::conv_to<arma::mat>::from(M); };
  const de_escalated_models::RelativeTerms terms{
      wide(shared.u.W), wide(shared.v.W),
      de_escalated_models::lags(wide(attention.map().W), length)};
  for (arma::uword first = 0; first < N; first += length) {
    const arma::uword last = first + length - 1;
    const arma::mat q = wide(pass.q.cols(first, last)), k = wide(pass.k.cols(first, last)),
                    v = wide(pass.v.cols(first, last));
    for (arma::uword head = 0; head < heads; ++head) {
      const arma::uword at = first * heads + head * length;
      const arma::mat P = de_escalated_models::attention_weights(q, k, heads, head, true, &terms);
      CHECK(relative(pass.P.cols(at, at + length - 1), arma::mat(P.t())) <=
            tolerance::closed_form<T>);
    }
    CHECK(relative(pass.H.cols(first, last),
                   de_escalated_models::attention(q, k, v, heads, true, &terms)) <=
          tolerance::closed_form<T>);
  }
}

}  // namespace

TEST_CASE("relative attention follows its formulas") {
  check_formulas<double>();
  check_formulas<float>();
}

TEST_CASE("relative attention by hand: d = 2 with one head per dimension") {
  // k = 0, u = 0, v = (1, 0), Wr = I: head 1 has scores sin(D), head 2 (q = 0) has zero scores and
  // takes means.
  const InitialWeights none(Initialization::zero, trial);
  RelativeBiases<double> shared(2, none);
  shared.v.W(0) = 1;
  RelativeAttention<double> attention({.heads = 2, .context = 3}, 2, shared, none);
  attention.map().W.eye(2, 2);
  AttentionPass<double> pass;
  pass.q.zeros(2, 3), pass.k.zeros(2, 3);
  pass.v = {{1, 10, 100}, {1, 10, 100}};
  attention.prepare();
  attention.forward(pass);
  const double e1 = std::exp(std::sin(1.0)), e2 = std::exp(std::sin(2.0));
  const arma::mat expected = {{1, (e1 + 10) / (e1 + 1), (e2 + 10 * e1 + 100) / (e2 + e1 + 1)},
                              {1, 5.5, 37}};
  CHECK(relative(pass.H, expected) <= tolerance::closed_form<double>);
  shared.v.W(0) = 1e5;  // exp() would overflow: the largest sine gets all the weight
  attention.prepare();
  attention.forward(pass);
  CHECK(relative(pass.H, arma::mat{{1, 1, 1}, {1, 5.5, 37}}) <= tolerance::closed_form<double>);
}

TEST_CASE(
    "relative attention: gradients agree with central differences; those of u and v are sums over "
    "layers") {
  for (const std::size_t layers : {1u, 2u}) {
    for (const bool output : {false, true}) {
      CAPTURE(layers);
      CAPTURE(output);
      const AttentionMaps maps{.output = output,
                               .output_bias = output};  // the gradient of a key bias is 0
      Layers<double> attention(layers, maps);
      mixer_checks::check_gradients(attention, gaussian(d, N, "X"));
      mixer_checks::check_sequences_apart(attention, gaussian(d, N, "X"));
      mixer_checks::check_causal(attention, gaussian(d, N, "X"));
      Layers<float> narrow(layers, maps);
      mixer_checks::check_single_precision(attention, narrow, gaussian(d, N, "X"));
    }
  }
}

TEST_CASE("relative attention adds to the existing gradients of u and v") {
  RelativeBiases<double> shared(d, initial);
  AttentionMixer<double> mixer(d, shape(), initial, {}, &shared);
  const arma::mat X = gaussian(d, N, "X"), G = gaussian(d, N, "G");
  const auto after = [&](double before) {
    shared.u.G = shared.v.G = arma::mat(d, 1, arma::fill::value(before));
    mixer_checks::gradients(mixer, X, G);
    return arma::mat(arma::join_cols(shared.u.G, shared.v.G));
  };
  CHECK(relative(after(3.0) - 3, after(0.0)) <= tolerance::residual<double>);
}

TEST_CASE(
    "attention has the parameters for its switches; a layer has its own map of lags, while u and v "
    "are shared") {
  RelativeBiases<double> shared(d, initial.of("relative"));
  const auto names = [&](const AttentionMaps& maps, RelativeBiases<double>* biases) {
    AttentionMixer<double> mixer(d, shape(), initial, maps, biases);
    std::string all;
    for (const Parameter<double>* parameter : mixer.parameters()) {
      all += parameter->name + " ";
      CHECK(parameter->decays == parameter->name.starts_with("W"));
    }
    return all;
  };
  CHECK(names({}, nullptr) == "Wq Wk Wv Wo ");
  CHECK(names({}, &shared) == "Wq Wk Wv Wr Wo ");
  CHECK(names({.output = false, .output_bias = true}, &shared) == "Wq Wk Wv Wr ");
  CHECK(names({.input_biases = true}, nullptr) == "Wq Wk Wv bq bk bv Wo ");
  CHECK(names({.output_bias = true}, nullptr) == "Wq Wk Wv Wo bo ");
  CHECK(names({.input_biases = true, .output_bias = true}, &shared) ==
        "Wq Wk Wv bq bk bv Wr Wo bo ");
  CHECK(shared.u.name == "relative.u");
  CHECK(shared.v.name == "relative.v");
}

TEST_CASE("relative attention is initialized by its law, each part from its own stream") {
  const double deviation = 1 / std::sqrt(8.0);
  RelativeBiases<double> shared(d, initial);
  RelativeAttention<double> attention(shape(), d, shared, initial);
  const auto same = [](const Parameter<double>& one, const Parameter<double>& other) {
    return arma::approx_equal(one.W, other.W, "absdiff", 0.0);
  };
  CHECK(same(shared.u, initial.with_decay<double>("u", d, 1, EntryLaw::normal(deviation))));
  CHECK(same(shared.v, initial.with_decay<double>("v", d, 1, EntryLaw::normal(deviation))));
  CHECK(same(attention.map(),
             initial.with_decay<double>("Wr", d, d, EntryLaw::uniform(-deviation, deviation))));
}

}  // namespace relative_attention_test
