// Reads what experiments/ranklab_dump.py writes: a folder with recording.json and one .safetensors
// file per matrix.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/advise/advise.hpp"
#include "io/byte_source.hpp"
#include "io/tensors/tensor_file.hpp"
#include "report/result_json.hpp"

namespace ranklab::advise {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char *index_name = "recording.json", *format_name = "ranklab.recording/1";

std::optional<std::int64_t> number_of(const std::string& digits) {
  if (digits.empty() || digits.size() > 12 || !std::all_of(digits.begin(), digits.end(), is_digit))
    return std::nullopt;
  return std::stoll(digits);
}

// Parses the name of a folder, "step100" or "step100.batch3".
std::optional<When> when_of(const std::string& folder) {
  const std::string step = "step", batch = ".batch";
  const std::size_t dot = std::min(folder.find(batch), folder.size());
  if (!folder.starts_with(step)) return std::nullopt;
  const auto at = number_of(folder.substr(step.size(), dot - step.size()));
  const auto which = dot == folder.size() ? std::optional<std::int64_t>(-1)
                                          : number_of(folder.substr(dot + batch.size()));
  return at && which ? std::optional<When>({*at, *which}) : std::nullopt;
}

class Entry {
 public:
  Entry(const Json& entry, std::string where) : entry_(entry), where_(std::move(where)) {
    if (!entry_.is_object()) throw Failure(where_ + ": must be an object");
  }

  std::string text(const char* key, bool needed = true) const {
    if (!needed && !entry_.contains(key)) return "";
    const Json& value = member(entry_, key);
    if (!value.is_string()) throw Failure(where_ + ": '" + key + "' must be text");
    return printable(value.get<std::string>());
  }

  std::uint64_t count(const char* key, std::uint64_t fallback, std::uint64_t most) const {
    if (!entry_.contains(key)) return fallback;
    const Json& value = entry_[key];
    if (!value.is_number_unsigned() || value > most) {
      throw Failure(where_ + ": '" + key + "' must be an integer from 0 to " +
                    std::to_string(most));
    }
    return value.get<std::uint64_t>();
  }

 private:
  const Json& entry_;
  std::string where_;
};

void read_recording(const fs::path& folder, const When& when, std::vector<Source>& out,
                    Sources& rest) {
  const std::string path = (folder / index_name).string(), where = printable(path);
  const Json recording = read_json(path);
  if (member(recording, "format") != format_name)
    throw Failure(where + ": is not a recording in the format " + format_name);
  const Json &layers = member(recording, "layers"), &others = member(recording, "not_seen");
  if (!layers.is_array() || !others.is_object())
    throw Failure(where + ": needs a list 'layers' and an object 'not_seen'");
  for (const Json& json : layers) {
    const Entry entry(json, where + ": layer " + std::to_string(&json - &layers.front() + 1));
    const std::string name = entry.text("file"), file = (folder / name).string();
    if (!stays_below(name))
      throw Failure(where + ": 'file' is '" + printable_key(name) +
                    "'; it must be a file in the folder of the recording");
    Source source;
    source.name = entry.text("name");
    if (source.name.empty()) throw Failure(where + ": a layer has no name");
    rest.parameters[source.name] = entry.text("parameter");
    source.role = entry.text("role");
    source.samples = entry.count("samples", 0, most_samples);
    source.parts = entry.count("parts", 0, most_parts);
    source.first_part = entry.count("first_part", 1, most_parts);
    source.when = when;
    std::string reason = entry.text("reason", false);
    if (reason.empty() && source.samples == 0) reason = "no sample has an output gradient";
    if (reason.empty()) {
      source.second_moment =
          file + (TensorFile::open(file).has("counts") ? ":counts" : ":second_moment");
      source.gradient = file + ":gradient";
      out.push_back(std::move(source));
    } else {
      rest.skipped.push_back({{source.name, reason}, when});
    }
  }
  for (const auto& [name, reason] : others.items()) {
    if (!reason.is_string()) throw Failure(where + ": 'not_seen' must give reasons");
    const Skipped one{layer_name(printable(name)), printable(reason.get<std::string>())};
    if (reason == "no matrix") {
      rest.vectors.push_back({printable(name), one.reason});
    } else {
      rest.skipped.push_back({one, when});
      rest.parameters[one.name] = printable(name);
    }
  }
}

}  // namespace

std::vector<Source> read_recordings(const std::string& folder, Sources& others) {
  std::vector<Source> out;
  if (fs::exists(fs::path(folder) / index_name)) {
    read_recording(folder, {}, out, others);
    return out;
  }
  std::vector<std::pair<When, fs::path>> recordings;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto when = when_of(entry.path().filename().string());
    if (when && fs::exists(entry.path() / index_name)) recordings.emplace_back(*when, entry.path());
  }
  if (error) throw Failure("--from: " + printable(folder) + ": " + error.message());
  if (recordings.empty()) {
    throw Failure("--from: " + printable(folder) + " contains neither " + index_name +
                  " nor folders step<N> or step<N>.batch<B> that contain one; record a model with "
                  "experiments/ranklab_dump.py");
  }
  std::sort(recordings.begin(), recordings.end());
  for (const auto& [when, path] : recordings) read_recording(path, when, out, others);
  return out;
}

}  // namespace ranklab::advise
