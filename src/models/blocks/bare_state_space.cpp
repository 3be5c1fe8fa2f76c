// State-space models as bare blocks, C_V = I. With one token per column, M Y is Y M'.
#include <cmath>

#include "models/blocks/bare_block.hpp"
#include "models/blocks/model_row.hpp"
#include "models/blocks/state_space.hpp"

namespace ranklab {
namespace {

// One diagonal system for all channels: A uniform on (0, 1), B = 1, C of entries N(0, 1/n).
template <class T>
class BareLtiSsm final : public BareBlock<T> {
 public:
  BareLtiSsm(const ModelSpec& spec, Tensors<T>& tensors)
      : BareBlock<T>(spec),
        dim_(spec.dim),
        A_(tensors.vector("A", spec.state, Start::uniform(0.0, 1.0))),
        B_(tensors.vector("B", spec.state, Start::constant(1.0))),
        C_(tensors.matrix("C", spec.state, 1, Start::normal(1 / std::sqrt(static_cast<double>(spec.state))))) {}

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
  arma::Mat<T> value_matrix() const override { return arma::Mat<T>(dim_, dim_, arma::fill::eye); }

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
  arma::uword dim_;
  arma::Col<T> A_, B_, C_;  // (n)
};

// A_t = alpha I, b_t = y_t W_B, c_t = y_t W_C: a head of scalar state-space duality with p = d.
template <class T>
class BareSelectiveSsm final : public BareBlock<T> {
 public:
  BareSelectiveSsm(const ModelSpec& spec, Tensors<T>& tensors) : BareBlock<T>(spec), decay_(spec.decay) {
    const Start start = Start::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
    W_B_ = tensors.matrix("W_B", spec.dim, spec.state, start);
    W_C_ = tensors.matrix("W_C", spec.dim, spec.state, start);
  }

  arma::Mat<T> mixing_matrix(const State<T>& state) const override {
    return static_cast<T>(std::exp2(2 * state.log2_scale)) *
           ssd_matrix<T>(log_decay(state), W_B_.t() * state.Y, W_C_.t() * state.Y);
  }
  arma::Mat<T> value_matrix() const override { return arma::Mat<T>(W_B_.n_rows, W_B_.n_rows, arma::fill::eye); }

 protected:
  // M is quadratic in the state: that of 2^s Y is 4^s times that of Y.
  Mixed<T> mix(const State<T>& state) const override {
    return {ssd<T>(log_decay(state), W_B_.t() * state.Y, W_C_.t() * state.Y, state.Y), 2 * state.log2_scale};
  }

 private:
  arma::Row<T> log_decay(const State<T>& state) const {
    return arma::Row<T>(state.Y.n_cols, arma::fill::value(static_cast<T>(std::log(decay_))));
  }

  double decay_;
  arma::Mat<T> W_B_, W_C_;  // (d, n)
};

}  // namespace

ModelRow lti_ssm_row() {
  return {.name = "lti-ssm",
          .norm = "rows",
          .bare = true,
          .makers = makers_of<BareLtiSsm>(),
          .parameters = [](const BlockSizes& s) { return 3 * s.n; },
          .flops = [](const BlockSizes& s, double maps) { return maps + 4 * s.N * s.n * s.d + 64 * s.N * s.d; },
          .lambda_varies = true};
}

ModelRow selective_ssm_row() {
  return {.name = "selective-ssm",
          .norm = "rows",
          .switches = {"decay"},
          .bare = true,
          .makers = makers_of<BareSelectiveSsm>(),
          .parameters = [](const BlockSizes& s) { return 2 * s.d * s.n; },
          .flops = [](const BlockSizes& s, double maps) { return maps + 4 * s.N * s.n * s.d + 64 * s.N * s.d; },
          .lambda_varies = true};
}

}  // namespace ranklab
