#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/train/config.hpp"
#include "experiments/rank_collapse/train/train.hpp"
#include "io/atomic_file.hpp"
#include "nn/layers/mamba2.hpp"
#include "nn/mixers.hpp"
#include "nn/saved_weights.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::train {
namespace {

class TrainStudy : public Study {
 public:
  std::vector<Field> fields() override;

  void resolve_defaults() override { resolve_task_defaults(config_); }
  void validate() const override;
  Estimate estimate() const override;

  std::vector<Output> outputs(std::uint64_t trial) const override {
    if (config_.save.empty()) return {};
    std::vector<Output> out;
    const Plan plan = plan_of(config_);
    for (const Curve& curve : plan.curves) {
      const std::string weights = weights_file(plan, curve, trial);
      out.push_back({weights});
      out.push_back({weights_config_file(weights), false});
    }
    if (trial == 0 && config_.task == "text") out.push_back({tokens_file(config_)});
    return out;
  }

  Work work() const override {
    const Plan plan = plan_of(config_);
    if (!config_.save.empty()) {
      for (const Curve& curve : plan.curves) check_writable(weights_file(plan, curve, 0));
    }
    // Read the files before the trials, so that a missing or damaged file is reported at once.
    return each_trial(
        [plan, &task = task()](Trial& trial) { return run_trial(plan, task, trial); });
  }
  Result report(const Records& records) const override {
    return train::report(plan_of(config_), task(), records);
  }

 private:
  const Task& task() const {
    return task_.get([&] { return Task(config_); });
  }

  TrainConfig config_;
  mutable OncePerRun<Task> task_;
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
      precision_field(c.precision),
      choice_field("task", c.task, {"recall", "pixels", "image", "patches", "text"}, "",
                   "recall: output the values of keys that were shown before; pixels (or image): "
                   "classify an image, pixel by pixel; "
                   "patches: the same, patch by patch, read from a class token; text: predict the "
                   "next token"),
      choice_list_field("model", c.model, mixer_names(), "", "token mixer"),
      choice_list_field("variant", c.variant, variants, "",
                        "pre: norms before the branches; post: norms after the sums; de-escalated: "
                        "post, with the mean token removed"),
      numeric(text_list_field("lambda", c.lambda,
                              "strengths of the skip, one curve per value: numbers, or learned "
                              "(one lambda per block); learned:0.1 "
                              "uses that rate in place of --lambda-rate")),
      real_field("lambda-start", c.lambda_start, -1e6, 1e6, "",
                 "initial value of a learned lambda"),
      excluding_low(
          real_field("lambda-rate", c.lambda_rate, 0.0, 1e6, "",
                     "learning rate of a learned lambda, as a multiple of the weights' rate")),
      choice_list_field("lambda-where", c.lambda_where, {"mixer", "both"}, "",
                        "skips that lambda multiplies: the mixer's only, or both of a block"),
      real_field("tau", c.tau, 0.0, 1.0, "tau",
                 "de-escalated: fraction of the mean token that is removed; of a learned one, its "
                 "initial value"),
      or_empty(choice_list_field(
          "mean", c.mean, means, "",
          "de-escalated: tokens in the mean; segment: all, as printed (a causal model would see "
          "later "
          "tokens); strict: earlier tokens; prefix: earlier tokens and the token itself")),
      choice_field("at", c.at, {"", "end", "ffn", "branch"}, "",
                   "de-escalated: place of the removal; end: end of the block; ffn: before the "
                   "feed-forward net and its skip; branch: "
                   "before the net only (not given: end for images, else ffn)"),
      numeric(or_empty(text_list_field(
          "removal", c.removal,
          "de-escalated: PLACE:TAU, one curve per value, in place of --at and --tau; learned "
          "trains one tau per block, as in end:1,ffn:0.5,ffn:learned"))),
      excluding_low(real_field("tau-rate", c.tau_rate, 0.0, 1e6, "",
                               "learning rate of a learned tau, as a multiple of the weights' "
                               "rate")),
      or_empty(size_list_field("layers", c.layers, 1, 1000, "L",
                               "number of blocks (not given: the task's default)")),
      or_unset(
          size_field("dim", c.dim, 0, largest, "d", "token width (not given: the task's default)")),
      or_unset(size_field(
          "heads", c.heads, 0, largest, "h",
          "number of attention heads, a divisor of --dim (not given: the task's default)")),
      numeric(text_list_field(
          "ffn", c.ffn,
          "width of the feed-forward nets; 0: no such nets; mamba2:0 sets it for one model")),
      or_empty(choice_list_field(
          "init", c.init, initializations, "",
          "initial weights; fan: maps N(0, 1/fan_in); small: N(0, 0.02^2); alg1: as [Shallow] "
          "Algorithm 1, "
          "attention without an output map; torch: as PyTorch's linear maps; normal: "
          "N(0, --init-variance / d)")),
      real_field("init-variance", c.init_variance, -1.0, 1000.0, "d sigma^2",
                 "variance of --init normal, times d (-1: the task's default)"),
      choice_field("activation", c.activation, {"", "gelu", "relu", "relu2", "silu"}, "",
                   "activation of the feed-forward nets"),
      choice_field("positions", c.positions, {"", "learned", "relative"}, "",
                   "position encoding; learned: added at the input; relative: text only, as in "
                   "Transformer-XL, with its scaled token "
                   "table and output bias"),
      text_list_field("norm", c.norm, "layer or rms norm; mamba2:rms sets it for one model"),
      or_unset(size_field("batch", c.batch, 0, largest, "B",
                          "sequences per step (not given: the task's default)")),
      numeric(text_list_field(
          "steps", c.steps,
          "training steps; mamba2:800 sets them for one model, small:1500 for one --init")),
      numeric(text_list_field("lr", c.lr, "learning rate of AdamW, in the format of --steps")),
      or_empty(real_list_field("lr-post", c.lr_post, 1e-12, 1000.0, "",
                               "learning rates of the variant post, one curve per value")),
      size_field("warmup", c.warmup, 0, 10'000'000, "",
                 "warm-up steps of the learning rate (0: none if variants are compared, else a "
                 "tenth of --steps)"),
      or_empty(size_list_field("warmup-post", c.warmup_post, 0, 10'000'000, "",
                               "warm-up steps of the variant post, one curve per value")),
      choice_field("schedule", c.schedule, {"", "cosine", "steps", "quarter-cosine"}, "",
                   "decay of the learning rate; cosine: to 0 along half a cosine; steps: divided "
                   "by 5 at 70 % and 90 % of the steps; "
                   "quarter-cosine: along the first quarter of half a cosine"),
      real_field("clip", c.clip, -1.0, 1e12, "",
                 "clip the norm of all gradients together to this value; 0: no clipping (-1: the "
                 "task's default)"),
      real_field("weight-decay", c.weight_decay, -1.0, 1000.0, "",
                 "weight decay of maps and tables (-1: the task's default)"),
      text_field("vocab", c.vocab, "recall: number of token ids; text: char, or bpe:V"),
      or_unset(
          size_field("length", c.length, 0, largest, "T",
                     "tokens per sequence (not given: the task's default, or the image's size)")),
      size_field("pairs", c.pairs, 1, largest, "D", "recall: number of key-value pairs"),
      text_field("idx", c.idx,
                 "images: folder of gzipped IDX files (not given: Fashion-MNIST of Debian's "
                 "dataset-fashion-mnist)"),
      text_field("digits", c.digits, "images: scikit-learn's digits.csv.gz"),
      text_field("cifar", c.cifar, "images: folder of CIFAR-10's binary batches"),
      choice_field("readout", c.readout, {"", "mean", "class"}, "",
                   "images: readout of the mean token, or of a class token that is put first"),
      or_unset(
          size_field("patch", c.patch, 0, 64, "p",
                     "patches: side of a patch (not given: 7, or 2 for --digits, 4 for --cifar)")),
      or_unset(size_field("pool", c.pool, 0, 64, "",
                          "images: side of the pixel squares that are averaged (not given: 4 for "
                          "pixels, 1 for patches)")),
      size_field("train-size", c.train_size, 1, 10'000'000, "",
                 "images: number of training images, the first of the file"),
      size_field("test-size", c.test_size, 1, 10'000'000, "",
                 "images: number of held-out images, the first of the test file"),
      text_field(
          "text", c.text,
          "text to learn (not given: the King James Bible of Debian's package bible-kjv-text)"),
      output(text_field("save", c.save,
                        "FILE.safetensors: the trained weights, one file per curve and trial "
                        "(FILE.2.safetensors for the second "
                        "trial); text: also held-out windows as token ids, FILE.tokens.txt")),
  };
}

/// Constraints among positions, readouts and de-escalation.
void validate_variants(const TrainConfig& c) {
  if (c.positions == "relative" && c.task != "text") {
    throw UsageError("--positions: relative is not allowed with --task " + c.task +
                     "; allowed: learned");
  }
  if (c.positions == "relative" && c.dim % 2 != 0) {
    throw UsageError("--dim: " + std::to_string(c.dim) +
                     " is not allowed with --positions relative; allowed: even numbers");
  }
  if (c.readout == "class" && !c.is_images()) {
    throw UsageError("--readout: class is not allowed with --task " + c.task + "; allowed: mean");
  }
  for (const std::string& model : c.model) {
    if (c.readout == "class" && mixer_row(model).always_causal) {
      throw UsageError("--readout: class is not allowed with --model " + model +
                       "; its first token sees no other token; allowed: mean");
    }
  }
  if (!c.is_images() || c.readout != "mean") return;
  for (const Curve& curve : plan_of(c).curves) {
    if (curve.at != "end" || curve.mean != "segment" || curve.tau != 1) continue;
    throw UsageError(
        (c.removal.empty() ? "--tau: 1 is not allowed with --at end, "
                           : "--removal: tau = 1 at the end is not allowed with ") +
        std::string("--mean segment and --readout mean, because the mean token would be zero; "
                    "allowed: below 1"));
  }
}

void TrainStudy::validate() const {
  const TrainConfig& c = config_;
  if ((!c.idx.empty()) + (!c.digits.empty()) + (!c.cifar.empty()) > 1) {
    throw UsageError("--idx, --digits, --cifar: only one of them is allowed");
  }
  if (c.is_images() && c.length != 0)
    throw UsageError("--length: not allowed with --task " + c.task +
                     ", where the image size sets it");
  if (c.task != "patches" && c.patch != 0)
    throw UsageError("--patch: not allowed with --task " + c.task +
                     "; allowed with: --task patches");
  validate_variants(c);
  if (c.dim % c.heads != 0) {
    throw UsageError("--heads: " + std::to_string(c.heads) + " does not divide --dim " +
                     std::to_string(c.dim));
  }
  if (std::count(c.model.begin(), c.model.end(), "mamba2") &&
      2 * c.dim % Mamba2Shape{}.head_width != 0) {
    throw UsageError("--dim: " + std::to_string(c.dim) +
                     " is not allowed with --model mamba2; allowed: multiples of " +
                     std::to_string(Mamba2Shape{}.head_width / 2));
  }
  expected_shape(c);
  const Plan plan = plan_of(c);
  std::set<std::string> names;
  for (const Curve& curve : plan.curves) {
    if (curve.at == "branch" && curve.hidden == 0) {
      throw UsageError(
          "--at: branch is not allowed with --ffn 0, which removes the feed-forward net; allowed: "
          "end|ffn");
    }
    if (!names.insert(curve.name).second)
      throw UsageError("--lambda: curve " + curve.name + " is listed twice");
    if (curve.warmup > curve.steps) {
      throw UsageError("--warmup: " + std::to_string(curve.warmup) +
                       " is not allowed; allowed: at most --steps " + std::to_string(curve.steps));
    }
  }
}

Estimate TrainStudy::estimate() const {
  const Plan plan = plan_of(config_);
  Estimate cost;
  const SequenceShape task = expected_shape(config_);
  std::vector<double> bytes;
  for (const Curve& curve : plan.curves) {
    bytes.push_back(training_bytes(plan, curve, task));
    cost.helper_bytes = std::max(cost.helper_bytes, helper_bytes(plan, curve, task));
    cost.helpers = std::max(cost.helpers, most_helpers(plan, curve, task));
  }
  // At most one model per core is in memory at a time: count the largest ones.
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  bytes.resize(std::min<std::size_t>(bytes.size(), available_cores()));
  cost.bytes = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  const double image = 4 * (config_.cifar.empty() ? 28 * 28 : 3 * 32 * 32) * 1.1;
  cost.shared_bytes =
      config_.is_images()
          ? image * static_cast<double>(config_.train_size + config_.test_size) + 60e6
      : config_.task == "text" ? 200e6
                               : 1e6;
  return cost;
}

}  // namespace
}  // namespace ranklab::train

std::unique_ptr<ranklab::Study> ranklab::make_train_study() {
  return std::make_unique<train::TrainStudy>();
}
