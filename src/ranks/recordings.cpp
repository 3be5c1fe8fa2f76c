// Reads recordings: .safetensors files that ranklab.record() of the Python package writes. The
// format is in python/ranklab/record.py.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/json_file.hpp"
#include "ranks/ranks.hpp"

namespace ranklab::ranks {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view formats = "ranklab.recording/", format_name = "ranklab.recording/2";

std::optional<std::int64_t> number_after(std::string_view word, const std::string& text) {
  if (!text.starts_with(word)) return std::nullopt;
  const std::string digits = text.substr(word.size());
  if (digits.empty() || digits.size() > 12 || !std::all_of(digits.begin(), digits.end(), is_digit))
    return std::nullopt;
  return std::stoll(digits);
}

// Parses "step100.safetensors" or "step100.batch3.safetensors".
std::optional<When> parse_name(const fs::path& path) {
  if (path.extension() != ".safetensors") return std::nullopt;
  const std::string name = path.stem().string();
  const std::size_t dot = name.find('.');
  const auto step = number_after("step", name.substr(0, dot));
  if (!step || dot == std::string::npos) return step ? std::optional(When{*step}) : std::nullopt;
  const auto batch = number_after("batch", name.substr(dot + 1));
  return batch ? std::optional(When{*step, *batch}) : std::nullopt;
}

class Entry {
 public:
  Entry(const Json& entry, std::string where) : entry_(entry), where_(std::move(where)) {
    if (!entry_.is_object()) throw Failure(where_ + ": must be an object");
  }

  std::string text(const char* key, bool needed = true) const {
    if (!needed && !entry_.contains(key)) return "";
    if (!entry_.contains(key) || !entry_[key].is_string())
      throw Failure(where_ + ": '" + key + "' must be text");
    return entry_[key].get<std::string>();
  }

  std::uint64_t count(const char* key, std::uint64_t fallback, std::uint64_t most) const {
    if (!entry_.contains(key)) return fallback;
    const Json& value = entry_[key];
    if (!value.is_number_unsigned() || value > most)
      throw Failure(where_ + ": '" + key + "' must be an integer from 0 to " +
                    std::to_string(most));
    return value.get<std::uint64_t>();
  }

  double positive(const char* key) const {
    if (!entry_.contains(key)) return 1;
    const Json& value = entry_[key];
    if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>()))
      throw Failure(where_ + ": '" + key + "' must be a positive number");
    return value.get<double>();
  }

 private:
  const Json& entry_;
  std::string where_;
};

// The JSON value of a key of the metadata.
Json member_of(const TensorFile& file, const std::string& key) {
  const std::string where = printable(file.path()) + ": '" + key + "' of the metadata";
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) throw Failure(where + " is missing");
  return parse_json(found->second, where);
}

void add_layer(const TensorFile& file, const Entry& entry, const std::string& where, When when,
               Listing& out) {
  const std::string key = entry.text("name"), address = file.path() + ":" + key;
  ListedPair pair;
  pair.name = printable(key);
  if (pair.name.empty()) throw Failure(where + ": has no name");
  pair.role = printable(entry.text("role", false));
  pair.samples = entry.count("n", 0, most_samples);
  pair.blocks = entry.count("blocks", 1, most_parts);
  if (pair.blocks == 1) pair.blocks = 0;
  pair.loss_scale = entry.positive("loss_scale");
  pair.when = when;
  std::string reason = printable(entry.text("reason", false));
  if (reason.empty() && pair.samples == 0) reason = "no sample has an output gradient";
  if (!reason.empty()) return out.skipped.push_back({{pair.name, reason}, when});
  pair.gradient = address + ".gradient";
  if (file.has(key + ".activations")) {
    pair.activation = address + ".activations";
    pair.samples_are_rows = true;
  } else {
    pair.second_moment = address + (file.has(key + ".counts") ? ".counts" : ".second_moment");
  }
  out.pairs.push_back(std::move(pair));
}

void add_recording(const std::string& path, When when, Listing& out) {
  const TensorFile file = TensorFile::open(path);
  const std::string where = printable(path);
  const auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != format_name)
    throw Failure(where + ": is not a recording in the format " + std::string(format_name) +
                  "; write it with ranklab.record of this version's Python package");
  const Json layers = member_of(file, "layers"), others = member_of(file, "not_seen");
  if (!layers.is_array() || !others.is_object())
    throw Failure(where + ": needs a list 'layers' and an object 'not_seen' in the metadata");
  std::size_t number = 0;
  for (const Json& json : layers) {
    const std::string layer = where + ": layer " + std::to_string(++number);
    add_layer(file, Entry(json, layer), layer, when, out);
  }
  for (const auto& [name, json] : others.items()) {
    const Entry entry(json, where + ": 'not_seen' of " + printable_key(name));
    if (entry.text("cause") != "no-matrix")  // a vector
      out.skipped.push_back({{layer_name(printable(name)), printable(entry.text("reason"))}, when});
  }
}

}  // namespace

bool is_recording(const std::string& path) {
  if (!path.ends_with(".safetensors")) return false;
  try {
    const TensorFile file = TensorFile::open(path);
    const auto format = file.metadata().find("format");
    return format != file.metadata().end() && format->second.starts_with(formats);
  } catch (const Failure&) {  // the reader of the file reports the error
    return false;
  }
}

void add_recordings(const std::vector<std::string>& paths, Listing& out) {
  std::vector<std::pair<When, std::string>> recordings;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      const auto when = parse_name(path);
      if (!when && paths.size() > 1)
        throw Failure("--from: " + printable(path) +
                      ": of several recordings, each name must say the step: step<N>.safetensors "
                      "or step<N>.batch<B>.safetensors");
      recordings.emplace_back(when.value_or(When()), path);
      continue;
    }
    const std::size_t before = recordings.size();
    for (const auto& entry : fs::directory_iterator(path, error)) {
      if (const auto when = parse_name(entry.path()))
        recordings.emplace_back(*when, entry.path().string());
    }
    if (error) throw Failure("--from: " + printable(path) + ": " + error.message());
    if (recordings.size() == before)
      throw Failure("--from: " + printable(path) +
                    " contains no file step<N>.safetensors or step<N>.batch<B>.safetensors; record "
                    "a model with ranklab.record of the Python package");
  }
  std::sort(recordings.begin(), recordings.end());
  for (const auto& [when, path] : recordings) add_recording(path, when, out);
}

}  // namespace ranklab::ranks
