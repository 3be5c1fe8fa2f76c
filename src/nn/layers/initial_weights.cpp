#include "nn/layers/initial_weights.hpp"

#include <cmath>

namespace ranklab {

EntryLaw InitialWeights::normal(arma::uword inputs) const {
  switch (scheme_) {
    case Initialization::small:
    case Initialization::gpt2:
      return EntryLaw::normal(0.02);
    case Initialization::normal:
      return EntryLaw::normal(deviation_);
    case Initialization::modded:
      return EntryLaw::normal(0.5 / std::sqrt(static_cast<double>(inputs)));
    default:
      return EntryLaw::normal(1 / std::sqrt(static_cast<double>(inputs)));
  }
}

template <class T>
Parameter<T> InitialWeights::map(const std::string& name, arma::uword out, arma::uword in) const {
  const bool uniform = scheme_ == Initialization::torch || scheme_ == Initialization::alg1;
  return with_decay<T>(name, out, in, uniform ? EntryLaw::fan_in(in) : normal(in));
}

template <class T>
Parameter<T> InitialWeights::value_map(const std::string& name, arma::uword out,
                                       arma::uword in) const {
  return scheme_ == Initialization::torch ? map<T>(name, out, in)
                                          : with_decay<T>(name, out, in, normal(in));
}

template <class T>
Parameter<T> InitialWeights::map_into_stream(const std::string& name, arma::uword out,
                                             arma::uword in) const {
  return scheme_ == Initialization::gpt2
             ? with_decay<T>(name, out, in, EntryLaw::normal(deviation_))
             : head<T>(name, out, in);
}

template <class T>
Parameter<T> InitialWeights::head(const std::string& name, arma::uword out, arma::uword in) const {
  return scheme_ == Initialization::modded ? with_decay<T>(name, out, in, EntryLaw::constant(0))
                                           : map<T>(name, out, in);
}

template <class T>
Parameter<T> InitialWeights::table(const std::string& name, arma::uword width,
                                   arma::uword entries) const {
  const bool unit = scheme_ == Initialization::modded || scheme_ == Initialization::gauss;
  return with_decay<T>(name, width, entries, unit ? EntryLaw::normal(1) : normal(width));
}

template <class T>
Parameter<T> InitialWeights::bias(const std::string& name, arma::uword out, arma::uword in) const {
  return without_decay<T>(
      name, out, 1,
      scheme_ == Initialization::torch ? EntryLaw::fan_in(in) : EntryLaw::constant(0));
}

template <class T>
Parameter<T> InitialWeights::with_decay(const std::string& name, arma::uword rows,
                                        arma::uword columns, const EntryLaw& law) const {
  Parameter<T> drawn{.name = prefix_ + name, .W = arma::Mat<T>(rows, columns), .decays = true};
  const bool is_fixed = law.kind == EntryLaw::Kind::constant;
  if (scheme_ != Initialization::zero || is_fixed)
    draw_entries<T>(streams_.stream(drawn.name), {drawn.W.memptr(), drawn.W.n_elem}, law);
  return drawn;
}

template <class T>
Parameter<T> InitialWeights::without_decay(const std::string& name, arma::uword rows,
                                           arma::uword columns, const EntryLaw& law) const {
  Parameter<T> drawn = with_decay<T>(name, rows, columns, law);
  drawn.decays = false;
  return drawn;
}

#define RANKLAB_INITIAL_WEIGHTS(T)                                                                 \
  template Parameter<T> InitialWeights::map(const std::string&, arma::uword, arma::uword) const;   \
  template Parameter<T> InitialWeights::value_map(const std::string&, arma::uword, arma::uword)    \
      const;                                                                                       \
  template Parameter<T> InitialWeights::map_into_stream(const std::string&, arma::uword,           \
                                                        arma::uword) const;                        \
  template Parameter<T> InitialWeights::head(const std::string&, arma::uword, arma::uword) const;  \
  template Parameter<T> InitialWeights::table(const std::string&, arma::uword, arma::uword) const; \
  template Parameter<T> InitialWeights::bias(const std::string&, arma::uword, arma::uword) const;  \
  template Parameter<T> InitialWeights::with_decay(const std::string&, arma::uword, arma::uword,   \
                                                   const EntryLaw&) const;                         \
  template Parameter<T> InitialWeights::without_decay(const std::string&, arma::uword,             \
                                                      arma::uword, const EntryLaw&) const;
RANKLAB_INITIAL_WEIGHTS(float)
RANKLAB_INITIAL_WEIGHTS(double)
#undef RANKLAB_INITIAL_WEIGHTS

}  // namespace ranklab
