// The manifest of --study files. It is JSON, and read by report's strict reader: no key twice, valid UTF-8.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "experiments/one_step_compare/files/pairs.hpp"
#include "io/atomic_file.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

void allow_keys(const Json& object, const std::vector<std::string>& allowed, const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    throw Failure(where + ": unknown key '" + printable(key) + "'" + did_you_mean(key, allowed, "; allowed: " + joined(allowed)));
  }
}

std::string text_of(const Json& object, const char* key, const std::string& where) {
  if (!object.contains(key)) return "";
  if (!object[key].is_string()) throw Failure(where + ": '" + key + "' must be text");
  return object[key].get<std::string>();
}

std::string beside(const std::string& manifest, const std::string& address) {
  if (address.empty()) return "";
  return (std::filesystem::path(manifest).parent_path() / address).string();
}

LayerPair read_entry(const Json& entry, const std::string& path, bool transposed, std::size_t number) {
  const std::string where = printable(path) + ": pair " + std::to_string(number);
  if (!entry.is_object()) throw Failure(where + ": must be an object");
  allow_keys(entry, {"name", "activation", "gradient", "transpose_activations"}, where);
  LayerPair pair{printable(text_of(entry, "name", where)), beside(path, text_of(entry, "activation", where)),
                 beside(path, text_of(entry, "gradient", where)), transposed};
  if (pair.name.empty()) throw Failure(where + ": needs a 'name'");
  if (pair.activation.empty() && pair.gradient.empty()) {
    throw Failure(where + " ('" + pair.name + "'): needs an 'activation', a 'gradient' or both");
  }
  if (entry.contains("transpose_activations")) {
    if (!entry["transpose_activations"].is_boolean()) throw Failure(where + ": 'transpose_activations' must be true or false");
    pair.transposed = entry["transpose_activations"].get<bool>();
  }
  return pair;
}

}  // namespace

std::vector<LayerPair> read_manifest(const std::string& path, bool transposed) {
  const Json document = read_json(path);
  const std::string where = printable(path);
  if (!document.is_object()) throw Failure(where + ": a manifest must be an object with the key 'pairs'");
  allow_keys(document, {"pairs"}, where);
  if (!document.contains("pairs") || !document["pairs"].is_array() || document["pairs"].empty()) {
    throw Failure(where + ": needs a list of at least one pair as 'pairs'");
  }
  std::vector<LayerPair> pairs;
  for (const Json& entry : document["pairs"]) pairs.push_back(read_entry(entry, path, transposed, pairs.size() + 1));
  return pairs;
}

}  // namespace ranklab
