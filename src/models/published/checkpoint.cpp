#include "models/published/checkpoint.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

// The prefix with which a file spells a model's keys, if it is of that model.
std::optional<std::string> prefix_in(const WeightsFile& file, const PublishedLayout& layout) {
  for (const std::string& prefix : {layout.prefix, std::string()}) {
    for (const std::string& key : layout.characteristic) {
      if (file.has(prefix + key)) return prefix;
    }
  }
  return std::nullopt;
}

[[noreturn]] void refuse_unknown_model(const WeightsFile& file) {
  std::string wanted, held;
  for (const ModelRow& row : model_rows()) {
    if (!row.published) continue;
    wanted +=
        (wanted.empty() ? "" : ", ") + row.name + " ([" + row.published->prefix + "]" + row.published->characteristic[0] + ")";
  }
  constexpr std::size_t most = 4;
  const std::vector<std::string>& keys = file.keys();
  for (std::size_t i = 0; i < std::min(most, keys.size()); ++i) held += (i == 0 ? "" : ", ") + printable_key(keys[i]);
  if (keys.size() > most) held += " and " + std::to_string(keys.size() - most) + " more";
  throw Failure(printable(file.path()) + ": the weights of none of the models that are read here: " + wanted + "; the file has " +
                (keys.empty() ? "no tensor" : held));
}

// The index in "h.12.attn": digits behind `stem` and before a point, without leading zeros.
std::optional<std::uint64_t> layer_index(std::string_view key, const std::string& stem) {
  if (!key.starts_with(stem)) return std::nullopt;
  key.remove_prefix(stem.size());
  std::uint64_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const auto digits = static_cast<std::size_t>(end - key.data());
  if (error != std::errc() || digits == key.size() || *end != '.' || (digits > 1 && key[0] == '0')) return std::nullopt;
  return index;
}

// The names of all tensors of a file of so many layers.
std::vector<PublishedTensor> all_tensors(const ModelRow& row, std::uint64_t layers) {
  const ModelSpec spec{.model = row.name, .layers = layers};  // its sizes unknown
  std::vector<PublishedTensor> all = row.published->tensors(spec);
  for (PublishedTensor& tensor : row.published->final_norm_tensors(spec)) all.push_back(std::move(tensor));
  return all;
}

}  // namespace

Checkpoint::Checkpoint(WeightsFile file, const ModelRow& row, std::string prefix)
    : file_(std::move(file)), row_(row), layout_(*row.published), prefix_(std::move(prefix)) {
  count_layers();
  for (const PublishedTensor& tensor : all_tensors(row_, layers_)) {
    const auto key =
        std::find_if(tensor.keys.begin(), tensor.keys.end(), [&](const auto& name) { return file_.has(prefix_ + name); });
    if (key != tensor.keys.end()) places_[tensor.name] = {prefix_ + *key, tensor.inputs_first};
  }
}

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::string& path) {
  WeightsFile file = WeightsFile::open(path);
  for (const ModelRow& row : model_rows()) {
    if (!row.published) continue;
    if (std::optional<std::string> prefix = prefix_in(file, *row.published)) {
      return std::shared_ptr<const Checkpoint>(new Checkpoint(std::move(file), row, std::move(*prefix)));
    }
  }
  refuse_unknown_model(file);
}

void Checkpoint::count_layers() {
  if (layout_.one_layer) return;
  std::set<std::uint64_t> indices;
  for (const std::string& key : file_.keys()) {
    if (const auto index = layer_index(key, prefix_ + layout_.layers)) indices.insert(*index);
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
  for (const ShownSize& shown : layout_.sizes) spec.*shown.size = size_of(shown.tensor, shown.axes, shown.axis);
  layout_.further_sizes(*this, spec);
}

std::uint64_t Checkpoint::size_of(const std::string& name, std::size_t axes, std::size_t axis) const {
  const StoredTensor tensor = find(name).tensor;
  if (tensor.shape().size() != axes || tensor.elements() == 0) {
    refuse(name,
           "is " + tensor.shape_text() + ", expected " + std::to_string(axes) + (axes == 1 ? " axis" : " axes") + ", none of 0");
  }
  return tensor.shape()[axis];
}

StoredTensor Checkpoint::floating(const std::string& key) const {
  StoredTensor tensor = file_.tensor(key);
  switch (tensor.dtype()) {
    case Dtype::f64:
    case Dtype::f32:
    case Dtype::f16:
    case Dtype::bf16:
      return tensor;
    default:
      refuse_key(key, "is of type " + dtype_name(tensor.dtype()) + ", expected F64, F32, F16 or BF16");
  }
}

Checkpoint::Found Checkpoint::find(const std::string& name) const {
  const auto place = places_.find(name);
  if (place != places_.end()) return {floating(place->second.key), place->second.inputs_first};
  for (const PublishedTensor& tensor : all_tensors(row_, layers_)) {
    if (tensor.name == name) refuse_missing(tensor);
  }
  throw Failure(printable(path()) + ": holds " + model() + ", layers 0 to " + std::to_string(layers_ - 1) + ", and no '" + name +
                "'");
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
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
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

}  // namespace ranklab
