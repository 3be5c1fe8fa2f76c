// The pairs that the flags name, filtered by --include and --exclude.

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/tensors/tensor_file.hpp"
#include "ranks/ranks.hpp"
#include "result/result_json.hpp"

namespace ranklab::ranks {
namespace {

// Names are repeated for every step and batch.
std::string shortened(const std::vector<std::string>& all_names) {
  constexpr std::size_t most = 12;
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const std::string& name : all_names) {
    if (known.insert(name).second) names.push_back(name);
  }
  const std::size_t all = names.size();
  names.resize(std::min(most, all));
  return joined(names) + (all > most ? " and " + std::to_string(all - most) + " more" : "");
}

std::string shortened(const std::vector<ListedPair>& pairs) {
  std::vector<std::string> names;
  for (const ListedPair& pair : pairs) names.push_back(pair.name);
  return shortened(names);
}

// The keys of an archive by layer name. If an archive has both "fc" and "fc.weight", both keep
// their full names.
std::map<std::string, std::string> keys_by_name(const std::string& archive) {
  std::map<std::string, std::string> out;
  const std::vector<std::string> keys = TensorFile::open(archive).keys();
  const std::set<std::string> all(keys.begin(), keys.end());
  for (const std::string& key : keys)
    out[all.contains(layer_name(key)) ? key : layer_name(key)] = key;
  return out;
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& keys) {
  std::vector<std::string> names;
  for (const auto& [name, key] : keys) names.push_back(name);
  return names;
}

// Whether two archives have the same tensors of the same shapes and vectors among them, as two
// checkpoints of a model have. An activation is no vector.
bool are_checkpoints(const TensorFile& one, const TensorFile& other) {
  bool has_vectors = false;
  if (one.keys().size() != other.keys().size()) return false;
  for (const std::string& key : one.keys()) {
    try {
      if (!other.has(key) || one.tensor(key).shape() != other.tensor(key).shape()) return false;
      has_vectors |= one.tensor(key).shape().size() == 1;
    } catch (const Failure&) {  // a type that is not read
    }
  }
  return has_vectors;
}

// Pairs every name that both archives have.
void add_archives(const RanksConfig& config, Listing& out) {
  if (config.activations.empty()) return;
  if (are_checkpoints(TensorFile::open(config.activations), TensorFile::open(config.gradients)))
    throw Failure("--activations, --gradients: " + printable(config.activations) + " and " +
                  printable(config.gradients) +
                  " have the same tensors of the same shapes, vectors among them: they are two "
                  "checkpoints; `ranklab ranks FILE` prints the ranks of the weights of one");
  const auto activations = keys_by_name(config.activations),
             gradients = keys_by_name(config.gradients);
  const auto skip = [&](const std::string& name, const std::string& file, const char* lacks) {
    out.skipped.push_back(
        {{printable(name), "is only in " + printable(file) + ": there is no " + lacks}});
  };
  for (const auto& [name, key] : activations) {
    const auto gradient = gradients.find(name);
    if (gradient == gradients.end()) {
      skip(name, config.activations, "gradient");
    } else {
      out.pairs.push_back({printable(name), config.activations + ":" + key,
                           config.gradients + ":" + gradient->second});
    }
  }
  for (const auto& [name, key] : gradients) {
    if (!activations.contains(name)) skip(name, config.gradients, "activation");
  }
  if (out.pairs.empty() && !out.skipped.empty()) {
    throw Failure("no key is in both " + printable(config.activations) + " (" +
                  shortened(names_of(activations)) + ") and " + printable(config.gradients) + " (" +
                  shortened(names_of(gradients)) + ")");
  }
}

// Keeps the pairs and the skipped layers that --include and --exclude select: a key that the user
// did not ask for is not reported as missing.
void apply_globs(const RanksConfig& config, Listing& all) {
  const std::vector<std::string> include = comma_separated(config.include),
                                 exclude = comma_separated(config.exclude);
  const std::string names = shortened(all.pairs);
  for (const auto& [flag, globs] :
       {std::pair("--include", include), std::pair("--exclude", exclude)}) {
    for (const std::string& glob : globs) {
      const auto hit = [&](const auto& each) { return matches_glob(glob, each.name); };
      if (std::none_of(all.pairs.begin(), all.pairs.end(), hit) &&
          std::none_of(all.skipped.begin(), all.skipped.end(), hit)) {
        throw UsageError(std::string(flag) + ": '" + printable_key(glob) +
                         "' matches no matrix; the matrices are " + names);
      }
    }
  }
  const auto left_out = [&](const auto& each) {
    const auto hit = [&](const std::string& glob) { return matches_glob(glob, each.name); };
    return (!config.include.empty() && std::none_of(include.begin(), include.end(), hit)) ||
           std::any_of(exclude.begin(), exclude.end(), hit);
  };
  std::erase_if(all.pairs, left_out);
  std::erase_if(all.skipped, left_out);
  if (all.pairs.empty()) {
    throw UsageError(std::string(exclude.empty() ? "--include" : "--exclude") +
                     ": no matrix is left; the matrices are " + names);
  }
}

}  // namespace

std::vector<std::string> comma_separated(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t comma = std::min(text.find(',', start), text.size());
      if (comma > start) parts.push_back(text.substr(start, comma - start));
      start = comma + 1;
    }
  }
  return parts;
}

std::string layer_name(const std::string& parameter) {
  constexpr std::string_view ending = ".weight";
  return parameter.size() > ending.size() && parameter.ends_with(ending)
             ? parameter.substr(0, parameter.size() - ending.size())
             : parameter;
}

Listing list_pairs(const RanksConfig& config) {
  Listing out;
  if (!config.weights_only.empty()) add_weights(config.weights_only, out);
  add_archives(config, out);
  if (!config.from.empty()) add_recordings(config.from, out);
  // check() requires one flag that names matrices.
  if (out.pairs.empty() && !out.skipped.empty())
    throw Failure(no_layer_left_message(unique_reasons(out.skipped, 1)));
  if (out.pairs.empty())
    throw Failure("no matrix in " +
                  printable(config.activations + config.weights_only + joined(config.from)));
  std::set<std::pair<std::string, When>> seen;
  for (const ListedPair& pair : out.pairs) {
    if (seen.insert({pair.name, pair.when}).second) continue;
    const std::string at = pair.when.step < 0 ? "" : " at step " + std::to_string(pair.when.step);
    throw UsageError("two matrices are named '" + pair.name + "'" + at + "; names must be unique");
  }
  apply_globs(config, out);
  return out;
}

namespace {

enum class Kind { recordings, weights, archive };

constexpr const char* allowed_paths =
    "allowed: recordings of ranklab.record or folders of them, or the weights of a model: one "
    "archive (.safetensors, .npz), index.json or folder; and --activations ARCHIVE --gradients "
    "ARCHIVE";

bool any_file(const std::string& folder, bool (*condition)(const std::string&)) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (condition(entry.path().string())) return true;
  }
  if (error) throw Failure(printable(folder) + ": " + error.message());
  return false;
}

bool is_safetensors(const std::string& path) {
  return path.ends_with(".safetensors");
}

Kind kind_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw Failure(printable(path) + ": no such file or folder");
  if (std::filesystem::is_directory(path, error)) {
    if (any_file(path, is_recording)) return Kind::recordings;
    if (any_file(path, is_safetensors)) return Kind::weights;
    throw Failure(printable(path) +
                  ": the folder contains neither recordings (step<N>.safetensors, written by "
                  "ranklab.record) nor weights (.safetensors)");
  }
  if (path.ends_with(".json")) {
    const nlohmann::json document = read_json(path);
    if (document.is_object() && document.contains("weight_map")) return Kind::weights;
    const bool is_result =
        document.is_object() && document.contains("schema") && document.contains("claims");
    throw UsageError(printable_key(path) + " is " +
                     (is_result ? "a result of ranklab" : "no index of weights (a 'weight_map')") +
                     "; " + allowed_paths);
  }
  if (is_recording(path)) return Kind::recordings;
  if (path.ends_with(".npz") || is_safetensors(path)) return Kind::archive;
  const bool is_pickled = path.ends_with(".pt") || path.ends_with(".pth") || path.ends_with(".bin");
  throw UsageError(printable_key(path) + " is not allowed; " + allowed_paths +
                   (is_pickled ? "; in Python, safetensors.torch.save_file(model.state_dict(), "
                                 "'model.safetensors') writes weights"
                    : path.ends_with(".npy")
                        ? "; in Python, numpy.savez('weights.npz', NAME=array) writes one"
                        : ""));
}

}  // namespace

}  // namespace ranklab::ranks

namespace ranklab {

std::vector<std::pair<std::string, std::string>> flags_of_paths(
    const std::vector<std::string>& paths) {
  using ranks::Kind;
  std::vector<Kind> kinds;
  for (const std::string& path : paths) kinds.push_back(ranks::kind_of(path));
  const auto all = [&](Kind kind) {
    return std::all_of(kinds.begin(), kinds.end(), [&](Kind one) { return one == kind; });
  };
  if (all(Kind::recordings)) {
    std::vector<std::pair<std::string, std::string>> out;
    for (const std::string& path : paths) out.emplace_back("from", path);
    return out;
  }
  if (paths.size() == 1) return {{"weights-only", paths[0]}};
  if (std::find(kinds.begin(), kinds.end(), ranks::Kind::recordings) == kinds.end())
    throw UsageError(
        printable_key(paths[0]) + " and " + printable_key(paths[1]) +
        (paths.size() > 2 ? ", ... " : " ") +
        "are not measured together. Measure each checkpoint (`ranklab ranks PATH --out NAME.json`) "
        "and compare the results (`ranklab compare ONE.json OTHER.json`)" +
        (paths.size() == 2 && all(Kind::archive)
             ? "; activations and gradients are --activations " + printable_key(paths[0]) +
                   " --gradients " + printable_key(paths[1])
             : ""));
  throw UsageError(printable_key(paths.front()) + ", ... are not allowed together; " +
                   ranks::allowed_paths);
}

}  // namespace ranklab
