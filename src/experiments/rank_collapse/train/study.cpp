#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/train/config.hpp"
#include "experiments/rank_collapse/train/train.hpp"
#include "io/atomic_file.hpp"
#include "training/mamba2.hpp"
#include "training/tensors_to_write.hpp"

namespace ranklab::train {
namespace {

const std::vector<std::string> models = {"attention", "linear-attention", "mamba2", "s4d"}, starts = {"fan", "small"};

// What the specification of a task says where the config does not.
struct TaskDefaults {
  std::uint64_t dim, layers, length, batch;
  double weight_decay;
  std::string vocab;
  std::vector<std::string> ffn, steps, lr;
};

const TaskDefaults& defaults_of(const std::string& task) {
  static const TaskDefaults recall{
      32, 2, 32, 64, 0.1, "64", {"64"}, {"1200", "mamba2:800", "s4d:800"}, {"0.003", "mamba2:0.01", "s4d:0.01"}},
      pixels{32, 2, 0, 32, 0, "", {"64"}, {"300"}, {"0.002"}}, text{64, 4, 64, 16, 0.1, "bpe:1024", {"256"}, {"600"}, {"0.003"}};
  return task == "recall" ? recall : task == "pixels" ? pixels : text;
}

/// NaN where the word is no number.
double read_number(const std::string& word) {
  double value = 0;
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? value : std::nan("");
}

double number_of(const std::string& word, const std::string& flag, double low, double high, bool integer) {
  const double value = read_number(word);
  if (!(value >= low && value <= high) || (integer && value != std::floor(value))) {
    throw UsageError(flag + ": '" + printable(word) + "' is not allowed; allowed: " + (integer ? "integer, " : "number, ") +
                     short_number(low) + " to " + short_number(high) +
                     ", alone for all curves or behind a model or a start, as in mamba2:" + short_number(low > 0 ? low : 1));
  }
  return value;
}

/// Of words as {"1200", "mamba2:800"} the one that a curve gets: that behind its model or start, or that without a key.
std::string word_for(const std::vector<std::string>& words, const Curve& curve, const std::string& flag) {
  std::string general, own;
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos) {
      if (!general.empty())
        throw UsageError(flag + ": both " + printable(general) + " and " + printable(word) + " are for all curves");
      general = word;
      continue;
    }
    const std::string key = word.substr(0, colon);
    std::vector<std::string> keys = models;
    keys.insert(keys.end(), starts.begin(), starts.end());
    if (!std::count(keys.begin(), keys.end(), key)) {
      throw UsageError(flag + ": '" + printable(word) + "' is not allowed; allowed before the colon: " + joined(keys, "|"));
    }
    if (key != curve.model && key != curve.init) continue;
    if (!own.empty()) throw UsageError(flag + ": " + curve.name + " gets two values");
    own = word.substr(colon + 1);
  }
  if (own.empty() && general.empty()) throw UsageError(flag + ": nothing is said for " + curve.model);
  return own.empty() ? general : own;
}

double lambda_of(const std::string& word) {
  const double value = read_number(word);
  if (!(std::fabs(value) <= 1e6)) {
    throw UsageError("--lambda: '" + printable(word) + "' is not allowed; allowed: numbers from -1e6 to 1e6, and learned");
  }
  return value;
}

/// One axis of the product of curves: what it is in names, and whether it stands there.
std::string named(bool stands, const std::string& what) {
  return stands ? "," + what : "";
}

Curve curve_of(const TrainConfig& c, const std::string& model, const std::string& lambda, const std::string& variant,
               std::uint64_t layers, const std::string& init, const std::string& where) {
  Curve curve;
  curve.model = model, curve.variant = variant, curve.init = init, curve.where = where, curve.layers = layers;
  curve.learns = lambda == "learned";
  curve.lambda = curve.learns ? c.lambda_start : lambda_of(lambda);
  const std::string rest = named(variant != "pre" || c.variant.size() > 1, variant) +
                           named(layers != defaults_of(c.task).layers || c.layers.size() > 1, "L=" + std::to_string(layers)) +
                           named(c.init.size() > 1, "init=" + init) + named(c.lambda_where.size() > 1, "where=" + where);
  const bool shows_lambda = curve.learns || curve.lambda != 1 || c.lambda.size() > 1;
  curve.name = model + named(shows_lambda, "lambda=" + (curve.learns ? "learned" : series_number(curve.lambda))) + rest;
  curve.group = model + rest;
  curve.steps = static_cast<std::uint64_t>(number_of(word_for(c.steps, curve, "--steps"), "--steps", 1, 1e7, true));
  curve.lr = number_of(word_for(c.lr, curve, "--lr"), "--lr", 1e-12, 1000, false);
  curve.hidden = static_cast<std::uint64_t>(number_of(word_for(c.ffn, curve, "--ffn"), "--ffn", 0, 1'000'000, true));
  const std::string norm = word_for(c.norm, curve, "--norm");
  if (norm != "layer" && norm != "rms") {
    throw UsageError("--norm: '" + printable(norm) + "' is not allowed; allowed: layer|rms, alone or as in mamba2:rms");
  }
  curve.norm = norm == "rms" ? Norm::rms : Norm::layer;
  curve.warmup = c.warmup > 0 ? c.warmup : (curve.steps + 9) / 10;
  return curve;
}

class TrainStudy : public Study {
 public:
  std::vector<Field> fields() override;

  void settle() override {
    TrainConfig& c = config_;
    if (c.task == "image") c.task = "pixels";
    const TaskDefaults& own = defaults_of(c.task);
    const auto settle = [](auto& value, const auto& its_default) {
      if (value == std::decay_t<decltype(value)>{}) value = its_default;
    };
    settle(c.dim, own.dim);
    if (c.layers.empty()) c.layers = {own.layers};
    settle(c.length, own.length);
    settle(c.batch, own.batch);
    settle(c.vocab, own.vocab);
    settle(c.steps, own.steps);
    settle(c.lr, own.lr);
    settle(c.ffn, c.dim == own.dim ? own.ffn : std::vector<std::string>{std::to_string((c.task == "text" ? 4 : 2) * c.dim)});
    if (c.weight_decay < 0) c.weight_decay = own.weight_decay;
  }

  void validate() const override;
  Estimate estimate() const override;

  Result run(Runner& runner) const override {
    const Plan plan = plan_of(config_);
    if (!config_.save.empty()) {
      for (const Curve& curve : plan.curves) check_writable(weights_file(plan, curve));
    }
    // Read before the trials, so that a file that is missing or damaged is refused before anything else.
    const Task task(config_);
    const auto records = runner.run([&](Trial& trial) { return run_trial(plan, task, runner.single_precision(), trial); });
    return report(plan, task, records);
  }

 private:
  TrainConfig config_;
};

std::vector<Field> TrainStudy::fields() {
  TrainConfig& c = config_;
  constexpr std::uint64_t largest = 65536;
  const auto numeric = [](Field field) {
    field.numeric_words = true;
    return field;
  };
  const auto output = [](Field field) {
    field.names_output = true;
    return field;
  };
  return {
      choice_field("task", c.task, {"recall", "pixels", "image", "text"}, "",
                   "recall: keys and values, then keys whose values are asked for; pixels (or image): the class of an image, pixel "
                   "after pixel; text: the next token"),
      choice_list_field("model", c.model, models, "", "what mixes tokens"),
      choice_list_field("variant", c.variant, {"pre", "post"}, "", "norms before the branches, or after the sums"),
      numeric(text_list_field("lambda", c.lambda, "strengths of the skip: numbers, and learned, one for each block")),
      real_field("lambda-start", c.lambda_start, -1e6, 1e6, "", "where a learned lambda starts"),
      excluding_low(real_field("lambda-rate", c.lambda_rate, 0.0, 1e6, "", "its learning rate over that of the weights")),
      choice_list_field("lambda-where", c.lambda_where, {"mixer", "both"}, "", "the skips that lambda multiplies"),
      size_list_field("layers", c.layers, 1, 1000, "L", "blocks"),
      or_unset(size_field("dim", c.dim, 0, largest, "d", "width of a token (not given: the task's own)")),
      size_field("heads", c.heads, 1, largest, "h", "heads of attention, which divide --dim"),
      numeric(text_list_field("ffn", c.ffn, "width of the feed-forward nets, 0 for none; mamba2:0 for one model alone")),
      choice_list_field("init", c.init, starts, "", "fan: maps N(0, 1/fan_in); small: N(0, 0.02^2)"),
      text_list_field("norm", c.norm, "layer or rms; mamba2:rms for one model alone"),
      or_unset(size_field("batch", c.batch, 0, largest, "B", "sequences of a step (not given: the task's own)")),
      numeric(text_list_field("steps", c.steps, "steps of training; mamba2:800 for one model, small:1500 for one start alone")),
      numeric(text_list_field("lr", c.lr, "learning rate of AdamW, in the same way")),
      or_unset(size_field("warmup", c.warmup, 0, 10'000'000, "", "steps in which rates climb (not given: a tenth of --steps)")),
      real_field("weight-decay", c.weight_decay, -1.0, 1000.0, "", "of maps and tables (-1: the task's own)"),
      text_field("vocab", c.vocab, "recall: the number of ids; text: char, or bpe:V"),
      or_unset(size_field("length", c.length, 0, largest, "T", "tokens of a sequence (not given: the task's own, or the image's)")),
      size_field("pairs", c.pairs, 1, largest, "D", "recall: keys and their values"),
      text_field("idx", c.idx, "pixels: a folder of gzipped IDX files; by default Fashion-MNIST of Debian's dataset-fashion-mnist"),
      text_field("digits", c.digits, "pixels: scikit-learn's digits.csv.gz"),
      text_field("cifar", c.cifar, "pixels: the folder of CIFAR-10's binary batches"),
      size_field("pool", c.pool, 1, 64, "", "pixels: the side of the squares that are averaged"),
      size_field("train-size", c.train_size, 1, 10'000'000, "", "the first so many images to learn"),
      size_field("test-size", c.test_size, 1, 10'000'000, "", "and held out"),
      text_field("text", c.text, "a text to learn; by default the King James Bible of Debian's package bible-kjv-text"),
      output(text_field("save", c.save,
                        "FILE.safetensors: trained weights of trial 0, one file for each curve; of text also held-out windows as "
                        "ids, FILE.tokens.txt")),
  };
}

void TrainStudy::validate() const {
  const TrainConfig& c = config_;
  if ((!c.idx.empty()) + (!c.digits.empty()) + (!c.cifar.empty()) > 1) {
    throw UsageError("--idx, --digits, --cifar: only one of them is allowed");
  }
  if (c.task == "pixels" && c.length != 0) throw UsageError("--length is not allowed with --task pixels: the image says it");
  if (c.dim % c.heads != 0) {
    throw UsageError("--heads: " + std::to_string(c.heads) + " does not divide --dim " + std::to_string(c.dim));
  }
  if (std::count(c.model.begin(), c.model.end(), "mamba2") && 2 * c.dim % Mamba2Shape{}.head_width != 0) {
    throw UsageError("--dim: " + std::to_string(c.dim) + " is not allowed with --model mamba2, whose heads of width " +
                     std::to_string(Mamba2Shape{}.head_width) + " divide 2 d");
  }
  expected_shape(c);
  const Plan plan = plan_of(c);
  std::set<std::string> names;
  for (const Curve& curve : plan.curves) {
    if (!names.insert(curve.name).second) throw UsageError("--lambda: " + curve.name + " stands twice in the list");
    if (curve.warmup > curve.steps) {
      throw UsageError("--warmup: " + std::to_string(curve.warmup) + " is beyond --steps " + std::to_string(curve.steps));
    }
  }
}

Estimate TrainStudy::estimate() const {
  const Plan plan = plan_of(config_);
  Estimate cost;
  const SequenceShape task = expected_shape(config_);
  const double N = static_cast<double>(config_.batch * task.length),
               asked = static_cast<double>(config_.batch) * static_cast<double>(task.classes > 0           ? 1
                                                                                : config_.task == "recall" ? config_.pairs
                                                                                                           : task.length);
  for (const Curve& curve : plan.curves) {
    SequenceShape shape = task;
    shape.dim = config_.dim, shape.hidden = curve.hidden, shape.layers = curve.layers, shape.heads = config_.heads;
    shape.mixer = mixer_of(curve.model);
    // One model in training, one in double beside it.
    cost.bytes += 2 * 8 * sequence_numbers(shape, N, asked);
    cost.flops += 3.5 * static_cast<double>(curve.steps) * sequence_flops(shape, N, asked);
  }
  const double image = 4 * 28 * 28 * 1.1;
  cost.shared_bytes = config_.task == "pixels" ? image * static_cast<double>(config_.train_size + config_.test_size) + 60e6
                      : config_.task == "text" ? 200e6
                                               : 1e6;
  return cost;
}

}  // namespace

Plan plan_of(const TrainConfig& config) {
  Plan plan{config, {}};
  for (const std::string& model : config.model) {
    for (const std::uint64_t layers : config.layers) {
      for (const std::string& init : config.init) {
        for (const std::string& where : config.lambda_where) {
          for (const std::string& variant : config.variant) {
            for (const std::string& lambda : config.lambda) {
              plan.curves.push_back(curve_of(config, model, lambda, variant, layers, init, where));
            }
          }
        }
      }
    }
  }
  return plan;
}

MixerKind mixer_of(const std::string& model) {
  return model == "attention"          ? MixerKind::attention
         : model == "linear-attention" ? MixerKind::linear_attention
         : model == "mamba2"           ? MixerKind::mamba2
                                       : MixerKind::s4d;
}

SequenceShape shape_of(const Plan& plan, const Curve& curve, const Task& task) {
  SequenceShape shape = task.shape();
  shape.dim = plan.config.dim;
  shape.heads = plan.config.heads;
  shape.hidden = curve.hidden;
  shape.layers = curve.layers;
  shape.mixer = mixer_of(curve.model);
  shape.norm = curve.norm;
  shape.post = curve.variant == "post";
  shape.lambda = curve.lambda;
  shape.learns_lambda = curve.learns;
  shape.lambda_rate = plan.config.lambda_rate;
  shape.lambda_at_both = curve.where == "both";
  shape.activation = &find_activation("gelu");
  return shape;
}

const Curve* Plan::with_lambda(const Curve& curve, double lambda) const {
  const auto found = std::find_if(curves.begin(), curves.end(), [&](const Curve& each) { return each.is(curve, lambda); });
  return found == curves.end() ? nullptr : &*found;
}

const Curve* Plan::learned(const Curve& curve) const {
  const auto found =
      std::find_if(curves.begin(), curves.end(), [&](const Curve& each) { return each.learns && each.group == curve.group; });
  return found == curves.end() ? nullptr : &*found;
}

std::vector<const Curve*> Plan::groups() const {
  std::vector<const Curve*> out;
  for (const Curve& curve : curves) {
    const bool known = std::any_of(out.begin(), out.end(), [&](const Curve* each) { return each->group == curve.group; });
    if (!known) out.push_back(&curve);
  }
  return out;
}

std::string weights_file(const Plan& plan, const Curve& curve) {
  const std::string& file = plan.config.save;
  if (plan.curves.size() == 1) return file;
  return beside(file, "." + curve.name + ".safetensors");
}

}  // namespace ranklab::train

std::unique_ptr<ranklab::Study> ranklab::make_train_study() {
  return std::make_unique<train::TrainStudy>();
}
