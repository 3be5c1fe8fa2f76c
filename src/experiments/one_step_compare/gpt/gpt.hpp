// `one-step-compare --study gpt`: trains a small GPT on real text with several optimizers and
// measures the two sides of condition (1.8) during training ([Spectral] Figures 2 and 5 to 10,
// Table 2, at a size for a laptop). Here: the flags (report.cpp), the runs and what each of them
// records (runs.cpp), and the functions from a trial to the result.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/track.hpp"
#include "data/corpus.hpp"
#include "data/zipf_facts.hpp"
#include "experiments/grid/runs.hpp"
#include "experiments/kit.hpp"
#include "nn/gpt.hpp"
#include "nn/optimizer.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::gpt {

struct Config : Study {
  std::string precision = "f64";
  std::string text;                // file, or zipf_facts; empty: the King James Bible
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
      "hidden"};                        // what the optimizer updates; Adam updates the rest
  std::string muon_scale = "original";  // of the step of muon and polar
  std::vector<std::string> muon_parts = {"whole"};  // how these cut Wq, Wk, Wv and Wo
  std::vector<std::string> also;                    // extra runs: "muon,spectral-on=W2"
  std::vector<std::uint64_t> measure_steps;         // empty: 0-4, 8, 16, 32, 64 and every 50
  bool measure_heads = false;
  bool one_step = false;
  std::vector<std::uint64_t>
      one_step_at;               // empty: the measured ones of 4, 8, 16, 32, 100 and the last
  std::string save, recordings;  // output of trial 0's first run: a file, a folder
  std::vector<std::uint64_t> save_steps;  // empty: the last

  std::vector<Field> flags() override;
  void fill_defaults() override;
  void check() const override;
  Estimate memory() const override;
  std::vector<Output> outputs(std::uint64_t trial) const override;
  Work work() const override;

  std::string title() const override {
    return "A small GPT trained on real text: stable ranks of its activations, nuclear ranks of "
           "its gradients";
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  bool single_precision() const { return precision == "f32"; }
  bool has_facts() const { return text == zipf_facts; }
  bool is_gated() const { return find_activation(activation).gated; }
  std::vector<std::uint64_t> steps_to_save() const {
    return save_steps.empty() ? std::vector{steps} : save_steps;
  }
  /// The text, read once for this config and its copies. Throws Failure.
  const Corpus& corpus() const;

  std::shared_ptr<OncePerRun<Corpus>> read_text = std::make_shared<OncePerRun<Corpus>>();
};

/// In --spectral-on: the matrices inside layers that meet (1.8) early in a run of Adam, and those
/// that do not.
inline constexpr char criterion_word[] = "criterion",
                      against_criterion_word[] = "against-criterion";
/// The words of --spectral-on. A run has its own in this order, whichever the user gives.
inline const std::vector<std::string> matrix_words = {
    "hidden", "Wq", "Wk",        "Wv",   "Wo",           "W1",
    "W2",     "Wg", "embedding", "head", criterion_word, against_criterion_word};
/// The steps of that run of Adam. A matrix meets (1.8) if the geometric mean of nr/st over them is
/// at least 1.
inline constexpr std::array<std::uint64_t, 4> watched_steps = {4, 8, 16, 32};

/// In --muon-scale: lengths measured along the polar factor of each gradient before this step, for
/// the rest of the run.
inline constexpr char measured_scale[] = "measured";
inline constexpr std::uint64_t scale_step = 32;
/// The size of a step of Muon on an m x n matrix, by the names of --muon-scale, over that of the
/// optimizer, max(1, m/n)^0.5. 1 if it is measured.
double scale_over_original(const std::string& scale, double m, double n);

template <class T>
bool contains(const std::vector<T>& list, const std::type_identity_t<T>& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// An optimizer of the matrices inside layers.
struct OptimizerRow {
  const char* name;  // of --optimizer; the beginning of names of series
  Rule rule;
  double Config::*rate;
  const char *label, *figure_label;  // in claims, in figures
};
inline constexpr OptimizerRow optimizers[] = {
    {"adam", Rule::adam, &Config::lr_adam, "Adam", "Adam"},
    {"muon", Rule::muon, &Config::lr_muon, "Muon", "Muon"},
    {"polar", Rule::polar, &Config::lr_polar, "polar", "polar factor"},
    {"sgd", Rule::sgd, &Config::lr_sgd, "SGD", "SGD"}};
/// Throws std::logic_error for an unknown name.
const OptimizerRow& optimizer_named(const std::string& name);
std::vector<std::string> optimizer_names();

// What a run measures -----------------------------------------------------------------------------

/// A number of each activation or each matrix at the measured steps.
struct MatrixMeasure {
  const char* axis;  // of what
  Measure measure;
  Quantity of(const std::string& what) const { return At(axis, what) / measure; }
};
inline constexpr MatrixMeasure stable_rank{"matrix",
                                           {"stable_rank", "st", "stable rank of an activation"}},
    mean_share{"matrix", {"mean_share", "", "share of ||A||_F^2 that is common to all tokens"}},
    gradient_norm{"block", {"gradient_norm", "||G||_F", "norm of a gradient"}},
    gradient_rank{"block", {"nuclear_rank", "nr(G)", "nuclear rank of a gradient"}},
    // nr(G) over the stable rank of what [Spectral] Table 1 compares the matrix with. This is its
    // input, except for Wo: it multiplies H, and the table compares it with A.
    rank_ratio{"block",
               {"ratio", "nr(G) / st",
                "nuclear rank of a gradient over the stable rank that it is compared with"}},
    ratio_to_H{"block",
               {"ratio_to_H", "nr(G) / st(H)",
                "nuclear rank of the gradient of Wo over the stable rank of H"}};

// Of --measure-heads, at the measured steps but the last, for matrices with heads.
inline constexpr MatrixMeasure gradient_spread{
    "block",
    {"gradient_spread", "", "largest over smallest norm of the heads' parts of a gradient"}},
    update_spread{
        "block",
        {"update_spread", "", "largest over smallest RMS of the heads' parts of an update"}},
    momentum_rank{
        "block",
        {"momentum_rank", "nr(u)", "nuclear rank of the momentum that Muon orthogonalizes"}},
    momentum_rank_by_head{"block",
                          {"momentum_rank_by_head", "",
                           "mean over the heads of the nuclear rank of their parts of it"}};

/// What ranks are measured on: the batch of each step of run.measured, or held-out text at each
/// step of run.probed.
enum class MeasuredOn { training_batch, held_out_text };
inline At place_of(MeasuredOn text) {
  return text == MeasuredOn::held_out_text ? At("text", "held-out", "probe") : At();
}

/// A part of a training. Condition (1.8) and single steps are judged in each of them.
struct Stage {
  const char *name, *id;  // in the names of its single steps; of the ids of its claims
  const char* when;
  Region steps;
  Measure violations;

  At at() const { return *name == '\0' ? At() : At("stage", name); }
};
inline constexpr double early_steps = 32;
inline constexpr Stage early{
    "early",
    "early/",
    "before step 32",
    {.high = early_steps - 1},
    {"violations_early", "", "share of the cases before step 32 that violate (1.8)"}},
    late{"",
         "",
         "from step 32 on",
         {.low = early_steps},
         {"violations", "", "share of the cases from step 32 on that violate (1.8)"}};

inline constexpr Measure
    train_loss = {"train_loss", "", "cross-entropy on the batch of the step", "nats"},
    validation_loss = {"validation_loss", "", "cross-entropy on four batches of held-out text",
                       "nats"},
    final_validation_loss = {"final_validation_loss", "",
                             "cross-entropy on the whole held-out text, after training", "nats"},
    // On the text of facts.
    frequent_loss = {"final_loss_of_frequent_facts", "",
                     "mean loss at the objects of the frequent half of the facts", "nats"},
    rare_loss = {"final_loss_of_rare_facts", "",
                 "mean loss at the objects of the rare half of the facts", "nats"},
    // Of the batch. Also recorded without a prefix, at the measured steps of the first run.
    indicator = {"indicator.stable_rank", "1 / p_max", "stable rank of the tokens' indicator"},
    met_early = {"criterion", "", "layers in which a matrix meets (1.8) early"};
using grid::diverged;
/// A run that follows the criterion: of the matrices with this name in all layers, how many meet
/// it.
inline Quantity criterion_met_by(const std::string& block) {
  return {"criterion." + block, met_early, At("block", block)};
}

// One step along G and one along polar(G), for each block at each step of run.one_step_at: the
// ratio that eq. (1.1) predicts, the ratio that the curvature predicts (linalg/kronecker; NaN for
// tables), and the loss decrease along polar(G) over that along G, each at its best step size, on
// the batch that gave G and on an independent batch. "joint": all hidden blocks at once. The names
// begin with the prefix of their stage.
inline constexpr Measure
    predicted_ratio = {"one_step.predicted", "nr(G) / st", "ratio that eq. (1.1) predicts"},
    curvature_ratio = {"one_step.by_curvature", "", "ratio that the curvature predicts"},
    batch_ratio = {"one_step.batch", "",
                   "best decrease along polar(G) over that along G, on the batch of G"},
    independent_ratio = {"one_step.independent", "",
                         "best decrease along polar(G) over that along G, on an independent batch"},
    joint_batch_ratio =
        {"one_step.joint.batch", "",
         "best decrease along polar(G) over that along G in all hidden blocks, on the batch of G"},
    joint_independent_ratio = {"one_step.joint.independent", "",
                               "best decrease along polar(G) over that along G in all hidden "
                               "blocks, on an independent batch"};

/// A quantity of one layer: "layer0.W2.ratio".
inline Quantity in_layer(std::size_t layer, const Quantity& what) {
  return At("layer", layer, "layer" + std::to_string(layer)) / what;
}
/// A mean over layers, which only the result has.
inline Quantity over_layers(const Quantity& what) {
  return At("layer", "mean") / what;
}

/// [Spectral] Table 1: the activations that a block of a layer is compared with.
std::string activation_of(const std::string& block);
/// The same for a weight of a layer or the head, by the name in Moments: "layer1.A", "Af".
template <class P>
std::string compared_with(const GptWeight<P>& weight) {
  return weight.role == WeightRole::head ? "Af"
                                         : in_layer(weight.layer, activation_of(weight.block)).name;
}
/// The input of a weight, by the name in Moments. That of Wo is H.
template <class P>
std::string input_of(const GptWeight<P>& weight) {
  return weight.block == "Wo" ? in_layer(weight.layer, "H").name : compared_with(weight);
}

// Runs --------------------------------------------------------------------------------------------

// The axes of settings that compare runs: the model that a run trains, and for how many steps; the
// learning rates of the matrices inside layers, which may be tuned for each run, and the others.
inline const grid::Axes of_model = {"layers", "dim",      "heads",   "steps", "activation",
                                    "norm",   "position", "qk-norm", "init"},
                        inner_rates = {"lr-adam", "lr-muon", "lr-polar", "lr-sgd"},
                        outer_rates = {"lr-embedding", "lr-outer"};

/// How a run updates a matrix: its rule, the rate before --muon-scale, and what muon and polar
/// orthogonalize.
struct Update {
  Rule rule;
  double rate;
  Cut cut = {};
  bool fused = false;  // with the other ones, as one matrix [Wq; Wk; Wv]
  bool operator==(const Update&) const = default;
};

/// In --muon-parts: a matrix as it is, the part of each head (rows of Wq, Wk and Wv, columns of
/// Wo), or one matrix [Wq; Wk; Wv]. Also for one matrix, as "v=heads".
inline const std::vector<std::string> parts_words = {"whole", "heads", "fused"};
inline constexpr std::array<const char*, 4> matrices_of_heads = {"q", "k", "v", "o"};
inline bool has_heads(const std::string& block) {
  return std::ranges::any_of(matrices_of_heads,
                             [&](const char* name) { return block == std::string("W") + name; });
}
/// The heads of a matrix: outputs of Wq, Wk and Wv, inputs of Wo.
inline Cut cut_into_heads(const std::string& block, std::uint64_t heads) {
  return block == "Wo" ? Cut{.columns = heads} : Cut{.rows = heads};
}
/// The word of --muon-parts for a block such as "Wv". Throws UsageError for a word that is not
/// allowed.
std::string parts_of(const Config& config, const std::string& block);

/// Whether --muon-scale applies to steps of a rule.
inline bool takes_scale(Rule rule) {
  return rule == Rule::muon || rule == Rule::polar;
}

/// What a run computes. Two runs with equal ones train the same weights on the same batches.
struct Training {
  std::vector<grid::Setting> model;
  std::string mean_token;
  // Of each block: if it meets (1.8), and if it does not. If they differ, also `criterion_word`:
  // the run of Adam that decides, inside layers and outside.
  std::map<std::string, std::pair<Update, Update>> updates;
  std::string scale;  // --muon-scale; empty if no update has one
  bool operator==(const Training&) const = default;
};

/// One training: a model and an optimizer. Its settings are all that --also can change, by name;
/// those of its own --also vary. Their words are the values as their fields write them. Its place
/// has the optimizer and the settings that differ from the config's; it reads as the user typed it:
/// "muon,spectral-on=W2", and in claims "Muon,spectral-on=W2".
struct Run : grid::Run {
  std::string optimizer;
  bool is_main = false;  // of --optimizer, not of --also
  Config config;         // with the settings
  std::vector<double> measured,
      probed;  // steps before which ranks are measured on the batch; on held-out text. What --save
               // and --record write is not among them: it must not change a number
  // Steps before which best single steps are compared. With --one-step, for the first run and for
  // the run that differs from it in the mean token alone.
  std::vector<double> one_step_at = {};

  /// Whether it is the first run of all, which writes files.
  bool is_first() const { return is_main && optimizer == config.optimizer.front(); }
  const std::vector<double>& steps_of(MeasuredOn text) const {
    return text == MeasuredOn::held_out_text ? probed : measured;
  }
  /// The steps of one_step_at in a stage.
  std::vector<double> one_steps(const Stage& stage) const;
  Rule rule() const { return optimizer_named(optimizer).rule; }
  double rate() const { return config.*optimizer_named(optimizer).rate; }
  /// Whether `optimizer` updates a matrix of this block; otherwise Adam does.
  bool updates(WeightRole role, const std::string& block, bool meets_criterion) const;
  Update update_of(WeightRole role, const std::string& block, bool meets_criterion) const;
  /// Whether the update of a matrix depends on the criterion; that of Adam never does.
  bool follows_criterion() const;
  /// The weight matrices inside a layer: Wq, Wk, Wv, Wo, W1, W2 and, if the activation is gated,
  /// Wg.
  std::vector<std::string> blocks() const { return gpt_blocks(config.is_gated()); }
  /// The width of the feed-forward net.
  std::uint64_t hidden_width() const;
  /// The shape of the model for a vocabulary of this size.
  SequenceShape shape(std::uint64_t vocabulary) const;

  Training training() const;
  /// The settings that another run does not have.
  std::vector<grid::Setting> changes_from(const Run& other) const;
  bool same_workload(const Run& other) const {
    return same_on(other, of_model) && config.mean_token == other.config.mean_token;
  }
  /// The name in figures: "Muon on W2 only, SwiGLU"; "Adam at rate 0.01, embedding rate 0.03".
  std::string figure_label() const;
  /// A shorter name, for the ticks of an axis: "Muon on W2, SwiGLU"; "Adam, emb. rate 0.03".
  /// Without the learning rates if runs have rates of their own, as each choice of matrices has:
  /// they would fill the axis. Without the optimizer if all runs on the axis have the same one:
  /// "Wv+Wo".
  std::string tick_label(bool hides_rates, bool hides_optimizer = false) const;
};
/// A run of a config, whose settings of these names vary.
Run run_of(const Config& config, const std::string& optimizer,
           const std::set<std::string>& varying = {});

/// Changes of a config, for Plan::find().
inline void with_gate(Config& config) {
  config.activation = "swiglu";
}
/// Of --spectral-on, in the order of matrix_words.
inline auto on_matrices(std::vector<std::string> matrices) {
  return [matrices = std::move(matrices)](Config& config) { config.spectral_on = matrices; };
}

using RunPair = grid::Pair<Run>;

/// All runs of a config: the optimizers, then what --also asks for, whose words are read here once.
/// The first run has no changes.
struct Plan {
  std::vector<Run> runs;

  const Config& config() const { return runs.front().config; }
  /// The run of --optimizer, or null.
  const Run* main_run(const std::string& optimizer) const;
  /// The run that computes the same as one of this optimizer with the config that `change` has
  /// changed, or null.
  template <class Change>
  const Run* find(const std::string& optimizer, const Change& change) const {
    Config changed = config();
    change(changed);
    const Training wanted = run_of(changed, optimizer).training();
    return first_where([&](const Run& run) { return run.training() == wanted; });
  }
  /// The first run that satisfies ok(run), or null.
  template <class Ok>
  const Run* first_where(const Ok& ok) const {
    return grid::first_where(runs, ok);
  }
  /// Two runs with this optimizer that differ in the mean token and in learning rates only: with
  /// and without it.
  RunPair mean_token_pair(const std::string& optimizer) const;
  /// Without and with a gate, and nothing else changed.
  std::vector<RunPair> gated_pairs() const;
  /// The run that the paper's figures show, which is Muon's; null if the plan has no such run.
  const Run* paper_run() const { return main_run("muon"); }
  /// The run whose ranks our figures show: the paper's, else the first.
  const Run& shown_run() const { return paper_run() ? *paper_run() : runs.front(); }
};

/// Throws UsageError for an invalid --also.
Plan plan_of(const Config& config);

/// A series of ranks, shares, norms or ratios.
struct RankSeries {
  Quantity name;                       // "layer1.W2.ratio"
  std::optional<std::uint64_t> layer;  // of a quantity inside a layer
  Quantity what;                       // inside the layer: "W2.ratio"
};
/// All of them of a run.
std::vector<RankSeries> rank_series(const Run& run);
/// Those of --measure-heads, and their steps.
std::vector<RankSeries> head_series(const Run& run);
std::vector<double> head_steps(const Run& run);
/// The numbers of a run that are not series.
std::vector<Quantity> scalars_of(const Run& run);
/// All numbers of a run: its losses, the above on the batch and on held-out text, its single steps.
std::vector<Column> columns_of(const Run& run);

// From a trial to the result ----------------------------------------------------------------------

/// The file of the weights at a step: "model.safetensors" for the last step,
/// "model.step100.safetensors" for step 100.
std::string file_at(const std::string& file, std::uint64_t step, std::uint64_t last);
/// The file of the recording of a step.
std::string recording_file(const std::string& folder, std::uint64_t step);

/// Trains every run on the same batches. Trial 0 writes the files of config.save and
/// config.recordings. Throws Failure if that fails.
TrialRecord run_trial(const Plan& plan, const Corpus& corpus, const Trial& trial);

/// All runs in all trials: what claims and figures are made from.
struct Trained {
  const Config& config;
  const Records& records;
  const Plan plan = plan_of(config);

  grid::RunRecords of(const Run& run) const { return {run, records}; }
  /// Final losses; infinite if the run diverged.
  std::vector<double> losses(const Run& run, const Measure& loss = final_validation_loss) const {
    return of(run).numbers(loss, std::numeric_limits<double>::infinity());
  }
  /// "Adam 3.76", for the detail of a claim.
  std::string losses_text(const Run& run, const Measure& loss = final_validation_loss) const {
    return say("{} {}", run.label, summarize(losses(run, loss)).mean);
  }
  std::vector<double> loss_differences(const RunPair& pair) const {
    return differences(losses(*pair.first), losses(*pair.second));
  }
  std::vector<Divergence> divergences(const std::vector<const Run*>& of) const {
    return grid::divergences_of(of, records);
  }
};

void judge(const Trained& all, Claims& claims);

/// Adds what compares runs: differences of losses, and points of single steps.
void derive_comparisons(Numbers& out, const Trained& all);
/// Draws all figures. The first one is Table 2 if the plan has its runs, otherwise the ranks of
/// Figures 2, 5 and 6.
void draw(Display& out, const Trained& all);

}  // namespace ranklab::gpt
