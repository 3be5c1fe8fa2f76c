#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "core/machine.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/train/train.hpp"
#include "io/atomic_file.hpp"
#include "nn/layers/mamba2.hpp"
#include "nn/mixers.hpp"
#include "nn/saved_weights.hpp"

namespace ranklab::train {

std::vector<Field> Config::flags() {
  constexpr std::uint64_t largest = 65536;
  const auto numeric = [](Field field) {
    field.numeric_words = true;
    return field;
  };
  const auto output = [](Field field) {
    field.names_output = true;
    return field;
  };
  const auto has = [](const std::vector<std::string>& list, const std::string& word) {
    return std::count(list.begin(), list.end(), word) > 0;
  };
  const auto only = [](bool applies, const char* needs) {
    return [=](Field field) { return only_if(applies, needs, std::move(field)); };
  };
  const auto learns = [](const std::string& word) {
    return word.find(learned_word) != std::string::npos;
  };
  const bool removes = has(variant, "de-escalated"),
             learns_tau = std::any_of(removal.begin(), removal.end(), learns);
  const auto of_recall = only(task == "recall", "--task recall"),
             of_ids = only(!is_images(), "--task recall or text"),
             of_images = only(is_images(), "--task pixels or patches"),
             of_text = only(task == "text", "--task text"),
             of_post = only(has(variant, "post"), "--variant post"),
             of_de_escalated = only(removes, "--variant de-escalated"),
             of_place =
                 only(removes && removal.empty(), "--variant de-escalated, and no --removal"),
             of_tau = only(removes && (removal.empty() || learns_tau),
                           "--variant de-escalated, and no --removal or a learned one"),
             of_learned_tau =
                 only(removes && learns_tau, "--variant de-escalated --removal PLACE:learned"),
             of_learned_lambda =
                 only(std::any_of(lambda.begin(), lambda.end(), learns), "--lambda learned"),
             of_normal = only(has(init, "normal"), "--init normal");
  return {
      precision_field(precision),
      choice_field("task", task, {"recall", "pixels", "image", "patches", "text"}, "",
                   "recall: output the values of keys that were shown before; pixels (or image): "
                   "classify an image, pixel by pixel; "
                   "patches: the same, patch by patch, read from a class token; text: predict the "
                   "next token"),
      choice_list_field("model", model, mixer_names(), "", "token mixer"),
      choice_list_field("variant", variant, variants, "",
                        "pre: norms before the branches; post: norms after the sums; de-escalated: "
                        "post, with the mean token removed"),
      numeric(text_list_field("lambda", lambda,
                              "strengths of the skip, one curve per value: numbers, or learned "
                              "(one lambda per block); learned:0.1 "
                              "uses that rate in place of --lambda-rate")),
      of_learned_lambda(real_field("lambda-start", lambda_start, -1e6, 1e6, "",
                                   "initial value of a learned lambda")),
      of_learned_lambda(excluding_low(
          real_field("lambda-rate", lambda_rate, 0.0, 1e6, "",
                     "learning rate of a learned lambda, as a multiple of the weights' rate"))),
      choice_list_field("lambda-where", lambda_where, {"mixer", "both"}, "",
                        "skips that lambda multiplies: the mixer's only, or both of a block"),
      of_tau(real_field(
          "tau", tau, 0.0, 1.0, "tau",
          "de-escalated: fraction of the mean token that is removed; of a learned one, its "
          "initial value")),
      of_de_escalated(or_empty(choice_list_field(
          "mean", mean, means, "",
          "de-escalated: tokens in the mean; segment: all, as printed (a causal model would see "
          "later "
          "tokens); strict: earlier tokens; prefix: earlier tokens and the token itself"))),
      of_place(
          choice_field("at", at, {"", "end", "ffn", "branch"}, "",
                       "de-escalated: place of the removal; end: end of the block; ffn: before the "
                       "feed-forward net and its skip; branch: "
                       "before the net only (not given: end for images, else ffn)")),
      of_de_escalated(numeric(or_empty(text_list_field(
          "removal", removal,
          "de-escalated: PLACE:TAU, one curve per value, in place of --at and --tau; learned "
          "trains one tau per block, as in end:1,ffn:0.5,ffn:learned")))),
      of_learned_tau(
          excluding_low(real_field("tau-rate", tau_rate, 0.0, 1e6, "",
                                   "learning rate of a learned tau, as a multiple of the weights' "
                                   "rate"))),
      or_empty(size_list_field("layers", layers, 1, 1000, "L",
                               "number of blocks (not given: the task's default)")),
      or_unset(
          size_field("dim", dim, 0, largest, "d", "token width (not given: the task's default)")),
      or_unset(size_field(
          "heads", heads, 0, largest, "h",
          "number of attention heads, a divisor of --dim (not given: the task's default)")),
      numeric(text_list_field(
          "ffn", ffn,
          "width of the feed-forward nets; 0: no such nets; mamba2:0 sets it for one model")),
      or_empty(choice_list_field(
          "init", init, initializations, "",
          "initial weights; fan: maps N(0, 1/fan_in); small: N(0, 0.02^2); alg1: as [Shallow] "
          "Algorithm 1, "
          "attention without an output map; torch: as PyTorch's linear maps; normal: "
          "N(0, --init-variance / d)")),
      of_normal(real_field("init-variance", init_variance, -1.0, 1000.0, "d sigma^2",
                           "variance of --init normal, times d (-1: the task's default)")),
      choice_field("activation", activation, {"", "gelu", "relu", "relu2", "silu"}, "",
                   "activation of the feed-forward nets"),
      choice_field("positions", positions, {"", "learned", "relative"}, "",
                   "position encoding; learned: added at the input; relative: text only, as in "
                   "Transformer-XL, with its scaled token "
                   "table and output bias"),
      text_list_field("norm", norm, "layer or rms norm; mamba2:rms sets it for one model"),
      or_unset(size_field("batch", batch, 0, largest, "B",
                          "sequences per step (not given: the task's default)")),
      numeric(text_list_field(
          "steps", steps,
          "training steps; mamba2:800 sets them for one model, small:1500 for one --init")),
      numeric(text_list_field("lr", lr, "learning rate of AdamW, in the format of --steps")),
      of_post(or_empty(real_list_field("lr-post", lr_post, 1e-12, 1000.0, "",
                                       "learning rates of the variant post, one curve per value"))),
      size_field("warmup", warmup, 0, 10'000'000, "",
                 "warm-up steps of the learning rate (0: none if variants are compared, else a "
                 "tenth of --steps)"),
      of_post(or_empty(size_list_field("warmup-post", warmup_post, 0, 10'000'000, "",
                                       "warm-up steps of the variant post, one curve per value"))),
      choice_field("schedule", schedule, {"", "cosine", "steps", "quarter-cosine"}, "",
                   "decay of the learning rate; cosine: to 0 along half a cosine; steps: divided "
                   "by 5 at 70 % and 90 % of the steps; "
                   "quarter-cosine: along the first quarter of half a cosine"),
      real_field("clip", clip, -1.0, 1e12, "",
                 "clip the norm of all gradients together to this value; 0: no clipping (-1: the "
                 "task's default)"),
      real_field("weight-decay", weight_decay, -1.0, 1000.0, "",
                 "weight decay of maps and tables (-1: the task's default)"),
      of_ids(text_field("vocab", vocab, "recall: number of token ids; text: char, or bpe:V")),
      or_unset(
          size_field("length", length, 0, largest, "T",
                     "tokens per sequence (not given: the task's default, or the image's size)")),
      of_recall(size_field("pairs", pairs, 1, largest, "D", "recall: number of key-value pairs")),
      of_images(
          text_field("idx", idx,
                     "images: folder of gzipped IDX files (not given: Fashion-MNIST of Debian's "
                     "dataset-fashion-mnist)")),
      of_images(text_field("digits", digits, "images: scikit-learn's digits.csv.gz")),
      of_images(text_field("cifar", cifar, "images: folder of CIFAR-10's binary batches")),
      of_images(
          choice_field("readout", readout, {"", "mean", "class"}, "",
                       "images: readout of the mean token, or of a class token that is put first")),
      or_unset(
          size_field("patch", patch, 0, 64, "p",
                     "patches: side of a patch (not given: 7, or 2 for --digits, 4 for --cifar)")),
      of_images(or_unset(
          size_field("pool", pool, 0, 64, "",
                     "images: side of the pixel squares that are averaged (not given: 4 for "
                     "pixels, 1 for patches)"))),
      of_images(size_field("train-size", train_size, 1, 10'000'000, "",
                           "images: number of training images, the first of the file")),
      of_images(size_field("test-size", test_size, 1, 10'000'000, "",
                           "images: number of held-out images, the first of the test file")),
      of_text(text_field(
          "text", text,
          "text to learn (not given: the King James Bible of Debian's package bible-kjv-text)")),
      output(text_field("save", save,
                        "FILE.safetensors: the trained weights, one file per curve and trial "
                        "(FILE.2.safetensors for the second "
                        "trial); text: also held-out windows as token ids, FILE.tokens.txt")),
  };
}

namespace {

/// Constraints among positions, readouts and de-escalation.
void validate_variants(const Config& c) {
  if (c.positions == "relative" && c.task != "text") {
    throw UsageError("--positions: relative is not allowed with --task " + c.task +
                     "; allowed: learned");
  }
  if (c.positions == "relative" && c.dim % 2 != 0) {
    throw UsageError(
        say("--dim: {} is not allowed with --positions relative; allowed: even numbers", c.dim));
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

}  // namespace

void Config::check() const {
  if ((!idx.empty()) + (!digits.empty()) + (!cifar.empty()) > 1) {
    throw UsageError("--idx, --digits, --cifar: only one of them is allowed");
  }
  if (is_images() && length != 0)
    throw UsageError("--length: not allowed with --task " + task +
                     ", where the image size sets it");
  if (task != "patches" && patch != 0)
    throw UsageError("--patch: not allowed with --task " + task + "; allowed with: --task patches");
  validate_variants(*this);
  if (dim % heads != 0) {
    throw UsageError(say("--heads: {} does not divide --dim {}", heads, dim));
  }
  if (std::count(model.begin(), model.end(), "mamba2") && 2 * dim % Mamba2Shape{}.head_width != 0) {
    throw UsageError(say("--dim: {} is not allowed with --model mamba2; allowed: multiples of {}",
                         dim, Mamba2Shape{}.head_width / 2));
  }
  expected_shape(*this);
  const Plan plan = plan_of(*this);
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
      throw UsageError(say("--warmup: {} is not allowed; allowed: at most --steps {}", curve.warmup,
                           curve.steps));
    }
  }
}

Estimate Config::memory() const {
  const Plan plan = plan_of(*this);
  Estimate cost;
  const SequenceShape expected = expected_shape(*this);
  std::vector<double> bytes;
  for (const Curve& curve : plan.curves) {
    bytes.push_back(training_bytes(plan, curve, expected));
    cost.helper_bytes = std::max(cost.helper_bytes, helper_bytes(plan, curve, expected));
    cost.helpers = std::max(cost.helpers, most_helpers(plan, curve, expected));
  }
  // At most one model per core is in memory at a time: count the largest ones.
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  bytes.resize(std::min<std::size_t>(bytes.size(), available_cores()));
  cost.bytes = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  const double image = 4 * (cifar.empty() ? 28 * 28 : 3 * 32 * 32) * 1.1;
  cost.shared_bytes = is_images()      ? image * static_cast<double>(train_size + test_size) + 60e6
                      : task == "text" ? 200e6
                                       : 1e6;
  return cost;
}

std::vector<Output> Config::outputs(std::uint64_t trial) const {
  if (save.empty()) return {};
  std::vector<Output> out;
  const Plan plan = plan_of(*this);
  for (const Curve& curve : plan.curves) {
    const std::string weights = weights_file(plan, curve, trial);
    out.push_back({weights});
    out.push_back({weights_config_file(weights), false});
  }
  if (trial == 0 && task == "text") out.push_back({tokens_file(*this)});
  return out;
}

const Task& Config::read_task() const {
  return once->get([&] { return Task(*this); });
}

Work work(const Config& config) {
  const Plan plan = plan_of(config);
  if (!config.save.empty()) {
    for (const Curve& curve : plan.curves) check_writable(weights_file(plan, curve, 0));
  }
  // Read the files before the trials, so that a missing or damaged file is reported at once.
  return each_trial(
      [plan, &task = config.read_task()](Trial& trial) { return run_trial(plan, task, trial); });
}

}  // namespace ranklab::train

namespace ranklab {

std::unique_ptr<Study> make_train_study() {
  return study_of<train::Config>(
      train::work, [](const train::Config& config, const Records& records) {
        return train::report(train::plan_of(config), config.read_task(), records);
      });
}

}  // namespace ranklab
