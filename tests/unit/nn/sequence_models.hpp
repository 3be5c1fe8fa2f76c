// Small sequence models for tests: shapes, batches, initial weights and some training steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gaussian.hpp"
#include "nn/optimizer.hpp"
#include "nn/sequence_model.hpp"

namespace sequence_models {

using namespace ranklab;

inline constexpr MixerKind mixers[] = {MixerKind::attention, MixerKind::linear_attention,
                                       MixerKind::mamba2, MixerKind::mamba1, MixerKind::s4d};
inline const Streams trial(17, 0);
inline const InitialWeights initial(Initialization::fan, trial);

/// Two layers for sequences of five ids out of seven; the heads of Mamba-2 require d = 16.
inline SequenceShape shape_of(MixerKind mixer) {
  SequenceShape shape;
  shape.dim = mixer == MixerKind::mamba2 ? 16 : 8;
  shape.hidden = 6;
  shape.activation = &find_activation("gelu");
  shape.mixer = mixer;
  shape.length = 5;
  shape.vocabulary = 7;
  return shape;
}

/// The same for sequences of five tokens of three numbers, each sequence of one of four classes.
inline SequenceShape classes_shape(MixerKind mixer) {
  SequenceShape shape = shape_of(mixer);
  shape.inputs = 3;
  shape.classes = 4;
  shape.causal = false;
  return shape;
}

/// Some ids occur twice. If `labeled`, the loss uses two columns of each sequence.
template <class T = double>
SequenceBatch<T> batch_of(const SequenceShape& shape, bool labeled = false,
                          const std::string& name = "batch", std::uint64_t sequences = 3) {
  constexpr std::uint64_t places[3][2] = {{1, 3}, {0, 4}, {2, 4}};
  SequenceBatch<T> batch;
  const std::uint64_t tokens = sequences * (shape.length - (shape.class_token ? 1 : 0));
  Stream stream = trial.stream(name);
  const auto draw = [&](std::uint64_t below) {
    return static_cast<std::uint32_t>(stream.uniform() * static_cast<double>(below));
  };
  if (shape.inputs == 0) {
    for (std::uint64_t n = 0; n < tokens; ++n) batch.ids.push_back(draw(shape.vocabulary));
  } else {
    batch.values = arma::conv_to<arma::Mat<T>>::from(gaussian(shape.inputs, tokens, name.c_str()));
  }
  for (std::uint64_t b = 0; labeled && b < sequences; ++b) {
    for (const std::uint64_t place : places[b % 3])
      batch.labeled.push_back(b * shape.length + place);
  }
  const std::uint64_t asked = shape.classes > 0 ? sequences
                              : labeled         ? batch.labeled.size()
                                                : tokens;
  for (std::uint64_t n = 0; n < asked; ++n)
    batch.targets.push_back(draw(shape.classes > 0 ? shape.classes : shape.vocabulary));
  return batch;
}

/// Adds 0.2 N(0, 1) to every parameter, so that gains of 1 and biases of 0 matter too. Lengthens
/// the steps of both Mambas so that its decays matter.
template <class T>
void perturb(SequenceModel<T>& model) {
  for (Parameter<T>* parameter : model.parameters()) {
    const arma::mat step = 0.2 * gaussian(parameter->W.n_rows, parameter->W.n_cols,
                                          ("moved " + parameter->name).c_str());
    parameter->W += arma::conv_to<arma::Mat<T>>::from(step);
    if (parameter->name.ends_with("dt_bias")) parameter->W += T(3);
  }
}

template <class T>
arma::Mat<T> logits(SequenceModel<T>& model, const SequenceBatch<T>& batch) {
  model.forward(batch);
  return model.logits();
}

/// Returns the loss and leaves the gradients in the parameters.
template <class T>
double pass(SequenceModel<T>& model, const SequenceBatch<T>& batch) {
  model.forward(batch);
  const double loss = model.loss(batch, true);
  model.backward(batch);
  return loss;
}

/// The losses of 20 steps of AdamW on four batches in turn.
inline std::vector<double> train(SequenceModel<double>& model) {
  std::vector<Optimizer<double>> optimizers;
  for (const Parameter<double>* parameter : model.parameters()) {
    optimizers.push_back(
        Optimizer<double>({.beta_2 = 0.999, .decay = parameter->decays ? 0.1 : 0.0}));
  }
  std::vector<double> losses;
  for (std::uint64_t t = 0; t < 20; ++t) {
    losses.push_back(pass(model, batch_of(model.shape(), false, "batch" + std::to_string(t % 4))));
    clip_gradients(model.parameters(), 1.0);
    for (std::size_t i = 0; i < optimizers.size(); ++i)
      optimizers[i].step(*model.parameters()[i], 0.01 * warm_cosine(t, 20, 2));
  }
  return losses;
}

/// (loss(w + step) - loss(w - step)) / (2 step); restores w.
template <class Loss>
double central_difference(double& w, const Loss& loss, double step) {
  const double at = w;
  w = at + step;
  const double above = loss();
  w = at - step;
  const double below = loss();
  w = at;
  return (above - below) / (2 * step);
}

/// Calls visit(parameter's name, its gradient, the derivatives of the loss in its entries);
/// slope(entry, loss) computes one derivative. The gradients are those of a pass over `batch`,
/// after a pass over another batch, which must have no effect.
template <class Slope, class Visit>
void for_each_gradient(SequenceModel<double>& model, const SequenceBatch<double>& another,
                       const SequenceBatch<double>& batch, const Slope& slope, const Visit& visit) {
  pass(model, another);
  pass(model, batch);
  std::vector<arma::mat> found;
  for (const Parameter<double>* parameter : model.parameters()) found.push_back(parameter->G);
  const auto loss = [&] {
    model.forward(batch);
    return model.loss(batch, false);
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    arma::mat &W = model.parameters()[i]->W, slopes(arma::size(W));
    for (arma::uword j = 0; j < W.n_elem; ++j) slopes[j] = slope(W[j], loss);
    visit(model.parameters()[i]->name, found[i], slopes);
  }
}

}  // namespace sequence_models
