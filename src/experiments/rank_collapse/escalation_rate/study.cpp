#include "experiments/rank_collapse/escalation_rate/config.hpp"

#include <algorithm>

#include "experiments/rank_collapse/escalation_rate/escalation_rate.hpp"
#include "models/blocks/model_row.hpp"
#include "report/figure/builder.hpp"

namespace ranklab {

Result escalation_rate::report(const Plan& plan, const Records& records) {
  ResultBuilder out("Escalation rate of step 1 over redraws of its weights", records);
  out.claims().set_unit(Unit::draw);
  out.scalars({token_escalation::degenerate_rows, diverged});
  out.diverged_where(diverged);
  out.series(token_similarity, "block");
  for (const char* name : {excess, estimate_1, estimate_2, rate, xi_1, xi_2, mu_1, mu_2, omega,
                           delta, lambda_2, rate_1, rate_2, sharpened_excess}) {
    out.series(name, "block", 1);
  }
  if (!records.empty()) judge(plan, records, out.claims());
  out.panel("Token similarity on the fixed path", {"block"}, unit_axis("t_sim"))
      .curve(token_similarity, "", {LineStyle::line_points});
  out.panel("Step 1: xi_1/xi_2 - 1", {"block"}, {"xi_1/xi_2 - 1"})
      .curve(excess, "mean over W, standard error",
             {.style = LineStyle::line_points, .standard_error = true})
      .curve(estimate_1, "Estimate 1", {LineStyle::dashed})
      .curve(estimate_2, "Estimate 2", {LineStyle::dotted});
  out.panel("Step 1: escalation rate", {"block"}, {"t_div(X) / t_div(Y)"})
      .curve(rate, "mean over W, standard error",
             {.style = LineStyle::line_points, .standard_error = true})
      .curve(rate_1, "from Estimate 1", {LineStyle::dashed})
      .curve(rate_2, "from Estimate 2", {LineStyle::dotted});
  out.note(
      "Only the W of step 1 differs between trials. The path through the blocks is that of trial 0 "
      "of the study escalation with the same seed.");
  out.note(
      "The figure shows the means over W with their standard errors, because the estimates predict "
      "a mean.");
  return out.take();
}

namespace {

class EscalationRateStudy : public Study {
 public:
  std::vector<Field> fields() override { return escalation_fields(config_, {"post-norm"}); }
  void resolve_defaults() override { ranklab::resolve_defaults(config_.spec); }

  Estimate estimate() const override {
    const ModelSpec& spec = config_.spec;
    const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim),
                 h = static_cast<double>(spec.heads), K = static_cast<double>(spec.layers);
    constexpr double states = 5, draw = 30;
    // The whole path stays in memory. It is computed once, but its memory counts in every trial.
    const double r = std::min(d, N), path = 8 * K * ((d + r) * N + h * N * N);
    return {path_estimate(config_).bytes + path + 8 * (r * d + states * d * N),
            K * (2 * N * r * d + 2 * N * N * d + draw * r * d)};
  }

  Result run(Runner& runner) const override {
    const token_escalation::Plan plan(config_, runner.single_precision());
    return escalation_rate::report(plan, escalation_rate::run_trials(plan, runner));
  }

 private:
  EscalationConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_escalation_rate_study() {
  return std::make_unique<EscalationRateStudy>();
}

}  // namespace ranklab
