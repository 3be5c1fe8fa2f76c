#include "training/gpt.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "training/layers/activation.hpp"
#include "training/layers/cross_entropy.hpp"
#include "training/layers/linear.hpp"
#include "training/parts.hpp"

namespace ranklab {
namespace {

AttentionShape attention_shape(const GptShape& shape) {
  return {.heads = shape.heads,
          .context = shape.context,
          .rotary = !shape.learned_positions,
          .qk_norm = shape.qk_norm,
          .norm_epsilon = shape.norm_epsilon()};
}

/// The standard deviation of the initial entries of a block (out, in).
double deviation(GptStart start, const GptShape& shape, std::string_view block,
                 std::uint64_t inputs) {
  const bool adds_to_stream = block == "Wo" || block == "W2",
             table = block == "embedding" || block == "positions";
  switch (start) {
    case GptStart::modded:
      if (table) return 1;
      return adds_to_stream || block == "head" ? 0
                                               : 0.5 / std::sqrt(static_cast<double>(shape.dim));
    case GptStart::gauss:
      return table ? 1 : 1 / std::sqrt(static_cast<double>(inputs));
    case GptStart::gpt2:
      return 0.02 / (adds_to_stream ? std::sqrt(2.0 * static_cast<double>(shape.layers)) : 1.0);
  }
  throw std::logic_error("unknown GptStart");
}

}  // namespace

std::vector<std::string> GptShape::blocks() const {
  std::vector<std::string> names = {"Wq", "Wk", "Wv", "Wo", "W1", "W2"};
  if (activation->gated) names.push_back("Wg");
  return names;
}

template <class T>
Gpt<T>::Gpt(const GptShape& shape, GptStart start, const Trial& trial)
    : shape_(shape), attention_(attention_shape(shape), shape.dim) {
  const auto add = [&](const std::string& prefix, const std::string& block, std::uint64_t rows,
                       std::uint64_t columns) {
    arma::mat W(rows, columns, arma::fill::zeros);
    const double std = deviation(start, shape_, block, columns);
    if (std > 0) trial.stream(prefix + block).fill_normal({W.memptr(), W.n_elem}, std);
    parameters_.push_back({prefix + block, arma::conv_to<arma::Mat<T>>::from(W)});
  };
  const std::uint64_t d = shape_.dim, w = shape_.hidden;
  add("", "embedding", d, shape_.vocabulary);
  if (shape_.learned_positions) add("", "positions", d, shape_.context);
  for (std::uint64_t l = 0; l < shape_.layers; ++l) {
    const std::string layer = "layer" + std::to_string(l) + ".";
    for (const std::string& block : shape_.blocks())
      add(layer, block, block == "W1" || block == "Wg" ? w : d, block == "W2" ? w : d);
  }
  add("", "head", shape_.vocabulary, d);
}

template <class T>
const Parameter<T>& Gpt<T>::block(std::uint64_t layer, std::string_view name) const {
  const std::size_t of_layer = 6 + (shape_.activation->gated ? 1 : 0),
                    first = shape_.learned_positions ? 2 : 1;
  for (std::size_t i = 0; i < of_layer; ++i) {
    const Parameter<T>& found = parameters_.at(first + layer * of_layer + i);
    if (found.name.ends_with(name)) return found;
  }
  throw std::logic_error("no such block in a layer: " + std::string(name));
}

template <class T>
Parameter<T>& Gpt<T>::block(std::uint64_t layer, std::string_view name) {
  return const_cast<Parameter<T>&>(std::as_const(*this).block(layer, name));
}

// Forward -----------------------------------------------------------------------------------------

template <class T>
void Gpt<T>::embed(const TokenBatch& batch, GptPass<T>& pass) const {
  look_up(embedding().W, batch.ids, pass.embedded);
  arma::Mat<T>& x = shape_.layers > 0 ? pass.layers[0].x : pass.last;
  if (shape_.learned_positions) {
    x = pass.embedded;
    for (arma::uword n = 0; n < x.n_cols; ++n) x.col(n) += parameters_[1].W.col(n % shape_.context);
  } else {
    normalize(shape_.norm, shape_.norm_epsilon(), pass.embedded, pass.first);
    x = pass.first.A;
  }
}

template <class T>
void Gpt<T>::attend(std::uint64_t l, GptLayerPass<T>& pass) const {
  normalize(shape_.norm, shape_.norm_epsilon(), pass.x, pass.A);
  linear(block(l, "Wq"), pass.A.A, pass.attention.q);
  linear(block(l, "Wk"), pass.A.A, pass.attention.k);
  linear(block(l, "Wv"), pass.A.A, pass.attention.v);
  attention_.forward(pass.attention);
  pass.middle = pass.x;
  linear(block(l, "Wo"), pass.attention.H, pass.middle, true);
}

template <class T>
void Gpt<T>::feed_forward(std::uint64_t l, GptLayerPass<T>& pass, arma::Mat<T>& out) const {
  normalize(shape_.norm, shape_.norm_epsilon(), pass.middle, pass.Am);
  linear(block(l, "W1"), pass.Am.A, pass.Z);
  if (shape_.activation->gated) linear(block(l, "Wg"), pass.Am.A, pass.M);
  activate(*shape_.activation, pass.Z, pass.M, pass.S);
  out = pass.middle;
  linear(block(l, "W2"), pass.S, out, true);
}

template <class T>
void Gpt<T>::forward_from(std::uint64_t first, GptPass<T>& pass, bool after_attention) const {
  for (std::uint64_t l = first; l < shape_.layers; ++l) {
    if (l > first || !after_attention) attend(l, pass.layers[l]);
    feed_forward(l, pass.layers[l], l + 1 < shape_.layers ? pass.layers[l + 1].x : pass.last);
  }
  normalize(shape_.norm, shape_.norm_epsilon(), pass.last, pass.Af);
  linear(head(), pass.Af.A, pass.logits);
}

template <class T>
void Gpt<T>::forward(const TokenBatch& batch, GptPass<T>& pass) const {
  pass.layers.resize(shape_.layers);
  embed(batch, pass);
  forward_from(0, pass);
}

template <class T>
double Gpt<T>::loss(const TokenBatch& batch, GptPass<T>& pass, bool gradient) const {
  return cross_entropy(pass.logits, batch.targets, gradient);
}

// Backward ----------------------------------------------------------------------------------------

template <class T>
void Gpt<T>::backward_layer(std::uint64_t l, GptLayerPass<T>& pass, arma::Mat<T>& dx) {
  // x = middle + W2 S
  linear_backward_weights(block(l, "W2"), pass.S, dx);
  linear_backward_inputs(block(l, "W2"), dx, dS_);
  activate_backward(*shape_.activation, pass.Z, pass.M, dS_, dS_, dM_);
  linear_backward_weights(block(l, "W1"), pass.Am.A, dS_);
  linear_backward_inputs(block(l, "W1"), dS_, dA_);
  if (shape_.activation->gated) {
    linear_backward_weights(block(l, "Wg"), pass.Am.A, dM_);
    linear_backward_inputs(block(l, "Wg"), dM_, dA_, true);
  }
  normalize_backward(shape_.norm, pass.Am, dA_, dx);
  // middle = x + Wo H
  linear_backward_weights(block(l, "Wo"), pass.attention.H, dx);
  linear_backward_inputs(block(l, "Wo"), dx, dH_);
  attention_.backward(pass.attention, dH_, dq_, dk_, dv_);
  bool add = false;
  for (const auto& [name, gradient] : {std::pair{"Wq", &dq_}, {"Wk", &dk_}, {"Wv", &dv_}}) {
    linear_backward_weights(block(l, name), pass.A.A, *gradient);
    linear_backward_inputs(block(l, name), *gradient, dA_, std::exchange(add, true));
  }
  normalize_backward(shape_.norm, pass.A, dA_, dx);
}

template <class T>
void Gpt<T>::embed_backward(const TokenBatch& batch, const GptPass<T>& pass,
                            const arma::Mat<T>& dx) {
  if (!shape_.learned_positions) {
    dA_.zeros(dx.n_rows, dx.n_cols);
    normalize_backward(shape_.norm, pass.first, dx, dA_);
    look_up_backward(batch.ids, dA_, embedding().G);
    return;
  }
  look_up_backward(batch.ids, dx, embedding().G);
  arma::Mat<T>& positions = parameters_[1].G;
  for (arma::uword n = 0; n < dx.n_cols; ++n) positions.col(n % shape_.context) += dx.col(n);
}

template <class T>
void Gpt<T>::clear_gradients() {
  for (Parameter<T>& parameter : parameters_) parameter.clear_gradient();
}

template <class T>
void Gpt<T>::backward(const TokenBatch& batch, GptPass<T>& pass) {
  clear_gradients();
  backward_part(batch, pass);
}

template <class T>
void Gpt<T>::backward_part(const TokenBatch& part, GptPass<T>& pass) {
  linear_backward_weights(head(), pass.Af.A, pass.logits);
  linear_backward_inputs(head(), pass.logits, dA_);
  dx_.zeros(pass.last.n_rows, pass.last.n_cols);
  normalize_backward(shape_.norm, pass.Af, dA_, dx_);
  for (std::uint64_t l = shape_.layers; l-- > 0;) backward_layer(l, pass.layers[l], dx_);
  embed_backward(part, pass, dx_);
}

// By parts ----------------------------------------------------------------------------------------

namespace {

std::vector<TokenBatch> in_parts(const GptShape& shape, const TokenBatch& batch) {
  const std::size_t sequences = batch.ids.size() / shape.context,
                    parts = part_count(sequences, shape.context, shape.dim);
  std::vector<TokenBatch> out(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t first = i * sequences / parts * shape.context,
                      end = (i + 1) * sequences / parts * shape.context;
    out[i] = {slice(batch.ids, first, end), slice(batch.targets, first, end)};
  }
  return out;
}

}  // namespace

template <class T>
double Gpt<T>::loss_by_parts(const TokenBatch& batch, GptPass<T>& pass, bool gradient,
                             const std::function<void(const TokenBatch&)>& seen) {
  if (gradient) clear_gradients();
  double loss = 0;
  for (const TokenBatch& part : in_parts(shape_, batch)) {
    forward(part, pass);
    seen(part);
    loss += cross_entropy(pass.logits, part.targets, gradient, batch.targets.size());
    if (gradient) backward_part(part, pass);
  }
  return loss;
}

template class Gpt<float>;
template class Gpt<double>;

// Sizes -------------------------------------------------------------------------------------------

double gpt_parameters(const GptShape& shape) {
  const auto real = [](std::uint64_t n) { return static_cast<double>(n); };
  const double d = real(shape.dim), maps = shape.activation->gated ? 3 : 2;
  return real(shape.layers) * (4 * d * d + maps * d * real(shape.hidden)) +
         2 * d * real(shape.vocabulary) + (shape.learned_positions ? d * real(shape.context) : 0);
}

double gpt_flops(const GptShape& shape, double tokens) {
  const double d = static_cast<double>(shape.dim),
               tables = d * static_cast<double>(shape.vocabulary +
                                                (shape.learned_positions ? shape.context : 0));
  return 2 * tokens * (gpt_parameters(shape) - tables) +
         4 * tokens * static_cast<double>(shape.layers) * static_cast<double>(shape.context) * d;
}

double gpt_pass_numbers(const GptShape& shape, double tokens) {
  const auto real = [](std::uint64_t n) { return static_cast<double>(n); };
  const double d = real(shape.dim), w = real(shape.hidden),
               hidden = shape.activation->gated ? 3 : 2;
  return tokens *
         (real(shape.layers) * (8 * d + hidden * w + real(shape.heads) * real(shape.context)) +
          12 * d + 2 * w + real(shape.vocabulary));
}

}  // namespace ranklab
