// The token mixers that learn, one row each: to add one, write its layer in nn/layers/ and add a
// row.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "nn/layers/mixer.hpp"
#include "nn/sequence_shape.hpp"

namespace ranklab {

/// Numbers per token: products with weights, products among tokens, stored values; and weights that
/// multiply no token.
struct MixerCost {
  double weights, among_tokens, kept, further_weights = 0;
};

template <class T>
using MakeMixer = std::unique_ptr<Mixer<T>> (*)(const SequenceShape& shape,
                                                const InitialWeights& initial,
                                                RelativeBiases<T>* relative);

struct MixerRow {
  MixerKind kind;
  std::string name;      // value of --model
  bool always_causal;    // no token sees later tokens, whatever the shape says
  bool needs_positions;  // without them it does not know the order of tokens
  // According to [LambdaSkip] Table 1; `learns`: better than guessing, without solving it.
  enum class Recall { unsaid, solves, learns, fails } recall;
  std::tuple<MakeMixer<float>, MakeMixer<double>> make;
  MixerCost (*cost)(const SequenceShape& shape);
};

const std::vector<MixerRow>& mixer_rows();
const MixerRow& mixer_row(MixerKind kind);
/// Throws std::logic_error for an unknown name.
const MixerRow& mixer_row(const std::string& name);

}  // namespace ranklab
