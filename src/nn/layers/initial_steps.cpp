#include "nn/layers/initial_steps.hpp"

#include <cmath>

#include "nn/blocks/state_space.hpp"

namespace ranklab {

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

#define RANKLAB_INITIAL_STEPS(T)                                                                \
  template Parameter<T> mapped_uniform(const InitialWeights&, const char*, arma::uword, double, \
                                       double, double (*)(double));                             \
  template Parameter<T> initial_dt_bias(const InitialWeights&, arma::uword);
RANKLAB_INITIAL_STEPS(float)
RANKLAB_INITIAL_STEPS(double)
#undef RANKLAB_INITIAL_STEPS

}  // namespace ranklab
