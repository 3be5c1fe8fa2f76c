#include "models/published/layout.hpp"

#include <algorithm>

#include "models/blocks/model_row.hpp"

namespace ranklab {

void TensorList::add(const std::string& name, Shape shape, bool inputs_first) {
  add_spellings(name, {name}, std::move(shape), inputs_first);
}

void TensorList::add_spellings(const std::string& name, std::initializer_list<std::string> keys, Shape shape, bool inputs_first) {
  PublishedTensor tensor{name_ + name, {}, std::move(shape), inputs_first};
  for (const std::string& key : keys) tensor.keys.push_back(key_ + key);
  tensors_.push_back(std::move(tensor));
}

void TensorList::add_linear(const std::string& name, const std::string& key, std::uint64_t outputs, std::uint64_t inputs) {
  add_spellings(name + ".weight", {key + ".weight"}, {outputs, inputs});
  add_spellings(name + ".bias", {key + ".bias"}, {outputs});
}

void TensorList::add_conv1d(const std::string& name, std::uint64_t inputs, std::uint64_t outputs) {
  add(name + ".weight", {inputs, outputs}, true);
  add(name + ".bias", {outputs});
}

void TensorList::add_norm(const std::string& name, std::uint64_t size) {
  add(name + ".weight", {size});
  add(name + ".bias", {size});
}

void TensorList::add_norm(const std::string& name, const std::string& key, std::uint64_t size) {
  add_spellings(name + ".weight", {key + ".weight", key + ".gamma"}, {size});
  add_spellings(name + ".bias", {key + ".bias", key + ".beta"}, {size});
}

bool PublishedLayout::shows(std::uint64_t ModelSpec::*size) const {
  return std::any_of(sizes.begin(), sizes.end(), [&](const ShownSize& shown) { return shown.size == size; });
}

std::vector<PublishedTensor> embedding_tensors(const ModelSpec& spec) {
  TensorList list("", "");
  spec.row().published->embedding(spec, list);
  return list.take();
}

std::vector<PublishedTensor> layer_tensors(const ModelSpec& spec, std::uint64_t layer) {
  const PublishedLayout& layout = *spec.row().published;
  const std::string index = std::to_string(layer) + ".";
  TensorList list("layer" + index, layout.layers + index);
  layout.layer(spec, list);
  return list.take();
}

std::vector<PublishedTensor> final_norm_tensors(const ModelSpec& spec) {
  TensorList list("", "");
  spec.row().published->final_norm(spec, list);
  return list.take();
}

std::vector<PublishedTensor> published_tensors(const ModelSpec& spec) {
  std::vector<PublishedTensor> all = embedding_tensors(spec);
  const std::uint64_t layers = spec.row().published->one_layer || spec.shares_weights() ? 1 : spec.layers;
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    for (PublishedTensor& tensor : layer_tensors(spec, layer)) all.push_back(std::move(tensor));
  }
  return all;
}

}  // namespace ranklab
