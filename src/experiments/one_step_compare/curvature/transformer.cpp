// The transformer of the study: the GPT of [Spectral] Section 2.2 on real text, always on the same
// tokens.
#include <algorithm>

#include "experiments/one_step_compare/curvature/attention_constants.hpp"
#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "linalg/spectra.hpp"
#include "nn/gpt.hpp"
#include "nn/trainer.hpp"

namespace ranklab::curvature {
namespace {

/// Weights inside blocks; the others are not measured.
std::vector<GptWeight<Parameter<double>>> inside(SequenceModel<double>& model) {
  std::vector<GptWeight<Parameter<double>>> out;
  for (const auto& weight : gpt_weights(model)) {
    if (weight.role == WeightRole::in_layer) out.push_back(weight);
  }
  return out;
}

SequenceShape shape_of(const Config& config, std::uint64_t vocabulary) {
  SequenceShape shape = gpt_shape(find_activation(config.activation), Norm::rms, false, true);
  shape.vocabulary = vocabulary, shape.layers = config.layers, shape.dim = config.d;
  shape.heads = 1, shape.length = context, shape.hidden = 4 * config.d;
  return shape;
}

class MeasuredTransformer : public MeasuredModel {
 public:
  MeasuredTransformer(SequenceModel<double>& model, const SequenceBatch<double>& batch)
      : model_(model), batch_(batch), weights_(inside(model)) {
    // In one part, so that the activations of all tokens are there afterwards.
    model.forward(batch);
    loss_ = model.loss(batch, true);
    model.backward(batch);
    for (const auto& weight : weights_) {
      const GptActivations<double> at = gpt_activations(std::as_const(model), weight.layer);
      const std::string& block = weight.block;
      A_.push_back(block == "Wo" ? at.H : block == "W1" ? at.Am : block == "W2" ? at.S : at.A);
      G_.push_back(weight.parameter->G);
      W_.push_back(weight.parameter->W);
    }
  }

  /// The curvature is a difference of gradients at both sides, extrapolated to a step of 0.
  Along along(const Blocks& D) override {
    Along out;
    for (std::size_t i = 0; i < D.size(); ++i) {
      const double op = operator_norm(D[i]);
      out.B += squares(D[i] * A_[i]);
      out.op += op * op;
      out.slope += arma::dot(G_[i], D[i]);
    }
    const double h = 1e-3 / std::sqrt(out.op);
    const auto difference = [&](double step) {
      return (slope_at(D, step) - slope_at(D, -step)) / (2 * step);
    };
    if (out.op > 0) out.curvature = (4 * difference(h) - difference(2 * h)) / 3;
    return out;
  }

 private:
  double slope_at(const Blocks& D, double step) {
    for (std::size_t i = 0; i < D.size(); ++i) weights_[i].parameter->W = W_[i] + step * D[i];
    model_.loss_by_parts(batch_, true, [](const auto&...) {});
    double slope = 0;
    for (std::size_t i = 0; i < D.size(); ++i) {
      slope += arma::dot(weights_[i].parameter->G, D[i]);
      weights_[i].parameter->W = W_[i];
    }
    return slope;
  }

  SequenceModel<double>& model_;
  const SequenceBatch<double>& batch_;
  const std::vector<GptWeight<Parameter<double>>> weights_;
  Blocks W_;
};

}  // namespace

std::unique_ptr<MeasuredModel> measured_transformer(SequenceModel<double>& model,
                                                    const SequenceBatch<double>& batch) {
  return std::make_unique<MeasuredTransformer>(model, batch);
}

TrialRecord run_transformer_trial(const Config& config, const Corpus& corpus, const Trial& trial) {
  const SequenceShape shape = shape_of(config, corpus.vocabulary);
  Stream stream = trial.stream("batch");
  const SequenceBatch<double> batch =
      next_token_batch<double>(draw_windows(corpus.training, config.n / context, context, stream));
  // Measuring overwrites gradients, so it has its own model.
  SequenceModel<double> model(shape, gpt_initial_weights("gauss", shape, trial)),
      measured(shape, gpt_initial_weights("gauss", shape, trial));
  std::vector<Trainer<double>::Trained> trained;
  for (const auto& weight : gpt_weights(model)) {
    const bool is_inside = weight.role == WeightRole::in_layer;
    trained.push_back({weight.parameter,
                       {.rule = is_inside ? rule_of(config.optimizer) : Rule::adam},
                       is_inside ? config.lr : 0.01});
  }
  Trainer<double> trainer(model, trained);
  Track track(columns_of(config));
  trial.expect(config.steps, "step");
  for (std::uint64_t t = 0; t <= config.steps; ++t) {
    const auto at = std::find(config.measure_steps.begin(), config.measure_steps.end(), t);
    if (at != config.measure_steps.end()) {
      trial.check_interrupt();
      measured.copy_weights(model);
      measure_matrices(config, *measured_transformer(measured, batch),
                       static_cast<std::size_t>(at - config.measure_steps.begin()), track);
    }
    if (t == config.steps) break;
    trial.show("loss", trainer.gradients(
                           batch, [](const auto&...) {}, trial));
    trainer.step(1, trial);
    trial.advance();
  }
  TrialRecord record;
  measure_attention(trial, record);
  record.insert(track.take());
  return record;
}

}  // namespace ranklab::curvature
