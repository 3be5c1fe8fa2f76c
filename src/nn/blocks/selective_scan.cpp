#include "nn/blocks/selective_scan.hpp"

#include <algorithm>

#include "linalg/exponential.hpp"

namespace ranklab {
namespace {

/// One pack per column.
template <class T>
using Packs = arma::Mat<T>;

template <class T>
inline constexpr std::integral_constant<std::size_t, pack_size<T>> whole_pack;

template <class T>
[[gnu::always_inline]] inline Pack<T> pack_at(const T* packs, arma::uword index) {
  return load(packs + index * pack_size<T>, whole_pack<T>);
}

template <class T>
[[gnu::always_inline]] inline void set_pack(const Pack<T>& x, T* packs, arma::uword index) {
  store(x, packs + index * pack_size<T>, whole_pack<T>);
}

/// exp(dt A), 0 if negligible.
template <class T>
[[gnu::always_inline]] inline Pack<T> decay(Pack<T> dt, Pack<T> A) {
  constexpr T least = std::is_same_v<T, float> ? T(1e-30) : T(1e-290);
  const Pack<T> factor = exponential(dt * A);
  return factor < least ? Pack<T>{} : factor;
}

/// Channels i ... of the columns of a matrix, one pack per column; missing channels are 0.
template <class T, class Count>
void take_channels(const arma::Mat<T>& of, std::size_t i, Count count, Packs<T>& packs) {
  packs.set_size(pack_size<T>, of.n_cols);
  for (arma::uword s = 0; s < of.n_cols; ++s)
    set_pack<T>(load(of.colptr(s) + i, count), packs.memptr(), s);
}

/// out[j] = the sum of the entries of pack j, for `count` packs.
template <class T>
void sum_entries(const T* packs, arma::uword count, T* out) {
  constexpr std::size_t w = pack_size<T>;
  for (arma::uword j = 0; j < count; j += w) {
    const std::size_t here = std::min<std::size_t>(w, count - j);
    Pack<T> rows[w] = {};
    for (std::size_t k = 0; k < here; ++k) rows[k] = pack_at(packs, j + k);
    transpose(rows);
    Pack<T> sum = rows[0];
    for (std::size_t k = 1; k < w; ++k) sum += rows[k];
    store(sum, out + j, here);
  }
}

/// For the channels i ... of one register: the inputs at token t.
template <class T, class Count>
struct ScanChannels {
  const ScanInputs<T>& in;
  std::size_t i;
  Count count;

  [[gnu::always_inline]] Pack<T> of(const T* rows, arma::uword t) const {
    return load(rows + t * in.A.n_rows + i, count);
  }
  [[gnu::always_inline]] Pack<T> dt(arma::uword t) const { return of(in.dt, t); }
  [[gnu::always_inline]] Pack<T> x(arma::uword t) const { return of(in.x, t); }
  [[gnu::always_inline]] Pack<T> D() const { return of(in.D.memptr(), 0); }
  [[gnu::always_inline]] const T* B(arma::uword t) const { return in.B + t * in.rows; }
  [[gnu::always_inline]] const T* C(arma::uword t) const { return in.C + t * in.rows; }
  [[gnu::always_inline]] void set(const Pack<T>& value, T* rows, arma::uword t) const {
    store(value, rows + t * in.A.n_rows + i, count);
  }
};

/// Buffers of the scan of one register of channels: n packs, or n packs per token, in token order.
template <class T>
struct ScanBuffers {
  Packs<T> A, h;        // h of one token; in the backward pass: column t has h_{t-1}
  Packs<T> decays;      // per token: a_t = exp(dt_t A)
  Packs<T> carried;     // a_{t+1} g_{t+1}
  Packs<T> dA, dB, dC;  // dB and dC per token; their entries are to be summed
};

template <class T>
ScanBuffers<T>& scan_buffers() {
  static thread_local ScanBuffers<T> buffers;
  return buffers;
}

template <class T, class Count>
void scan_channels(const ScanChannels<T, Count>& of, T* y) {
  const arma::uword n = of.in.A.n_cols;
  ScanBuffers<T>& buffers = scan_buffers<T>();
  take_channels(of.in.A, of.i, of.count, buffers.A);
  buffers.h.zeros(pack_size<T>, n);
  const T* const A = buffers.A.memptr();
  T* const h = buffers.h.memptr();
  const Pack<T> D = of.D();
  for (arma::uword t = 0; t < of.in.length; ++t) {
    const Pack<T> dt = of.dt(t), x = of.x(t), u = dt * x;
    const T *const B = of.B(t), *const C = of.C(t);
    Pack<T> sum = D * x;
    for (arma::uword s = 0; s < n; ++s) {
      const Pack<T> state = decay<T>(dt, pack_at(A, s)) * pack_at(h, s) + B[s] * u;
      set_pack<T>(state, h, s);
      sum += C[s] * state;
    }
    of.set(sum, y, t);
  }
}

/// The states of scan_channels() again: stores a_t and h_t of all tokens.
template <class T, class Count>
void store_states(const ScanChannels<T, Count>& of, ScanBuffers<T>& buffers) {
  const arma::uword n = of.in.A.n_cols, length = of.in.length;
  buffers.decays.set_size(pack_size<T>, n * length);
  buffers.h.set_size(pack_size<T>, n * (length + 1));
  std::fill_n(buffers.h.memptr(), pack_size<T> * n, T(0));
  const T* const A = buffers.A.memptr();
  for (arma::uword t = 0; t < length; ++t) {
    const Pack<T> dt = of.dt(t), u = dt * of.x(t);
    const T *const B = of.B(t), *const before = buffers.h.colptr(t * n);
    T *const decays = buffers.decays.colptr(t * n), *const after = buffers.h.colptr((t + 1) * n);
    for (arma::uword s = 0; s < n; ++s) {
      const Pack<T> factor = decay<T>(dt, pack_at(A, s));
      set_pack<T>(factor, decays, s);
      set_pack<T>(factor * pack_at(before, s) + B[s] * u, after, s);
    }
  }
}

/// With g_t the gradient in h_t: g_t = C_t dy_t + a_{t+1} g_{t+1}. Adds to dB and dC of the
/// buffers.
template <class T, class Count>
void scan_channels_backward(const ScanChannels<T, Count>& of, const T* dy,
                            const ScanGradients<T>& out) {
  const arma::uword n = of.in.A.n_cols;
  ScanBuffers<T>& buffers = scan_buffers<T>();
  take_channels(of.in.A, of.i, of.count, buffers.A);
  store_states(of, buffers);
  for (Packs<T>* of_states : {&buffers.dA, &buffers.carried}) of_states->zeros(pack_size<T>, n);
  const T* const A = buffers.A.memptr();
  T *const dA = buffers.dA.memptr(), *const carried = buffers.carried.memptr();
  const Pack<T> D = of.D();
  Pack<T> in_D = {};
  for (arma::uword t = of.in.length; t-- > 0;) {
    const Pack<T> dt = of.dt(t), x = of.x(t), u = dt * x, dy_t = of.of(dy, t);
    const T *const B = of.B(t), *const C = of.C(t);
    const T *const decays = buffers.decays.colptr(t * n), *const before = buffers.h.colptr(t * n),
                   *const after = buffers.h.colptr((t + 1) * n);
    T *const dB = buffers.dB.colptr(t * n), *const dC = buffers.dC.colptr(t * n);
    Pack<T> in_u = {}, in_dt = {};
    for (arma::uword s = 0; s < n; ++s) {
      set_pack<T>(pack_at(dC, s) + dy_t * pack_at(after, s), dC, s);
      const Pack<T> g = C[s] * dy_t + pack_at(carried, s);
      set_pack<T>(pack_at(dB, s) + g * u, dB, s);
      in_u += B[s] * g;
      const Pack<T> decayed = pack_at(decays, s) * g,
                    in_exponent = decayed * pack_at(before, s);  // in dt A
      set_pack<T>(decayed, carried, s);
      set_pack<T>(pack_at(dA, s) + dt * in_exponent, dA, s);
      in_dt += pack_at(A, s) * in_exponent;
    }
    in_D += dy_t * x;
    of.set(in_dt + in_u * x, out.dt, t);
    of.set(in_u * dt + D * dy_t, out.x, t);
  }
  const auto add = [&](const Pack<T>& more, T* sum) {
    store(load(sum + of.i, of.count) + more, sum + of.i, of.count);
  };
  for (arma::uword s = 0; s < n; ++s) add(pack_at(dA, s), out.A.colptr(s));
  add(in_D, out.D.memptr());
}

template <class T, class Count>
ScanChannels<T, Count> channels_of(const ScanInputs<T>& in, std::size_t i, Count count) {
  return {in, i, count};
}

}  // namespace

template <class T>
void compute_steps(const arma::Mat<T>& bias, arma::Mat<T>& dt, arma::Mat<T>& slopes) {
  slopes.set_size(arma::size(dt));
  for (arma::uword t = 0; t < dt.n_cols; ++t) {
    T *const step = dt.colptr(t), *const slope = slopes.colptr(t);
    for_packs<T>(dt.n_rows, [&](std::size_t i, auto count) {
      const Point<Pack<T>> at = softplus(load(step + i, count) + load(bias.memptr() + i, count));
      store(at.value, step + i, count);
      store(at.slope, slope + i, count);
    });
  }
}

template <class T>
void selective_scan(const ScanInputs<T>& in, T* y) {
  for_packs<T>(in.A.n_rows,
               [&](std::size_t i, auto count) { scan_channels(channels_of(in, i, count), y); });
}

template <class T>
void selective_scan_backward(const ScanInputs<T>& in, const T* dy, const ScanGradients<T>& out) {
  const arma::uword n = in.A.n_cols;
  ScanBuffers<T>& buffers = scan_buffers<T>();
  for (Packs<T>* of_tokens : {&buffers.dB, &buffers.dC})
    of_tokens->zeros(pack_size<T>, n * in.length);
  for_packs<T>(in.A.n_rows, [&](std::size_t i, auto count) {
    scan_channels_backward(channels_of(in, i, count), dy, out);
  });
  for (arma::uword t = 0; t < in.length; ++t) {
    sum_entries(buffers.dB.colptr(t * n), n, out.B + t * in.rows);
    sum_entries(buffers.dC.colptr(t * n), n, out.C + t * in.rows);
  }
}

template void compute_steps(const arma::Mat<float>&, arma::Mat<float>&, arma::Mat<float>&);
template void selective_scan(const ScanInputs<float>&, float*);
template void selective_scan_backward(const ScanInputs<float>&, const float*,
                                      const ScanGradients<float>&);
template void compute_steps(const arma::Mat<double>&, arma::Mat<double>&, arma::Mat<double>&);
template void selective_scan(const ScanInputs<double>&, double*);
template void selective_scan_backward(const ScanInputs<double>&, const double*,
                                      const ScanGradients<double>&);

}  // namespace ranklab
