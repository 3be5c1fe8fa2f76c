#include "nn/layers/step_size.hpp"

#include <cmath>

#include "nn/blocks/state_space.hpp"

namespace ranklab {

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
Parameter<T> mapped_uniform(const InitialWeights& initial, const char* name, arma::uword size,
                            double low, double high, double (*map)(double)) {
  Parameter<double> drawn = initial.uniform<double>(name, size, 1, low, high);
  drawn.W.transform(map);
  return {.name = std::move(drawn.name),
          .W = arma::conv_to<arma::Mat<T>>::from(drawn.W),
          .decays = false};
}

template <class T>
Parameter<T> initial_dt_bias(const InitialWeights& initial, arma::uword size) {
  return mapped_uniform<T>(initial, "dt_bias", size, std::log(1e-3), std::log(1e-1), bias_of_step);
}

#define RANKLAB_STEP_SIZE(T)                                                                    \
  template void compute_steps(const arma::Mat<T>&, arma::Mat<T>&, arma::Mat<T>&);               \
  template Parameter<T> mapped_uniform(const InitialWeights&, const char*, arma::uword, double, \
                                       double, double (*)(double));                             \
  template Parameter<T> initial_dt_bias(const InitialWeights&, arma::uword);
RANKLAB_STEP_SIZE(float)
RANKLAB_STEP_SIZE(double)
#undef RANKLAB_STEP_SIZE

}  // namespace ranklab
