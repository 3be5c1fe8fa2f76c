// What the bare blocks of [LambdaSkip] eq. (6) have in common: mix the tokens, add the skip, normalise.
#pragma once

#include "models/blocks/bare_block.hpp"

namespace ranklab {

/// M(Y) Y C_V of a state 2^s Y, as 2^(s + log2_factor) Y.
template <class T>
struct Mixed {
  arma::Mat<T> Y;            // (d, N)
  double log2_factor = 0.0;  // not 0 where M itself grows with the scale of the state
};

template <class T>
class MixingBlock : public BareBlock<T> {
 public:
  explicit MixingBlock(const ModelSpec& spec) : norm_(find_norm(spec.norm)) {}
  void forward(State<T>& state, double lambda) const final;

 protected:
  virtual Mixed<T> mix(const State<T>& state) const = 0;

 private:
  Norm norm_;
};

/// The block of a settled spec whose model is "attention" or "linear-attention".
template <class T>
std::unique_ptr<BareBlock<T>> make_bare_attention(const ModelSpec& spec, Tensors<T>& tensors);

/// The block of a settled spec whose model is "lti-ssm" or "selective-ssm".
template <class T>
std::unique_ptr<BareBlock<T>> make_bare_state_space(const ModelSpec& spec, Tensors<T>& tensors);

}  // namespace ranklab
