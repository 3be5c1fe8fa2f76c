// One trial: every run on the same batches.
#include <cmath>

#include "experiments/one_step_compare/gpt/measure.hpp"
#include "experiments/ranks/pooling.hpp"
#include "nn/saved_weights.hpp"
#include "nn/trainer.hpp"

namespace ranklab::gpt {
namespace {

// Batches of held-out text: for the validation loss during training, for the final one, and for the
// ranks at probed steps.
constexpr std::uint64_t validation_batches = 4, final_batches = 16, probe_batches = 8;

bool has(const std::vector<double>& steps, std::uint64_t t) {
  return contains(steps, static_cast<double>(t));
}

/// Whether the second moment (out, out) of the gradients in a weight's outputs is stored. It is not
/// for tables, and for outputs so many that it would dwarf the weight.
bool keeps_error_moment(WeightRole role, std::uint64_t outputs, std::uint64_t inputs) {
  return (role == WeightRole::in_layer || role == WeightRole::head) && outputs <= 8192 &&
         outputs <= 8 * inputs;
}

/// Names of the matrices that the advice puts on a spectral step.
using Advised = std::set<std::string>;

/// One run of one trial, from the initial weights to the last measurement.
template <class T>
class Training {
 public:
  Training(const Run& run, const Advised& advised, const Corpus& corpus, const Trial& trial)
      : run_(run),
        advised_(advised),
        corpus_(corpus),
        trial_(trial),
        writes_files_(trial.index() == 0 && run.is_first() &&
                      !(run.config.save.empty() && run.config.record.empty())),
        model_(run.shape(corpus.vocabulary),
               gpt_initial_weights(run.config.init, run.shape(corpus.vocabulary), trial)),
        weights_(gpt_weights(model_)),
        trainer_(model_, trained(run, advised, weights_)),
        batches_(trial.stream("batches")),
        independent_(trial.stream("independent")),
        track_(columns_of(run)) {
    Stream validation = trial.stream("validation");
    for (std::uint64_t i = 0; i < final_batches; ++i)
      validation_.push_back(windows(corpus.validation, validation));
    Stream probes = trial.stream("probe");
    for (std::uint64_t i = 0; i < probe_batches; ++i)
      probe_.push_back(windows(corpus.validation, probes));
  }

  TrialRecord train() {
    train_until(run_.config.steps);
    return record();
  }

  /// Trains up to a step and takes the advice from the measured steps, by the rule of [Spectral]
  /// for one step: a ratio of at least 2, and an interval without 1. Each matrix is paired with its
  /// own input, as in a recording.
  Advised advised_at(std::uint64_t last) {
    train_until(last);
    // Embedding and head are not advised, but intervals depend on the spread of all matrices.
    std::vector<const Weight*> judged;
    std::vector<ranks::LogRatios> ratios;
    for (const Weight& weight : weights_) {
      if (weight.role == WeightRole::positions) continue;
      const std::string& name = weight.parameter->name;
      ranks::LogRatios logs;
      for (const double ratio :
           track_.values(weight.block == "Wo" ? ratio_to_H.of(name) : rank_ratio.of(name))) {
        if (std::isfinite(ratio)) logs.steps.push_back(std::log(ratio));
      }
      if (logs.steps.empty()) continue;
      judged.push_back(&weight);
      ratios.push_back(std::move(logs));
    }
    const std::vector<ranks::PooledRatio> pooled = ranks::pooled(ratios);
    Advised out;
    for (std::size_t i = 0; i < judged.size(); ++i) {
      if (judged[i]->role == WeightRole::in_layer &&
          pooled[i].ratio >= 2 * (1 - ranks::ratio_rounding) &&
          inequality_holds(pooled[i]) == ranks::Holds::yes)
        out.insert(judged[i]->parameter->name);
    }
    return out;
  }

 private:
  using Weight = GptWeight<Parameter<T>>;

  void train_until(std::uint64_t last) {
    for (std::uint64_t t = 0; t <= last; ++t) {
      const SequenceBatch<T> batch = windows(corpus_.training, batches_);
      const bool measured = has(run_.measured, t), written = writes_files_ && saves(t);
      Moments moments;
      observe_errors(needs_errors(t));
      const double loss = gradients_of(batch, measured || written ? &moments : nullptr);
      has_diverged_ = std::isnan(loss);
      if (has_diverged_) return;
      track_.set(train_loss, loss, t);
      trial_.show("loss", loss);
      if (written) save(t, moments);
      if (measured) measure(t, batch, moments);
      if (t == last) return;
      trainer_.step(trapezoid(t, run_.config.steps), trial_);
      trial_.advance();
    }
  }

  SequenceBatch<T> windows(const std::vector<std::uint32_t>& tokens, Stream& stream) const {
    return next_token_batch<T>(
        draw_windows(tokens, run_.config.batch, run_.config.context, stream));
  }

  static std::vector<typename Trainer<T>::Trained> trained(const Run& run, const Advised& advised,
                                                           const std::vector<Weight>& weights) {
    std::vector<typename Trainer<T>::Trained> out;
    for (const auto& [parameter, role, l, block] : weights) {
      const bool own_rule = run.updates(block, advised.contains(parameter->name));
      const double outer_rate =
          own_rule && run.rule() != Rule::adam ? run.config.lr_outer : run.config.lr_embedding;
      const double rate = role != WeightRole::in_layer ? outer_rate
                          : own_rule                   ? run.rate()
                                                       : run.config.lr_adam;
      out.push_back({parameter, {.rule = own_rule ? run.rule() : Rule::adam}, rate});
    }
    return out;
  }

  /// Returns the loss of a batch and leaves its gradients in the model. Adds its activations to
  /// `moments` unless it is null.
  double gradients_of(const SequenceBatch<T>& batch, Moments* moments) {
    return trainer_.gradients(
        batch,
        [&](const SequenceModel<T>& model, const SequenceBatch<T>& part, Turns& turns) {
          trial_.check_interrupt();
          if (moments) add_activations(model, part, turns, *moments);
        },
        trial_);
  }

  /// Whether the next backward pass must store the second moments of output gradients.
  bool needs_errors(std::uint64_t t) const {
    return has(run_.one_step_at, t) || (writes_files_ && !run_.config.record.empty() && saves(t));
  }
  void observe_errors(bool observes) {
    for (const Weight& weight : weights_) {
      const arma::uword out = weight.parameter->W.n_rows, in = weight.parameter->W.n_cols;
      std::optional<arma::mat>& moment = weight.parameter->error_moment;
      moment.reset();
      if (observes && keeps_error_moment(weight.role, out, in))
        moment.emplace(out, out, arma::fill::zeros);
    }
  }

  double validation(std::uint64_t batches) {
    double sum = 0;
    for (std::uint64_t i = 0; i < batches; ++i) {
      sum += model_.loss_by_parts(
          validation_[i], false, [&](const auto&...) { trial_.check_interrupt(); }, trial_);
    }
    return sum / static_cast<double>(batches);
  }

  /// `moments` are those of `batch`. Its gradients are in the model and are there again afterwards,
  /// for the optimizer.
  void measure(std::uint64_t t, const SequenceBatch<T>& batch, const Moments& moments) {
    add_ranks(model_, moments, MeasuredOn::training_batch, track_);
    track_.add(validation_loss, validation(validation_batches));
    if (has(run_.one_step_at, t)) one_step(t, batch, moments);
    if (!has(run_.probed, t)) return;
    std::vector<arma::Mat<T>> kept;
    for (const Weight& weight : weights_) kept.push_back(weight.parameter->G);
    measure_probe();
    for (std::size_t i = 0; i < kept.size(); ++i) weights_[i].parameter->G = std::move(kept[i]);
  }

  void measure_probe() {
    Moments moments;
    std::vector<arma::Mat<T>> sums;
    for (const SequenceBatch<T>& batch : probe_) {
      gradients_of(batch, &moments);
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        const arma::Mat<T>& G = weights_[i].parameter->G;
        if (sums.size() == i) sums.emplace_back(arma::size(G), arma::fill::zeros);
        sums[i] += G;
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      weights_[i].parameter->G = sums[i] / static_cast<T>(probe_batches);
    add_ranks(model_, moments, MeasuredOn::held_out_text, track_);
  }

  void one_step(std::uint64_t t, const SequenceBatch<T>& batch, const Moments& moments) {
    const std::string stage = (static_cast<double>(t) < early_steps ? early : late).prefix;
    const SequenceBatch<T> other = windows(corpus_.training, independent_);
    const StepRatios ratios = step_ratios(model_, batch, other, moments, trial_);
    const auto append = [&](const char* name, const std::vector<double>& values) {
      for (const double value : values) track_.add(stage + name, value);
    };
    append(predicted_ratio, ratios.predicted);
    append(curvature_ratio, ratios.by_curvature);
    append(batch_ratio, ratios.on_batch);
    append(independent_ratio, ratios.on_independent);
    append(joint_batch_ratio, {ratios.joint_on_batch});
    append(joint_independent_ratio, {ratios.joint_on_independent});
  }

  bool saves(std::uint64_t t) const { return contains(run_.config.steps_to_save(), t); }
  void save(std::uint64_t t, const Moments& moments) {
    if (!run_.config.save.empty())
      save_weights(model_, file_at(run_.config.save, t, run_.config.steps));
    if (!run_.config.record.empty()) save_recording(model_, moments, run_.config.record, t);
  }

  TrialRecord record() {
    track_.set(final_validation_loss, has_diverged_ ? undefined : validation(final_batches));
    track_.set(diverged, has_diverged_);
    count_violations();
    if (run_.follows_advice()) count_advised();
    return track_.take();
  }

  void count_advised() {
    for (const std::string& block : run_.blocks()) {
      double count = 0;
      for (std::size_t l = 0; l < run_.config.layers; ++l)
        count += advised_.contains(in_layer(l, block));
      track_.set(advised_of(block), count);
    }
  }

  void count_violations() {
    Tally before, from;
    for (std::size_t l = 0; l < run_.config.layers; ++l) {
      for (const std::string& block : run_.blocks()) {
        const std::vector<double>& ratio = track_.values(rank_ratio.of(in_layer(l, block)));
        for (std::size_t i = 0; i < ratio.size(); ++i) {
          if (std::isfinite(ratio[i]))
            (run_.measured[i] < early_steps ? before : from).count(ratio[i] < 1);
        }
      }
    }
    track_.set(early.violations, before.violations / before.cases);
    track_.set(late.violations, from.violations / from.cases);
  }

  const Run& run_;
  const Advised advised_;
  const Corpus& corpus_;
  const Trial& trial_;
  const bool writes_files_;
  SequenceModel<T> model_;
  const std::vector<Weight> weights_;  // of model_
  Trainer<T> trainer_;
  Stream batches_, independent_;
  std::vector<SequenceBatch<T>> validation_, probe_;
  Track track_;
  bool has_diverged_ = false;
};

/// The advice from a run of Adam with the learning rates of `run`.
template <class T>
Advised advised_by_adam(const Run& run, const Corpus& corpus, const Trial& trial) {
  Run adam = run;
  adam.optimizer = "adam";
  adam.config.spectral_on = {"hidden"};
  adam.measured.assign(watched_steps.begin(), watched_steps.end());
  adam.probed.clear();
  adam.one_step_at.clear();
  adam.config.save.clear();
  adam.config.record.clear();
  return Training<T>(adam, {}, corpus, trial).advised_at(watched_steps.back());
}

template <class T>
TrialRecord train(const Run& run, const Corpus& corpus, const Trial& trial) {
  const Advised advised = run.follows_advice() ? advised_by_adam<T>(run, corpus, trial) : Advised{};
  return Training<T>(run, advised, corpus, trial).train();
}

/// Floating-point operations of one run in one trial, for a vocabulary of this size.
double run_flops(const Run& run, std::uint64_t vocabulary) {
  const SequenceShape shape = run.shape(vocabulary);
  const double N = static_cast<double>(run.config.batch * run.config.context),
               d = static_cast<double>(shape.dim), layers = static_cast<double>(shape.layers),
               hidden = static_cast<double>(shape.hidden), maps = shape.activation->gated ? 3 : 2,
               steps = static_cast<double>(run.config.steps),
               measured = static_cast<double>(run.measured.size()),
               probed = static_cast<double>(run.probed.size()), numbers = gpt_parameters(shape),
               forward = sequence_flops(shape, N, N), gram = 16 * N * layers * d * hidden,
               one_step = static_cast<double>(run.one_step_at.size()) * 28 * (6 * layers + 3) *
                          0.6 * forward;
  const double first = run.follows_advice() ? static_cast<double>(watched_steps.back()) : 0,
               ranks = measured +
                       (run.follows_advice() ? static_cast<double>(watched_steps.size()) : 0);
  const double update =
      layers * (4 * step_flops(run.rule(), d, d) + maps * step_flops(run.rule(), hidden, d));
  return first * 3 * forward + steps * (3 * forward + update) +
         ranks * (4 * forward + gram + 20 * numbers * d) + probed * 8 * (3 * forward + gram) +
         one_step;
}

}  // namespace

TrialRecord run_trial(const Plan& plan, const Corpus& corpus, const Trial& trial) {
  std::uint64_t steps = 0;
  std::vector<double> costs;
  for (const Run& run : plan.runs) {
    steps += run.config.steps + (run.follows_advice() ? watched_steps.back() : 0);
    costs.push_back(run_flops(run, corpus.vocabulary));
  }
  trial.expect(steps, "step");
  std::vector<TrialRecord> records(plan.runs.size());
  trial.for_each_part(costs, [&](std::size_t i) {
    records[i] = plan.config().single_precision() ? train<float>(plan.runs[i], corpus, trial)
                                                  : train<double>(plan.runs[i], corpus, trial);
  });
  TrialRecord out;
  for (std::size_t i = 0; i < records.size(); ++i) out.insert(records[i], plan.runs[i].key(""));
  out.set(indicator, records.front().array(indicator));
  return out;
}

}  // namespace ranklab::gpt
