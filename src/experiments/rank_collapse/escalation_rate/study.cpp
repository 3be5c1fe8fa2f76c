#include "experiments/rank_collapse/escalation_rate/config.hpp"

#include <algorithm>

#include "experiments/rank_collapse/escalation_rate/escalation_rate.hpp"
#include "nn/blocks/model_row.hpp"
#include "report/builder.hpp"

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
  judge(plan, records, out.claims());
  const std::string mean = "mean over draws of W", by_bounds = "Estimate 1, from omega and delta",
                    by_eigenvalue = "Estimate 2, from the second eigenvalue";
  const CurveLook measured = {.style = LineStyle::line_points,
                              .color = 0,
                              .band = BandKind::standard_error},
                  first = {.style = LineStyle::dashed, .color = 1},
                  second = {.style = LineStyle::dotted, .color = 2};
  out.panel("Token similarity on the fixed path", {"number of blocks"},
            unit_axis("token similarity"))
      .curve(token_similarity, "the path, the same in every draw", {.color = 3});
  out.panel("Step 1: excess growth of the mean part", {"block"},
            {"xi_1/xi_2 - 1 (growth of mean part over rest)"})
      .curve(excess, mean, measured)
      .curve(estimate_1, by_bounds, first)
      .curve(estimate_2, by_eigenvalue, second);
  out.panel("Step 1: escalation rate", {"block"}, {"token diversity before / after step 1"})
      .curve(rate, mean, measured)
      .curve(rate_1, by_bounds, first)
      .curve(rate_2, by_eigenvalue, second);
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
    constexpr double states = 5;
    // The whole path is computed once and stays in memory; its memory counts in every trial.
    const double r = std::min(d, N), path = 8 * K * ((d + r) * N + h * N * N);
    return {.bytes = path_estimate(config_).bytes + path + 8 * (r * d + states * d * N)};
  }

  Work work() const override { return escalation_rate::work_of(token_escalation::Plan(config_)); }
  Result report(const Records& records) const override {
    return escalation_rate::report(token_escalation::Plan(config_), records);
  }

 private:
  EscalationConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_escalation_rate_study() {
  return std::make_unique<EscalationRateStudy>();
}

}  // namespace ranklab
