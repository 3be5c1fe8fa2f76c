// How weights start: each drawn from the stream of its own name, in double whatever the type, so that models with the same
// parameters start alike.
#pragma once

#include <string>

#include "run/trials.hpp"
#include "training/parameter.hpp"

namespace ranklab {

/// The law of maps and tables.
///   fan    maps (out, in) N(0, 1/in); tables of width d N(0, 1/d)
///   small  N(0, 0.02^2)
enum class WeightLaw { fan, small };

class InitialWeights {
 public:
  InitialWeights(WeightLaw law, const Trial& trial, std::string prefix = "")
      : law_(law), trial_(trial), prefix_(std::move(prefix)) {}

  /// For the parameters of a part: names behind "<part>.".
  InitialWeights of(const std::string& part) const { return {law_, trial_, prefix_ + part + "."}; }
  WeightLaw law() const { return law_; }

  // Those that decay.
  template <class T>
  Parameter<T> map(const std::string& name, arma::uword out, arma::uword in) const;
  /// (width, entries), one entry per column.
  template <class T>
  Parameter<T> table(const std::string& name, arma::uword width, arma::uword entries) const;

  // Those that do not.
  template <class T>
  Parameter<T> normal(const std::string& name, arma::uword rows, arma::uword columns, double standard_deviation) const;
  template <class T>
  Parameter<T> uniform(const std::string& name, arma::uword rows, arma::uword columns, double low, double high) const;
  template <class T>
  Parameter<T> constant(const std::string& name, arma::uword rows, arma::uword columns, double value) const;

 private:
  WeightLaw law_;
  const Trial& trial_;
  std::string prefix_;
};

}  // namespace ranklab
