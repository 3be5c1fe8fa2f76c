// `rank-collapse --study train`: trains models with lambda-skip connections, or with the mean token
// removed from post-norm blocks, and measures their tokens. Sources: [LambdaSkip] Table 1, Figure
// 5, and the trained models of Figures 1 and 2; [Shallow] Figures 6 and 7. All sizes fit a laptop.
//
// Here: the flags, and the task, which gives training batches and held-out cases.
#pragma once

#include <optional>

#include "data/corpus.hpp"
#include "data/images.hpp"
#include "data/recall.hpp"
#include "experiments/kit.hpp"
#include "nn/sequence_model.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::train {

class Task;

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
  double clip = -1, weight_decay = -1;  // -1: the task's default
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
  void check() const;
  Estimate memory() const;
  std::vector<Output> outputs(std::uint64_t trial) const;

  bool single_precision() const { return precision == "f32"; }
  bool is_images() const { return task == "pixels" || task == "image" || task == "patches"; }
  /// Whether the run compares variants as in [Shallow] (placement of norms and de-escalation)
  /// instead of lambdas. The task and the variants decide.
  bool compares_variants() const {
    return task == "patches" || (task == "text" && variant != std::vector<std::string>{"pre"});
  }
  /// The task with its files, read once for this config and its copies. Throws as Task().
  const Task& read_task() const;

  std::shared_ptr<OncePerRun<Task>> once = std::make_shared<OncePerRun<Task>>();
};

/// Recall, images as sequences of pixels or patches, or text.
class Task {
 public:
  /// Reads the files that the config names. Throws a UsageError that names the flag, or a Failure
  /// for files.
  explicit Task(const Config& config);

  /// The fields of the shape that the task sets: sequence length, token type, readout, and whether
  /// the model is causal.
  SequenceShape shape() const;
  /// Whether there is one answer per sequence.
  bool classifies() const { return images_.has_value(); }
  bool is_text() const { return corpus_.has_value(); }
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

}  // namespace ranklab::train
