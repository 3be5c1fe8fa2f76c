#include "io/tensors/weights_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/json_file.hpp"

namespace ranklab {

namespace {

using nlohmann::json;
using ShardOfKey = std::map<std::string, std::string>;

TensorFile open_shard(const std::string& path) {
  // For these, TensorFile's error says how to convert them.
  constexpr std::array<const char*, 5> convertible{".bin", ".pt", ".pth", ".ckpt", ".gz"};
  const bool known = path.ends_with(".safetensors") ||
                     std::any_of(convertible.begin(), convertible.end(),
                                 [&](const char* ending) { return path.ends_with(ending); });
  if (known) return TensorFile::open(path);
  throw Failure(printable(path) +
                ": weights are read from a .safetensors file, or from the .safetensors.index.json "
                "of its shards");
}

// {"weight_map": {tensor: shard, ...}, ...}. Shard names must not leave the folder: otherwise an
// index could make this program read any file.
ShardOfKey read_weight_map(const std::string& path) {
  const std::string label = printable(path);
  const json index = parse_json(read_json_text(path), label);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    throw Failure(label + ": an index of shards must be an object that has an object 'weight_map'");
  ShardOfKey map;
  for (const auto& [key, shard] : index["weight_map"].items()) {
    const std::string tensor = label + ": the shard of tensor '" + printable_key(key) + "' ";
    if (!shard.is_string()) throw Failure(tensor + "is not a name");
    const auto& name = shard.get_ref<const std::string&>();
    if (name.empty() || name == "." || name == ".." ||
        name.find_first_of(std::string("/\\\0", 3)) != std::string::npos)
      throw Failure(tensor + "is '" + printable_key(name) +
                    "'; it must be the plain name of a file in the folder of the index");
    map.emplace(key, name);
  }
  if (map.empty()) throw Failure(label + ": the index lists no tensor");
  return map;
}

// Opens all shards of the map; each must contain exactly the tensors that the map assigns to it.
std::vector<TensorFile> open_shards(const std::string& path, const ShardOfKey& map) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::map<std::string, TensorFile> shards;
  for (const auto& [key, name] : map) {
    auto shard = shards.find(name);
    if (shard == shards.end())
      shard = shards.emplace(name, open_shard((folder / name).string())).first;
    if (!shard->second.has(key))
      throw Failure(printable(path) + ": tensor '" + printable_key(key) + "' is not in " +
                    printable_key(name) + ", although the index assigns it to that file");
  }
  std::vector<TensorFile> opened;
  for (const auto& [name, shard] : shards) {
    for (const std::string& key : shard.keys()) {
      const auto listed = map.find(key);
      if (listed != map.end() && listed->second == name) continue;
      throw Failure(
          printable(path) + ": " + printable_key(name) + " has a tensor '" + printable_key(key) +
          "' that the index " +
          (listed == map.end() ? "does not list" : "puts in " + printable_key(listed->second)));
    }
    opened.push_back(shard);
  }
  return opened;
}

}  // namespace

WeightsFile WeightsFile::open(const std::string& path) {
  WeightsFile weights;
  weights.path_ = path;
  if (path.ends_with(".index.json")) {
    weights.shards_ = open_shards(path, read_weight_map(path));
  } else {
    weights.shards_.push_back(open_shard(path));
  }
  for (const TensorFile& shard : weights.shards_) {
    for (std::string& key : shard.keys()) weights.keys_.push_back(std::move(key));
  }
  return weights;
}

bool WeightsFile::has(const std::string& key) const {
  return std::any_of(shards_.begin(), shards_.end(),
                     [&](const TensorFile& shard) { return shard.has(key); });
}

StoredTensor WeightsFile::tensor(const std::string& key) const {
  const auto shard = std::find_if(shards_.begin(), shards_.end(),
                                  [&](const TensorFile& one) { return one.has(key); });
  // If no shard has the key, the first shard's error lists the keys that exist.
  return (shard == shards_.end() ? shards_.front() : *shard).tensor(key);
}

}  // namespace ranklab
