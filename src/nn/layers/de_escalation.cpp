#include "nn/layers/de_escalation.hpp"

#include <vector>

namespace ranklab {
namespace {

template <class T>
void add(arma::uword size, T factor, const T* from, T* to) {
  for (arma::uword i = 0; i < size; ++i) to[i] += factor * from[i];
}

/// Replaces a sequence that starts at X by X (I - tau C)'. `sum` holds `width` zeros.
template <class T>
void remove_mean(const DeEscalation& of, arma::uword width, T* X, T* sum) {
  const T tau = static_cast<T>(of.tau);
  if (of.mean == MeanOver::segment) {
    for (arma::uword t = 0; t < of.length; ++t) add(width, T(1), X + t * width, sum);
    for (arma::uword t = 0; t < of.length; ++t)
      add(width, -tau / static_cast<T>(of.length), sum, X + t * width);
    return;
  }
  const bool strict = of.mean == MeanOver::strict;
  for (arma::uword t = 0; t < of.length; ++t) {
    T* const x = X + t * width;
    const arma::uword seen = strict ? t : t + 1;
    const T factor = seen > 0 ? tau / static_cast<T>(seen) : T(0);
    for (arma::uword i = 0; i < width; ++i) {
      const T current = x[i], before = sum[i];
      sum[i] = before + current;
      x[i] = current - factor * (strict ? before : sum[i]);
    }
  }
}

/// dX_j = G_j - tau sum_i G_i / (number of tokens that i sees), over the tokens i that see j.
template <class T>
void remove_mean_backward(const DeEscalation& of, arma::uword width, T* G, T* sum) {
  if (of.mean == MeanOver::segment) return remove_mean(of, width, G, sum);  // C is symmetric
  const T tau = static_cast<T>(of.tau);
  const bool strict = of.mean == MeanOver::strict;
  for (arma::uword t = of.length; t-- > 0;) {
    T* const g = G + t * width;
    const arma::uword seen = strict ? t : t + 1;
    const T factor = seen > 0 ? tau / static_cast<T>(seen) : T(0);
    for (arma::uword i = 0; i < width; ++i) {
      const T current = g[i], after = sum[i];
      sum[i] = after + factor * current;
      g[i] = current - (strict ? after : sum[i]);
    }
  }
}

template <class T, class Each>
void for_each_sequence(arma::Mat<T>& X, arma::uword length, const Each& each) {
  std::vector<T> sum(X.n_rows);
  for (arma::uword first = 0; first < X.n_cols; first += length) {
    sum.assign(X.n_rows, T(0));
    each(X.colptr(first), sum.data());
  }
}

}  // namespace

template <class T>
void DeEscalation::forward(arma::Mat<T>& X) const {
  for_each_sequence(X, length, [&](T* x, T* sum) { remove_mean(*this, X.n_rows, x, sum); });
}

template <class T>
void DeEscalation::backward(arma::Mat<T>& G) const {
  for_each_sequence(G, length,
                    [&](T* g, T* sum) { remove_mean_backward(*this, G.n_rows, g, sum); });
}

namespace {

DeEscalation with_tau(DeEscalation of, double tau) {
  of.tau = tau;
  return of;
}

}  // namespace

template <class T>
void MeanRemoval<T>::forward(const DeEscalation& of, const Parameter<T>& tau, arma::Mat<T>& X) {
  if (!of.learns_tau) return of.forward(X);
  mean_ = X;
  with_tau(of, 1).forward(mean_);
  mean_ = X - mean_;
  X -= tau.W(0) * mean_;
}

template <class T>
void MeanRemoval<T>::backward(const DeEscalation& of, Parameter<T>& tau, arma::Mat<T>& G) {
  if (!of.learns_tau) return of.backward(G);
  tau.G(0) -= arma::dot(G, mean_);
  with_tau(of, static_cast<double>(tau.W(0))).backward(G);
}

template class MeanRemoval<float>;
template class MeanRemoval<double>;
template void DeEscalation::forward(arma::fmat&) const;
template void DeEscalation::forward(arma::mat&) const;
template void DeEscalation::backward(arma::fmat&) const;
template void DeEscalation::backward(arma::mat&) const;

}  // namespace ranklab
