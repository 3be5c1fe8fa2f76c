#include "nn/blocks/s4d.hpp"

#include <cmath>
#include <complex>
#include <numbers>

#include "core/error.hpp"
#include "ensembles/activations.hpp"
#include "nn/blocks/block.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {
namespace {

constexpr double epsilon = 1e-5;  // of the layer norm

using Complex = std::complex<double>;

// exp(z) - 1 without cancellation for the small z of typical steps.
Complex exp_minus_one(Complex z) {
  const double half = std::sin(0.5 * z.imag());
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2.0 * half * half,
          std::exp(z.real()) * std::sin(z.imag())};
}

// S4D-Lin: A_m = -1/2 + i pi m. Stored as vectors, so that --weight-scale does not change the
// poles.
template <class T>
S4dModes modes_from(Tensors<T>& tensors, arma::uword d, arma::uword n) {
  const arma::uword pairs = n / 2;
  const arma::Mat<T> C =
      tensors.matrix("kernel.C", n, d, EntryLaw::normal(std::sqrt(0.5)));  // E|C|^2 = 1
  const arma::Col<T> log_dt =
      tensors.vector("kernel.log_dt", d, EntryLaw::uniform(std::log(0.001), std::log(0.1)));
  const arma::Col<T> log_A_real =
      tensors.vector("kernel.log_A_real", pairs * d, EntryLaw::constant(std::log(0.5)));
  const arma::Col<T> A_imag =
      tensors.vector("kernel.A_imag", pairs * d, EntryLaw::ramp(std::numbers::pi, pairs));
  return s4d_modes(arma::conv_to<arma::mat>::from(C), arma::conv_to<arma::vec>::from(log_dt),
                   arma::conv_to<arma::vec>::from(log_A_real),
                   arma::conv_to<arma::vec>::from(A_imag));
}

// The first half of each token times the logistic function of the second.
template <class T>
arma::Mat<T> gated_linear_unit(const arma::Mat<T>& Z) {
  const arma::uword d = Z.n_rows / 2;
  return Z.head_rows(d) / (T{1} + arma::exp(-Z.tail_rows(d)));
}

template <class T>
class S4dBlock final : public Block<T> {
 public:
  S4dBlock(const ModelSpec& spec, Tensors<T>& tensors)
      : norm_(find_norm(spec.norm)),
        modes_(modes_from(tensors, spec.dim, spec.state)),
        D_(tensors.vector("D", spec.dim, EntryLaw::normal(1.0))),
        W_o_(tensors.matrix("output_linear.0.weight", spec.dim, 2 * spec.dim,
                            EntryLaw::fan_in(spec.dim))),
        b_o_(tensors.vector("output_linear.0.bias", 2 * spec.dim, EntryLaw::fan_in(spec.dim))) {
    if (norm_ != Norm::layer) return;
    gain_ = tensors.vector("norm.weight", spec.dim, EntryLaw::constant(1.0));
    bias_ = tensors.vector("norm.bias", spec.dim, EntryLaw::constant(0.0));
  }

  void forward(State<T>& state, double lambda) const override {
    state.unscale();
    const arma::Mat<T> Z = layer(state.Y);
    state.Y = static_cast<T>(lambda) * state.Y + Z;
    if (norm_ == Norm::layer) {
      layer_norm(state.Y, epsilon, &gain_, &bias_);
    } else {
      state.normalize(norm_);
    }
  }

 private:
  arma::Mat<T> layer(const arma::Mat<T>& U) const {
    arma::Mat<T> Y = arma::conv_to<arma::Mat<T>>::from(
        modal_convolution(modes_, arma::conv_to<arma::mat>::from(U)));
    Y += U.each_col() % D_;
    apply(find_activation("gelu"), Y);
    arma::Mat<T> Z = W_o_.t() * Y;
    Z.each_col() += b_o_;
    return gated_linear_unit(Z);
  }

  Norm norm_;
  S4dModes modes_;
  arma::Col<T> D_;
  arma::Mat<T> W_o_;
  arma::Col<T> b_o_, gain_, bias_;
};

}  // namespace

S4dModes s4d_modes(const arma::mat& C, const arma::vec& log_dt, const arma::vec& log_A_real,
                   const arma::vec& A_imag) {
  const arma::uword d = C.n_cols, pairs = C.n_rows / 2;
  S4dModes modes{arma::cx_mat(d, pairs), arma::cx_mat(d, pairs)};
  for (arma::uword c = 0; c < d; ++c) {
    const double dt = std::exp(log_dt(c));
    for (arma::uword m = 0; m < pairs; ++m) {
      const arma::uword at = c * pairs + m;
      const Complex A(-std::exp(log_A_real(at)), A_imag(at));
      modes.pole(c, m) = std::exp(dt * A);
      modes.weight(c, m) = Complex(C(2 * m, c), C(2 * m + 1, c)) * exp_minus_one(dt * A) / A;
    }
  }
  return modes;
}

arma::mat modal_convolution(const S4dModes& modes, const arma::mat& U) {
  arma::mat Y(arma::size(U), arma::fill::zeros);
  for (arma::uword m = 0; m < modes.pole.n_cols; ++m) {
    const arma::vec p_re = arma::real(modes.pole.col(m)), p_im = arma::imag(modes.pole.col(m));
    const arma::vec w_re = 2.0 * arma::real(modes.weight.col(m)),
                    w_im = 2.0 * arma::imag(modes.weight.col(m));
    arma::vec s_re(U.n_rows, arma::fill::zeros), s_im(U.n_rows, arma::fill::zeros), previous;
    for (arma::uword t = 0; t < U.n_cols; ++t) {  // s_t = pole s_{t-1} + u_t, all channels at once
      previous = s_re;
      s_re = p_re % previous - p_im % s_im + U.col(t);
      s_im = p_re % s_im + p_im % previous;
      Y.col(t) += w_re % s_re - w_im % s_im;
    }
  }
  return Y;
}

ModelRow s4d_row() {
  return {.name = "s4d",
          .title = "S4D",
          .switches = {"state"},
          .makers = makers_of<S4dBlock>(),
          .require =
              [](const ModelSpec& spec) {
                if (spec.state % 2 == 0) return;
                throw UsageError("--state " + std::to_string(spec.state) +
                                 " is not allowed with --model s4d; allowed: even numbers");
              },
          // Output map and bias; A, C; D, dt, norm.
          .parameters = [](const BlockSizes& s) { return 2 * s.d * s.d + (2 + 2 * s.n + 4) * s.d; },
          .flops =
              [](const BlockSizes& s, double) {
                return 2 * s.N * 2 * s.d * s.d + s.N * s.N * s.d + 4 * s.N * s.n * s.d;
              },
          .lambda_varies = true,
          .ablation = Ablation::figure_4};
}

}  // namespace ranklab
