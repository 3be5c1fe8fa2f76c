// How published files name the tensors of mamba2, bert, albert and gpt2. All keys are without the prefix of the whole model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/published/checkpoint.hpp"

namespace ranklab {

/// How a model is told from the others, and what of its files no hidden state needs.
struct PublishedFamily {
  std::string model;
  std::string prefix;                       // of the whole model; some files leave it out
  std::vector<std::string> characteristic;  // one of these keys is enough: no other model has them
  std::string layers;                       // "h.": what stands before the index of a layer; empty: one layer for all depths
  std::vector<std::string> heads;           // starts of the keys of heads, which stand outside of the prefix
  std::vector<std::string> inner_heads;     // those within it
  std::vector<std::string> masks;           // ends of the keys of a layer's buffers
};

const std::vector<PublishedFamily>& published_families();

/// Those outside of the layers; block `layer`'s; the norm after the last block, which a file may lack. Of a settled spec, or of
/// one whose sizes are not known yet, for the names alone.
std::vector<PublishedTensor> embedding_tensors(const ModelSpec& spec);
std::vector<PublishedTensor> layer_tensors(const ModelSpec& spec, std::uint64_t layer);
std::vector<PublishedTensor> final_norm_tensors(const ModelSpec& spec);

}  // namespace ranklab
