#include "training/activation.hpp"

#include <cmath>
#include <numbers>
#include <type_traits>

#include "training/exponential.hpp"

namespace ranklab {
namespace {

// sigma(z) and sigma'(z) in T, of the activations that language models use; the others go through models/activations in double.
template <class T>
Point<T> relu(T z) {
  return {z > 0 ? z : T(0), z > 0 ? T(1) : T(0)};
}
template <class T>
Point<T> relu_squared(T z) {
  const T positive = z > 0 ? z : T(0);
  return {positive * positive, 2 * positive};
}
/// Phi(z), the normal distribution, where exp(-z^2 / 2) is known already. In float by Abramowitz, Stegun 7.1.26, good to 1e-7
/// absolutely: erfc is a call, which no compiler makes vector instructions of.
template <class T>
[[gnu::always_inline]] inline T normal_distribution(T z, [[maybe_unused]] T gaussian) {
  if constexpr (std::is_same_v<T, double>) {
    return 0.5 * std::erfc(-z * (1 / std::numbers::sqrt2));
  } else {
    const T t = 1 / (1 + T(0.3275911 / std::numbers::sqrt2) * std::fabs(z));
    const T series =
        t * (T(0.254829592) + t * (T(-0.284496736) + t * (T(1.421413741) + t * (T(-1.453152027) + t * T(1.061405429)))));
    const T tail = T(0.5) * series * gaussian;  // Phi(-|z|)
    return z > 0 ? 1 - tail : tail;
  }
}

// Inline, as silu is by itself: called from a loop it would not become vector instructions.
template <class T>
[[gnu::always_inline]] inline Point<T> gelu(T z) {
  const T gaussian = exponential(T(-0.5) * z * z), distribution = normal_distribution(z, gaussian);
  return {z * distribution, distribution + z * gaussian * T(std::numbers::inv_sqrtpi / std::numbers::sqrt2)};
}

/// visit(point), a function that gives value and slope at z.
template <class T, class Visit>
void with_points(const Activation& sigma, const Visit& visit) {
  if (sigma.name == "relu") {
    visit([](T z) { return relu(z); });
  } else if (sigma.name == "relu2") {
    visit([](T z) { return relu_squared(z); });
  } else if (sigma.name == "silu" || sigma.name == "swiglu") {
    visit([](T z) { return silu(z); });
  } else if (sigma.name == "gelu") {
    visit([](T z) __attribute__((always_inline)) { return gelu(z); });
  } else {
    visit([&](T z) {
      const double t = static_cast<double>(z);
      return Point<T>{static_cast<T>(sigma.value(t)), static_cast<T>(sigma.derivative(t))};
    });
  }
}

}  // namespace

template <class T>
void activate(const Activation& sigma, const arma::Mat<T>& Z, const arma::Mat<T>& M, arma::Mat<T>& S) {
  S.set_size(Z.n_rows, Z.n_cols);
  const T *const z = Z.memptr(), *const m = M.memptr();
  T* const s = S.memptr();
  const arma::uword size = Z.n_elem;
  with_points<T>(sigma, [&](const auto& point) {
    if (sigma.gated) {
      for (arma::uword i = 0; i < size; ++i) s[i] = point(z[i]).value * m[i];
    } else {
      for (arma::uword i = 0; i < size; ++i) s[i] = point(z[i]).value;
    }
  });
}

template <class T>
void activate_backward(const Activation& sigma, const arma::Mat<T>& Z, const arma::Mat<T>& M, const arma::Mat<T>& dS,
                       arma::Mat<T>& dZ, arma::Mat<T>& dM) {
  dZ.set_size(Z.n_rows, Z.n_cols);
  if (sigma.gated) dM.set_size(Z.n_rows, Z.n_cols);
  const T *const z = Z.memptr(), *const m = M.memptr(), *const ds = dS.memptr();
  T *const dz = dZ.memptr(), *const dm = dM.memptr();
  const arma::uword size = Z.n_elem;
  with_points<T>(sigma, [&](const auto& point) {
    if (sigma.gated) {
      for (arma::uword i = 0; i < size; ++i) {
        const Point<T> at = point(z[i]);
        const T g = ds[i];
        dm[i] = at.value * g;
        dz[i] = at.slope * m[i] * g;
      }
    } else {
      for (arma::uword i = 0; i < size; ++i) dz[i] = point(z[i]).slope * ds[i];
    }
  });
}

template void activate<float>(const Activation&, const arma::fmat&, const arma::fmat&, arma::fmat&);
template void activate<double>(const Activation&, const arma::mat&, const arma::mat&, arma::mat&);
template void activate_backward<float>(const Activation&, const arma::fmat&, const arma::fmat&, const arma::fmat&, arma::fmat&,
                                       arma::fmat&);
template void activate_backward<double>(const Activation&, const arma::mat&, const arma::mat&, const arma::mat&, arma::mat&,
                                        arma::mat&);

}  // namespace ranklab
