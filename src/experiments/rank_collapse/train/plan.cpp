// Expands a config into curves: the defaults of each task and the product of the lists.
#include <algorithm>
#include <charconv>

#include "core/flag_word.hpp"
#include "experiments/rank_collapse/train/train.hpp"
#include "io/atomic_file.hpp"
#include "nn/mixers.hpp"
#include "nn/parts.hpp"
#include "nn/tensors_to_write.hpp"

namespace ranklab::train {

const std::vector<std::string> initializations = {"fan", "small", "alg1", "torch", "normal"},
                               variants = {"pre", "post", "de-escalated"},
                               means = {"segment", "strict", "prefix"};

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

/// The value for a curve in a list such as {"1200", "mamba2:800"}: the one prefixed with its model,
/// initialization or variant, otherwise the one without a prefix.
std::string value_for(const std::vector<std::string>& words, const Curve& curve,
                      const std::string& flag) {
  std::string common, own;
  for (const std::string& word : words) {
    const auto [key, value, settings] = parse_flag_word(word);
    if (!value) {
      if (!common.empty())
        throw UsageError(flag + ": " + printable_key(common) + " and " + printable_key(word) +
                         " both apply to all curves; allowed: one value without a prefix");
      common = word;
      continue;
    }
    std::vector<std::string> keys = mixer_names();
    for (const auto* more : {&initializations, &variants})
      keys.insert(keys.end(), more->begin(), more->end());
    if (!std::count(keys.begin(), keys.end(), key)) {
      throw UsageError(flag + ": '" + printable_key(word) +
                       "' is not allowed; allowed before the colon: " + joined(keys, "|"));
    }
    if (key != curve.model && key != curve.init && key != curve.variant) continue;
    if (!own.empty()) throw UsageError(flag + ": two values for curve " + curve.name);
    own = *value;
  }
  if (own.empty() && common.empty())
    throw UsageError(flag + ": no value for model " + curve.model +
                     "; add one, or one without a prefix");
  return own.empty() ? common : own;
}

double lambda_of(const std::string& word) {
  const double value = read_number(word);
  if (!(std::fabs(value) <= 1e6)) {
    throw UsageError("--lambda: '" + printable_key(word) +
                     "' is not allowed; allowed: numbers from -1e6 to 1e6, learned, and "
                     "learned:RATE with a rate above 0, to 1e6");
  }
  return value;
}

/// `common` for `learned`, RATE for `learned:RATE`.
double rate_of_learned(const std::string& word, double common) {
  if (word == learned_word) return common;
  const FlagWord parsed = parse_flag_word(word);
  const double rate =
      parsed.head == learned_word && parsed.value ? read_number(*parsed.value) : undefined;
  return rate > 0 && rate <= 1e6 ? rate : lambda_of(word);  // throws
}

/// One element of each list.
struct Choice {
  std::string model, init, where, variant, mean, removal, lambda;
  std::uint64_t layers;
  std::optional<double> lr;
  std::optional<std::uint64_t> warmup;
};

/// One part of a name, or nothing if it is not shown.
std::string name_part(bool shown, const std::string& what) {
  return shown ? "," + what : "";
}

std::string with_init_and_where(const Config& c, const Choice& choice) {
  return name_part(c.init.size() > 1, "init=" + choice.init) +
         name_part(c.lambda_where.size() > 1, "where=" + choice.where);
}

const std::vector<std::string> places = {"end", "ffn", "branch"};

/// Sets the place and tau of de-escalation, from a word such as "ffn:0.5" or from --at and --tau.
void set_removal(const Config& c, const std::string& word, Curve& curve) {
  curve.removal = word;
  curve.at = c.at;
  curve.tau = c.tau;
  if (word.empty()) return;
  const FlagWord parsed = parse_flag_word(word);
  const std::string value = parsed.value.value_or("");
  curve.at = parsed.head;
  curve.learns_tau = value == learned_word;
  if (!curve.learns_tau) curve.tau = read_number(value);
  if (!std::count(places.begin(), places.end(), curve.at) || !(curve.tau >= 0 && curve.tau <= 1)) {
    throw UsageError("--removal: '" + printable_key(word) +
                     "' is not allowed; allowed: PLACE:TAU with a place of " + joined(places, "|") +
                     " and a tau from 0 to 1, or learned, as in ffn:0.5");
  }
}

Curve curve_of(const Config& c, const Choice& choice) {
  Curve curve;
  curve.model = choice.model, curve.variant = choice.variant, curve.init = choice.init,
  curve.where = choice.where;
  curve.mean = choice.mean, curve.layers = choice.layers;
  if (curve.variant == "de-escalated") set_removal(c, choice.removal, curve);
  curve.learns = choice.lambda.starts_with(learned_word);
  curve.lambda = curve.learns ? c.lambda_start : lambda_of(choice.lambda);
  curve.lambda_rate = curve.learns ? rate_of_learned(choice.lambda, c.lambda_rate) : 0;
  const bool shows_depth =
      std::vector{curve.layers} != defaults_of(c).layers || c.layers.size() > 1;
  const std::string depth = name_part(shows_depth, "L=" + std::to_string(curve.layers)),
                    lists = with_init_and_where(c, choice);
  std::string rest = name_part(curve.variant != "pre" || c.variant.size() > 1, curve.variant) +
                     depth + lists +
                     name_part(!curve.mean.empty() && c.mean.size() > 1, "mean=" + curve.mean) +
                     name_part(!curve.removal.empty(), "removal=" + curve.removal);
  if (choice.lr) rest += name_part(c.lr_post.size() > 1, "lr=" + series_number(*choice.lr));
  if (choice.warmup)
    rest += name_part(c.warmup_post.size() > 1, "warmup=" + std::to_string(*choice.warmup));
  const bool shows_lambda = curve.learns || curve.lambda != 1 || c.lambda.size() > 1;
  const std::string lambda = name_part(
      shows_lambda, "lambda=" + (curve.learns ? choice.lambda : series_number(curve.lambda)));
  curve.name = curve.model + lambda + rest;
  curve.group = curve.model + rest;
  const std::string setting = name_part(c.model.size() > 1, curve.model) + lambda + lists;
  curve.setting = setting.substr(std::min<std::size_t>(setting.size(), 1));
  curve.steps = static_cast<std::uint64_t>(
      number_of(value_for(c.steps, curve, "--steps"), "--steps", 1, 1e7, true));
  curve.lr = choice.lr ? *choice.lr
                       : number_of(value_for(c.lr, curve, "--lr"), "--lr", 1e-12, 1000, false);
  curve.hidden = static_cast<std::uint64_t>(
      number_of(value_for(c.ffn, curve, "--ffn"), "--ffn", 0, 1'000'000, true));
  const std::string norm = value_for(c.norm, curve, "--norm");
  if (norm != "layer" && norm != "rms") {
    throw UsageError("--norm: '" + printable_key(norm) +
                     "' is not allowed; allowed: layer|rms, alone or as in mamba2:rms");
  }
  curve.norm = norm == "rms" ? Norm::rms : Norm::layer;
  const std::uint64_t default_warmup = c.compares_variants() ? 0 : (curve.steps + 9) / 10;
  curve.warmup = choice.warmup ? *choice.warmup : c.warmup > 0 ? c.warmup : default_warmup;
  return curve;
}

/// The list as optional values, or a single nullopt if the list does not apply or is empty.
template <class V>
std::vector<std::optional<V>> or_nullopt(const std::vector<V>& list, bool applies) {
  if (!applies || list.empty()) return {std::nullopt};
  return {list.begin(), list.end()};
}

/// Adds the curves of one variant: `post` at each of its learning rates and warm-ups,
/// `de-escalated` with each mean and removal.
void add_variant(const Config& c, Choice choice, std::vector<Curve>& curves) {
  const bool post = choice.variant == "post", removes = choice.variant == "de-escalated";
  const std::vector<std::string> nothing = {""};
  for (const std::string& mean : removes ? c.mean : nothing) {
    for (const std::string& removal : removes && !c.removal.empty() ? c.removal : nothing) {
      for (const auto lr : or_nullopt(c.lr_post, post)) {
        for (const auto warmup : or_nullopt(c.warmup_post, post)) {
          for (const std::string& lambda : c.lambda) {
            choice.mean = mean, choice.removal = removal, choice.lr = lr, choice.warmup = warmup,
            choice.lambda = lambda;
            curves.push_back(curve_of(c, choice));
          }
        }
      }
    }
  }
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
  if (c.weight_decay < 0) c.weight_decay = defaults.weight_decay;
  // The variances of BERT's and Transformer-XL's code at their widths: sigma is proportional to 1 /
  // sqrt(d).
  if (c.init_variance < 0) c.init_variance = c.task == "text" ? 0.164 : 0.307;
}

Plan plan_of(const Config& config) {
  Plan plan{config, {}};
  for (const std::string& model : config.model) {
    for (const std::uint64_t layers : config.layers) {
      for (const std::string& init : config.init) {
        for (const std::string& where : config.lambda_where) {
          for (const std::string& variant : config.variant) {
            add_variant(config, {model, init, where, variant, "", "", "", layers, {}, {}},
                        plan.curves);
          }
        }
      }
    }
  }
  return plan;
}

std::vector<std::string> mixer_names() {
  std::vector<std::string> words;
  for (const MixerRow& row : mixer_rows()) words.push_back(row.name);
  return words;
}

SequenceShape shape_of(const Plan& plan, const Curve& curve, SequenceShape shape) {
  const Config& c = plan.config;
  shape.dim = c.dim;
  shape.heads = c.heads;
  shape.hidden = curve.hidden;
  shape.layers = curve.layers;
  shape.mixer = mixer_row(curve.model).kind;
  shape.norm = curve.norm;
  shape.post = curve.variant != "pre";
  shape.lambda = curve.lambda;
  shape.learns_lambda = curve.learns;
  shape.lambda_rate = curve.lambda_rate;
  shape.lambda_at_both = curve.where == "both";
  shape.activation = &find_activation(c.activation);
  shape.maps = {.output = curve.init != "alg1", .output_bias = curve.init == "torch"};
  if (c.positions == "relative") {
    shape.relative = shape.mixer == MixerKind::attention;
    shape.scaled_table = shape.output_bias = true;
    shape.final_norm = false;
  } else if (c.task == "patches") {
    shape.final_norm = true;
  }
  if (curve.variant == "de-escalated") {
    shape.de_escalation = DeEscalation{.tau = curve.tau,
                                       .mean = curve.mean == "segment"  ? MeanOver::segment
                                               : curve.mean == "strict" ? MeanOver::strict
                                                                        : MeanOver::prefix,
                                       .at = curve.at == "end"   ? DeEscalation::At::end
                                             : curve.at == "ffn" ? DeEscalation::At::feed_forward
                                                                 : DeEscalation::At::branch,
                                       .length = shape.length,
                                       .learns_tau = curve.learns_tau,
                                       .tau_rate = c.tau_rate};
  }
  return shape;
}

namespace {

struct Batch {
  double tokens, answers;
};

Batch batch_of(const Config& c, const SequenceShape& task, std::uint64_t sequences) {
  const std::uint64_t answers = task.classes > 0 ? 1 : c.task == "recall" ? c.pairs : task.length;
  return {static_cast<double>(sequences * task.length), static_cast<double>(sequences * answers)};
}

}  // namespace

double training_flops(const Plan& plan, const Curve& curve, const SequenceShape& task_shape) {
  const Batch batch = batch_of(plan.config, task_shape, plan.config.batch);
  return 3.5 * static_cast<double>(curve.steps) *
         sequence_flops(shape_of(plan, curve, task_shape), batch.tokens, batch.answers);
}

double training_bytes(const Plan& plan, const Curve& curve, const SequenceShape& task_shape) {
  const SequenceShape shape = shape_of(plan, curve, task_shape);
  const std::uint64_t sequences = plan.config.batch,
                      at_once = sequences_at_once(shape.length, shape.dim);
  const auto numbers = [&](const Batch& of) {
    return sequence_numbers(shape, of.tokens, of.answers);
  };
  // One model in training, by parts, plus one in double precision for measurements, by whole
  // batches.
  return 8 * (numbers(batch_of(plan.config, task_shape, std::min(sequences, at_once))) +
              numbers(batch_of(plan.config, task_shape, sequences)));
}

double helper_bytes(const Plan& plan, const Curve& curve, const SequenceShape& task_shape) {
  const SequenceShape shape = shape_of(plan, curve, task_shape);
  const Batch part = batch_of(
      plan.config, task_shape,
      std::min<std::uint64_t>(plan.config.batch, sequences_at_once(shape.length, shape.dim)));
  return 8 * sequence_helper_numbers(shape, part.tokens, part.answers);
}

std::uint64_t most_helpers(const Plan& plan, const Curve& curve, const SequenceShape& task_shape) {
  const SequenceShape shape = shape_of(plan, curve, task_shape);
  return part_ranges(plan.config.batch, shape.length, shape.dim).size() - 1;
}

const Curve* Plan::with_lambda(const Curve& curve, double lambda) const {
  const auto found = std::find_if(curves.begin(), curves.end(),
                                  [&](const Curve& each) { return each.is(curve, lambda); });
  return found == curves.end() ? nullptr : &*found;
}

const Curve* Plan::learned(const Curve& curve) const {
  const auto found = std::find_if(curves.begin(), curves.end(), [&](const Curve& each) {
    return each.learns && each.group == curve.group;
  });
  return found == curves.end() ? nullptr : &*found;
}

std::vector<const Curve*> Plan::groups() const {
  std::vector<const Curve*> out;
  for (const Curve& curve : curves) {
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const Curve* each) { return each->group == curve.group; });
    if (!known) out.push_back(&curve);
  }
  return out;
}

std::string weights_file(const Plan& plan, const Curve& curve, std::uint64_t trial) {
  const std::string of_curve = plan.curves.size() == 1 ? "" : "." + curve.name;
  const std::string of_trial = trial == 0 ? "" : "." + std::to_string(trial + 1);
  return replace_extension(plan.config.save, of_curve + of_trial + ".safetensors");
}

std::string tokens_file(const Config& config) {
  return replace_extension(config.save, ".tokens.txt");
}

}  // namespace ranklab::train
