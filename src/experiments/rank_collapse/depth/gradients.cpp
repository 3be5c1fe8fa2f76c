// Gradients with respect to the weights of each block of an encoder ([Shallow] Section 1.1, Figure
// 1). Only one block's weights are in memory at a time.
//
//   loss = (1/n) sum_t -log softmax(E' H_t)[target_t]
//   g_l  = || dloss / d(all weights of block l) ||_F,   l = 1 ... L: maps, biases, gains
//
// H = X_L, or M X_L with M = `embedding_map.weight` if E is narrower than d.
// E (width, V) is the token table of the model. The targets are uniform over its V ids, from the
// stream `targets`. X_l (d, n) has one token per column. If blocks share their weights, the
// gradient is the sum of one part per block, and g_l is the norm of the part of block l.
// Differs from [Shallow]: it states neither loss nor tokens nor dropout, so the loss and the
// targets are our choice, without dropout.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/undefined.hpp"
#include "ensembles/tokens.hpp"
#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "nn/blocks/sublayers.hpp"
#include "nn/layers/attention_mixer.hpp"
#include "nn/layers/cross_entropy.hpp"
#include "nn/layers/skip_block.hpp"
#include "nn/optimizer.hpp"

namespace ranklab {
namespace {

// d/dx of x/2 (1 + tanh u), u = sqrt(2/pi) (x + c x^3).
double gelu_by_tanh_slope(double x) {
  constexpr double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, c = 0.044715;
  const double t = std::tanh(root * (x + c * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * c * x * x);
}

const Activation& activation_of(const ModelSpec& spec) {
  static const Activation gelu_tanh = {"gelu-tanh", find_feed_forward_activation("gelu-tanh"),
                                       gelu_by_tanh_slope};
  return spec.activation == gelu_tanh.name ? gelu_tanh : find_activation(spec.activation);
}

// A block of the encoder with a backward pass. Its weights are 0 until read_weights sets them.
template <class T>
SkipBlock<T> training_block(const ModelSpec& spec, const Trial& trial, arma::uword tokens) {
  const InitialWeights zero(Initialization::zero, trial);
  const AttentionShape attention = {.heads = spec.heads, .context = tokens, .causal = false};
  const SkipBlockShape shape = {.dim = spec.dim,
                                .hidden = spec.ffn,
                                .activation = &activation_of(spec),
                                .norm_epsilon = spec.norm_epsilon,
                                .post = true,
                                .de_escalation = {}};
  const AttentionMaps maps = {.output = true, .input_biases = true, .output_bias = true};
  return SkipBlock<T>(shape, std::make_unique<AttentionMixer<T>>(spec.dim, attention, zero, maps),
                      zero);
}

// Sets the weights to the tensors of one block of the encoder (nn/blocks/encoder.cpp).
template <class T>
void read_weights(SkipBlock<T>& block, Tensors<T>& tensors) {
  const auto read_vector = [&](const std::string& name, Parameter<T>& b, double start) {
    b.W = tensors.vector(name, b.W.n_rows, EntryLaw::constant(start));
  };
  const auto read_map = [&](const std::string& name, Parameter<T>& W, Parameter<T>& b) {
    // (out, in) here, (in, out) in `tensors`
    W.W =
        tensors
            .matrix(name + ".weight", W.W.n_cols, W.W.n_rows, EntryLaw::normal(default_weight_std))
            .t();
    read_vector(name + ".bias", b, 0);
  };
  const auto read_norm = [&](const std::string& name, AffineNorm<T>& norm) {
    read_vector(name + ".weight", *norm.gain(), 1);
    read_vector(name + ".bias", *norm.bias(), 0);
  };
  auto& attention = dynamic_cast<AttentionMixer<T>&>(block.mixer());
  auto& net = *block.net();
  read_map("query", attention.q().W, *attention.q().b);
  read_map("key", attention.k().W, *attention.k().b);
  read_map("value", attention.v().W, *attention.v().b);
  read_map("dense", attention.o()->W, *attention.o()->b);
  read_norm("attention_norm", block.norm());
  read_map("ffn", net.W1, *net.b1);
  read_map("ffn_output", net.W2, *net.b2);
  read_norm("output_norm", net.norm);
}

// dloss / dX_L (d, n).
template <class T>
arma::Mat<T> loss_gradient(const ModelSpec& spec, const Trial& trial, const arma::Mat<T>& X) {
  const std::unique_ptr<Tensors<T>> tensors = tensors_of_embedding<T>(spec, trial);
  const EntryLaw start = EntryLaw::normal(default_weight_std);
  const std::uint64_t width = embedding_width(spec);
  arma::Mat<T> M;
  if (spec.row().embeds_narrowly)
    M = tensors->matrix("embedding_map.weight", width, spec.dim, start);
  const arma::Mat<T> E =
      tensors->columns("word.weight", width, spec.vocabulary, position_ids(spec.vocabulary), start);
  arma::Mat<T> logits =
      M.is_empty() ? arma::Mat<T>(E.t() * X) : arma::Mat<T>(E.t() * arma::Mat<T>(M * X));
  Stream stream = trial.stream("targets");
  cross_entropy(logits, draw_ids(spec.vocabulary, X.n_cols, stream), true);
  const arma::Mat<T> dH = E * logits;
  return M.is_empty() ? dH : arma::Mat<T>(M.t() * dH);
}

// g_1 to g_L, from the states X_0 to X_(L-1).
template <class T>
std::vector<double> gradient_norms(const ModelSpec& spec, const Trial& trial,
                                   const std::vector<arma::Mat<T>>& states) {
  std::vector<double> norms(spec.layers, undefined);
  if (states.size() < spec.layers) return norms;
  SkipBlock<T> block = training_block<T>(spec, trial, states.front().n_cols);
  arma::Mat<T> above, gradient;
  for (std::uint64_t l = spec.layers; l-- > 0;) {
    const bool is_last = l + 1 == spec.layers;
    if (is_last || !spec.shares_weights())
      read_weights(block, *tensors_of_layer<T>(spec, trial, l));
    block.mixer().prepare();
    block.forward(states[l], above);
    if (is_last) gradient = loss_gradient(spec, trial, above);
    for (Parameter<T>* parameter : block.parameters()) parameter->clear_gradient();
    block.backward(states[l], gradient);
    block.mixer().finish();
    norms[l] = gradient_norm(block.parameters());
    trial.advance();
  }
  return norms;
}

template <class T>
TrialRecord trial_with_gradients(const std::vector<DepthGroup>& groups, const Trial& trial) {
  TrialRecord record;
  for (const DepthGroup& group : groups) {
    std::vector<arma::Mat<T>> states;
    const auto keep = [&](std::size_t curve, const Block<T>&, const State<T>& state) {
      if (curve == 0) states.push_back(state.Y);  // the other curves have dropout
    };
    record.insert(run_observed<T>(group, trial, keep));
    record.set(gradient_norms_of(group.spec), gradient_norms(group.spec, trial, states));
  }
  return record;
}

}  // namespace

Quantity gradient_norms_of(const ModelSpec& spec) {
  constexpr Measure gradient_norm = {"gradient_norm", "||grad_l||_F",
                                     "norm of the gradient with respect to a block's weights"};
  return At("model", model_label(spec)) / gradient_norm;
}

Records run_with_gradients(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                           bool single_precision) {
  std::uint64_t layers = 0;
  for (const DepthGroup& group : groups) layers += 2 * group.spec.layers;  // forward and backward
  Records records;
  for (const Trial& trial : trials) {
    trial.expect(layers, "layer");
    records.push_back(single_precision ? trial_with_gradients<float>(groups, trial)
                                       : trial_with_gradients<double>(groups, trial));
  }
  return records;
}

Estimate cost_with_gradients(const std::vector<DepthGroup>& groups) {
  Estimate cost = depth_cost(groups);
  // Numbers in memory: the states that the forward pass keeps, and everything in the backward pass.
  double kept = 0, backward = 0;
  for (const DepthGroup& group : groups) {
    const ModelSpec& spec = group.spec;
    const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim),
                 K = static_cast<double>(spec.layers), V = static_cast<double>(spec.vocabulary),
                 table = V * static_cast<double>(embedding_width(spec)),
                 block = parameters_per_block(spec),
                 scores = 2 * N * N * static_cast<double>(spec.heads),
                 passes = scores + N * (20 * d + 4 * static_cast<double>(spec.ffn));
    kept = std::max(kept, K * N * d);
    // The head is freed before the first gradients with respect to weights are allocated.
    backward =
        std::max(backward, K * N * d + block + passes + std::max(table + N * V, 1.5 * block));
  }
  cost.bytes = std::max(cost.bytes + cost.shared_bytes + 8 * kept, 8 * backward);
  cost.shared_bytes = 0;
  return cost;
}

}  // namespace ranklab
