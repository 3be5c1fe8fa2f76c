#include "models/published/checkpoint.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>

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

bool is_floating(Dtype type) {
  return type == Dtype::f64 || type == Dtype::f32 || type == Dtype::f16 || type == Dtype::bf16;
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
  if (is_floating(tensor.dtype())) return tensor;
  refuse_key(key, "is of type " + dtype_name(tensor.dtype()) + ", expected F64, F32, F16 or BF16");
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

// The file held against the model that it should be -----------------------------------------------------------------------------

void Checkpoint::refuse(const std::string& name, const std::string& why) const {
  refuse_key(places_.at(name).key, why);
}

void Checkpoint::refuse_key(const std::string& key, const std::string& why) const {
  throw Failure(printable(path()) + ": tensor '" + printable_key(key) + "' " + why);
}

void Checkpoint::refuse_missing(const PublishedTensor& wanted) const {
  const std::string stem = "layer";
  const bool in_layer = wanted.name.starts_with(stem);
  std::string why = "is missing; the file holds " + model() + ", whose " +
                    (in_layer ? "layer " + wanted.name.substr(stem.size(), wanted.name.find('.') - stem.size()) : "embedding") +
                    " needs it";
  if (wanted.keys.size() > 1) why = "(or " + printable_key(prefix_ + wanted.keys[1]) + ") " + why;
  refuse_key(prefix_ + wanted.keys[0], why);
}

// Whatever layer comes after the last of a run without a gap must not be needed, neither by the model nor by later layers.
void Checkpoint::require_layers(std::uint64_t wanted) const {
  if (layers_ >= wanted && layers_ > last_layer_) return;
  refuse_missing(layout_.layer_tensors({.model = model()}, layers_).front());
}

void Checkpoint::check_tensor(const PublishedTensor& wanted) const {
  const auto place = places_.find(wanted.name);
  if (place == places_.end()) refuse_missing(wanted);
  const StoredTensor tensor = floating(place->second.key);
  if (tensor.shape() == wanted.shape) return;
  refuse_key(place->second.key, "is " + tensor.shape_text() + ", expected " + shape_to_text(wanted.shape));
}

bool Checkpoint::is_passed_over(const std::string& key) const {
  const auto starts = [](std::string_view text, const std::vector<std::string>& with) {
    return std::any_of(with.begin(), with.end(), [&](const std::string& start) { return text.starts_with(start); });
  };
  if (starts(key, layout_.heads)) return true;
  if (!key.starts_with(prefix_)) return false;
  const std::string inner = key.substr(prefix_.size());
  if (starts(inner, layout_.inner_heads)) return true;
  // "h.3.attn.bias", the mask of one of the file's layers, and not "h.3.mlp.attn.bias"
  const std::size_t point = inner.find('.', layout_.layers.size());
  if (!inner.starts_with(layout_.layers) || point == std::string::npos) return false;
  return std::find(layout_.masks.begin(), layout_.masks.end(), inner.substr(point + 1)) != layout_.masks.end();
}

void Checkpoint::check_unknown(const std::string& key) const {
  // Ids of positions, masks: weights are not integers.
  if (is_passed_over(key) || !is_floating(file_.tensor(key).dtype())) return;
  std::string allowed;
  for (const std::string& head : layout_.heads) allowed += head + (head.ends_with('.') ? "*, " : ", ");
  for (const std::string& head : layout_.inner_heads) allowed += prefix_ + head + "*, ";
  for (const std::string& mask : layout_.masks) allowed += prefix_ + layout_.layers + "*." + mask + ", ";
  refuse_key(key, "is none that " + model() + " has here; beside its own: " + allowed + "tensors of integers");
}

void Checkpoint::check(const ModelSpec& spec) const {
  if (spec.model != model()) throw Failure(printable(path()) + ": holds " + model() + ", not " + spec.model);
  require_layers(layout_.one_layer || spec.shares_weights() ? 1 : spec.layers);
  for (const PublishedTensor& tensor : layout_.tensors(spec)) check_tensor(tensor);
  for (const PublishedTensor& tensor : layout_.final_norm_tensors(spec)) {
    if (places_.contains(tensor.name)) check_tensor(tensor);
  }
  std::unordered_set<std::string> known;
  for (const auto& [name, place] : places_) known.insert(place.key);
  for (const std::string& key : file_.keys()) {
    if (!known.contains(key)) check_unknown(key);
  }
}

}  // namespace ranklab
