#include "experiments/one_step_compare/files/plan.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "experiments/one_step_compare/files/gram.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/tensor_file.hpp"

namespace ranklab {
namespace {

// What a header says of a tensor; `reason` says why it cannot be measured.
struct Header {
  std::uint64_t rows = 0, cols = 0;
  Dtype dtype = Dtype::f32;
  std::string shape, label, reason;
};

Header read_header(const std::string& address, const std::string& what) {
  const StoredTensor tensor = open_tensor(address);
  Header header;
  header.dtype = tensor.dtype();
  header.label = tensor.label();
  header.shape = tensor.shape_text();
  if (!tensor.is_matrix()) {
    header.reason = "the " + what + " is no matrix, its shape is " + (header.shape.empty() ? "that of one number" : header.shape);
  } else if (tensor.elements() == 0) {
    header.reason = "the " + what + " has no entry, its shape is " + header.shape;
  } else {
    header.rows = tensor.rows();
    header.cols = tensor.cols();
  }
  return header;
}

[[noreturn]] void refuse_shapes(const LayerPair& pair, const Header& activation, const Header& gradient) {
  const std::uint64_t other_side = pair.transposed ? activation.rows : activation.cols;
  std::string advice;
  if (other_side == gradient.cols) {
    advice = pair.transposed ? "; they fit without --transpose-activations"
                             : "; with --transpose-activations they fit (its rows are samples then)";
  } else if ((pair.transposed ? activation.cols : activation.rows) == gradient.rows) {
    advice = "; the gradient fits when it is stored transposed, m x k";
  }
  throw Failure("'" + pair.name + "': the activation " + activation.label + " is " + activation.shape + ", the gradient " +
                gradient.label + " is " + gradient.shape + ": " + (pair.transposed ? "n x k" : "k x n") +
                " and m x k with one k are needed" + advice);
}

// How a layer's gradient is cut: into parts, and each of them into heads.
struct Cut {
  std::uint64_t parts = 1, heads = 1;
  bool by_parts = false, by_heads = false;
};

Cut cut_of(const std::string& name, const FilesConfig& config, const std::map<std::string, std::uint64_t>& splits) {
  Cut cut;
  const auto split = splits.find(name);
  if (split != splits.end()) {
    cut.parts = split->second;
    cut.by_parts = true;
  }
  // Where some layers are split, the heads are theirs; the other layers have none.
  if (config.heads > 1 && (splits.empty() || cut.by_parts)) {
    cut.heads = config.heads;
    cut.by_heads = true;
  }
  return cut;
}

std::vector<PlannedLayer> cut_rows(const std::string& name, std::uint64_t rows, const Cut& cut) {
  const std::uint64_t blocks = cut.parts * cut.heads;
  if (rows % blocks != 0) {
    const std::string flags = std::string(cut.by_parts ? "--split " + name + "=" + std::to_string(cut.parts) : "") +
                              (cut.by_parts && cut.by_heads ? " and " : "") +
                              (cut.by_heads ? "--heads " + std::to_string(cut.heads) : "");
    throw UsageError(flags + ": " + std::to_string(blocks) + " equal blocks cannot be cut from the " + std::to_string(rows) +
                     " rows of the gradient of '" + name + "'");
  }
  std::vector<PlannedLayer> layers;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    PlannedLayer layer{name, block * (rows / blocks), rows / blocks};
    if (cut.by_parts) layer.name += "." + std::to_string(block / cut.heads + 1);
    if (cut.by_heads) layer.name += "." + std::to_string(block % cut.heads + 1);
    layers.push_back(layer);
  }
  return layers;
}

std::map<std::string, std::uint64_t> known_splits(const FilesConfig& config, const std::vector<LayerPair>& pairs) {
  std::vector<std::string> names;
  for (const LayerPair& pair : pairs) names.push_back(pair.name);
  std::map<std::string, std::uint64_t> splits;
  for (const auto& [name, parts] : split_counts(config)) {
    const auto found =
        std::find_if(pairs.begin(), pairs.end(), [&, &key = name](const LayerPair& pair) { return pair.name == key; });
    if (found == pairs.end()) throw UsageError("--split: there is no pair '" + name + "'" + did_you_mean(name, names));
    if (found->gradient.empty()) throw UsageError("--split: the pair '" + name + "' has no gradient to cut");
    splits[name] = parts;
  }
  return splits;
}

// Nothing where the pair cannot be measured, and the reason stands in `skipped`.
std::optional<PlannedPair> plan_pair(const LayerPair& source, const Cut& cut, std::vector<Skipped>& skipped) {
  PlannedPair pair{source, 0, 0, "", {}};
  Header activation, gradient;
  if (pair.has_activation()) activation = read_header(source.activation, "activation");
  if (pair.has_gradient()) gradient = read_header(source.gradient, "gradient");
  for (const Header* header : {&activation, &gradient}) {
    if (header->reason.empty()) continue;
    skipped.push_back({source.name, header->reason});
    return std::nullopt;
  }
  if (pair.has_activation()) {
    pair.k = source.transposed ? activation.cols : activation.rows;
    pair.n = source.transposed ? activation.rows : activation.cols;
    pair.dtypes = dtype_name(activation.dtype);
  }
  if (!pair.has_gradient()) {
    pair.layers.push_back({source.name, 0, 0});
    return pair;
  }
  if (pair.has_activation() && pair.k != gradient.cols) refuse_shapes(source, activation, gradient);
  pair.k = gradient.cols;
  const std::string dtype = dtype_name(gradient.dtype);
  if (pair.dtypes.empty() || pair.dtypes == dtype) {
    pair.dtypes = dtype;
  } else {
    pair.dtypes += ", " + dtype;
  }
  pair.layers = cut_rows(source.name, gradient.rows, cut);
  return pair;
}

// What a compressed archive keeps in memory while a tensor of it is read.
double inflated_bytes(const std::string& address, double elements) {
  return address.find(".npz") == std::string::npos ? 0.0 : 8 * elements;
}

}  // namespace

FilesPlan plan_files(const FilesConfig& config) {
  LayerPairs listed = list_pairs(config);
  const std::map<std::string, std::uint64_t> splits = known_splits(config, listed.pairs);
  FilesPlan plan;
  for (const LayerPair& source : listed.pairs) {
    if (auto pair = plan_pair(source, cut_of(source.name, config, splits), plan.skipped)) plan.pairs.push_back(std::move(*pair));
  }
  plan.skipped.insert(plan.skipped.end(), listed.skipped.begin(), listed.skipped.end());
  std::set<std::string> seen;
  for (const PlannedPair& pair : plan.pairs) {
    for (const PlannedLayer& layer : pair.layers) {
      if (!seen.insert(layer.name).second) throw UsageError("--split, --heads: two layers would be called '" + layer.name + "'");
    }
  }
  if (plan.pairs.empty()) throw Failure(nothing_left(plan.skipped));
  return plan;
}

Estimate estimate_files(const FilesPlan& plan) {
  Estimate cost;
  for (const PlannedPair& pair : plan.pairs) {
    const double k = static_cast<double>(pair.k), n = static_cast<double>(pair.n), side = std::min(k, n), length = std::max(k, n);
    if (pair.has_activation()) {
      constexpr double lanczos_steps = 100;
      cost.bytes = std::max(cost.bytes, streamed_gram_bytes(pair.k, pair.n) + 8 * lanczos_steps * side +
                                            inflated_bytes(pair.source.activation, k * n));
      cost.flops += side * side * length + 2 * lanczos_steps * side * side;
    }
    for (const PlannedLayer& layer : pair.layers) {
      const double m = static_cast<double>(layer.m), small = std::min(m, k);
      const double all_rows = m * static_cast<double>(pair.layers.size());
      // The matrix and the copy that the decomposition overwrites.
      cost.bytes = std::max(cost.bytes, 8 * 2.5 * m * k + inflated_bytes(pair.source.gradient, all_rows * k));
      cost.flops += 4 * m * k * small;
    }
  }
  return cost;
}

std::string nothing_left(const std::vector<Skipped>& skipped) {
  constexpr std::size_t most = 5;
  std::string out = "no layer is left to measure";
  for (std::size_t i = 0; i < std::min(most, skipped.size()); ++i) {
    out += (i == 0 ? ": " : "; ") + skipped[i].name + ": " + skipped[i].reason;
  }
  return skipped.size() > most ? out + "; and " + std::to_string(skipped.size() - most) + " more" : out;
}

}  // namespace ranklab
