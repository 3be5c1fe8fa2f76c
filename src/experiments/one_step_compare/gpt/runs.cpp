// The runs of a config, what each of them records, and their names for readers.
#include <cstring>
#include <map>
#include <numeric>
#include <stdexcept>

#include "core/flag_word.hpp"
#include "experiments/one_step_compare/gpt/gpt.hpp"

namespace ranklab::gpt {

using grid::Setting;

std::string parts_of(const Config& config, const std::string& block) {
  const auto refuse = [](const std::string& word) {
    throw UsageError("--muon-parts: '" + printable_key(word) +
                     "' is not allowed; allowed: " + joined(parts_words, "|") +
                     ", or q, k, v and o with heads or whole, as in q=heads,k=heads");
  };
  std::map<std::string, std::string> of_matrix;
  for (const std::string& word : config.muon_parts) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      if (!contains(parts_words, word) || config.muon_parts.size() > 1) refuse(word);
      if (word == "fused") return block == "Wo" ? "whole" : word;
      return word;
    }
    const std::string matrix = word.substr(0, equals), way = word.substr(equals + 1);
    const bool is_matrix =
        std::ranges::any_of(matrices_of_heads, [&](const char* name) { return matrix == name; });
    if (!is_matrix || (way != "heads" && way != "whole")) refuse(word);
    if (!of_matrix.emplace("W" + matrix, way).second)
      throw UsageError("--muon-parts: " + matrix + " is given twice");
  }
  const auto found = of_matrix.find(block);
  return found == of_matrix.end() ? "whole" : found->second;
}

const OptimizerRow& optimizer_named(const std::string& name) {
  for (const OptimizerRow& row : optimizers) {
    if (row.name == name) return row;
  }
  throw std::logic_error("there is no optimizer " + name);
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> out;
  for (const OptimizerRow& row : optimizers) out.push_back(row.name);
  return out;
}

namespace {

// Settings that --also may not change: all runs of a trial see the same batches, and the output
// belongs to the first run.
const std::set<std::string> common_to_all_runs = {
    "precision",     "text",          "vocab",    "context",     "batch", "also",   "optimizer",
    "measure-steps", "measure-heads", "one-step", "one-step-at", "save",  "record", "save-steps"};

/// Equal ways to cut have one spelling: one word for all, or those of single matrices that are not
/// whole.
std::vector<std::string> canonical_parts(const Config& config) {
  std::vector<std::string> words, of_matrices;
  for (const std::string matrix : matrices_of_heads) {
    words.push_back(parts_of(config, "W" + matrix));
    if (words.back() != "whole") of_matrices.push_back(matrix + "=" + words.back());
  }
  if (words[0] == "fused") return {"fused"};
  if (of_matrices.empty()) return {"whole"};
  return of_matrices.size() == words.size() ? std::vector<std::string>{"heads"} : of_matrices;
}

/// Makes equal lists of --spectral-on equal, and resolves defaults that depend on other settings.
Config canonical(Config config) {
  const auto place = [](const std::string& word) {
    return std::find(matrix_words.begin(), matrix_words.end(), word);
  };
  std::sort(config.spectral_on.begin(), config.spectral_on.end(),
            [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
  config.fill_defaults();
  config.muon_parts = canonical_parts(config);
  return config;
}

/// The value of a field, as a number if it is one.
Coordinate coordinate_of(const Field& field, const std::string& text) {
  if (const auto* whole = std::get_if<std::uint64_t*>(&field.target))
    return static_cast<double>(**whole);
  if (const auto* real = std::get_if<double*>(&field.target)) return **real;
  return text;
}

/// The run of one word of --also: an optimizer and the changed settings.
Run also_run(const Config& base, const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return UsageError(
        say("--also: '{}': {}; allowed: one of {} and changed settings, as in muon,spectral-on=W2",
            printable_key(text), why, joined(optimizer_names(), "|")));
  };
  Config config = base;
  std::vector<Field> fields = config.flags();
  std::set<std::string> names;
  std::string typed;
  const FlagWord word = parse_flag_word(text);
  if (word.value || !contains(optimizer_names(), word.head))
    throw refuse("unknown optimizer '" + printable_key(text.substr(0, text.find(','))) + "'");
  for (const FlagWord::Setting& setting : word.settings) {
    const auto field = std::ranges::find(fields, setting.key, &Field::name);
    if (!setting.value || field == fields.end() || common_to_all_runs.contains(setting.key))
      throw refuse("'" + printable(setting.text()) + "' is not a setting that --also can change");
    if (!names.insert(setting.key).second) throw refuse(setting.key + " is given twice");
    field->parse(joined(FlagWord::joined_by_plus(*setting.value), ","), "--also: " + setting.key);
    typed += "," + setting.text();
  }
  Run run = run_of(config, word.head, names);
  // The place has what differs, whatever its spelling.
  run.place = run.place & grid::place_of(run.changes_from(run_of(base, word.head)));
  run.place.text = word.head + typed;
  run.label += typed;
  return run;
}

/// Refuses a run of --also that computes the same as another run of the plan.
void refuse_if_known(const Plan& plan, const Run& run) {
  const Run* const same =
      plan.first_where([&](const Run& other) { return other.training() == run.training(); });
  if (!same) return;
  const std::string begin = "--also: '" + printable_key(run.name()) + "': ";
  if (!same->is_main)
    throw UsageError(begin + "the same run as '" + printable_key(same->name()) +
                     "'; allowed: runs that differ in a setting that they use");
  throw UsageError(say("{}no setting {}differs from the run of --optimizer {}", begin,
                       run.changes_from(*same).empty() ? "" : "that it uses ", same->optimizer));
}

std::vector<double> ascending(const std::set<double>& steps) {
  return {steps.begin(), steps.end()};
}

void set_measured_steps(Run& run) {
  const Config& c = run.config;
  const double last = static_cast<double>(c.steps);
  std::set<double> wanted(c.measure_steps.begin(), c.measure_steps.end()), probed;
  if (wanted.empty()) {
    wanted = {0, 1, 2, 3, 4, 8, 16, 32, 64};
    for (double t = 50; t <= last; t += 50) wanted.insert(t);
  }
  wanted.insert(last);
  wanted.erase(wanted.upper_bound(last), wanted.end());
  for (const double t : {32.0, 100.0, last}) {
    if (wanted.contains(t)) probed.insert(t);
  }
  run.measured = ascending(wanted), run.probed = ascending(probed);
}

/// The measured steps of a run at which single steps are compared.
std::vector<double> compared_steps(const Config& c, const std::vector<double>& measured) {
  std::set<double> wanted(c.one_step_at.begin(), c.one_step_at.end());
  if (wanted.empty()) wanted = {4, 8, 16, 32, 100, static_cast<double>(c.steps)};
  std::erase_if(wanted, [&](double t) { return !contains(measured, t); });
  return ascending(wanted);
}

}  // namespace

Run run_of(const Config& config, const std::string& optimizer,
           const std::set<std::string>& varying) {
  Run run;
  run.optimizer = optimizer;
  run.place = At("optimizer", optimizer);
  run.label = optimizer_named(optimizer).label;
  run.config = canonical(config);
  for (const Field& field : run.config.flags()) {
    if (common_to_all_runs.contains(field.name)) continue;
    std::string text = field.value_text();
    std::replace(text.begin(), text.end(), ',', '+');
    run.settings.push_back({field.name, coordinate_of(field, text), say("{}={}", field.name, text),
                            text, varying.contains(field.name)});
  }
  std::ranges::sort(run.settings, {}, &Setting::axis);
  return run;
}

Plan plan_of(const Config& given) {
  Plan plan;
  const Config config = canonical(given);
  for (const std::string& optimizer : config.optimizer)
    plan.runs.emplace_back(run_of(config, optimizer)).is_main = true;
  for (const std::string& text : config.also) {
    Run run = also_run(config, text);
    refuse_if_known(plan, run);
    plan.runs.push_back(std::move(run));
  }
  for (Run& run : plan.runs) set_measured_steps(run);
  if (config.one_step) {
    // The first run, and the same one without (or with) the mean token.
    Run& first = plan.runs.front();
    const RunPair pair = plan.mean_token_pair(first.optimizer);
    for (Run& run : plan.runs) {
      const bool is_of_pair = pair && (&run == pair.first || &run == pair.second);
      if (&run == &first || is_of_pair) run.one_step_at = compared_steps(config, run.measured);
    }
  }
  return plan;
}

const Run* Plan::main_run(const std::string& optimizer) const {
  return first_where([&](const Run& run) { return run.is_main && run.optimizer == optimizer; });
}

RunPair Plan::mean_token_pair(const std::string& optimizer) const {
  const auto run_with = [&](const std::string& mean_token) {
    return first_where([&](const Run& run) {
      return run.optimizer == optimizer && run.config.mean_token == mean_token &&
             run.same_on(runs.front(), of_model) && run.config.spectral_on == config().spectral_on;
    });
  };
  return {run_with("keep"), run_with("remove")};
}

std::vector<RunPair> Plan::gated_pairs() const {
  std::vector<RunPair> out;
  for (const Run& gated : runs) {
    const Run* const plain = main_run(gated.optimizer);
    if (plain && !config().is_gated() && &gated == find(gated.optimizer, with_gate))
      out.push_back({plain, &gated});
  }
  return out;
}

std::vector<double> Run::one_steps(const Stage& stage) const {
  std::vector<double> out;
  std::copy_if(one_step_at.begin(), one_step_at.end(), std::back_inserter(out),
               [&](double t) { return stage.steps.low <= t && t <= stage.steps.high; });
  return out;
}

bool Run::follows_criterion() const {
  const auto decides = [&](const std::string& block) {
    return updates(WeightRole::in_layer, block, true) !=
           updates(WeightRole::in_layer, block, false);
  };
  return std::ranges::any_of(blocks(), decides) && rule() != Rule::adam;
}

bool Run::updates(WeightRole role, const std::string& block, bool meets_criterion) const {
  const std::vector<std::string>& list = config.spectral_on;
  if (contains(list, block)) return true;
  if (role != WeightRole::in_layer) return false;
  return contains(list, "hidden") ||
         contains(list, meets_criterion ? criterion_word : against_criterion_word);
}

Update Run::update_of(WeightRole role, const std::string& block, bool meets_criterion) const {
  const bool chosen = updates(role, block, meets_criterion);
  const Rule of_block = chosen ? rule() : Rule::adam;
  if (role == WeightRole::in_layer) {
    Update out{of_block, chosen ? rate() : config.lr_adam};
    if (!takes_scale(of_block) || !has_heads(block)) return out;
    const std::string parts = parts_of(config, block);
    out.fused = parts == "fused";
    if (parts == "heads") out.cut = cut_into_heads(block, config.heads);
    return out;
  }
  return {of_block, of_block == Rule::adam ? config.lr_embedding : config.lr_outer};
}

double scale_over_original(const std::string& scale, double m, double n) {
  const double original = std::sqrt(std::max(1.0, m / n));
  if (scale == "match-rms") return 0.2 * std::sqrt(std::max(m, n)) / original;
  if (scale == "spectral") return std::sqrt(m / n) / original;
  return scale == "none" ? 1 / original : 1;
}

std::uint64_t Run::hidden_width() const {
  // Three matrices of width 8 d / 3 have as many weights as two of width 4 d. Rounded to a multiple
  // of 8.
  return config.is_gated() ? std::max<std::uint64_t>((8 * config.dim + 12) / 24 * 8, 8)
                           : 4 * config.dim;
}

SequenceShape Run::shape(std::uint64_t vocabulary) const {
  const Config& c = config;
  SequenceShape shape =
      gpt_shape(find_activation(c.activation), c.norm == "rms" ? Norm::rms : Norm::layer,
                c.position == "learned", c.qk_norm == "on");
  shape.vocabulary = vocabulary;
  shape.layers = c.layers, shape.dim = c.dim, shape.heads = c.heads;
  shape.length = c.context, shape.hidden = hidden_width();
  if (c.mean_token == "remove") {
    shape.de_escalation = DeEscalation{
        .tau = 1, .mean = MeanOver::strict, .at = DeEscalation::At::branch, .length = c.context};
  }
  return shape;
}

std::vector<Setting> Run::changes_from(const Run& other) const {
  std::vector<Setting> out = settings;
  std::erase_if(out, [&](const Setting& setting) { return contains(other.settings, setting); });
  return out;
}

Training Run::training() const {
  Training out{on(of_model), config.mean_token, {}, ""};
  const auto add = [&](WeightRole role, const std::string& block) {
    const Update met = update_of(role, block, true), unmet = update_of(role, block, false);
    out.updates[block] = {met, unmet};
    if (takes_scale(met.rule) || takes_scale(unmet.rule)) out.scale = config.muon_scale;
  };
  for (const std::string& block : blocks()) add(WeightRole::in_layer, block);
  add(WeightRole::embedding, "embedding");
  add(WeightRole::head, "head");
  if (config.position == "learned") add(WeightRole::positions, "positions");
  if (follows_criterion())
    out.updates[criterion_word] = {{Rule::adam, config.lr_adam}, {Rule::adam, config.lr_embedding}};
  return out;
}

// What a run records ------------------------------------------------------------------------------

std::string activation_of(const std::string& block) {
  if (block == "W1" || block == "Wg") return "Am";
  return block == "W2" ? "S" : "A";
}

std::vector<RankSeries> rank_series(const Run& run) {
  std::vector<RankSeries> out;
  constexpr MatrixMeasure of_gradient[] = {gradient_rank, rank_ratio, gradient_norm};
  for (std::size_t l = 0; l < run.config.layers; ++l) {
    const auto add = [&](const Quantity& what) { out.push_back({in_layer(l, what), l, what}); };
    for (const char* activation : {"A", "Am", "H", "Z", "S"}) add(stable_rank.of(activation));
    for (const char* activation : {"A", "S"}) add(mean_share.of(activation));
    for (const std::string& block : run.blocks()) {
      for (const MatrixMeasure& each : of_gradient) add(each.of(block));
    }
    add(ratio_to_H.of("Wo"));
  }
  const auto add = [&](const Quantity& name) { out.push_back({name, std::nullopt, name}); };
  for (const char* activation : {"Af", "embedding"}) add(stable_rank.of(activation));
  add(indicator);
  for (const char* block : {"head", "embedding"}) {
    for (const MatrixMeasure& each : of_gradient) add(each.of(block));
  }
  return out;
}

std::vector<RankSeries> head_series(const Run& run) {
  std::vector<RankSeries> out;
  if (!run.config.measure_heads) return out;
  for (std::size_t l = 0; l < run.config.layers; ++l) {
    for (const std::string matrix : matrices_of_heads) {
      for (const MatrixMeasure& measure :
           {gradient_spread, update_spread, momentum_rank, momentum_rank_by_head}) {
        const Quantity what = measure.of("W" + matrix);
        out.push_back({in_layer(l, what), l, what});
      }
    }
  }
  return out;
}

std::vector<double> head_steps(const Run& run) {
  std::vector<double> out = run.measured;
  out.pop_back();  // no step follows the last measurement
  return out;
}

std::vector<Quantity> scalars_of(const Run& run) {
  std::vector<Quantity> out = {final_validation_loss, late.violations, early.violations, diverged};
  if (run.config.has_facts()) out.insert(out.end(), {frequent_loss, rare_loss});
  if (run.follows_criterion()) {
    for (const std::string& block : run.blocks()) out.push_back(criterion_met_by(block));
  }
  return out;
}

std::vector<Column> columns_of(const Run& run) {
  std::vector<Column> out;
  const auto add = [&](const Quantity& name, const std::vector<double>& steps,
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
    for (const MeasuredOn text : {MeasuredOn::training_batch, MeasuredOn::held_out_text})
      add(place_of(text) / each.name, run.steps_of(text));
  }
  for (const RankSeries& each : head_series(run)) add(each.name, head_steps(run));
  const std::size_t matrices = run.config.layers * run.blocks().size() + 2;
  for (const Stage& stage : {early, late}) {
    const std::vector<double> steps = run.one_steps(stage);
    if (steps.empty()) continue;
    for (const Measure& name : {predicted_ratio, curvature_ratio, batch_ratio, independent_ratio})
      add(stage.at() / name, steps, matrices);
    for (const Measure& name : {joint_batch_ratio, joint_independent_ratio})
      add(stage.at() / name, steps);
  }
  for (const Quantity& each : scalars_of(run)) out.push_back({each});
  return out;
}

// Names in figures --------------------------------------------------------------------------------

namespace {

/// "SwiGLU" for activation=swiglu, "embedding rate 0.03" for lr-embedding=0.03.
std::string setting_label(const std::string& key, const std::string& value) {
  using Words = std::map<std::string, std::string>;
  static const Words whole = {
      {"activation=relu2", "ReLU^2"},
      {"activation=relu", "ReLU"},
      {"activation=gelu", "GELU"},
      {"activation=swiglu", "SwiGLU"},
      {"norm=rms", "RMSNorm"},
      {"norm=layer", "LayerNorm"},
      {"position=rotary", "rotary positions"},
      {"position=learned", "learned positions"},
      {"qk-norm=on", "normalized queries and keys"},
      {"qk-norm=off", "no normalized queries and keys"},
      {"init=modded", "zero output maps at the start"},
      {"init=gauss", "Gaussian initial weights"},
      {"init=gpt2", "initial weights of GPT-2"},
      {"mean-token=keep", "with the mean token"},
      {"mean-token=remove", "without the mean token"},
      {"muon-scale=original", "scale max(1, m/n)^0.5"},
      {"muon-scale=match-rms", "scale 0.2 max(m, n)^0.5"},
      {"muon-scale=spectral", "scale (m/n)^0.5"},
      {"muon-scale=none", "no scale"},
      {"muon-parts=whole", "whole matrices"},
      {"muon-parts=heads", "by heads"},
      {"muon-parts=fused", "q, k and v as one"},
      {"muon-scale=measured", "measured scale"},
      {"layers=1", "1 layer"},
      {"heads=1", "1 head"},
      {"steps=1", "1 step"},
  };
  static const Words before = {
      {"dim", "width "},           {"lr-embedding", "embedding rate "}, {"lr-outer", "outer rate "},
      {"lr-adam", "Adam's rate "}, {"lr-muon", "Muon's rate "},         {"lr-polar", "polar rate "},
      {"lr-sgd", "SGD's rate "},
  };
  static const Words after = {{"layers", " layers"}, {"heads", " heads"}, {"steps", " steps"}};
  if (const auto found = whole.find(key + "=" + value); found != whole.end()) return found->second;
  if (key == "muon-parts") {  // q=heads+k=heads
    std::vector<std::string> matrices;
    for (const std::string& word : FlagWord::joined_by_plus(value))
      matrices.push_back(word.substr(0, word.find('=')));
    return "heads of " + joined(matrices, ", ");
  }
  if (const auto unit = after.find(key); unit != after.end()) return value + unit->second;
  const auto found = before.find(key);
  return (found == before.end() ? key + " " : found->second) + value;
}

/// " on hidden layers and embedding" for {hidden, embedding}, " on W2 only" for {W2}, " where (1.8)
/// holds". If short: " + embedding", " on W2", " by (1.8)".
std::string blocks_label(std::vector<std::string> blocks, bool is_short) {
  using Words = std::vector<std::string>;
  if (blocks == Words{criterion_word}) return is_short ? " by (1.8)" : " where (1.8) holds";
  if (blocks == Words{against_criterion_word})
    return is_short ? " against (1.8)" : " where (1.8) fails";
  const auto hidden = std::find(blocks.begin(), blocks.end(), "hidden");
  const bool has_hidden = hidden != blocks.end();
  if (is_short) {
    if (!has_hidden) return " on " + joined(blocks, "+");
    std::string out;
    blocks.erase(hidden);
    for (const std::string& block : blocks) out += " + " + block;
    return out;
  }
  if (has_hidden) *hidden = "hidden layers";
  const std::string last = blocks.back();
  blocks.pop_back();
  return " on " + (blocks.empty() ? "" : joined(blocks) + " and ") + last +
         (has_hidden ? "" : " only");
}

std::string label_of(const Run& run, bool is_short, bool hides_rates) {
  std::string out = optimizer_named(run.optimizer).figure_label, settings;
  for (const Setting& setting : grid::varying(run.settings)) {
    const std::string &key = setting.axis, &value = setting.words;
    if (hides_rates && (contains(inner_rates, key) || contains(outer_rates, key))) continue;
    if (key == "lr-" + run.optimizer) {
      out += " at rate " + value;
    } else if (key == "spectral-on") {
      out += blocks_label(run.config.spectral_on, is_short);
    } else {
      const bool shortens = is_short && key == "lr-embedding";
      settings += ", " + (shortens ? "emb. rate " + value : setting_label(key, value));
    }
  }
  return out + settings;
}

}  // namespace

std::string Run::figure_label() const {
  return label_of(*this, false, false);
}

std::string Run::tick_label(bool hides_rates, bool hides_optimizer) const {
  std::string whole =
      label_of(*this, true, hides_rates || !grid::varying(on({"spectral-on"})).empty());
  if (!hides_optimizer) return whole;
  const std::string rest = whole.substr(std::strlen(optimizer_named(optimizer).figure_label));
  for (const std::string before : {" on ", ", ", " "}) {
    if (rest.starts_with(before)) return rest.substr(before.size());
  }
  return "all in layers";
}

}  // namespace ranklab::gpt
