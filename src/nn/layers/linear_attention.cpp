#include "nn/layers/linear_attention.hpp"

#include "linalg/exponential.hpp"
#include "linalg/product.hpp"
#include "nn/layers/norm.hpp"

namespace ranklab {

template <class T>
LinearAttentionMixer<T>::LinearAttentionMixer(arma::uword dim, arma::uword length, bool causal,
                                              const InitialWeights& initial)
    : dim_(dim),
      length_(length),
      epsilon_(causal ? 1e-12 : 1e-6),
      Wq_(initial.map<T>("Wq", dim, dim)),
      Wk_(initial.map<T>("Wk", dim, dim)),
      Wv_(initial.map<T>("Wv", dim, dim)),
      Wo_(initial.map<T>("Wo", dim, dim)),
      mask_(length, length, arma::fill::ones),
      W_(3 * dim, dim),
      dP_(length, length) {
  if (causal) mask_ = arma::trimatu(mask_);
}

template <class T>
void LinearAttentionMixer<T>::do_prepare() {
  W_.head_rows(dim_) = Wq_.W;
  W_.rows(dim_, 2 * dim_ - 1) = Wk_.W;
  W_.tail_rows(dim_) = Wo_.W * Wv_.W;
  dW_.zeros(arma::size(W_));
}

template <class T>
void LinearAttentionMixer<T>::do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  const arma::uword d = dim_, rows = 3 * d, N = X.n_cols;
  qkv_.set_size(rows, N);
  P_.set_size(length_, N);
  inverse_.set_size(N);
  Y.set_size(d, N);
  product(CblasNoTrans, CblasNoTrans, rows, N, d, T(1), W_.memptr(), rows, X.memptr(), d,
          qkv_.memptr(), rows);
  for (arma::uword first = 0; first < N; first += length_) attend(first, Y.colptr(first));
}

template <class T>
void LinearAttentionMixer<T>::attend(arma::uword first, T* Y) {
  const arma::uword d = dim_, rows = 3 * d;
  T* const q = qkv_.colptr(first);
  const T *const k = q + d, *const v = k + d;
  for (arma::uword t = 0; t < length_; ++t) {
    T* const x = q + t * rows;
    for_packs<T>(2 * d, [&](std::size_t i, auto count) {
      const Pack<T> u = load(x + i, count);
      store(u > T(0) ? u + T(1) : exponential(u), x + i, count);
    });
  }
  product(CblasTrans, CblasNoTrans, length_, length_, d, T(1), k, rows, q, rows, P_.colptr(first),
          length_);
  for (arma::uword i = 0; i < length_; ++i) {
    T* const P = P_.colptr(first + i);
    const T* const mask = mask_.colptr(i);
    const T inverse = 1 / (product_of(P, mask, length_) + static_cast<T>(epsilon_));
    for (arma::uword j = 0; j < length_; ++j) P[j] *= mask[j] * inverse;
    inverse_[first + i] = inverse;
  }
  product(CblasNoTrans, CblasNoTrans, d, length_, length_, T(1), v, rows, P_.colptr(first), length_,
          Y, d);
}

template <class T>
void LinearAttentionMixer<T>::do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY,
                                          arma::Mat<T>& dX, Turns& turns) {
  const arma::uword d = dim_, rows = 3 * d, N = X.n_cols;
  dqkv_.set_size(rows, N);
  for (arma::uword first = 0; first < N; first += length_)
    attend_backward(first, dY.colptr(first), dqkv_.colptr(first));
  const T* const g = dqkv_.memptr();
  turns.take([&] {
    product(CblasNoTrans, CblasTrans, rows, d, N, T(1), g, rows, X.memptr(), d, dW_.memptr(), rows,
            T(1));
  });
  dX.set_size(d, N);
  product(CblasTrans, CblasNoTrans, d, N, rows, T(1), W_.memptr(), rows, g, rows, dX.memptr(), d);
}

template <class T>
void LinearAttentionMixer<T>::do_finish() {
  Wq_.G += dW_.head_rows(dim_);
  Wk_.G += dW_.rows(dim_, 2 * dim_ - 1);
  Wo_.G += dW_.tail_rows(dim_) * Wv_.W.t();
  Wv_.G += Wo_.W.t() * dW_.tail_rows(dim_);
  dW_.zeros();
}

// With P_ji = k_j'q_i / den_i and dP_ji = v_j'dy_i, the gradient in k_j'q_i is (dP_ji - sum_j P_ji
// dP_ji) / den_i. The derivative of phi is 1 if phi > 1, otherwise phi.
template <class T>
void LinearAttentionMixer<T>::attend_backward(arma::uword first, const T* dY, T* dqkv) {
  const arma::uword d = dim_, rows = 3 * d;
  const T *const q = qkv_.colptr(first), *const k = q + d, *const v = k + d,
                 *const P = P_.colptr(first);
  T *const dq = dqkv, *const dk = dq + d, *const dv = dk + d, *const dP = dP_.memptr();
  product(CblasTrans, CblasNoTrans, length_, length_, d, T(1), v, rows, dY, d, dP, length_);
  product(CblasNoTrans, CblasTrans, d, length_, length_, T(1), dY, d, P, length_, dv, rows);
  for (arma::uword i = 0; i < length_; ++i) {
    T* const at = dP + i * length_;
    const T* const mask = mask_.colptr(i);
    const T along = product_of(P + i * length_, at, length_), inverse = inverse_[first + i];
    for (arma::uword j = 0; j < length_; ++j) at[j] = (at[j] - along) * inverse * mask[j];
  }
  product(CblasNoTrans, CblasNoTrans, d, length_, length_, T(1), k, rows, dP, length_, dq, rows);
  product(CblasNoTrans, CblasTrans, d, length_, length_, T(1), q, rows, dP, length_, dk, rows);
  for (arma::uword t = 0; t < length_; ++t) {
    const T* const phi = q + t * rows;
    T* const in_phi = dq + t * rows;
    for (arma::uword i = 0; i < 2 * d; ++i) in_phi[i] *= phi[i] > 1 ? T(1) : phi[i];
  }
}

template class LinearAttentionMixer<float>;
template class LinearAttentionMixer<double>;

}  // namespace ranklab
