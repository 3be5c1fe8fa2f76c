#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/ranks/measure.hpp"
#include "experiments/ranks/ranks.hpp"
#include "io/byte_reader.hpp"
#include "io/tensors/tensor_file.hpp"

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
  Opened one = opened([&] { return open_second_moment(pair, open); });
  if (!one.reason.empty()) return one;
  const auto& shape = one.matrix->shape();
  if (shape.empty() || shape.size() > 2 || shape.front() == 0 || shape.front() != shape.back())
    one.reason = "the second moment is neither k x k nor its diagonal: its shape is " +
                 one.matrix->shape_text();
  return one;
}

using Shape = std::vector<std::uint64_t>;

Shape shape_at(const std::string& address, OpenTensors& open) {
  return address.empty() ? Shape() : open.at(address).shape();
}

// The number of matrices in a stack (E, m, k), each of which is a layer; 0 if the tensors are not a
// stack, or have more matrices than most_parts. A convolution (out, in, kernel) has three
// dimensions too, but its activation has in x kernel features instead of k.
std::uint64_t stack_of(const ListedPair& listed, const std::vector<std::string>& experts,
                       OpenTensors& open) {
  const Shape activation = shape_at(
                  listed.second_moment.empty() ? listed.activation : listed.second_moment, open),
              gradient = shape_at(listed.gradient, open),
              &shape = listed.has_gradient() ? gradient : activation;
  if (shape.size() != 3 || shape[1] == 0 || shape[2] == 0 || shape[0] > most_parts) return 0;
  if (std::any_of(experts.begin(), experts.end(),
                  [&](const std::string& glob) { return matches_glob(glob, listed.name); })) {
    return shape.front();
  }
  if (!listed.has_gradient() || activation.size() < 2) return 0;
  const std::uint64_t k = activation[activation.size() - (listed.transposed ? 1 : 2)];
  const bool fits =
      k == gradient[listed.gradient_transposed ? 1 : 2] && k != gradient[1] * gradient[2];
  return fits && (activation.size() == 2 || activation.front() == gradient.front())
             ? gradient.front()
             : 0;
}

// Says why the sizes do not fit and, if a flag would fix that, which one.
std::string unequal_sizes(const Pair& pair, const StoredTensor& activation,
                          const StoredTensor& gradient, OpenTensors& open) {
  const auto shape_of = [&](const StoredTensor& matrix, const std::string& address) {
    const std::string stored = shape_to_text(shape_at(address, open)),
                      as_read = matrix.shape_text();
    return stored == as_read ? as_read : stored + ", read as " + as_read;
  };
  const bool moment = !pair.second_moment.empty();
  const std::uint64_t k = pair.k, n = pair.n,
                      side = pair.gradient_transposed ? gradient.rows() : gradient.cols(),
                      other_side = pair.gradient_transposed ? gradient.cols() : gradient.rows();
  std::string advice;
  if (!moment && n == side) {
    advice = pair.transposed ? "; they fit without --transpose-activations"
                             : "; they fit with --transpose-activations (rows are samples)";
  } else if (k == other_side) {
    advice = pair.gradient_transposed
                 ? "; they fit without --transpose-gradients"
                 : "; they fit with --transpose-gradients (gradients are k x m)";
  }
  return std::string(moment ? "the second moment " : "the activation ") + activation.label() +
         " is " + shape_of(activation, moment ? pair.second_moment : pair.activation) +
         ", the gradient " + gradient.label() + " is " + shape_of(gradient, pair.gradient) +
         "; needed: " +
         (moment            ? "k x k"
          : pair.transposed ? "n x k"
                            : "k x n") +
         " and " + (pair.gradient_transposed ? "k x m" : "m x k") + " with the same k" + advice;
}

// Sets the pair's sizes from its activation. If the activation cannot be measured, one.reason says
// why.
void read_activation(Pair& pair, Opened& one, OpenTensors& open) {
  const bool has_moment = !pair.second_moment.empty();
  one = has_moment ? opened_moment(pair, open)
                   : opened_matrix("activation", [&] { return open_activation(pair, open); });
  if (!one.reason.empty()) return;
  const StoredTensor& tensor = *one.matrix;
  pair.k = has_moment ? tensor.shape().back() : pair.transposed ? tensor.cols() : tensor.rows();
  pair.n = has_moment ? pair.samples : pair.transposed ? tensor.rows() : tensor.cols();
  pair.dtypes = dtype_name(tensor.dtype());
  pair.diagonal = has_moment && tensor.shape().size() == 1;
}

// Adds one matrix of a listed pair, with its cuts, to the plan, or the reason why it cannot be
// measured.
void plan_matrix(Pair pair, const Cut& cut, OpenTensors& open, Plan& plan) {
  Opened activation, gradient;
  if (pair.has_activation()) read_activation(pair, activation, open);
  if (pair.has_gradient())
    gradient = opened_matrix(pair.is_weight ? "weight" : "gradient",
                             [&] { return open_gradient(pair, open); });
  for (const Opened* one : {&activation, &gradient}) {
    if (!one->reason.empty()) return plan.skipped.push_back({{pair.name, one->reason}, pair.when});
  }
  if (!pair.has_gradient()) {
    pair.layers.push_back({pair.name});
    return plan.pairs.push_back(std::move(pair));
  }
  const StoredTensor& G = *gradient.matrix;
  const std::uint64_t k = pair.gradient_transposed ? G.rows() : G.cols(),
                      m = pair.gradient_transposed ? G.cols() : G.rows();
  if (pair.has_activation() && pair.k != k) {
    return plan.skipped.push_back(
        {{pair.name, unequal_sizes(pair, *activation.matrix, G, open)}, pair.when});
  }
  const std::string dtype = dtype_name(G.dtype());
  if (pair.dtypes != dtype) pair.dtypes += (pair.dtypes.empty() ? "" : ", ") + dtype;
  for (const ColumnPart& part : cut_columns(pair.name, k, cut)) {
    Pair one = pair;
    one.name = part.name;
    one.first_feature = part.first;
    one.k = part.count;
    one.layers = cut_rows(one.name, m, cut);
    plan.pairs.push_back(std::move(one));
  }
}

void plan_pair(const ListedPair& listed, const Cut& cut, const std::vector<std::string>& experts,
               OpenTensors& open, Plan& plan) {
  const std::uint64_t stack = stack_of(listed, experts, open);
  Pair pair;
  static_cast<ListedPair&>(pair) = listed;
  if (stack == 0) {
    if (!listed.has_activation() && shape_at(listed.gradient, open).size() == 3)
      plan.flattened.push_back(listed.name);
    return plan_matrix(std::move(pair), cut, open, plan);
  }
  for (pair.expert = 1; pair.expert <= stack; ++pair.expert) {
    pair.name = listed.name + "." + std::to_string(pair.expert);
    plan_matrix(pair, cut, open, plan);
  }
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
  if (pair.expert > 0) return tensor.at(pair.expert - 1);
  const std::uint64_t rows = tensor.shape().size() > 2 ? tensor.shape().front() : 0;
  return rows > 0 ? tensor.as_matrix(rows, tensor.elements() / rows) : tensor;
}

StoredTensor open_activation(const Pair& pair, OpenTensors& open) {
  const StoredTensor& tensor = open.at(pair.activation);
  const StoredTensor one =
      pair.expert > 0 && tensor.shape().size() > 2 ? tensor.at(pair.expert - 1) : tensor;
  const std::uint64_t k = pair.transposed && one.shape().size() > 2 ? one.shape().back() : 0;
  return k > 0 ? one.as_matrix(one.elements() / k, k) : one;
}

StoredTensor open_second_moment(const Pair& pair, OpenTensors& open) {
  const StoredTensor& tensor = open.at(pair.second_moment);
  return pair.expert > 0 && tensor.shape().size() > 2 ? tensor.at(pair.expert - 1) : tensor;
}

std::uint64_t Pair::m() const {
  std::uint64_t all = 0;
  for (const Layer& layer : layers) all += layer.m;
  return all;
}

Plan plan_of(const FilesConfig& config) {
  const Listing listed = list_pairs(config);
  const std::vector<Cut> cuts = cuts_of(config, listed.pairs);
  const std::vector<std::string> experts = comma_separated(config.experts);
  Plan plan;
  for (std::size_t i = 0; i < cuts.size(); ++i)
    plan_pair(listed.pairs[i], cuts[i], experts, *plan.open, plan);
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

// Lower bound on the number of matrices in the tensor.
double stack_of(const Pair& pair) {
  return std::max<double>(1, static_cast<double>(pair.expert));
}

constexpr double lanczos_steps = 100;

double bytes_of(const Pair& pair) {
  double bytes = 0;
  const double k = static_cast<double>(pair.k), n = static_cast<double>(pair.n),
               side = std::min(k, n);
  if (pair.has_activation()) {
    const bool has_moment = !pair.second_moment.empty();
    const double vectors = 8 * lanczos_steps * (has_moment ? k : side);
    const double matrix = has_moment ? 24 * k * moment_columns(pair)
                                     : streamed_gram_bytes(pair.k, pair.n) +
                                           inflated_bytes(pair.activation, k * n * stack_of(pair));
    bytes = matrix + vectors;
    if (pair.has_gradient()) {
      const auto m = static_cast<double>(pair.m());
      // The whole gradient, its transposed copy, and the Gram matrix with its Cholesky factor, or
      // G A.
      bytes = std::max(
          bytes,
          matrix + 8 * (3 * m * k + (has_moment ? 0 : 2 * side * side + 3 * m * std::min(n, k))));
      if (pair.when.batch >= 0) bytes = std::max(bytes, matrix + 8 * 3 * k * moment_columns(pair));
    }
  }
  for (const Layer& layer : pair.layers) {
    const double m = static_cast<double>(layer.m);
    const double all_rows = m * static_cast<double>(pair.layers.size());
    // The matrix and the copy that the singular value decomposition overwrites.
    bytes = std::max(
        bytes, 8 * 2.5 * m * k + inflated_bytes(pair.gradient, all_rows * k * stack_of(pair)));
  }
  return bytes;
}

}  // namespace

double flops_of(const Pair& pair) {
  const auto k = static_cast<double>(pair.k), n = static_cast<double>(pair.n),
             m = static_cast<double>(pair.m());
  const bool has_samples = !pair.activation.empty();
  double flops = has_samples ? std::min(k, n) * k * n : k * k;
  if (has_samples && pair.has_gradient()) flops += outside_span_flops(m, k, n);
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
