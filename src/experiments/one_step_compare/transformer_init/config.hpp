// `one-step-compare --study transformer-init`: stable ranks inside a transformer at initialization
// ([Spectral] Section 2.2), over the depth of a stack of single-head decoder blocks
// (decoder_block.hpp) whose input is a sequence of Gaussian token embeddings.
#pragma once

#include <cstdint>
#include <memory>

#include "experiments/study.hpp"

namespace ranklab {

struct TransformerInitConfig {
  std::uint64_t layers = 12;         // L, decoder blocks
  std::uint64_t d = 256;             // hidden dimension
  std::uint64_t n = 256;             // tokens
  std::uint64_t k = 0;               // hidden units of the MLP; 0: 4 d
  std::uint64_t vocabulary = 50257;  // V, number of distinct tokens
  double zipf = 0.86;                // s, token j has probability proportional to j^(-s)
  double delta = 0.2;                // delta of Lemma 2.13 and Proposition 2.14, in (0, 1/4)
};

std::unique_ptr<Study> make_transformer_init_study();

}  // namespace ranklab
