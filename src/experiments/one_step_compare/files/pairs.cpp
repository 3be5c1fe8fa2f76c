// The pairs that the flags name: texts of --pair and --split, manifests, archives, globs. A manifest is JSON, and read by report's
// strict reader: no key twice, valid UTF-8.
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/error.hpp"
#include "experiments/one_step_compare/files/files.hpp"
#include "io/tensors/tensor_file.hpp"
#include "report/result_json.hpp"

namespace ranklab::files {
namespace {

using Json = nlohmann::json;

// Manifests ---------------------------------------------------------------------------------------------------------------------

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

bool switch_of(const Json& object, const char* key, const std::string& where, bool otherwise) {
  if (!object.contains(key)) return otherwise;
  if (!object[key].is_boolean()) throw Failure(where + ": '" + key + "' must be true or false");
  return object[key].get<bool>();
}

Source read_entry(const Json& entry, const FilesConfig& config, std::size_t number) {
  const std::string &path = config.manifest, where = printable(path) + ": pair " + std::to_string(number);
  if (!entry.is_object()) throw Failure(where + ": must be an object");
  allow_keys(entry, {"name", "activation", "gradient", "transpose_activations", "transpose_gradients"}, where);
  Source pair{printable(text_of(entry, "name", where)), beside(path, text_of(entry, "activation", where)),
              beside(path, text_of(entry, "gradient", where)),
              switch_of(entry, "transpose_activations", where, config.transpose_activations),
              switch_of(entry, "transpose_gradients", where, config.transpose_gradients)};
  if (pair.name.empty()) throw Failure(where + ": needs a 'name'");
  if (!pair.has_activation() && !pair.has_gradient()) {
    throw Failure(where + " ('" + pair.name + "'): needs an 'activation', a 'gradient' or both");
  }
  return pair;
}

// Archives and globs ------------------------------------------------------------------------------------------------------------

std::string shortened(std::vector<std::string> names) {
  constexpr std::size_t most = 12;
  const std::size_t all = names.size();
  names.resize(std::min(most, all));
  return joined(names) + (all > most ? " and " + std::to_string(all - most) + " more" : "");
}

std::string shortened(const std::vector<Source>& pairs) {
  std::vector<std::string> names;
  for (const Source& pair : pairs) names.push_back(pair.name);
  return shortened(names);
}

/// Elements of a flag that may stand several times and may hold commas.
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

// A layer's name for its parameter's.
std::string without_weight(const std::string& key) {
  constexpr std::string_view ending = ".weight";
  return key.size() > ending.size() && key.ends_with(ending) ? key.substr(0, key.size() - ending.size()) : key;
}

// The keys of an archive by their layers' names; where "fc" and "fc.weight" stand in one archive, both keep their own.
std::map<std::string, std::string> keys_by_name(const std::string& archive) {
  std::map<std::string, std::string> out;
  if (archive.empty()) return out;
  const std::vector<std::string> keys = TensorFile::open(archive).keys();
  const std::set<std::string> all(keys.begin(), keys.end());
  for (const std::string& key : keys) out[all.contains(without_weight(key)) ? key : without_weight(key)] = key;
  return out;
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& keys) {
  std::vector<std::string> names;
  for (const auto& [name, key] : keys) names.push_back(name);
  return names;
}

// Every name that both archives have is a pair; with one archive alone, every name of it.
void add_archives(const FilesConfig& config, Sources& out) {
  const auto activations = keys_by_name(config.activations), gradients = keys_by_name(config.gradients);
  const bool both = !config.activations.empty() && !config.gradients.empty();
  const auto address = [](const std::string& archive, const std::map<std::string, std::string>& keys, const std::string& name) {
    const auto found = keys.find(name);
    return found == keys.end() ? "" : archive + ":" + found->second;
  };
  std::vector<std::string> names = names_of(activations);
  for (const auto& [name, key] : gradients) {
    if (!activations.contains(name)) names.push_back(name);
  }
  for (const std::string& name : names) {
    const Source pair{printable(name), address(config.activations, activations, name), address(config.gradients, gradients, name),
                      config.transpose_activations, config.transpose_gradients};
    if (both && !(pair.has_activation() && pair.has_gradient())) {
      const bool lacks_gradient = pair.has_activation();
      out.skipped.push_back({pair.name, "stands in " + (lacks_gradient ? config.activations : config.gradients) +
                                            " alone, there is no " + (lacks_gradient ? "gradient" : "activation")});
    } else {
      out.pairs.push_back(pair);
    }
  }
  if (both && out.pairs.empty() && !names.empty()) {
    throw Failure("no key stands in both " + config.activations + " (" + shortened(names_of(activations)) + ") and " +
                  config.gradients + " (" + shortened(names_of(gradients)) + ")");
  }
}

// What --include and --exclude leave; keys that were not asked for are not missed either.
void apply_globs(const FilesConfig& config, Sources& all) {
  const std::vector<std::string> include = comma_separated(config.include), exclude = comma_separated(config.exclude);
  const std::string names = shortened(all.pairs);
  for (const auto& [flag, globs] : {std::pair("--include", include), std::pair("--exclude", exclude)}) {
    for (const std::string& glob : globs) {
      if (std::none_of(all.pairs.begin(), all.pairs.end(), [&](const Source& pair) { return matches_glob(glob, pair.name); })) {
        throw UsageError(std::string(flag) + ": '" + glob + "' matches no pair; the pairs are " + names);  // a slip
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
  if (all.pairs.empty()) throw UsageError("--exclude: leaves none of the pairs " + names);
}

}  // namespace

Source parse_pair(const FilesConfig& config, const std::string& text) {
  const std::size_t first = text.find(','), second = first == std::string::npos ? first : text.find(',', first + 1);
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--pair: '" + text + "' is not allowed (" + why +
                     "); allowed: NAME,ACTIVATION_FILE,GRADIENT_FILE, where one of the files may be left empty");
  };
  if (second == std::string::npos) refuse("two commas are needed");
  if (text.find(',', second + 1) != std::string::npos) refuse("more than two commas; --manifest takes paths with commas");
  Source pair{text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1),
              config.transpose_activations, config.transpose_gradients};
  if (pair.name.empty()) refuse("no name");
  if (!pair.has_activation() && !pair.has_gradient()) refuse("no file");
  return pair;
}

std::vector<Source> read_manifest(const FilesConfig& config) {
  const Json document = read_json(config.manifest);
  const std::string where = printable(config.manifest);
  if (!document.is_object()) throw Failure(where + ": a manifest must be an object with the key 'pairs'");
  allow_keys(document, {"pairs"}, where);
  if (!document.contains("pairs") || !document["pairs"].is_array() || document["pairs"].empty()) {
    throw Failure(where + ": needs a list of at least one pair as 'pairs'");
  }
  std::vector<Source> pairs;
  for (const Json& entry : document["pairs"]) pairs.push_back(read_entry(entry, config, pairs.size() + 1));
  return pairs;
}

bool matches_glob(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

std::vector<Split> splits_of(const FilesConfig& config) {
  std::vector<Split> out;
  for (const std::string& text : comma_separated(config.split)) {
    const std::size_t equals = text.rfind('=');
    Split split{text, text.substr(0, std::min(equals, text.size())), {}};
    bool allowed = equals != std::string::npos && equals > 0;
    for (std::size_t start = equals + 1; allowed && start <= text.size();) {
      const std::size_t plus = std::min(text.find('+', start), text.size());
      std::uint64_t share = 0;
      const auto [stop, error] = std::from_chars(text.data() + start, text.data() + plus, share);
      allowed = error == std::errc() && stop == text.data() + plus && share >= 1 && share <= most_parts;
      split.shares.push_back(share);
      start = plus + 1;
    }
    if (!allowed) {
      throw UsageError("--split: '" + text + "' is not allowed; allowed: NAME=PARTS, parts from 1 to " +
                       std::to_string(most_parts) + ", or their proportions, NAME=32+8+8");
    }
    if (split.shares.size() == 1) split.shares.assign(split.shares.front(), 1);
    for (const Split& other : out) {
      if (other.glob == split.glob) throw UsageError("--split: '" + split.glob + "' stands twice");
    }
    out.push_back(std::move(split));
  }
  return out;
}

std::vector<Gate> gates_of(const FilesConfig& config) {
  std::vector<Gate> out;
  for (const std::string& text : config.fail_if) {
    const std::size_t colon = text.rfind(':');
    std::string rule = colon == std::string::npos ? "" : text.substr(colon + 1);
    std::erase(rule, ' ');
    Gate gate{text, text.substr(0, std::min(colon, text.size())), rule.starts_with("ratio<"), 0};
    const bool known = gate.below || rule.starts_with("ratio>");
    const char* const first = rule.data() + std::min<std::size_t>(6, rule.size());
    const auto [stop, error] = std::from_chars(first, rule.data() + rule.size(), gate.limit);
    if (!known || gate.glob.empty() || error != std::errc() || stop != rule.data() + rule.size() || !std::isfinite(gate.limit)) {
      throw UsageError("--fail-if: '" + text +
                       "' is not allowed; allowed: GLOB: ratio<X or GLOB: ratio>X, as in 'blocks.*: ratio<1'");
    }
    out.push_back(std::move(gate));
  }
  return out;
}

Sources list_sources(const FilesConfig& config) {
  Sources out;
  for (const auto& [name, key] : keys_by_name(config.weights_only)) {
    Source weight{printable(name), "", config.weights_only + ":" + key};
    weight.is_weight = true;
    out.pairs.push_back(std::move(weight));
  }
  add_archives(config, out);
  std::vector<Source> named;
  for (const std::string& text : config.pair) named.push_back(parse_pair(config, text));
  if (!config.manifest.empty()) {
    const std::vector<Source> listed = read_manifest(config);
    named.insert(named.end(), listed.begin(), listed.end());
  }
  out.pairs.insert(out.pairs.begin(), named.begin(), named.end());
  if (!config.from.empty()) {
    const std::vector<Source> recorded = read_recordings(config.from, out);
    out.pairs.insert(out.pairs.end(), recorded.begin(), recorded.end());
    if (out.pairs.empty()) throw Failure(nothing_left(out.skipped));
  }
  if (out.pairs.empty())
    throw Failure("there is no key in " + config.activations + config.gradients + config.weights_only);  // one of them is empty
  std::set<std::tuple<std::string, std::uint64_t, Moment>> seen;
  for (const Source& pair : out.pairs) {
    if (!seen.insert({pair.name, pair.first_part, pair.moment}).second)
      throw UsageError("the name '" + pair.name + "' stands for two pairs; names must differ");
  }
  apply_globs(config, out);
  return out;
}

}  // namespace ranklab::files
