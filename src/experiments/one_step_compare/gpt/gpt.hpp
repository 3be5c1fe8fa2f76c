// `one-step-compare --study gpt`: trains a small GPT on real text with several optimizers and
// measures the two sides of condition (1.8) during training ([Spectral] Figures 2 and 5 to 10,
// Table 2, at a size for a laptop). Here: the flags, the runs, what each of them records, and the
// functions from a trial to the result.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/track.hpp"
#include "data/corpus.hpp"
#include "experiments/kit.hpp"
#include "nn/gpt.hpp"
#include "nn/optimizer.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::gpt {

struct Config {
  std::string precision = "f64";
  std::string text;                // file; empty: the King James Bible
  std::string vocab = "bpe:1024";  // or char
  std::uint64_t layers = 4, dim = 64, heads = 4;
  std::uint64_t context = 64, batch = 16;  // T, tokens per sequence; B, sequences per step
  std::uint64_t steps = 300;
  std::string activation = "relu2", norm = "rms", position = "rotary";
  std::string qk_norm = "auto";  // resolved to on with rotary positions, off with learned ones
  std::string init = "modded";
  std::string mean_token = "keep";  // or remove: from the inputs of attention and net
  std::vector<std::string> optimizer = {"adam"};
  double lr_adam = 0.01, lr_muon = 0.02, lr_polar = 0.02,
         lr_sgd = 0.3;         // for the matrices inside layers
  double lr_embedding = 0.03;  // Adam's, for embedding, positions and head
  double lr_outer = 3;         // the optimizer's, for embedding and head, if it updates them
  std::vector<std::string> spectral_on = {
      "hidden"};                             // what the optimizer updates; Adam updates the rest
  std::vector<std::string> also;             // extra runs: "muon,spectral-on=W2"
  std::vector<std::uint64_t> measure_steps;  // empty: 0-4, 8, 16, 32, 64 and every 50
  bool one_step = false;
  std::vector<std::uint64_t>
      one_step_at;           // empty: the measured ones of 4, 8, 16, 32, 100 and the last
  std::string save, record;  // output of trial 0's first run: a file, a folder
  std::vector<std::uint64_t> save_steps;  // empty: the last

  std::vector<Field> flags();
  void fill_defaults();
  void check() const;
  Estimate memory() const;
  std::vector<Output> outputs(std::uint64_t trial) const;

  bool single_precision() const { return precision == "f32"; }
  std::vector<std::uint64_t> steps_to_save() const {
    return save_steps.empty() ? std::vector{steps} : save_steps;
  }
  /// The text, read once for this config and its copies. Throws Failure.
  const Corpus& corpus() const;

  std::shared_ptr<OncePerRun<Corpus>> read_text = std::make_shared<OncePerRun<Corpus>>();
};

/// In --spectral-on: the matrices inside layers that the advice of `ranklab advise` puts on a
/// spectral step, and those that it does not.
inline constexpr char advice_word[] = "advice", against_advice_word[] = "against-advice";
/// The steps of a run of Adam at which the advice is taken.
inline constexpr std::array<std::uint64_t, 4> watched_steps = {4, 8, 16, 32};

/// Settings that differ from the config's: {"spectral-on", "W2"}, by name.
using Changes = std::vector<std::pair<std::string, std::string>>;

/// One training: a model and an optimizer.
struct Run {
  std::string name;   // prefix of its series: adam; "muon,spectral-on=W2"
  std::string label;  // in claims: Adam; "Muon,spectral-on=W2"
  std::string optimizer;
  Changes changes;
  Config config;  // with the changes
  std::vector<double> measured,
      probed;  // steps before which ranks are measured on the batch; on held-out text. What --save
               // and --record write is not among them: it must not change a number
  // Steps before which best single steps are compared. With --one-step, for the first run and for
  // the run that differs from it in the mean token alone.
  std::vector<double> one_step_at = {};

  bool is_main() const { return changes.empty(); }
  Rule rule() const;
  double lr() const;
  /// Whether `optimizer` updates a matrix of this block; otherwise Adam does. `is_advised`: whether
  /// the advice puts this matrix on a spectral step.
  bool updates(const std::string& block, bool is_advised) const;
  /// Whether updates() depends on the advice.
  bool follows_advice() const;
  /// The width of the feed-forward net.
  std::uint64_t hidden_width() const;
  /// The shape of the model for a vocabulary of this size.
  SequenceShape shape(std::uint64_t vocabulary) const;
};

/// The changes of a run, without those whose key satisfies `leaves_out(key)`.
template <class LeavesOut>
Changes changes_without(const Run& run, const LeavesOut& leaves_out) {
  Changes out = run.changes;
  std::erase_if(out, [&](const auto& change) { return leaves_out(change.first); });
  return out;
}
/// The changes of a run, without learning rates and --spectral-on. Runs with equal ones train the
/// same model for the same number of steps.
Changes workload_of(const Run& run);
/// Two runs with this optimizer that differ in the mean token and in learning rates only. Null
/// pointers if the plan has no such pair.
struct MeanTokenPair {
  const Run *kept = nullptr, *removed = nullptr;
  explicit operator bool() const { return kept && removed; }
};

struct Plan {
  Config config;
  std::vector<Run> runs;  // the optimizers, then what --also asks for

  /// The run of this optimizer with exactly these changes, or null.
  const Run* find(const std::string& optimizer, const Changes& changes = {}) const;
  MeanTokenPair mean_token_pair(const std::string& optimizer) const;
  /// The run that the paper's figures show, which is Muon's; null if the plan has no such run.
  const Run* paper_run() const;
  /// The run whose ranks our figures show: the paper's, else the first.
  const Run& shown_run() const;
};

/// All runs of a config. Throws UsageError for an invalid --also.
Plan plan_of(const Config& config);

/// The blocks (weight matrices) inside a layer: Wq, Wk, Wv, Wo, W1, W2 and, if the activation is
/// gated, Wg.
std::vector<std::string> hidden_blocks(const Run& run);
inline std::string in_layer(std::size_t layer, const std::string& what) {
  return "layer" + std::to_string(layer) + "." + what;
}
/// [Spectral] Table 1: the activations that a block of a layer is compared with. They are its
/// input, except for Wo, which multiplies H; the table compares it with A.
std::string activation_of(const std::string& block);
/// The same for a weight of a layer or the head, by the name in Moments: "layer1.A", "Af".
template <class P>
std::string compared_with(const GptWeight<P>& weight) {
  return weight.role == WeightRole::head ? "Af"
                                         : in_layer(weight.layer, activation_of(weight.block));
}

/// The input of a weight, by the name in Moments. That of Wo is H.
template <class P>
std::string input_of(const GptWeight<P>& weight) {
  return weight.block == "Wo" ? in_layer(weight.layer, "H") : compared_with(weight);
}
/// Whether the second moment (out, out) of the gradients in a weight's outputs is stored. It is not
/// for tables, and for outputs so many that it would dwarf the weight.
inline bool keeps_error_moment(WeightRole role, std::uint64_t outputs, std::uint64_t inputs) {
  return (role == WeightRole::in_layer || role == WeightRole::head) && outputs <= 8192 &&
         outputs <= 8 * inputs;
}

/// The name of an optimizer for a reader: Adam, Muon, "polar factor", SGD.
std::string optimizer_label(const std::string& optimizer);
/// The name of a run in figures: "Muon on W2 only, SwiGLU"; "Adam at rate 0.01, embedding rate
/// 0.03".
std::string figure_label(const Run& run);
/// A shorter name, for the ticks of an axis: "Muon on W2, SwiGLU"; "Adam, emb. rate 0.03".
std::string tick_label(const Run& run);

// Names of what a run records, prefixed with its name and a dot.

/// What ranks are measured on: the batch of each step of run.measured, or held-out text at each
/// step of run.probed.
enum class MeasuredOn { training_batch, held_out_text };
/// The beginning of the names of such series.
constexpr std::string_view prefix_of(MeasuredOn text) {
  return text == MeasuredOn::held_out_text ? "probe." : "";
}
inline const std::vector<double>& steps_of(const Run& run, MeasuredOn text) {
  return text == MeasuredOn::held_out_text ? run.probed : run.measured;
}

inline std::string stable_rank_of(const std::string& activation) {
  return activation + ".stable_rank";
}
inline std::string nuclear_rank_of(const std::string& block) {
  return block + ".nuclear_rank";
}
inline std::string ratio_of(const std::string& block) {
  return block + ".ratio";
}
/// nr(G) over the stable rank of what Wo multiplies, H.
inline std::string ratio_to_input_of(const std::string& Wo) {
  return Wo + ".ratio_to_H";
}
inline std::string gradient_norm_of(const std::string& block) {
  return block + ".gradient_norm";
}
inline std::string mean_share_of(const std::string& activation) {
  return activation + ".mean_share";
}
/// A run that follows the advice: of the matrices with this name in all layers, how many the advice
/// puts on a spectral step.
inline std::string advised_of(const std::string& block) {
  return "advised." + block;
}
/// A series of ranks, shares or ratios.
struct RankSeries {
  std::string name;                    // "layer1.W2.ratio"
  std::optional<std::uint64_t> layer;  // of a quantity inside a layer
  std::string what;                    // the name inside the layer: "W2.ratio"
};
/// All of them of a run.
std::vector<RankSeries> rank_series(const Run& run);
/// All numbers of a run: its losses, the above on the batch and on held-out text, its single steps.
std::vector<Column> columns_of(const Run& run);
inline constexpr char train_loss[] = "train_loss", validation_loss[] = "validation_loss",
                      final_validation_loss[] = "final_validation_loss", diverged[] = "diverged",
                      violations[] = "violations", violations_early[] = "violations_early";
/// 1 / p_max of the batch. Also recorded without a prefix, at the measured steps of the first run.
inline constexpr char indicator[] = "indicator.stable_rank";
/// Condition (1.8) is judged separately before this step and from it on.
inline constexpr double early_steps = 32;

// One step along G and one along polar(G), for each block at each step of run.one_step_at: the
// ratio that eq. (1.1) predicts, the ratio that the curvature predicts (linalg/kronecker; NaN for
// tables), and the loss decrease along polar(G) over that along G, each at
// its best step size, on the batch that gave G and on an independent batch. "joint": all hidden
// blocks at once. Names of steps before early_steps have the prefix "early.".
inline constexpr char predicted_ratio[] = "one_step.predicted",
                      curvature_ratio[] = "one_step.by_curvature", batch_ratio[] = "one_step.batch",
                      independent_ratio[] = "one_step.independent",
                      joint_batch_ratio[] = "one_step.joint.batch",
                      joint_independent_ratio[] = "one_step.joint.independent";

inline constexpr char early[] = "early.";
/// The steps of run.one_step_at before early_steps, or the others.
std::vector<double> one_step_points(const Run& run, bool is_early);

// From a trial to the result ----------------------------------------------------------------------

/// Trains every run on the same batches. Trial 0 writes the files of config.save and config.record.
/// Throws Failure if that fails.
TrialRecord run_trial(const Plan& plan, const Corpus& corpus, const Trial& trial);

void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Corpus& corpus, const Records& records);

}  // namespace ranklab::gpt
