#include "nn/blocks/bare_block.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/state_space.hpp"

namespace ranklab {
namespace {

// Multiplies by 2^exponent. The exponent is clamped at a million, where every entry is 0 or
// infinite. fmin and fmax ignore a NaN.
template <class T>
void multiply_by_power(arma::Mat<T>& Y, double exponent) {
  constexpr double beyond = 1e6;
  const int power = static_cast<int>(std::fmax(-beyond, std::fmin(beyond, exponent)));
  if (power != 0) Y.for_each([power](T& y) { y = std::ldexp(y, power); });
}

}  // namespace

// Y <- norm(M Y C_V + lambda Y). The larger of the powers of two of the two terms moves into the
// state's scale, so that the sum neither overflows nor vanishes. Zero terms are ignored.
template <class T>
void BareBlock<T>::forward(State<T>& state, double lambda) const {
  Mixed<T> mixed = mix(state);
  double larger = lambda == 0 ? mixed.log2_factor : std::max(mixed.log2_factor, 0.0);
  if (mixed.Y.is_zero()) larger = 0;
  state.Y *= static_cast<T>(lambda);
  multiply_by_power(state.Y, -larger);
  multiply_by_power(mixed.Y, mixed.log2_factor - larger);
  state.Y += mixed.Y;
  state.log2_scale += larger;
  state.normalize(norm_);
  if (norm_ == Norm::none) state.rescale();
  if (!std::isfinite(state.log2_scale)) state.Y.fill(std::numeric_limits<T>::quiet_NaN());
}

template class BareBlock<float>;
template class BareBlock<double>;

namespace {

// N(0, 1/size).
EntryLaw normal_over(std::uint64_t size) {
  return EntryLaw::normal(1 / std::sqrt(static_cast<double>(size)));
}

// Attention and linear attention. With one token per column, M Y C_V is (W_V' Y) M'. --------------

// Q of G = Q R with a positive diagonal of R: uniform on the orthogonal matrices if G is Gaussian.
template <class T>
arma::Mat<T> orthogonal_factor(const arma::Mat<T>& G) {
  arma::Mat<T> Q, R;
  if (!arma::qr(Q, R, G))
    throw Failure("QR decomposition of W_V (" + std::to_string(G.n_rows) + " rows) failed");
  for (arma::uword j = 0; j < Q.n_cols; ++j) {
    if (R(j, j) < 0) Q.col(j) *= T{-1};
  }
  return Q;
}

template <class T>
arma::Mat<T> draw_values(const ModelSpec& spec, Tensors<T>& tensors) {
  if (spec.value_weights == "identity") return arma::Mat<T>(spec.dim, spec.dim, arma::fill::eye);
  arma::Mat<T> W = tensors.matrix("W_V", spec.dim, spec.dim, normal_over(spec.dim));
  return spec.value_weights == "orthogonal" ? orthogonal_factor(W) : W;
}

// Common to both kinds of attention.
template <class T>
class AttentionBlock : public BareBlock<T> {
 public:
  AttentionBlock(const ModelSpec& spec, Tensors<T>& tensors) : BareBlock<T>(spec) {
    const EntryLaw start = normal_over(spec.dim);
    W_Q_ = tensors.matrix("W_Q", spec.dim, spec.dim, start);
    W_K_ = tensors.matrix("W_K", spec.dim, spec.dim, start);
    W_V_ = draw_values(spec, tensors);
  }

  arma::Mat<T> value_matrix() const override { return W_V_; }

 protected:
  arma::Mat<T> W_Q_, W_K_, W_V_;  // (d, d)
};

template <class T>
class BareAttention final : public AttentionBlock<T> {
 public:
  using AttentionBlock<T>::AttentionBlock;

  arma::Mat<T> mixing_matrix(const State<T>& state) const override {
    return transposed_matrix(state).t();
  }

 protected:
  Mixed<T> mix(const State<T>& state) const override {
    return {(this->W_V_.t() * state.Y) * transposed_matrix(state)};
  }

 private:
  // The logits of 2^s Y are 4^s times those of Y; `scale` includes this factor.
  arma::Mat<T> transposed_matrix(const State<T>& state) const {
    const arma::Mat<T> Q = this->W_Q_.t() * state.Y, K = this->W_K_.t() * state.Y;
    const double scale = std::exp2(2 * state.log2_scale) / std::sqrt(static_cast<double>(Q.n_rows));
    return attention_matrix(Q, K, scale);
  }
};

template <class T>
class BareLinearAttention final : public AttentionBlock<T> {
 public:
  using AttentionBlock<T>::AttentionBlock;

  arma::Mat<T> mixing_matrix(const State<T>& state) const override {
    arma::Mat<T> M = features(this->W_Q_, state).t() * features(this->W_K_, state);
    const arma::Col<T> sums = arma::sum(M, 1) + static_cast<T>(1e-12);
    M.each_col() /= sums;
    return M;
  }

 protected:
  Mixed<T> mix(const State<T>& state) const override {
    const arma::Mat<T> V = this->W_V_.t() * state.Y;
    return {linear_attention(features(this->W_Q_, state), features(this->W_K_, state), V)};
  }

 private:
  // phi(2^s W'Y) (d, N). For large s it is 2^s max(W'Y, 0), and the factor 2^s cancels in M. If
  // products of two such features would overflow, a smaller s gives the same M.
  arma::Mat<T> features(const arma::Mat<T>& W, const State<T>& state) const {
    constexpr double largest = 0.5 * std::numeric_limits<T>::max_exponent - 24;
    arma::Mat<T> X =
        static_cast<T>(std::exp2(std::min(state.log2_scale, largest))) * (W.t() * state.Y);
    elu_plus_one(X);
    return X;
  }
};

// State-space models, C_V = I. With one token per column, M Y is Y M'. ----------------------------

// One diagonal system for all channels: A uniform on (0, 1), B = 1, entries of C N(0, 1/n).
template <class T>
class BareLtiSsm final : public BareBlock<T> {
 public:
  BareLtiSsm(const ModelSpec& spec, Tensors<T>& tensors)
      : BareBlock<T>(spec),
        A_(tensors.vector("A", spec.state, EntryLaw::uniform(0.0, 1.0))),
        B_(tensors.vector("B", spec.state, EntryLaw::constant(1.0))),
        C_(tensors.matrix("C", spec.state, 1, normal_over(spec.state))) {}

  // M_ij = K[i - j] for i >= j, K[l] = sum_n C_n A_n^l B_n.
  arma::Mat<T> mixing_matrix(const State<T>& state) const override {
    const arma::uword N = state.Y.n_cols;
    arma::Col<T> powers = B_;  // A^l B
    arma::Mat<T> M(N, N, arma::fill::zeros);
    for (arma::uword l = 0; l < N; ++l, powers %= A_) {
      const T K = arma::dot(C_, powers);
      for (arma::uword j = 0; j + l < N; ++j) M(j + l, j) = K;
    }
    return M;
  }

 protected:
  // h_n <- A_n h_n + B_n y_t (d), column n of h; output sum_n C_n h_n.
  Mixed<T> mix(const State<T>& state) const override {
    const arma::uword d = state.Y.n_rows;
    arma::Mat<T> h(d, A_.n_elem, arma::fill::zeros), out(d, state.Y.n_cols, arma::fill::zeros);
    for (arma::uword t = 0; t < out.n_cols; ++t) {
      const T* const y = state.Y.colptr(t);
      T* const sum = out.colptr(t);
      for (arma::uword n = 0; n < A_.n_elem; ++n) {
        const T a = A_(n), b = B_(n), c = C_(n);
        T* const channel = h.colptr(n);
        for (arma::uword i = 0; i < d; ++i) {
          channel[i] = a * channel[i] + b * y[i];
          sum[i] += c * channel[i];
        }
      }
    }
    return {std::move(out)};
  }

 private:
  arma::Col<T> A_, B_, C_;  // (n)
};

// A_t = alpha I, b_t = y_t W_B, c_t = y_t W_C: one head of scalar state-space duality with p = d.
template <class T>
class BareSelectiveSsm final : public BareBlock<T> {
 public:
  BareSelectiveSsm(const ModelSpec& spec, Tensors<T>& tensors)
      : BareBlock<T>(spec), decay_(spec.decay) {
    const EntryLaw start = normal_over(spec.dim);
    W_B_ = tensors.matrix("W_B", spec.dim, spec.state, start);
    W_C_ = tensors.matrix("W_C", spec.dim, spec.state, start);
  }

  arma::Mat<T> mixing_matrix(const State<T>& state) const override {
    return static_cast<T>(std::exp2(2 * state.log2_scale)) *
           ssd_matrix<T>(log_decay(state), W_B_.t() * state.Y, W_C_.t() * state.Y);
  }

 protected:
  // M is quadratic in the state: M(2^s Y) = 4^s M(Y).
  Mixed<T> mix(const State<T>& state) const override {
    return {ssd<T>(log_decay(state), W_B_.t() * state.Y, W_C_.t() * state.Y, state.Y),
            2 * state.log2_scale};
  }

 private:
  arma::Row<T> log_decay(const State<T>& state) const {
    return arma::Row<T>(state.Y.n_cols, arma::fill::value(static_cast<T>(std::log(decay_))));
  }

  double decay_;
  arma::Mat<T> W_B_, W_C_;  // (d, n)
};

// The fields that all bare models share.
ModelRow bare_row(const std::string& name, const std::string& title,
                  const std::shared_ptr<const BlockMakers>& makers,
                  double (*parameters)(const BlockSizes&),
                  double (*flops)(const BlockSizes&, double maps)) {
  return {.name = name,
          .title = title,
          .norm = "rows",
          .bare = true,
          .makers = makers,
          .parameters = parameters,
          .flops = flops,
          .lambda_varies = true};
}

double three_maps(const BlockSizes& s) {
  return 3 * s.d * s.d;
}

double recurrence_flops(const BlockSizes& s, double maps) {
  return maps + 4 * s.N * s.n * s.d + 64 * s.N * s.d;
}

}  // namespace

ModelRow attention_row() {
  ModelRow row = bare_row("attention", "softmax attention", makers_of<BareAttention>(), three_maps,
                          attention_flops);
  row.draws_values = true;
  row.attends = true;
  return row;
}

ModelRow linear_attention_row() {
  ModelRow row =
      bare_row("linear-attention", "linear attention", makers_of<BareLinearAttention>(), three_maps,
               [](const BlockSizes& s, double maps) { return maps + 4 * s.N * s.d * s.d; });
  row.draws_values = true;
  return row;
}

ModelRow lti_ssm_row() {
  ModelRow row = bare_row(
      "lti-ssm", "LTI SSM", makers_of<BareLtiSsm>(), [](const BlockSizes& s) { return 3 * s.n; },
      recurrence_flops);
  row.switches = {"state"};
  return row;
}

ModelRow selective_ssm_row() {
  ModelRow row = bare_row(
      "selective-ssm", "selective SSM", makers_of<BareSelectiveSsm>(),
      [](const BlockSizes& s) { return 2 * s.d * s.n; }, recurrence_flops);
  row.switches = {"state", "decay"};
  row.stored_per_token = [](const BlockSizes& s) { return 10 * s.d + 4 * s.n; };
  return row;
}

}  // namespace ranklab
