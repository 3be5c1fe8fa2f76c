// The flags, the columns and the result.
#include <algorithm>

#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"

namespace ranklab::curvature {

void Config::derive(Numbers& out) const {
  const std::vector<double> of_trials = scalars_of(out.records(), diverged);
  out.sometimes(std::ranges::count(of_trials, 1.0) > 0, [&] { out.scalar(diverged); });
  out.diverged(optimizer, of_trials);
  out.add(columns_of(*this));
  if (is_transformer()) return derive_attention(out);
  for (const Inequality* statement : counted_statements) out.scalar(*statement);
}

void Config::show(Display& out) const {
  const CurveLook points{.style = LineStyle::line_points, .band = BandKind::interval};
  if (!is_transformer()) {
    PanelBuilder loose = out.panel("Bound (4.4) over the curvature", {"training step"},
                                   log_axis("bound / abs(curvature)"));
    for (const JointDirection& each : joint_directions)
      loose.curve(each.of(looseness), say("along {}", each.label), points);
  }
  PanelBuilder share = out.panel("Sum of the curvatures of single matrices", {"training step"},
                                 {"share of the whole"});
  for (const JointDirection& each : joint_directions)
    share.curve(each.of(single_share), say("along {}", each.label), points);
  share.line(1.0, "no terms between layers");
  for (const auto& [title, what, axis] :
       {std::tuple{"Decrease along polar(G) over that along G, best lengths", advantage, "ratio"},
        {"Predicted by (1.8)", rank_ratio, "nr(G) / st(A)"},
        {"Curvature per feature change", constant, "along G / along polar(G)"},
        {"Tightness of the norm bounds", slack, "at G / at polar(G)"}}) {
    PanelBuilder panel = out.panel(title, {"training step"}, log_axis(axis));
    int color = 0;
    for (const WeightMatrix& matrix : matrices()) {
      panel.curve(of_matrix(matrix, what), matrix.label,
                  {.style = LineStyle::line_points, .color = color++, .band = BandKind::interval});
    }
    panel.line(1.0, "1");
  }
  if (is_transformer()) show_attention(out);
  out.columns(3);
}

std::vector<Field> Config::flags() {
  const auto of_mlp = [this](Field field) {
    return only_if([this] { return !is_transformer(); }, "--model mlp", std::move(field));
  };
  return {
      choice_field("model", model, {"mlp", "transformer"}, "",
                   "mlp: dense layers; transformer: decoder blocks with one head on the King "
                   "James Bible, on the same tokens at every step"),
      choice_field("activation", activation, smooth_activations(), "sigma",
                   "activation of the hidden layers; Section 4 needs a smooth one"),
      size_field("layers", layers, 1, 1000, "L", "weight matrices; of a transformer: blocks"),
      size_field("d", d, 1, largest_size, "d", "input dimension; of a transformer: its width"),
      of_mlp(size_field("width", width, 1, largest_size, "h", "units of each hidden layer")),
      of_mlp(size_field("classes", classes, 2, largest_size, "C", "outputs")),
      size_field("n", n, 2, largest_size, "n",
                 "samples, all in each step; of a transformer: tokens, a multiple of 32"),
      size_field("steps", steps, 1, 10'000'000, "", "training steps"),
      choice_field("optimizer", optimizer, {"adam", "muon", "sgd"}, "",
                   "optimizer of all matrices"),
      excluding_low(real_field("lr", lr, 0.0, 1000.0, "", "learning rate")),
      size_list_field("measure-steps", measure_steps, 0, 10'000'000, "",
                      "step counts after which the curvature is measured"),
      of_mlp(size_field("directions", directions, 0, 100'000, "",
                        "random directions at each of them, Gaussian and of rank one")),
  };
}

void Config::fill_defaults() {
  std::sort(measure_steps.begin(), measure_steps.end());
}

void Config::check() const {
  if (measure_steps.back() > steps) {
    std::vector<std::string> fitting;
    for (const std::uint64_t t : measure_steps) {
      if (t <= steps) fitting.push_back(std::to_string(t));
    }
    throw Misfit(say("--measure-steps: {} is beyond the last step; allowed: 0 to --steps {}",
                     measure_steps.back(), steps),
                 "measure-steps", fitting.empty() ? "0" : joined(fitting, ","), {"steps"});
  }
  if (is_transformer() && n % context != 0) {
    throw UsageError(say(
        "--n: {} is not allowed with --model transformer; allowed: multiples of {}", n, context));
  }
  if (is_transformer() && d % 2 != 0) {
    throw UsageError(
        say("--d: {} is not allowed with --model transformer; allowed: an even width", d));
  }
  if (!is_transformer() && layers < 2)
    throw Misfit("--layers: 1 is not allowed; allowed: at least 2, or --model transformer",
                 "layers", "2", {"model"});
}

Estimate Config::memory() const {
  const double N = static_cast<double>(n), h = static_cast<double>(width),
               L = static_cast<double>(layers), weights = h * (static_cast<double>(d) + h * L);
  return {.bytes = 8 * (8 * weights + 12 * N * h * L * multiples.back())};
}

std::vector<WeightMatrix> Config::matrices() const {
  std::vector<WeightMatrix> out;
  for (std::uint64_t l = 1; l <= layers; ++l) {
    if (!is_transformer()) {
      out.push_back({say("layer{}", l), say("layer {}", l)});
      continue;
    }
    const std::string prefix = layers > 1 ? say("block{}.", l) : "";
    for (const char* block : {"Wq", "Wk", "Wv", "Wo", "W1", "W2"})
      out.push_back({prefix + block, prefix + block});
  }
  return out;
}

std::optional<std::size_t> Config::measured(std::uint64_t step) const {
  const auto found = std::find(measure_steps.begin(), measure_steps.end(), step);
  if (found == measure_steps.end()) return std::nullopt;
  return static_cast<std::size_t>(found - measure_steps.begin());
}

std::vector<Column> columns_of(const Config& config) {
  const std::vector<double> steps(config.measure_steps.begin(), config.measure_steps.end());
  std::vector<Column> out;
  const auto add = [&](const Quantity& quantity) { out.push_back({quantity, "step", steps}); };
  add(loss_of_step);
  for (const JointDirection& each : joint_directions) add(each.of(single_share));
  for (const WeightMatrix& matrix : config.matrices()) {
    for (const Measure& each : {rank_ratio, slack, constant, advantage})
      add(of_matrix(matrix, each));
  }
  if (config.is_transformer()) return out;
  add(C_F_of_step), add(C_op_of_step);
  for (const JointDirection& each : joint_directions)
    add(each.of(looseness)), add(each.of(gauss_newton_share));
  out.push_back({C_F_over_n, "multiple", multiples});
  return out;
}

Work Config::work() const {
  if (!is_transformer())
    return each_trial([this](Trial& trial) { return run_trial(*this, trial); });
  const auto corpus = std::make_shared<const Corpus>(read_corpus("", "char", context + 1));
  return each_trial(
      [this, corpus](Trial& trial) { return run_transformer_trial(*this, *corpus, trial); });
}

}  // namespace ranklab::curvature

namespace ranklab {

std::unique_ptr<Study> make_curvature_study() {
  return std::make_unique<curvature::Config>();
}

}  // namespace ranklab
