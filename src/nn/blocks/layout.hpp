// Layout of published files of a model: names and storage order of its tensors, the sizes that they
// determine, and the keys of its config. Keys omit the prefix of the whole model.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "nn/blocks/model_spec.hpp"

namespace ranklab {

class ConfigKeys;
struct ModelConfig;

/// The shapes of an open file's tensors.
class PublishedShapes {
 public:
  virtual ~PublishedShapes() = default;
  /// The length of axis `axis` of the tensor with this internal name, which must have `axes` axes.
  /// Throws Failure otherwise.
  virtual std::uint64_t size_of(const std::string& name, std::size_t axes,
                                std::size_t axis) const = 0;
  /// Throws a Failure with the file, the tensor's key in the file, and the reason.
  [[noreturn]] virtual void refuse(const std::string& name, const std::string& why) const = 0;
};

/// A tensor that a model of given sizes must have.
struct PublishedTensor {
  std::string name;  // internal name: "layer3.mixer.D", "layer0.query.weight", "word.weight"
  std::vector<std::string> keys;     // possible keys in files, without the prefix
  std::vector<std::uint64_t> shape;  // as stored
  bool inputs_first = false;         // a linear map stored (in, out); otherwise (out, in)
};

/// The tensors of one part of a model. The part's prefixes are added to internal names and keys.
class TensorList {
 public:
  using Shape = std::vector<std::uint64_t>;

  TensorList(std::string name, std::string key) : name_(std::move(name)), key_(std::move(key)) {}

  /// Internal name and key are the same.
  void add(const std::string& name, Shape shape, bool inputs_first = false);
  void add_spellings(const std::string& name, std::initializer_list<std::string> keys, Shape shape,
                     bool inputs_first = false);
  /// A weight (out, in) and a bias (out).
  void add_linear(const std::string& name, const std::string& key, std::uint64_t outputs,
                  std::uint64_t inputs);
  /// GPT-2 implements linear maps as convolutions with one tap, which are stored (in, out).
  void add_conv1d(const std::string& name, std::uint64_t inputs, std::uint64_t outputs);
  /// A gain and a bias; TensorFlow checkpoints call them gamma and beta.
  void add_norm(const std::string& name, std::uint64_t size);
  void add_norm(const std::string& name, const std::string& key, std::uint64_t size);

  std::vector<PublishedTensor> take() { return std::move(tensors_); }

 private:
  std::string name_, key_;
  std::vector<PublishedTensor> tensors_;
};

/// A size that a tensor's shape determines: the tensor by its internal name, with its number of
/// axes.
struct ShownSize {
  std::uint64_t ModelSpec::*size;
  std::string tensor;
  std::size_t axes, axis;
};

/// How files of a model are recognized, which tensors it has, and which tensors of its files can be
/// ignored.
struct PublishedLayout {
  std::string prefix;                       // of the whole model; some files omit it
  std::vector<std::string> characteristic;  // any of these keys identifies the model
  std::string layers;                       // "h.": the prefix of a layer index
  bool one_layer = false;  // one layer is shared by all depths; the file does not contain the depth
  std::vector<std::string> heads = {};        // key prefixes of heads, outside of `prefix`
  std::vector<std::string> inner_heads = {};  // key prefixes of heads, after `prefix`
  std::vector<std::string> masks = {};        // key suffixes of a layer's buffers

  // Tensors of a resolved spec, or of one with unknown sizes if only names are needed: those
  // outside of the layers, those of one layer, and the norm after the last block, which a file may
  // omit.
  void (*embedding)(const ModelSpec& spec, TensorList& list);
  void (*layer)(const ModelSpec& spec, TensorList& list);
  void (*final_norm)(const ModelSpec& spec, TensorList& list) = [](const ModelSpec&, TensorList&) {
  };

  std::vector<PublishedTensor> layer_tensors(const ModelSpec& spec, std::uint64_t layer) const;
  /// The tensors of the embedding and of every layer. Shared blocks are listed once, under
  /// `layer0.`.
  std::vector<PublishedTensor> tensors(const ModelSpec& spec) const;
  std::vector<PublishedTensor> final_norm_tensors(const ModelSpec& spec) const;

  std::vector<ShownSize> sizes;
  bool shows(std::uint64_t ModelSpec::*size) const;
  /// Sizes that depend on several shapes; called after `sizes`. Throws a Failure that names a
  /// tensor.
  void (*further_sizes)(const PublishedShapes& file, ModelSpec& spec) = [](const PublishedShapes&,
                                                                           ModelSpec&) {};

  /// Reads the keys of a config.json.
  void (*read_config)(const ConfigKeys& keys, ModelConfig& config);
  /// Whether a config without a model type belongs to this model.
  bool (*recognizes)(const ConfigKeys& keys) = [](const ConfigKeys&) { return false; };
};

/// The layout of Mamba-2 (mamba2_files.cpp). The other layouts are in the files of their blocks.
PublishedLayout mamba2_layout();

}  // namespace ranklab
