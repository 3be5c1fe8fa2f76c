#include <algorithm>
#include <numeric>
#include <set>

#include "core/flag_word.hpp"
#include "experiments/one_step_compare/gpt/gpt.hpp"
#include "experiments/one_step_compare/gpt/recording.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "io/atomic_file.hpp"
#include "nn/parts.hpp"
#include "nn/saved_weights.hpp"

namespace ranklab::gpt {
namespace {

const std::vector<std::string> optimizers = {"adam", "muon", "polar", "sgd"};
// Settings that --also may not change: all runs of a trial see the same batches, and the output
// belongs to the first run.
const std::set<std::string> common_to_all_runs = {
    "precision",     "text",     "vocab",       "context", "batch",  "also",      "optimizer",
    "measure-steps", "one-step", "one-step-at", "save",    "record", "save-steps"};

std::vector<double> default_measured(std::uint64_t steps) {
  std::set<double> out = {0, 1, 2, 3, 4, 8, 16, 32, 64};
  for (std::uint64_t t = 50; t <= steps; t += 50) out.insert(static_cast<double>(t));
  return {out.begin(), out.end()};
}

std::vector<double> one_step_points_of(const Config& config, const std::set<double>& measured) {
  std::set<double> wanted(config.one_step_at.begin(), config.one_step_at.end());
  if (wanted.empty()) wanted = {4, 8, 16, 32, 100, static_cast<double>(config.steps)};
  std::vector<double> out;
  std::set_intersection(wanted.begin(), wanted.end(), measured.begin(), measured.end(),
                        std::back_inserter(out));
  return out;
}

bool names(const std::vector<std::string>& list, const std::string& word) {
  return std::count(list.begin(), list.end(), word) > 0;
}

/// The run of one word of --also: an optimizer and the changed settings.
Run also_run(const Config& base, const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return UsageError("--also: '" + printable_key(text) + "': " + why + "; allowed: one of " +
                      joined(optimizers, "|") + " and changed settings, as in muon,spectral-on=W2");
  };
  Run run;
  run.config = base;
  std::vector<Field> fields = run.config.flags();
  const FlagWord word = parse_flag_word(text);
  if (word.value || !std::count(optimizers.begin(), optimizers.end(), word.head)) {
    const std::string given = text.substr(0, text.find(','));
    throw refuse("unknown optimizer '" + printable_key(given) + "'");
  }
  run.optimizer = word.head;
  for (const FlagWord::Setting& setting : word.settings) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& each) { return each.name == setting.key; });
    if (!setting.value || field == fields.end() || common_to_all_runs.contains(setting.key))
      throw refuse("'" + printable(setting.text()) + "' is not a setting that --also can change");
    run.changes.emplace_back(setting.key, *setting.value);
    field->parse(joined(FlagWord::joined_by_plus(*setting.value), ","), "--also: " + setting.key);
  }
  if (run.changes.empty())
    throw refuse("no setting differs from the run of --optimizer " + run.optimizer);
  std::sort(run.changes.begin(), run.changes.end());
  run.name = text;
  return run;
}

void check_run(const Run& run) {
  const Config& c = run.config;
  const std::string where = run.is_main() ? "" : "--also " + run.name + ": ";
  if (c.dim % c.heads != 0) {
    throw UsageError(say("{}--heads: {} does not divide --dim {}", where, c.heads, c.dim));
  }
  if (c.position == "rotary" && c.dim / c.heads % 2 != 0) {
    throw UsageError(
        say("{}--heads: {} gives heads of odd width {}; allowed: an even width, or any "
            "with --position learned",
            where, c.heads, c.dim / c.heads));
  }
  const bool gated = c.activation == "swiglu";
  if (!gated && std::count(c.spectral_on.begin(), c.spectral_on.end(), "Wg")) {
    throw UsageError(
        say("{}--spectral-on: Wg is not allowed with --activation {}; allowed: with "
            "--activation swiglu",
            where, c.activation));
  }
  const std::uint64_t watched = watched_steps.back();
  if (run.follows_advice() && c.steps < watched) {
    throw UsageError(
        say("{}--steps: {} ends before the steps that advice is taken from; allowed: at "
            "least {}",
            where, c.steps, watched));
  }
}

}  // namespace

void Config::fill_defaults() {
  if (qk_norm == "auto") qk_norm = position == "rotary" ? "on" : "off";
}

void Config::check() const {
  vocabulary_size(vocab);
  const Plan plan = plan_of(*this);
  for (const Run& run : plan.runs) check_run(run);
  for (const auto& [name, given] : {std::pair{"--measure-steps", &measure_steps},
                                    {"--save-steps", &save_steps},
                                    {"--one-step-at", &one_step_at}}) {
    for (const std::uint64_t step : *given) {
      if (step > steps) {
        throw UsageError(
            say("{}: {} is beyond the last step; allowed: 0 to --steps {}", name, step, steps));
      }
    }
  }
  for (const std::uint64_t step : one_step_at) {
    const std::vector<double>& measured = plan.runs.front().measured;
    if (std::count(measured.begin(), measured.end(), static_cast<double>(step)) > 0) continue;
    throw UsageError(say(
        "--one-step-at: {} is not a measured step; allowed: the steps of --measure-steps", step));
  }
}

Estimate Config::memory() const {
  const Plan plan = plan_of(*this);
  const std::uint64_t V = std::max<std::uint64_t>(vocabulary_size(vocab), 256);
  Estimate cost;
  for (const Run& run : plan.runs) {
    const SequenceShape shape = run.shape(V);
    const double width = static_cast<double>(shape.dim), N = static_cast<double>(batch * context),
                 part = std::min(N, static_cast<double>(sequences_at_once(shape.length, shape.dim) *
                                                        shape.length));
    // Weights, gradients, two moments, copies for probes; a pass over a part; Gram matrices in
    // double and their inputs. With single steps: the residual streams of two batches.
    cost.bytes += 8 * (3 * gpt_parameters(shape) + sequence_numbers(shape, part, part) +
                       4 * static_cast<double>(shape.hidden) * part);
    // The runs of a trial share the helpers.
    cost.helper_bytes = std::max(cost.helper_bytes, 8 * sequence_helper_numbers(shape, part, part));
    cost.helpers = std::max<std::uint64_t>(
        cost.helpers, part_ranges(run.config.batch, shape.length, shape.dim).size() - 1);
    if (!run.one_step_at.empty())
      cost.bytes += 8 * 2 * N * width * (2 * static_cast<double>(shape.layers) + 1);
  }
  // The text in several forms, and its tokens.
  cost.shared_bytes = 20e6 + 40.0 * (text.empty() ? 4.2e6 : 1e7);
  return cost;
}

std::vector<Output> Config::outputs(std::uint64_t trial) const {
  if (trial > 0) return {};
  std::vector<Output> out;
  for (const std::uint64_t step : steps_to_save()) {
    if (!save.empty()) {
      const std::string weights = file_at(save, step, steps);
      out.push_back({weights});
      out.push_back({weights_config_file(weights), false});
    }
    if (!record.empty()) out.push_back({recording_folder(record, step)});
  }
  return out;
}

const Corpus& Config::corpus() const {
  return read_text->get([&] { return read_corpus(text, vocab, context + 1); });
}

std::vector<Field> Config::flags() {
  constexpr std::uint64_t largest = 65536, most_steps = 10'000'000;
  const auto rate = [](const char* name, double& value, const std::string& help) {
    return excluding_low(real_field(name, value, 0.0, 1000.0, "", help));
  };
  // The rate of an optimizer that no run has does nothing.
  const auto rate_of = [&](const char* rule, double& value, const std::string& help) {
    const bool runs = names(optimizer, rule) ||
                      std::any_of(also.begin(), also.end(),
                                  [&](const std::string& word) { return word.starts_with(rule); });
    return only_if(runs, std::string("a run of ") + rule,
                   rate((std::string("lr-") + rule).c_str(), value, help));
  };
  const auto output = [](Field field) {
    field.names_output = true;
    return field;
  };
  return {
      precision_field(precision),
      text_field("text", text,
                 "text file to train on; default: the King James Bible of Debian's package "
                 "bible-kjv-text"),
      text_field("vocab", vocab,
                 "char, or bpe:V: a byte-pair vocabulary of V tokens learned from the text, V up "
                 "to 16384"),
      size_field("layers", layers, 1, 1000, "L", "transformer blocks"),
      size_field("dim", dim, 2, largest, "d", "width of the residual stream"),
      size_field("heads", heads, 1, largest, "h", "attention heads; must divide --dim"),
      size_field("context", context, 1, largest, "T", "tokens per sequence"),
      size_field("batch", batch, 1, largest, "B", "sequences per step"),
      size_field("steps", steps, 1, most_steps, "", "training steps of each optimizer"),
      choice_field("activation", activation, {"relu2", "relu", "gelu", "swiglu"}, "sigma",
                   "activation of the feed-forward networks, of width 4 d; swiglu is gated, with "
                   "width 8 d / 3"),
      choice_field(
          "norm", norm, {"rms", "layer"}, "",
          "normalization before attention, feed-forward network and head; without gain and bias"),
      choice_field("position", position, {"rotary", "learned"}, "",
                   "rotary: normalize the embedding, rotate queries and keys; learned: add a table "
                   "to the embedding"),
      choice_field("qk-norm", qk_norm, {"auto", "on", "off"}, "",
                   "scale queries and keys of each head to mean square 1; auto: only if positions "
                   "are rotary"),
      choice_field("init", init, {"modded", "gauss", "gpt2"}, "",
                   "initial weights; modded: output maps and head are 0; gauss: N(0, 1/fan_in) "
                   "(Assumption A); gpt2: N(0, 0.02^2)"),
      choice_field("mean-token", mean_token, {"keep", "remove"}, "",
                   "remove: subtract the mean over the earlier tokens from the normalized inputs "
                   "of attention and feed-forward network ([Shallow] eq. (21), strict prefix)"),
      choice_list_field("optimizer", optimizer, optimizers, "",
                        "optimizer of the matrices inside layers; one run for each"),
      rate("lr-adam", lr_adam, "Adam's learning rate on the matrices inside layers"),
      rate_of("muon", lr_muon, "Muon's learning rate"),
      rate_of("polar", lr_polar, "learning rate of Muon with exact polar factors"),
      rate_of("sgd", lr_sgd, "learning rate of SGD with momentum"),
      rate("lr-embedding", lr_embedding, "Adam's learning rate on embedding, positions and head"),
      rate("lr-outer", lr_outer,
           "learning rate of the optimizer on embedding and head, if --spectral-on names them"),
      choice_list_field(
          "spectral-on", spectral_on,
          {"hidden", "Wq", "Wk", "Wv", "Wo", "W1", "W2", "Wg", "embedding", "head", advice_word,
           against_advice_word},
          "",
          "matrices that the optimizer updates; hidden: all inside layers; advice: those inside "
          "layers whose nr/st is 2 or more at steps 4 to 32 of Adam, against-advice: the others; "
          "Adam updates the rest"),
      or_empty(one_per_flag(text_list_field("also", also,
                                            "extra run: an optimizer and the changed settings, as "
                                            "in muon,spectral-on=W2 or adam,dim=128,steps=100"))),
      or_empty(size_list_field("measure-steps", measure_steps, 0, most_steps, "",
                               "step counts after which ranks are measured, always after the last; "
                               "default: 0-4, 8, 16, 32, 64 and every 50")),
      switch_field("one-step", one_step,
                   "measure the actual loss decrease along G and along polar(G), for each matrix, "
                   "in the first optimizer's run"),
      only_if(one_step, "--one-step",
              or_empty(size_list_field("one-step-at", one_step_at, 0, most_steps, "",
                                       "measured steps at which --one-step compares; default: 4, "
                                       "8, 16, 32, 100 and the last"))),
      output(text_field("save", save,
                        ".safetensors file for the weights of trial 0's first run; if the "
                        "architecture is GPT-2's, in GPT-2's layout")),
      output(text_field(
          "record", record,
          "folder for activations and gradients of trial 0's first run, for --study files --from")),
      only_if(!save.empty() || !record.empty(), "--save or --record",
              or_empty(size_list_field(
                  "save-steps", save_steps, 0, most_steps, "",
                  "step counts after which --save and --record write; default: the last"))),
  };
}

Plan plan_of(const Config& config) {
  Plan plan{config, {}};
  for (const std::string& optimizer : config.optimizer)
    plan.runs.push_back({optimizer, "", optimizer, {}, config, {}, {}});
  for (const std::string& text : config.also) plan.runs.push_back(also_run(config, text));
  std::set<std::string> names;
  for (Run& run : plan.runs) {
    if (!names.insert(run.name).second)
      throw UsageError("--also: '" + printable_key(run.name) + "' is given twice");
    const std::string rest = run.name.substr(run.optimizer.size());
    run.label = (run.optimizer == "adam"   ? "Adam"
                 : run.optimizer == "muon" ? "Muon"
                 : run.optimizer == "sgd"  ? "SGD"
                                           : "polar") +
                rest;
    const std::uint64_t steps = run.config.steps;
    std::set<double> measured = {static_cast<double>(steps)}, probed;
    const std::vector<double> wanted =
        config.measure_steps.empty()
            ? default_measured(steps)
            : std::vector<double>(config.measure_steps.begin(), config.measure_steps.end());
    for (const double t : wanted) {
      if (t <= static_cast<double>(steps)) measured.insert(t);
    }
    run.measured.assign(measured.begin(), measured.end());
    for (const double t : {32.0, 100.0, static_cast<double>(steps)}) {
      if (measured.contains(t)) probed.insert(t);
    }
    run.probed.assign(probed.begin(), probed.end());
  }
  if (config.one_step) {
    // The first run, and the same one without (or with) the mean token.
    Run& first = plan.runs.front();
    const MeanTokenPair pair = plan.mean_token_pair(first.optimizer);
    for (Run& run : plan.runs) {
      const bool is_of_pair = pair && (&run == pair.kept || &run == pair.removed);
      if (&run == &first || is_of_pair)
        run.one_step_at = one_step_points_of(config, {run.measured.begin(), run.measured.end()});
    }
  }
  return plan;
}

std::vector<double> one_step_points(const Run& run, bool is_early) {
  std::vector<double> out;
  std::copy_if(run.one_step_at.begin(), run.one_step_at.end(), std::back_inserter(out),
               [&](double t) { return (t < early_steps) == is_early; });
  return out;
}

Rule Run::rule() const {
  return optimizer == "adam"    ? Rule::adam
         : optimizer == "muon"  ? Rule::muon
         : optimizer == "polar" ? Rule::polar
                                : Rule::sgd;
}

double Run::lr() const {
  switch (rule()) {
    case Rule::adam:
      return config.lr_adam;
    case Rule::muon:
      return config.lr_muon;
    case Rule::polar:
      return config.lr_polar;
    case Rule::sgd:
      return config.lr_sgd;
  }
  return 0;
}

Changes workload_of(const Run& run) {
  return changes_without(
      run, [](const std::string& key) { return key == "spectral-on" || key.starts_with("lr-"); });
}

bool Run::follows_advice() const {
  return names(config.spectral_on, advice_word) || names(config.spectral_on, against_advice_word);
}

bool Run::updates(const std::string& block, bool is_advised) const {
  const std::vector<std::string>& list = config.spectral_on;
  if (names(list, block)) return true;
  if (block == "embedding" || block == "head" || block == "positions") return false;
  return names(list, "hidden") || names(list, is_advised ? advice_word : against_advice_word);
}

std::uint64_t Run::hidden_width() const {
  // Three matrices of width 8 d / 3 have as many weights as two of width 4 d. Rounded to a multiple
  // of 8.
  return find_activation(config.activation).gated
             ? std::max<std::uint64_t>((8 * config.dim + 12) / 24 * 8, 8)
             : 4 * config.dim;
}

SequenceShape Run::shape(std::uint64_t vocabulary) const {
  const Config& c = config;
  SequenceShape shape =
      gpt_shape(find_activation(c.activation), c.norm == "rms" ? Norm::rms : Norm::layer,
                c.position == "learned",
                c.qk_norm == "on" || (c.qk_norm == "auto" && c.position == "rotary"));
  shape.vocabulary = vocabulary;
  shape.layers = c.layers, shape.dim = c.dim, shape.heads = c.heads;
  shape.length = c.context, shape.hidden = hidden_width();
  if (c.mean_token == "remove") {
    shape.de_escalation = DeEscalation{
        .tau = 1, .mean = MeanOver::strict, .at = DeEscalation::At::branch, .length = c.context};
  }
  return shape;
}

const Run* Plan::find(const std::string& optimizer, const Changes& changes) const {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const Run& run) {
    return run.optimizer == optimizer && run.changes == changes;
  });
  return found == runs.end() ? nullptr : &*found;
}

MeanTokenPair Plan::mean_token_pair(const std::string& optimizer) const {
  const auto find = [&](const std::string& mean_token) {
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const Run& run) {
      const Changes workload = workload_of(run);
      return run.optimizer == optimizer && run.config.mean_token == mean_token &&
             run.config.spectral_on == config.spectral_on &&
             (workload.empty() || (workload.size() == 1 && workload.front().first == "mean-token"));
    });
    return found == runs.end() ? nullptr : &*found;
  };
  return {find("keep"), find("remove")};
}

const Run* Plan::paper_run() const {
  return find("muon");
}

const Run& Plan::shown_run() const {
  return paper_run() ? *paper_run() : runs.front();
}

std::vector<std::string> hidden_blocks(const Run& run) {
  return gpt_blocks(find_activation(run.config.activation).gated);
}

std::vector<RankSeries> rank_series(const Run& run) {
  std::vector<RankSeries> out;
  const auto of_gradient = [](const std::string& block) {
    return std::vector{nuclear_rank_of(block), ratio_of(block), gradient_norm_of(block)};
  };
  for (std::size_t l = 0; l < run.config.layers; ++l) {
    const auto add = [&](const std::string& what) { out.push_back({in_layer(l, what), l, what}); };
    for (const char* activation : {"A", "Am", "H", "Z", "S"}) add(stable_rank_of(activation));
    for (const char* activation : {"A", "S"}) add(mean_share_of(activation));
    for (const std::string& block : hidden_blocks(run)) {
      for (const std::string& what : of_gradient(block)) add(what);
    }
    add(ratio_to_input_of("Wo"));
  }
  for (const char* activation : {"Af", "embedding", "indicator"})
    out.push_back({stable_rank_of(activation), std::nullopt, ""});
  for (const char* block : {"head", "embedding"}) {
    for (const std::string& name : of_gradient(block)) out.push_back({name, std::nullopt, ""});
  }
  return out;
}

std::vector<Column> columns_of(const Run& run) {
  std::vector<Column> out;
  const auto add = [&](const std::string& name, const std::vector<double>& steps,
                       std::size_t per_step = 1) {
    Column column{name, "step", {}};
    for (const double t : steps) column.x.insert(column.x.end(), per_step, t);
    out.push_back(std::move(column));
  };
  std::vector<double> every_step(run.config.steps + 1);
  std::iota(every_step.begin(), every_step.end(), 0.0);
  add(train_loss, every_step);
  add(validation_loss, run.measured);
  for (const RankSeries& each : rank_series(run)) {
    add(each.name, run.measured);
    if (!run.probed.empty())
      add(std::string(prefix_of(MeasuredOn::held_out_text)) + each.name, run.probed);
  }
  const std::size_t matrices = run.config.layers * hidden_blocks(run).size() + 2;
  for (const bool is_early : {true, false}) {
    const std::vector<double> steps = one_step_points(run, is_early);
    const std::string when = is_early ? early : "";
    if (steps.empty()) continue;
    for (const char* name : {predicted_ratio, curvature_ratio, batch_ratio, independent_ratio})
      add(when + name, steps, matrices);
    for (const char* name : {joint_batch_ratio, joint_independent_ratio}) add(when + name, steps);
  }
  for (const char* name : {final_validation_loss, violations, violations_early, diverged})
    out.push_back({name});
  if (run.follows_advice()) {
    for (const std::string& block : hidden_blocks(run)) out.push_back({advised_of(block)});
  }
  return out;
}

std::string activation_of(const std::string& block) {
  if (block == "W1" || block == "Wg") return "Am";
  return block == "W2" ? "S" : "A";
}

Work work(const Config& config) {
  for (const std::string& file :
       {config.save, config.record.empty() ? "" : config.record + "/recording.json"}) {
    if (!file.empty()) check_writable(file);
  }
  // Read before the trials, so that a missing or too short text is an error before any training.
  return each_trial([plan = plan_of(config), &corpus = config.corpus()](Trial& trial) {
    return run_trial(plan, corpus, trial);
  });
}

}  // namespace ranklab::gpt

namespace ranklab {

std::unique_ptr<Study> make_gpt_study() {
  return study_of<gpt::Config>(gpt::work, [](const gpt::Config& config, const Records& records) {
    return gpt::report(gpt::plan_of(config), config.corpus(), records);
  });
}

}  // namespace ranklab
