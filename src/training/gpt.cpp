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

/// What a matrix does with the stream x.
enum class Use { table, reads_stream, adds_to_stream, head };

/// The standard deviation of the initial entries of a matrix (out, in).
double deviation(GptStart start, const GptShape& shape, Use use, std::uint64_t inputs) {
  switch (start) {
    case GptStart::modded:
      if (use == Use::table) return 1;
      return use == Use::reads_stream ? 0.5 / std::sqrt(static_cast<double>(shape.dim)) : 0;
    case GptStart::gauss:
      return use == Use::table ? 1 : 1 / std::sqrt(static_cast<double>(inputs));
    case GptStart::gpt2:
      return 0.02 / (use == Use::adds_to_stream ? std::sqrt(2.0 * static_cast<double>(shape.layers))
                                                : 1.0);
  }
  throw std::logic_error("unknown GptStart");
}

}  // namespace

template <class T>
Gpt<T>::Gpt(const GptShape& shape, GptStart start, const Streams& streams)
    : shape_(shape), attention_(attention_shape(shape), shape.dim) {
  const auto drawn = [&](const std::string& name, Use use, std::uint64_t rows,
                         std::uint64_t columns) {
    arma::mat W(rows, columns, arma::fill::zeros);
    const double std = deviation(start, shape_, use, columns);
    if (std > 0) streams.stream(name).fill_normal({W.memptr(), W.n_elem}, std);
    return Parameter<T>{name, arma::conv_to<arma::Mat<T>>::from(W)};
  };
  const std::uint64_t d = shape_.dim, w = shape_.hidden;
  embedding_ = drawn("embedding", Use::table, d, shape_.vocabulary);
  if (shape_.learned_positions) positions_ = drawn("positions", Use::table, d, shape_.context);
  for (std::uint64_t l = 0; l < shape_.layers; ++l) {
    const std::string of = "layer" + std::to_string(l) + ".";
    layers_.push_back({.Wq = drawn(of + "Wq", Use::reads_stream, d, d),
                       .Wk = drawn(of + "Wk", Use::reads_stream, d, d),
                       .Wv = drawn(of + "Wv", Use::reads_stream, d, d),
                       .Wo = drawn(of + "Wo", Use::adds_to_stream, d, d),
                       .W1 = drawn(of + "W1", Use::reads_stream, w, d),
                       .W2 = drawn(of + "W2", Use::adds_to_stream, d, w)});
    if (shape_.activation->gated) layers_.back().Wg = drawn(of + "Wg", Use::reads_stream, w, d);
  }
  head_ = drawn("head", Use::head, shape_.vocabulary, d);
}

// Forward -----------------------------------------------------------------------------------------

template <class T>
void Gpt<T>::embed(const TokenBatch& batch, GptPass<T>& pass) const {
  look_up(embedding_.W, batch.ids, pass.embedded);
  arma::Mat<T>& x = shape_.layers > 0 ? pass.layers[0].x : pass.last;
  if (positions_) {
    x = pass.embedded;
    for (arma::uword n = 0; n < x.n_cols; ++n) x.col(n) += positions_->W.col(n % shape_.context);
  } else {
    normalize(shape_.norm, shape_.norm_epsilon(), pass.embedded, pass.first);
    x = pass.first.A;
  }
}

template <class T>
void Gpt<T>::attend(const GptLayer<T>& layer, GptLayerPass<T>& pass) const {
  normalize(shape_.norm, shape_.norm_epsilon(), pass.x, pass.A);
  linear(layer.Wq, pass.A.A, pass.attention.q);
  linear(layer.Wk, pass.A.A, pass.attention.k);
  linear(layer.Wv, pass.A.A, pass.attention.v);
  attention_.forward(pass.attention);
  pass.middle = pass.x;
  linear(layer.Wo, pass.attention.H, pass.middle, true);
}

template <class T>
void Gpt<T>::feed_forward(const GptLayer<T>& layer, GptLayerPass<T>& pass,
                          arma::Mat<T>& out) const {
  normalize(shape_.norm, shape_.norm_epsilon(), pass.middle, pass.Am);
  linear(layer.W1, pass.Am.A, pass.Z);
  if (layer.Wg) linear(*layer.Wg, pass.Am.A, pass.M);
  activate(*shape_.activation, pass.Z, pass.M, pass.S);
  out = pass.middle;
  linear(layer.W2, pass.S, out, true);
}

template <class T>
void Gpt<T>::forward_from(std::uint64_t first, GptPass<T>& pass, bool after_attention) const {
  for (std::uint64_t l = first; l < shape_.layers; ++l) {
    if (l > first || !after_attention) attend(layers_[l], pass.layers[l]);
    feed_forward(layers_[l], pass.layers[l],
                 l + 1 < shape_.layers ? pass.layers[l + 1].x : pass.last);
  }
  normalize(shape_.norm, shape_.norm_epsilon(), pass.last, pass.Af);
  linear(head_, pass.Af.A, pass.logits);
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
void Gpt<T>::backward_layer(GptLayer<T>& layer, GptLayerPass<T>& pass, arma::Mat<T>& dx) {
  // x = middle + W2 S
  linear_backward_weights(layer.W2, pass.S, dx);
  linear_backward_inputs(layer.W2, dx, dS_);
  activate_backward(*shape_.activation, pass.Z, pass.M, dS_, dS_, dM_);
  linear_backward_weights(layer.W1, pass.Am.A, dS_);
  linear_backward_inputs(layer.W1, dS_, dA_);
  if (layer.Wg) {
    linear_backward_weights(*layer.Wg, pass.Am.A, dM_);
    linear_backward_inputs(*layer.Wg, dM_, dA_, true);
  }
  normalize_backward(shape_.norm, pass.Am, dA_, dx);
  // middle = x + Wo H
  linear_backward_weights(layer.Wo, pass.attention.H, dx);
  linear_backward_inputs(layer.Wo, dx, dH_);
  attention_.backward(pass.attention, dH_, dq_, dk_, dv_);
  bool add = false;
  for (const auto& [map, gradient] :
       {std::pair{&layer.Wq, &dq_}, {&layer.Wk, &dk_}, {&layer.Wv, &dv_}}) {
    linear_backward_weights(*map, pass.A.A, *gradient);
    linear_backward_inputs(*map, *gradient, dA_, std::exchange(add, true));
  }
  normalize_backward(shape_.norm, pass.A, dA_, dx);
}

template <class T>
void Gpt<T>::embed_backward(const TokenBatch& batch, const GptPass<T>& pass,
                            const arma::Mat<T>& dx) {
  if (!positions_) {
    dA_.zeros(dx.n_rows, dx.n_cols);
    normalize_backward(shape_.norm, pass.first, dx, dA_);
    look_up_backward(batch.ids, dA_, embedding_.G);
    return;
  }
  look_up_backward(batch.ids, dx, embedding_.G);
  for (arma::uword n = 0; n < dx.n_cols; ++n) positions_->G.col(n % shape_.context) += dx.col(n);
}

template <class T>
void Gpt<T>::clear_gradients() {
  for (const auto& weight : weights()) weight.parameter->clear_gradient();
}

template <class T>
void Gpt<T>::backward(const TokenBatch& batch, GptPass<T>& pass) {
  clear_gradients();
  backward_part(batch, pass);
}

template <class T>
void Gpt<T>::backward_part(const TokenBatch& part, GptPass<T>& pass) {
  linear_backward_weights(head_, pass.Af.A, pass.logits);
  linear_backward_inputs(head_, pass.logits, dA_);
  dx_.zeros(pass.last.n_rows, pass.last.n_cols);
  normalize_backward(shape_.norm, pass.Af, dA_, dx_);
  for (std::uint64_t l = shape_.layers; l-- > 0;) backward_layer(layers_[l], pass.layers[l], dx_);
  embed_backward(part, pass, dx_);
}

// By parts ----------------------------------------------------------------------------------------

namespace {

std::vector<TokenBatch> in_parts(const GptShape& shape, const TokenBatch& batch) {
  const std::uint64_t T = shape.context;
  std::vector<TokenBatch> out;
  for (const auto& [first, end] : part_ranges(batch.ids.size() / T, T, shape.dim))
    out.push_back({slice(batch.ids, first * T, end * T), slice(batch.targets, first * T, end * T)});
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
