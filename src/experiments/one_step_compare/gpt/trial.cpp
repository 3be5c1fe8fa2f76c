// One trial: every run on the same batches.
#include <cmath>

#include "experiments/one_step_compare/gpt/claims.hpp"
#include "experiments/one_step_compare/gpt/heads.hpp"
#include "experiments/one_step_compare/gpt/measure.hpp"
#include "nn/saved_weights.hpp"
#include "nn/trainer.hpp"

namespace ranklab::gpt {
namespace {

// Batches of held-out text: for the validation loss during training, and for the ranks at probed
// steps.
constexpr std::uint64_t validation_batches = 4, probe_batches = 8;

bool has(const std::vector<double>& steps, std::uint64_t t) {
  return contains(steps, static_cast<double>(t));
}

/// Whether the second moment (out, out) of the gradients in a weight's outputs is stored. It is not
/// for tables, and for outputs so many that it would dwarf the weight.
bool keeps_error_moment(WeightRole role, std::uint64_t outputs, std::uint64_t inputs) {
  return (role == WeightRole::in_layer || role == WeightRole::head) && outputs <= 8192 &&
         outputs <= 8 * inputs;
}

/// Names of the matrices inside layers that meet the criterion.
using Chosen = std::set<std::string>;

/// One run of one trial, from the initial weights to the last measurement.
template <class T>
class Training {
 public:
  Training(const Run& run, const Chosen& chosen, const Corpus& corpus, const Trial& trial)
      : run_(run),
        chosen_(chosen),
        corpus_(corpus),
        trial_(trial),
        writes_files_(trial.index() == 0 && run.is_first() &&
                      !(run.config.save.empty() && run.config.recordings.empty())),
        model_(run.shape(corpus.vocabulary),
               gpt_initial_weights(run.config.init, run.shape(corpus.vocabulary), trial)),
        weights_(gpt_weights(model_)),
        trainer_(model_, trained(run, chosen, weights_)),
        batches_(trial.stream("batches")),
        independent_(trial.stream("independent")),
        track_(columns_of(run)) {
    if (run.config.measure_heads) heads_.emplace(weights_, run.config.heads);
    Stream validation = trial.stream("validation");
    for (std::uint64_t i = 0; i < validation_batches; ++i)
      validation_.push_back(windows(corpus.validation, validation));
    Stream probes = trial.stream("probe");
    for (std::uint64_t i = 0; i < probe_batches; ++i)
      probe_.push_back(windows(corpus.validation, probes));
  }

  TrialRecord train() {
    train_until(run_.config.steps);
    return record();
  }

  /// Trains up to the last of watched_steps.
  Chosen chosen_by_criterion() {
    train_until(watched_steps.back());
    Chosen out;
    for (const Weight& weight : weights_) {
      const std::string& name = weight.parameter->name;
      if (weight.role == WeightRole::in_layer && mean_log(track_.values(rank_ratio.of(name))) >= 0)
        out.insert(name);
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
      if (t == scale_step && run_.config.muon_scale == measured_scale) measure_scales(batch, loss);
      if (heads_) heads_->before_step();
      trainer_.step(trapezoid(t, run_.config.steps), trial_);
      if (heads_ && measured) heads_->add_to(track_);
      trial_.advance();
    }
  }

  SequenceBatch<T> windows(const std::vector<std::uint32_t>& tokens, Stream& stream) const {
    return next_token_batch<T>(
        draw_windows(tokens, run_.config.batch, run_.config.context, stream));
  }

  static std::vector<typename Trainer<T>::Trained> trained(const Run& run, const Chosen& chosen,
                                                           const std::vector<Weight>& weights) {
    std::vector<typename Trainer<T>::Trained> out;
    for (const auto& [parameter, role, l, block] : weights) {
      const Update update = run.update_of(role, block, chosen.contains(parameter->name));
      if (update.fused && block != "Wq") {  // follows Wq of its layer
        out.back().stacked.push_back(parameter);
        continue;
      }
      double rate = update.rate;
      if (takes_scale(update.rule)) {
        const arma::uword stacked = update.fused ? 3 : 1,
                          m = stacked * (parameter->W.n_rows / update.cut.rows),
                          n = parameter->W.n_cols / update.cut.columns;
        rate *= scale_over_original(run.config.muon_scale, static_cast<double>(m),
                                    static_cast<double>(n));
      }
      out.push_back({{parameter}, {.rule = update.rule, .cut = update.cut}, rate});
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
    return has(run_.one_step_at, t) ||
           (writes_files_ && !run_.config.recordings.empty() && saves(t));
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

  double loss_of(const SequenceBatch<T>& batch) {
    return model_.loss_by_pieces(
        batch, false, [&](const auto&...) { trial_.check_interrupt(); }, trial_);
  }

  double loss_on_batches() {
    double sum = 0;
    for (const SequenceBatch<T>& batch : validation_) sum += loss_of(batch);
    return sum / static_cast<double>(validation_.size());
  }

  /// The mean loss over the whole held-out text, cut into windows of `context` tokens one after the
  /// other; a rest that fills no window is left out.
  double held_out_loss() {
    const std::vector<std::uint32_t>& tokens = corpus_.validation;
    const std::size_t context = run_.config.context, windows = (tokens.size() - 1) / context;
    double sum = 0;
    for (std::size_t first = 0; first < windows; first += run_.config.batch) {
      const std::size_t count = std::min<std::size_t>(run_.config.batch, windows - first);
      const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first * context),
                 end = begin + static_cast<std::ptrdiff_t>(count * context);
      sum += static_cast<double>(count) *
             loss_of(next_token_batch<T>({{begin, end}, {begin + 1, end + 1}}));
    }
    return sum / static_cast<double>(windows);
  }

  /// Multiplies the rates of the matrices inside layers that take spectral steps by their best
  /// lengths along the polar factor on this batch, over the geometric mean of these. A matrix along
  /// which no length lowers the loss keeps its rate.
  void measure_scales(const SequenceBatch<T>& batch, double loss) {
    std::vector<double> logs(weights_.size(), undefined);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const Weight& weight = weights_[i];
      if (weight.role != WeightRole::in_layer ||
          !run_.updates(weight.role, weight.block, chosen_.contains(weight.parameter->name)))
        continue;
      logs[i] = std::log(best_polar_step(*weight.parameter, loss, [&] { return loss_of(batch); }));
    }
    const double mean = mean_of_finite(logs);
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (std::isfinite(logs[i])) trainer_.scale_rate(i, std::exp(logs[i] - mean));
    }
  }

  /// `moments` are those of `batch`. Its gradients are in the model and are there again afterwards,
  /// for the optimizer.
  void measure(std::uint64_t t, const SequenceBatch<T>& batch, const Moments& moments) {
    add_ranks(model_, moments, MeasuredOn::training_batch, track_);
    track_.add(validation_loss, loss_on_batches());
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
    const At stage = (static_cast<double>(t) < early_steps ? early : late).at();
    const SequenceBatch<T> other = windows(corpus_.training, independent_);
    const StepRatios ratios = step_ratios(model_, batch, other, moments, trial_);
    const auto append = [&](const Measure& name, const std::vector<double>& values) {
      for (const double value : values) track_.add(stage / name, value);
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
    if (!run_.config.recordings.empty()) save_recording(model_, moments, run_.config.recordings, t);
  }

  TrialRecord record() {
    track_.set(final_validation_loss, has_diverged_ ? undefined : held_out_loss());
    track_.set(diverged, has_diverged_);
    count_violations();
    if (run_.config.has_facts()) {
      track_.set(frequent_loss, has_diverged_ ? undefined : loss_at_objects(corpus_.frequent));
      track_.set(rare_loss, has_diverged_ ? undefined : loss_at_objects(corpus_.rare));
    }
    if (run_.follows_criterion()) count_chosen();
    return track_.take();
  }

  /// The mean loss at the objects of statements.
  double loss_at_objects(const std::vector<std::uint32_t>& tokens) {
    SequenceBatch<T> batch;
    const std::size_t length = run_.config.context;
    // Whole sequences. The statements repeat to fill the last one, whose repetitions do not count.
    for (std::size_t i = 0; i < tokens.size() || i % length != 0; ++i) {
      batch.ids.push_back(tokens[i % tokens.size()]);
      if (i + 1 >= tokens.size() || tokens[i + 1] < corpus_.first_object) continue;
      batch.labeled.push_back(i);
      batch.targets.push_back(tokens[i + 1]);
    }
    return loss_of(batch);
  }

  void count_chosen() {
    for (const std::string& block : run_.blocks()) {
      double count = 0;
      for (std::size_t l = 0; l < run_.config.layers; ++l)
        count += chosen_.contains(in_layer(l, block));
      track_.set(criterion_met_by(block), count);
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
  const Chosen chosen_;
  const Corpus& corpus_;
  const Trial& trial_;
  const bool writes_files_;
  SequenceModel<T> model_;
  const std::vector<Weight> weights_;  // of model_
  Trainer<T> trainer_;
  Stream batches_, independent_;
  std::optional<HeadObserver<T>> heads_;
  std::vector<SequenceBatch<T>> validation_, probe_;
  Track track_;
  bool has_diverged_ = false;
};

/// What meets the criterion in a run of Adam with the learning rates of `run`.
template <class T>
Chosen chosen_along_adam(const Run& run, const Corpus& corpus, const Trial& trial) {
  Run adam = run;
  adam.optimizer = "adam";
  adam.config.spectral_on = {"hidden"};
  adam.measured.assign(watched_steps.begin(), watched_steps.end());
  adam.probed.clear();
  adam.one_step_at.clear();
  adam.config.measure_heads = false;
  adam.config.save.clear();
  adam.config.recordings.clear();
  return Training<T>(adam, {}, corpus, trial).chosen_by_criterion();
}

template <class T>
TrialRecord train(const Run& run, const Corpus& corpus, const Trial& trial) {
  const Chosen chosen =
      run.follows_criterion() ? chosen_along_adam<T>(run, corpus, trial) : Chosen{};
  return Training<T>(run, chosen, corpus, trial).train();
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
  const double first = run.follows_criterion() ? static_cast<double>(watched_steps.back()) : 0,
               ranks = measured +
                       (run.follows_criterion() ? static_cast<double>(watched_steps.size()) : 0);
  const double update =
      layers * (4 * step_flops(run.rule(), d, d) + maps * step_flops(run.rule(), hidden, d));
  return first * 3 * forward + steps * (3 * forward + update) +
         ranks * (4 * forward + gram + 20 * numbers * d) + probed * 8 * (3 * forward + gram) +
         one_step;
}

}  // namespace

TrialRecord run_trial(const Plan& plan, const Corpus& corpus, const Trial& trial) {
  std::uint64_t steps = 0;
  for (const Run& run : plan.runs)
    steps += run.config.steps + (run.follows_criterion() ? watched_steps.back() : 0);
  trial.expect(steps, "step");
  TrialRecord out = grid::train_each(
      plan.runs, trial, [&](const Run& run) { return run_flops(run, corpus.vocabulary); },
      [&](const Run& run) {
        return plan.config().single_precision() ? train<float>(run, corpus, trial)
                                                : train<double>(run, corpus, trial);
      });
  out.set(indicator, out.array(plan.runs.front().key(indicator)));
  return out;
}

}  // namespace ranklab::gpt
