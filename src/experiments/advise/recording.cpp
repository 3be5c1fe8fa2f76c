// Reads what experiments/ranklab_dump.py writes: a folder with recording.json and one .safetensors
// file per matrix.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <tuple>

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
constexpr std::int64_t most_ranks = 1'000'000;

std::optional<std::int64_t> number_of(const std::string& digits) {
  if (digits.empty() || digits.size() > 12 || !std::all_of(digits.begin(), digits.end(), is_digit))
    return std::nullopt;
  return std::stoll(digits);
}

// What the name of a folder says.
struct FolderName {
  std::int64_t step = -1, batch = -1, rank = 0, ranks = 1;

  When when() const {
    return {step, ranks == 1 ? batch : std::max<std::int64_t>(batch, 0) * ranks + rank};
  }
  auto operator<=>(const FolderName&) const = default;  // NOLINT(modernize-use-nullptr): no pointer
};

// The number after `word`; nullopt if the text is anything else.
std::optional<std::int64_t> number_after(const std::string& word, const std::string& text) {
  return text.starts_with(word) ? number_of(text.substr(word.size())) : std::nullopt;
}

// Parses "step100", "step100.batch3", "step100.rank0of2" or "step100.batch3.rank0of2".
std::optional<FolderName> parse_folder(const std::string& folder) {
  FolderName out;
  std::istringstream words(folder);
  std::string word;
  std::getline(words, word, '.');
  const auto step = number_after("step", word);
  if (!step || folder.ends_with('.')) return std::nullopt;
  out.step = *step;
  while (std::getline(words, word, '.')) {
    const std::size_t of = word.find("of");
    if (const auto batch = number_after("batch", word); batch && out.batch < 0 && out.ranks == 1) {
      out.batch = *batch;
    } else if (of != std::string::npos && out.ranks == 1) {
      const auto rank = number_after("rank", word.substr(0, of)),
                 ranks = number_of(word.substr(of + 2));
      if (!rank || !ranks || *rank >= *ranks || *ranks > most_ranks) return std::nullopt;
      out.rank = *rank, out.ranks = *ranks;
    } else {
      return std::nullopt;
    }
  }
  return out;
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

  /// A number that is not negative.
  double number(const char* key, double fallback) const {
    if (!entry_.contains(key)) return fallback;
    const Json& value = entry_[key];
    if (!value.is_number() || !(value.get<double>() >= 0))
      throw Failure(where_ + ": '" + key + "' must be a number of at least 0");
    return value.get<double>();
  }

 private:
  const Json& entry_;
  std::string where_;
};

// Samples without an effect on the loss, such as padding, count in st but not in the gradient. As
// _reason_without_effect() of ranklab_dump.py. Older recordings do not say by how much such samples
// change st, and neither do those where it is not known.
std::string negligible_reason(const Entry& entry) {
  constexpr double largest_share = 0.1, largest_change = 0.1;
  const double share = entry.number("negligible_share", 0),
               change = entry.number("negligible_change", undefined);
  const bool is_known = !std::isnan(change);
  if (is_known ? std::max(change, 1 / change) <= 1 + largest_change : share <= largest_share)
    return "";
  return percent(share) +
         " of the second moment is from samples whose output gradient is negligible, such as "
         "padding behind a mask of -30" +
         (is_known ? ": without them st(A) is " + short_number(change) + " times as large" : "") +
         "; leave them out of the batch, or give them a loss of exactly 0";
}

void read_recording(const fs::path& folder, const FolderName& name_of_folder,
                    std::vector<Source>& out, Sources& rest) {
  const When when = name_of_folder.when();
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
    source.drawn = entry.count("input_samples", 0, most_samples);
    source.parts = entry.count("parts", 0, most_parts);
    source.first_part = entry.count("first_part", 1, most_parts);
    source.when = when;
    source.ranks = name_of_folder.ranks;
    source.gradient_norm = entry.number("gradient_norm", undefined);
    std::string reason = entry.text("reason", false);
    if (reason.empty()) reason = negligible_reason(entry);
    if (reason.empty() && source.samples == 0) reason = "no sample has an output gradient";
    if (reason.empty()) {
      const TensorFile tensors = TensorFile::open(file);
      source.gradient = file + ":gradient";
      const auto stored_in = [&](const std::string& samples, const std::string& moment) {
        if (tensors.has(samples)) return std::pair(file + ":" + samples, MomentStorage::samples);
        const bool is_packed = open_tensor(tensors, moment).shape().size() == 1;
        return std::pair(file + ":" + moment,
                         is_packed ? MomentStorage::triangle : MomentStorage::matrix);
      };
      if (tensors.has("counts")) {
        source.second_moment = file + ":counts";
      } else {
        std::tie(source.second_moment, source.moment_storage) =
            stored_in("inputs", "second_moment");
      }
      if (tensors.has("output_gradients") || tensors.has("error_moment")) {
        std::tie(source.error_moment, source.error_storage) =
            stored_in("output_gradients", "error_moment");
      }
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
  std::vector<std::pair<FolderName, fs::path>> recordings;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto name = parse_folder(entry.path().filename().string());
    if (name && fs::exists(entry.path() / index_name)) recordings.emplace_back(*name, entry.path());
  }
  if (error) throw Failure("--from: " + printable(folder) + ": " + error.message());
  if (recordings.empty()) {
    throw Failure("--from: " + printable(folder) + " contains neither " + index_name +
                  " nor folders step<N> or step<N>.batch<B> that contain one; record a model with "
                  "experiments/ranklab_dump.py");
  }
  std::sort(recordings.begin(), recordings.end());
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> ranks;  // by step and batch
  for (const auto& [name, path] : recordings) ranks[{name.step, name.batch}] += 1;
  for (const auto& [name, path] : recordings) {
    const std::int64_t found = ranks.at({name.step, name.batch});
    if (found != name.ranks)
      throw Failure("--from: " + printable(path.string()) + " is the share of one of " +
                    std::to_string(name.ranks) + " ranks, but there are " + std::to_string(found) +
                    " for its step and batch; copy the folders of all ranks into one");
    read_recording(path, name, out, others);
  }
  return out;
}

}  // namespace ranklab::advise
