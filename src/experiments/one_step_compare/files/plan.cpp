#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "experiments/one_step_compare/files/files.hpp"
#include "experiments/one_step_compare/files/measure.hpp"
#include "io/tensors/tensor_file.hpp"

namespace ranklab::files {
namespace {

// What a header says of a tensor; `reason` says why it cannot be measured.
struct Header {
  std::uint64_t rows = 0, cols = 0;
  Dtype dtype = Dtype::f32;
  std::string shape, label, reason;
  bool diagonal = false;  // of a second moment
};

// Of a second moment, k x k or its diagonal.
Header read_moment(const std::string& address) {
  const StoredTensor tensor = open_tensor(address);
  Header header;
  header.dtype = tensor.dtype();
  header.label = tensor.label();
  header.shape = tensor.shape_text();
  const auto& shape = tensor.shape();
  if (shape.empty() || shape.size() > 2 || shape.front() == 0 || shape.front() != shape.back()) {
    header.reason = "the second moment is neither k x k nor its diagonal, its shape is " + header.shape;
  } else {
    header.rows = shape.front();
    header.diagonal = shape.size() == 1;
  }
  return header;
}

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

// Why the sizes do not fit, and what would make them.
std::string unequal_sizes(const Source& pair, const Header& activation, const Header& gradient) {
  const std::uint64_t k = pair.transposed ? activation.cols : activation.rows,
                      n = pair.transposed ? activation.rows : activation.cols,
                      side = pair.gradient_transposed ? gradient.rows : gradient.cols,
                      other_side = pair.gradient_transposed ? gradient.cols : gradient.rows;
  std::string advice;
  if (n == side) {
    advice = pair.transposed ? "; they fit without --transpose-activations"
                             : "; with --transpose-activations they fit (its rows are samples then)";
  } else if (k == other_side) {
    advice = pair.gradient_transposed ? "; they fit without --transpose-gradients"
                                      : "; with --transpose-gradients they fit (the gradient is stored k x m then)";
  }
  return "the activation " + activation.label + " is " + activation.shape + ", the gradient " + gradient.label + " is " +
         gradient.shape + ": " + (pair.transposed ? "n x k" : "k x n") + " and " + (pair.gradient_transposed ? "k x m" : "m x k") +
         " with one k are needed" + advice;
}

// How a layer's gradient is cut: into parts of these proportions, and each of them, or the whole, into heads. Empty, 0: not so.
struct Cut {
  std::vector<std::uint64_t> shares = {};
  std::uint64_t heads = 0, first_part = 1;
  std::string split = "";  // as --split says it
};

std::vector<Layer> cut_rows(const std::string& name, std::uint64_t rows, const Cut& cut) {
  const std::vector<std::uint64_t> whole = {1}, &shares = cut.shares.empty() ? whole : cut.shares;
  const std::uint64_t heads = std::max<std::uint64_t>(cut.heads, 1),
                      all = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  if (rows % (all * heads) != 0) {
    const std::string split = cut.split.empty() ? "" : "--split " + cut.split;
    const std::string flags =
        split + (!split.empty() && cut.heads > 0 ? " and " : "") + (cut.heads > 0 ? "--heads " + std::to_string(cut.heads) : "");
    throw UsageError(flags + ": " + std::to_string(all * heads) + " equal blocks cannot be cut from the " + std::to_string(rows) +
                     " rows of the gradient of '" + name + "'");
  }
  std::vector<Layer> layers;
  std::uint64_t first = 0;
  for (std::size_t part = 0; part < shares.size(); ++part) {
    for (std::uint64_t head = 0; head < heads; ++head) {
      Layer layer{name, first, rows / (all * heads) * shares[part]};
      if (!cut.shares.empty()) layer.name += "." + std::to_string(part + cut.first_part);
      if (cut.heads > 0) layer.name += "." + std::to_string(head + 1);
      first += layer.m;
      layers.push_back(std::move(layer));
    }
  }
  return layers;
}

// How each of the pairs is cut, in their order.
std::vector<Cut> cuts_of(const FilesConfig& config, const std::vector<Source>& pairs) {
  std::vector<std::string> names;
  std::vector<Cut> cuts;
  for (const Source& pair : pairs) {
    names.push_back(pair.name);
    cuts.push_back({std::vector<std::uint64_t>(pair.parts, 1), 0, pair.first_part, ""});
  }
  const std::vector<Split> splits = splits_of(config);
  for (const Split& split : splits) {
    bool found = false;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (!matches_glob(split.glob, names[i])) continue;
      found = true;
      if (!pairs[i].has_gradient()) throw UsageError("--split: the pair '" + names[i] + "' has no gradient to cut");
      if (pairs[i].parts > 0) throw UsageError("--split: '" + names[i] + "' is cut as it was recorded");
      cuts[i].shares = split.shares;
      cuts[i].split = split.text;
    }
    if (!found) throw UsageError("--split: there is no pair '" + split.glob + "'" + did_you_mean(split.glob, names));
  }
  // Where some layers are split, the heads are theirs; the other layers have none.
  for (Cut& cut : cuts) {
    if (config.heads > 1 && (splits.empty() || !cut.shares.empty())) cut.heads = config.heads;
  }
  return cuts;
}

// Nothing where the pair cannot be measured, and the reason stands in `skipped`.
std::optional<Pair> plan_pair(const Source& source, const Cut& cut, std::vector<Skipped>& skipped) {
  Pair pair{source, 0, 0, false, "", {}};
  Header activation, gradient;
  if (!pair.second_moment.empty()) {
    activation = read_moment(pair.second_moment);
    activation.cols = pair.samples;
  } else if (pair.has_activation()) {
    activation = read_header(pair.activation, "activation");
  }
  if (pair.has_gradient()) gradient = read_header(pair.gradient, pair.is_weight ? "weight" : "gradient");
  for (const Header* header : {&activation, &gradient}) {
    if (header->reason.empty()) continue;
    skipped.push_back({pair.name, header->reason});
    return std::nullopt;
  }
  if (pair.has_activation()) {
    pair.k = pair.transposed ? activation.cols : activation.rows;
    pair.n = pair.transposed ? activation.rows : activation.cols;
    pair.dtypes = dtype_name(activation.dtype);
    pair.diagonal = activation.diagonal;
  }
  if (!pair.has_gradient()) {
    pair.layers.push_back({pair.name, 0, 0});
    return pair;
  }
  const std::uint64_t k = pair.gradient_transposed ? gradient.rows : gradient.cols,
                      m = pair.gradient_transposed ? gradient.cols : gradient.rows;
  if (pair.has_activation() && pair.k != k) {
    skipped.push_back({pair.name, unequal_sizes(pair, activation, gradient)});
    return std::nullopt;
  }
  pair.k = k;
  const std::string dtype = dtype_name(gradient.dtype);
  if (pair.dtypes != dtype) pair.dtypes += (pair.dtypes.empty() ? "" : ", ") + dtype;
  pair.layers = cut_rows(pair.name, m, cut);
  return pair;
}

// What a compressed archive keeps in memory while a tensor of it is read.
double inflated_bytes(const std::string& address, double elements) {
  return address.find(".npz") == std::string::npos ? 0.0 : 8 * elements;
}

}  // namespace

Plan plan_of(const FilesConfig& config) {
  const Sources listed = list_sources(config);
  const std::vector<Cut> cuts = cuts_of(config, listed.pairs);
  Plan plan;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (auto pair = plan_pair(listed.pairs[i], cuts[i], plan.skipped)) plan.pairs.push_back(std::move(*pair));
  }
  plan.skipped.insert(plan.skipped.end(), listed.skipped.begin(), listed.skipped.end());
  plan.vectors = listed.vectors;
  std::set<std::pair<std::string, Moment>> seen;
  for (const Pair& pair : plan.pairs) {
    for (const Layer& layer : pair.layers) {
      if (!seen.insert({layer.name, pair.moment}).second)
        throw UsageError("--split, --heads: two layers would be called '" + layer.name + "'");
    }
  }
  if (plan.pairs.empty()) throw Failure(nothing_left(plan.skipped));
  for (const Gate& gate : gates_of(config)) {
    const auto hit = [&](const auto& each) { return matches_glob(gate.glob, each.name); };
    const bool found = std::any_of(plan.skipped.begin(), plan.skipped.end(), hit) ||
                       std::any_of(plan.pairs.begin(), plan.pairs.end(),
                                   [&](const Pair& pair) { return std::any_of(pair.layers.begin(), pair.layers.end(), hit); });
    if (!found) throw UsageError("--fail-if: '" + gate.glob + "' matches no layer");
  }
  return plan;
}

Estimate estimate_of(const Plan& plan) {
  Estimate cost;
  for (const Pair& pair : plan.pairs) {
    const double k = static_cast<double>(pair.k), n = static_cast<double>(pair.n), side = std::min(k, n), length = std::max(k, n);
    if (pair.has_activation()) {
      constexpr double lanczos_steps = 100;
      const bool recorded = !pair.second_moment.empty();
      const double vectors = 8 * lanczos_steps * (recorded ? k : side);
      const double matrix = recorded ? 16 * k * (pair.diagonal ? 1 : k)
                                     : streamed_gram_bytes(pair.k, pair.n) + inflated_bytes(pair.activation, k * n);
      cost.bytes = std::max(cost.bytes, matrix + vectors);
      cost.flops += recorded ? 2 * lanczos_steps * k * k : side * side * length + 2 * lanczos_steps * side * side;
    }
    for (const Layer& layer : pair.layers) {
      const double m = static_cast<double>(layer.m), small = std::min(m, k);
      const double all_rows = m * static_cast<double>(pair.layers.size());
      // The matrix and the copy that the decomposition overwrites.
      cost.bytes = std::max(cost.bytes, 8 * 2.5 * m * k + inflated_bytes(pair.gradient, all_rows * k));
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

}  // namespace ranklab::files
