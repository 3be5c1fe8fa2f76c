#include "experiments/one_step_compare/files/pairs.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/tensor_file.hpp"

namespace ranklab {
namespace {

std::vector<std::string> names_of(const std::vector<LayerPair>& pairs) {
  std::vector<std::string> names;
  for (const LayerPair& pair : pairs) names.push_back(pair.name);
  return names;
}

std::string shortened(const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  std::string out;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most ? out + " and " + std::to_string(names.size() - most) + " more" : out;
}

// Every key that both archives have is a pair; with one archive alone, every key of it.
void add_archives(const FilesConfig& config, LayerPairs& out) {
  std::vector<std::string> activations, gradients;
  if (!config.activations.empty()) activations = TensorFile::open(config.activations).keys();
  if (!config.gradients.empty()) gradients = TensorFile::open(config.gradients).keys();
  const std::set<std::string> known_activations(activations.begin(), activations.end()),
      known_gradients(gradients.begin(), gradients.end());
  const bool both = !config.activations.empty() && !config.gradients.empty();
  for (const std::string& key : activations) {
    if (both && !known_gradients.contains(key)) {
      out.skipped.push_back({printable(key), "stands in " + config.activations + " alone, there is no gradient"});
      continue;
    }
    out.pairs.push_back(
        {printable(key), config.activations + ":" + key, both ? config.gradients + ":" + key : "", config.transpose_activations});
  }
  for (const std::string& key : gradients) {
    if (known_activations.contains(key)) continue;
    if (both) {
      out.skipped.push_back({printable(key), "stands in " + config.gradients + " alone, there is no activation"});
    } else {
      out.pairs.push_back({printable(key), "", config.gradients + ":" + key, false});
    }
  }
  if (both && out.skipped.size() == activations.size() + gradients.size()) {
    throw Failure("no key stands in both " + config.activations + " (" + shortened(activations) + ") and " + config.gradients +
                  " (" + shortened(gradients) + ")");
  }
}

bool matches(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

// Whether some glob matches each name. A glob that matches nothing is a slip.
std::vector<bool> matched(const std::vector<std::string>& texts, const std::vector<LayerPair>& pairs, const std::string& flag) {
  std::vector<bool> out(pairs.size(), false);
  for (const std::string& glob : comma_separated(texts)) {
    bool any = false;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (matches(glob, pairs[i].name)) any = out[i] = true;
    }
    if (!any) throw UsageError(flag + ": '" + glob + "' matches no pair; the pairs are " + shortened(names_of(pairs)));
  }
  return out;
}

void apply_globs(const FilesConfig& config, LayerPairs& all) {
  const std::vector<bool> included = matched(config.include, all.pairs, "--include"),
                          excluded = matched(config.exclude, all.pairs, "--exclude");
  std::vector<LayerPair> kept;
  for (std::size_t i = 0; i < all.pairs.size(); ++i) {
    if ((config.include.empty() || included[i]) && !excluded[i]) kept.push_back(all.pairs[i]);
  }
  if (kept.empty()) throw UsageError("--exclude: leaves none of the pairs " + shortened(names_of(all.pairs)));
  // Keys that were not asked for are not missed either.
  std::erase_if(all.skipped, [&](const Skipped& skipped) {
    const auto hit = [&](const std::vector<std::string>& globs) {
      const auto list = comma_separated(globs);
      return std::any_of(list.begin(), list.end(), [&](const std::string& glob) { return matches(glob, skipped.name); });
    };
    return (!config.include.empty() && !hit(config.include)) || hit(config.exclude);
  });
  all.pairs = std::move(kept);
}

}  // namespace

LayerPair parse_pair(const std::string& text, bool transposed) {
  const std::size_t first = text.find(','), second = first == std::string::npos ? first : text.find(',', first + 1);
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--pair: '" + text + "' is not allowed (" + why +
                     "); allowed: NAME,ACTIVATION_FILE,GRADIENT_FILE, where one of the files may be left empty");
  };
  if (second == std::string::npos) refuse("two commas are needed");
  if (text.find(',', second + 1) != std::string::npos) refuse("more than two commas; --manifest takes paths with commas");
  LayerPair pair{text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1), transposed};
  if (pair.name.empty()) refuse("no name");
  if (pair.activation.empty() && pair.gradient.empty()) refuse("no file");
  return pair;
}

LayerPairs list_pairs(const FilesConfig& config) {
  LayerPairs out;
  add_archives(config, out);
  std::vector<LayerPair> named;
  for (const std::string& text : config.pair) named.push_back(parse_pair(text, config.transpose_activations));
  if (!config.manifest.empty()) {
    const std::vector<LayerPair> listed = read_manifest(config.manifest, config.transpose_activations);
    named.insert(named.end(), listed.begin(), listed.end());
  }
  out.pairs.insert(out.pairs.begin(), named.begin(), named.end());
  if (out.pairs.empty()) throw Failure("there is no key in " + config.activations + config.gradients);  // one of them is empty
  std::set<std::string> seen;
  for (const LayerPair& pair : out.pairs) {
    if (!seen.insert(pair.name).second) throw UsageError("the name '" + pair.name + "' stands for two pairs; names must differ");
  }
  apply_globs(config, out);
  return out;
}

}  // namespace ranklab
