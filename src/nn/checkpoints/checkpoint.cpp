#include "nn/checkpoints/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

// The wrapper prefixes that occur in the file.
std::set<std::string> wrappers_in(const WeightsFile& file) {
  std::set<std::string, std::less<>> wrappers;
  for (const std::string& key : file.keys()) {
    const std::string_view wrapper = std::string_view(key).substr(0, wrapper_length(key));
    if (!wrappers.contains(wrapper)) wrappers.emplace(wrapper);
  }
  return {wrappers.begin(), wrappers.end()};
}

// The wrapper with which the file has a tensor of this name, if any.
std::optional<std::string> wrapper_of(const std::string& name, const WeightsFile& file,
                                      const std::set<std::string>& wrappers) {
  std::optional<std::string> found;
  for (const std::string& wrapper : wrappers) {
    if (!file.has(wrapper + name)) continue;
    if (found) {
      throw Failure(printable(file.path()) + ": the tensors '" + printable_key(*found + name) +
                    "' and '" + printable_key(wrapper + name) +
                    "' have the same name without wrapper prefixes");
    }
    found = wrapper;
  }
  return found;
}

[[noreturn]] void refuse_unknown_model(const WeightsFile& file) {
  std::string wanted, held;
  for (const ModelRow& row : model_rows()) {
    if (!row.published) continue;
    wanted += (wanted.empty() ? "" : ", ") + row.name + " ([" + row.published->prefix + "]" +
              row.published->characteristic[0] + ")";
  }
  constexpr std::size_t most = 4;
  const std::vector<std::string>& keys = file.keys();
  for (std::size_t i = 0; i < std::min(most, keys.size()); ++i)
    held += (i == 0 ? "" : ", ") + printable_key(keys[i]);
  if (keys.size() > most) held += " and " + std::to_string(keys.size() - most) + " more";
  throw Failure(printable(file.path()) + ": not the weights of a supported model; supported: " +
                wanted + "; the file has " + (keys.empty() ? "no tensor" : held));
}

// The index in "h.12.attn": the digits between `stem` and a dot, without leading zeros.
std::optional<std::uint64_t> layer_index(std::string_view key, const std::string& stem) {
  if (!key.starts_with(stem)) return std::nullopt;
  key.remove_prefix(stem.size());
  std::uint64_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const auto digits = static_cast<std::size_t>(end - key.data());
  if (error != std::errc() || digits == key.size() || *end != '.' || (digits > 1 && key[0] == '0'))
    return std::nullopt;
  return index;
}

// All tensors of a file with the given number of layers.
std::vector<PublishedTensor> all_tensors(const ModelRow& row, std::uint64_t layers) {
  const ModelSpec spec{.model = row.name, .layers = layers};  // sizes are unknown and not needed
  std::vector<PublishedTensor> all = row.published->tensors(spec);
  for (PublishedTensor& tensor : row.published->final_norm_tensors(spec))
    all.push_back(std::move(tensor));
  return all;
}

}  // namespace

std::size_t wrapper_length(std::string_view key) {
  constexpr std::array<std::string_view, 3> wrappers = {"module.", "_orig_mod.",
                                                        "base_model.model."};
  std::size_t length = 0;
  const auto follows = [&](std::string_view wrapper) {
    return key.substr(length).starts_with(wrapper);
  };
  for (const auto* found = wrappers.begin(); found != wrappers.end();) {
    found = std::find_if(wrappers.begin(), wrappers.end(), follows);
    if (found != wrappers.end()) length += found->size();
  }
  return length;
}

Checkpoint::Checkpoint(WeightsFile file, const ModelRow& row, const std::set<std::string>& wrappers,
                       std::string wrapper, std::string prefix)
    : file_(std::move(file)),
      row_(row),
      layout_(*row.published),
      wrapper_(std::move(wrapper)),
      prefix_(std::move(prefix)) {
  count_layers();
  for (const PublishedTensor& tensor : all_tensors(row_, layers_)) {
    for (const std::string& name : tensor.keys) {
      const std::optional<std::string> found = wrapper_of(prefix_ + name, file_, wrappers);
      if (!found) continue;
      places_[tensor.name] = {*found + prefix_ + name, tensor.inputs_first};
      break;
    }
  }
}

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::string& path) {
  WeightsFile file = WeightsFile::open(path);
  const std::set<std::string> wrappers = wrappers_in(file);
  for (const ModelRow& row : model_rows()) {
    if (!row.published) continue;
    for (const std::string& prefix : {row.published->prefix, std::string()}) {
      for (const std::string& name : row.published->characteristic) {
        const std::optional<std::string> wrapper = wrapper_of(prefix + name, file, wrappers);
        if (wrapper)
          return std::shared_ptr<const Checkpoint>(
              new Checkpoint(std::move(file), row, wrappers, *wrapper, prefix));
      }
    }
  }
  refuse_unknown_model(file);
}

void Checkpoint::count_layers() {
  if (layout_.one_layer) return;
  std::set<std::uint64_t> indices;
  for (const std::string& key : file_.keys()) {
    if (const auto index = layer_index(std::string_view(key).substr(wrapper_length(key)),
                                       prefix_ + layout_.layers))
      indices.insert(*index);
  }
  layers_ = 0;
  while (indices.contains(layers_)) ++layers_;
  if (!indices.empty()) last_layer_ = *indices.rbegin();
}

void Checkpoint::take_sizes(ModelSpec& spec) const {
  require_layers(1);
  spec.model = model();
  if (layout_.one_layer) {
    spec.share_weights = "on";
  } else {
    spec.layers = layers_;
  }
  for (const ShownSize& shown : layout_.sizes)
    spec.*shown.size = size_of(shown.tensor, shown.axes, shown.axis);
  layout_.further_sizes(*this, spec);
}

std::uint64_t Checkpoint::size_of(const std::string& name, std::size_t axes,
                                  std::size_t axis) const {
  const StoredTensor tensor = find(name).tensor;
  if (tensor.shape().size() != axes || tensor.elements() == 0) {
    refuse(name, "is " + tensor.shape_text() + ", expected " + std::to_string(axes) +
                     (axes == 1 ? " axis" : " axes") + ", all nonempty");
  }
  return tensor.shape()[axis];
}

StoredTensor Checkpoint::floating(const std::string& key) const {
  StoredTensor tensor = file_.tensor(key);
  if (is_floating(tensor.dtype())) return tensor;
  refuse_key(key, "is of type " + dtype_name(tensor.dtype()) + ", expected F64, F32, F16 or BF16");
}

Checkpoint::Found Checkpoint::find(const std::string& name) const {
  const auto place = places_.find(name);
  if (place != places_.end()) return {floating(place->second.key), place->second.inputs_first};
  for (const PublishedTensor& tensor : all_tensors(row_, layers_)) {
    if (tensor.name == name) refuse_missing(tensor);
  }
  throw Failure(printable(path()) + ": holds " + model() + ", layers 0 to " +
                std::to_string(layers_ - 1) + ", but no '" + name + "'");
}

std::uint64_t Checkpoint::parameters() const {
  std::uint64_t sum = 0;
  for (const auto& [name, place] : places_) sum += floating(place.key).elements();
  return sum;
}

std::uint64_t Checkpoint::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [type, count] : bytes_by_type()) sum += count;
  return sum;
}

std::string Checkpoint::dtypes() const {
  const std::map<Dtype, std::uint64_t> by_type = bytes_by_type();
  std::vector<std::pair<Dtype, std::uint64_t>> order(by_type.begin(), by_type.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string list;
  for (const auto& entry : order) list += (list.empty() ? "" : ", ") + dtype_name(entry.first);
  return list;
}

std::map<Dtype, std::uint64_t> Checkpoint::bytes_by_type() const {
  std::map<Dtype, std::uint64_t> sums;
  for (const auto& [name, place] : places_) {
    const StoredTensor tensor = floating(place.key);
    sums[tensor.dtype()] += tensor.elements() * dtype_bytes(tensor.dtype());
  }
  return sums;
}

void Checkpoint::refuse(const std::string& name, const std::string& why) const {
  refuse_key(places_.at(name).key, why);
}

void Checkpoint::refuse_key(const std::string& key, const std::string& why) const {
  throw Failure(printable(path()) + ": tensor '" + printable_key(key) + "' " + why);
}

void Checkpoint::refuse_missing(const PublishedTensor& wanted) const {
  const std::string stem = "layer";
  const bool in_layer = wanted.name.starts_with(stem);
  std::string why =
      "is missing; the file holds " + model() + ", whose " +
      (in_layer ? "layer " + wanted.name.substr(stem.size(), wanted.name.find('.') - stem.size())
                : "embedding") +
      " needs it";
  const auto spelled = [&](const std::string& key) { return wrapper_ + prefix_ + key; };
  if (wanted.keys.size() > 1) why = "(or " + printable_key(spelled(wanted.keys[1])) + ") " + why;
  refuse_key(spelled(wanted.keys[0]), why);
}

}  // namespace ranklab
