// Shared by the studies over depth (layers, lambda-sweep, ablation). Such a study says whose
// weights it uses (DepthConfig) and which curves go through the blocks of which models
// (DepthGroup). It gets the token geometry after every block; an observer can keep more. Below are
// also the names of the recorded quantities and the common parts of the results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/record.hpp"
#include "core/tolerances.hpp"
#include "experiments/study.hpp"
#include "experiments/builder.hpp"
#include "nn/blocks/model_spec.hpp"

namespace ranklab {

template <class T>
class Block;
template <class T>
struct State;

/// What every study over depth runs: a model with random weights or with those of files, which may
/// be several trainings of it.
struct DepthConfig {
  std::string precision = "f64";
  ModelSpec model;
  std::vector<std::string> also;  // further models, or weights files of further trainings

  bool single_precision() const { return precision == "f32"; }
  void adopt_files();
  std::uint64_t trials_in_files() const;
  std::vector<Contradiction> contradictions() const;
  void fill_defaults();
};

/// One trajectory through the depth.
struct DepthCurve {
  At at;                       // where on which axes: lambda=-1
  std::vector<double> lambda;  // strength of the skip: one value per layer, or one for all
  // De-escalation Y - tau 1 1'Y/N at the block's output ([Shallow] eq. (21)); no value: none.
  std::optional<double> tau = {};
  double dropout = 0;  // dropout rate as in training, for encoders only

  const std::string& name() const { return at.text; }
};

/// Curves with the same input and the same weights. Each block is drawn or read once and then
/// applied to the states of all curves.
struct DepthGroup {
  ModelSpec spec;  // resolved
  std::vector<DepthCurve> curves;
};

/// The names of all curves.
std::vector<std::string> curve_names(const std::vector<DepthGroup>& groups);

// Records of a curve ------------------------------------------------------------------------------

/// Arrays over the layers, with the input as layer 0: the measures of TokenGeometry for the scaled
/// state, and log10 ||Y||_F, which is finite even if the norm overflows a double. All are undefined
/// (NaN) from the first state that is not finite.
namespace measure {
inline constexpr char mu[] = "mu", mu_normalized[] = "mu_normalized",
                      token_similarity[] = "token_similarity",
                      token_diversity[] = "token_diversity",
                      cosine_similarity[] = "cosine_similarity",
                      rank_one_residual[] = "rank_one_residual", stable_rank[] = "stable_rank",
                      effective_rank[] = "effective_rank", norm[] = "norm",
                      log10_norm[] = "log10_norm";
// Arrays over the blocks from 1, for models that report them: ||.||_F of the input and of the
// output of the mixing branch.
inline constexpr char branch_input_norm[] = "branch_input_norm",
                      branch_output_norm[] = "branch_output_norm";
}  // namespace measure

/// The names of the measures of TokenGeometry.
const std::vector<std::string>& token_measures();

/// "before.<measure>": a measure of TokenGeometry before de-escalation, for curves with a tau.
std::string before_de_escalation(const std::string& measure);

/// Scalars: the first layer whose output is not finite (0: none), and the number of tokens that a
/// norm set to zero, over all layers.
inline constexpr char overflow_layer[] = "overflow_layer", degenerate_rows[] = "degenerate_rows";

/// "<curve>.<what>", the name of each of these in the record.
std::string of_curve(const std::string& curve, const std::string& what);
inline Quantity of_curve(const At& curve, const std::string& what) {
  return curve / what;
}

/// The value of each trial at the last layer.
std::vector<double> final_values(const std::string& curve, const std::string& what,
                                 const Records& records);

/// The trials in which each curve overflowed, for claims about these curves.
std::vector<Divergence> overflows(const std::vector<std::string>& curves, const Records& records);

// Running -----------------------------------------------------------------------------------------

/// Passes trials through the weights of one training and returns a record for each. The training is
/// 0 if there is only one, and for random weights, which each trial draws.
using RunTrials = std::function<Records(std::uint64_t training, const std::vector<Trial>& trials)>;

/// The work of a study over depth. If several trials share the weights of a file, `run` gets them
/// in batches. If there are several trainings, each is a trial: the mean over the sequences of the
/// token file, but the earliest overflow layer of each of the `curves`. Without a token file a
/// training has one drawn sequence. The work refers to the config.
Work depth_work(const DepthConfig& config, std::vector<std::string> curves, RunTrials run);

/// Returns one record for each trial, with all curves of all groups. If the weights come from a
/// file, each layer is read once for all trials, while the previous layer is still computing.
Records run_groups(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                   bool single_precision);

/// The same for one model whose curves in trial t are `curves[t]`. Adds them to the trials'
/// records.
void run_curves(const ModelSpec& spec, const std::vector<std::vector<DepthCurve>>& curves,
                const std::vector<Trial>& trials, bool single_precision, Records& records);

/// The same as run_groups for variants of one model that have equal depth and differ only in their
/// switches. A tensor that several variants use is drawn or read once.
Records run_variants(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                     bool single_precision);

/// Called for each block and each curve with the state that enters the block, while that state is
/// finite. Calls for different curves may be concurrent.
template <class T>
using DepthObserver =
    std::function<void(std::size_t curve, const Block<T>& block, const State<T>& state)>;

/// run_groups for one group and one trial, with an observer.
template <class T>
TrialRecord run_observed(const DepthGroup& group, const Trial& trial,
                         const DepthObserver<T>& observe);

/// The number of trials to run at once: several if they share weights from a file.
std::uint64_t trials_per_batch(const ModelSpec& spec);

/// Memory of one trial of these groups.
Estimate depth_cost(const std::vector<DepthGroup>& groups);

// Gradients (gradients.cpp) -----------------------------------------------------------------------

/// The array g_l in a record, "<model>.gradient_norm". All its values are NaN if a
/// state is not finite.
Quantity gradient_norms_of(const ModelSpec& spec);

/// Returns the records of run_groups, plus the gradient norms of each group. The groups are
/// encoders (norm layer, mlp on) on tokens whose only curve without dropout is the first, with
/// lambda = 1 and no tau.
Records run_with_gradients(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                           bool single_precision);

/// depth_cost plus the memory of the gradients. Every trial reads published weights itself.
Estimate cost_with_gradients(const std::vector<DepthGroup>& groups);

// Results of curves -------------------------------------------------------------------------------

/// [LambdaSkip] Figures 1 and 3 show Mamba-2 2.7B, which has 64 layers. A model with fewer than
/// half as many cannot contradict a collapse: the unmet hypothesis, or nothing for a deeper model.
std::string too_shallow(const ModelSpec& spec);

/// Adds a series over layers for each measure that the records contain.
void add_depth_series(const At& curve, ResultBuilder& out);

/// Adds the scalars `degenerate_rows` and `diverged` over all curves: the number of tokens that a
/// norm set to zero, and the number of curves that overflowed. If any did, the result has diverged,
/// and a note names the curves and their layers.
void add_depth_scalars(const std::vector<std::string>& curves, ResultBuilder& out);

/// Single trials if they are few or if each is a training; otherwise the interval of the mean, on
/// which the verdicts depend.
BandKind band_of_trials(const ModelSpec& spec, std::size_t trials);

/// "threshold 0.1", for the line below which tokens count as collapsed.
std::string threshold_label(double threshold);

/// The axes of mu / ||Y||_F and of 1 - sigma_1^2 / ||Y||_F^2.
Axis normalized_mu_axis();
Axis rank_one_residual_axis();

/// One sentence from the means over the trials: which curves end with mu_normalized below the
/// threshold, and which ones with only the square root of rank_one_residual below it.
std::string collapse_note(const std::vector<std::string>& curves, double threshold,
                          const Records& records);

/// Normalized mu below this is rounding noise in single precision.
inline constexpr double single_precision_floor = tolerance::closed_form<float>;

/// Adds a note if, in single precision, one of the series `of_mu`, of normalized mu, goes below
/// `single_precision_floor`.
void note_rounding(const std::vector<std::string>& of_mu, bool single_precision,
                   ResultBuilder& out);
/// The series of normalized mu that add_depth_series() adds for these curves.
std::vector<std::string> mu_series(const std::vector<std::string>& curves);

}  // namespace ranklab
