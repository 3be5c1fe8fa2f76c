#include "nn/layers/initial_weights.hpp"

#include <cmath>

namespace ranklab {
namespace {

template <class T>
Parameter<T> make_parameter(const std::string& name, const arma::mat& W, bool decays) {
  return {.name = name, .W = arma::conv_to<arma::Mat<T>>::from(W), .decays = decays};
}

double fan_in_scale(arma::uword inputs) {
  return 1 / std::sqrt(static_cast<double>(inputs));
}

template <class T>
Parameter<T> with_decay(Parameter<T> drawn) {
  drawn.decays = true;
  return drawn;
}

}  // namespace

double InitialWeights::deviation(arma::uword inputs) const {
  switch (law_) {
    case WeightLaw::small:
    case WeightLaw::gpt2:
      return 0.02;
    case WeightLaw::normal:
      return deviation_;
    case WeightLaw::modded:
      return 0.5 / std::sqrt(static_cast<double>(inputs));
    default:
      return fan_in_scale(inputs);
  }
}

template <class T>
Parameter<T> InitialWeights::map(const std::string& name, arma::uword out, arma::uword in) const {
  if (law_ == WeightLaw::torch || law_ == WeightLaw::alg1) {
    return with_decay(uniform<T>(name, out, in, -fan_in_scale(in), fan_in_scale(in)));
  }
  return value_map<T>(name, out, in);
}

template <class T>
Parameter<T> InitialWeights::table(const std::string& name, arma::uword width,
                                   arma::uword entries) const {
  const bool unit = law_ == WeightLaw::modded || law_ == WeightLaw::gauss;
  return with_decay(normal<T>(name, width, entries, unit ? 1.0 : deviation(width)));
}

template <class T>
Parameter<T> InitialWeights::map_into_stream(const std::string& name, arma::uword out,
                                             arma::uword in) const {
  if (law_ == WeightLaw::gpt2) return with_decay(normal<T>(name, out, in, deviation_));
  return head<T>(name, out, in);
}

template <class T>
Parameter<T> InitialWeights::head(const std::string& name, arma::uword out, arma::uword in) const {
  if (law_ == WeightLaw::modded) return with_decay(constant<T>(name, out, in, 0.0));
  return map<T>(name, out, in);
}

template <class T>
Parameter<T> InitialWeights::value_map(const std::string& name, arma::uword out,
                                       arma::uword in) const {
  if (law_ == WeightLaw::torch) return map<T>(name, out, in);
  return with_decay(normal<T>(name, out, in, deviation(in)));
}

template <class T>
Parameter<T> InitialWeights::bias(const std::string& name, arma::uword out, arma::uword in) const {
  return law_ == WeightLaw::torch ? uniform<T>(name, out, 1, -fan_in_scale(in), fan_in_scale(in))
                                  : constant<T>(name, out, 1, 0.0);
}

template <class T>
Parameter<T> InitialWeights::normal(const std::string& name, arma::uword rows, arma::uword columns,
                                    double standard_deviation) const {
  if (law_ == WeightLaw::zero) return constant<T>(name, rows, columns, 0.0);
  arma::mat W(rows, columns);
  streams_.stream(prefix_ + name).fill_normal({W.memptr(), W.n_elem}, standard_deviation);
  return make_parameter<T>(prefix_ + name, W, false);
}

template <class T>
Parameter<T> InitialWeights::uniform(const std::string& name, arma::uword rows, arma::uword columns,
                                     double low, double high) const {
  if (law_ == WeightLaw::zero) return constant<T>(name, rows, columns, 0.0);
  arma::mat W(rows, columns);
  streams_.stream(prefix_ + name).fill_uniform({W.memptr(), W.n_elem}, low, high);
  return make_parameter<T>(prefix_ + name, W, false);
}

template <class T>
Parameter<T> InitialWeights::constant(const std::string& name, arma::uword rows,
                                      arma::uword columns, double value) const {
  return make_parameter<T>(prefix_ + name, arma::mat(rows, columns, arma::fill::value(value)),
                           false);
}

#define RANKLAB_INITIAL_WEIGHTS(T)                                                                 \
  template Parameter<T> InitialWeights::map<T>(const std::string&, arma::uword, arma::uword)       \
      const;                                                                                       \
  template Parameter<T> InitialWeights::table<T>(const std::string&, arma::uword, arma::uword)     \
      const;                                                                                       \
  template Parameter<T> InitialWeights::map_into_stream<T>(const std::string&, arma::uword,        \
                                                           arma::uword) const;                     \
  template Parameter<T> InitialWeights::head<T>(const std::string&, arma::uword, arma::uword)      \
      const;                                                                                       \
  template Parameter<T> InitialWeights::value_map<T>(const std::string&, arma::uword, arma::uword) \
      const;                                                                                       \
  template Parameter<T> InitialWeights::bias<T>(const std::string&, arma::uword, arma::uword)      \
      const;                                                                                       \
  template Parameter<T> InitialWeights::normal<T>(const std::string&, arma::uword, arma::uword,    \
                                                  double) const;                                   \
  template Parameter<T> InitialWeights::uniform<T>(const std::string&, arma::uword, arma::uword,   \
                                                   double, double) const;                          \
  template Parameter<T> InitialWeights::constant<T>(const std::string&, arma::uword, arma::uword,  \
                                                    double) const;
RANKLAB_INITIAL_WEIGHTS(float)
RANKLAB_INITIAL_WEIGHTS(double)
#undef RANKLAB_INITIAL_WEIGHTS

}  // namespace ranklab
