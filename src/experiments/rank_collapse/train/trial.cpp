#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "experiments/rank_collapse/train/train.hpp"
#include "io/atomic_file.hpp"
#include "linalg/similarity.hpp"
#include "training/norm.hpp"
#include "training/optimiser.hpp"
#include "training/tensors_to_write.hpp"

namespace ranklab::train {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
// A loss beyond this is divergence: guessing costs the logarithm of the number of answers, 10 nats at most.
constexpr double largest_loss = 100;
constexpr double largest_gradient = 1.0;  // to which the norm of all gradients is clipped
constexpr double beta_2 = 0.999;
// Held-out answers looked at on the way; all of them at the end.
constexpr std::uint64_t cases_on_the_way = 256;

template <class T>
double right_answers(const arma::Mat<T>& logits, const std::vector<std::uint32_t>& targets) {
  double right = 0;
  for (arma::uword i = 0; i < logits.n_cols; ++i) right += logits.col(i).index_max() == targets[i] ? 1 : 0;
  return right;
}

/// One curve of one trial, from the start of its weights to the last measurement.
template <class T>
class Training {
 public:
  Training(const Plan& plan, const Curve& curve, const Task& task, const Trial& trial)
      : plan_(plan),
        curve_(curve),
        task_(task),
        trial_(trial),
        initial_(curve.init == "small" ? WeightLaw::small : WeightLaw::fan, trial),
        model_(shape_of(plan, curve, task), initial_),
        batches_(trial.stream("batches")),
        held_out_(task.held_out<T>(trial)) {
    for (const Parameter<T>* parameter : model_.parameters()) {
      optimisers_.push_back(Optimiser<T>({.beta_2 = beta_2, .decay = parameter->decays ? plan.config.weight_decay : 0.0}));
    }
  }

  TrialRecord train() {
    measure("start.");
    const std::uint64_t steps = curve_.steps;
    std::vector<double> losses(steps, undefined);
    double first_90 = undefined;
    for (std::uint64_t t = 0; t < steps && finite_; ++t) {
      answer_on_the_way(t);
      const double answered = gradients(losses[t]);
      if (std::isnan(first_90) && answered >= 0.9) first_90 = static_cast<double>(t);
      if (!finite_) break;
      if (t == 0) measure_gradients("start.");
      if (t == steps / 8) measure_gradients("eighth.");
      step(t);
    }
    answer_on_the_way(steps);
    if (finite_) {
      double loss = 0;
      gradients(loss);
      if (finite_) measure_gradients("end.");
    }
    measure("end.");
    return record(losses, first_90);
  }

 private:
  /// The gradients of a new batch; the share of it that is answered rightly. A loss that is not finite ends the run.
  double gradients(double& loss) {
    trial_.check_interrupt();
    const SequenceBatch<T> batch = task_.draw<T>(batches_);
    model_.forward(batch);
    const double right = right_answers(model_.logits(), batch.targets) / static_cast<double>(batch.targets.size());
    loss = model_.loss(batch, true);
    finite_ = loss < largest_loss;
    if (!finite_) {
      loss = undefined;
      return right;
    }
    trial_.show("loss", loss);
    model_.backward(batch);
    return right;
  }

  void step(std::uint64_t t) {
    clip_gradients(model_.parameters(), largest_gradient);
    const double lr = curve_.lr * warm_cosine(t, curve_.steps, curve_.warmup);
    for (std::size_t i = 0; i < optimisers_.size(); ++i) {
      Parameter<T>& parameter = *model_.parameters()[i];
      optimisers_[i].step(parameter, lr * parameter.rate);
    }
    trial_.advance();
  }

  // Measurements -----------------------------------------------------------------------------------------------------------------

  struct Answers {
    double loss = 0, right = 0, cases = 0;
  };

  Answers answers(std::uint64_t at_least) {
    Answers out;
    for (const SequenceBatch<T>& batch : held_out_) {
      if (out.cases >= static_cast<double>(at_least)) break;
      trial_.check_interrupt();
      model_.forward(batch);
      const double n = static_cast<double>(batch.targets.size());
      out.right += right_answers(model_.logits(), batch.targets);
      out.loss += n * model_.loss(batch, false);
      out.cases += n;
    }
    return out;
  }

  /// At the start and after each tenth of the steps.
  void answer_on_the_way(std::uint64_t t) {
    std::vector<double>& of = series_[accuracy];
    const auto due = [&] { return of.size() <= tenths && t >= of.size() * curve_.steps / tenths; };
    if (!due()) return;
    const Answers now = answers(t == curve_.steps ? std::numeric_limits<std::uint64_t>::max() : cases_on_the_way);
    while (due()) of.push_back(finite_ ? now.right / now.cases : undefined);
    if (t < curve_.steps || !finite_) return;
    scalars_[final_test_loss] = now.loss / now.cases;
    scalars_[final_accuracy] = now.right / now.cases;
  }

  void measure_gradients(const std::string& when) {
    for (std::uint64_t l = 0; l < curve_.layers; ++l) {
      series_[when + block_gradient].push_back(gradient_norm(model_.of_block(l)));
      if (when == "start.") series_[when + mixer_gradient].push_back(gradient_norm(model_.of_mixer(l)));
    }
  }

  /// What becomes of the tokens of the first held-out batch. In double: in float the distance between equal tokens is 2e-7.
  void measure(const std::string& when) {
    const std::vector<const char*> names = {mu_normalized, token_similarity, dispersion};
    if (!finite_) return;
    SequenceModel<double> model(model_.shape(), initial_);
    model.take_weights(model_);
    const SequenceBatch<double> batch = task_.held_out<double>(trial_).front();
    model.forward(batch);
    for (std::uint64_t l = 0; l <= curve_.layers; ++l) {
      const Tokens tokens = measured(model.stream(l));
      series_[when + mu_normalized].push_back(tokens.mu);
      series_[when + token_similarity].push_back(tokens.similarity);
      series_[when + dispersion].push_back(tokens.dispersion);
    }
  }

  struct Tokens {
    double mu = 0, similarity = 0, dispersion = 0;
  };

  /// Means over the sequences of R (d, N), and how much these differ from each other once their tokens are averaged.
  Tokens measured(const arma::mat& R) const {
    const arma::uword length = model_.shape().length, sequences = R.n_cols / length;
    Tokens out;
    NormPass<double> normed;
    normalise(Norm::layer, 1e-5, R, normed);
    arma::mat v(R.n_rows, sequences);
    for (arma::uword b = 0; b < sequences; ++b) {
      const arma::span of(b * length, (b + 1) * length - 1);
      const TokenParts parts = token_parts<double>(R.cols(of.a, of.b));
      out.mu += std::sqrt(parts.diversity()) / static_cast<double>(sequences);
      out.similarity += parts.similarity() / static_cast<double>(sequences);
      v.col(b) = arma::mean(normed.A.cols(of.a, of.b), 1);
    }
    out.dispersion = std::sqrt(token_parts(v).diversity());
    return out;
  }

  TrialRecord record(const std::vector<double>& losses, double first_90) {
    TrialRecord out;
    std::vector<double>& of_tenths = series_[train_loss];
    for (std::size_t i = 0; i < tenths; ++i) {
      // At least one step, of runs shorter than ten.
      const std::size_t begin = i * losses.size() / tenths, end = std::max((i + 1) * losses.size() / tenths, begin + 1);
      double sum = 0;
      for (std::size_t t = begin; t < end; ++t) sum += losses[t];
      of_tenths.push_back(sum / static_cast<double>(end - begin));
    }
    scalars_[final_train_loss] = of_tenths.back();
    scalars_[diverged] = finite_ ? 0 : 1;
    scalars_[steps_to_90] = first_90;
    if (curve_.learns) {
      for (std::uint64_t l = 0; l < curve_.layers; ++l) scalars_[learned_lambda + std::to_string(l + 1)] = model_.lambda(l);
    }
    // What comes after a divergence is undefined.
    const auto fill = [&](const std::string& name, std::size_t points) { series_[name].resize(points, undefined); };
    fill(accuracy, tenths + 1);
    for (const char* when : {"start.", "end."}) {
      for (const char* name : {mu_normalized, token_similarity, dispersion}) fill(std::string(when) + name, curve_.layers + 1);
    }
    for (const char* when : {"start.", "eighth.", "end."}) fill(std::string(when) + block_gradient, curve_.layers);
    fill(std::string("start.") + mixer_gradient, curve_.layers);
    for (const char* name : {final_test_loss, final_accuracy}) scalars_.try_emplace(name, undefined);
    for (const auto& [name, value] : scalars_) out.set(name, value);
    for (auto& [name, values] : series_) out.set(name, std::move(values));
    if (trial_.index() == 0 && !plan_.config.save.empty()) save_weights(model_, weights_file(plan_, curve_));
    return out;
  }

  const Plan& plan_;
  const Curve& curve_;
  const Task& task_;
  const Trial& trial_;
  const InitialWeights initial_;
  SequenceModel<T> model_;
  Stream batches_;
  std::vector<SequenceBatch<T>> held_out_;
  std::vector<Optimiser<T>> optimisers_;
  bool finite_ = true;
  std::map<std::string, double> scalars_;
  std::map<std::string, std::vector<double>> series_;
};

}  // namespace

TrialRecord run_trial(const Plan& plan, const Task& task, bool single_precision, const Trial& trial) {
  std::uint64_t steps = 0;
  for (const Curve& curve : plan.curves) steps += curve.steps;
  trial.expect(steps, "step");
  std::vector<TrialRecord> records(plan.curves.size());
  trial.for_each_part(plan.curves.size(), [&](std::size_t i) {
    records[i] = single_precision ? Training<float>(plan, plan.curves[i], task, trial).train()
                                  : Training<double>(plan, plan.curves[i], task, trial).train();
  });
  if (trial.index() == 0 && task.is_text() && !plan.config.save.empty()) {
    write_file_atomically(beside(plan.config.save, ".tokens.txt"), task.windows_text(trial));
  }
  TrialRecord out;
  for (std::size_t i = 0; i < records.size(); ++i) out.insert(records[i], plan.curves[i].name + ".");
  return out;
}

}  // namespace ranklab::train
