// `rank-collapse --study ablation`: removes the gate and the norm (mamba2; [LambdaSkip] Figure 3),
// or the skip and the norm (every other model; Figure 4). All four combinations have the same
// weights and input. A trial records the token geometry after every layer (depth/depth.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/kit.hpp"
#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::ablation {
namespace {

// Flags -------------------------------------------------------------------------------------------

struct Config : DepthConfig {  // `also`: weights files of further trainings of the model
  double lambda = 1.0;         // strength of the skip if it is on
  double threshold = 0.1;      // tokens count as collapsed if normalized mu is below it

  Config() { model.model = "mamba2"; }
  std::vector<Field> flags() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override;
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  /// Whether the gate is removed in addition to the norm; otherwise the skip is.
  bool removes_gate() const { return model.row().ablation == Ablation::figure_3; }
  /// The model with the weights of all trainings.
  StackedModel trained_model() const;
};

std::vector<Field> Config::flags() {
  const Field trainings = {
      "also", &also, "",
      "weights files of further trainings of the model, FILE.safetensors, each read with its "
      "FILE.config.json. Each training is one trial: the mean over the sequences"};
  return all_fields(
      {{precision_field(precision)},
       model_fields(model),
       file_fields(model),
       {or_empty(trainings),
        real_field("lambda", lambda, -1e12, 1e12, "lambda", "strength of the skip if it is on"),
        real_field("threshold", threshold, 0.0, 1.0, "",
                   "tokens count as collapsed if normalized mu is below it")}});
}

StackedModel Config::trained_model() const {
  for (const std::string& word : also) {
    if (model.checkpoint == nullptr || !names_weights(word)) {
      throw UsageError(
          say("--also: '{}' is not allowed with --study ablation; allowed: weights files of "
              "further trainings of the model in --weights",
              printable_key(word)));
    }
  }
  const std::vector<StackedModel> models = stacked_models(model, also);
  if (models.size() == 1) return models.front();
  throw UsageError(
      say("--also: weights of {} are not allowed with --study ablation; allowed: further trainings "
          "of {}",
          models.back().label, models.front().label));
}

void Config::check() const {
  trained_model();
  if (model.norm == "none") {
    throw UsageError(
        "--norm none is not allowed with --study ablation, which removes the norm itself");
  }
  if (removes_gate() && !model.has_gate()) {
    throw UsageError(
        "--gating off is not allowed with --study ablation, which removes the gate itself");
  }
  if (lambda == 0) {
    throw UsageError(
        "--lambda 0 is not allowed with --study ablation: it is the strength of the skip that is "
        "on; allowed: other numbers");
  }
}

// The combinations --------------------------------------------------------------------------------

// `part` is the gate or the skip.
struct Combination {
  bool part, norm;
};
constexpr Combination combinations[] = {{true, true}, {true, false}, {false, true}, {false, false}};

const char* on_or_off(bool is_on) {
  return is_on ? "on" : "off";
}

// gating=on,norm=off
At place_of(const Config& c, Combination of) {
  const auto at = [](const std::string& axis, bool on) {
    return At(axis, on_or_off(on), say("{}={}", axis, on_or_off(on)));
  };
  return at(c.removes_gate() ? "gating" : "skip", of.part) & at("norm", of.norm);
}
// "gate and norm", "gate only", "norm only" or "neither".
std::string label_of(const Config& c, Combination of) {
  const std::string part = c.removes_gate() ? "gate" : "skip";
  if (of.part) return part + (of.norm ? " and norm" : " only");
  return of.norm ? "norm only" : "neither";
}

// One group of one curve for each combination. `model` has the weights of one training.
std::vector<DepthGroup> groups_of(const Config& c, const ModelSpec& model) {
  std::vector<DepthGroup> groups;
  for (const Combination of : combinations) {
    ModelSpec spec = model;
    if (!of.norm) spec.norm = "none";
    if (c.removes_gate()) spec.gating = on_or_off(of.part);
    const double lambda = c.removes_gate() || of.part ? c.lambda : 0.0;
    groups.push_back({spec, {{place_of(c, of), {lambda}}}});
  }
  return groups;
}

Estimate Config::memory() const {
  return depth_cost(groups_of(*this, model));
}

Work Config::work() const {
  return depth_work(
      model, curves_in(groups_of(*this, model)),
      [this, trained = trained_model()](std::uint64_t training, const std::vector<Trial>& trials) {
        return run_variants(groups_of(*this, trained.training(training)), trials,
                            single_precision());
      });
}

// Claims ------------------------------------------------------------------------------------------

// Our thresholds for "a dramatic increase" of mu, the paper's sign of instability, and for growth
// of
// ||Y||_F, which is ours; the paper gives no number.
constexpr double dramatic_factor = 2.0, unstable_orders = 2.0;

// The paper's figures show trained models.
std::string weights_of(const Config& c) {
  if (c.model.checkpoint == nullptr)
    return "random initialization, but the figure shows a trained model";
  return c.model.trainings > 1 ? "weights of " + plural(c.model.trainings, "training")
                               : "weights from a file";
}

enum class Outcome { collapses, keeps };

void judge_final(const Statement& statement, const At& curve, Outcome outcome, const Config& c,
                 const Records& records, Claims& claims) {
  const auto run = claims.about(overflows({curve}, records));
  claims.mean(reading(statement, say("mu/||Y||_F of {}", c.threshold)),
              final_values(curve, measure::mu_normalized, records),
              outcome == Outcome::collapses ? at_most(c.threshold) : at_least(c.threshold),
              say("collapsed: below {}; {}", c.threshold, weights_of(c)));
}

// The last normalized mu divided by the smallest of all layers; 1 if no layer is below the input.
// Values below `floor` are rounding noise: the smallest counts as the floor, and a last value below
// it is undefined.
std::vector<double> rise_after_drop(const At& curve, const Records& records, double floor) {
  return per_trial(records, [&](const TrialRecord& record) {
    const auto& mu = record.array(curve / measure::mu_normalized);
    if (!(mu.back() >= floor)) return undefined;  // also after an overflow
    const double least = *std::min_element(mu.begin(), mu.end());
    return least < mu.front() ? mu.back() / std::max(least, floor) : 1.0;
  });
}

std::vector<double> orders_of_growth(const At& curve, const Records& records) {
  return per_trial(records, [&](const TrialRecord& record) -> double {
    const auto& norm = record.array(curve / measure::log10_norm);
    // NaN means overflow, which counts as the largest possible growth.
    return std::isnan(norm.back()) ? std::numeric_limits<double>::max_exponent10
                                   : norm.back() - norm.front();
  });
}

const std::string last_mu = ": mu/||Y||_F after the last layer";

// Collapse is convergence to rank one ([LambdaSkip] Section 3.1), for any weights.
void judge_gate_by_rank(const Place& figure_3, const At& with, const At& without, const Config& c,
                        const Records& records, Claims& claims) {
  const auto runs = claims.about(overflows({with, without}, records), true);
  claims.mean(figure_3("gate-raises-residual",
                       "The gate keeps Mamba-2 away from rank one: with the norm, the rank-one "
                       "residual after the last layer is larger with the gate than without it: "
                       "difference of the residual"),
              differences(final_values(with, measure::rank_one_residual, records),
                          final_values(without, measure::rank_one_residual, records)),
              positive(), weights_of(c));
}

void judge_rise(const Statement& statement, const At& curve, const Config& c,
                const Records& records, Claims& claims) {
  const double floor = c.single_precision() ? single_precision_floor : 0;
  const auto run = claims.about(overflows({curve}, records));
  Statement with_number = reading(statement, say("a factor of {}", dramatic_factor));
  with_number.text += ": last mu/||Y||_F over the smallest of all layers";
  claims.mean(
      with_number, rise_after_drop(curve, records, floor), at_least(dramatic_factor),
      clauses(floor > 0
                  ? say("in single precision, normalized mu below {} is rounding noise", floor)
                  : "",
              weights_of(c)));
}

// [LambdaSkip] Figure 3. The effect of the gate is judged for trained weights only, like the
// figure: random weights were not trained with their gate.
void judge_gating(const Config& c, const Records& records, Claims& claims) {
  const Place figure_3 = in_figure(lambda_skip::fig_3, "/", "Section 5.2, Figure 3");
  const auto curve = [&](bool gate, bool norm) { return place_of(c, {gate, norm}); };
  const auto final_is = [&](const Statement& statement, const At& which, Outcome outcome) {
    judge_final(statement, which, outcome, c, records, claims);
  };
  // A shallow model can contradict no statement about what happens over the depth.
  const auto over_depth = [&] {
    return claims.only_where(c.model.checkpoint != nullptr ? too_shallow(c.model) : "",
                             Claims::Unmet::verdict_alone);
  };
  {
    const auto deep = over_depth();
    final_is(figure_3("no-gate-with-norm-collapses",
                      "mu approaches zero in Mamba-2 without the gate and with the norm" + last_mu),
             curve(false, true), Outcome::collapses);
  }
  final_is(figure_3("gate-with-norm-keeps",
                    "The tokens do not collapse in Mamba-2 with gate and norm" + last_mu),
           curve(true, true), Outcome::keeps);
  final_is(figure_3("gate-without-norm-keeps",
                    "The tokens do not collapse in Mamba-2 with the gate and without the norm" +
                        last_mu),
           curve(true, false), Outcome::keeps);
  if (c.model.checkpoint != nullptr) {
    const auto runs =
        claims.about(overflows({curve(true, true), curve(false, true)}, records), true);
    const auto with_gate = final_values(curve(true, true), measure::mu_normalized, records),
               without = final_values(curve(false, true), measure::mu_normalized, records);
    claims.mean(
        figure_3("gate-raises-mu",
                 "The gate prevents collapse in Mamba-2: with the norm, mu after the last layer is "
                 "larger with the gate than without it: difference of mu/||Y||_F"),
        differences(with_gate, without), positive(), weights_of(c));
  }
  judge_gate_by_rank(figure_3, curve(true, true), curve(false, true), c, records, claims);
  const auto deep = over_depth();
  judge_rise(figure_3("no-gate-no-norm-rises",
                      "mu first drops and then increases dramatically in Mamba-2 without gate and "
                      "norm"),
             curve(false, false), c, records, claims);
  judge_rise(figure_3("gate-no-norm-rises",
                      "mu increases suddenly in Mamba-2 with the gate and without the norm, a sign "
                      "of instability"),
             curve(true, false), c, records, claims);
  for (const bool gate : {true, false}) {
    const auto run = claims.about(overflows({curve(gate, false)}, records));
    claims.mean(
        beyond(Statement{
            figure_3.statement_id,
            figure_3.prefix + say("no-norm-unstable/gating={}", on_or_off(gate)),
            "not in the paper, whose sign of instability is a rise of mu",
            say("||Y||_F of Mamba-2 without the norm and with gate {} grows from the input to the "
                "last layer by at least {} orders of magnitude",
                on_or_off(gate), unstable_orders)}),
        orders_of_growth(curve(gate, false), records), at_least(unstable_orders),
        say("orders of magnitude; {}", weights_of(c)));
  }
}

// [LambdaSkip] Figure 4, which shows S4D. For the other models the text repeats the theorems.
void judge_skip(const Config& c, const Records& records, Claims& claims) {
  if (c.model.row().ablation != Ablation::figure_4) {
    const Place section_4_2_1 = {lambda_skip::section_4_2_1_no_skip, "lambda-skip/section-4.2.1/",
                                 "Section 4.2.1, Theorems 4.2 and 4.3", Part::text};
    const At curve = place_of(c, {.part = false, .norm = true});
    judge_final(
        section_4_2_1(curve.text, say("The tokens collapse in {} with the norm and without a "
                                      "skip{}",
                                      model_row(c.model.model).title, last_mu)),
        curve, Outcome::collapses, c, records, claims);
    return;
  }
  const Place figure_4 = in_figure(lambda_skip::fig_4, "/", "Appendix A.13.1, Figure 4");
  for (const Combination of : combinations) {
    const At curve = place_of(c, of);
    const std::string words = label_of(c, of);
    judge_final(
        figure_4(curve.text, say("The tokens do not collapse in S4D with {}{}", words, last_mu)),
        curve, Outcome::keeps, c, records, claims);
    const auto run = claims.about(overflows({curve}, records));
    claims.mean(
        beyond(Statement{figure_4.statement_id, figure_4.prefix + curve.text + "/residual",
                         "not in the paper, whose figure shows mu",
                         say("The tokens stay away from rank one in S4D with {}: rank-one residual "
                             "after the last layer",
                             words)}),
        final_values(curve, measure::rank_one_residual, records), at_least(c.threshold),
        weights_of(c));
  }
}

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(independent_unit(model));
  removes_gate() ? judge_gating(*this, records, claims) : judge_skip(*this, records, claims);
}

// The result --------------------------------------------------------------------------------------

std::string Config::title() const {
  return say("{} and norm removed, {}", removes_gate() ? "Gate" : "Skip", model.model);
}

void Config::derive(Numbers& out) const {
  const std::vector<DepthGroup> groups = groups_of(*this, model);
  for (const DepthGroup& group : groups) {
    const DepthPath& curve = group.curves.front();
    add_depth_series(group.spec, curve, out);
    out.scalar(curve.at / measure::final_mu_normalized,
               final_values(curve.at, measure::mu_normalized, out.records()));
  }
  add_depth_scalars(curves_in(groups), out);
}

void Config::show(Display& out) const {
  const BandKind band = band_of_trials(model, out.records().size());
  const auto add_panel = [&](const Measure& what, const std::string& heading, Axis axis) {
    PanelBuilder panel = out.panel(heading, {"number of layers"}, std::move(axis));
    for (const Combination of : combinations)
      panel.curve(place_of(*this, of) / what, label_of(*this, of), {.band = band});
    return panel;
  };
  const std::string label = threshold_label(threshold);
  add_panel(measure::mu_normalized, "Collapse: normalized mu", normalized_mu_axis())
      .line(threshold, label);
  add_panel(measure::log10_norm, "Stability: size of the output",
            {"Frobenius norm of the layer's output", Scale::log10});
  const std::string further = "Distance from rank one over the layers";
  out.next_figure(further);
  add_panel(measure::rank_one_residual, further, rank_one_residual_axis()).line(threshold, label);

  const std::vector<DepthGroup> groups = groups_of(*this, model);
  for (std::string& note : file_notes(model)) out.note(std::move(note));
  note_overflows(curves_in(groups), out);
  out.note(collapse_note(curves_in(groups), threshold, out.records()));
  if (removes_gate()) {
    out.note(
        say("Norm off removes: {}. Gate off removes the factor silu(z) and keeps the per-head skip "
            "D.",
            model.norm_off));
  }
  note_rounding(mu_arrays(groups), single_precision(), out);
}

}  // namespace
}  // namespace ranklab::ablation

namespace ranklab {

std::unique_ptr<Study> make_ablation_study() {
  return std::make_unique<ablation::Config>();
}

}  // namespace ranklab
