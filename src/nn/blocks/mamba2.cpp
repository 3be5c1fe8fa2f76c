// The Mamba-2 block ([LambdaSkip] Section 5; Dao and Gu, 2024), and the ablations of its gate, skip
// and norms.
//
//   the block   R <- lambda R + Mixer(RMSNorm(R))
//   the mixer   [z; x; B; C; dt] = W_in' u            rows: d_i, d_i = 2 d, g n, g n, h
//               [x; B; C] <- silu(causal convolution with 4 taps)
//               dt <- softplus(dt + dt_bias),   A = -exp(A_log)
//               y_k = SSD(A_k dt_k, B_j, C_j, dt_k x_k) + D_k x_k
//                     head k: channels k d_i/h ... (k+1) d_i/h - 1 of x
//               output W_out' RMSNorm(y o silu(z))
//
// Heads come in g groups (published: 1) that share B and C: head k is in group j = floor(k g/h),
// which owns rows j n ... (j+1) n - 1 of B and of C. The mixer's RMSNorm takes its mean over each
// group's d_i/g channels, as the authors' code does.
//
// [LambdaSkip] does not define its ablations precisely. The spec selects the reading:
//   gating off         y replaces y o silu(z); z is not computed
//   skip_at mixer      the mixer's y becomes y + lambda x, with x after its convolution, and the
//                      block's skip is 1
//   skip_input normed  the block's skip is lambda RMSNorm(R)
//   norm none          norm_off says which RMSNorm is the identity: the block's, the mixer's
//                      (inner) or both
// D, itself a skip, is present in all of them.
//
// Tensors, with the names and storage order of published checkpoints: `norm.weight`,
// `mixer.in_proj.weight`, `mixer.conv1d.weight` (taps, channels) and `.bias`, `mixer.dt_bias`,
// `mixer.A_log`, `mixer.D`, `mixer.norm.weight`, `mixer.out_proj.weight`.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "nn/blocks/block.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/state_space.hpp"

namespace ranklab {
namespace {

// log(1 + exp(t)), without overflow.
double softplus(double t) {
  return std::max(t, 0.0) + std::log1p(std::exp(-std::fabs(t)));
}

template <class T>
class ConstantMamba2Mixer {
 public:
  ConstantMamba2Mixer(const ModelSpec& spec, Tensors<T>& tensors)
      : width_(2 * spec.dim),
        groups_(spec.groups),
        states_(spec.state),
        epsilon_(spec.norm_epsilon),
        has_gate_(spec.has_gate()),
        has_norm_(spec.norm != "none" || spec.norm_off == "block"),
        b_conv_(tensors.vector("mixer.conv1d.bias", channels_of_convolution(),
                               EntryLaw::fan_in(spec.taps))),
        dt_bias_(tensors.vector("mixer.dt_bias", spec.heads, law_of_dt_bias())),
        A_(-arma::exp(tensors.vector("mixer.A_log", spec.heads, law_of_A_log()))),
        D_(tensors.vector("mixer.D", spec.heads, EntryLaw::constant(1.0))),
        gain_(tensors.vector("mixer.norm.weight", width_, EntryLaw::constant(1.0))) {
    W_in_ =
        tensors.matrix("mixer.in_proj.weight", spec.dim,
                       width_ + channels_of_convolution() + spec.heads, EntryLaw::fan_in(spec.dim));
    w_conv_ =
        tensors
            .matrix("mixer.conv1d.weight", spec.taps, b_conv_.n_elem, EntryLaw::fan_in(spec.taps))
            .t();
    const double bound =
        1.0 /
        std::sqrt(static_cast<double>(width_ * spec.layers));  // fan-in d_i, over sqrt(layers)
    W_out_ =
        tensors.matrix("mixer.out_proj.weight", width_, spec.dim, EntryLaw::uniform(-bound, bound));
  }

  // U (d, N1 + N2 + ...), the tokens of several sequences that end before the given columns -> the
  // same size. `skip`, one for each sequence, multiplies the convolved x that is added to y.
  arma::Mat<T> operator()(const arma::Mat<T>& U, const std::vector<arma::uword>& ends,
                          const std::vector<double>& skip) const {
    const arma::Mat<T> projected = columns_of_in(width_, W_in_.n_cols - 1).t() * U;
    arma::Mat<T> y(width_, U.n_cols);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const arma::uword first = i == 0 ? 0 : ends[i - 1];
      y.cols(first, ends[i] - 1) = mixed(projected.cols(first, ends[i] - 1), skip[i]);
    }
    if (has_gate_) {
      arma::Mat<T> z = columns_of_in(0, width_ - 1).t() * U;
      apply_silu(z);
      y %= z;
    }
    if (has_norm_) normalize_groups(y);
    return W_out_.t() * y;
  }

 private:
  // y of one sequence, from [x; B; C; dt] before the convolution.
  arma::Mat<T> mixed(const arma::Mat<T>& projected, double skip) const {
    const arma::uword channels = channels_of_convolution(), in_B = groups_ * states_;
    arma::Mat<T> xBC = causal_convolution<T>(projected.head_rows(channels), w_conv_, b_conv_);
    apply_silu(xBC);
    const arma::Mat<T> x = xBC.head_rows(width_);
    arma::Mat<T> y = state_space(x, xBC.rows(width_, width_ + in_B - 1), xBC.tail_rows(in_B),
                                 steps(projected.tail_rows(projected.n_rows - channels)));
    if (skip != 0.0) y += static_cast<T>(skip) * x;
    return y;
  }

  arma::uword channels_of_convolution() const { return width_ + 2 * groups_ * states_; }

  // W_z or W_xBCdt: a view of columns of W_in.
  const arma::Mat<T> columns_of_in(arma::uword first, arma::uword last) const {
    return arma::Mat<T>(const_cast<T*>(W_in_.colptr(first)), W_in_.n_rows, last - first + 1, false,
                        true);
  }

  // softplus(dt + dt_bias), (h, N).
  arma::Mat<T> steps(arma::Mat<T> dt) const {
    dt.each_col() += dt_bias_;
    return dt.transform([](T t) { return static_cast<T>(softplus(static_cast<double>(t))); });
  }

  // Head by head: SSD(A dt, B, C, dt x) + D x. x (d_i, N); B, C (g n, N), where the heads of a
  // group share n rows; dt (h, N).
  arma::Mat<T> state_space(const arma::Mat<T>& x, const arma::Mat<T>& B, const arma::Mat<T>& C,
                           const arma::Mat<T>& dt) const {
    arma::Mat<T> y(arma::size(x));
    const arma::uword heads = dt.n_rows, channels = width_ / heads;
    std::optional<SharedMaps<T>> maps;
    for (arma::uword k = 0; k < heads; ++k) {
      const arma::uword group = k * groups_ / heads;
      if (k == 0 || group != (k - 1) * groups_ / heads) {
        maps.emplace(B.rows(group * states_, (group + 1) * states_ - 1),
                     C.rows(group * states_, (group + 1) * states_ - 1));
      }
      const arma::span rows(k * channels, (k + 1) * channels - 1);
      const arma::Mat<T> x_k = x.rows(rows.a, rows.b);
      const arma::Row<T> dt_k = dt.row(k);
      y.rows(rows.a, rows.b) = ssd<T>(A_(k) * dt_k, *maps, x_k.each_row() % dt_k) + D_(k) * x_k;
    }
    return y;
  }

  void normalize_groups(arma::Mat<T>& y) const {
    const arma::uword channels = width_ / groups_;
    for (arma::uword j = 0; j < groups_; ++j) {
      const arma::span rows(j * channels, (j + 1) * channels - 1);
      const arma::Col<T> gain = gain_(rows);
      arma::Mat<T> part = y.rows(rows.a, rows.b);
      rms_norm(part, epsilon_, &gain);
      y.rows(rows.a, rows.b) = part;
    }
  }

  arma::uword width_, groups_, states_;  // d_i, g, n
  double epsilon_;
  bool has_gate_, has_norm_;
  arma::Col<T> b_conv_, dt_bias_, A_, D_, gain_;
  arma::Mat<T> W_in_, w_conv_, W_out_;
};

template <class T>
class Mamba2Block final : public Block<T> {
 public:
  Mamba2Block(const ModelSpec& spec, Tensors<T>& tensors)
      : mixer_(spec, tensors),
        gain_(tensors.vector("norm.weight", spec.dim, EntryLaw::constant(1.0))),
        has_norm_(spec.norm != "none" || spec.norm_off == "inner"),
        epsilon_(spec.norm_epsilon),
        skip_in_mixer_(spec.skip_at == "mixer"),
        skip_normed_(spec.skip_input == "normed") {}

  void forward(State<T>& state, double lambda) const override { forward_all({&state}, {lambda}); }

  void forward_all(const std::vector<State<T>*>& states,
                   const std::vector<double>& lambda) const override {
    std::vector<arma::uword> ends;
    for (State<T>* const state : states) {
      if (!has_norm_) state->unscale();  // the mixer is not homogeneous
      ends.push_back((ends.empty() ? 0 : ends.back()) + state->Y.n_cols);
    }
    arma::Mat<T> U(gain_.n_elem, ends.back());
    const auto columns = [&](std::size_t i) {
      return arma::span(i == 0 ? 0 : ends[i - 1], ends[i] - 1);
    };
    for (std::size_t i = 0; i < states.size(); ++i) {
      arma::Mat<T> normed = states[i]->Y;
      if (has_norm_) rms_norm(normed, states[i]->scaled_epsilon(epsilon_), &gain_);
      U.cols(columns(i)) = normed;
    }
    const arma::Mat<T> mixed =
        mixer_(U, ends, skip_in_mixer_ ? lambda : std::vector<double>(states.size(), 0.0));
    for (std::size_t i = 0; i < states.size(); ++i) {
      State<T>& state = *states[i];
      if (skip_normed_) {
        state.Y = static_cast<T>(lambda[i]) * U.cols(columns(i)) + mixed.cols(columns(i));
        state.log2_scale = 0.0;
      } else {
        state.add_branch(skip_in_mixer_ ? 1.0 : lambda[i], arma::Mat<T>(mixed.cols(columns(i))));
      }
      if (has_norm_) state.keep_in_range();
    }
  }

  // OpenBLAS packs the weights anew for each product; from 512 columns on this costs little.
  std::size_t states_together(arma::uword tokens) const override {
    return std::max<arma::uword>(1, 512 / tokens);
  }

 private:
  ConstantMamba2Mixer<T> mixer_;
  arma::Col<T> gain_;
  bool has_norm_;
  double epsilon_;
  bool skip_in_mixer_, skip_normed_;
};

void require_groups(const ModelSpec& spec) {
  if (spec.heads % spec.groups != 0) {
    throw UsageError("--ssm-groups " + std::to_string(spec.groups) + " does not divide the " +
                     std::to_string(spec.heads) + " heads of " + spec.model);
  }
  if (spec.taps == 0)
    throw UsageError("the convolution of " + spec.model + " needs at least one tap");
}

double parameters(const BlockSizes& s) {
  const double in_BC = 2 * s.n * s.groups;
  return s.d * (4 * s.d + in_BC + s.h) + 2 * s.d * s.d + (s.taps + 1) * (2 * s.d + in_BC) +
         3 * s.h + 3 * s.d;
}

}  // namespace

ModelRow mamba2_row() {
  return {
      .name = "mamba2",
      .title = "Mamba-2",
      .norm = "rms",
      .input = "tokens",
      .state = 128,
      .vocabulary = 50288,
      .norms = {"rms", "none"},
      .switches = {"state", "gating", "skip-at", "skip-input", "norm-off", "ssm-groups"},
      .has_heads = true,
      .expand = 2,
      .embedding_std = 0.02,
      .makers = makers_of<Mamba2Block>(),
      .require = require_groups,
      .parameters = parameters,
      .flops = [](const BlockSizes& s,
                  double maps) { return maps + 8 * s.N * s.n * s.d + 128 * s.N * (s.n + 2 * s.d); },
      .stored_per_token = [](const BlockSizes& s) { return 13 * s.d + 12 * s.groups * s.n; },
      .published = mamba2_layout(),
      .lambda_varies = true,
      .ablation = Ablation::figure_3};
}

}  // namespace ranklab
