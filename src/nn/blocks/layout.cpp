#include "nn/blocks/layout.hpp"

#include <algorithm>

namespace ranklab {

void TensorList::add(const std::string& name, Shape shape, bool inputs_first) {
  add_spellings(name, {name}, std::move(shape), inputs_first);
}

void TensorList::add_spellings(const std::string& name, std::initializer_list<std::string> keys,
                               Shape shape, bool inputs_first) {
  PublishedTensor tensor{name_ + name, {}, std::move(shape), inputs_first};
  for (const std::string& key : keys) tensor.keys.push_back(key_ + key);
  tensors_.push_back(std::move(tensor));
}

void TensorList::add_linear(const std::string& name, const std::string& key, std::uint64_t outputs,
                            std::uint64_t inputs) {
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
  return std::any_of(sizes.begin(), sizes.end(),
                     [&](const ShownSize& shown) { return shown.size == size; });
}

std::vector<PublishedTensor> PublishedLayout::layer_tensors(const ModelSpec& spec,
                                                            std::uint64_t index) const {
  const std::string place = std::to_string(index) + ".";
  TensorList list("layer" + place, layers + place);
  layer(spec, list);
  return list.take();
}

std::vector<PublishedTensor> PublishedLayout::tensors(const ModelSpec& spec) const {
  TensorList list("", "");
  embedding(spec, list);
  std::vector<PublishedTensor> all = list.take();
  const std::uint64_t count = one_layer || spec.shares_weights() ? 1 : spec.layers;
  for (std::uint64_t index = 0; index < count; ++index) {
    for (PublishedTensor& tensor : layer_tensors(spec, index)) all.push_back(std::move(tensor));
  }
  return all;
}

std::vector<PublishedTensor> PublishedLayout::final_norm_tensors(const ModelSpec& spec) const {
  TensorList list("", "");
  final_norm(spec, list);
  return list.take();
}

}  // namespace ranklab
