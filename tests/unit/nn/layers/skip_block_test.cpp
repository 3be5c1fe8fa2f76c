// Compares blocks, for every switch and with a trivial mixer, with their equations computed one
// number at a time.
#include "nn/layers/skip_block.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nn/layers/mixer_checks.hpp"

namespace skip_block_test {

using namespace ranklab;

namespace {

constexpr arma::uword d = 3, width = 5, tokens = 4;
const Streams trial(7, 0);
const InitialWeights initial(Initialization::fan, trial, "block.");

/// Row i of Y is 2 i times that of X. Y is not parallel to X, as norms would hide a multiple of X.
template <class T>
class Scaled final : public Mixer<T> {
 public:
  std::vector<Parameter<T>*> parameters() override { return {}; }
  void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override { Y = scale() * X; }
  void do_backward(const arma::Mat<T>&, const arma::Mat<T>& dY, arma::Mat<T>& dX, Turns&) override {
    dX = scale() * dY;
  }

 private:
  static arma::Mat<T> scale() { return arma::diagmat(2 * arma::regspace<arma::Col<T>>(0, d - 1)); }
};

/// A block with the interface that mixer_checks needs.
template <class T>
class Block final : public Mixer<T> {
 public:
  explicit Block(const SkipBlockShape& shape)
      : block(shape, std::make_unique<Scaled<T>>(), initial) {
    mixer_checks::perturb<T>(*this);
    block.mixer().prepare();
  }
  std::vector<Parameter<T>*> parameters() override { return block.parameters(); }
  void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override { block.forward(X, Y); }
  void do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                   Turns&) override {
    dX = dY;
    block.backward(X, dX);
  }

  SkipBlock<T> block;
};

SkipBlockShape shape_of() {
  SkipBlockShape shape;
  shape.dim = d;
  shape.hidden = width;
  shape.activation = &find_activation("gelu");
  return shape;
}

void for_each_shape(const std::function<void(const SkipBlockShape&)>& visit) {
  for (const bool post : {false, true}) {
    for (const Norm norm : {Norm::rms, Norm::layer}) {
      for (const std::uint64_t hidden : {std::uint64_t{0}, std::uint64_t{width}}) {
        for (const bool both : {false, true}) {
          for (const bool learns : {false, true}) {
            CAPTURE(post);
            CAPTURE(static_cast<int>(norm));
            CAPTURE(hidden);
            CAPTURE(both);
            CAPTURE(learns);
            SkipBlockShape shape = shape_of();
            shape.hidden = hidden;
            shape.norm = norm;
            shape.post = post;
            shape.lambda = -1.5;
            shape.lambda_at_both = both;
            shape.learns_lambda = learns;
            visit(shape);
          }
        }
      }
    }
  }
}

// The equations of one token. ---------------------------------------------------------------------

using Vector = std::vector<double>;

class ByLoops {
 public:
  ByLoops(const SkipBlockShape& shape, SkipBlock<double>& block)
      : shape_(shape), lambda_(shape.lambda) {
    for (const Parameter<double>* parameter : block.parameters())
      W_[parameter->name] = parameter->W;
    if (shape.learns_lambda) lambda_ = W_.at("block.lambda")(0);
  }

  Vector operator()(const Vector& r) const {
    const double c = shape_.lambda_at_both ? lambda_ : 1.0;
    const bool net = shape_.hidden > 0;
    if (shape_.post) {
      const Vector middle = norm("norm1", sum(lambda_, r, mixed(r)));
      return net ? norm("norm2", sum(c, middle, feed_forward(middle))) : middle;
    }
    const Vector middle = sum(lambda_, r, mixed(norm("norm1", r)));
    return net ? sum(c, middle, feed_forward(norm("norm2", middle))) : middle;
  }

 private:
  const arma::mat& W(const std::string& name) const { return W_.at("block." + name); }

  static Vector sum(double c, const Vector& x, const Vector& y) {
    Vector out;
    for (std::size_t i = 0; i < d; ++i) out.push_back(c * x[i] + y[i]);
    return out;
  }

  static Vector mixed(Vector x) {
    for (std::size_t i = 0; i < d; ++i) x[i] *= 2 * static_cast<double>(i);
    return x;
  }

  Vector norm(const std::string& name, Vector x) const {
    const bool layer = shape_.norm == Norm::layer;
    double mean = 0, squares = 0;
    for (const double u : x) mean += layer ? u / d : 0;
    for (const double u : x) squares += (u - mean) * (u - mean) / d;
    for (std::size_t i = 0; i < d; ++i) {
      x[i] = W(name + ".gain")(i) * (x[i] - mean) / std::sqrt(squares + 1e-5) +
             (layer ? W(name + ".bias")(i) : 0.0);
    }
    return x;
  }

  Vector feed_forward(const Vector& x) const {
    Vector out(d);
    for (std::size_t i = 0; i < d; ++i) out[i] = W("b2")(i);
    for (std::size_t j = 0; j < width; ++j) {
      double z = W("b1")(j);
      for (std::size_t i = 0; i < d; ++i) z += W("W1")(j, i) * x[i];
      for (std::size_t i = 0; i < d; ++i)
        out[i] += W("W2")(i, j) * z * (1 + std::erf(z / std::sqrt(2.0))) / 2;
    }
    return out;
  }

  SkipBlockShape shape_;
  double lambda_;
  std::map<std::string, arma::mat> W_;
};

}  // namespace

TEST_CASE("a block agrees with loops, with lambda and c at their skips") {
  const arma::mat R = gaussian(d, tokens, "R");
  for_each_shape([&](const SkipBlockShape& shape) {
    Block<double> mixer(shape);
    const ByLoops expected(shape, mixer.block);
    arma::mat out;
    mixer.block.forward(R, out);
    for (arma::uword n = 0; n < tokens; ++n) {
      const Vector reference = expected(arma::conv_to<Vector>::from(R.col(n)));
      for (arma::uword i = 0; i < d; ++i)
        CHECK(std::fabs(out(i, n) - reference[i]) <= tolerance::residual<double>);
    }
  });
}

TEST_CASE("a block by hand: the effect of lambda on a token that the norm only scales") {
  // (1, -1, 0) has mean 0 and mean square 2/3. The norm gives (a, -a, 0) with a = sqrt(3/2) up to
  // epsilon, and the mixer (0, -2 a, 0).
  const double a = 1 / std::sqrt(2.0 / 3 + 1e-5);
  SkipBlockShape shape = shape_of();
  shape.hidden = 0;
  for (const double lambda : {-1.0, 0.0, 2.0}) {
    shape.lambda = lambda;
    SkipBlock<double> block(shape, std::make_unique<Scaled<double>>(), initial);
    block.mixer().prepare();
    arma::mat out;
    block.forward(arma::vec{1, -1, 0}, out);
    CHECK(arma::approx_equal(out, arma::vec{lambda, -lambda - 2 * a, 0}, "absdiff",
                             tolerance::closed_form<double>));
    CHECK(block.lambda() == lambda);
  }
}

TEST_CASE("a block's gradients agree with central differences and with single precision") {
  for_each_shape([](const SkipBlockShape& shape) {
    Block<double> mixer(shape);
    Block<float> narrow(shape);
    mixer_checks::check_gradients(mixer, gaussian(d, tokens, "R"));
    mixer_checks::check_sequences_apart(mixer, gaussian(d, tokens, "R"));
    mixer_checks::check_single_precision(mixer, narrow, gaussian(d, tokens, "R"));
  });
}

TEST_CASE("a mixer refuses passes in a wrong order") {
  Scaled<double> mixer;
  arma::mat X(d, 1, arma::fill::ones), Y, dX;
  CHECK_THROWS_AS(mixer.forward(X, Y), std::logic_error);
  CHECK_THROWS_AS(mixer.finish(), std::logic_error);
  mixer.prepare();
  CHECK_THROWS_AS(mixer.backward(X, X, dX), std::logic_error);
  for (int part = 0; part < 2; ++part) {
    mixer.forward(X, Y);
    mixer.backward(X, X, dX);
  }
  mixer.finish();
  CHECK_THROWS_AS(mixer.forward(X, Y), std::logic_error);  // the weights may have changed
}

TEST_CASE("some columns of a block agree with those of the whole block, forward and backward") {
  const std::vector<std::uint64_t> columns = {1, 3};
  const arma::mat R = gaussian(d, tokens, "R"), dsome = gaussian(d, columns.size(), "dR+");
  arma::mat dall(d, tokens, arma::fill::zeros);
  dall.cols(arma::uvec{1, 3}) = dsome;
  for_each_shape([&](const SkipBlockShape& shape) {
    Block<double> whole(shape), part(shape);
    arma::mat all, some, dR = dsome;
    const std::vector<arma::mat> expected = mixer_checks::gradients(whole, R, dall);
    whole.prepare();
    whole.forward(R, all);
    part.block.forward(R, some, &columns);
    CHECK(arma::approx_equal(some, all.cols(arma::uvec{1, 3}), "absdiff",
                             tolerance::residual<double>));
    for (Parameter<double>* parameter : part.parameters()) parameter->clear_gradient();
    part.block.backward(R, dR, &columns);
    CHECK(arma::approx_equal(dR, expected.front(), "absdiff", tolerance::residual<double>));
    for (std::size_t i = 1; i < expected.size(); ++i)
      CHECK(arma::approx_equal(part.parameters()[i - 1]->G, expected[i], "absdiff",
                               tolerance::residual<double>));
  });
}

TEST_CASE(
    "a block has the parameters for its switches; lambda has its own rate and no weight decay") {
  for_each_shape([](SkipBlockShape shape) {
    shape.lambda_rate = 0.1;
    SkipBlock<double> block(shape, std::make_unique<Scaled<double>>(), initial);
    const bool layer = shape.norm == Norm::layer;
    std::string expected = layer ? "norm1.gain norm1.bias " : "norm1.gain ", names;
    if (shape.learns_lambda) expected += "lambda ";
    if (shape.hidden > 0)
      expected += layer ? "norm2.gain norm2.bias W1 b1 W2 b2 " : "norm2.gain W1 b1 W2 b2 ";
    for (const Parameter<double>* parameter : block.parameters()) {
      const std::string name = parameter->name.substr(std::string("block.").size());
      names += name + " ";
      CHECK(parameter->decays == (name == "W1" || name == "W2"));
      CHECK(parameter->rate == (name == "lambda" ? 0.1 : 1.0));
    }
    CHECK(names == expected);
  });
}

}  // namespace skip_block_test
