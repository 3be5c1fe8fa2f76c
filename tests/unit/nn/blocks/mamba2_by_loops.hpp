// The Mamba-2 block computed independently from its equations, one number at a time, with the
// tensors of a block.
#pragma once

#include <cmath>

#include "nn/blocks/perturbed_tensors.hpp"
#include "nn/blocks/state_space.hpp"

namespace by_loops {

inline constexpr arma::uword dim = 6, heads = 4, state_size = 5, width = 2 * dim,
                             per_head = width / heads;

// Sizes in which published models may differ from the defaults.
struct Sizes {
  arma::uword groups = 1, taps = 4;
  double epsilon = 1e-5;
};

inline double silu(double t) {
  return t / (1 + std::exp(-t));
}

// Normalizes each of `groups` blocks of channels by its own mean of squares.
inline arma::vec rms_normed(const arma::vec& x, const arma::mat& gain, double epsilon,
                            arma::uword groups = 1) {
  arma::vec y(x.n_elem);
  const arma::uword size = x.n_elem / groups;
  for (arma::uword c = 0; c < x.n_elem; ++c) {
    double squares = 0;
    for (arma::uword e = c / size * size; e < (c / size + 1) * size; ++e) squares += x(e) * x(e);
    y(c) = gain(c) * x(c) / std::sqrt(squares / static_cast<double>(size) + epsilon);
  }
  return y;
}

// The inputs of the state-space model, computed from the normalized tokens: gate, x, B, C and
// steps, with one token per column. The states of B and C are ordered by group.
struct Projected {
  arma::mat z, x, B, C, dt;
};

inline Projected projected(const PerturbedTensors<double>& tensors, const arma::mat& U,
                           const Sizes& sizes) {
  const arma::mat &W = tensors["mixer.in_proj.weight"], &w = tensors["mixer.conv1d.weight"];
  const arma::uword states = sizes.groups * state_size, channels = width + 2 * states,
                    tokens = U.n_cols, late = sizes.taps - 1;
  const auto row = [&](arma::uword o, arma::uword t) {
    double sum = 0;
    for (arma::uword i = 0; i < dim; ++i) sum += W(i, o) * U(i, t);
    return sum;
  };
  Projected out{arma::mat(width, tokens), arma::mat(width, tokens), arma::mat(states, tokens),
                arma::mat(states, tokens), arma::mat(heads, tokens)};
  for (arma::uword t = 0; t < tokens; ++t) {
    for (arma::uword o = 0; o < width; ++o) out.z(o, t) = row(o, t);
    for (arma::uword c = 0; c < channels; ++c) {
      double sum = tensors["mixer.conv1d.bias"](c);
      for (arma::uword k = 0; k < sizes.taps; ++k) {
        if (t + k >= late) sum += w(k, c) * row(width + c, t + k - late);
      }
      if (c < width) out.x(c, t) = silu(sum);
      if (c >= width && c < width + states) out.B(c - width, t) = silu(sum);
      if (c >= width + states) out.C(c - width - states, t) = silu(sum);
    }
    for (arma::uword k = 0; k < heads; ++k) {
      out.dt(k, t) =
          std::log(1 + std::exp(row(width + channels + k, t) + tensors["mixer.dt_bias"](k)));
    }
  }
  return out;
}

// y_t = h_t' C_t + D x_t with h_t = exp(dt_t A) h_{t-1} + dt_t B_t x_t', one number of the state at
// a time.
inline arma::mat state_space_by_loops(const PerturbedTensors<double>& tensors, const Projected& in,
                                      const Sizes& sizes) {
  arma::mat y(arma::size(in.x));
  for (arma::uword c = 0; c < width; ++c) {
    const arma::uword k = c / per_head,
                      first = k / (heads / sizes.groups) * state_size;  // first state of the group
    const double A = -std::exp(tensors["mixer.A_log"](k));
    arma::vec h(state_size, arma::fill::zeros);
    for (arma::uword t = 0; t < in.x.n_cols; ++t) {
      y(c, t) = tensors["mixer.D"](k) * in.x(c, t);
      for (arma::uword s = 0; s < state_size; ++s) {
        h(s) = std::exp(in.dt(k, t) * A) * h(s) + in.dt(k, t) * in.B(first + s, t) * in.x(c, t);
        y(c, t) += h(s) * in.C(first + s, t);
      }
    }
  }
  return y;
}

// The dense form: Y = X (M diag(dt) + D I)' with the matrix M of the head.
inline arma::mat state_space_by_matrix(const PerturbedTensors<double>& tensors, const Projected& in,
                                       const Sizes& sizes) {
  arma::mat y(arma::size(in.x));
  for (arma::uword k = 0; k < heads; ++k) {
    const arma::rowvec a = -std::exp(tensors["mixer.A_log"](k)) * in.dt.row(k);
    const arma::uword first = k / (heads / sizes.groups) * state_size,
                      last = first + state_size - 1;
    const arma::mat M =
        ranklab::ssd_matrix<double>(a, in.B.rows(first, last), in.C.rows(first, last)) *
            arma::diagmat(in.dt.row(k)) +
        tensors["mixer.D"](k) * arma::eye(in.x.n_cols, in.x.n_cols);
    y.rows(k * per_head, (k + 1) * per_head - 1) =
        in.x.rows(k * per_head, (k + 1) * per_head - 1) * M.t();
  }
  return y;
}

using StateSpace = arma::mat(const PerturbedTensors<double>&, const Projected&, const Sizes&);

// One interpretation of the block's equations.
struct Reading {
  bool gate = true, block_norm = true, inner_norm = true;
  bool skip_in_mixer = false, skip_normed = false;
  Sizes sizes = {};
};

inline arma::mat expected_output(const PerturbedTensors<double>& tensors, const arma::mat& R,
                                 double lambda, const Reading& reading,
                                 StateSpace state_space = state_space_by_loops) {
  const Sizes& sizes = reading.sizes;
  arma::mat U = R;
  for (arma::uword t = 0; t < R.n_cols && reading.block_norm; ++t)
    U.col(t) = rms_normed(R.col(t), tensors["norm.weight"], sizes.epsilon);
  const Projected in = projected(tensors, U, sizes);
  const arma::mat y = state_space(tensors, in, sizes);
  arma::mat out(arma::size(R));
  for (arma::uword t = 0; t < R.n_cols; ++t) {
    arma::vec r = y.col(t);
    if (reading.skip_in_mixer) r += lambda * in.x.col(t);
    for (arma::uword c = 0; c < width && reading.gate; ++c) r(c) *= silu(in.z(c, t));
    if (reading.inner_norm)
      r = rms_normed(r, tensors["mixer.norm.weight"], sizes.epsilon, sizes.groups);
    const arma::vec skip = reading.skip_in_mixer
                               ? arma::vec(R.col(t))
                               : lambda * (reading.skip_normed ? U.col(t) : R.col(t));
    out.col(t) = skip + tensors["mixer.out_proj.weight"].t() * r;
  }
  return out;
}

}  // namespace by_loops
