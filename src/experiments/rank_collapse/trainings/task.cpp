#include <algorithm>
#include <charconv>
#include <map>

#include "data/image_files.hpp"
#include "experiments/rank_collapse/trainings/train.hpp"

namespace ranklab::train {
namespace {

constexpr std::uint64_t recall_cases = 512, text_batches = 16, saved_windows = 64;
constexpr std::uint64_t largest_vocabulary = 1'000'000;

std::uint64_t ids_of(const std::string& vocab) {
  std::uint64_t size = 0;
  const char* const end = vocab.data() + vocab.size();
  const auto parsed = std::from_chars(vocab.data(), end, size);
  if (parsed.ec != std::errc() || parsed.ptr != end || size > largest_vocabulary) {
    throw UsageError(
        say("--vocab: '{}' is not allowed with --task recall; allowed: a number of ids up to {}",
            printable_key(vocab), largest_vocabulary));
  }
  return size;
}

RecallShape recall_of(const Config& config) {
  const RecallShape shape{ids_of(config.vocab), config.length, config.pairs};
  require_recall(shape);
  return shape;
}

ImageTask read_images(const Config& config) {
  ImageTask task =
      !config.digits.empty() ? read_digits(config.digits)
      : !config.cifar.empty()
          ? read_cifar(config.cifar, config.train_size, config.test_size, config.patch > 0)
          : read_fashion_mnist(config.idx, config.train_size, config.test_size);
  if (config.pool > 1) {
    task.training = pooled(task.training, config.pool);
    task.test = pooled(task.test, config.pool);
  }
  if (config.patch > 0) require_patch(task.training, config.patch);
  standardize(task);
  return task;
}

std::uint32_t index_below(std::uint64_t size, double uniform) {
  const double n = static_cast<double>(size);
  return static_cast<std::uint32_t>(std::min(std::floor(uniform * n), n - 1));
}

double share_of_most_frequent(const std::vector<std::uint32_t>& answers) {
  std::map<std::uint32_t, double> counts;
  for (const std::uint32_t answer : answers) counts[answer] += 1;
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->second / static_cast<double>(answers.size());
}

/// In nats.
double entropy(const std::vector<std::uint32_t>& tokens) {
  std::map<std::uint32_t, double> counts;
  for (const std::uint32_t token : tokens) counts[token] += 1;
  double sum = 0;
  const double all = static_cast<double>(tokens.size());
  for (const auto& [token, count] : counts) sum -= count / all * std::log(count / all);
  return sum;
}

/// Estimated from a separate random stream, so it is the same in every run. Accurate to a few
/// tenths of a percent.
double guess_by_position(const RecallShape& shape) {
  constexpr std::uint64_t sequences = 40'000, at_once = 500;
  Stream stream(0, 0, "guess by place");
  arma::mat counts(shape.pairs, shape.length, arma::fill::zeros);
  for (std::uint64_t done = 0; done < sequences; done += at_once) {
    const RecallBatch batch = draw_recall(shape, at_once, stream);
    for (std::size_t i = 0; i < batch.columns.size(); ++i)
      counts(i % shape.pairs, batch.columns[i] % shape.length) += 1;
  }
  return arma::accu(arma::max(counts, 0)) / arma::accu(counts);
}

}  // namespace

Task::Task(const Config& config) : config_(config) {
  config_.once = nullptr;  // it holds this task
  if (config.task == "recall") {
    recall_ = recall_of(config);
    chance_ = 1 / static_cast<double>(recall_.pairs);
    best_guess_ = guess_by_position(recall_);
    guessing_loss_ = std::log(static_cast<double>(recall_.pairs));
  } else if (config.is_images()) {
    images_ = read_images(config);
    chance_ = 1 / static_cast<double>(images_->test.classes);
    best_guess_ = share_of_most_frequent(images_->test.labels);
    guessing_loss_ = std::log(static_cast<double>(images_->training.classes));
  } else {
    corpus_ = read_corpus(config.text, config.vocab, config.length + 1);
    chance_ = best_guess_ = share_of_most_frequent(corpus_->validation);
    guessing_loss_ = entropy(corpus_->training);
  }
}

namespace {

SequenceShape shape_of_images(const Config& config, const Images& images) {
  const std::uint64_t patch = std::max<std::uint64_t>(config.patch, 1);
  SequenceShape shape;
  shape.inputs = images.planes * patch * patch;
  shape.classes = images.classes;
  shape.class_token = config.readout == "class";
  shape.length = (images.width / patch) * (images.height / patch) + (shape.class_token ? 1 : 0);
  shape.causal = false;
  return shape;
}

}  // namespace

SequenceShape expected_shape(const Config& config) {
  SequenceShape shape;
  if (config.task == "recall") {
    shape.vocabulary = recall_of(config).vocabulary;
    shape.length = config.length;
  } else if (config.is_images()) {
    Images images;
    // The sizes of the published images; pooled() checks those of the files.
    const std::uint64_t pool = std::max<std::uint64_t>(config.pool, 1);
    const std::uint64_t side = !config.digits.empty() ? 8 : !config.cifar.empty() ? 32 : 28;
    images.width = images.height = std::max<std::uint64_t>(side / pool, 1);
    images.planes = !config.cifar.empty() && config.patch > 0 ? 3 : 1;
    shape = shape_of_images(config, images);
  } else {
    shape.vocabulary = std::max<std::uint64_t>(vocabulary_size(config.vocab), 256);
    shape.length = config.length;
  }
  return shape;
}

SequenceShape Task::shape() const {
  if (images_) return shape_of_images(config_, images_->training);
  SequenceShape shape;
  shape.vocabulary = corpus_ ? corpus_->vocabulary : recall_.vocabulary;
  shape.length = config_.length;
  return shape;
}

double Task::cases() const {
  return static_cast<double>(images_   ? images_->test.labels.size()
                             : corpus_ ? text_batches * config_.batch * config_.length
                                       : recall_cases * recall_.pairs);
}

template <class T>
SequenceBatch<T> Task::images(const Images& from, const std::vector<std::uint32_t>& which) const {
  SequenceBatch<T> batch;
  batch.values = patch_tokens<T>(from, std::max<std::uint64_t>(config_.patch, 1), which);
  for (const std::uint32_t image : which) batch.targets.push_back(from.labels[image]);
  return batch;
}

namespace {

template <class T>
SequenceBatch<T> recall_batch(RecallBatch&& drawn) {
  return {.ids = std::move(drawn.ids),
          .values = {},
          .labeled = std::move(drawn.columns),
          .targets = std::move(drawn.targets)};
}

}  // namespace

template <class T>
SequenceBatch<T> Task::draw(Stream& stream) const {
  if (corpus_)
    return next_token_batch<T>(
        draw_windows(corpus_->training, config_.batch, config_.length, stream));
  if (!images_) return recall_batch<T>(draw_recall(recall_, config_.batch, stream));
  std::vector<double> at(config_.batch);
  stream.fill_uniform(at);
  std::vector<std::uint32_t> which;
  for (const double u : at) which.push_back(index_below(images_->training.labels.size(), u));
  return images<T>(images_->training, which);
}

template <class T>
std::vector<SequenceBatch<T>> Task::held_out(const Trial& trial) const {
  std::vector<SequenceBatch<T>> out;
  const std::uint64_t cases = images_   ? images_->test.labels.size()
                              : corpus_ ? text_batches * config_.batch
                                        : recall_cases;
  Stream stream = trial.stream("held-out");
  for (std::uint64_t first = 0; first < cases; first += config_.batch) {
    const std::uint64_t size = std::min(config_.batch, cases - first);
    if (corpus_) {
      out.push_back(
          next_token_batch<T>(draw_windows(corpus_->validation, size, config_.length, stream)));
    } else if (!images_) {
      out.push_back(recall_batch<T>(draw_recall(recall_, size, stream)));
    } else {
      std::vector<std::uint32_t> which;
      for (std::uint64_t i = 0; i < size; ++i)
        which.push_back(static_cast<std::uint32_t>(first + i));
      out.push_back(images<T>(images_->test, which));
    }
  }
  return out;
}

template SequenceBatch<float> Task::draw<float>(Stream&) const;
template SequenceBatch<double> Task::draw<double>(Stream&) const;
template std::vector<SequenceBatch<float>> Task::held_out<float>(const Trial&) const;
template std::vector<SequenceBatch<double>> Task::held_out<double>(const Trial&) const;

std::string Task::description() const {
  if (images_) {
    const Images &training = images_->training, &test = images_->test;
    return say(
        "{}, checksum {}: {} training images, {} held-out images, {} x {} pixels{}; always "
        "guessing "
        "the most frequent class has a held-out accuracy of {} %.",
        images_->name, images_->checksum, training.labels.size(), test.labels.size(),
        training.width, training.height,
        config_.patch > 0 ? say(" in patches of {} x {}", config_.patch, config_.patch)
                          : " after pooling",
        100 * best_guess_);
  }
  if (corpus_) {
    return say(
        "The text is {}, {} bytes, checksum {}: {} training tokens with a vocabulary of {}, {} "
        "held-out tokens. The entropy of single tokens is {} nats.",
        corpus_->text, corpus_->bytes, corpus_->checksum, corpus_->training.size(),
        corpus_->vocabulary, corpus_->validation.size(), guessing_loss_);
  }
  return say(
      "Recall: {} in {} tokens; guessing among the values shown has an accuracy of {} %, the best "
      "guess by query position {} %. Each trial holds out {} sequences.",
      plural(recall_.pairs, "key-value pair"), recall_.length, 100 * chance_, 100 * best_guess_,
      recall_cases);
}

std::string Task::windows_text(const Trial& trial) const {
  std::string out;
  std::uint64_t written = 0;
  for (const SequenceBatch<double>& batch : held_out<double>(trial)) {
    for (std::size_t n = 0; n < batch.ids.size() && written < saved_windows; ++n) {
      const bool ends = (n + 1) % config_.length == 0;
      out += std::to_string(batch.ids[n]) + (ends ? "\n" : " ");
      written += ends ? 1 : 0;
    }
  }
  return out;
}

}  // namespace ranklab::train
