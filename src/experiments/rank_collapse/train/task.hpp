// What is learned: recall, images as sequences of pixels or of patches, or text; batches to train on and cases held out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "experiments/rank_collapse/train/config.hpp"
#include "run/trials.hpp"
#include "training/sequence_model.hpp"
#include "training/tasks/corpus.hpp"
#include "training/tasks/images.hpp"
#include "training/tasks/recall.hpp"

namespace ranklab::train {

class Task {
 public:
  /// Reads what the config names. Throws UsageError that names the flag, Failure for files.
  explicit Task(const TrainConfig& config);

  /// What the task says about a model: the length of a sequence, what its tokens are, what is read out, whether it is causal.
  SequenceShape shape() const;
  /// Whether an answer belongs to a sequence.
  bool classifies() const { return images_.has_value(); }
  bool is_text() const { return corpus_.has_value(); }
  /// The share of right answers among guesses: 1 / D of the values that a sequence shows; 1 / classes; of text that of
  /// best_guess().
  double chance() const { return chance_; }
  /// What a constant answer may reach among the held-out cases: that of the most frequent class or token. For recall, the value of
  /// the pair that is asked for most often at a query's place: early places go to early pairs.
  double best_guess() const { return best_guess_; }
  /// The loss of a model that answers by how frequent the answers are, in nats: ln(classes), ln(pairs), the entropy of the tokens
  /// of the training text.
  double guessing_loss() const { return guessing_loss_; }
  /// Answers among the held-out cases of one trial.
  double cases() const;

  template <class T>
  SequenceBatch<T> draw(Stream& stream) const;
  /// All held-out cases, in batches; of recall and text drawn by trial. The first batch is as large as one of training.
  template <class T>
  std::vector<SequenceBatch<T>> held_out(const Trial& trial) const;

  /// What was read, for the notes.
  std::string description() const;
  /// Held-out windows of a text as ids, one to a line: what a saved model can be measured on.
  std::string windows_text(const Trial& trial) const;

 private:
  template <class T>
  SequenceBatch<T> images(const Images& from, const std::vector<std::uint32_t>& which) const;

  TrainConfig config_;
  RecallShape recall_;
  std::optional<ImageTask> images_;
  std::optional<Corpus> corpus_;
  double chance_ = 0, best_guess_ = 0, guessing_loss_ = 0;
};

/// Sizes that a task has before its files are read, for checks and estimates: the vocabulary as an upper bound.
SequenceShape expected_shape(const TrainConfig& config);

}  // namespace ranklab::train
