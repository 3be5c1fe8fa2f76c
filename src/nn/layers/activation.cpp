#include "nn/layers/activation.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <type_traits>

#include "linalg/exponential.hpp"

namespace ranklab {
namespace {

// sigma(z) and sigma'(z) on packs, for the activations of language models. The others use
// ensembles/activations in double precision.
template <class V>
[[gnu::always_inline]] inline V positive_part(V z) {
  return z > EntryOf<V>(0) ? z : V{};
}
template <class V>
[[gnu::always_inline]] inline Point<V> relu(V z) {
  return {positive_part(z), z > EntryOf<V>(0) ? all(EntryOf<V>(1)) : V{}};
}
template <class V>
[[gnu::always_inline]] inline Point<V> relu_squared(V z) {
  const V positive = positive_part(z);
  return {positive * positive, EntryOf<V>(2) * positive};
}

/// Calls f for each entry.
template <class V, class F>
[[gnu::always_inline]] inline V one_by_one(V z, const F& f) {
  for (std::size_t i = 0; i < pack_size<EntryOf<V>>; ++i)
    z[i] = static_cast<EntryOf<V>>(f(static_cast<double>(z[i])));
  return z;
}

/// The normal distribution Phi(z), given exp(-z^2 / 2). In float by Abramowitz and Stegun 7.1.26,
/// with an absolute error of 1e-7, because erfc is a function call.
template <class V>
[[gnu::always_inline]] inline V normal_distribution(V z, [[maybe_unused]] V gaussian) {
  using T = EntryOf<V>;
  if constexpr (std::is_same_v<T, double>) {
    return one_by_one(z, [](double t) { return 0.5 * std::erfc(-t * (1 / std::numbers::sqrt2)); });
  } else {
    const V t = T(1) / (T(1) + T(0.3275911 / std::numbers::sqrt2) * absolute(z));
    const V series =
        t *
        (T(0.254829592) +
         t * (T(-0.284496736) + t * (T(1.421413741) + t * (T(-1.453152027) + t * T(1.061405429)))));
    const V tail = T(0.5) * series * gaussian;  // Phi(-|z|)
    return z > T(0) ? T(1) - tail : tail;
  }
}

template <class V>
[[gnu::always_inline]] inline Point<V> gelu(V z) {
  using T = EntryOf<V>;
  const V gaussian = exponential(T(-0.5) * z * z), distribution = normal_distribution(z, gaussian);
  return {z * distribution,
          distribution + z * gaussian * T(std::numbers::inv_sqrtpi / std::numbers::sqrt2)};
}

/// Calls visit(point), where point(z) returns value and slope for a pack.
template <class T, class Visit>
void with_points(const Activation& sigma, const Visit& visit) {
  using V = Pack<T>;
  if (sigma.name == "relu") {
    visit([](V z) { return relu(z); });
  } else if (sigma.name == "relu2") {
    visit([](V z) { return relu_squared(z); });
  } else if (sigma.name == "silu" || sigma.name == "swiglu") {
    visit([](V z) { return silu(z); });
  } else if (sigma.name == "gelu") {
    visit([](V z) __attribute__((always_inline)) { return gelu(z); });
  } else {
    visit([&](V z) {
      return Point<V>{one_by_one(z, sigma.value), one_by_one(z, sigma.derivative)};
    });
  }
}

/// Whether the backward pass computes sigma' from Z, because that takes less time than to store it.
bool keeps_inputs(const Activation& sigma) {
  return sigma.name == "relu" || sigma.name == "relu2";
}

}  // namespace

template <class T>
void activate(const Activation& sigma, arma::Mat<T>& Z, arma::Mat<T>* M, arma::Mat<T>& S) {
  if (sigma.gated != (M != nullptr)) throw std::logic_error("a gate for gated activations only");
  S.set_size(Z.n_rows, Z.n_cols);
  const bool keeps = keeps_inputs(sigma);
  T *const z = Z.memptr(), *const m = M ? M->memptr() : nullptr, *const s = S.memptr();
  with_points<T>(sigma, [&](const auto& point) {
    for_packs<T>(Z.n_elem, [&](std::size_t i, auto count) {
      const Point<Pack<T>> at = point(load(z + i, count));
      if (m) {
        const Pack<T> gate = load(m + i, count);
        store(at.value * gate, s + i, count);
        store(at.slope * gate, z + i, count);
        store(at.value, m + i, count);
      } else {
        store(at.value, s + i, count);
        if (!keeps) store(at.slope, z + i, count);
      }
    });
  });
}

template <class T>
void activate_backward(const Activation& sigma, const arma::Mat<T>& Z, arma::Mat<T>& dS) {
  if (!keeps_inputs(sigma)) {
    dS %= Z;
    return;
  }
  const T* const z = Z.memptr();
  T* const ds = dS.memptr();
  with_points<T>(sigma, [&](const auto& point) {
    for_packs<T>(Z.n_elem, [&](std::size_t i, auto count) {
      store(load(ds + i, count) * point(load(z + i, count)).slope, ds + i, count);
    });
  });
}

template void activate<float>(const Activation&, arma::fmat&, arma::fmat*, arma::fmat&);
template void activate<double>(const Activation&, arma::mat&, arma::mat*, arma::mat&);
template void activate_backward<float>(const Activation&, const arma::fmat&, arma::fmat&);
template void activate_backward<double>(const Activation&, const arma::mat&, arma::mat&);

}  // namespace ranklab
