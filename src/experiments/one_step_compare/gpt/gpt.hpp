// The study gpt inside: its runs, what each of them records, and the way from there to the result.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/record.hpp"
#include "experiments/one_step_compare/gpt/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"
#include "training/gpt.hpp"
#include "training/optimiser.hpp"
#include "training/tasks/corpus.hpp"

namespace ranklab::gpt {

/// Settings that differ from the config's: {"spectral-on", "W2"}, by name.
using Changes = std::vector<std::pair<std::string, std::string>>;

/// One model under one optimiser.
struct Run {
  std::string name;   // of its series: adam; "muon,spectral-on=W2"
  std::string label;  // Adam; "Muon, spectral-on=W2"
  std::string optimizer;
  Changes changes;
  GptConfig config;                      // with the changes
  std::vector<double> measured, probed;  // steps before which it is measured on the batch, and on held-out text too
  std::vector<double> stepped = {};      // before which best single steps are compared; of the first run with --one-step

  bool is_main() const { return changes.empty(); }
  Rule rule() const;
  double lr() const;
  /// Whether the optimiser steps this block; else Adam does.
  bool steps_block(const std::string& block) const;
  /// Of the model, with the vocabulary that the text gave.
  GptShape shape(std::uint64_t vocabulary) const;
};

struct Plan {
  GptConfig config;
  std::vector<Run> runs;  // the optimisers, then what --also asks for

  /// The run of this optimiser with exactly these changes, or null.
  const Run* find(const std::string& optimizer, const Changes& changes = {}) const;
  /// The run that the paper's figures are about: Muon, or the first where it is not run.
  const Run& of_paper() const;
};

/// The fields of a config; those that --also may change have no output and no list of steps.
std::vector<Field> fields_of(GptConfig& config);
/// Throws UsageError that names --also.
Plan plan_of(const GptConfig& config);
/// What one of its runs costs in one trial, with a vocabulary of so many tokens.
double run_flops(const Plan& plan, const Run& run, std::uint64_t vocabulary);

/// The blocks inside a layer: Wq, Wk, Wv, Wo, W1, W2 and, where the activation is gated, Wg.
std::vector<std::string> hidden_blocks(const Run& run);
/// [Spectral] Table 1: the activations that a block of a layer multiplies. Wo multiplies H; the table compares it with A.
std::string activation_of(const std::string& block);

// What a run records, behind its name and a dot. Series of ranks stand over run.measured, behind "probe." over run.probed. ------

inline std::string in_layer(std::size_t layer, const std::string& what) {
  return "layer" + std::to_string(layer) + "." + what;
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
/// The names of all series of ranks, shares and ratios of a run.
std::vector<std::string> rank_series(const Run& run);
inline constexpr char train_loss[] = "train_loss", validation_loss[] = "validation_loss",
                      final_validation_loss[] = "final_validation_loss", diverged[] = "diverged", violations[] = "violations",
                      violations_early[] = "violations_early";
inline constexpr char probe[] = "probe.";
/// Trial-wide, over the first run's measured steps: 1 / p_max of the batch.
inline constexpr char indicator[] = "indicator.stable_rank";
/// nr < st counts from this step on; what comes before stands apart.
inline constexpr double early_steps = 32;

// One step along G and along polar(G), for each block at each of run.stepped: what eq. (1.1) predicts, and the decrease along
// polar(G) over that along G, each at its best step size, on the batch that gave G and on an independent one. "joint" for all
// hidden blocks. Those before early_steps stand behind "early.".
inline constexpr char predicted[] = "one_step.predicted", reached[] = "one_step.batch",
                      reached_elsewhere[] = "one_step.independent", jointly[] = "one_step.joint.batch",
                      jointly_elsewhere[] = "one_step.joint.independent";

inline constexpr char early[] = "early.";
/// run.stepped before early_steps, or from there on.
std::vector<double> stepped_in(const Run& run, bool is_early);

// From a trial to the result ----------------------------------------------------------------------------------------------------

/// Every run on the same batches. Trial 0 writes the files of config.save and config.record. Throws Failure where that fails.
TrialRecord run_trial(const Plan& plan, const Corpus& corpus, bool single_precision, const Trial& trial);

void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Corpus& corpus, const Records& records);

}  // namespace ranklab::gpt
