// The study train inside: its curves, what each of them records, and the way from there to the result.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/rank_collapse/train/config.hpp"
#include "experiments/rank_collapse/train/task.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"
#include "training/sequence_model.hpp"

namespace ranklab::train {

/// One model, trained once in each trial. All curves of a trial see the same batches.
struct Curve {
  std::string name;     // of its series: "attention,lambda=0,L=8"
  std::string group;    // that without its lambda: curves of a group differ in lambda alone
  std::string setting;  // what tells it from the other curves of its variant, but depth, rates and means: "init=torch"
  std::string model, variant, init, where, mean;
  bool learns = false;
  double lambda = 1;       // where it is learned, its start
  double lambda_rate = 0;  // learning rate of a learned lambda over that of the weights
  std::uint64_t layers = 2, hidden = 64, steps = 300, warmup = 30;
  Norm norm = Norm::layer;
  double lr = 1e-3;

  bool is(const Curve& other_of_group, double its_lambda) const {
    return group == other_of_group.group && !learns && lambda == its_lambda;
  }
};

inline constexpr double collapsed = 1e-3;  // mu / ||R|| below it: the tokens are equal

struct Plan {
  TrainConfig config;
  std::vector<Curve> curves;

  /// Of the group of `curve`: the one with this fixed lambda, or the first that learns it; null where it is not run.
  const Curve* with_lambda(const Curve& curve, double lambda) const;
  const Curve* learned(const Curve& curve) const;
  /// The first curve of each group.
  std::vector<const Curve*> groups() const;
};

// plan.cpp

/// What the specification of a task says where the config does not.
void settle_by_task(TrainConfig& config);

/// Throws UsageError that names the flag.
Plan plan_of(const TrainConfig& config);

/// Allowed words.
extern const std::vector<std::string> starts, variants, means;

/// What mixes the tokens of a trained model.
struct MixerRow {
  std::string model;  // its word
  MixerKind kind;
  bool always_causal;                                  // a token sees none behind it, whatever the task
  enum class Recall { unsaid, solves, fails } recall;  // what [LambdaSkip] Table 1 says of it
};
const MixerRow& mixer_of(const std::string& model);
std::vector<std::string> model_words();
/// What a curve makes of the task's shape, or of the one that is expected before its files are read.
SequenceShape shape_of(const Plan& plan, const Curve& curve, SequenceShape of_task);
/// What a curve costs in one trial.
double training_flops(const Plan& plan, const Curve& curve, const SequenceShape& of_task);
double training_bytes(const Plan& plan, const Curve& curve, const SequenceShape& of_task);

// What a curve records, behind its name and a dot --------------------------------------------------------------------------------

// Over steps: means over each tenth of the run; shares of right answers on held-out cases before the run and after each tenth;
// where variants are compared, the loss of these.
inline constexpr char train_loss[] = "train_loss", accuracy[] = "accuracy", test_loss[] = "test_loss";
inline constexpr std::size_t tenths = 10;
inline constexpr char final_train_loss[] = "final_train_loss", final_test_loss[] = "final_test_loss",
                      final_accuracy[] = "final_accuracy", diverged[] = "diverged",
                      steps_to_90[] = "steps_to_90",  // steps until 90 % of a training batch are answered rightly
    learned_lambda[] = "learned_lambda.";             // and the block, from 1
// At "start." and "end." of a run (gradients also at an eighth of it), over the representations R_0 ... R_L, or the blocks 1 ... L.
inline constexpr char mu_normalized[] = "mu_normalized", token_similarity[] = "token_similarity",
                      dispersion[] = "dispersion",  // ||v - mean v||_F / ||v||_F over sequences, v the mean token of norm(R_l)
    block_gradient[] = "gradient_norm", mixer_gradient[] = "mixer_gradient_norm";
// Where variants are compared also these, and nearly all of them at "eighth." and "half." too: rms is ||R_l||_F / sqrt(d N).
inline constexpr char cosine[] = "cosine_similarity", rms[] = "rms",
                      branch_ratio[] = "branch_ratio";  // ||A||_F / ||R||_F of each block: what the mixer adds over what it adds to
// Of language models there: the loss of tokens whose successors are replaced by other text, and how much it is above the loss with
// the true ones; the share of ||d logits_t / d R_0||^2 on tokens after t.
inline constexpr char future_loss[] = "future_loss", future_excess[] = "future_excess", future_gradient[] = "future_gradient_share";

/// When a run is measured: before it, after an eighth and a half of its steps, after it. What is recorded then over the
/// representations, and over the blocks.
inline const std::vector<std::string> moments = {"start.", "eighth.", "half.", "end."};
std::vector<std::string> of_representations(const Plan& plan, const std::string& moment);
std::vector<std::string> of_blocks(const Plan& plan, const std::string& moment);

// From a trial to the result -----------------------------------------------------------------------------------------------------

/// Trains every curve and writes the files of config.save. Throws Failure if that fails.
TrialRecord run_trial(const Plan& plan, const Task& task, bool single_precision, const Trial& trial);

/// Of one language model: the loss of some held-out tokens whose successors are replaced by those of the next batch, of two or
/// more, how much it is above that with the true ones, and the share of ||d logits_t / d R_0||_F^2 on tokens after t
/// (look_ahead.cpp).
struct LookAhead {
  double loss = 0, excess = 0, gradient_share = 0;
};
LookAhead look_ahead(SequenceModel<double>& model, std::vector<SequenceBatch<double>> batches, const Trial& trial);

/// Weights as published layouts have them, where they have one for such a model, else by the names of parameters (save.cpp).
template <class T>
void save_weights(const SequenceModel<T>& model, const std::string& file);
/// The file of one curve in one trial: config.save, with the curve's name before its ending if there are several curves, and the
/// number of the trial after it from the second trial on: weights.mamba2.2.safetensors.
std::string weights_file(const Plan& plan, const Curve& curve, std::uint64_t trial);

void judge(const Plan& plan, const Task& task, const Records& records, Claims& claims);
/// What [Shallow] says of the variants (variants.cpp).
void judge_variants(const Plan& plan, const Task& task, const Records& records, Claims& claims);

Result report(const Plan& plan, const Task& task, const Records& records);

}  // namespace ranklab::train
