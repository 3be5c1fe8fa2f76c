// A checkpoint held against the model that it should be.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "models/published/checkpoint.hpp"

namespace ranklab {

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
  if (is_passed_over(key)) return;
  switch (file_.tensor(key).dtype()) {
    case Dtype::f64:
    case Dtype::f32:
    case Dtype::f16:
    case Dtype::bf16:
      break;
    default:
      return;  // ids of positions, masks: weights are not integers
  }
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
