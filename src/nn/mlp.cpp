#include "nn/mlp.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace ranklab {
namespace {

template <class T>
arma::Mat<T> draw_layer(const Streams& streams, const std::string& stream, std::uint64_t rows,
                        std::uint64_t fan_in) {
  // Drawn in double precision for any T, so that a single-precision run sees the same matrices,
  // rounded.
  arma::mat drawn(rows, fan_in, arma::fill::none);
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  streams.stream(stream).fill_uniform({drawn.memptr(), drawn.n_elem}, -bound, bound);
  return arma::conv_to<arma::Mat<T>>::from(drawn);
}

/// A = max(Z, 0)^2 and Z <- 2 max(Z, 0): identical to `activate`, without two calls per entry.
template <class T>
void activate_squared_relu(arma::Mat<T>& Z, arma::Mat<T>& A) {
  A.set_size(Z.n_rows, Z.n_cols);
  T* const z = Z.memptr();
  T* const a = A.memptr();
  for (arma::uword i = 0; i < Z.n_elem; ++i) {
    const T positive = z[i] > 0 ? z[i] : T{0};
    a[i] = positive * positive;
    z[i] = 2 * positive;
  }
}

/// A = sigma(Z), and Z <- dA / dZ, for an activation of one argument.
template <class T>
void activate(const Activation& sigma, arma::Mat<T>& Z, arma::Mat<T>& A) {
  A.set_size(Z.n_rows, Z.n_cols);
  for (arma::uword i = 0; i < Z.n_elem; ++i) {
    const double z = static_cast<double>(Z[i]);
    A[i] = static_cast<T>(sigma.value(z));
    Z[i] = static_cast<T>(sigma.derivative(z));
  }
}

/// A = sigma(z) o g for Z = [z; g]. Z becomes [dA/dz; dA/dg] = [sigma'(z) o g; sigma(z)].
template <class T>
void activate_gated(const Activation& sigma, arma::Mat<T>& Z, arma::Mat<T>& A) {
  const arma::uword h = Z.n_rows / 2;
  A.set_size(h, Z.n_cols);
  for (arma::uword j = 0; j < Z.n_cols; ++j) {
    T* const z = Z.colptr(j);
    T* const g = z + h;
    T* const a = A.colptr(j);
    for (arma::uword i = 0; i < h; ++i) {
      const double t = static_cast<double>(z[i]), gate = static_cast<double>(g[i]),
                   value = sigma.value(t);
      a[i] = static_cast<T>(value * gate);
      z[i] = static_cast<T>(sigma.derivative(t) * gate);
      g[i] = static_cast<T>(value);
    }
  }
}

/// Replaces dA/dZ by dLoss/dZ = dA/dZ o dLoss/dA, for both halves of a gated layer.
template <class T>
void multiply_slope(arma::Mat<T>& slope, const arma::Mat<T>& dA) {
  const arma::uword h = dA.n_rows;
  for (arma::uword row = 0; row < slope.n_rows; row += h) slope.rows(row, row + h - 1) %= dA;
}

}  // namespace

template <class T>
Mlp<T> Mlp<T>::draw(const Streams& streams, std::uint64_t d, std::uint64_t width,
                    std::uint64_t hidden_layers, const Activation& sigma,
                    const std::string& prefix) {
  Mlp net{&sigma, {}};
  const std::uint64_t rows = sigma.gated ? 2 * width : width;
  for (std::uint64_t l = 1; l <= hidden_layers; ++l)
    net.W.push_back(
        draw_layer<T>(streams, prefix + "W" + std::to_string(l), rows, l == 1 ? d : width));
  net.W.push_back(
      draw_layer<T>(streams, prefix + "W" + std::to_string(hidden_layers + 1), 1, width));
  return net;
}

template <class T>
void Mlp<T>::forward(const arma::Mat<T>& X, MlpPass<T>& pass) const {
  if (X.n_rows != W.front().n_cols)
    throw std::logic_error("the inputs do not fit the first layer of the net");
  const std::size_t hidden = W.size() - 1;
  pass.X = &X;
  pass.A.resize(hidden);
  pass.Z.resize(pass.keeps_Z ? hidden : 0);
  pass.slope.resize(hidden);
  for (std::size_t l = 0; l < hidden; ++l) {
    pass.slope[l] = W[l] * pass.input(l);
    if (pass.keeps_Z) pass.Z[l] = pass.slope[l];
    if (sigma->gated) {
      activate_gated(*sigma, pass.slope[l], pass.A[l]);
    } else if (sigma->name == "relu2") {
      activate_squared_relu(pass.slope[l], pass.A[l]);
    } else {
      activate(*sigma, pass.slope[l], pass.A[l]);
    }
  }
  pass.output = W.back() * pass.input(hidden);
}

template <class T>
void Mlp<T>::backward(MlpPass<T>& pass) const {
  pass.G.resize(W.size());
  const arma::Mat<T>* D = &pass.d_output;  // dLoss/dZ of the layer above, starting from the last
  arma::Mat<T> dA;
  for (std::size_t l = W.size() - 1; l > 0; --l) {
    pass.G[l] = *D * pass.input(l).t();
    dA = W[l].t() * *D;
    multiply_slope(pass.slope[l - 1], dA);
    D = &pass.slope[l - 1];
  }
  pass.G[0] = *D * pass.X->t();
}

template <class T>
void set_mean_squared_error(const arma::Mat<T>& y, MlpPass<T>& pass) {
  const double n = static_cast<double>(y.n_cols);
  double squares = 0;
  pass.d_output.set_size(arma::size(pass.output));
  for (arma::uword i = 0; i < y.n_elem; ++i) {
    const double residual = static_cast<double>(pass.output(i)) - static_cast<double>(y(i));
    squares += residual * residual;
    pass.d_output(i) = static_cast<T>(2 / n * residual);
  }
  pass.loss = squares / n;
}

template struct Mlp<float>;
template struct Mlp<double>;
template void set_mean_squared_error<float>(const arma::fmat&, MlpPass<float>&);
template void set_mean_squared_error<double>(const arma::mat&, MlpPass<double>&);

}  // namespace ranklab
