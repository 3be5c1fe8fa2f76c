#include "training/layers/cross_entropy.hpp"

#include <cmath>

#include "training/layers/exponential.hpp"

namespace ranklab {

template <class T>
double cross_entropy(arma::Mat<T>& logits, const std::vector<std::uint32_t>& targets, bool gradient) {
  const arma::uword V = logits.n_rows;
  const T share = 1 / static_cast<T>(targets.size());
  double total = 0;
  for (arma::uword n = 0; n < logits.n_cols; ++n) {
    T* const y = logits.colptr(n);
    T largest = y[0];
#pragma omp simd reduction(max : largest)
    for (arma::uword v = 0; v < V; ++v) largest = y[v] > largest ? y[v] : largest;
    const double at_target = static_cast<double>(y[targets[n]] - largest);
    for_packs<T>(V, [&](std::size_t v, auto count) { store(exponential(load(y + v, count) - largest), y + v, count); });
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (arma::uword v = 0; v < V; ++v) sum += y[v];
    total += std::log(static_cast<double>(sum)) - at_target;
    if (!gradient) continue;
    const T scale = share / sum;
    for (arma::uword v = 0; v < V; ++v) y[v] *= scale;
    y[targets[n]] -= share;
  }
  return total / static_cast<double>(targets.size());
}

template double cross_entropy<float>(arma::fmat&, const std::vector<std::uint32_t>&, bool);
template double cross_entropy<double>(arma::mat&, const std::vector<std::uint32_t>&, bool);

}  // namespace ranklab
