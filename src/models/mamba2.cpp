#include "models/mamba2.hpp"

#include <algorithm>
#include <cmath>

#include "models/activations.hpp"
#include "models/state_space.hpp"

namespace ranklab {
namespace {

constexpr double epsilon = 1e-5;  // of both norms
constexpr arma::uword taps = 4;
constexpr double largest_unscaled = 0x1p40;  // of the stream's entries: far from the ends of the range of T

// log(1 + exp(t)), without overflow.
double softplus(double t) {
  return std::max(t, 0.0) + std::log1p(std::exp(-std::fabs(t)));
}

// The dt_bias whose softplus is the step exp(log_dt), at least 1e-4.
double bias_of_step(double log_dt) {
  const double dt = std::max(std::exp(log_dt), 1e-4);
  return dt + std::log(-std::expm1(-dt));
}

double logarithm(double t) {
  return std::log(t);
}

template <class T>
class Mamba2Mixer {
 public:
  Mamba2Mixer(const ModelSpec& spec, Tensors<T>& tensors)
      : width_(2 * spec.dim),
        states_(spec.state),
        has_gate_(spec.has_gate()),
        has_norm_(spec.norm != "none" || spec.norm_off == "block"),
        b_conv_(tensors.vector("mixer.conv1d.bias", width_ + 2 * states_, Start::fan_in(taps))),
        dt_bias_(tensors.vector("mixer.dt_bias", spec.heads, Start::uniform(std::log(1e-3), std::log(1e-1)).mapped(bias_of_step))),
        A_(-arma::exp(tensors.vector("mixer.A_log", spec.heads, Start::uniform(1.0, 16.0).mapped(logarithm)))),
        D_(tensors.vector("mixer.D", spec.heads, Start::constant(1.0))),
        gain_(tensors.vector("mixer.norm.weight", width_, Start::constant(1.0))) {
    const arma::uword rest = width_ + 2 * states_ + spec.heads;
    const arma::Mat<T> W_in = tensors.matrix("mixer.in_proj.weight", spec.dim, width_ + rest, Start::fan_in(spec.dim));
    if (has_gate_) W_z_ = W_in.head_cols(width_);
    W_xBCdt_ = W_in.tail_cols(rest);
    w_conv_ = tensors.matrix("mixer.conv1d.weight", taps, b_conv_.n_elem, Start::fan_in(taps)).t();
    const double bound = 1.0 / std::sqrt(static_cast<double>(width_ * spec.layers));  // fan-in d_i, over sqrt(layers)
    W_out_ = tensors.matrix("mixer.out_proj.weight", width_, spec.dim, Start::uniform(-bound, bound));
  }

  // U (d, N) -> (d, N). `skip` multiplies the convolved x that is added to y.
  arma::Mat<T> operator()(const arma::Mat<T>& U, double skip) const {
    const arma::Mat<T> projected = W_xBCdt_.t() * U;
    const arma::uword channels = width_ + 2 * states_;
    arma::Mat<T> xBC = causal_convolution<T>(projected.head_rows(channels), w_conv_, b_conv_);
    apply(silu_, xBC);
    const arma::Mat<T> x = xBC.head_rows(width_);

    arma::Mat<T> y = state_space(x, xBC.rows(width_, width_ + states_ - 1), xBC.tail_rows(states_),
                                 steps(projected.tail_rows(projected.n_rows - channels)));
    if (skip != 0.0) y += static_cast<T>(skip) * x;
    if (has_gate_) {
      arma::Mat<T> z = W_z_.t() * U;
      apply(silu_, z);
      y %= z;
    }
    if (has_norm_) rms_norm(y, epsilon, &gain_);
    return W_out_.t() * y;
  }

 private:
  // softplus(dt + dt_bias), (h, N).
  arma::Mat<T> steps(arma::Mat<T> dt) const {
    dt.each_col() += dt_bias_;
    return dt.transform([](T t) { return static_cast<T>(softplus(static_cast<double>(t))); });
  }

  // Head by head: SSD(A dt, B, C, dt x) + D x. x (d_i, N); B, C (n, N), which the heads share; dt (h, N).
  arma::Mat<T> state_space(const arma::Mat<T>& x, const arma::Mat<T>& B, const arma::Mat<T>& C, const arma::Mat<T>& dt) const {
    arma::Mat<T> y(arma::size(x));
    const arma::uword heads = dt.n_rows, channels = width_ / heads;
    for (arma::uword k = 0; k < heads; ++k) {
      const arma::span own(k * channels, (k + 1) * channels - 1);
      const arma::Mat<T> x_k = x.rows(own.a, own.b);
      const arma::Row<T> dt_k = dt.row(k);
      y.rows(own.a, own.b) = ssd<T>(A_(k) * dt_k, B, C, x_k.each_row() % dt_k) + D_(k) * x_k;
    }
    return y;
  }

  const Activation& silu_ = find_activation("silu");
  arma::uword width_, states_;  // d_i, n
  bool has_gate_, has_norm_;
  arma::Col<T> b_conv_, dt_bias_, A_, D_, gain_;
  arma::Mat<T> W_z_, W_xBCdt_, w_conv_, W_out_;
};

template <class T>
class Mamba2Block final : public Block<T> {
 public:
  Mamba2Block(const ModelSpec& spec, Tensors<T>& tensors)
      : mixer_(spec, tensors),
        gain_(tensors.vector("norm.weight", spec.dim, Start::constant(1.0))),
        has_norm_(spec.norm != "none" || spec.norm_off == "inner"),
        skip_in_mixer_(spec.skip_at == "mixer"),
        skip_normed_(spec.skip_input == "normed") {}

  // The stream may grow like lambda^K, beyond the range of T: it is 2^s Y, and what the norm makes of it is the same for
  // every s, if epsilon is scaled too.
  void forward(State<T>& state, double lambda) const override {
    if (!has_norm_) unscale(state);  // the mixer is not homogeneous
    arma::Mat<T>& Y = state.Y;
    arma::Mat<T> U = Y;
    if (has_norm_) rms_norm(U, epsilon * std::exp2(-2 * state.log2_scale), &gain_);
    const T unit = static_cast<T>(std::exp2(-state.log2_scale));
    if (skip_in_mixer_) {
      Y += unit * mixer_(U, lambda);
    } else if (skip_normed_) {
      Y = static_cast<T>(lambda) * U + mixer_(U, 0.0);
      state.log2_scale = 0.0;
    } else {
      Y = static_cast<T>(lambda) * Y + unit * mixer_(U, 0.0);
    }
    if (has_norm_ && static_cast<double>(arma::abs(Y).max()) > largest_unscaled) rescale(state);
  }

 private:
  Mamba2Mixer<T> mixer_;
  arma::Col<T> gain_;
  bool has_norm_, skip_in_mixer_, skip_normed_;
};

}  // namespace

template <class T>
std::unique_ptr<Block<T>> make_mamba2_block(const ModelSpec& spec, Tensors<T>& tensors) {
  return std::make_unique<Mamba2Block<T>>(spec, tensors);
}

template std::unique_ptr<Block<float>> make_mamba2_block(const ModelSpec&, Tensors<float>&);
template std::unique_ptr<Block<double>> make_mamba2_block(const ModelSpec&, Tensors<double>&);

}  // namespace ranklab
