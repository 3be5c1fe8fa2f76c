#include "nn/layers/cross_entropy.hpp"

#include <cmath>

#include "linalg/exponential.hpp"

namespace ranklab {

template <class T>
double cross_entropy(arma::Mat<T>& logits, const std::vector<std::uint32_t>& targets, bool gradient,
                     std::size_t cases) {
  const arma::uword V = logits.n_rows;
  const double all = static_cast<double>(cases > 0 ? cases : targets.size());
  const T share = static_cast<T>(1 / all);
  double total = 0;
  for (arma::uword n = 0; n < logits.n_cols; ++n) {
    T* const y = logits.colptr(n);
    T largest = y[0];
#pragma omp simd reduction(max : largest)
    for (arma::uword v = 0; v < V; ++v) largest = y[v] > largest ? y[v] : largest;
    const double at_target = static_cast<double>(y[targets[n]] - largest);
    Pack<T> sums = {};
    for_packs<T>(V, [&](std::size_t v, auto count) {
      const Pack<T> e = exponential(load(y + v, count) - largest);
      if (gradient) store(e, y + v, count);
      if (count == pack_size<T>) {
        sums += e;
      } else {
        for (std::size_t i = 0; i < count; ++i) sums[i] += e[i];
      }
    });
    T sum = 0;
    for (std::size_t i = 0; i < pack_size<T>; ++i) sum += sums[i];
    total += std::log(static_cast<double>(sum)) - at_target;
    if (!gradient) continue;
    const T scale = share / sum;
    for (arma::uword v = 0; v < V; ++v) y[v] *= scale;
    y[targets[n]] -= share;
  }
  return total / all;
}

template double cross_entropy<float>(arma::fmat&, const std::vector<std::uint32_t>&, bool,
                                     std::size_t);
template double cross_entropy<double>(arma::mat&, const std::vector<std::uint32_t>&, bool,
                                      std::size_t);

}  // namespace ranklab
