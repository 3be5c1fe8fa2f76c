// `rank-collapse --study train`: trains models with lambda-skip connections, or with the mean token
// removed from post-norm blocks, and measures their tokens. Sources: [LambdaSkip] Table 1, Figure
// 5, and the trained models of Figures 1 and 2; [Shallow] Figures 6 and 7. All sizes fit a laptop.
//
//   train.cpp              flags, defaults, curves, checks, memory
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
#include "experiments/kit.hpp"
#include "nn/sequence_model.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::train {

class Task;
struct Curve;

/// 0, "" and an empty list mean the task's default, which fill_defaults() fills in. A list such
/// as {"1200", "mamba2:800"} holds one value for all curves, or KEY:VALUE for some of them. The key
/// is a model, an initialization (--init) or a variant.
struct Config {
  std::string precision = "f64";
  std::string task = "recall";
  std::vector<std::string> model = {"attention"}, variant = {"pre"};
  // Numbers, `learned`, or `learned:RATE` to override lambda_rate.
  std::vector<std::string> lambda = {"1"};
  double lambda_start = -1, lambda_rate = 0.1;
  std::vector<std::string> lambda_where = {"mixer"}, init;
  double init_variance = -1;  // d sigma^2 of the initialization `normal`; -1: the task's default
  // For the variant de-escalated.
  double tau = 1;
  std::vector<std::string> mean;
  std::string at;
  // Places and taus such as {"end:1", "ffn:learned"}, one curve for each. Empty: `at` and `tau`.
  std::vector<std::string> removal;
  double tau_rate = 10;               // of a learned tau, which starts at `tau`
  std::vector<std::uint64_t> layers;  // L
  std::uint64_t dim = 0, heads = 0;   // d, h
  std::vector<std::string> ffn, norm = {"layer"};
  std::string activation, positions;
  // warmup 0: no warm-up if variants are compared, otherwise a tenth of the steps.
  std::uint64_t batch = 0, warmup = 0;
  std::vector<std::string> steps, lr;
  // For the variant post: one curve per value.
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

  std::string save;  // trained weights, one file per curve and trial

  std::vector<Field> flags();
  /// Fills the fields that are not set with the defaults of the task.
  void fill_defaults();
  /// Of maps and tables.
  double weight_decay() const;
  /// The defaults of each task: a row for each flag, below a head.
  static std::vector<std::vector<std::string>> table_of_defaults();
  void check() const;
  Estimate memory() const;
  std::vector<Output> outputs(std::uint64_t trial) const;

  bool single_precision() const { return precision == "f32"; }
  bool is_images() const { return task == "pixels" || task == "image" || task == "patches"; }
  bool is_text() const { return task == "text"; }
  /// Whether the run compares variants as in [Shallow] (placement of norms and de-escalation)
  /// instead of lambdas. The task and the variants decide.
  bool compares_variants() const {
    return task == "patches" || (is_text() && variant != std::vector<std::string>{"pre"});
  }
  /// One curve for each combination of elements of the lists. Throws a UsageError that names the
  /// flag.
  std::vector<Curve> curves() const;
  /// The task with its files, read once for this config and its copies. Throws as Task().
  const Task& read_task() const;
  /// The file of one curve in one trial: `save` with the curve's name before the extension if there
  /// are several curves, then the number of the trial from the second trial on:
  /// weights.mamba2.2.safetensors.
  std::string weights_file(const Curve& curve, std::uint64_t trial) const;
  /// The held-out tokens of a text, next to the weights.
  std::string tokens_file() const;

  std::shared_ptr<OncePerRun<Task>> once = std::make_shared<OncePerRun<Task>>();
};

/// One model, trained once in each trial. All curves of a trial see the same batches.
struct Curve {
  At place;             // of its numbers: its settings
  At group_place;       // the same without lambda
  At setting_place;     // what same_setting() is about
  std::string name;     // how they read: "attention,lambda=0,L=8"
  std::string group;    // "attention,L=8"
  std::string setting;  // "init=torch"

  // An element of each list; empty if the list is, or if it is about other variants.
  std::string model, init, where, variant, mean, removal, skip;
  std::uint64_t layers = 2;
  std::optional<double> lr_post;
  std::optional<std::uint64_t> warmup_post;

  std::string at;  // "" without de-escalation
  double tau = 0;  // if it is learned: its initial value
  bool learns_tau = false, learns = false;
  double lambda = 1;          // if it is learned: its initial value
  double lambda_rate = 0;     // learning rate of a learned lambda, relative to that of the weights
  bool has_own_rate = false;  // it differs from --lambda-rate
  std::uint64_t hidden = 64, steps = 300, warmup = 30;
  Norm norm = Norm::layer;
  double lr = 1e-3;

  bool same_skip(const Curve& other) const {
    return learns == other.learns && lambda == other.lambda && lambda_rate == other.lambda_rate;
  }
  /// The place and tau of de-escalation.
  bool same_removal(const Curve& other) const {
    return at == other.at && tau == other.tau && learns_tau == other.learns_tau;
  }
  /// The variant with its rate, warm-up, mean and removal.
  bool same_variant(const Curve& other) const {
    return variant == other.variant && mean == other.mean && same_removal(other) &&
           lr_post == other.lr_post && warmup_post == other.warmup_post;
  }
  bool same_model(const Curve& other) const {
    return model == other.model && init == other.init && where == other.where;
  }
  /// Whether the curves differ only in lambda.
  bool same_group(const Curve& other) const {
    return layers == other.layers && same_model(other) && same_variant(other);
  }
  /// Whether they differ only in depth and in the variant with its rate, warm-up, mean and removal.
  bool same_setting(const Curve& other) const { return same_model(other) && same_skip(other); }

  /// The name in the result of one of the numbers below, or of one at a moment.
  Quantity key(const Quantity& number) const { return place / number; }
  Quantity key(const std::string& moment, const std::string& number) const;
  /// Steps after each tenth of a run, from the tenth `first` on; 0 is the start.
  std::vector<double> tenths_from(std::size_t first) const;
  /// `first` ... L: from 0 the representations, from 1 the blocks.
  std::vector<double> layers_from(std::uint64_t first) const;
};

/// The shape of a curve's model, from the task's shape or from the one expected before files are
/// read.
SequenceShape shape_of(const Config& config, const Curve& curve, SequenceShape task_shape);
/// Floating-point operations of one curve in one trial.
double training_flops(const Config& config, const Curve& curve, const SequenceShape& task_shape);

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

// What a curve records ----------------------------------------------------------------------------

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
    learned_lambda[] = "learned_lambda", learned_tau[] = "learned_tau";  // over blocks, at the end
/// Of a block, from 1.
inline Quantity learned_lambda_of(std::uint64_t block) {
  const At at("block", block, std::to_string(block));
  return {say("{}.{}", learned_lambda, at.text), learned_lambda, at};
}
// At moments of a run, over the representations R_0 ... R_L or the blocks 1 ... L.
inline constexpr char
    mu_normalized[] = "mu_normalized",
    token_similarity[] = "token_similarity",
    // ||v - mean v||_F / ||v||_F over sequences, where v is the mean token of norm(R_l)
    dispersion[] = "dispersion", block_gradient[] = "gradient_norm",
    mixer_gradient[] = "mixer_gradient_norm";
// If variants are compared, also these. rms is ||R_l||_F / sqrt(d N).
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
inline const std::vector<std::string> moments = {"start", "eighth", "half", "end"};
inline Quantity at_moment(const std::string& moment, const std::string& number) {
  return At("moment", moment) / number;
}
inline Quantity Curve::key(const std::string& moment, const std::string& number) const {
  return key(at_moment(moment, number));
}
/// All of them, of one curve.
std::vector<Column> columns_of(const Config& config, const Curve& curve);

/// Trains every curve and writes the weights if config.save is set. Throws Failure if writing
/// fails.
TrialRecord run_trial(const Config& config, const std::vector<Curve>& curves, const Task& task,
                      const Trial& trial);

// From the records to the result ------------------------------------------------------------------

inline constexpr double collapsed = 1e-3;  // tokens are collapsed if mu / ||R|| is below this

/// A curve in one trial, and its numbers.
struct TrainedRun {
  const Curve& curve;
  const TrialRecord& record;

  double operator()(const std::string& number) const { return record.scalar(curve.key(number)); }
  const std::vector<double>& array(const std::string& number) const {
    return record.array(curve.key(number));
  }
  const std::vector<double>& array(const std::string& moment, const std::string& number) const {
    return record.array(curve.key(moment, number));
  }
};

/// All curves in all trials: what claims and figures are made from.
class TrainedRuns {
 public:
  TrainedRuns(const Config& config_, const Task& task_, const Records& records_)
      : config(config_), task(task_), records(records_), curves(config_.curves()) {}
  TrainedRuns(const TrainedRuns&) = delete;

  const Config& config;
  const Task& task;
  const Records& records;
  const std::vector<Curve> curves;

  /// The first curve of each group, and all curves of a group.
  std::vector<const Curve*> groups() const;
  std::vector<const Curve*> group_of(const Curve& curve) const;
  /// The curve in the group of `curve` with this fixed lambda, or the first one that learns lambda;
  /// null if the group has no such curve.
  const Curve* with_lambda(const Curve& curve, double lambda) const;
  const Curve* learned(const Curve& curve) const;

  /// value(run) of a curve in every trial.
  template <class Value>
  std::vector<double> per_trial(const Curve& curve, const Value& value) const {
    return ranklab::per_trial(records, [&](const TrialRecord& record) {
      return value(TrainedRun{curve, record});
    });
  }
  /// A final number of a curve in every trial; `guessing` stands for runs that diverged.
  std::vector<double> finals(const Curve& curve, const char* number, double guessing) const {
    return per_trial(curve, [&](const TrainedRun& run) {
      return std::isfinite(run(number)) ? run(number) : guessing;
    });
  }
  std::vector<double> accuracies(const Curve& curve) const {
    return finals(curve, final_accuracy, task.chance());
  }
  /// Mean training losses over the last tenth of the steps.
  std::vector<double> losses(const Curve& curve) const {
    return finals(curve, final_train_loss, task.guessing_loss());
  }
  /// The tally that count(run, tally) fills from every trial.
  template <class Count>
  Tally tally(const Curve& curve, const Count& count) const {
    return tally_of(records, [&](const TrialRecord& record, Tally& tally) {
      count(TrainedRun{curve, record}, tally);
    });
  }
  std::vector<Divergence> divergences(const std::vector<const Curve*>& of) const;
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

void judge(const TrainedRuns& runs, Claims& claims);
Result report(const TrainedRuns& runs);

// Lambdas: [LambdaSkip] Table 1, Figure 5, and the trained models of Figures 1 to 3 ---------------

/// Claims about each group of curves, which differ in lambda only.
void judge_groups(const TrainedRuns& runs, Claims& claims);
/// Claims about rank collapse as the cause of failed learning.
void judge_cause(const TrainedRuns& runs, Claims& claims);
/// Claims of Table 1 about all groups.
void judge_table_1(const TrainedRuns& runs, Claims& claims);

/// Whether Figure 5 shows such a model: attention with eight layers on images.
bool is_in_figure_5(const Config& config, const Curve& curve);

/// A row of [LambdaSkip] Table 1, accuracies in percent, at lambda = 1 and with a learned lambda
/// ("var. lambda").
struct PrintedRow {
  const char *model, *recall, *recall_learned, *image, *image_learned;
};
/// Null if Table 1 has no such row.
const PrintedRow* row_of_table_1(const std::string& model);

/// A paper's table and the accuracies, or the training losses of language models. Learning curves
/// and tokens are further figures.
void draw_lambdas(ResultBuilder& out, const TrainedRuns& runs);

// Variants: [Shallow] Figures 6 and 7, and the gradients of Figure 1 ------------------------------

void judge_variants(const TrainedRuns& runs, Claims& claims);

/// ||A||_F / ||X||_F of a run divided by that of the other curve, the geometric mean over the
/// blocks from the second on, at a moment. At the first block, all variants have the same input.
double attention_share(const TrainedRun& run, const Curve& other, const std::string& moment);

/// Losses; tokens and gradients are further figures.
void draw_variants(ResultBuilder& out, const TrainedRuns& runs);

// Words and parts of figures ----------------------------------------------------------------------

/// "usual initial weights" for fan.
std::string start_name(const std::string& init);
/// "-2", "learned", or "learned, rate x 0.1"; the label puts "lambda = " before a number.
std::string skip_name(const Curve& curve);
std::string skip_label(const Curve& curve);
/// "post-norm, rate 0.001, no warm-up": the variant and, of its settings, those that vary.
std::string variant_name(const Config& config, const Curve& curve);
/// What distinguishes the group of a curve from the others: "Mamba-2", "8 layers". May be empty.
std::vector<std::string> group_words(const Config& config, const Curve& curve);
/// The same in one phrase, or the model's title: "Mamba-2, 8 layers".
std::string group_name(const Config& config, const Curve& curve);
/// What Curve::setting says, in words.
std::string setting_name(const Config& config, const Curve& curve);

/// The look of a curve that shows every training.
inline CurveLook trials_look(LineStyle style, int color, double x_offset = 0) {
  return {.style = style, .color = color, .x_offset = x_offset, .band = BandKind::trials};
}

/// One quantity that small multiples show for each of several items.
struct DrawnQuantity {
  std::string name;
  Axis x, y;
  std::function<void(PanelBuilder& panel, std::size_t item)> draw;
  bool shares_axes = true;
};

/// Adds a further figure with one row per quantity and one column per item. If a row would be too
/// long, each quantity gets its own figure. `where` ends the titles of the figures.
void add_small_multiples(ResultBuilder& out, const std::string& title, const std::string& where,
                         const std::vector<std::string>& items,
                         const std::vector<DrawnQuantity>& quantities);
/// Panels per row for this number of items.
std::size_t columns_for(std::size_t items);

}  // namespace ranklab::train
