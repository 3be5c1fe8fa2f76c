// The curves of the study `train`, what each curve records, and the steps from records to the
// result.
#pragma once

#include "core/track.hpp"
#include "experiments/rank_collapse/train/task.hpp"

namespace ranklab::train {

/// One model, trained once in each trial. All curves of a trial see the same batches.
struct Curve {
  std::string name;   // prefix of its series: "attention,lambda=0,L=8"
  std::string group;  // the name without lambda: curves of a group differ only in lambda
  // Distinguishes it from the other curves of its variant, apart from depth, rates and means:
  // "init=torch".
  std::string setting;
  std::string model, variant, init, where, mean;
  std::string removal;  // as in --removal; empty if the list is
  std::string at;       // "" without de-escalation
  double tau = 0;       // if it is learned: its initial value
  bool learns_tau = false, learns = false;
  double lambda = 1;       // if it is learned: its initial value
  double lambda_rate = 0;  // learning rate of a learned lambda, relative to that of the weights
  std::uint64_t layers = 2, hidden = 64, steps = 300, warmup = 30;
  Norm norm = Norm::layer;
  double lr = 1e-3;

  bool is(const Curve& other, double wanted) const {
    return group == other.group && !learns && lambda == wanted;
  }
};

inline constexpr double collapsed = 1e-3;  // tokens are collapsed if mu / ||R|| is below this

struct Plan {
  Config config;
  std::vector<Curve> curves;

  /// The curve in the group of `curve` with this fixed lambda, or the first one that learns lambda;
  /// null if the group has no such curve.
  const Curve* with_lambda(const Curve& curve, double lambda) const;
  const Curve* learned(const Curve& curve) const;
  /// The first curve of each group.
  std::vector<const Curve*> groups() const;
};

// plan.cpp

/// Throws a UsageError that names the flag.
Plan plan_of(const Config& config);

/// Of a lambda or a tau that is trained.
inline const std::string learned_word = "learned";
/// Allowed values of --init, --variant and --mean.
extern const std::vector<std::string> initializations, variants, means;

/// Allowed values of --model.
std::vector<std::string> mixer_names();
/// The shape of a curve's model, from the task's shape or from the one expected before files are
/// read.
SequenceShape shape_of(const Plan& plan, const Curve& curve, SequenceShape task_shape);
/// Floating-point operations and memory of one curve in one trial.
double training_flops(const Plan& plan, const Curve& curve, const SequenceShape& task_shape);
double training_bytes(const Plan& plan, const Curve& curve, const SequenceShape& task_shape);
/// Bytes of each thread that helps with the parts of a batch, and the largest number of them.
double helper_bytes(const Plan& plan, const Curve& curve, const SequenceShape& task_shape);
std::uint64_t most_helpers(const Plan& plan, const Curve& curve, const SequenceShape& task_shape);

// What a curve records; names follow the curve's name and a dot -----------------------------------

// Over steps: mean training loss in each tenth of the run; accuracy on held-out cases before the
// run and after each tenth; if variants are compared, also the held-out loss at those times.
inline constexpr char train_loss[] = "train_loss", accuracy[] = "accuracy",
                      test_loss[] = "test_loss";
inline constexpr std::size_t tenths = 10;
inline constexpr char
    final_train_loss[] = "final_train_loss",
    final_test_loss[] = "final_test_loss", final_accuracy[] = "final_accuracy",
    diverged[] = "diverged",
    steps_to_90[] = "steps_to_90",  // first step with at least 90 % accuracy on a training batch
    learned_tau[] = "learned_tau";  // over blocks, at the end of the run
/// Of a block, from 1.
inline std::string learned_lambda_of(std::uint64_t block) {
  return say("learned_lambda.{}", block);
}
// At "start." and "end." of a run (gradients also at "eighth."), over the representations R_0 ...
// R_L or the blocks 1 ... L.
inline constexpr char
    mu_normalized[] = "mu_normalized",
    token_similarity[] = "token_similarity",
    // ||v - mean v||_F / ||v||_F over sequences, where v is the mean token of norm(R_l)
    dispersion[] = "dispersion", block_gradient[] = "gradient_norm",
    mixer_gradient[] = "mixer_gradient_norm";
// If variants are compared, also these, most of them at "eighth." and "half." as well. rms is
// ||R_l||_F / sqrt(d N).
inline constexpr char cosine[] = "cosine_similarity", rms[] = "rms";
// ||A||_F / ||R||_F of each block: mixer output over residual stream.
inline constexpr char branch_ratio[] = "branch_ratio";
// For language models: the loss of tokens whose successors are replaced by other text, its excess
// over the loss with the true successors, and the share of ||d logits_t / d R_0||^2 on tokens after
// t.
inline constexpr char future_loss[] = "future_loss", future_excess[] = "future_excess",
                      future_gradient[] = "future_gradient_share";

/// Times at which a run is measured: before it, after an eighth and a half of its steps, and after
/// it.
inline const std::vector<std::string> moments = {"start.", "eighth.", "half.", "end."};

/// All of them, of one curve.
std::vector<Column> columns_of(const Plan& plan, const Task& task, const Curve& curve);

// From a trial to the result ----------------------------------------------------------------------

/// Trains every curve and writes the weights if config.save is set. Throws Failure if writing
/// fails.
TrialRecord run_trial(const Plan& plan, const Task& task, const Trial& trial);

/// For one language model (look_ahead.cpp): the loss of some held-out tokens whose successors are
/// replaced by those of the next batch (of at least two), its excess over the loss with the true
/// successors, and the share of ||d logits_t / d R_0||_F^2 on tokens after t.
struct LookAhead {
  double loss = 0, excess = 0, gradient_share = 0;
};
LookAhead look_ahead(SequenceModel<double>& model, std::vector<SequenceBatch<double>> batches,
                     const Trial& trial);

/// The file of one curve in one trial: config.save with the curve's name before the extension if
/// there are several curves, then the number of the trial from the second trial on:
/// weights.mamba2.2.safetensors.
std::string weights_file(const Plan& plan, const Curve& curve, std::uint64_t trial);

/// The held-out tokens of a text, next to the weights.
std::string tokens_file(const Config& config);

Result report(const Plan& plan, const Task& task, const Records& records);

}  // namespace ranklab::train
