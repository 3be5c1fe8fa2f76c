#include "nn/layers/s4d.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "linalg/exponential.hpp"
#include "nn/blocks/s4d.hpp"
#include "nn/layers/activation.hpp"
#include "nn/layers/linear.hpp"

namespace ranklab {
namespace {

using Complex = std::complex<double>;

/// The strides of two series of tokens or kernels.
struct Steps {
  std::ptrdiff_t a, b;
};

/// For `width` channels: out = sum_{j < count} a_j o b_j; with `add`, out += that. The sums stay in
/// registers.
template <arma::uword width, class T>
inline void sum_products(const T* a, const T* b, Steps step, arma::uword count, T* out, bool add) {
  T sum[width] = {};
  for (arma::uword j = 0; j < count; ++j, a += step.a, b += step.b) {
    for (arma::uword c = 0; c < width; ++c) sum[c] += a[c] * b[c];
  }
  for (arma::uword c = 0; c < width; ++c) out[c] = add ? out[c] + sum[c] : sum[c];
}

/// The same for all d channels.
template <class T>
void sum_products(const T* a, const T* b, Steps step, arma::uword count, arma::uword d, T* out,
                  bool add = false) {
  constexpr arma::uword width = 16;
  arma::uword c = 0;
  for (; c + width <= d; c += width) sum_products<width>(a + c, b + c, step, count, out + c, add);
  for (; c < d; ++c) sum_products<1>(a + c, b + c, step, count, out + c, add);
}

/// Calls visit(l, re, im) for l = 0 ... length - 1, where re + i im = z^l for all channels.
template <class Visit>
void for_each_power(const arma::cx_vec& z, arma::uword length, const Visit& visit) {
  const arma::vec z_re = arma::real(z), z_im = arma::imag(z);
  arma::vec re(z.n_elem, arma::fill::ones), im(z.n_elem, arma::fill::zeros);
  for (arma::uword l = 0; l < length; ++l) {
    visit(l, re.memptr(), im.memptr());
    for (arma::uword c = 0; c < z.n_elem; ++c) {
      const double before = re[c];
      re[c] = before * z_re[c] - im[c] * z_im[c];
      im[c] = before * z_im[c] + im[c] * z_re[c];
    }
  }
}

template <class T>
arma::vec in_double(const Parameter<T>& parameter) {
  return arma::conv_to<arma::vec>::from(arma::vectorise(parameter.W));
}

}  // namespace

template <class T>
S4dMixer<T>::S4dMixer(arma::uword dim, arma::uword length, const S4dShape& shape,
                      const InitialWeights& initial)
    : length_(length),
      C_(initial.without_decay<T>("C", shape.state, dim, EntryLaw::normal(std::sqrt(0.5)))),
      log_dt_(initial.without_decay<T>("log_dt", dim, 1,
                                       EntryLaw::uniform(std::log(1e-3), std::log(1e-1)))),
      log_A_real_(initial.without_decay<T>("log_A_real", shape.state / 2, dim,
                                           EntryLaw::constant(std::log(0.5)))),
      A_imag_(initial.without_decay<T>("A_imag", shape.state / 2, dim, EntryLaw::constant(0))),
      D_(initial.without_decay<T>("D", dim, 1, EntryLaw::normal(1))),
      Wo_(initial.map<T>("Wo", 2 * dim, dim)),
      bo_(initial.without_decay<T>("bo", 2 * dim, 1, EntryLaw::constant(0))) {
  if (shape.state % 2 != 0) throw std::logic_error("S4D: the state size must be even");
  for (arma::uword m = 0; m < shape.state / 2; ++m)
    A_imag_.W.row(m).fill(static_cast<T>(std::numbers::pi * static_cast<double>(m)));
}

template <class T>
void S4dMixer<T>::do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  const arma::uword d = X.n_rows, N = X.n_cols;
  const auto step = static_cast<std::ptrdiff_t>(d);
  slope_.set_size(d, N);
  for (arma::uword n = 0; n < N; ++n)
    sum_products(K_.memptr(), X.colptr(n), {step, -step}, n % length_ + 1, d, slope_.colptr(n));
  activate<T>(find_activation("gelu"), slope_, nullptr, gelu_);
  linear(Wo_, gelu_, Z_);
  Y.set_size(d, N);
  const T* const bias = bo_.W.memptr();
  for (arma::uword n = 0; n < N; ++n) {
    T *const a = Z_.colptr(n), *const b = a + d, *const y = Y.colptr(n);
    for_packs<T>(d, [&](std::size_t i, auto count) {
      const Pack<T> value = load(a + i, count) + load(bias + i, count);
      const Pack<T> gate =
          T(1) / (T(1) + exponential(-load(b + i, count) - load(bias + d + i, count)));
      store(value, a + i, count);
      store(gate, b + i, count);
      store(value * gate, y + i, count);
    });
  }
}

template <class T>
void S4dMixer<T>::do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                              Turns& turns) {
  const arma::uword d = X.n_rows, N = X.n_cols;
  const auto step = static_cast<std::ptrdiff_t>(d);
  dZ_.set_size(2 * d, N);
  for (arma::uword n = 0; n < N; ++n) {
    const T *const a = Z_.colptr(n), *const gate = a + d, *const g = dY.colptr(n);
    T *const da = dZ_.colptr(n), *const db = da + d;
#pragma omp simd
    for (arma::uword i = 0; i < d; ++i) {
      da[i] = g[i] * gate[i];
      db[i] = da[i] * a[i] * (1 - gate[i]);
    }
  }
  turns.take([&] {
    linear_backward_weights(Wo_, gelu_, dZ_);
    bias_backward(bo_, dZ_);
  });
  linear_backward_inputs(Wo_, dZ_, du_);
  activate_backward<T>(find_activation("gelu"), slope_, du_);
  dX.set_size(d, N);
  for (arma::uword n = 0; n < N; ++n) {
    const arma::uword t = n % length_, left = length_ - t;
    sum_products(K_.memptr(), du_.colptr(n), {step, step}, left, d, dX.colptr(n));
  }
  // dK[t] += sum_i du_{i + t} x_i, i over the tokens that have a token i + t.
  turns.take([&] {
    for (arma::uword n = 0; n < N; ++n) {
      const arma::uword t = n % length_, left = length_ - t;
      sum_products(du_.colptr(n), X.colptr(n - t), {step, step}, left, d, dK_.colptr(t), true);
    }
  });
}

// Kernels -----------------------------------------------------------------------------------------

template <class T>
void S4dMixer<T>::do_prepare() {
  const arma::uword d = C_.W.n_cols, pairs = A_imag_.W.n_rows;
  arma::mat one(2 * pairs, d, arma::fill::zeros);  // C = 1
  for (arma::uword m = 0; m < pairs; ++m) one.row(2 * m).ones();
  S4dModes modes = s4d_modes(one, in_double(log_dt_), in_double(log_A_real_), in_double(A_imag_));
  z_ = std::move(modes.pole);
  E_ = std::move(modes.weight);
  arma::mat K(d, length_, arma::fill::zeros);
  K.col(0) = in_double(D_);
  arma::vec w_re(d), w_im(d);
  for (arma::uword m = 0; m < pairs; ++m) {
    for (arma::uword c = 0; c < d; ++c) {
      const Complex weight = 2.0 * Complex(C_.W(2 * m, c), C_.W(2 * m + 1, c)) * E_(c, m);
      w_re[c] = weight.real();
      w_im[c] = weight.imag();
    }
    for_each_power(z_.col(m), length_, [&](arma::uword l, const double* re, const double* im) {
      double* const k = K.colptr(l);
      for (arma::uword c = 0; c < d; ++c) k[c] += w_re[c] * re[c] - w_im[c] * im[c];
    });
  }
  K_ = arma::conv_to<arma::Mat<T>>::from(K);
  dK_.zeros(d, length_);
}

// From dK, with P = sum_l dK[l] z^l and Q = sum_l l dK[l] z^l for each channel and pair.
template <class T>
void S4dMixer<T>::do_finish() {
  const arma::uword d = C_.W.n_cols, pairs = A_imag_.W.n_rows;
  D_.G += dK_.col(0);
  const arma::mat dK = arma::conv_to<arma::mat>::from(dK_);
  for (arma::uword m = 0; m < pairs; ++m) {
    arma::mat P(d, 2, arma::fill::zeros), Q(d, 2, arma::fill::zeros);
    for_each_power(z_.col(m), length_, [&](arma::uword l, const double* re, const double* im) {
      const double* const g = dK.colptr(l);
      const double lag = static_cast<double>(l);
      double *const P_re = P.colptr(0), *const P_im = P.colptr(1), *const Q_re = Q.colptr(0),
                    *const Q_im = Q.colptr(1);
#pragma omp simd
      for (arma::uword c = 0; c < d; ++c) {
        const double along = g[c] * re[c], across = g[c] * im[c];
        P_re[c] += along;
        P_im[c] += across;
        Q_re[c] += lag * along;
        Q_im[c] += lag * across;
      }
    });
    for (arma::uword c = 0; c < d; ++c) mode_backward(c, m, {P(c, 0), P(c, 1)}, {Q(c, 0), Q(c, 1)});
  }
  dK_.zeros();
}

// With K[l] = 2 Re C E z^l, dE/dA = (dt z - E) / A, dE/d(dt) = z, dz/dA = dt z and dz/d(dt) = A z.
template <class T>
void S4dMixer<T>::mode_backward(arma::uword c, arma::uword m, Complex P, Complex Q) {
  const double dt = std::exp(static_cast<double>(log_dt_.W[c])),
               decay = std::exp(static_cast<double>(log_A_real_.W(m, c)));
  const Complex A(-decay, A_imag_.W(m, c)), C(C_.W(2 * m, c), C_.W(2 * m + 1, c)), z = z_(c, m),
                                                                                   E = E_(c, m);
  const Complex in_C = E * P, in_A = C * (P * (dt * z - E) / A + dt * E * Q),
                in_dt = C * (P * z + Q * E * A);
  C_.G(2 * m, c) += static_cast<T>(2 * in_C.real());
  C_.G(2 * m + 1, c) += static_cast<T>(-2 * in_C.imag());
  log_A_real_.G(m, c) += static_cast<T>(-2 * decay * in_A.real());
  A_imag_.G(m, c) += static_cast<T>(-2 * in_A.imag());
  log_dt_.G[c] += static_cast<T>(2 * dt * in_dt.real());
}

template class S4dMixer<float>;
template class S4dMixer<double>;

}  // namespace ranklab
