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
#include "nn/blocks/model_spec.hpp"

namespace ranklab {

template <class T>
class Block;
template <class T>
struct State;

/// What every study over depth runs: a model with random weights or with those of files, which may
/// be several trainings of it.
struct DepthConfig : Study {
  std::string precision = "f64";
  ModelSpec model;
  std::vector<std::string> also;  // further models, or weights files of further trainings

  bool single_precision() const { return precision == "f32"; }
  void adopt_files() override;
  std::uint64_t trials_in_files() const override;
  std::vector<Contradiction> contradictions() const override;
  std::vector<std::string> assumptions() const override;
  void fill_defaults() override;
};

/// One trajectory through the depth.
struct DepthPath {
  At at;                       // where on which axes: lambda=-1
  std::vector<double> lambda;  // strength of the skip: one value per layer, or one for all
  // De-escalation Y - tau 1 1'Y/N at the block's output ([Shallow] eq. (21)); no value: none.
  std::optional<double> tau = {};
  double dropout = 0;  // dropout rate as in training, for encoders only
};

/// Curves with the same input and the same weights. Each block is drawn or read once and then
/// applied to the states of all curves.
struct DepthGroup {
  ModelSpec spec;  // resolved
  std::vector<DepthPath> curves;
};

/// Where all curves are.
std::vector<At> curves_in(const std::vector<DepthGroup>& groups);
/// "lambda=-1, lambda=1"
std::string listed(const std::vector<At>& curves);

// Records of a curve ------------------------------------------------------------------------------

/// Arrays over the layers, with the input as layer 0: the measures of TokenGeometry for the scaled
/// state, and log10 ||Y||_F, which is finite even if the norm overflows a double. All are undefined
/// (NaN) from the first state that is not finite.
namespace measure {
inline constexpr Measure
    mu = {"mu", "mu(Y)", "distance of the tokens from their mean"},
    mu_normalized = {"mu_normalized", "mu(Y)/||Y||_F",
                     "distance of the tokens from their mean over the norm of the tokens"},
    token_similarity = {"token_similarity", "t_sim(Y)",
                        "share of the squared norm in the part that all tokens have in common"},
    token_diversity = {"token_diversity", "t_div(Y)",
                       "share of the squared norm in which the tokens differ, 1 - t_sim"},
    cosine_similarity = {"cosine_similarity", "t_cos(Y)", "mean cosine over pairs of tokens"},
    rank_one_residual = {"rank_one_residual", "1 - sigma_1(Y)^2/||Y||_F^2",
                         "squared distance from rank one, that is from parallel tokens, over the "
                         "squared norm"},
    stable_rank = {"stable_rank", "||Y||_F^2/sigma_1(Y)^2", "stable rank of the tokens"},
    effective_rank = {"effective_rank", "exp(H(sigma/sum sigma))",
                      "effective rank: exponential of the entropy of the singular values' shares"},
    norm = {"norm", "||Y||_F", "Frobenius norm of the tokens"},
    log10_norm = {"log10_norm", "log10 ||Y||_F", "decimal logarithm of the tokens' norm"};
// Arrays over the blocks from 1, for models that report them: ||.||_F of the input and of the
// output of the mixing branch.
inline constexpr Measure branch_input_norm = {"branch_input_norm", "||LN(X)||_F",
                                              "norm of what enters the mixing"},
                         branch_output_norm = {"branch_output_norm", "||P LN(X) W||_F",
                                               "norm of what the mixing adds"};
// Of the result.
inline constexpr Measure final_mu_normalized = {
    "final_mu_normalized", "mu(Y)/||Y||_F",
    "after the last layer: distance of the tokens from their mean over their norm"};
}  // namespace measure

/// A measure of TokenGeometry, for curves with a tau before de-escalation.
namespace before_de_escalation {
inline constexpr Measure
    mu = {"before.mu", "mu(Y)", "before de-escalation: distance of the tokens from their mean"},
    mu_normalized =
        {"before.mu_normalized", "mu(Y)/||Y||_F",
         "before de-escalation: distance of the tokens from their mean over their norm"},
    token_similarity = {"before.token_similarity", "t_sim(Y)",
                        "before de-escalation: share of the squared norm in the common part"},
    token_diversity = {"before.token_diversity", "t_div(Y)",
                       "before de-escalation: share of the squared norm in which tokens differ"},
    cosine_similarity = {"before.cosine_similarity", "t_cos(Y)",
                         "before de-escalation: mean cosine over pairs of tokens"},
    rank_one_residual = {"before.rank_one_residual", "1 - sigma_1(Y)^2/||Y||_F^2",
                         "before de-escalation: squared distance from rank one over the squared "
                         "norm"},
    stable_rank = {"before.stable_rank", "||Y||_F^2/sigma_1(Y)^2",
                   "before de-escalation: stable rank of the tokens"},
    effective_rank = {"before.effective_rank", "exp(H(sigma/sum sigma))",
                      "before de-escalation: effective rank of the tokens"},
    norm = {"before.norm", "||Y||_F", "before de-escalation: Frobenius norm of the tokens"};
}  // namespace before_de_escalation

/// The measures of TokenGeometry.
std::vector<Measure> token_measures();

/// Scalars of a curve: the first layer whose output is not finite (0: none), and the number of
/// tokens that a norm set to zero, over all layers.
inline constexpr char overflow_layer[] = "overflow_layer";
inline constexpr Measure degenerate_rows = {"degenerate_rows", "",
                                            "tokens that a norm set to zero"};
/// Of the result.
inline constexpr Measure diverged_curves = {"diverged", "",
                                            "curves with a state that is not finite"};

/// The value of each trial at the last layer.
std::vector<double> final_values(const At& curve, const Measure& what, const Records& records);

/// The trials in which each curve overflowed, for claims about these curves.
std::vector<Divergence> overflows(const std::vector<At>& curves, const Records& records);

// Running -----------------------------------------------------------------------------------------

/// Passes trials through the weights of one training and returns a record for each. The training is
/// 0 if there is only one, and for random weights, which each trial draws.
using RunTrials = std::function<Records(std::uint64_t training, const std::vector<Trial>& trials)>;

/// The work of a study over depth. If several trials share the weights of a file, `run` gets them
/// in batches. If there are several trainings, each is a trial: the mean over the sequences of the
/// token file, but the earliest overflow layer of each of the `curves`. Without a token file a
/// training has one drawn sequence. The work refers to the model.
Work depth_work(const ModelSpec& model, std::vector<At> curves, RunTrials run);

/// Returns one record for each trial, with all curves of all groups. If the weights come from a
/// file, each layer is read once for all trials, while the previous layer is still computing.
Records run_groups(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                   bool single_precision);

/// The same for one model whose curves in trial t are `curves[t]`. Adds them to the trials'
/// records.
void run_curves(const ModelSpec& spec, const std::vector<std::vector<DepthPath>>& curves,
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

/// Adds a series over layers for each measure that the trials record of a curve.
void add_depth_series(const ModelSpec& spec, const DepthPath& curve, Numbers& out);

/// Adds the scalars `degenerate_rows` and `diverged` over all curves: the number of tokens that a
/// norm set to zero, and the number of curves that overflowed. If any did, the result has diverged.
void add_depth_scalars(const std::vector<At>& curves, Numbers& out);

/// Adds a note that names the curves that overflowed and their layers, if any did.
void note_overflows(const std::vector<At>& curves, Display& out);

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
std::string collapse_note(const std::vector<At>& curves, double threshold, const Records& records);

/// Normalized mu below this is rounding noise in single precision.
inline constexpr double single_precision_floor = tolerance::closed_form<float>;

/// Adds a note if, in single precision, the mean over the trials of one of these arrays, of
/// normalized mu, goes below `single_precision_floor`.
void note_rounding(const std::vector<Quantity>& of_mu, bool single_precision, Display& out);
/// The arrays of normalized mu that the trials record of these curves.
std::vector<Quantity> mu_arrays(const std::vector<DepthGroup>& groups);

}  // namespace ranklab
