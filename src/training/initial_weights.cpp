#include "training/initial_weights.hpp"

#include <cmath>

namespace ranklab {
namespace {

template <class T>
Parameter<T> made_of(const std::string& name, const arma::mat& W, bool decays) {
  return {.name = name, .W = arma::conv_to<arma::Mat<T>>::from(W), .decays = decays};
}

double deviation(WeightLaw law, arma::uword inputs) {
  return law == WeightLaw::small ? 0.02 : 1 / std::sqrt(static_cast<double>(inputs));
}

}  // namespace

template <class T>
Parameter<T> InitialWeights::map(const std::string& name, arma::uword out, arma::uword in) const {
  Parameter<T> drawn = normal<T>(name, out, in, deviation(law_, in));
  drawn.decays = true;
  return drawn;
}

template <class T>
Parameter<T> InitialWeights::table(const std::string& name, arma::uword width, arma::uword entries) const {
  Parameter<T> drawn = normal<T>(name, width, entries, deviation(law_, width));
  drawn.decays = true;
  return drawn;
}

template <class T>
Parameter<T> InitialWeights::normal(const std::string& name, arma::uword rows, arma::uword columns,
                                    double standard_deviation) const {
  arma::mat W(rows, columns);
  trial_.stream(prefix_ + name).fill_normal({W.memptr(), W.n_elem}, standard_deviation);
  return made_of<T>(prefix_ + name, W, false);
}

template <class T>
Parameter<T> InitialWeights::uniform(const std::string& name, arma::uword rows, arma::uword columns, double low,
                                     double high) const {
  arma::mat W(rows, columns);
  trial_.stream(prefix_ + name).fill_uniform({W.memptr(), W.n_elem}, low, high);
  return made_of<T>(prefix_ + name, W, false);
}

template <class T>
Parameter<T> InitialWeights::constant(const std::string& name, arma::uword rows, arma::uword columns, double value) const {
  return made_of<T>(prefix_ + name, arma::mat(rows, columns, arma::fill::value(value)), false);
}

#define RANKLAB_INITIAL_WEIGHTS(T)                                                                                      \
  template Parameter<T> InitialWeights::map<T>(const std::string&, arma::uword, arma::uword) const;                     \
  template Parameter<T> InitialWeights::table<T>(const std::string&, arma::uword, arma::uword) const;                   \
  template Parameter<T> InitialWeights::normal<T>(const std::string&, arma::uword, arma::uword, double) const;          \
  template Parameter<T> InitialWeights::uniform<T>(const std::string&, arma::uword, arma::uword, double, double) const; \
  template Parameter<T> InitialWeights::constant<T>(const std::string&, arma::uword, arma::uword, double) const;
RANKLAB_INITIAL_WEIGHTS(float)
RANKLAB_INITIAL_WEIGHTS(double)
#undef RANKLAB_INITIAL_WEIGHTS

}  // namespace ranklab
