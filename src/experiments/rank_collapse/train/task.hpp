// Training tasks: recall, images as sequences of pixels or patches, and text. A task gives training
// batches and held-out cases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "data/corpus.hpp"
#include "data/images.hpp"
#include "data/recall.hpp"
#include "experiments/rank_collapse/train/config.hpp"
#include "nn/sequence_model.hpp"
#include "run/trials.hpp"

namespace ranklab::train {

class Task {
 public:
  /// Reads the files that the config names. Throws a UsageError that names the flag, or a Failure
  /// for files.
  explicit Task(const TrainConfig& config);

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

  TrainConfig config_;
  RecallShape recall_;
  std::optional<ImageTask> images_;
  std::optional<Corpus> corpus_;
  double chance_ = 0, best_guess_ = 0, guessing_loss_ = 0;
};

/// The shape expected before files are read, for checks and estimates. The vocabulary is an upper
/// bound.
SequenceShape expected_shape(const TrainConfig& config);

}  // namespace ranklab::train
