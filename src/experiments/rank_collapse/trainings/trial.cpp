#include <limits>
#include <map>

#include "experiments/rank_collapse/trainings/train.hpp"
#include "io/atomic_file.hpp"
#include "linalg/similarity.hpp"
#include "nn/layers/cross_entropy.hpp"
#include "nn/layers/norm.hpp"
#include "nn/optimizer.hpp"
#include "nn/saved_weights.hpp"
#include "nn/tensors_to_write.hpp"
#include "nn/trainer.hpp"

namespace ranklab::train {

// What is recorded --------------------------------------------------------------------------------

namespace {

/// At a moment, over representations and over blocks.
std::vector<Measure> over_representations(const Config& config, const std::string& moment) {
  const bool at_an_end = moment == "start" || moment == "end";
  if (!config.compares_variants())
    return at_an_end ? std::vector<Measure>{mu_normalized, token_similarity, dispersion}
                     : std::vector<Measure>{};
  return at_an_end ? std::vector<Measure>{mu_normalized, token_similarity, cosine, rms}
                   : std::vector<Measure>{token_similarity, cosine, rms};
}

std::vector<Measure> over_blocks(const Config& config, const std::string& moment) {
  if (config.compares_variants()) return {block_gradient, branch_ratio};
  if (moment == "half") return {};
  if (moment == "start") return {block_gradient, mixer_gradient};
  return {block_gradient};
}

bool looks_ahead(const Config& config) {
  return config.compares_variants() && config.is_text();
}

}  // namespace

std::vector<Column> columns_of(const Config& config, const Run& run) {
  const std::vector<double> blocks = run.layers_from(1);
  std::vector<Column> out = {{train_loss, "step", run.tenths_from(1)},
                             {accuracy, "step", run.tenths_from(0)}};
  for (const std::string& moment : moments) {
    for (const Measure& name : over_representations(config, moment))
      out.push_back({at_moment(moment, name), "layer", run.layers_from(0)});
    for (const Measure& name : over_blocks(config, moment))
      out.push_back({at_moment(moment, name), "block", blocks});
  }
  if (config.compares_variants()) out.push_back({test_loss, "step", run.tenths_from(0)});
  if (looks_ahead(config)) {
    for (const Measure& name : {future_loss, future_excess, future_gradient}) out.push_back({name});
  }
  for (const Measure& name :
       {final_train_loss, final_test_loss, final_accuracy, steps_to_90, diverged})
    out.push_back({name});
  if (run.removal.learned) out.push_back({learned_tau, "block", blocks});
  for (std::uint64_t block = 1; run.skip.learned && block <= run.layers; ++block)
    out.push_back({learned_lambda_of(block)});
  return out;
}

namespace {

// Look-ahead: how much the prediction of a language model depends on tokens after the predicting
// one. A causal model must not depend on them.

constexpr std::size_t probed_batches = 8;
constexpr int probes = 2;  // per batch, to estimate ||d logits_t / d R_0||^2

using Columns = std::vector<arma::uword>;  // one token per sequence

/// One token per sequence, spread over all positions except the last, which no token follows.
Columns probed_tokens(arma::uword tokens, arma::uword length) {
  const arma::uword sequences = tokens / length;
  Columns probed;
  for (arma::uword b = 0; b < sequences; ++b)
    probed.push_back(b * length + (b * (length - 1)) / sequences);
  return probed;
}

/// Calls each(n) for every token n after t in the same sequence.
template <class Each>
void for_each_later(arma::uword t, arma::uword length, const Each& each) {
  for (arma::uword n = t + 1; n % length != 0; ++n) each(n);
}

double loss_at(SequenceModel<double>& model, const SequenceBatch<double>& batch,
               const Columns& probed) {
  model.forward(batch);
  arma::mat logits = model.logits().cols(arma::uvec(probed));
  std::vector<std::uint32_t> targets;
  for (const arma::uword t : probed) targets.push_back(batch.targets[t]);
  return cross_entropy(logits, targets, false);
}

/// The share of ||d logits_t / d R_0||_F^2 on tokens after t, estimated by E||J'z||^2 = ||J||_F^2
/// for random signs z.
double later_share(SequenceModel<double>& model, const SequenceBatch<double>& batch,
                   const Columns& probed, Stream& stream) {
  double later = 0, all = 0;
  model.forward(batch);
  for (int probe = 0; probe < probes; ++probe) {
    arma::mat signs(model.shape().vocabulary, batch.ids.size(), arma::fill::zeros);
    for (const arma::uword t : probed) {
      for (double& sign : signs.unsafe_col(t)) sign = stream.uniform() < 0.5 ? -1 : 1;
    }
    model.set_logit_gradient(signs);
    model.backward(batch);
    const arma::rowvec squares = arma::sum(arma::square(model.input_gradient()), 0);
    all += arma::accu(squares);
    for (const arma::uword t : probed)
      for_each_later(t, model.shape().length, [&](arma::uword n) { later += squares[n]; });
  }
  return later / all;
}

/// For one language model: the loss of some held-out tokens whose successors are replaced by those
/// of the next batch (of at least two), its excess over the loss with the true successors, and the
/// share of ||d logits_t / d R_0||_F^2 on tokens after t.
struct LookAhead {
  double loss = 0, excess = 0, gradient_share = 0;
};

LookAhead look_ahead(SequenceModel<double>& model, std::vector<SequenceBatch<double>> batches,
                     const Trial& trial) {
  if (batches.size() > probed_batches) batches.resize(probed_batches);
  const arma::uword length = model.shape().length;
  const double share = 1 / static_cast<double>(batches.size());
  Stream signs = trial.stream("probes");
  LookAhead out;
  double with_true_future = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    SequenceBatch<double> batch = batches[i];
    const Columns probed = probed_tokens(batch.ids.size(), length);
    out.gradient_share += share * later_share(model, batch, probed, signs);
    with_true_future += share * loss_at(model, batch, probed);
    // Replace later tokens by those of another batch, which are as likely as the true ones. Random
    // ids would be inputs unlike any training text.
    const std::vector<std::uint32_t>& other = batches[(i + 1) % batches.size()].ids;
    for (const arma::uword t : probed)
      for_each_later(t, length, [&](arma::uword n) { batch.ids[n] = other[n]; });
    out.loss += share * loss_at(model, batch, probed);
  }
  out.excess = out.loss - with_true_future;
  return out;
}

// Training ----------------------------------------------------------------------------------------

constexpr double beta_2 = 0.999;

Initialization law_of(const std::string& start) {
  return start == "small"    ? Initialization::small
         : start == "alg1"   ? Initialization::alg1
         : start == "torch"  ? Initialization::torch
         : start == "normal" ? Initialization::normal
                             : Initialization::fan;
}

template <class T>
double correct_answers(const arma::Mat<T>& logits, const std::vector<std::uint32_t>& targets) {
  double right = 0;
  for (arma::uword i = 0; i < logits.n_cols; ++i)
    right += logits.col(i).index_max() == targets[i] ? 1 : 0;
  return right;
}

/// One run in one trial, from its initial weights to the last measurement.
template <class T>
class Training {
 public:
  Training(const Config& config, const Run& run, const Task& task, const Trial& trial)
      : config_(config),
        run_(run),
        task_(task),
        trial_(trial),
        initial_(law_of(run.init), trial, "",
                 std::sqrt(config.init_variance / static_cast<double>(config.dim))),
        model_(shape_of(config, run, task.shape()), initial_),
        trainer_(model_, trained(model_, config.weight_decay())),
        batches_(trial.stream("batches")),
        held_out_(task.held_out<T>(trial)),
        track_(columns_of(config, run)) {}

  TrialRecord train() {
    const std::uint64_t steps = run_.steps;
    const std::map<std::string, std::uint64_t> when = {
        {"start", 0}, {"eighth", steps / 8}, {"half", steps / 2}};
    std::vector<double> losses(steps, undefined);
    double first_90 = undefined;
    for (std::uint64_t t = 0; t < steps && finite_; ++t) {
      evaluate_held_out(t);
      for (const auto& [moment, at] : when) {
        if (t == at) measure(moment);
      }
      const double batch_accuracy = gradients(losses[t]);
      if (std::isnan(first_90) && batch_accuracy >= 0.9) first_90 = static_cast<double>(t);
      if (!finite_) break;
      for (const auto& [moment, at] : when) {
        if (t == at) measure_gradients(moment);
      }
      step(t);
    }
    evaluate_held_out(steps);
    if (finite_) {
      double loss = 0;
      gradients(loss);
      if (finite_) measure_gradients("end");
    }
    measure("end");
    if (finite_ && looks_ahead(config_)) {
      SequenceModel<double> model(model_.shape(), initial_.by(Initialization::zero));
      model.copy_weights(model_);
      const LookAhead ahead = look_ahead(model, task_.held_out<double>(trial_), trial_);
      track_.set(future_loss, ahead.loss);
      track_.set(future_excess, ahead.excess);
      track_.set(future_gradient, ahead.gradient_share);
    }
    return record(losses, first_90);
  }

 private:
  static std::vector<typename Trainer<T>::Trained> trained(const SequenceModel<T>& model,
                                                           double weight_decay) {
    std::vector<typename Trainer<T>::Trained> out;
    for (Parameter<T>* parameter : model.parameters()) {
      out.push_back({{parameter},
                     {.beta_2 = beta_2, .decay = parameter->decays ? weight_decay : 0.0},
                     parameter->rate});
    }
    return out;
  }

  /// Computes the gradients of a new batch and returns the accuracy on it. A loss that is not
  /// finite or too large ends the run.
  double gradients(double& loss) {
    trial_.check_interrupt();
    const SequenceBatch<T> batch = task_.draw<T>(batches_);
    double right = 0;
    loss = trainer_.gradients(
        batch,
        [&](const SequenceModel<T>& model, const SequenceBatch<T>& part, Turns& turns) {
          const double of_part = correct_answers(model.logits(), part.targets);
          turns.take([&] { right += of_part; });
        },
        trial_);
    finite_ = !std::isnan(loss);
    if (finite_) trial_.show("loss", loss);
    return right / static_cast<double>(batch.targets.size());
  }

  void step(std::uint64_t t) {
    if (config_.clip > 0) clip_gradients(model_.parameters(), config_.clip);
    const std::string& schedule = config_.schedule;
    const auto factor = schedule == "cosine"  ? warm_cosine
                        : schedule == "steps" ? stepped
                                              : quarter_cosine;
    trainer_.step(run_.lr * factor(t, run_.steps, run_.warmup), trial_);
    trial_.advance();
  }

  // Measurements ----------------------------------------------------------------------------------

  struct Evaluation {
    double loss = 0, right = 0, cases = 0;
  };

  Evaluation evaluate(std::uint64_t at_least) {
    Evaluation out;
    for (const SequenceBatch<T>& batch : held_out_) {
      if (out.cases >= static_cast<double>(at_least)) break;
      trial_.check_interrupt();
      const double n = static_cast<double>(batch.targets.size());
      out.loss +=
          n * model_.loss_by_pieces(
                  batch, false,
                  [&](const SequenceModel<T>& model, const SequenceBatch<T>& part, Turns& turns) {
                    const double right = correct_answers(model.logits(), part.targets);
                    turns.take([&] { out.right += right; });
                  },
                  trial_);
      out.cases += n;
    }
    return out;
  }

  /// Runs at the start and after each tenth of the steps.
  void evaluate_held_out(std::uint64_t t) {
    const auto due = [&] {
      const std::size_t done = track_.added(accuracy);
      return done <= tenths && t >= done * run_.steps / tenths;
    };
    if (!due()) return;
    const std::uint64_t interim_cases = config_.compares_variants() ? 128 : 256;
    const Evaluation now =
        evaluate(t == run_.steps ? std::numeric_limits<std::uint64_t>::max() : interim_cases);
    while (due()) {
      track_.add(accuracy, finite_ ? now.right / now.cases : undefined);
      if (config_.compares_variants())
        track_.add(test_loss, finite_ ? now.loss / now.cases : undefined);
    }
    if (t < run_.steps || !finite_) return;
    track_.set(final_test_loss, now.loss / now.cases);
    track_.set(final_accuracy, now.right / now.cases);
  }

  /// Whether these numbers of blocks are recorded at the moment.
  bool records(const std::string& moment, const Measure& number) const {
    return std::ranges::any_of(over_blocks(config_, moment), [&](const Measure& each) {
      return std::string(each) == std::string(number);
    });
  }

  void measure_gradients(const std::string& moment) {
    const auto add = [&](const Measure& number, const auto& parameters_of) {
      if (!records(moment, number)) return;
      for (std::uint64_t l = 0; l < run_.layers; ++l)
        track_.add(at_moment(moment, number), gradient_norm(parameters_of(l)));
    };
    add(block_gradient, [&](std::uint64_t l) { return model_.block_parameters(l); });
    add(mixer_gradient, [&](std::uint64_t l) { return model_.mixer_parameters(l); });
  }

  /// Measures the tokens of the first held-out batch. In double precision, because in float equal
  /// tokens differ by about 2e-7.
  void measure(const std::string& moment) {
    const std::vector<Measure> names = over_representations(config_, moment);
    if (!finite_ || names.empty()) return;
    SequenceModel<double> model(model_.shape(), initial_.by(Initialization::zero));
    model.copy_weights(model_);
    const SequenceBatch<double> batch = task_.held_out<double>(trial_).front();
    model.forward(batch);
    for (std::uint64_t l = 0; l <= run_.layers; ++l) {
      const std::map<std::string, double> tokens = measured(model.stream(l));
      for (const Measure& name : names) track_.add(at_moment(moment, name), tokens.at(name));
    }
    if (!records(moment, branch_ratio)) return;
    arma::mat A;
    for (std::uint64_t l = 0; l < run_.layers; ++l) {
      model.branch(l, model.stream(l), A);
      track_.add(at_moment(moment, branch_ratio),
                 arma::norm(A, "fro") / arma::norm(model.stream(l), "fro"));
    }
  }

  /// Means over the sequences of R (d, N), and the dispersion of the sequences' mean tokens.
  std::map<std::string, double> measured(const arma::mat& R) const {
    const arma::uword length = model_.shape().length, sequences = R.n_cols / length;
    std::map<std::string, double> out;
    NormPass<double> normed;
    normalize(Norm::layer, 1e-5, R, normed);
    arma::mat v(R.n_rows, sequences);
    for (arma::uword b = 0; b < sequences; ++b) {
      const arma::span of(b * length, (b + 1) * length - 1);
      const arma::mat tokens = R.cols(of.a, of.b);
      const TokenParts parts = token_parts(tokens);
      out[mu_normalized] += std::sqrt(parts.diversity()) / static_cast<double>(sequences);
      out[token_similarity] += parts.similarity() / static_cast<double>(sequences);
      out[cosine] += cosine_similarity(tokens) / static_cast<double>(sequences);
      v.col(b) = arma::mean(normed.A.cols(of.a, of.b), 1);
    }
    out[dispersion] = std::sqrt(token_parts(v).diversity());
    out[rms] = arma::norm(R, "fro") / std::sqrt(static_cast<double>(R.n_elem));
    return out;
  }

  TrialRecord record(const std::vector<double>& losses, double first_90) {
    for (std::size_t i = 0; i < tenths; ++i) {
      // At least one step, also in runs of fewer than ten steps.
      const std::size_t begin = i * losses.size() / tenths,
                        end = std::max((i + 1) * losses.size() / tenths, begin + 1);
      double sum = 0;
      for (std::size_t t = begin; t < end; ++t) sum += losses[t];
      track_.add(train_loss, sum / static_cast<double>(end - begin));
    }
    track_.set(final_train_loss, track_.values(train_loss).back());
    track_.set(diverged, finite_ ? 0 : 1);
    track_.set(steps_to_90, first_90);
    for (std::uint64_t l = 0; l < run_.layers; ++l) {
      if (run_.skip.learned) track_.set(learned_lambda_of(l + 1), model_.lambda(l));
      if (run_.removal.learned && finite_) track_.set(learned_tau, model_.tau(l), l);
    }
    if (!config_.save.empty()) save_weights(model_, config_.weights_file(run_, trial_.index()));
    return track_.take();
  }

  const Config& config_;
  const Run& run_;
  const Task& task_;
  const Trial& trial_;
  const InitialWeights initial_;
  SequenceModel<T> model_;
  Trainer<T> trainer_;
  Stream batches_;
  std::vector<SequenceBatch<T>> held_out_;
  bool finite_ = true;
  Track track_;
};

}  // namespace

TrialRecord run_trial(const Config& config, const std::vector<Run>& runs, const Task& task,
                      const Trial& trial) {
  std::uint64_t steps = 0;
  for (const Run& run : runs) steps += run.steps;
  trial.expect(steps, "step");
  TrialRecord out = grid::train_each(
      runs, trial, [&](const Run& run) { return training_flops(config, run, task.shape()); },
      [&](const Run& run) {
        return config.single_precision() ? Training<float>(config, run, task, trial).train()
                                         : Training<double>(config, run, task, trial).train();
      });
  if (trial.index() == 0 && config.is_text() && !config.save.empty())
    write_file_atomically(config.tokens_file(), task.windows_text(trial));
  return out;
}

}  // namespace ranklab::train
