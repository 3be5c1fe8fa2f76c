// The pairs that the flags name, filtered by --include and --exclude.

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/ranks/ranks.hpp"
#include "io/tensors/tensor_file.hpp"
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
  if (archive.empty()) return out;
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

// Pairs every name that both archives have; with one archive only, takes every name in it.
void add_archives(const FilesConfig& config, Listing& out) {
  const auto activations = keys_by_name(config.activations),
             gradients = keys_by_name(config.gradients);
  const bool both = !config.activations.empty() && !config.gradients.empty();
  const auto address = [](const std::string& archive,
                          const std::map<std::string, std::string>& keys, const std::string& name) {
    const auto found = keys.find(name);
    return found == keys.end() ? "" : archive + ":" + found->second;
  };
  std::vector<std::string> names = names_of(activations);
  for (const auto& [name, key] : gradients) {
    if (!activations.contains(name)) names.push_back(name);
  }
  const std::size_t before = out.pairs.size();
  for (const std::string& name : names) {
    const ListedPair pair{printable(name), address(config.activations, activations, name),
                          address(config.gradients, gradients, name), config.transpose_activations,
                          config.transpose_gradients};
    if (both && !pair.is_judged()) {
      const bool lacks_gradient = pair.has_activation();
      out.skipped.push_back(
          {{pair.name, "is only in " + (lacks_gradient ? config.activations : config.gradients) +
                           ": there is no " + (lacks_gradient ? "gradient" : "activation")}});
    } else {
      out.pairs.push_back(pair);
    }
  }
  if (both && out.pairs.size() == before && !names.empty()) {
    throw Failure("no key is in both " + config.activations + " (" +
                  shortened(names_of(activations)) + ") and " + config.gradients + " (" +
                  shortened(names_of(gradients)) + ")");
  }
}

// Keeps the pairs and the skipped layers that --include and --exclude select: a key that the user
// did not ask for is not reported as missing.
void apply_globs(const FilesConfig& config, Listing& all) {
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
                         "' matches no pair; the pairs are " + names);
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
                     ": no pair is left; the pairs are " + names);
  }
}

}  // namespace

ListedPair parse_pair(const FilesConfig& config, const std::string& text) {
  const std::size_t first = text.find(','),
                    second = first == std::string::npos ? first : text.find(',', first + 1);
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        "--pair: '" + printable_key(text) + "' is not allowed (" + why +
        "); allowed: NAME,ACTIVATION_FILE,GRADIENT_FILE; one of the two files may be empty");
  };
  if (second == std::string::npos) refuse("two commas are needed");
  if (text.find(',', second + 1) != std::string::npos)
    refuse("more than two commas; --manifest takes paths with commas");
  ListedPair pair{text.substr(0, first), text.substr(first + 1, second - first - 1),
                  text.substr(second + 1), config.transpose_activations,
                  config.transpose_gradients};
  if (pair.name.empty()) refuse("no name");
  if (!pair.has_activation() && !pair.has_gradient()) refuse("no file");
  return pair;
}

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

Listing list_pairs(const FilesConfig& config) {
  Listing out;
  if (!config.weights_only.empty()) add_weights(config.weights_only, out);
  for (const std::string& text : config.pair) out.pairs.push_back(parse_pair(config, text));
  for (const std::string& manifest : config.manifest) add_manifest(config, manifest, out);
  add_archives(config, out);
  if (!config.from.empty()) add_recordings(config.from, out);
  // validate() requires at least one flag that names matrices.
  if (out.pairs.empty() && !out.skipped.empty())
    throw Failure(no_layer_left_message(unique_reasons(out.skipped, 1)));
  if (out.pairs.empty())
    throw Failure("no matrix in " + config.activations + config.gradients + config.weights_only +
                  joined(config.from));
  std::set<std::pair<std::string, When>> seen;
  for (ListedPair& pair : out.pairs) {
    pair.may_repeat |= config.allow_repeats;
    if (seen.insert({pair.name, pair.when}).second) continue;
    const std::string at = pair.when.step < 0 ? "" : " at step " + std::to_string(pair.when.step);
    throw UsageError("two pairs are named '" + pair.name + "'" + at + "; names must be unique");
  }
  apply_globs(config, out);
  return out;
}

namespace {

enum class Kind { recordings, manifest, weights, archive, array };

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
    if (document.is_object() && document.contains("schema") && document.contains("claims"))
      throw UsageError(printable_key(path) +
                       " is a result of ranklab; allowed: recordings, matrices, weights, or a "
                       "manifest that names them");
    return document.is_object() && document.contains("weight_map") ? Kind::weights : Kind::manifest;
  }
  if (path.ends_with(".npy")) return Kind::array;
  if (is_recording(path)) return Kind::recordings;
  if (path.ends_with(".npz") || is_safetensors(path)) return Kind::archive;
  const bool is_pickled = path.ends_with(".pt") || path.ends_with(".pth") || path.ends_with(".bin");
  throw UsageError(
      printable_key(path) +
      " is not allowed; allowed: a .npy, .npz, .safetensors or .json file, or a folder" +
      (is_pickled ? "; in Python, safetensors.torch.save_file(model.state_dict(), "
                    "'model.safetensors') writes weights"
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
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [kind, flag] :
       {std::pair(Kind::recordings, "from"), std::pair(Kind::manifest, "manifest")}) {
    if (!all(kind)) continue;
    for (const std::string& path : paths) out.emplace_back(flag, path);
    return out;
  }
  if (paths.size() == 2 && all(Kind::array))
    return {{"pair", "layer," + paths[0] + "," + paths[1]}};
  if (paths.size() == 2 && all(Kind::archive))
    return {{"activations", paths[0]}, {"gradients", paths[1]}};
  if (paths.size() == 1 && !all(Kind::array)) return {{"weights-only", paths[0]}};
  throw UsageError(
      printable_key(paths.front()) + (paths.size() > 1 ? ", ..." : "") +
      " is not allowed; allowed: recordings or folders of recordings, manifests (.json), "
      "ACTIVATIONS GRADIENTS (two .npy files or two archives), or one archive, index.json or "
      "folder of weights");
}

}  // namespace ranklab
