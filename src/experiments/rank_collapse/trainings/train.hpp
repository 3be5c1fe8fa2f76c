// `rank-collapse --study train`: trains models with lambda-skip connections, or with the mean token
// removed from post-norm blocks, and measures their tokens. Sources: [LambdaSkip] Table 1, Figure
// 5, and the trained models of Figures 1 and 2; [Shallow] Figures 6 and 7. All sizes fit a laptop.
//
//   train.cpp              flags, defaults, runs, checks, memory
//   task.cpp               training batches and held-out cases
//   trial.cpp              what is trained and measured
//   claims_*.cpp           how it is judged: lambdas as in [LambdaSkip], variants as in [Shallow]
//   report.cpp, figures_*  what is shown
#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "core/track.hpp"
#include "data/corpus.hpp"
#include "data/images.hpp"
#include "data/recall.hpp"
#include "experiments/grid/runs.hpp"
#include "experiments/kit.hpp"
#include "nn/sequence_model.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::train {

class Task;
struct Run;

/// The strength of a skip: an element of --lambda.
struct Skip {
  double lambda = 1;  // if it is learned: its initial value
  bool learned = false;
  double rate = 0;            // of a learned one, relative to that of the weights
  bool rate_differs = false;  // from --lambda-rate
  std::string word = {};      // "learned:0.1", as given

  bool operator==(const Skip& other) const {
    return lambda == other.lambda && learned == other.learned && rate == other.rate;
  }
  bool is_fixed_at(double value) const { return !learned && lambda == value; }
  /// "-2", "learned", or "learned, rate x 0.1"; the label puts "lambda = " before a number.
  std::string text() const;
  std::string label() const { return (learned ? "" : "lambda = ") + text(); }
};

/// Where de-escalation removes the mean token, and how much of it: --at and --tau, or an element of
/// --removal.
struct Removal {
  std::string at;  // "" without de-escalation
  double tau = 0;  // if it is learned: its initial value
  bool learned = false;
  std::string word = {};  // "ffn:0.5", as given

  bool operator==(const Removal& other) const {
    return at == other.at && tau == other.tau && learned == other.learned;
  }
};

/// 0, "" and an empty list mean the task's default, which fill_defaults() fills in. A list such
/// as {"1200", "mamba2:800"} holds one value for all runs, or KEY:VALUE for some of them. The key
/// is a model, an initialization (--init) or a variant.
struct Config : Study {
  std::string precision = "f64";
  std::string task = "recall";
  std::vector<std::string> model = {"attention"}, variant = {"pre"};
  // Numbers, `learned`, or `learned:RATE` to override lambda_rate; as skips().
  std::vector<std::string> lambda = {"1"};
  double lambda_start = -1, lambda_rate = 0.1;
  std::vector<std::string> lambda_where = {"mixer"}, init;
  double init_variance = -1;  // d sigma^2 of the initialization `normal`; -1: the task's default
  // For the variant de-escalated.
  double tau = 1;
  std::vector<std::string> mean;
  std::string at;
  // Places and taus such as {"end:1", "ffn:learned"}, one run for each. Empty: `at` and `tau`.
  std::vector<std::string> removal;
  double tau_rate = 10;               // of a learned tau, which starts at `tau`
  std::vector<std::uint64_t> layers;  // L
  std::uint64_t dim = 0, heads = 0;   // d, h
  std::vector<std::string> ffn, norm = {"layer"};
  std::string activation, positions;
  // warmup 0: no warm-up if variants are compared, otherwise a tenth of the steps.
  std::uint64_t batch = 0, warmup = 0;
  std::vector<std::string> steps, lr;
  // For the variant post: one run per value.
  std::vector<double> lr_post;
  std::vector<std::uint64_t> warmup_post;
  std::string schedule;
  double clip = -1;  // -1: the task's default
  // recall and text
  std::string vocab;         // recall: the number of ids; text: char, or bpe:<V>
  std::uint64_t length = 0;  // tokens of a sequence; for images, the image size sets it
  std::uint64_t pairs = 4;   // recall: key-value pairs
  // pixels and patches
  std::string idx, digits, cifar, readout;
  std::uint64_t pool = 0, patch = 0, train_size = 5000, test_size = 1000;
  // text
  std::string text;

  std::string save;  // trained weights, one file per run and trial

  std::vector<Field> flags() override;
  /// Fills the fields that are not set with the defaults of the task.
  void fill_defaults() override;
  /// Of maps and tables.
  double weight_decay() const;
  /// The defaults of each task: a row for each flag, below a head.
  std::vector<std::vector<std::string>> table_of_defaults() const override;
  void check() const override;
  Estimate memory() const override;
  std::vector<Output> outputs(std::uint64_t trial) const override;
  Work work() const override;

  std::string title() const override;
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  bool single_precision() const { return precision == "f32"; }
  bool is_images() const { return task == "pixels" || task == "image" || task == "patches"; }
  bool is_text() const { return task == "text"; }
  /// Whether the run compares variants as in [Shallow] (placement of norms and de-escalation)
  /// instead of lambdas. The task and the variants decide.
  bool compares_variants() const {
    return task == "patches" || (is_text() && variant != std::vector<std::string>{"pre"});
  }
  /// The elements of --lambda; those of --removal, or the one of --at and --tau. Throw a UsageError
  /// that names the flag, as runs().
  std::vector<Skip> skips() const;
  std::vector<Removal> removals() const;
  /// One run for each combination of elements of the lists.
  std::vector<Run> runs() const;
  /// The task with its files, read once for this config and its copies. Throws as Task().
  const Task& read_task() const;
  /// The file of one run in one trial: `save` with the run's name before the extension if there
  /// are several runs, then the number of the trial from the second trial on:
  /// weights.mamba2.2.safetensors.
  std::string weights_file(const Run& run, std::uint64_t trial) const;
  /// The held-out tokens of a text, next to the weights.
  std::string tokens_file() const;

  std::shared_ptr<OncePerRun<Task>> once = std::make_shared<OncePerRun<Task>>();
};

// The axes of settings in which runs are compared.
inline const grid::Axes of_skip = {"lambda"},
                        of_variant = {"variant", "mean", "removal", "lr", "warmup"},
                        of_depth_and_variant = {"L", "variant", "mean", "removal", "lr", "warmup"};

/// One model, trained once in each trial. All runs of a trial see the same batches.
struct Run : grid::Run {
  // An element of each list; empty if the list is, or if it is about other variants.
  std::string model, init, where, variant, mean;
  Removal removal;
  Skip skip;
  std::uint64_t layers = 2;
  std::optional<double> lr_post;
  std::optional<std::uint64_t> warmup_post;

  std::uint64_t hidden = 64, steps = 300, warmup = 30;
  Norm norm = Norm::layer;
  double lr = 1e-3;

  /// "attention,L=8": its place without lambda.
  At group_place() const { return grid::place_of(but_for(of_skip)); }
  std::string group() const { return group_place().text; }
  /// "init=torch": what runs of different depths and variants share, if runs differ in it.
  At setting_place() const { return grid::place_of(grid::varying(but_for(of_depth_and_variant))); }
  /// Whether runs differ in lambda only; in nothing but the depth and the variant with its rate,
  /// warm-up, mean and removal; in none of these but the depth.
  bool same_group(const Run& other) const { return same_but_for(other, of_skip); }
  bool same_setting(const Run& other) const { return same_but_for(other, of_depth_and_variant); }
  bool same_variant(const Run& other) const { return same_on(other, of_variant); }

  using grid::Run::key;
  /// One of the numbers below at a moment.
  Quantity key(const std::string& moment, const Measure& number) const;
  /// Steps after each tenth of a run, from the tenth `first` on; 0 is the start.
  std::vector<double> tenths_from(std::size_t first) const;
  /// `first` ... L: from 0 the representations, from 1 the blocks.
  std::vector<double> layers_from(std::uint64_t first) const;
};

/// The shape of a run's model, from the task's shape or from the one expected before files are
/// read.
SequenceShape shape_of(const Config& config, const Run& run, SequenceShape task_shape);
/// Floating-point operations of one run in one trial.
double training_flops(const Config& config, const Run& run, const SequenceShape& task_shape);

/// Recall, images as sequences of pixels or patches, or text.
class Task {
 public:
  /// Reads the files that the config names. Throws a UsageError that names the flag, or a Failure
  /// for files.
  explicit Task(const Config& config);

  /// The fields of the shape that the task sets: sequence length, token type, readout, and whether
  /// the model is causal.
  SequenceShape shape() const;
  /// Accuracy of guessing: 1 / D for recall (among the values that a sequence shows), 1 / classes
  /// for images, best_guess() for text.
  double chance() const { return chance_; }
  /// Accuracy of the best constant answer on the held-out cases: the most frequent class or token.
  /// For recall, the value of the pair that is queried most often at the query's position, because
  /// early positions query early pairs.
  double best_guess() const { return best_guess_; }
  /// The loss in nats of a model that predicts answer frequencies: ln(classes), ln(pairs), or the
  /// entropy of single tokens of the training text.
  double guessing_loss() const { return guessing_loss_; }
  /// Number of held-out answers per trial.
  double cases() const;

  template <class T>
  SequenceBatch<T> draw(Stream& stream) const;
  /// All held-out cases in batches. For recall and text they are drawn per trial. The first batch
  /// is as large as a training batch.
  template <class T>
  std::vector<SequenceBatch<T>> held_out(const Trial& trial) const;

  /// The data that was read, for the notes of the result.
  std::string description() const;
  /// Held-out windows of a text as token ids, one window per line: input for measuring a saved
  /// model.
  std::string windows_text(const Trial& trial) const;

 private:
  template <class T>
  SequenceBatch<T> images(const Images& from, const std::vector<std::uint32_t>& which) const;

  Config config_;
  RecallShape recall_;
  std::optional<ImageTask> images_;
  std::optional<Corpus> corpus_;
  double chance_ = 0, best_guess_ = 0, guessing_loss_ = 0;
};

/// The shape expected before files are read, for checks and estimates. The vocabulary is an upper
/// bound.
SequenceShape expected_shape(const Config& config);

// What a run records ----------------------------------------------------------------------------

inline constexpr std::size_t tenths = 10;
inline constexpr Measure
    train_loss = {"train_loss", "", "mean training loss in a tenth of the steps", "nats"},
    accuracy = {"accuracy", "", "share of held-out answers that are correct"},
    test_loss = {"test_loss", "", "loss on held-out cases", "nats"},  // if variants are compared
    final_train_loss = {"final_train_loss", "", "mean training loss in the last tenth of the steps",
                        "nats"},
    final_test_loss = {"final_test_loss", "", "loss on held-out cases after training", "nats"},
    final_accuracy = {"final_accuracy", "", "share of correct answers after training"},
    steps_to_90 = {"steps_to_90", "", "first step with at least 90 % accuracy on a training batch"},
    learned_lambda = {"learned_lambda", "lambda", "learned strength of the skip, after training"},
    learned_tau = {"learned_tau", "tau", "learned share of the mean token that is removed"};
/// Of a block, from 1.
inline Quantity learned_lambda_of(std::uint64_t block) {
  const At at("block", block, std::to_string(block));
  return {say("{}.{}", learned_lambda.name, at.text), learned_lambda, at};
}
// At moments of a run, over the representations R_0 ... R_L or the blocks 1 ... L. If variants are
// compared, also those of the second list.
inline constexpr Measure
    mu_normalized = {"mu_normalized", "mu / ||R||",
                     "distance of the tokens from their mean, over their norm"},
    token_similarity = {"token_similarity", "", "share of the tokens' mean in their norm"},
    dispersion = {"dispersion", "||v - mean v||_F / ||v||_F",
                  "distance of the sequences' mean tokens v, of the normalized R, from their mean"},
    block_gradient = {"gradient_norm", "||G||_F", "norm of the gradients of a block"},
    mixer_gradient = {"mixer_gradient_norm", "||G||_F", "norm of the gradients of a mixer"};
inline constexpr Measure cosine = {"cosine_similarity", "", "mean cosine of two tokens"},
                         rms = {"rms", "||R||_F / sqrt(d N)", "root mean square of the entries"},
                         branch_ratio = {"branch_ratio", "||A||_F / ||R||_F",
                                         "mixer output over residual stream"};
// For language models.
inline constexpr Measure
    future_loss = {"future_loss", "", "loss of tokens whose successors are replaced by other text",
                   "nats"},
    future_excess = {"future_excess", "",
                     "rise of the loss of tokens if other text replaces their successors", "nats"},
    future_gradient = {"future_gradient_share", "",
                       "share of ||d logits_t / d R_0||^2 on tokens after t"};

/// Times at which a run is measured: before it, after an eighth and a half of its steps, and after
/// it.
inline const std::vector<std::string> moments = {"start", "eighth", "half", "end"};
inline Quantity at_moment(const std::string& moment, const Measure& number) {
  return At("moment", moment) / number;
}
inline Quantity Run::key(const std::string& moment, const Measure& number) const {
  return key(at_moment(moment, number));
}
/// All of them, of one run.
std::vector<Column> columns_of(const Config& config, const Run& run);

/// Trains every run and writes the weights if config.save is set. Throws Failure if writing
/// fails.
TrialRecord run_trial(const Config& config, const std::vector<Run>& runs, const Task& task,
                      const Trial& trial);

// From the records to the result ------------------------------------------------------------------

inline constexpr double collapsed = 1e-3;  // tokens are collapsed if mu / ||R|| is below this

using grid::InTrial, grid::diverged, grid::trials_look;
/// Runs that differ in lambda only.
using Group = std::vector<const Run*>;
/// The run with this fixed lambda, or the first one that learns lambda; null without one.
const Run* with_lambda(const Group& group, double lambda);
const Run* learned(const Group& group);

/// All runs in all trials: what claims and figures are made from.
struct Trained {
  const Config& config;
  const Records& records;
  const std::vector<Run> runs = config.runs();

  const Task& task() const { return config.read_task(); }
  std::vector<Group> groups() const {
    return grid::grouped(runs, [](const Run& a, const Run& b) { return a.same_group(b); });
  }
  grid::RunRecords of(const Run& run) const { return {run, records}; }
  /// Final numbers; those of guessing stand for runs that diverged.
  std::vector<double> accuracies(const Run& run) const {
    return of(run).numbers(final_accuracy, task().chance());
  }
  /// Mean training losses over the last tenth of the steps.
  std::vector<double> losses(const Run& run) const {
    return of(run).numbers(final_train_loss, task().guessing_loss());
  }
  std::vector<Divergence> divergences(const std::vector<const Run*>& of) const {
    return grid::divergences_of(of, records);
  }
};

/// A case for the value of each trial; one that is not `ok` is a violation.
template <class Ok>
Tally count(const std::vector<double>& per_trial, const Ok& ok) {
  Tally tally;
  for (const double value : per_trial) {
    tally.begin_trial();
    tally.count(!ok(value), value);
  }
  return tally;
}

// Lambdas: [LambdaSkip] Table 1, Figure 5, and the trained models of Figures 1 to 3 ---------------

/// Claims about each group of runs, which differ in lambda only.
void judge_groups(const Trained& all, Claims& claims);
/// Claims about rank collapse as the cause of failed learning.
void judge_cause(const Trained& all, Claims& claims);
/// Claims of Table 1 about all groups.
void judge_table_1(const Trained& all, Claims& claims);

/// Whether Figure 5 shows such a model: attention with eight layers on images.
bool is_in_figure_5(const Config& config, const Run& run);

/// A row of [LambdaSkip] Table 1, accuracies in percent, at lambda = 1 and with a learned lambda
/// ("var. lambda").
struct PrintedRow {
  const char *model, *recall, *recall_learned, *image, *image_learned;
};
/// Null if Table 1 has no such row.
const PrintedRow* row_of_table_1(const std::string& model);

/// Adds accuracies over and by lambda.
void derive_lambdas(Numbers& out, const Trained& all);
/// A paper's table and the accuracies, or the training losses of language models. Learning curves
/// and tokens are further figures.
void draw_lambdas(Display& out, const Trained& all);

// Variants: [Shallow] Figures 6 and 7, and the gradients of Figure 1 ------------------------------

void judge_variants(const Trained& all, Claims& claims);

/// ||A||_F / ||X||_F of a run divided by that of the other run, the geometric mean over the
/// blocks from the second on, at a moment. At the first block, all variants have the same input.
double attention_share(const InTrial& trained, const Run& other, const std::string& moment);

/// Adds losses by depth, later held-out losses and the share of attention.
void derive_variants(Numbers& out, const Trained& all);
/// Losses; tokens and gradients are further figures.
void draw_variants(Display& out, const Trained& all);

// Words and parts of figures ----------------------------------------------------------------------

/// "post-norm, rate 0.001, no warm-up": the variant and, of its settings, those that vary.
std::string variant_name(const Run& run);
/// What distinguishes the group of a run from the others: "Mamba-2", "8 layers". May be empty.
std::vector<std::string> group_words(const Run& run);
/// The same in one phrase, or the model's title: "Mamba-2, 8 layers".
std::string group_name(const Run& run);
/// What runs of different depths and variants share, if runs differ in it.
std::string setting_name(const Run& run);

/// One quantity that small multiples show for each of several items.
struct DrawnQuantity {
  std::string name;
  Axis x, y;
  std::function<void(PanelBuilder& panel, std::size_t item)> draw;
  bool shares_axes = true;
};

/// Adds a further figure with one row per quantity and one column per item. If a row would be too
/// long, each quantity gets its own figure. `where` ends the titles of the figures.
void add_small_multiples(Display& out, const std::string& title, const std::string& where,
                         const std::vector<std::string>& items,
                         const std::vector<DrawnQuantity>& quantities);
/// Panels per row for this number of items.
std::size_t columns_for(std::size_t items);

}  // namespace ranklab::train
