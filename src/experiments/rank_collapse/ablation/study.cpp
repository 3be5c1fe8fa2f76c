#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "experiments/rank_collapse/ablation/config.hpp"
#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/figure_labels.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {
namespace {

// The combinations --------------------------------------------------------------------------------

// The part that is removed in addition to the norm: "gating" or "skip".
std::string part_of(const AblationConfig& config) {
  return config.model.row().ablation == Ablation::figure_3 ? "gating" : "skip";
}

// "gating=on,norm=off": the name of one combination's series.
std::string combination(const std::string& part, bool part_is_on, bool norm_is_on) {
  return part + "=" + (part_is_on ? "on" : "off") + ",norm=" + (norm_is_on ? "on" : "off");
}

// Four groups of one curve each: both on, only the part, only the norm, both off. `model` is the
// model of the config with the weights of one training.
std::vector<DepthGroup> groups_of(const AblationConfig& config, const ModelSpec& model) {
  std::vector<DepthGroup> groups;
  const std::string part = part_of(config);
  for (const bool part_is_on : {true, false}) {
    for (const bool norm_is_on : {true, false}) {
      ModelSpec spec = model;
      if (!norm_is_on) spec.norm = "none";
      if (part == "gating") spec.gating = part_is_on ? "on" : "off";
      const double lambda = part == "skip" && !part_is_on ? 0.0 : config.lambda;
      groups.push_back({spec, {{combination(part, part_is_on, norm_is_on), {lambda}}}});
    }
  }
  return groups;
}

std::vector<DepthGroup> groups_of(const AblationConfig& config) {
  return groups_of(config, config.model);
}

// The model with the weights of all trainings.
StackedModel trained_model(const AblationConfig& config) {
  for (const std::string& word : config.also) {
    if (config.model.checkpoint == nullptr || !names_weights(word)) {
      throw UsageError("--also: '" + printable_key(word) +
                       "' is not allowed with --study ablation; allowed: weights files of further "
                       "trainings of the model in --weights");
    }
  }
  const std::vector<StackedModel> models = stacked_models(config.model, config.also);
  if (models.size() == 1) return models.front();
  throw UsageError("--also: weights of " + models.back().label +
                   " are not allowed with --study ablation; allowed: further trainings of " +
                   models.front().label);
}

// Claims ------------------------------------------------------------------------------------------

// Our thresholds for "a dramatic increase" and "instability"; the paper gives no number.
constexpr double dramatic_factor = 2.0, unstable_orders = 2.0;

// Figure 3 shows Mamba-2 2.7B, which has 64 layers. A model with fewer than half as many cannot
// contradict a collapse.
constexpr std::uint64_t enough_layers = 32;

// The paper's figures show trained models.
std::string weights_of(const AblationConfig& config) {
  if (config.model.checkpoint == nullptr)
    return "random initialization, but the figure shows a trained model";
  return config.model.trainings > 1 ? "weights of " + counted(config.model.trainings, "training")
                                    : "weights from a file";
}

enum class Outcome { collapses, keeps };

void judge_final(const Statement& statement, const std::string& curve, Outcome outcome,
                 const AblationConfig& config, const Records& records, Claims& claims) {
  const auto run = claims.about(overflows({curve}, records));
  claims.mean(
      reading(statement, "mu/||Y||_F of " + short_number(config.threshold)),
      final_values(curve, measure::mu_normalized, records),
      outcome == Outcome::collapses ? at_most(config.threshold) : at_least(config.threshold),
      "normalized mu after the last layer; collapsed: below " + short_number(config.threshold) +
          "; " + weights_of(config));
}

// The last normalized mu divided by the smallest of all layers; 1 if no layer is below the input.
// Values below `floor` are rounding noise: the smallest counts as the floor, and a last value below
// it is undefined.
std::vector<double> rise_after_drop(const std::string& curve, const Records& records,
                                    double floor) {
  return per_trial(records, [&](const TrialRecord& record) {
    const auto& mu = record.array(of_curve(curve, measure::mu_normalized));
    if (!(mu.back() >= floor)) return undefined;  // also after an overflow
    const double least = *std::min_element(mu.begin(), mu.end());
    return least < mu.front() ? mu.back() / std::max(least, floor) : 1.0;
  });
}

std::vector<double> orders_of_growth(const std::string& curve, const Records& records) {
  return per_trial(records, [&](const TrialRecord& record) -> double {
    const auto& norm = record.array(of_curve(curve, measure::log10_norm));
    // NaN means overflow, which counts as the largest possible growth.
    return std::isnan(norm.back()) ? std::numeric_limits<double>::max_exponent10
                                   : norm.back() - norm.front();
  });
}

// Normalized mu after the last layer with the gate minus that without it, with the norm.
std::vector<double> gain_of_gate(const Records& records) {
  const auto last = [&](bool gate) {
    return final_values(combination("gating", gate, true), measure::mu_normalized, records);
  };
  const std::vector<double> with = last(true), without = last(false);
  std::vector<double> gain;
  for (std::size_t t = 0; t < with.size(); ++t) gain.push_back(with[t] - without[t]);
  return gain;
}

// [LambdaSkip] Figure 3. The effect of the gate is judged for trained weights only, like the
// figure: random weights were not trained with their gate.
void judge_gating(const AblationConfig& config, const Records& records, Claims& claims) {
  const Place figure_3 =
      in_figure("lambda-skip/fig-3", "lambda-skip/fig-3/", "Section 5.2, Figure 3", {"Figure 3"});
  const auto curve = [](bool gate, bool norm) { return combination("gating", gate, norm); };
  const auto final_is = [&](const Statement& statement, const std::string& name, Outcome outcome) {
    judge_final(statement, name, outcome, config, records, claims);
  };
  // A shallow model can contradict no statement about what happens over the depth.
  const auto over_depth = [&] {
    const bool shallow = config.model.checkpoint != nullptr && config.model.layers < enough_layers;
    return claims.only_where(shallow
                                 ? "hypothesis not met: " + counted(config.model.layers, "layer") +
                                       "; the model of the figure has 64"
                                 : "",
                             Claims::Unmet::verdict_alone);
  };
  {
    const auto deep = over_depth();
    final_is(figure_3("no-gate-with-norm-collapses",
                      "mu approaches zero in Mamba-2 without the gate and with the norm"),
             curve(false, true), Outcome::collapses);
  }
  final_is(
      figure_3("gate-with-norm-keeps", "The tokens do not collapse in Mamba-2 with gate and norm"),
      curve(true, true), Outcome::keeps);
  final_is(figure_3("gate-without-norm-keeps",
                    "The tokens do not collapse in Mamba-2 with the gate and without the norm"),
           curve(true, false), Outcome::keeps);
  if (config.model.checkpoint != nullptr) {
    const auto runs =
        claims.about(overflows({curve(true, true), curve(false, true)}, records), true);
    claims.mean(
        figure_3("gate-raises-mu",
                 "The gate prevents collapse in Mamba-2: with the norm, mu after the last "
                 "layer is larger with the gate than without it"),
        gain_of_gate(records), positive(),
        "normalized mu after the last layer with the gate minus without it; " + weights_of(config));
  }
  const auto deep = over_depth();
  const double floor = config.single_precision() ? single_precision_floor : 0;
  const auto run = claims.about(overflows({curve(false, false)}, records));
  claims.mean(
      reading(figure_3("no-gate-no-norm-rises",
                       "mu first drops and then increases dramatically in Mamba-2 without gate and "
                       "norm"),
              "a factor of " + short_number(dramatic_factor)),
      rise_after_drop(curve(false, false), records, floor), at_least(dramatic_factor),
      "normalized mu after the last layer over the smallest of all layers; dramatic: a factor of " +
          short_number(dramatic_factor) +
          (floor > 0 ? "; in single precision, normalized mu below " + short_number(floor) +
                           " is rounding noise"
                     : "") +
          "; " + weights_of(config));
  for (const bool gate : {true, false}) {
    claims.mean(reading(figure_3(std::string("no-norm-unstable/gating=") + (gate ? "on" : "off"),
                                 std::string("Mamba-2 is unstable without the norm (gate ") +
                                     (gate ? "on" : "off") + ")"),
                        short_number(unstable_orders) + " orders of magnitude"),
                orders_of_growth(curve(gate, false), records), at_least(unstable_orders),
                "orders of magnitude by which ||Y||_F grows from the input to the last layer; "
                "unstable: at least " +
                    short_number(unstable_orders) + "; " + weights_of(config));
  }
}

// [LambdaSkip] Figure 4, which shows S4D. For the other models the text repeats the theorems.
void judge_skip(const AblationConfig& config, const Records& records, Claims& claims) {
  if (config.model.row().ablation != Ablation::figure_4) {
    const Place section_4_2_1 = {"lambda-skip/section-4.2.1/no-skip", "lambda-skip/section-4.2.1/",
                                 "Section 4.2.1, Theorems 4.2 and 4.3", Part::text};
    const std::string curve = combination("skip", false, true);
    judge_final(section_4_2_1(curve, "The tokens collapse in " + config.model.model +
                                         " with the norm and without a skip"),
                curve, Outcome::collapses, config, records, claims);
    return;
  }
  const Place figure_4 = in_figure("lambda-skip/fig-4", "lambda-skip/fig-4/",
                                   "Appendix A.13.1, Figure 4", {"Figure 4"});
  for (const DepthGroup& group : groups_of(config)) {
    const std::string& curve = group.curves.front().name;
    judge_final(figure_4(curve, "The tokens do not collapse in S4D with " + curve), curve,
                Outcome::keeps, config, records, claims);
  }
}

// The result --------------------------------------------------------------------------------------

// "gate and norm", "gate only", "norm only" or "neither".
std::string combination_label(const AblationConfig& config, const DepthGroup& group) {
  const bool gating = part_of(config) == "gating", norm_is_on = group.spec.norm != "none",
             part_is_on = gating ? group.spec.has_gate() : group.curves.front().lambda.front() != 0;
  const std::string part = gating ? "gate" : "skip";
  if (part_is_on) return part + (norm_is_on ? " and norm" : " only");
  return norm_is_on ? "norm only" : "neither";
}

void add_figure(const AblationConfig& config, const std::vector<DepthGroup>& groups,
                ResultBuilder& out) {
  const BandKind band = band_of_trials(config.model, out.records().size());
  const auto add_panel = [&](const char* what, const std::string& title, Axis axis) {
    PanelBuilder panel = out.panel(title, {"number of layers"}, std::move(axis));
    for (const DepthGroup& group : groups) {
      panel.curve(of_curve(group.curves.front().name, what), combination_label(config, group),
                  {.band = band});
    }
    return panel;
  };
  const std::string threshold = threshold_label(config.threshold);
  add_panel(measure::mu_normalized, "Collapse: normalized mu", normalized_mu_axis())
      .line(config.threshold, threshold);
  add_panel(measure::log10_norm, "Stability: size of the output",
            {"Frobenius norm of the layer's output", Scale::log10});
  out.next_figure("Distance from rank one over the layers");
  add_panel(measure::rank_one_residual, "Rank-one residual", rank_one_residual_axis())
      .line(config.threshold, threshold);
}

Result report(const AblationConfig& config, const Records& records) {
  const std::vector<DepthGroup> groups = groups_of(config);
  const bool gating = part_of(config) == "gating";
  ResultBuilder out(
      (gating ? "Gate and norm removed, " : "Skip and norm removed, ") + config.model.model,
      records);
  out.claims().set_unit(independent_unit(config.model));
  std::vector<std::string> curves;
  for (const DepthGroup& group : groups) {
    const std::string& curve = curves.emplace_back(group.curves.front().name);
    add_depth_series(curve, out);
    out.scalar(of_curve(curve, "final_mu_normalized"),
               final_values(curve, measure::mu_normalized, records));
  }
  for (std::string& note : file_notes(config.model)) out.note(std::move(note));
  add_depth_scalars(curves, out);
  out.note(collapse_note(curves, config.threshold, records));
  if (gating) {
    out.note("Norm off removes: " + config.model.norm_off +
             ". Gate off removes the factor silu(z) and keeps the per-head skip D.");
  }
  if (gating) judge_gating(config, records, out.claims());
  if (!gating) judge_skip(config, records, out.claims());
  add_figure(config, groups, out);
  return out.take();
}

class AblationStudy : public Study {
 public:
  std::vector<Field> fields() override {
    std::vector<Field> fields = {precision_field(config_.precision)};
    for (Field& field : model_fields(config_.model)) fields.push_back(std::move(field));
    for (Field& field : file_fields(config_.model)) fields.push_back(std::move(field));
    Field also{"also", &config_.also, "",
               "weights files of further trainings of the model, FILE.safetensors, each read with "
               "its FILE.config.json. Each training is one trial: the mean over the sequences"};
    fields.push_back(or_empty(std::move(also)));
    fields.push_back(real_field("lambda", config_.lambda, -1e12, 1e12, "lambda",
                                "strength of the skip if it is on"));
    fields.push_back(real_field("threshold", config_.threshold, 0.0, 1.0, "",
                                "tokens count as collapsed if normalized mu is below it"));
    return fields;
  }

  void adopt_files() override { ranklab::adopt_files(config_.model, config_.also); }
  std::uint64_t trials_in_files() const override { return ranklab::trials_in_files(config_.model); }
  void resolve_defaults() override { resolve_defaults_with_files(config_.model); }

  void validate() const override {
    trained_model(config_);
    if (config_.model.norm == "none")
      throw UsageError(
          "--norm none is not allowed with --study ablation, which removes the norm itself");
    if (part_of(config_) == "gating" && !config_.model.has_gate()) {
      throw UsageError(
          "--gating off is not allowed with --study ablation, which removes the gate itself");
    }
    if (config_.lambda == 0)
      throw UsageError(
          "--lambda 0 is not allowed with --study ablation: it is the strength of the skip that is "
          "on; allowed: other numbers");
  }

  Estimate estimate() const override { return depth_cost(groups_of(config_)); }

  Work work() const override {
    const bool single = config_.single_precision();
    if (config_.model.trainings > 1) {
      return each_trial([this, single, model = trained_model(config_)](Trial& trial) {
        const std::vector<DepthGroup> groups = groups_of(config_, model.training(trial.index()));
        std::vector<std::string> curves;
        for (const DepthGroup& group : groups) curves.push_back(group.curves.front().name);
        return run_training(config_.model, curves, trial, [&](const std::vector<Trial>& sequences) {
          return run_variants(groups, sequences, single);
        });
      });
    }
    return in_batches(trials_per_batch(config_.model),
                      [groups = groups_of(config_), single](std::vector<Trial>& trials) {
                        return run_variants(groups, trials, single);
                      });
  }
  Result report(const Records& records) const override {
    return with_rounding_note(ranklab::report(config_, records), config_.single_precision());
  }

 private:
  AblationConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_ablation_study() {
  return std::make_unique<AblationStudy>();
}

}  // namespace ranklab
