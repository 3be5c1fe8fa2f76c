// Manifests are JSON, read by the strict reader of report: no repeated keys, valid UTF-8.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/ranks/ranks.hpp"
#include "io/byte_reader.hpp"
#include "result/result_json.hpp"

namespace ranklab::ranks {
namespace {

using Json = nlohmann::json;

void allow_keys(const Json& object, const std::vector<std::string>& allowed,
                const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    throw Failure(where + ": unknown key '" + printable(key) + "'" +
                  did_you_mean(key, allowed, "; allowed: " + joined(allowed)));
  }
}

std::string text_of(const Json& object, const char* key, const std::string& where) {
  if (!object.contains(key)) return "";
  if (!object[key].is_string()) throw Failure(where + ": '" + key + "' must be text");
  return object[key].get<std::string>();
}

// The address of a tensor, below the folder of the manifest.
std::string address_of(const Json& entry, const char* key, const std::string& where,
                       const std::string& manifest) {
  const std::string address = text_of(entry, key, where);
  if (address.empty()) return "";
  if (!stays_below(parse_tensor_address(address).path))
    throw Failure(where + ": '" + key + "' is '" + printable_key(address) +
                  "'; it must be a relative path to a file below the folder of the manifest");
  return (std::filesystem::path(manifest).parent_path() / address).string();
}

bool switch_of(const Json& object, const char* key, const std::string& where, bool fallback) {
  if (!object.contains(key)) return fallback;
  if (!object[key].is_boolean()) throw Failure(where + ": '" + key + "' must be true or false");
  return object[key].get<bool>();
}

// A count from 0, or `fallback` if the key is missing.
template <class T>
T count_of(const Json& object, const char* key, const std::string& where, T fallback) {
  constexpr auto most = static_cast<std::int64_t>(most_samples);
  if (!object.contains(key)) return fallback;
  const Json& value = object[key];
  if (!value.is_number_integer() || value < 0 || value > most) {
    throw Failure(where + ": '" + key + "' must be an integer from 0 to " + std::to_string(most));
  }
  return value.get<T>();
}

ListedPair read_entry(const Json& entry, const FilesConfig& config, const std::string& path,
                      std::size_t number) {
  const std::string where = printable(path) + ": pair " + std::to_string(number);
  if (!entry.is_object()) throw Failure(where + ": must be an object");
  allow_keys(entry,
             {"name", "activation", "second_moment", "samples", "gradient", "transpose_activations",
              "transpose_gradients"},
             where);
  ListedPair pair{printable(text_of(entry, "name", where)),
                  address_of(entry, "activation", where, path),
                  address_of(entry, "gradient", where, path),
                  switch_of(entry, "transpose_activations", where, config.transpose_activations),
                  switch_of(entry, "transpose_gradients", where, config.transpose_gradients)};
  pair.second_moment = address_of(entry, "second_moment", where, path);
  pair.samples = count_of<std::uint64_t>(entry, "samples", where, 0);
  if (pair.name.empty()) throw Failure(where + ": needs a 'name'");
  const std::string named = where + " ('" + pair.name + "'): ";
  if (!pair.activation.empty() && !pair.second_moment.empty()) {
    throw Failure(named +
                  "has both an 'activation' and a 'second_moment'; only one of them is allowed");
  }
  if (pair.second_moment.empty() != (pair.samples == 0)) {
    throw Failure(
        named +
        "'second_moment' and 'samples' (the number of samples in its sum) must be given together");
  }
  if (!pair.has_activation() && !pair.has_gradient()) {
    throw Failure(named + "needs an 'activation' (or its 'second_moment'), a 'gradient' or both");
  }
  return pair;
}

}  // namespace

void add_manifest(const FilesConfig& config, const std::string& path, Listing& out) {
  const Json document = read_json(path);
  const std::string where = printable(path);
  if (!document.is_object())
    throw Failure(where + ": a manifest must be an object with the key 'pairs'");
  allow_keys(document, {"step", "batch", "pairs"}, where);
  if (!document.contains("pairs") || !document["pairs"].is_array() || document["pairs"].empty()) {
    throw Failure(where + ": needs a list of at least one pair as 'pairs'");
  }
  const When when{count_of<std::int64_t>(document, "step", where, -1),
                  count_of<std::int64_t>(document, "batch", where, -1)};
  std::size_t number = 0;
  for (const Json& entry : document["pairs"]) {
    out.pairs.push_back(read_entry(entry, config, path, ++number));
    out.pairs.back().when = when;
  }
}

}  // namespace ranklab::ranks
