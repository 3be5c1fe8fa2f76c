// Compares the bare blocks with explicit loops over [LambdaSkip] eq. (6) in extended precision,
// token by token.
#include "nn/blocks/bare_block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/stack.hpp"

namespace bare_block_test {

using namespace ranklab;

namespace {

using Real = long double;
using Loop = std::vector<std::vector<Real>>;  // row by row, as in the paper

constexpr double agreement =
    tolerance::residual<double>;  // difference of entries, relative to the largest

ModelSpec settled(const std::string& model, const std::string& norm) {
  ModelSpec spec;
  spec.model = model;
  spec.norm = norm;
  spec.tokens = 9;
  spec.dim = 5;
  spec.state = 3;
  if (model == "selective-ssm") spec.decay = 0.8;
  resolve_defaults(spec);
  return spec;
}

// Every spec covered by eq. (6), with the given norm.
std::vector<ModelSpec> specs(const std::string& norm) {
  std::vector<ModelSpec> list = {settled("lti-ssm", norm), settled("selective-ssm", norm)};
  for (const char* model : {"attention", "linear-attention"}) {
    for (const char* values : {"gaussian", "orthogonal", "identity"}) {
      list.push_back(settled(model, norm));
      list.back().value_weights = values;
    }
  }
  return list;
}

// The tensors of one layer as a block requests them, from the trial's streams.
template <class T>
struct Drawn {
  Streams trial{3, 0};
  DrawnTensors<T> tensors{trial, "layer0."};
};

template <class T>
State<T> start(const ModelSpec& spec, double log2_scale) {
  return {Drawn<T>().tensors.matrix("X", spec.dim, spec.tokens, EntryLaw::normal(1.0)), log2_scale,
          0};
}

Loop rows_of(const arma::mat& A) {
  Loop out(A.n_rows, std::vector<Real>(A.n_cols));
  for (arma::uword i = 0; i < A.n_rows; ++i) {
    for (arma::uword j = 0; j < A.n_cols; ++j) out[i][j] = A(i, j);
  }
  return out;
}

// The representation with one token per row, including its scale.
Loop tokens_of(const State<double>& state) {
  Loop out = rows_of(state.Y.t());
  for (auto& row : out) {
    for (Real& y : row) y *= std::exp2(static_cast<Real>(state.log2_scale));
  }
  return out;
}

Loop product(const Loop& A, const Loop& B) {
  Loop out(A.size(), std::vector<Real>(B[0].size(), 0));
  for (std::size_t i = 0; i < A.size(); ++i) {
    for (std::size_t k = 0; k < B.size(); ++k) {
      for (std::size_t j = 0; j < B[0].size(); ++j) out[i][j] += A[i][k] * B[k][j];
    }
  }
  return out;
}

// Largest difference of two matrices divided by the largest entry.
Real distance(const Loop& A, const Loop& B) {
  Real largest = 0, scale = 0;
  for (std::size_t i = 0; i < B.size(); ++i) {
    for (std::size_t j = 0; j < B[0].size(); ++j) {
      largest = std::max(largest, std::abs(A[i][j] - B[i][j]));
      scale = std::max(scale, std::abs(B[i][j]));
    }
  }
  return largest / scale;
}

// The definitions of M in the head comment of bare_block.hpp, entry by entry.
class Definition {
 public:
  explicit Definition(const ModelSpec& spec) : spec_(spec) {
    const EntryLaw square = EntryLaw::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
    Drawn<double> drawn;
    for (const char* name : {"W_Q", "W_K"})
      weights_[name] = rows_of(drawn.tensors.matrix(name, spec.dim, spec.dim, square));
    for (const char* name : {"W_B", "W_C"})
      weights_[name] = rows_of(drawn.tensors.matrix(name, spec.dim, spec.state, square));
    weights_["A"] = rows_of(drawn.tensors.vector("A", spec.state, EntryLaw::uniform(0, 1)));
    const EntryLaw output = EntryLaw::normal(1 / std::sqrt(static_cast<double>(spec.state)));
    weights_["C"] = rows_of(drawn.tensors.matrix("C", spec.state, 1, output));
  }

  Loop mixing(const Loop& Y) const {
    Loop M(Y.size(), std::vector<Real>(Y.size(), 0));
    for (std::size_t i = 0; i < Y.size(); ++i) {
      const std::size_t seen = attends() ? Y.size() : i + 1;
      for (std::size_t j = 0; j < seen; ++j) M[i][j] = entry(Y, i, j);
      if (spec_.model == "attention") exponentiate(M[i], seen);
      if (attends()) divide_by_sum(M[i], spec_.model == "attention" ? 0 : 1e-12L);
    }
    return M;
  }

 private:
  bool attends() const { return spec_.model == "attention" || spec_.model == "linear-attention"; }

  Real entry(const Loop& Y, std::size_t i, std::size_t j) const {
    const Real apart = static_cast<Real>(i) - static_cast<Real>(j);
    Real sum = 0;
    if (spec_.model == "lti-ssm") {
      for (std::size_t n = 0; n < spec_.state; ++n) {
        sum += weights_.at("C")[n][0] * std::pow(weights_.at("A")[n][0], apart);
      }
      return sum;
    }
    const bool selective = spec_.model == "selective-ssm";
    const Loop left = product({Y[i]}, weights_.at(selective ? "W_C" : "W_Q")),
               right = product({Y[j]}, weights_.at(selective ? "W_B" : "W_K"));
    for (std::size_t n = 0; n < left[0].size(); ++n)
      sum += feature(left[0][n]) * feature(right[0][n]);
    if (selective) sum *= std::pow(static_cast<Real>(spec_.decay), apart);
    return spec_.model == "attention" ? sum / std::sqrt(static_cast<Real>(spec_.dim)) : sum;
  }

  Real feature(Real x) const {
    return spec_.model != "linear-attention" ? x : x > 0 ? x + 1 : std::exp(x);
  }

  static void exponentiate(std::vector<Real>& row, std::size_t seen) {
    const auto end = row.begin() + static_cast<std::ptrdiff_t>(seen);
    const Real largest = *std::max_element(row.begin(), end);
    std::transform(row.begin(), end, row.begin(),
                   [&](Real logit) { return std::exp(logit - largest); });
  }

  static void divide_by_sum(std::vector<Real>& row, Real sum) {
    for (const Real m : row) sum += m;
    for (Real& m : row) m /= sum;
  }

  ModelSpec spec_;
  std::map<std::string, Loop> weights_;
};

// norm(M Y C_V + lambda Y).
Loop layer(const ModelSpec& spec, const Loop& Y, const Loop& C_V, Real lambda) {
  Loop out = product(product(Definition(spec).mixing(Y), Y), C_V);
  for (std::size_t i = 0; i < Y.size(); ++i) {
    const Real d = static_cast<Real>(spec.dim);
    Real mean = 0, square = 0;
    for (std::size_t c = 0; c < spec.dim; ++c) {
      out[i][c] += lambda * Y[i][c];
      mean += out[i][c] / d;
      square += out[i][c] * out[i][c];
    }
    for (Real& y : out[i]) {
      if (spec.norm == "rows") y /= std::sqrt(square);
      if (spec.norm == "rms") y /= std::sqrt(square / d + 1e-5L);
      if (spec.norm == "layer") y = (y - mean) / std::sqrt(square / d - mean * mean + 1e-5L);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("bare block: M and forward agree with explicit loops over eq. (6)") {
  for (const char* norm : {"rows", "layer", "rms", "none"}) {
    for (const ModelSpec& spec : specs(norm)) {
      for (const double lambda : {0.0, -0.7}) {
        CAPTURE(norm);
        CAPTURE(spec.model);
        CAPTURE(spec.value_weights);
        CAPTURE(lambda);
        Drawn<double> drawn;
        const auto block = make_block_of<BareBlock>(spec, drawn.tensors);
        State<double> state = start<double>(spec, 0.0);
        const Loop Y = tokens_of(state);
        CHECK(distance(rows_of(block->mixing_matrix(state)), Definition(spec).mixing(Y)) <
              agreement);
        block->forward(state, lambda);
        CHECK(distance(tokens_of(state), layer(spec, Y, rows_of(block->value_matrix()), lambda)) <
              agreement);
        CHECK(state.degenerate_rows == 0);
        if (spec.value_weights != "identity")
          CHECK(static_cast<double>(drawn.tensors.parameters()) == parameters_per_block(spec));
      }
    }
  }
}

TEST_CASE("bare block: C_V is W_V, its orthogonal factor or the identity") {
  ModelSpec spec = settled("attention", "rows");
  const arma::mat W = Drawn<double>().tensors.matrix("W_V", spec.dim, spec.dim,
                                                     EntryLaw::normal(1 / std::sqrt(5.0)));
  const arma::mat I(spec.dim, spec.dim, arma::fill::eye);
  const auto values = [&](const char* law) {
    spec.value_weights = law;
    Drawn<double> drawn;
    return make_block_of<BareBlock>(spec, drawn.tensors)->value_matrix();
  };
  CHECK(arma::approx_equal(values("gaussian"), W, "absdiff", 0.0));
  CHECK(arma::approx_equal(values("identity"), I, "absdiff", 0.0));
  const arma::mat Q = values("orthogonal"), R = Q.t() * W;
  CHECK(arma::approx_equal(Q.t() * Q, I, "absdiff", agreement));
  CHECK(arma::approx_equal(R, arma::trimatu(R), "absdiff", agreement));
  CHECK(R.diag().min() > 0);
  for (const char* model : {"lti-ssm", "selective-ssm"}) {
    Drawn<double> drawn;
    CHECK(arma::approx_equal(
        make_block_of<BareBlock>(settled(model, "rows"), drawn.tensors)->value_matrix(), I,
        "absdiff", 0.0));
  }
}

TEST_CASE(
    "bare block: without a norm, a scaled state agrees with the unscaled one in extended "
    "precision") {
  for (const ModelSpec& spec : specs("none")) {
    for (const double scale : {-600.0, -3.0, 2.0, 600.0}) {
      for (const double lambda : {0.0, 1.3}) {
        CAPTURE(spec.model);
        CAPTURE(spec.value_weights);
        CAPTURE(scale);
        CAPTURE(lambda);
        Drawn<double> drawn;
        const auto block = make_block_of<BareBlock>(spec, drawn.tensors);
        State<double> state = start<double>(spec, scale);
        Loop Y = tokens_of(state);
        for (int k = 0; k < 2; ++k) {
          block->forward(state, lambda);
          Y = layer(spec, Y, rows_of(block->value_matrix()), lambda);
        }
        CHECK(distance(tokens_of(state), Y) < agreement);
        CHECK(arma::abs(state.Y).max() >= 0.5);
        CHECK(arma::abs(state.Y).max() < 1.0);
      }
    }
  }
}

TEST_CASE_TEMPLATE(
    "bare block: sixty layers without a norm stay finite, whether they shrink or grow", T, float,
    double) {
  for (ModelSpec spec : specs("none")) {
    for (const double scale : {-40.0, 40.0}) {
      for (const double lambda : {-30.0, 0.0, 0.01}) {
        CAPTURE(spec.model);
        CAPTURE(scale);
        CAPTURE(lambda);
        Drawn<T> drawn;
        const auto block = make_block_of<BareBlock>(spec, drawn.tensors);
        State<T> state = start<T>(spec, scale);
        for (int k = 0; k < 60; ++k) block->forward(state, lambda);
        CHECK(state.Y.is_finite());
        CHECK(std::isfinite(state.log2_scale));
        // Linear attention is zero for a token whose features all vanish.
        if (spec.model != "linear-attention" || lambda != 0) CHECK(arma::abs(state.Y).max() >= 0.5);
        if (spec.model == "selective-ssm" && lambda == 0) CHECK(state.log2_scale * scale > 1e20);
        if (spec.model == "lti-ssm" && lambda == -30)
          CHECK(state.log2_scale > 60 * std::log2(20.0) + scale);
      }
    }
  }
}

TEST_CASE(
    "bare block: selective mixing without a skip is exactly cubic until the exponent overflows") {
  const ModelSpec spec = settled("selective-ssm", "none");
  Drawn<double> drawn;
  const auto block = make_block_of<BareBlock>(spec, drawn.tensors);
  State<double> one = start<double>(spec, 0.0), scaled = start<double>(spec, -7.0);
  double power = 1;  // 3^k
  for (int k = 0; k < 20; ++k, power *= 3) {
    CHECK(arma::approx_equal(one.Y, scaled.Y, "absdiff", 0.0));
    CHECK(scaled.log2_scale - one.log2_scale == -7 * power);
    block->forward(one, 0.0);
    block->forward(scaled, 0.0);
  }
  int layers = 0;
  for (; layers < 700 && std::isfinite(one.log2_scale); ++layers) block->forward(one, 0.0);
  CHECK(layers > 600);  // 3^620 is about 1e296
  CHECK(layers < 640);
  CHECK_FALSE(one.Y.is_finite());
}

TEST_CASE("bare block: with zero weights, only the skip remains") {
  for (ModelSpec spec : specs("none")) {
    if (spec.value_weights == "orthogonal" || spec.value_weights == "identity") continue;
    CAPTURE(spec.model);
    Streams trial{3, 0};
    DrawnTensors<double> zero(trial, "layer0.", 0.0);
    const auto block = make_block_of<BareBlock>(spec, zero);
    State<double> state = start<double>(spec, 2000.0);
    const arma::mat Y = state.Y;
    block->forward(state, -4.0);
    state.rescale();
    CHECK(
        arma::approx_equal(std::exp2(state.log2_scale - 2000) * state.Y, -4.0 * Y, "absdiff", 0.0));
  }
}

}  // namespace bare_block_test
