// How published files hold a model: what its tensors are called and how they lie, which sizes they show, what its config says.
// All keys are without the prefix of the whole model.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "models/blocks/model_spec.hpp"

namespace ranklab {

class ConfigKeys;
struct ModelConfig;

/// The shapes of an open file's tensors.
class PublishedShapes {
 public:
  virtual ~PublishedShapes() = default;
  /// The length of one of `axes` axes of the tensor that blocks know by this name; throws Failure for another shape.
  virtual std::uint64_t size_of(const std::string& name, std::size_t axes, std::size_t axis) const = 0;
  /// Throws Failure: the file, the tensor as the file spells it, and why.
  [[noreturn]] virtual void refuse(const std::string& name, const std::string& why) const = 0;
};

/// A tensor that a model of given sizes must have.
struct PublishedTensor {
  std::string name;                  // as blocks ask for it: "layer3.mixer.D", "layer0.query.weight", "word.weight"
  std::vector<std::string> keys;     // its spellings in files, without the prefix of the whole model
  std::vector<std::uint64_t> shape;  // as stored
  bool inputs_first = false;         // a linear map stored (in, out); otherwise (out, in)
};

/// The tensors of one part of a model: internal names and keys each begin with the part's own.
class TensorList {
 public:
  using Shape = std::vector<std::uint64_t>;

  TensorList(std::string name, std::string key) : name_(std::move(name)), key_(std::move(key)) {}

  /// Spelt alike on both sides.
  void add(const std::string& name, Shape shape, bool inputs_first = false);
  void add_spellings(const std::string& name, std::initializer_list<std::string> keys, Shape shape, bool inputs_first = false);
  /// A weight (out, in) and a bias (out).
  void add_linear(const std::string& name, const std::string& key, std::uint64_t outputs, std::uint64_t inputs);
  /// GPT-2 calls its linear maps convolutions of one tap, which are stored (in, out).
  void add_conv1d(const std::string& name, std::uint64_t inputs, std::uint64_t outputs);
  /// A gain and a bias, which the checkpoints of TensorFlow called gamma and beta.
  void add_norm(const std::string& name, std::uint64_t size);
  void add_norm(const std::string& name, const std::string& key, std::uint64_t size);

  std::vector<PublishedTensor> take() { return std::move(tensors_); }

 private:
  std::string name_, key_;
  std::vector<PublishedTensor> tensors_;
};

/// A size that the shape of a tensor shows: the tensor by its name in blocks, with so many axes.
struct ShownSize {
  std::uint64_t ModelSpec::*size;
  std::string tensor;
  std::size_t axes, axis;
};

/// How a model is told from the others, what its tensors are, and what of its files no hidden state needs.
struct PublishedLayout {
  std::string prefix;                         // of the whole model; some files leave it out
  std::vector<std::string> characteristic;    // one of these keys is enough: no other model has them
  std::string layers;                         // "h.": what stands before the index of a layer
  bool one_layer = false;                     // there is one, for all depths: the file does not say how many
  std::vector<std::string> heads = {};        // starts of the keys of heads, which stand outside of the prefix
  std::vector<std::string> inner_heads = {};  // those within it
  std::vector<std::string> masks = {};        // ends of the keys of a layer's buffers
  bool padded_vocabulary = false;             // the table may have more rows than the config's vocabulary

  // Tensors of a settled spec, or of one whose sizes are not known yet, for the names alone: those outside of the layers, those of
  // one layer, and the norm after the last block, which a file may lack.
  void (*embedding)(const ModelSpec& spec, TensorList& list);
  void (*layer)(const ModelSpec& spec, TensorList& list);
  void (*final_norm)(const ModelSpec& spec, TensorList& list) = [](const ModelSpec&, TensorList&) {};

  std::vector<PublishedTensor> layer_tensors(const ModelSpec& spec, std::uint64_t layer) const;
  /// Those of the embedding and of every layer, where the tensors of shared blocks stand once, under `layer0.`.
  std::vector<PublishedTensor> tensors(const ModelSpec& spec) const;
  std::vector<PublishedTensor> final_norm_tensors(const ModelSpec& spec) const;

  std::vector<ShownSize> sizes;
  bool shows(std::uint64_t ModelSpec::*size) const;
  /// Sizes that take more than one shape, after those. Throws Failure that names a tensor.
  void (*further_sizes)(const PublishedShapes& file, ModelSpec& spec) = [](const PublishedShapes&, ModelSpec&) {};

  /// Reads what the keys of a config.json say.
  void (*read_config)(const ConfigKeys& keys, ModelConfig& config);
  /// Whether a config that names no model type is one of this model.
  bool (*is_own_config)(const ConfigKeys& keys) = [](const ConfigKeys&) { return false; };
};

/// Mamba-2's (mamba2_files.cpp); those of the other models stand beside their blocks.
PublishedLayout mamba2_layout();

}  // namespace ranklab
