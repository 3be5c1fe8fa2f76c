#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "experiments/rank_collapse/train/purpose.hpp"
#include "experiments/rank_collapse/train/train.hpp"
#include "io/atomic_file.hpp"
#include "linalg/similarity.hpp"
#include "nn/layers/norm.hpp"
#include "nn/optimizer.hpp"
#include "nn/saved_weights.hpp"
#include "nn/tensors_to_write.hpp"
#include "nn/trainer.hpp"

namespace ranklab::train {
namespace {

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

/// One curve in one trial, from its initial weights to the last measurement.
template <class T>
class Training {
 public:
  Training(const Plan& plan, const Curve& curve, const Task& task, const Trial& trial)
      : plan_(plan),
        purpose_(purpose_of(plan.config)),
        curve_(curve),
        task_(task),
        trial_(trial),
        initial_(law_of(curve.init), trial, "",
                 std::sqrt(plan.config.init_variance / static_cast<double>(plan.config.dim))),
        model_(shape_of(plan, curve, task.shape()), initial_),
        trainer_(model_, trained(model_, plan.config.weight_decay)),
        batches_(trial.stream("batches")),
        held_out_(task.held_out<T>(trial)),
        track_(columns_of(plan, task, curve)) {}

  TrialRecord train() {
    const std::uint64_t steps = curve_.steps;
    const std::map<std::string, std::uint64_t> when = {
        {"start.", 0}, {"eighth.", steps / 8}, {"half.", steps / 2}};
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
      if (finite_) measure_gradients("end.");
    }
    measure("end.");
    if (finite_ && purpose_.looks_ahead && task_.is_text()) {
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
      out.push_back({parameter,
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
    if (plan_.config.clip > 0) clip_gradients(model_.parameters(), plan_.config.clip);
    const std::string& schedule = plan_.config.schedule;
    const auto factor = schedule == "cosine"  ? warm_cosine
                        : schedule == "steps" ? stepped
                                              : quarter_cosine;
    trainer_.step(curve_.lr * factor(t, curve_.steps, curve_.warmup), trial_);
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
          n * model_.loss_by_parts(
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
      return done <= tenths && t >= done * curve_.steps / tenths;
    };
    if (!due()) return;
    const Evaluation now = evaluate(t == curve_.steps ? std::numeric_limits<std::uint64_t>::max()
                                                      : purpose_.interim_cases);
    while (due()) {
      track_.add(accuracy, finite_ ? now.right / now.cases : undefined);
      if (purpose_.follows_test_loss)
        track_.add(test_loss, finite_ ? now.loss / now.cases : undefined);
    }
    if (t < curve_.steps || !finite_) return;
    track_.set(final_test_loss, now.loss / now.cases);
    track_.set(final_accuracy, now.right / now.cases);
  }

  void measure_gradients(const std::string& when) {
    for (const std::string& name : purpose_.block_series(when)) {
      if (name == branch_ratio) continue;
      for (std::uint64_t l = 0; l < curve_.layers; ++l) {
        track_.add(when + name, gradient_norm(name == block_gradient ? model_.block_parameters(l)
                                                                     : model_.mixer_parameters(l)));
      }
    }
  }

  /// Measures the tokens of the first held-out batch. In double precision, because in float equal
  /// tokens differ by about 2e-7.
  void measure(const std::string& when) {
    const std::vector<std::string> names = purpose_.representation_series(when);
    if (!finite_ || names.empty()) return;
    SequenceModel<double> model(model_.shape(), initial_.by(Initialization::zero));
    model.copy_weights(model_);
    const SequenceBatch<double> batch = task_.held_out<double>(trial_).front();
    model.forward(batch);
    for (std::uint64_t l = 0; l <= curve_.layers; ++l) {
      const std::map<std::string, double> tokens = measured(model.stream(l));
      for (const std::string& name : names) track_.add(when + name, tokens.at(name));
    }
    const std::vector<std::string> of_blocks = purpose_.block_series(when);
    if (std::count(of_blocks.begin(), of_blocks.end(), branch_ratio) == 0) return;
    arma::mat A;
    for (std::uint64_t l = 0; l < curve_.layers; ++l) {
      model.branch(l, model.stream(l), A);
      track_.add(when + branch_ratio, arma::norm(A, "fro") / arma::norm(model.stream(l), "fro"));
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
    for (std::uint64_t l = 0; l < curve_.layers; ++l) {
      if (curve_.learns) track_.set(learned_lambda_of(l + 1), model_.lambda(l));
      if (curve_.learns_tau && finite_) track_.set(learned_tau, model_.tau(l), l);
    }
    if (!plan_.config.save.empty())
      save_weights(model_, weights_file(plan_, curve_, trial_.index()));
    return track_.take();
  }

  const Plan& plan_;
  const Purpose& purpose_;
  const Curve& curve_;
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

TrialRecord run_trial(const Plan& plan, const Task& task, const Trial& trial) {
  std::uint64_t steps = 0;
  std::vector<double> costs;
  for (const Curve& curve : plan.curves) {
    steps += curve.steps;
    costs.push_back(training_flops(plan, curve, task.shape()));
  }
  trial.expect(steps, "step");
  std::vector<TrialRecord> records(plan.curves.size());
  trial.for_each_part(costs, [&](std::size_t i) {
    const Curve& curve = plan.curves[i];
    records[i] = plan.config.single_precision()
                     ? Training<float>(plan, curve, task, trial).train()
                     : Training<double>(plan, curve, task, trial).train();
  });
  if (trial.index() == 0 && task.is_text() && !plan.config.save.empty()) {
    write_file_atomically(tokens_file(plan.config), task.windows_text(trial));
  }
  TrialRecord out;
  for (std::size_t i = 0; i < records.size(); ++i)
    out.insert(records[i], plan.curves[i].name + ".");
  return out;
}

}  // namespace ranklab::train
