// Checks a checkpoint's file against the expected model.

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "nn/checkpoints/checkpoint.hpp"

namespace ranklab {

// The first missing layer must not be needed: neither by the model, nor because later layers exist.
void Checkpoint::require_layers(std::uint64_t wanted) const {
  if (layers_ >= wanted && layers_ > last_layer_) return;
  refuse_missing(layout_.layer_tensors({.model = model()}, layers_).front());
}

void Checkpoint::check_tensor(const PublishedTensor& wanted) const {
  const auto place = places_.find(wanted.name);
  if (place == places_.end()) refuse_missing(wanted);
  const StoredTensor tensor = floating(place->second.key);
  if (tensor.shape() == wanted.shape) return;
  refuse_key(place->second.key,
             "is " + tensor.shape_text() + ", expected " + shape_to_text(wanted.shape));
}

bool Checkpoint::is_ignored(const std::string& name) const {
  const auto starts = [](std::string_view text, const std::vector<std::string>& with) {
    return std::any_of(with.begin(), with.end(),
                       [&](const std::string& start) { return text.starts_with(start); });
  };
  if (starts(name, layout_.heads)) return true;
  if (!name.starts_with(prefix_)) return false;
  const std::string inner = name.substr(prefix_.size());
  if (starts(inner, layout_.inner_heads)) return true;
  // "h.3.attn.bias" is the mask of a layer, "h.3.mlp.attn.bias" is not.
  const std::size_t point = inner.find('.', layout_.layers.size());
  if (!inner.starts_with(layout_.layers) || point == std::string::npos) return false;
  return std::find(layout_.masks.begin(), layout_.masks.end(), inner.substr(point + 1)) !=
         layout_.masks.end();
}

std::vector<std::string> Checkpoint::unknown() const {
  std::unordered_set<std::string_view> known;
  for (const auto& [name, place] : places_) known.insert(place.key);
  std::vector<std::string> keys;
  for (const std::string& key : file_.keys()) {
    // Integer tensors are position ids or masks, not weights.
    if (known.contains(key) || is_ignored(key.substr(wrapper_length(key)))) continue;
    const Dtype dtype = file_.tensor(key).dtype();
    if (is_floating(dtype) || is_float8(dtype)) keys.push_back(key);
  }
  return keys;
}

void Checkpoint::refuse_unknown(const std::string& key) const {
  std::string allowed;
  for (const std::string& head : layout_.heads)
    allowed += head + (head.ends_with('.') ? "*, " : ", ");
  for (const std::string& head : layout_.inner_heads) allowed += prefix_ + head + "*, ";
  for (const std::string& mask : layout_.masks)
    allowed += prefix_ + layout_.layers + "*." + mask + ", ";
  refuse_key(key, "is not a tensor of " + model() + "; also allowed: " + allowed +
                      "integer tensors, and tensors that --ignore-tensors GLOB names");
}

void Checkpoint::check_unknown(const std::vector<std::string>& globs) const {
  const auto matches = [](const std::string& glob, const std::string& key) {
    return matches_glob(glob, key) || matches_glob(glob, key.substr(wrapper_length(key)));
  };
  for (const std::string& glob : globs) {
    const std::vector<std::string>& keys = file_.keys();
    if (std::any_of(keys.begin(), keys.end(),
                    [&](const std::string& key) { return matches(glob, key); }))
      continue;
    throw UsageError("--ignore-tensors " + printable_key(glob) + " matches no tensor of " +
                     printable(path()));
  }
  for (const std::string& key : unknown()) {
    if (std::none_of(globs.begin(), globs.end(),
                     [&](const auto& glob) { return matches(glob, key); }))
      refuse_unknown(key);
  }
}

void Checkpoint::check(const ModelSpec& spec) const {
  if (spec.model != model())
    throw Failure(printable(path()) + ": holds " + model() + ", not " + spec.model);
  require_layers(layout_.one_layer || spec.shares_weights() ? 1 : spec.layers);
  for (const PublishedTensor& tensor : layout_.tensors(spec)) check_tensor(tensor);
  for (const PublishedTensor& tensor : layout_.final_norm_tensors(spec)) {
    if (places_.contains(tensor.name)) check_tensor(tensor);
  }
  check_unknown(spec.ignore_tensors);
}

}  // namespace ranklab
