#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/byte_reader.hpp"
#include "io/tensors/tensor_file.hpp"
#include "ranks/measure.hpp"
#include "ranks/ranks.hpp"

namespace ranklab::ranks {
namespace {

// A matrix as it will be read, or the reason why it cannot be read.
struct Opened {
  std::optional<StoredTensor> matrix = std::nullopt;
  std::string reason = {};
};

template <class Open>
Opened opened(const Open& open_one) {
  try {
    return {open_one(), ""};
  } catch (const Failure& failure) {  // a shape that cannot be read as a matrix
    return {std::nullopt, failure.what()};
  }
}

template <class Open>
Opened opened_matrix(const std::string& what, const Open& open_one) {
  Opened one = opened(open_one);
  if (!one.reason.empty()) return one;
  const std::string shape = one.matrix->shape_text();
  if (!one.matrix->is_matrix()) {
    one.reason = "the " + what + " is not a matrix but a " +
                 (one.matrix->shape().empty() ? "scalar" : "tensor of shape " + shape);
  } else if (one.matrix->elements() == 0) {
    one.reason = "the " + what + " is empty: its shape is " + shape;
  }
  return one;
}

Opened opened_moment(const Pair& pair, OpenTensors& open) {
  Opened one = opened([&] { return open.at(pair.second_moment); });
  if (!one.reason.empty()) return one;
  const auto& shape = one.matrix->shape();
  if (shape.empty() || shape.size() > 2 || shape.front() == 0 || shape.front() != shape.back())
    one.reason = "the second moment is neither k x k nor its diagonal: its shape is " +
                 one.matrix->shape_text();
  return one;
}

// Says why the sizes do not fit and, if transposing a matrix would mend that, which one.
std::string unequal_sizes(const Pair& pair, const StoredTensor& activation,
                          const StoredTensor& gradient, OpenTensors& open) {
  const std::string stored = open.at(pair.gradient).shape_text(), as_read = gradient.shape_text();
  std::string advice;
  if (!pair.has_moment() && pair.n == gradient.cols())
    advice = "; they fit if the activation is transposed";
  else if (pair.k == gradient.rows())
    advice = "; they fit if the gradient is transposed";
  return std::string(pair.has_moment() ? "the second moment " : "the activation ") +
         activation.label() + " is " + activation.shape_text() + ", the gradient " +
         gradient.label() + " is " + stored + (stored == as_read ? "" : ", read as " + as_read) +
         "; needed: " +
         (pair.has_moment()       ? "k x k"
          : pair.samples_are_rows ? "n x k"
                                  : "k x n") +
         " and m x k with the same k" + advice;
}

// Sets the pair's sizes from its activation. If the activation cannot be measured, one.reason says
// why.
void read_activation(Pair& pair, Opened& one, OpenTensors& open) {
  const bool moment = pair.has_moment();
  one = moment ? opened_moment(pair, open)
               : opened_matrix("activation", [&] { return open.at(pair.activation); });
  if (!one.reason.empty()) return;
  const StoredTensor& tensor = *one.matrix;
  pair.k = moment ? tensor.shape().back() : pair.samples_are_rows ? tensor.cols() : tensor.rows();
  pair.n = moment ? pair.samples : pair.samples_are_rows ? tensor.rows() : tensor.cols();
  pair.dtypes = dtype_name(tensor.dtype());
  pair.diagonal = moment && tensor.shape().size() == 1;
}

// Adds a listed pair, with its cuts, to the plan, or the reason why it cannot be measured.
void plan_pair(const ListedPair& listed, const Cut& cut, OpenTensors& open, Plan& plan) {
  Pair pair;
  static_cast<ListedPair&>(pair) = listed;
  Opened activation;
  if (!pair.is_weight()) read_activation(pair, activation, open);
  const Opened gradient = opened_matrix(pair.is_weight() ? "weight" : "gradient",
                                        [&] { return open_gradient(pair, open); });
  for (const Opened* one : {&std::as_const(activation), &gradient}) {
    if (!one->reason.empty()) return plan.skipped.push_back({{pair.name, one->reason}, pair.when});
  }
  const StoredTensor& G = *gradient.matrix;
  if (!pair.is_weight() && pair.k != G.cols()) {
    return plan.skipped.push_back(
        {{pair.name, unequal_sizes(pair, *activation.matrix, G, open)}, pair.when});
  }
  if (pair.is_weight() && open.at(pair.gradient).shape().size() == 3)
    plan.flattened.push_back(pair.name);
  pair.k = G.cols();
  const std::string dtype = dtype_name(G.dtype());
  if (pair.dtypes != dtype) pair.dtypes += (pair.dtypes.empty() ? "" : ", ") + dtype;
  pair.layers = cut_rows(pair.name, G.rows(), cut);
  plan.pairs.push_back(std::move(pair));
}

// Columns of a second moment in memory: k x k, or k x 1.
double moment_columns(const Pair& pair) {
  return static_cast<double>(pair.diagonal ? 1 : pair.k);
}

// Bytes of memory that a compressed archive may hold while a tensor in it is read.
double inflated_bytes(const std::string& address, double elements) {
  return address.find(".npz") == std::string::npos
             ? 0.0
             : std::min(8 * elements, static_cast<double>(ScratchBytes::most_in_memory));
}

}  // namespace

const StoredTensor& OpenTensors::at(const std::string& address) {
  const auto found = tensors_.find(address);
  if (found != tensors_.end()) return found->second;
  const auto [path, key] = parse_tensor_address(address);
  auto file = files_.find(path);
  if (file == files_.end()) {
    if (files_.size() == most) files_.clear();
    file = files_.emplace(path, TensorFile::open(path)).first;
  }
  if (tensors_.size() == most) tensors_.clear();
  return tensors_.emplace(address, open_tensor(file->second, key)).first->second;
}

StoredTensor open_gradient(const Pair& pair, OpenTensors& open) {
  const StoredTensor& tensor = open.at(pair.gradient);
  const std::uint64_t rows = tensor.shape().size() > 2 ? tensor.shape().front() : 0;
  return rows > 0 ? tensor.as_matrix(rows, tensor.elements() / rows) : tensor;
}

std::uint64_t Pair::m() const {
  std::uint64_t all = 0;
  for (const Layer& layer : layers) all += layer.m;
  return all;
}

Plan plan_of(const RanksConfig& config) {
  const Listing listed = list_pairs(config);
  const std::vector<Cut> cuts = cuts_of(config, listed.pairs);
  Plan plan;
  for (std::size_t i = 0; i < cuts.size(); ++i)
    plan_pair(listed.pairs[i], cuts[i], *plan.open, plan);
  plan.skipped.insert(plan.skipped.end(), listed.skipped.begin(), listed.skipped.end());
  std::set<std::pair<std::string, When>> seen;
  for (const Pair& pair : plan.pairs) {
    for (const Layer& layer : pair.layers) {
      if (!seen.insert({layer.name, pair.when}).second)
        throw UsageError("--split, --heads: two layers would be named '" + layer.name + "'");
    }
  }
  if (plan.pairs.empty()) throw Failure(no_layer_left_message(unique_reasons(plan.skipped, 1)));
  return plan;
}

namespace {

constexpr double lanczos_steps = 100;

double bytes_of(const Pair& pair) {
  double bytes = 0;
  const double k = static_cast<double>(pair.k), n = static_cast<double>(pair.n),
               m = static_cast<double>(pair.m()), side = std::min(k, n);
  if (!pair.is_weight()) {
    const bool moment = pair.has_moment();
    const double vectors = 8 * lanczos_steps * (moment ? k : side);
    const double matrix =
        moment ? 24 * k * moment_columns(pair)
               : streamed_gram_bytes(pair.k, pair.n) + inflated_bytes(pair.activation, k * n);
    // The whole gradient, and the Gram matrix with its Cholesky factor, or G A.
    bytes = std::max(matrix + vectors,
                     matrix + 8 * (3 * m * k + (moment ? 0 : 2 * side * side + 3 * m * side)));
    if (pair.when.batch >= 0) bytes = std::max(bytes, matrix + 8 * 3 * k * moment_columns(pair));
  }
  for (const Layer& layer : pair.layers) {
    const auto rows = static_cast<double>(layer.m);
    // The matrix and the copy that the singular value decomposition overwrites.
    bytes = std::max(bytes, 8 * 2.5 * rows * k + inflated_bytes(pair.gradient, m * k));
  }
  return bytes;
}

}  // namespace

double flops_of(const Pair& pair) {
  const auto k = static_cast<double>(pair.k), n = static_cast<double>(pair.n),
             m = static_cast<double>(pair.m());
  const bool has_samples = !pair.activation.empty();
  double flops = has_samples ? std::min(k, n) * k * n : k * k;
  if (has_samples) flops += outside_span_flops(m, k, n);
  for (const Layer& layer : pair.layers) {
    const auto rows = static_cast<double>(layer.m);
    flops += 4 * rows * k * std::min(rows, k);
  }
  return flops;
}

Estimate estimate_of(const Plan& plan) {
  Estimate cost;
  for (const Pair& pair : plan.pairs) {
    cost.bytes = std::max(cost.bytes, bytes_of(pair));
    cost.helpers += 1;
  }
  // Each thread measures one pair, or the batches of one layer, at a time.
  cost.helper_bytes = cost.bytes;
  if (cost.helpers > 0) --cost.helpers;  // the thread of the trial takes one
  return cost;
}

std::string no_layer_left_message(const std::vector<Skipped>& skipped) {
  constexpr std::size_t most = 5;
  std::string out = "no layer is left to measure";
  for (std::size_t i = 0; i < std::min(most, skipped.size()); ++i) {
    out += (i == 0 ? ": " : "; ") + skipped[i].name + ": " + skipped[i].reason;
  }
  return skipped.size() > most ? out + "; and " + std::to_string(skipped.size() - most) + " more"
                               : out;
}

std::vector<Skipped> unique_reasons(const std::vector<LeftOut>& skipped, std::size_t recordings) {
  struct SkippedLayer {
    std::size_t place;
    std::set<When> times;
    bool other_reasons = false;
  };
  std::vector<Skipped> out;
  std::map<std::string, SkippedLayer> layers;
  for (const LeftOut& one : skipped) {
    const auto [layer, is_new] = layers.try_emplace(one.name, SkippedLayer{out.size(), {}});
    if (is_new) out.push_back(one);
    layer->second.times.insert(one.when);
    layer->second.other_reasons |= one.reason != out[layer->second.place].reason;
  }
  for (const auto& [name, layer] : layers) {
    if (layer.times.size() == recordings && !layer.other_reasons) continue;
    out[layer.place].reason += std::string(layer.other_reasons ? ", and other reasons" : "") +
                               " (in " + std::to_string(layer.times.size()) + " of " +
                               plural(recordings, "recording") + ")";
  }
  return out;
}

}  // namespace ranklab::ranks
