// The Mamba block ("Mamba-1"; Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective
// State Spaces", 2023), the predecessor of mamba2.cpp.
//
//   the block   R <- lambda R + Mixer(RMSNorm(R))
//   the mixer   [x; z] = W_in' u                      rows: d_i, d_i = 2 d
//               x <- silu(causal convolution with 4 taps)
//               [dt_r; B; C] = W_x' x                 rows: r = ceil(d / 16), n, n
//               dt <- softplus(W_dt' dt_r + b_dt),   A = -exp(A_log)
//               y = selective scan (selective_scan.hpp, as in training) + D x
//               output W_out' (y o silu(z))
//
// Without the gate, y replaces y o silu(z), and z is not computed. Norm `none` leaves out the
// block's RMSNorm; the mixer has no norm.
//
// Tensors, with the names and storage order of the authors' code: `norm.weight`,
// `mixer.in_proj.weight`, `mixer.conv1d.weight` (taps, channels) and `.bias`,
// `mixer.x_proj.weight`, `mixer.dt_proj.weight` and `.bias`, `mixer.A_log`, `mixer.D`,
// `mixer.out_proj.weight`.
#include <cmath>

#include "nn/blocks/block.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/selective_scan.hpp"
#include "nn/blocks/state_space.hpp"

namespace ranklab {
namespace {

double logarithm_of_next(double index) {
  return std::log1p(index);
}

template <class T>
class ConstantMamba1Mixer {
 public:
  ConstantMamba1Mixer(const ModelSpec& spec, Tensors<T>& tensors)
      : width_(2 * spec.dim),
        rank_(step_rank(spec.dim)),
        states_(spec.state),
        has_gate_(spec.has_gate()),
        b_conv_(tensors.vector("mixer.conv1d.bias", width_, EntryLaw::fan_in(spec.taps))),
        b_dt_(tensors.vector("mixer.dt_proj.bias", width_, law_of_dt_bias())),
        D_(tensors.vector("mixer.D", width_, EntryLaw::constant(1.0))),
        W_in_(tensors.matrix("mixer.in_proj.weight", spec.dim, 2 * width_,
                             EntryLaw::fan_in(spec.dim))),
        w_conv_(
            tensors.matrix("mixer.conv1d.weight", spec.taps, width_, EntryLaw::fan_in(spec.taps))
                .t()),
        W_x_(tensors.matrix("mixer.x_proj.weight", width_, rank_ + 2 * states_,
                            EntryLaw::fan_in(width_))),
        W_dt_(tensors.matrix("mixer.dt_proj.weight", rank_, width_, EntryLaw::fan_in(rank_))) {
    // A vector, so that --weight-scale does not change the decays; channel by channel.
    const arma::Col<T> A_log = tensors.vector(
        "mixer.A_log", width_ * states_, EntryLaw::ramp(1.0, states_).mapped(logarithm_of_next));
    A_ = -arma::exp(arma::reshape(A_log, states_, width_).t());
    const double bound =
        1.0 /
        std::sqrt(static_cast<double>(width_ * spec.layers));  // fan-in d_i, over sqrt(layers)
    W_out_ =
        tensors.matrix("mixer.out_proj.weight", width_, spec.dim, EntryLaw::uniform(-bound, bound));
  }

  // U (d, N) -> (d, N).
  arma::Mat<T> operator()(const arma::Mat<T>& U) const {
    arma::Mat<T> x = causal_convolution<T>(columns_of_in(0).t() * U, w_conv_, b_conv_);
    apply_silu(x);
    const arma::Mat<T> low = W_x_.t() * x;
    arma::Mat<T> dt = W_dt_.t() * low.head_rows(rank_), slopes, y(arma::size(x));
    compute_steps<T>(b_dt_, dt, slopes);
    const T* const B = low.memptr() + rank_;
    selective_scan<T>({U.n_cols, dt.memptr(), x.memptr(), B, B + states_, low.n_rows, A_, D_},
                      y.memptr());
    if (has_gate_) {
      arma::Mat<T> z = columns_of_in(width_).t() * U;
      apply_silu(z);
      y %= z;
    }
    return W_out_.t() * y;
  }

 private:
  // W_x or W_z: a view of the d_i columns of W_in from `first` on.
  const arma::Mat<T> columns_of_in(arma::uword first) const {
    return arma::Mat<T>(const_cast<T*>(W_in_.colptr(first)), W_in_.n_rows, width_, false, true);
  }

  arma::uword width_, rank_, states_;  // d_i, r, n
  bool has_gate_;
  arma::Col<T> b_conv_, b_dt_, D_;
  arma::Mat<T> W_in_, w_conv_, W_x_, W_dt_, A_, W_out_;
};

template <class T>
class Mamba1Block final : public Block<T> {
 public:
  Mamba1Block(const ModelSpec& spec, Tensors<T>& tensors)
      : mixer_(spec, tensors),
        gain_(tensors.vector("norm.weight", spec.dim, EntryLaw::constant(1.0))),
        has_norm_(spec.norm != "none"),
        epsilon_(spec.norm_epsilon) {}

  void forward(State<T>& state, double lambda) const override {
    if (!has_norm_) state.unscale();  // the mixer is not homogeneous
    arma::Mat<T> U = state.Y;
    if (has_norm_) rms_norm(U, state.scaled_epsilon(epsilon_), &gain_);
    state.add_branch(lambda, mixer_(U));
    if (has_norm_) state.keep_in_range();
  }

 private:
  ConstantMamba1Mixer<T> mixer_;
  arma::Col<T> gain_;
  bool has_norm_;
  double epsilon_;
};

double parameters_of_mamba1(const BlockSizes& s) {
  const double inner = 2 * s.d, rank = std::ceil(s.d / 16);
  return 3 * s.d * inner + inner * (s.taps + 1 + 2 * rank + 2 * s.n + 1 + s.n + 1) + s.d;
}

}  // namespace

ModelRow mamba1_row() {
  return {
      .name = "mamba1",
      .title = "Mamba-1",
      .norm = "rms",
      .input = "tokens",
      .state = 16,
      .vocabulary = 50280,
      .norms = {"rms", "none"},
      .switches = {"state", "gating"},
      .embedding_std = 0.02,
      .makers = makers_of<Mamba1Block>(),
      .parameters = parameters_of_mamba1,
      // Per state of a channel: an exponential (about 20) and 5 products and sums.
      .flops = [](const BlockSizes& s, double maps) { return maps + 25 * s.N * s.n * 2 * s.d; },
      .stored_per_token = [](const BlockSizes& s) { return 10 * s.d + 4 * s.n; },
  };
}

}  // namespace ranklab
