#include <algorithm>

#include "core/error.hpp"
#include "experiments/one_step_compare/curvature/attention_constants.hpp"
#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace curvature {
namespace {

std::vector<double> steps_of(const CurvatureConfig& config) {
  return {config.measure_steps.begin(), config.measure_steps.end()};
}

void add_series(const CurvatureConfig& config, ResultBuilder& out) {
  const std::vector<double> steps = steps_of(config);
  out.series(loss_of_step, "step", steps);
  for (const std::string& direction : joint_directions)
    out.series(own_share_of(direction), "step", steps);
  for (const std::string& matrix : matrices_of(config)) {
    for (const char* what : {rank_ratio, slack, constant, advantage})
      out.series(of_matrix(matrix, what), "step", steps);
  }
  if (config.model != "mlp") return;
  for (const char* name : {C_F_of_step, C_op_of_step}) out.series(name, "step", steps);
  for (const std::string& direction : joint_directions) {
    for (const std::string& name : {looseness_of(direction), gauss_newton_share_of(direction)})
      out.series(name, "step", steps);
  }
  out.series(C_F_over_n, "multiple", multiples);
  for (const Inequality* statement : counted_statements) out.scalar(*statement);
}

std::string label_of(const std::string& direction) {
  return direction == "polar" ? "along polar factors" : "along gradients";
}

void draw(const CurvatureConfig& config, ResultBuilder& out) {
  const CurveLook points{.style = LineStyle::line_points, .band = BandKind::interval};
  if (config.model == "mlp") {
    PanelBuilder loose = out.panel("Bound (4.4) over the curvature", {"training step"},
                                   log_axis("bound / abs(curvature)"));
    for (const std::string& direction : joint_directions)
      loose.curve(looseness_of(direction), label_of(direction), points);
  }
  PanelBuilder share = out.panel("Sum of the curvatures of single matrices", {"training step"},
                                 {"share of the whole"});
  for (const std::string& direction : joint_directions)
    share.curve(own_share_of(direction), label_of(direction), points);
  share.line(1.0, "no terms between layers");
  for (const auto& [title, what, axis] :
       {std::tuple{"Decrease along polar(G) over that along G, best lengths", advantage, "ratio"},
        {"Predicted by (1.8)", rank_ratio, "nr(G) / st(A)"},
        {"Curvature per feature change", constant, "along G / along polar(G)"},
        {"Tightness of the norm bounds", slack, "at G / at polar(G)"}}) {
    PanelBuilder panel = out.panel(title, {"training step"}, log_axis(axis));
    int color = 0;
    for (const std::string& matrix : matrices_of(config)) {
      const bool is_layer = matrix.starts_with("layer");
      panel.curve(of_matrix(matrix, what), is_layer ? "layer " + matrix.substr(5) : matrix,
                  {.style = LineStyle::line_points, .color = color++, .band = BandKind::interval});
    }
    panel.line(1.0, "1");
  }
  if (config.model != "mlp") draw_attention(out);
  out.columns(3);
}

Result report(const CurvatureConfig& config, const Records& records) {
  ResultBuilder out("Curvature of a small network by layers, over training", records);
  out.claims().set_unit(Unit::training);
  const bool can_diverge = config.model == "mlp";
  const auto of_trials = per_trial(records, [&](const TrialRecord& record) {
    return can_diverge ? record.scalar(diverged_name) : 0.0;
  });
  if (std::count(of_trials.begin(), of_trials.end(), 1.0) > 0) {
    out.scalar(diverged_name, of_trials);
    out.diverged_where(diverged_name);
  }
  add_series(config, out);
  judge(config, records, out.claims());
  draw(config, out);
  return out.take();
}

class CurvatureStudy : public Study {
 public:
  std::vector<Field> fields() override {
    CurvatureConfig& c = config_;
    return {
        choice_field("model", c.model, {"mlp", "transformer"}, "",
                     "mlp: dense layers; transformer: decoder blocks with one head on the King "
                     "James Bible, on the same tokens at every step"),
        choice_field("activation", c.activation, smooth_activations(), "sigma",
                     "activation of the hidden layers; Section 4 needs a smooth one"),
        choice_field("loss", c.loss, {"cross-entropy", "squares"}, "f", "loss of the outputs"),
        size_field("layers", c.layers, 1, 1000, "L", "weight matrices; of a transformer: blocks"),
        size_field("d", c.d, 1, largest_size, "d", "input dimension; of a transformer: its width"),
        size_field("width", c.width, 1, largest_size, "h", "units of each hidden layer"),
        size_field("classes", c.classes, 2, largest_size, "C", "outputs"),
        size_field("n", c.n, 2, largest_size, "n",
                   "samples, all in each step; of a transformer: tokens, a multiple of 32"),
        size_field("steps", c.steps, 1, 10'000'000, "", "training steps"),
        choice_field("optimizer", c.optimizer, {"adam", "muon", "sgd"}, "",
                     "optimizer of all matrices"),
        excluding_low(real_field("lr", c.lr, 0.0, 1000.0, "", "learning rate")),
        size_list_field("measure-steps", c.measure_steps, 0, 10'000'000, "",
                        "step counts after which the curvature is measured"),
        size_field("directions", c.directions, 0, 100'000, "",
                   "random directions at each of them, Gaussian and of rank one"),
    };
  }

  void resolve_defaults() override {
    // The default steps end with the training.
    if (config_.measure_steps == CurvatureConfig().measure_steps)
      std::erase_if(config_.measure_steps, [&](std::uint64_t t) { return t > config_.steps; });
    std::sort(config_.measure_steps.begin(), config_.measure_steps.end());
  }

  void validate() const override {
    if (config_.measure_steps.back() > config_.steps) {
      throw UsageError("--measure-steps: " + std::to_string(config_.measure_steps.back()) +
                       " is beyond the last step; allowed: 0 to --steps " +
                       std::to_string(config_.steps));
    }
    const bool is_transformer = config_.model == "transformer";
    if (is_transformer && config_.n % context != 0) {
      throw UsageError("--n: " + std::to_string(config_.n) +
                       " is not allowed with --model transformer; allowed: multiples of " +
                       std::to_string(context));
    }
    if (is_transformer && config_.d % 2 != 0) {
      throw UsageError("--d: " + std::to_string(config_.d) +
                       " is not allowed with --model transformer; allowed: an even width");
    }
    if (is_transformer && config_.loss != "cross-entropy") {
      throw UsageError("--loss: " + config_.loss +
                       " is not allowed with --model transformer; allowed: cross-entropy");
    }
    if (!is_transformer && config_.layers < 2)
      throw UsageError("--layers: 1 is not allowed; allowed: at least 2, or --model transformer");
  }

  Estimate estimate() const override {
    const double n = static_cast<double>(config_.n), h = static_cast<double>(config_.width),
                 d = static_cast<double>(config_.d), L = static_cast<double>(config_.layers),
                 weights = h * (d + h * L);
    return {.bytes = 8 * (8 * weights + 12 * n * h * L * multiples.back())};
  }

  Work work() const override {
    if (config_.model == "mlp")
      return each_trial([this](Trial& trial) { return run_trial(config_, trial); });
    const auto corpus = std::make_shared<const Corpus>(read_corpus("", "char", context + 1));
    return each_trial(
        [this, corpus](Trial& trial) { return run_transformer_trial(config_, *corpus, trial); });
  }
  Result report(const Records& records) const override {
    return curvature::report(config_, records);
  }

 private:
  CurvatureConfig config_;
};

}  // namespace

std::vector<std::string> matrices_of(const CurvatureConfig& config) {
  std::vector<std::string> out;
  const bool is_transformer = config.model == "transformer";
  for (std::uint64_t l = 1; l <= config.layers; ++l) {
    if (!is_transformer) out.push_back("layer" + std::to_string(l));
    const std::string prefix = config.layers > 1 ? "block" + std::to_string(l) + "." : "";
    for (const char* block : {"Wq", "Wk", "Wv", "Wo", "W1", "W2"}) {
      if (is_transformer) out.push_back(prefix + block);
    }
  }
  return out;
}

}  // namespace curvature

std::unique_ptr<Study> make_curvature_study() {
  return std::make_unique<curvature::CurvatureStudy>();
}

}  // namespace ranklab
