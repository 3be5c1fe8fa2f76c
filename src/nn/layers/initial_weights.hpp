// Initial weights. Each parameter is drawn from the stream of its own name, in double precision for
// any type, so that models with the same parameters start equal.
#pragma once

#include <string>

#include "core/entry_law.hpp"
#include "core/random.hpp"
#include "nn/layers/parameter.hpp"

namespace ranklab {

/// How maps and tables are initialized: which law each kind of parameter has.
/// "Maps into the stream" are those whose output is added to the residual stream, and the head.
///   fan     maps (out, in) N(0, 1/in); tables of width d N(0, 1/d); biases 0
///   small   N(0, 0.02^2); biases 0
///   normal  N(0, deviation^2); biases 0
///   torch   maps and their biases uniform within 1/sqrt(in); tables N(0, 1/d)
///   modded  tables N(0, 1); maps (out, in) N(0, 1/(4 in)), into the stream 0; biases 0
///   gauss   tables N(0, 1); maps N(0, 1/in), Assumption A of [Spectral]; biases 0
///   gpt2    N(0, 0.02^2), maps into the stream N(0, deviation^2); biases 0
///   alg1    torch with biases 0 and N(0, 1/in) for attention values: [Shallow] Algorithm 1
///   zero    all 0, for weights that the caller sets
enum class Initialization { fan, small, normal, torch, alg1, modded, gauss, gpt2, zero };

class InitialWeights {
 public:
  InitialWeights(Initialization scheme, const Streams& streams, std::string prefix = "",
                 double deviation = 0.02)
      : scheme_(scheme), streams_(streams), prefix_(std::move(prefix)), deviation_(deviation) {}

  /// For the parameters of a part: adds "<part>." to their names; nothing for a part without name.
  InitialWeights of(const std::string& part) const {
    return {scheme_, streams_, part.empty() ? prefix_ : prefix_ + part + ".", deviation_};
  }
  /// The same names with another initialization.
  InitialWeights by(Initialization scheme) const { return {scheme, streams_, prefix_, deviation_}; }
  Initialization scheme() const { return scheme_; }

  // With weight decay.
  template <class T>
  Parameter<T> map(const std::string& name, arma::uword out, arma::uword in) const;
  /// The value map of attention.
  template <class T>
  Parameter<T> value_map(const std::string& name, arma::uword out, arma::uword in) const;
  /// A map whose output is added to the residual stream.
  template <class T>
  Parameter<T> map_into_stream(const std::string& name, arma::uword out, arma::uword in) const;
  /// The map from the last tokens to logits, if it is not the table of the embedding.
  template <class T>
  Parameter<T> head(const std::string& name, arma::uword out, arma::uword in) const;
  /// (width, entries), one entry per column.
  template <class T>
  Parameter<T> table(const std::string& name, arma::uword width, arma::uword entries) const;

  /// (out, 1), for a map (out, in), without weight decay.
  template <class T>
  Parameter<T> bias(const std::string& name, arma::uword out, arma::uword in) const;

  // Of a given law, whatever the initialization; but zero sets what is drawn to 0.
  template <class T>
  Parameter<T> with_decay(const std::string& name, arma::uword rows, arma::uword columns,
                          const EntryLaw& law) const;
  template <class T>
  Parameter<T> without_decay(const std::string& name, arma::uword rows, arma::uword columns,
                             const EntryLaw& law) const;

 private:
  /// The normal law of a map with a number of inputs.
  EntryLaw normal(arma::uword inputs) const;

  Initialization scheme_;
  const Streams& streams_;
  std::string prefix_;
  double deviation_;
};

}  // namespace ranklab
