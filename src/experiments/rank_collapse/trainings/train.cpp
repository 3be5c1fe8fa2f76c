#include "experiments/rank_collapse/trainings/train.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "core/divisors.hpp"
#include "core/flag_word.hpp"
#include "core/machine.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "io/atomic_file.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/layers/mamba2.hpp"
#include "nn/mixers.hpp"
#include "nn/pieces.hpp"
#include "nn/saved_weights.hpp"
#include "nn/tensors_to_write.hpp"

namespace ranklab::train {
namespace {

const std::string learned_word = "learned",  // of a lambda or a tau that is trained
    de_escalated = "de-escalated";
const std::vector<std::string> initializations = {"fan", "small", "alg1", "torch", "normal"},
                               variants = {"pre", "post", "de-escalated"},
                               places = {"end", "ffn", "branch"};

std::vector<std::string> mixer_names() {
  std::vector<std::string> words;
  for (const MixerRow& row : mixer_rows()) words.push_back(row.name);
  return words;
}

}  // namespace

// Flags -------------------------------------------------------------------------------------------

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
  const auto only = [](const std::function<bool()>& applies, const char* needs) {
    return [=](Field field) { return only_if(applies, needs, std::move(field)); };
  };
  const auto learns = [](const std::string& word) {
    return word.find(learned_word) != std::string::npos;
  };
  const auto removes = [this, has] { return has(variant, "de-escalated"); };
  const auto learns_tau = [this, learns] {
    return std::any_of(removal.begin(), removal.end(), learns);
  };
  const auto of_recall = only([this] { return task == "recall"; }, "--task recall"),
             of_ids = only([this] { return !is_images(); }, "--task recall or text"),
             of_images = only([this] { return is_images(); }, "--task pixels or patches"),
             of_text = only([this] { return is_text(); }, "--task text"),
             of_post = only([this, has] { return has(variant, "post"); }, "--variant post"),
             of_de_escalated = only(removes, "--variant de-escalated"),
             of_place = only([=, this] { return removes() && removal.empty(); },
                             "--variant de-escalated, and no --removal"),
             of_tau = only([=, this] { return removes() && (removal.empty() || learns_tau()); },
                           "--variant de-escalated, and no --removal or a learned one"),
             of_learned_tau = only([=] { return removes() && learns_tau(); },
                                   "--variant de-escalated --removal PLACE:learned"),
             of_learned_lambda =
                 only([=, this] { return std::any_of(lambda.begin(), lambda.end(), learns); },
                      "--lambda learned"),
             of_normal = only([this, has] { return has(init, "normal"); }, "--init normal");
  return grouped(
      {
          precision_field(precision),
          choice_field(
              "task", task, {"recall", "pixels", "image", "patches", "text"}, "",
              "recall: output the values of keys that were shown before; pixels (or image): "
              "classify an image, pixel by pixel; "
              "patches: the same, patch by patch, read from a class token; text: predict the "
              "next token"),
          choice_list_field("model", model, mixer_names(), "", "token mixer"),
          choice_list_field(
              "variant", variant, variants, "",
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
              "mean", mean, {"segment", "strict", "prefix"}, "",
              "de-escalated: tokens in the mean; segment: all, as printed (a causal model would "
              "see "
              "later "
              "tokens); strict: earlier tokens; prefix: earlier tokens and the token itself"))),
          of_place(choice_field(
              "at", at, {"", "end", "ffn", "branch"}, "",
              "de-escalated: place of the removal; end: end of the block; ffn: before the "
              "feed-forward net and its skip; branch: "
              "before the net only (not given: end for images, else ffn)")),
          of_de_escalated(numeric(or_empty(text_list_field(
              "removal", removal,
              "de-escalated: PLACE:TAU, one curve per value, in place of --at and --tau; learned "
              "trains one tau per block, as in end:1,ffn:0.5,ffn:learned")))),
          of_learned_tau(excluding_low(
              real_field("tau-rate", tau_rate, 0.0, 1e6, "",
                         "learning rate of a learned tau, as a multiple of the weights' "
                         "rate"))),
          or_empty(size_list_field("layers", layers, 1, 1000, "L",
                                   "number of blocks (not given: the task's default)")),
          or_unset(size_field("dim", dim, 0, largest, "d",
                              "token width (not given: the task's default)")),
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
          of_post(
              or_empty(real_list_field("lr-post", lr_post, 1e-12, 1000.0, "",
                                       "learning rates of the variant post, one curve per value"))),
          size_field("warmup", warmup, 0, 10'000'000, "",
                     "warm-up steps of the learning rate (0: none if variants are compared, else a "
                     "tenth of --steps)"),
          of_post(
              or_empty(size_list_field("warmup-post", warmup_post, 0, 10'000'000, "",
                                       "warm-up steps of the variant post, one curve per value"))),
          choice_field(
              "schedule", schedule, {"", "cosine", "steps", "quarter-cosine"}, "",
              "decay of the learning rate; cosine: to 0 along half a cosine; steps: divided "
              "by 5 at 70 % and 90 % of the steps; "
              "quarter-cosine: along the first quarter of half a cosine"),
          real_field(
              "clip", clip, -1.0, 1e12, "",
              "clip the norm of all gradients together to this value; 0: no clipping (-1: the "
              "task's default)"),
          of_ids(text_field("vocab", vocab, "recall: number of token ids; text: char, or bpe:V")),
          or_unset(size_field(
              "length", length, 0, largest, "T",
              "tokens per sequence (not given: the task's default, or the image's size)")),
          of_recall(
              size_field("pairs", pairs, 1, largest, "D", "recall: number of key-value pairs")),
          of_images(text_field(
              "idx", idx,
              "images: folder of gzipped IDX files (not given: Fashion-MNIST of Debian's "
              "dataset-fashion-mnist)")),
          of_images(text_field("digits", digits, "images: scikit-learn's digits.csv.gz")),
          of_images(text_field("cifar", cifar, "images: folder of CIFAR-10's binary batches")),
          of_images(choice_field(
              "readout", readout, {"", "mean", "class"}, "",
              "images: readout of the mean token, or of a class token that is put first")),
          or_unset(size_field(
              "patch", patch, 0, 64, "p",
              "patches: side of a patch (not given: 7, or 2 for --digits, 4 for --cifar)")),
          of_images(or_unset(
              size_field("pool", pool, 0, 64, "",
                         "images: side of the pixel squares that are averaged (not given: 4 for "
                         "pixels, 1 for patches)"))),
          of_images(size_field("train-size", train_size, 1, 10'000'000, "",
                               "images: number of training images, the first of the file")),
          of_images(size_field("test-size", test_size, 1, 10'000'000, "",
                               "images: number of held-out images, the first of the test file")),
          of_text(text_field("text", text,
                             "text to learn (not given: the King James Bible of Debian's package "
                             "bible-kjv-text)")),
          output(text_field("save", save,
                            "FILE.safetensors: the trained weights, one file per curve and trial "
                            "(FILE.2.safetensors for the second "
                            "trial); text: also held-out windows as token ids, FILE.tokens.txt")),
      },
      {{"task", "Data"},
       {"model", "Model"},
       {"lambda", "Skip"},
       {"tau", "Mean token"},
       {"layers", "Model"},
       {"batch", "Training"},
       {"vocab", "Data"},
       {"save", "Training"}});
}

// Defaults ----------------------------------------------------------------------------------------

namespace {

struct TaskDefaults {
  std::uint64_t dim, heads;
  std::vector<std::uint64_t> layers;
  std::uint64_t length, batch, ffn_over_dim;
  std::vector<std::string> steps, lr;
  std::string vocab, init, activation, positions, schedule;
  double clip, weight_decay;
};

/// The defaults follow [LambdaSkip], or [Shallow] if variants are compared: a vision Transformer,
/// and the language model of Transformer-XL.
const TaskDefaults& defaults_of(const Config& config) {
  static const TaskDefaults recall{32,
                                   1,
                                   {2},
                                   32,
                                   64,
                                   2,
                                   {"1200", "mamba2:800", "mamba1:800", "s4d:800"},
                                   {"0.003", "mamba2:0.01", "mamba1:0.01", "s4d:0.01"},
                                   "64",
                                   "fan",
                                   "gelu",
                                   "learned",
                                   "cosine",
                                   1,
                                   0.1},
      pixels{32, 1,     {2},    0,         32,       2, {"300"}, {"0.002"},
             "", "fan", "gelu", "learned", "cosine", 1, 0},
      text{64,         1,     {4},    64,        16,       4, {"600"}, {"0.003"},
           "bpe:1024", "fan", "gelu", "learned", "cosine", 1, 0.1},
      vision{32, 4,      {6, 12, 24, 48}, 0,         32,      2, {"200"}, {"0.001"},
             "", "alg1", "relu",          "learned", "steps", 0, 0.1},
      language{32,     4,          {12, 24, 48},     32, 16, 2, {"200"}, {"0.001"}, "char", "alg1",
               "relu", "relative", "quarter-cosine", 0,  0};
  if (config.task == "recall") return recall;
  if (config.task == "pixels") return pixels;
  if (config.task == "patches") return vision;
  return config.compares_variants() ? language : text;
}

}  // namespace

void Config::fill_defaults() {
  Config& c = *this;
  if (c.task == "image") c.task = "pixels";
  const TaskDefaults& defaults = defaults_of(c);
  const auto set_default = [](auto& value, const auto& its_default) {
    if (value == std::decay_t<decltype(value)>{}) value = its_default;
  };
  set_default(c.dim, defaults.dim);
  set_default(c.heads, defaults.heads);
  set_default(c.layers, defaults.layers);
  set_default(c.length, defaults.length);
  set_default(c.batch, defaults.batch);
  set_default(c.vocab, defaults.vocab);
  set_default(c.steps, defaults.steps);
  set_default(c.lr, defaults.lr);
  set_default(c.ffn, std::vector{std::to_string(defaults.ffn_over_dim * c.dim)});
  set_default(c.init, std::vector{defaults.init});
  set_default(c.activation, defaults.activation);
  set_default(c.positions, defaults.positions);
  set_default(c.schedule, defaults.schedule);
  set_default(c.mean, std::vector<std::string>{c.is_images() ? "segment" : "strict"});
  set_default(c.at, std::string(c.is_images() ? "end" : "ffn"));
  set_default(c.readout, std::string(c.task == "patches" ? "class" : "mean"));
  set_default(c.pool, std::uint64_t{c.task == "patches" ? 1u : 4u});
  if (c.task == "patches")
    set_default(c.patch, std::uint64_t{!c.digits.empty() ? 2u : !c.cifar.empty() ? 4u : 7u});
  if (c.clip < 0) c.clip = defaults.clip;
  // The variances of BERT's and Transformer-XL's code at their widths: sigma is proportional to 1 /
  // sqrt(d).
  if (c.init_variance < 0) c.init_variance = c.is_text() ? 0.164 : 0.307;
}

double Config::weight_decay() const {
  return defaults_of(*this).weight_decay;
}

std::vector<std::vector<std::string>> Config::table_of_defaults() const {
  const std::vector<std::string> pre = {"pre"}, post = {"post"};
  struct Column {
    std::string head, task;
    const std::vector<std::string>& variant;
  };
  std::vector<std::vector<std::string>> rows = {{""}};
  const std::vector<std::string> names = {
      "layers", "dim",     "heads", "ffn",        "length",    "vocab",    "batch", "steps",
      "lr",     "readout", "init",  "activation", "positions", "schedule", "clip"};
  for (const std::string& name : names) rows.push_back({name});
  for (const Column& column : {Column{"recall", "recall", pre}, Column{"pixels", "pixels", pre},
                               Column{"patches", "patches", post}, Column{"text", "text", pre},
                               Column{"text, post", "text", post}}) {
    Config config;
    config.task = column.task, config.variant = column.variant;
    config.fill_defaults();
    rows.front().push_back(column.head);
    const std::vector<Field> fields = config.flags();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto field = std::ranges::find(fields, names[i], &Field::name);
      const bool is_unset = field->zero_is_unset && field->value_text() == "0";
      std::string value = is_unset || field->is_idle() ? "" : field->value_text();
      // Without the values of single models, as in 1200,mamba2:800.
      if (names[i] == "steps" || names[i] == "lr") value = value.substr(0, value.find(','));
      rows[i + 1].push_back(value.empty() ? "-" : value);
    }
  }
  return rows;
}

// Runs ------------------------------------------------------------------------------------------

namespace {

/// NaN if the word is not a number.
double read_number(const std::string& word) {
  double value = 0;
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? value : undefined;
}

double number_of(const std::string& word, const std::string& flag, double low, double high,
                 bool integer) {
  const double value = read_number(word);
  if (!(value >= low && value <= high) || (integer && value != std::floor(value))) {
    throw UsageError(say(
        "{}: '{}' is not allowed; allowed: {}, {} to {}, for all curves or with a model, --init or "
        "--variant as prefix, as in mamba2:{}",
        flag, printable_key(word), integer ? "integer" : "number", low, high, low > 0 ? low : 1));
  }
  return value;
}

/// The value for a run in a list such as {"1200", "mamba2:800"}: the one prefixed with its model,
/// initialization or variant, otherwise the one without a prefix.
std::string value_for(const std::vector<std::string>& words, const Run& run,
                      const std::string& flag) {
  std::string common, prefixed;
  for (const std::string& word : words) {
    const auto [key, value, settings] = parse_flag_word(word);
    if (!value) {
      if (!common.empty())
        throw UsageError(
            say("{}: {} and {} both apply to all curves; allowed: one value without a "
                "prefix",
                flag, printable_key(common), printable_key(word)));
      common = word;
      continue;
    }
    std::vector<std::string> keys = mixer_names();
    for (const auto* more : {&initializations, &variants})
      keys.insert(keys.end(), more->begin(), more->end());
    if (!std::count(keys.begin(), keys.end(), key)) {
      throw UsageError(say("{}: '{}' is not allowed; allowed before the colon: {}", flag,
                           printable_key(word), joined(keys, "|")));
    }
    if (key != run.model && key != run.init && key != run.variant) continue;
    if (!prefixed.empty()) throw UsageError(say("{}: two values for curve {}", flag, run.name()));
    prefixed = *value;
  }
  if (prefixed.empty() && common.empty())
    throw UsageError(
        say("{}: no value for model {}; add one, or one without a prefix", flag, run.model));
  return prefixed.empty() ? common : prefixed;
}

Skip skip_of(const Config& c, const std::string& word) {
  const FlagWord parsed = parse_flag_word(word);
  Skip skip{.learned = parsed.head == learned_word, .word = word};
  skip.lambda = skip.learned ? c.lambda_start : parsed.value ? undefined : read_number(parsed.head);
  if (skip.learned) skip.rate = parsed.value ? read_number(*parsed.value) : c.lambda_rate;
  if (!(std::fabs(skip.lambda) <= 1e6) || (skip.learned && !(skip.rate > 0 && skip.rate <= 1e6))) {
    throw UsageError(
        say("--lambda: '{}' is not allowed; allowed: numbers from -1e6 to 1e6, learned, and "
            "learned:RATE with a rate above 0, to 1e6",
            printable_key(word)));
  }
  skip.rate_differs = skip.learned && skip.rate != c.lambda_rate;
  return skip;
}

Removal removal_of(const Config& c, const std::string& word) {
  const FlagWord parsed = parse_flag_word(word);
  const std::string value = parsed.value.value_or("");
  Removal out{parsed.head, c.tau, value == learned_word, word};
  if (!out.learned) out.tau = read_number(value);
  if (!std::count(places.begin(), places.end(), out.at) || !(out.tau >= 0 && out.tau <= 1)) {
    throw UsageError(
        say("--removal: '{}' is not allowed; allowed: PLACE:TAU with a place of {} and a tau "
            "from 0 to 1, or learned, as in ffn:0.5",
            printable_key(word), joined(places, "|")));
  }
  return out;
}

/// Refuses two words that say the same.
template <class Parsed>
std::vector<Parsed> all_different(const Config& c, const std::string& flag,
                                  const std::vector<std::string>& words,
                                  Parsed (*parsed)(const Config&, const std::string&)) {
  std::vector<Parsed> out;
  for (const std::string& word : words) {
    const Parsed each = parsed(c, word);
    if (std::ranges::find(out, each) != out.end()) throw given_twice(flag, word);
    out.push_back(each);
  }
  return out;
}

// Names and words ---------------------------------------------------------------------------------

using grid::Setting;
using Words = std::map<std::string, std::string>;

/// The word of a table for a value; the value itself if the table does not have it.
std::string word_for(const Words& words, const std::string& value) {
  const auto found = words.find(value);
  return found == words.end() ? value : found->second;
}

/// A setting that reads "L=8" in names, if it is shown there.
Setting named(bool is_shown, const std::string& axis, const Coordinate& value, std::string words,
              bool varies) {
  return {axis, value, is_shown ? say("{}={}", axis, coordinate_text(value)) : "", std::move(words),
          varies};
}
/// A setting that names have if runs differ in it.
Setting named(bool varies, const std::string& axis, const Coordinate& value, std::string words) {
  return named(varies, axis, value, std::move(words), varies);
}

Setting variant_setting(const Config& c, const Run& run, bool has_further_words) {
  return {"variant", run.variant, run.variant != "pre" || c.variant.size() > 1 ? run.variant : "",
          word_for({{"pre", "pre-norm"}, {"post", "post-norm"}}, run.variant),
          c.variant.size() > 1 || has_further_words};
}

Setting lambda_setting(const Config& c, const Skip& skip) {
  const bool varies = skip.learned || skip.lambda != 1 || c.lambda.size() > 1;
  return named(varies, "lambda", skip.learned ? Coordinate(skip.word) : Coordinate(skip.lambda),
               (skip.learned ? "lambda " : "") + skip.label());
}

Setting removal_setting(const Removal& removal) {
  return named(!removal.word.empty(), "removal", removal.word,
               word_for({{"end", "end of the block"},
                         {"ffn", "before the net and its skip"},
                         {"branch", "before the net only"}},
                        removal.at) +
                   (removal.learned ? ", learned tau" : ", tau = " + series_number(removal.tau)));
}

/// In the order of the name of a run.
std::vector<Setting> settings_of(const Config& c, const Run& run) {
  const double rate = run.lr_post.value_or(0), layers = static_cast<double>(run.layers);
  const std::uint64_t warmup = run.warmup_post.value_or(0);
  const std::vector<Setting> of_variant = {
      named(!run.mean.empty() && c.mean.size() > 1, "mean", run.mean,
            word_for({{"segment", "mean of all tokens"},
                      {"strict", "mean of earlier tokens"},
                      {"prefix", "mean of the tokens so far"}},
                     run.mean)),
      removal_setting(run.removal),
      named(run.lr_post && c.lr_post.size() > 1, "lr", rate, "rate " + series_number(rate)),
      named(run.warmup_post && c.warmup_post.size() > 1, "warmup", static_cast<double>(warmup),
            warmup == 0 ? "no warm-up" : "warm-up " + plural(warmup, "step"))};
  std::vector<Setting> out = {
      {"model", run.model, run.model, model_row(run.model).title, c.model.size() > 1},
      lambda_setting(c, run.skip),
      variant_setting(c, run, !grid::varying(of_variant).empty()),
      named(std::vector{run.layers} != defaults_of(c).layers || c.layers.size() > 1, "L", layers,
            plural(run.layers, "layer"), c.layers.size() > 1),
      named(c.init.size() > 1, "init", run.init,
            word_for({{"fan", "usual initial weights"},
                      {"small", "small initial weights"},
                      {"alg1", "initial weights of Algorithm 1"},
                      {"torch", "PyTorch's initial weights"},
                      {"normal", "normal initial weights"}},
                     run.init)),
      named(c.lambda_where.size() > 1, "where", run.where,
            run.where == "both" ? "lambda in both skips" : "lambda in the mixer's skip")};
  out.insert(out.end(), of_variant.begin(), of_variant.end());
  return out;
}

/// Sets what follows from the elements of the lists.
void complete(const Config& c, Run& run) {
  run.settings = settings_of(c, run);
  run.place = grid::place_of(run.settings);
  run.label = run.name();
  run.steps = static_cast<std::uint64_t>(
      number_of(value_for(c.steps, run, "--steps"), "--steps", 1, 1e7, true));
  run.lr = run.lr_post ? *run.lr_post
                       : number_of(value_for(c.lr, run, "--lr"), "--lr", 1e-12, 1000, false);
  run.hidden = static_cast<std::uint64_t>(
      number_of(value_for(c.ffn, run, "--ffn"), "--ffn", 0, 1'000'000, true));
  const std::string norm = value_for(c.norm, run, "--norm");
  if (norm != "layer" && norm != "rms") {
    throw UsageError(
        say("--norm: '{}' is not allowed; allowed: layer|rms, alone or as in mamba2:rms",
            printable_key(norm)));
  }
  run.norm = norm == "rms" ? Norm::rms : Norm::layer;
  const std::uint64_t default_warmup = c.compares_variants() ? 0 : (run.steps + 9) / 10;
  run.warmup = run.warmup_post ? *run.warmup_post : c.warmup > 0 ? c.warmup : default_warmup;
}

/// Replaces each run of the variant (empty: each run) by one for each value of the list, unless the
/// list is empty.
template <class V, class Member>
void multiply(std::vector<Run>& runs, const std::vector<V>& list, Member Run::*member,
              const std::string& variant = "") {
  std::vector<Run> out;
  for (Run& run : runs) {
    const bool applies = variant.empty() || run.variant == variant;
    if (!applies || list.empty()) {
      out.push_back(run);
      continue;
    }
    for (const V& value : list) {
      run.*member = value;
      out.push_back(run);
    }
  }
  runs = std::move(out);
}

}  // namespace

std::string Skip::text() const {
  if (!learned) return series_number(lambda);
  return rate_differs ? "learned, rate x " + series_number(rate) : "learned";
}

std::vector<Skip> Config::skips() const {
  return all_different(*this, "--lambda", lambda, skip_of);
}

std::vector<Removal> Config::removals() const {
  if (removal.empty()) return {Removal{at, tau}};
  return all_different(*this, "--removal", removal, removal_of);
}

std::string variant_name(const Run& run) {
  std::vector<Setting> settings = grid::varying(run.on(of_variant));
  if (settings.empty()) settings = run.on({"variant"});
  return joined(grid::words_of(settings));
}

std::vector<std::string> group_words(const Run& run) {
  return grid::words_of(grid::varying(
      run.on({"model", "variant", "mean", "removal", "lr", "warmup", "L", "init", "where"})));
}

std::string group_name(const Run& run) {
  const std::vector<std::string> words = group_words(run);
  return words.empty() ? model_row(run.model).title : joined(words);
}

std::string setting_name(const Run& run) {
  return joined(grid::words_of(grid::varying(run.but_for(of_depth_and_variant))));
}

std::vector<Run> Config::runs() const {
  std::vector<Run> out(1);
  multiply(out, model, &Run::model);
  multiply(out, layers, &Run::layers);
  multiply(out, init, &Run::init);
  multiply(out, lambda_where, &Run::where);
  multiply(out, variant, &Run::variant);
  multiply(out, mean, &Run::mean, de_escalated);
  multiply(out, removals(), &Run::removal, de_escalated);
  multiply(out, lr_post, &Run::lr_post, "post");
  multiply(out, warmup_post, &Run::warmup_post, "post");
  multiply(out, skips(), &Run::skip);
  for (Run& run : out) complete(*this, run);
  return out;
}

std::vector<double> Run::tenths_from(std::size_t first) const {
  std::vector<double> out;
  for (std::size_t i = first; i <= tenths; ++i)
    out.push_back(static_cast<double>(i * steps) / static_cast<double>(tenths));
  return out;
}

std::vector<double> Run::layers_from(std::uint64_t first) const {
  std::vector<double> out;
  for (std::uint64_t l = first; l <= layers; ++l) out.push_back(static_cast<double>(l));
  return out;
}

SequenceShape shape_of(const Config& c, const Run& run, SequenceShape shape) {
  shape.dim = c.dim;
  shape.heads = c.heads;
  shape.hidden = run.hidden;
  shape.layers = run.layers;
  shape.mixer = mixer_row(run.model).kind;
  shape.norm = run.norm;
  shape.post = run.variant != "pre";
  shape.lambda = run.skip.lambda;
  shape.learns_lambda = run.skip.learned;
  shape.lambda_rate = run.skip.rate;
  shape.lambda_at_both = run.where == "both";
  shape.activation = &find_activation(c.activation);
  shape.maps = {.output = run.init != "alg1", .output_bias = run.init == "torch"};
  if (c.positions == "relative") {
    shape.relative = shape.mixer == MixerKind::attention;
    shape.scaled_table = shape.output_bias = true;
    shape.final_norm = false;
  } else if (c.task == "patches") {
    shape.final_norm = true;
  }
  if (run.variant == de_escalated) {
    shape.de_escalation =
        DeEscalation{.tau = run.removal.tau,
                     .mean = run.mean == "segment"  ? MeanOver::segment
                             : run.mean == "strict" ? MeanOver::strict
                                                    : MeanOver::prefix,
                     .at = run.removal.at == "end"   ? DeEscalation::At::end
                           : run.removal.at == "ffn" ? DeEscalation::At::feed_forward
                                                     : DeEscalation::At::branch,
                     .length = shape.length,
                     .learns_tau = run.removal.learned,
                     .tau_rate = c.tau_rate};
  }
  return shape;
}

// Checks ------------------------------------------------------------------------------------------

namespace {

/// Constraints among positions, readouts and de-escalation.
void validate_variants(const Config& c) {
  if (c.positions == "relative" && !c.is_text()) {
    throw UsageError(
        say("--positions: relative is not allowed with --task {}; allowed: learned", c.task));
  }
  if (c.positions == "relative" && c.dim % 2 != 0) {
    throw UsageError(
        say("--dim: {} is not allowed with --positions relative; allowed: even numbers", c.dim));
  }
  if (c.readout == "class" && !c.is_images()) {
    throw UsageError(say("--readout: class is not allowed with --task {}; allowed: mean", c.task));
  }
  for (const std::string& model : c.model) {
    if (c.readout == "class" && mixer_row(model).always_causal) {
      throw Misfit(say("--readout: class is not allowed with --model {}; its first token sees no "
                       "other token; allowed: mean",
                       model),
                   "readout", "mean", {"model"});
    }
  }
  if (!c.is_images() || c.readout != "mean") return;
  for (const Run& run : c.runs()) {
    if (run.removal.at != "end" || run.mean != "segment" || run.removal.tau != 1) continue;
    const std::string why =
        "--mean segment and --readout mean, because the mean token would be zero; allowed: below 1";
    if (!c.removal.empty())
      throw UsageError("--removal: tau = 1 at the end is not allowed with " + why);
    throw Misfit("--tau: 1 is not allowed with --at end, " + why, "at", "ffn",
                 {"task", "model", "readout"});
  }
}

[[noreturn]] void refuse_warmup(const Config& c, const Run& run) {
  const std::string flag = run.warmup_post ? "warmup-post" : "warmup";
  std::set<std::uint64_t> fitting = {run.steps};
  if (run.warmup_post) {
    for (const std::uint64_t warmup : c.warmup_post) fitting.insert(std::min(warmup, run.steps));
  }
  std::vector<std::string> words;
  for (const std::uint64_t warmup : fitting) words.push_back(std::to_string(warmup));
  throw Misfit(
      say("--{}: {} is not allowed; allowed: at most --steps {}", flag, run.warmup, run.steps),
      flag, joined(words, ","), {"steps"});
}

}  // namespace

void Config::check() const {
  if ((!idx.empty()) + (!digits.empty()) + (!cifar.empty()) > 1) {
    throw UsageError("--idx, --digits, --cifar: only one of them is allowed");
  }
  if (is_images() && length != 0)
    throw UsageError(
        say("--length: not allowed with --task {}, where the image size sets it", task));
  if (task != "patches" && patch != 0)
    throw UsageError(
        say("--patch: not allowed with --task {}; allowed with: --task patches", task));
  validate_variants(*this);
  if (dim % heads != 0) {
    throw Misfit(say("--heads: {} does not divide --dim {}", heads, dim), "heads",
                 std::to_string(largest_divisor(dim, heads)), {"dim"});
  }
  if (std::count(model.begin(), model.end(), "mamba2") && 2 * dim % Mamba2Shape{}.head_width != 0) {
    throw UsageError(say("--dim: {} is not allowed with --model mamba2; allowed: multiples of {}",
                         dim, Mamba2Shape{}.head_width / 2));
  }
  expected_shape(*this);
  // The user's own images limit --train-size, --test-size, --pool and --patch.
  if (is_images() && !(idx + digits + cifar).empty()) read_task();
  skips();
  removals();
  std::set<std::string> names;
  for (const Run& run : runs()) {
    if (run.removal.at == "branch" && run.hidden == 0) {
      throw Misfit(
          "--at: branch is not allowed with --ffn 0, which removes the feed-forward net; allowed: "
          "end|ffn",
          "at", "ffn", {"ffn"});
    }
    if (!names.insert(run.name()).second)
      throw UsageError(
          say("--lambda, --lr-post: two curves have the name {}; allowed: values that "
              "differ in their first six digits",
              run.name()));
    if (run.warmup > run.steps) refuse_warmup(*this, run);
  }
}

// Files and costs ---------------------------------------------------------------------------------

std::string Config::weights_file(const Run& run, std::uint64_t trial) const {
  const std::string of_curve = runs().size() == 1 ? "" : "." + run.name();
  const std::string of_trial = trial == 0 ? "" : say(".{}", trial + 1);
  return replace_extension(save, of_curve + of_trial + ".safetensors");
}

std::string Config::tokens_file() const {
  return replace_extension(save, ".tokens.txt");
}

std::vector<Output> Config::outputs(std::uint64_t trial) const {
  if (save.empty()) return {};
  std::vector<Output> out;
  for (const Run& run : runs()) {
    const std::string weights = weights_file(run, trial);
    out.push_back({weights});
    out.push_back({weights_config_file(weights), false});
  }
  if (trial == 0 && is_text()) out.push_back({tokens_file()});
  return out;
}

namespace {

struct Batch {
  double tokens, answers;
};

Batch batch_of(const Config& c, const SequenceShape& shape, std::uint64_t sequences) {
  const std::uint64_t answers = shape.classes > 0 ? 1 : c.task == "recall" ? c.pairs : shape.length;
  return {static_cast<double>(sequences * shape.length), static_cast<double>(sequences * answers)};
}

}  // namespace

double training_flops(const Config& config, const Run& run, const SequenceShape& task_shape) {
  const Batch batch = batch_of(config, task_shape, config.batch);
  return 3.5 * static_cast<double>(run.steps) *
         sequence_flops(shape_of(config, run, task_shape), batch.tokens, batch.answers);
}

Estimate Config::memory() const {
  Estimate cost;
  const SequenceShape expected = expected_shape(*this);
  std::vector<double> bytes;
  for (const Run& run : runs()) {
    const SequenceShape shape = shape_of(*this, run, expected);
    const std::uint64_t at_once = sequences_at_once(shape.length, shape.dim);
    const Batch whole = batch_of(*this, shape, batch),
                part = batch_of(*this, shape, std::min(batch, at_once));
    // One model in training, by parts, plus one in double precision for measurements, by whole
    // batches.
    bytes.push_back(8 * (sequence_numbers(shape, part.tokens, part.answers) +
                         sequence_numbers(shape, whole.tokens, whole.answers)));
    cost.helper_bytes =
        std::max(cost.helper_bytes, 8 * sequence_helper_numbers(shape, part.tokens, part.answers));
    const std::uint64_t parts = piece_ranges(batch, shape.length, shape.dim).size();
    cost.helpers = std::max(cost.helpers, parts - 1);
  }
  // At most one model per core is in memory at a time: count the largest ones.
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  bytes.resize(std::min<std::size_t>(bytes.size(), available_cores()));
  cost.bytes = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  const double image = 4 * (cifar.empty() ? 28 * 28 : 3 * 32 * 32) * 1.1;
  cost.shared_bytes = is_images() ? image * static_cast<double>(train_size + test_size) + 60e6
                      : is_text() ? 200e6
                                  : 1e6;
  return cost;
}

// The study ---------------------------------------------------------------------------------------

const Task& Config::read_task() const {
  return once->get([&] { return Task(*this); });
}

Work Config::work() const {
  const std::vector<Run> all = runs();
  if (!save.empty()) {
    for (const Run& run : all) check_writable(weights_file(run, 0));
  }
  // Read the files before the trials, so that a missing or damaged file is reported at once.
  return each_trial([this, all, &task = read_task()](Trial& trial) {
    return run_trial(*this, all, task, trial);
  });
}

}  // namespace ranklab::train

namespace ranklab {

std::unique_ptr<Study> make_train_study() {
  return std::make_unique<train::Config>();
}

}  // namespace ranklab
