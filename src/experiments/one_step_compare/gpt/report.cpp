// Flags, memory and work of the study gpt, and its result.
#include "core/divisors.hpp"
#include "core/flag_word.hpp"
#include "experiments/one_step_compare/gpt/claims.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "io/atomic_file.hpp"
#include "nn/pieces.hpp"
#include "nn/saved_weights.hpp"

namespace ranklab::gpt {

std::vector<Field> Config::flags() {
  constexpr std::uint64_t largest = 65536, most_steps = 10'000'000;
  const auto rate = [](const char* name, double& value, const std::string& help) {
    return excluding_low(real_field(name, value, 0.0, 1000.0, "", help));
  };
  // The rate of an optimizer that no run has does nothing.
  const auto runs = [this](const char* rule) {
    return contains(optimizer, rule) ||
           std::any_of(also.begin(), also.end(),
                       [&](const std::string& word) { return parse_flag_word(word).head == rule; });
  };
  const auto rate_of = [&](const char* rule, double& value, const std::string& help) {
    return only_if([runs, rule] { return runs(rule); }, std::string("a run of ") + rule,
                   rate((std::string("lr-") + rule).c_str(), value, help));
  };
  const auto output = [](Field field) {
    field.names_output = true;
    return field;
  };
  return {
      precision_field(precision),
      text_field("text", text,
                 "text file to train on, or zipf-facts: statements of facts whose frequency "
                 "follows Zipf's law; default: the King James Bible of Debian's package "
                 "bible-kjv-text"),
      only_if([this] { return !has_facts(); }, "a text of bytes",
              text_field("vocab", vocab,
                         "char, or bpe:V: a byte-pair vocabulary of V tokens learned from the "
                         "text, V up to 16384")),
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
      choice_list_field("optimizer", optimizer, optimizer_names(), "",
                        "optimizer of the matrices inside layers; one run for each"),
      rate("lr-adam", lr_adam, "Adam's learning rate on the matrices inside layers"),
      rate_of("muon", lr_muon, "Muon's learning rate"),
      rate_of("polar", lr_polar, "learning rate of Muon with exact polar factors"),
      rate_of("sgd", lr_sgd, "learning rate of SGD with momentum"),
      rate("lr-embedding", lr_embedding, "Adam's learning rate on embedding, positions and head"),
      rate("lr-outer", lr_outer,
           "learning rate of the optimizer on embedding and head, if --spectral-on names them"),
      choice_list_field(
          "spectral-on", spectral_on, matrix_words, "",
          "matrices that the optimizer updates; hidden: all inside layers; criterion: those inside "
          "layers with nr(G) >= st(A), eq. (1.8), at steps 4 to 32 of Adam; against-criterion: the "
          "others; Adam updates the rest"),
      only_if([runs] { return runs("muon") || runs("polar"); }, "a run of muon or polar",
              choice_field("muon-scale", muon_scale,
                           {"original", "match-rms", "spectral", "none", measured_scale}, "",
                           "factor on a step of Muon for an m x n matrix: max(1, m/n)^0.5, 0.2 "
                           "max(m, n)^0.5, (m/n)^0.5 or 1; measured: original up to step 32, then "
                           "the best length of each matrix on that batch, over their geometric "
                           "mean")),
      only_if([runs] { return runs("muon") || runs("polar"); }, "a run of muon or polar",
              text_list_field("muon-parts", muon_parts,
                              "what a step of Muon orthogonalizes: whole matrices; heads: the part "
                              "of each head in Wq, Wk, Wv and Wo, or of some, as in "
                              "q=heads,v=heads; fused: [Wq; Wk; Wv] as one matrix")),
      or_empty(one_per_flag(text_list_field("also", also,
                                            "extra run: an optimizer and the changed settings, as "
                                            "in muon,spectral-on=W2 or adam,dim=128,steps=100"))),
      or_empty(size_list_field("measure-steps", measure_steps, 0, most_steps, "",
                               "step counts after which ranks are measured, always after the last; "
                               "default: 0-4, 8, 16, 32, 64 and every 50")),
      only_if([this] { return heads > 1; }, "several heads",
              switch_field("measure-heads", measure_heads,
                           "measure how far the heads' parts of the gradients and of the updates "
                           "of Wq, Wk, Wv and Wo are apart, and the nuclear ranks of the momentum "
                           "as a whole and by head")),
      switch_field("one-step", one_step,
                   "measure the actual loss decrease along G and along polar(G), for each matrix, "
                   "in the first optimizer's run"),
      only_if([this] { return one_step; }, "--one-step",
              or_empty(size_list_field("one-step-at", one_step_at, 0, most_steps, "",
                                       "measured steps at which --one-step compares; default: 4, "
                                       "8, 16, 32, 100 and the last"))),
      output(text_field("save", save,
                        ".safetensors file for the weights of trial 0's first run; if the "
                        "architecture is GPT-2's, in GPT-2's layout")),
      output(text_field(
          "record", recordings,
          "folder for activations and gradients of trial 0's first run, for `ranklab ranks`")),
      only_if([this] { return !save.empty() || !recordings.empty(); }, "--save or --record",
              or_empty(size_list_field(
                  "save-steps", save_steps, 0, most_steps, "",
                  "step counts after which --save and --record write; default: the last"))),
  };
}

void Config::fill_defaults() {
  if (qk_norm == "auto") qk_norm = position == "rotary" ? "on" : "off";
}

namespace {

void check_run(const Run& run) {
  const Config& c = run.config;
  const std::string where = run.is_main ? "" : "--also " + run.name() + ": ";
  const bool rotates = c.position == "rotary";
  const auto refuse_heads = [&](const std::string& why) {
    if (!run.is_main || (rotates && c.dim % 2 != 0))
      throw UsageError(say("{}--heads: {} {}", where, c.heads, why));
    throw Misfit(say("--heads: {} {}", c.heads, why), "heads",
                 std::to_string(largest_divisor(rotates ? c.dim / 2 : c.dim, c.heads)),
                 {"dim", "position"});
  };
  if (rotates && c.dim % 2 != 0)
    throw UsageError(say("{}--dim: {} is not allowed with --position rotary; allowed: even numbers",
                         where, c.dim));
  if (c.dim % c.heads != 0) refuse_heads(say("does not divide --dim {}", c.dim));
  if (rotates && c.dim / c.heads % 2 != 0) {
    refuse_heads(
        say("gives heads of odd width {}; allowed: an even width, or any with --position learned",
            c.dim / c.heads));
  }
  if (!c.is_gated() && contains(c.spectral_on, "Wg")) {
    throw UsageError(
        say("{}--spectral-on: Wg is not allowed with --activation {}; allowed: with "
            "--activation swiglu",
            where, c.activation));
  }
  const auto refuse_parts = [&](const std::string& why) {
    throw UsageError(say("{}--muon-parts: {} {}", where, joined(c.muon_parts), why));
  };
  const bool cuts = c.muon_parts != std::vector<std::string>{"whole"};
  if (cuts && c.muon_scale == measured_scale)
    refuse_parts("is not allowed with --muon-scale measured; allowed: whole");
  if (c.muon_parts == std::vector<std::string>{"fused"} && run.rule() != Rule::adam) {
    for (const char* block : {"Wq", "Wk", "Wv"}) {
      if (!run.updates(WeightRole::in_layer, block, true) ||
          !run.updates(WeightRole::in_layer, block, false))
        refuse_parts("needs Wq, Wk and Wv in --spectral-on; allowed: whole, heads");
    }
  }
  const std::uint64_t watched = watched_steps.back();
  const bool names_criterion =
      contains(c.spectral_on, criterion_word) || contains(c.spectral_on, against_criterion_word);
  if (names_criterion && c.steps < watched) {
    throw UsageError(
        say("{}--steps: {} ends before the steps at which (1.8) is measured; allowed: at least {}",
            where, c.steps, watched));
  }
}

}  // namespace

void Config::check() const {
  vocabulary_size(vocab);
  const Plan plan = plan_of(*this);
  for (const Run& run : plan.runs) check_run(run);
  // Without the steps that a flag cannot have.
  const auto require = [](const char* name, const std::vector<std::uint64_t>& given,
                          const auto& is_allowed, const auto& refusal) {
    std::vector<std::string> fitting;
    for (const std::uint64_t step : given) {
      if (is_allowed(step)) fitting.push_back(std::to_string(step));
    }
    const auto bad = std::ranges::find_if_not(given, is_allowed);
    if (bad != given.end())
      throw Misfit(say("--{}: {} {}", name, *bad, refusal), name, joined(fitting, ","),
                   {"steps", "measure-steps"});
  };
  for (const auto& [name, given] : {std::pair{"measure-steps", &measure_steps},
                                    {"save-steps", &save_steps},
                                    {"one-step-at", &one_step_at}}) {
    require(
        name, *given, [&](std::uint64_t step) { return step <= steps; },
        say("is beyond the last step; allowed: 0 to --steps {}", steps));
  }
  const std::vector<double>& measured = plan.runs.front().measured;
  require(
      "one-step-at", one_step_at,
      [&](std::uint64_t step) { return contains(measured, static_cast<double>(step)); },
      std::string("is not a measured step; allowed: the steps of --measure-steps"));
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
        cost.helpers, piece_ranges(run.config.batch, shape.length, shape.dim).size() - 1);
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
    if (!recordings.empty()) out.push_back({recording_file(recordings, step)});
  }
  return out;
}

const Corpus& Config::corpus() const {
  return read_text->get(
      [&] { return has_facts() ? draw_zipf_facts() : read_corpus(text, vocab, context + 1); });
}

Work Config::work() const {
  for (const std::string& file : {save, recordings.empty() ? "" : recording_file(recordings, 0)}) {
    if (!file.empty()) check_writable(file);
  }
  // Read before the trials, so that a missing or too short text is an error before any training.
  return each_trial([plan = plan_of(*this), &text = corpus()](Trial& trial) {
    return run_trial(plan, text, trial);
  });
}

// The result --------------------------------------------------------------------------------------

namespace {

/// Adds every series of a main run. An extra run gets the means over layers instead of the series
/// of each layer.
void derive_run(Numbers& out, const Run& run) {
  const auto add = [&](const Quantity& quantity, const std::vector<double>& steps) {
    out.series(run.key(quantity), "step", steps);
  };
  out.series(run.key(train_loss), "step");
  add(validation_loss, run.measured);
  const RunRecords view(run, out.records());
  const auto add_mean_over_layers = [&](const Quantity& what, const std::vector<double>& steps) {
    std::vector<std::string> layers;
    for (std::size_t l = 0; l < run.config.layers; ++l) layers.push_back(in_layer(l, what));
    out.series(
        run.key(over_layers(what)), "step", steps,
        [&](const TrialRecord& record, std::size_t i) { return view.mean_at(record, layers, i); });
  };
  for (const auto& [name, layer, what] : rank_series(run)) {
    if (run.is_main || !layer) add(name, run.measured);
    if (run.is_main) add(place_of(MeasuredOn::held_out_text) / name, run.probed);
    if (layer == 0) add_mean_over_layers(what, run.measured);
  }
  for (const auto& [name, layer, what] : head_series(run)) {
    add(name, head_steps(run));
    if (layer == 0) add_mean_over_layers(what, head_steps(run));
  }
  for (const Quantity& each : scalars_of(run)) out.scalar(run.key(each));
}

/// Adds the measured ratios over the predicted ones: one point for each block and step, whose x is
/// the mean of nr / st over trials. A block and step without a gradient in any trial has no point.
void derive_one_step(Numbers& out, const Run& run, const Stage& stage) {
  const std::vector<double> steps = run.one_steps(stage);
  if (steps.empty()) return;
  const At place = run.place / stage.at();
  const auto predicted = arrays_of(out.records(), place / predicted_ratio);
  std::vector<double> means;
  std::vector<std::size_t> defined;
  for (std::size_t i = 0; !predicted.empty() && i < predicted.front().size(); ++i) {
    std::vector<double> of_trials;
    for (const std::vector<double>& ratios : predicted) of_trials.push_back(ratios[i]);
    const Summary summary = summarize(of_trials);
    if (summary.n == 0) continue;
    means.push_back(summary.mean);
    defined.push_back(i);
  }
  out.sometimes(!defined.empty(), [&] {
    for (const Measure& ratio : {batch_ratio, independent_ratio}) {
      out.series(place / ratio, "nr/st", means, [&](const TrialRecord& record, std::size_t i) {
        return record.array(place / ratio)[defined[i]];
      });
    }
  });
  for (const Measure& ratio : {joint_batch_ratio, joint_independent_ratio})
    out.series(place / ratio, "step", steps);
}

/// The measured shares of Table 2 and the printed ones, without and with a gate.
void derive_shares(Numbers& out, const Trained& all) {
  constexpr Measure
      measured = {"table_2.share", "",
                  "share of Muon's gain over Adam that Muon on W2 alone achieves"},
      printed = {"table_2.printed", "",
                 "share of Muon's gain over Adam that Muon on W2 alone achieves, as printed"};
  const Table2 table = table_2(all);
  if (!table.plain.has_runs() || !table.gated.has_runs()) return;
  out.sometimes(table.plain.missing.empty() && table.gated.missing.empty(), [&] {
    Series shares{measured, "activation", {1, 2}, {}, {}};
    for (const Share* share : {&table.plain, &table.gated}) {
      const Summary summary = summarize(share->per_trial);
      shares.mean.push_back(summary.mean);
      shares.std.push_back(summary.std);
    }
    out.series(measured, std::move(shares));
    out.series_of_points(printed, "activation", {1, 2}, {table.plain.printed, table.gated.printed});
  });
}

}  // namespace

void Config::derive(Numbers& out) const {
  const Trained all{*this, out.records()};
  const Plan& plan = all.plan;
  for (const Run& run : plan.runs) derive_run(out, run);
  out.series(indicator, "step", plan.runs.front().measured);
  derive_shares(out, all);
  for (const Run& run : plan.runs) {
    for (const Stage& stage : {early, late}) derive_one_step(out, run, stage);
  }
  derive_comparisons(out, all);
  grid::derive_divergences(out, plan.runs);
}

void Config::judge(const Records& records, Claims& claims) const {
  gpt::judge({*this, records}, claims);
}

namespace {

/// How the models are trained, as far as the config does not say it. experiments/gpt.md has all.
/// How every step is made. The names of the runs say in what they differ.
std::string training_note(const Config& c) {
  constexpr NewtonSchulzCoefficients p;
  const auto runs_muon = [](const std::string& word) {
    return parse_flag_word(word).head == "muon";
  };
  const std::string of_muon =
      std::ranges::any_of(c.optimizer, runs_muon) || std::ranges::any_of(c.also, runs_muon)
          ? say("Muon: average m of the gradients g with beta {}, not corrected; {} Newton-Schulz "
                "iterations of beta m + (1 - beta) g, with coefficients {}, {} and {}. ",
                momentum_beta, newton_schulz_steps, series_number(p.a), series_number(p.b),
                series_number(p.c))
          : "";
  return say(
      "A step draws {} windows of {} tokens with uniform starts and lowers the mean cross-entropy "
      "of the next token. Learning rates rise over {} steps, stay until {} % of the steps and fall "
      "in a line to {} % at the end. Adam: betas {} and {}, corrected, eps {}. {}No weight decay, "
      "no clipping. experiments/gpt.md, section Training, has the formulas.",
      c.batch, c.context + 1, warmup_steps, 100 * decay_start, 100 * final_factor, adam_beta_1,
      Optimizer<double>::Settings{}.beta_2, adam_epsilon, of_muon);
}

/// Initial weights, norms and positions of the first run.
std::string model_note(const Config& c) {
  const double width = static_cast<double>(c.dim) / static_cast<double>(c.heads);
  const std::string norm =
      c.norm == "rms" ? "x / sqrt(mean(x^2) + 1e-6)" : "(x - mean(x)) / sqrt(var(x) + 1e-5)";
  const std::string tables = c.position == "rotary" ? "embedding" : "embedding and positions";
  const std::string start =
      c.init == "modded" ? say("{} N(0, 1); Wq, Wk, Wv, {} N(0, 1/(4 inputs)); Wo, W2 and head 0",
                               tables, c.is_gated() ? "W1, Wg" : "W1")
      : c.init == "gauss"
          ? say("{} N(0, 1); the others N(0, 1/inputs)", tables)
          : say("Wo and W2 N(0, 0.02^2 / {}); the others N(0, 0.02^2)", 2 * c.layers);
  const std::string normed = c.qk_norm == "on" ? "normalized per head" : "not normalized";
  const std::string positions =
      c.position == "rotary"
          ? say("the embedding is normalized; q and k are {}, then the numbers (j, j + {}) of "
                "place "
                "t = 0, 1, ... turn by t 10000^(-2j/{})",
                normed, width / 2, width)
          : say("a learned table is added to the embedding; q and k are {}", normed);
  return say(
      "Initial weights: {}. Norm: {}, without gain and bias, before attention, feed-forward "
      "network and head. Positions: {}. Scores: q'k / sqrt({}).",
      start, norm, positions, width);
}

/// What is learned from, and what is held out.
std::string text_note(const Config& c) {
  std::string whole =
      say("The final held-out loss is that of all held-out tokens in windows of {}, one after the "
          "other.",
          c.context);
  if (c.has_facts()) return whole;
  return say(
      "{}Blocks of 65,536 bytes (a sixteenth of a shorter text): every sixteenth is held "
      "out.{} {}",
      c.text.empty() ? "One verse per line, without its reference. " : "",
      c.vocab == "char" ? ""
                        : " Byte pairs are learned from the rest, inside words with the "
                          "blank before them, marks with theirs, blanks and line ends.",
      whole);
}

}  // namespace

void Config::show(Display& out) const {
  const Trained all{*this, out.records()};
  draw(out, all);
  const Corpus& read = corpus();
  out.note(
      say("The text is {} ({} bytes, checksum {}): {} training tokens and {} held-out tokens, "
          "with a vocabulary of {}.",
          read.text, read.bytes, read.checksum, read.training.size(), read.validation.size(),
          read.vocabulary));
  out.note(text_note(*this));
  out.note(model_note(*this));
  out.note(training_note(*this));
  grid::note_divergences(
      out, all.plan.runs, [](const Run& run) { return run.figure_label(); },
      " After a divergence, its curves show the other trials only and look better than they are.");
}

}  // namespace ranklab::gpt

namespace ranklab {

std::unique_ptr<Study> make_gpt_study() {
  return std::make_unique<gpt::Config>();
}

}  // namespace ranklab
