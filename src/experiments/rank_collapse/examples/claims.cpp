#include "experiments/rank_collapse/examples/claims.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace ranklab {
namespace {

using Outcomes = std::vector<ExampleOutcome>;
using Trajectory = std::vector<double>;

struct Text {
  std::string id, source, statement;
};

struct Run {
  const ExamplesConfig& config;
  const TrialRecord& record;
  bool single_precision;
  Outcomes outcomes;

  const Trajectory& array(const ExampleOutcome& outcome, const char* name) const {
    return record.array(lambda_prefix(outcome.lambda) + name);
  }
};

// What a statement asks of one lambda; nothing where the statement is about others.
using Rule = std::function<std::optional<bool>(const ExampleOutcome&)>;

using Range = std::function<bool(double)>;

Range above(double end) {
  return [=](double lambda) { return lambda > end; };
}
Range below(double end) {
  return [=](double lambda) { return lambda < end; };
}

Rule where(const Range& applies, const std::function<bool(const ExampleOutcome&)>& agrees) {
  return [=](const ExampleOutcome& o) -> std::optional<bool> {
    if (!o.settled || !applies(o.system.lambda)) return std::nullopt;
    return agrees(o);
  };
}

// The first of the rules that says something.
Rule together(const std::vector<Rule>& rules) {
  return [=](const ExampleOutcome& o) {
    std::optional<bool> agrees;
    for (const Rule& rule : rules) {
      if (!agrees) agrees = rule(o);
    }
    return agrees;
  };
}

Claim judge_rule(const Run& run, const Text& text, const Rule& rule) {
  double cases = 0, violations = 0;
  for (const ExampleOutcome& outcome : run.outcomes) {
    const auto agrees = rule(outcome);
    cases += agrees.has_value();
    violations += agrees == false;
  }
  if (cases == 0) {
    return not_applicable(text.id, text.source, text.statement,
                          "no lambda of the run lies there and reaches its limit within --layers");
  }
  const std::string violated = lambdas_where(run.outcomes, [&](const auto& o) { return rule(o) == false; });
  return judge_violations(text.id, text.source, text.statement, violations, cases,
                          violated.empty() ? "one case for each lambda" : "violated at lambda = " + violated);
}

bool tends_to_zero(const ExampleOutcome& o) {
  return o.mu_tends_to(0);
}
bool does_not_tend_to_zero(const ExampleOutcome& o) {
  return !o.mu_tends_to(0);
}

// [LambdaSkip] Proposition A.10.1 excludes lambda = -1 and says nothing about lambda = -2.
void add_sys1_claims(const Run& run, std::vector<Claim>& out) {
  const std::string id = "lambda-skip/prop-A.10.1/", source = "Proposition A.10.1", corrected = "Proposition A.10.1, corrected";
  const Rule collapse = where(above(-2), tends_to_zero), none = where(below(-2), does_not_tend_to_zero);
  const auto add = [&](const Text& text, const Rule& rule) { out.push_back(judge_rule(run, text, rule)); };
  add({id + "as-printed", source, "mu tends to 0 for lambda > -2, and not for lambda < -2"}, together({collapse, none}));
  add({id + "as-printed/collapse", source, "mu tends to 0 for lambda > -2 other than -1"}, collapse);
  add({id + "as-printed/no-collapse", source, "mu does not tend to 0 for lambda < -2"}, none);
  add({id + "no-collapse-below-minus-2", source + ", in the sense of rank", "for lambda < -2, Y does not tend to rank one"},
      where(below(-2), [](const ExampleOutcome& o) { return !o.tends_to_rank_one(); }));

  const Rule parallel = where(above(-1), tends_to_zero);
  const Rule anti_parallel =
      where(below(-1), [](const ExampleOutcome& o) { return o.tends_to_rank_one() && o.mu_tends_to(std::numbers::sqrt2); });
  const Rule zero_row = [](const ExampleOutcome& o) -> std::optional<bool> {
    if (!o.system.is_degenerate()) return std::nullopt;
    return o.degenerate_rows > 0;
  };
  add({id + "corrected", corrected,
       "Y tends to rank one for every lambda but -1: mu tends to 0 for lambda > -1, and to sqrt 2 (anti-parallel rows) for "
       "lambda < -1; lambda = -1 makes a zero row"},
      together({parallel, anti_parallel, zero_row}));
  add({id + "corrected/parallel", corrected, "mu tends to 0 for lambda > -1"}, parallel);
  add({id + "corrected/anti-parallel", corrected, "for lambda < -1, Y tends to rank one with anti-parallel rows, mu to sqrt 2"},
      anti_parallel);
  add({id + "corrected/zero-row", corrected, "lambda = -1 makes a zero row, where D is not defined"}, zero_row);
}

// [LambdaSkip] Proposition 4.3.1: for any alpha_0 > 0, which includes alpha_0 = 1.
void add_sys2_claims(const Run& run, std::vector<Claim>& out) {
  const std::string id = "lambda-skip/prop-4.3.1/", source = "Proposition 4.3.1", corrected = "Proposition 4.3.1, corrected";
  const auto avoided = [](const ExampleOutcome& o) { return !o.mu_tends_to(0) && !o.tends_to_rank_one(); };
  const Rule collapse = where(above(-1.5), tends_to_zero), none = where(below(-1.5), avoided);
  const auto add = [&](const Text& text, const Rule& rule) { out.push_back(judge_rule(run, text, rule)); };
  add({id + "as-printed", source, "mu tends to 0 for lambda > -3/2, and rank collapse is avoided for lambda < -3/2"},
      together({collapse, none}));
  add({id + "as-printed/collapse", source, "mu tends to 0 for lambda > -3/2"}, collapse);
  add({id + "as-printed/no-collapse", source, "for lambda < -3/2 neither mu nor the rank collapses"}, none);

  const Rule parallel = where(above(-1), tends_to_zero);
  const Rule alternating =
      where([](double l) { return -1.5 < l && l < -1; },
            [](const ExampleOutcome& o) {
              const double low = std::min(o.mu[0], o.mu[1]), high = std::max(o.mu[0], o.mu[1]);
              return o.tends_to_rank_one() && low <= limit_band && std::abs(high - std::numbers::sqrt2) <= limit_band;
            });
  const Rule orthogonal = where(below(-1.5), [](const ExampleOutcome& o) { return !o.tends_to_rank_one() && o.mu_tends_to(1); });
  const std::vector<std::pair<Text, Rule>> claims = {
      {{id + "corrected", corrected,
        "mu tends to 0 for lambda > -1; for -3/2 < lambda < -1, Y tends to rank one while mu alternates between 0 and sqrt 2; for "
        "lambda < -3/2 the rows become orthogonal and mu tends to 1"},
       together({parallel, alternating, orthogonal})},
      {{id + "corrected/parallel", corrected, "mu tends to 0 for lambda > -1"}, parallel},
      {{id + "corrected/alternating", corrected,
        "for -3/2 < lambda < -1, Y tends to rank one, and mu alternates between 0 and sqrt 2"},
       alternating},
      {{id + "corrected/orthogonal", corrected, "for lambda < -3/2 the rank does not collapse and mu tends to 1"}, orthogonal}};
  const bool equal_rows = two_token_system(run.config, 0.0, run.single_precision).beta0 == 0;
  for (const auto& [text, rule] : claims) {
    out.push_back(equal_rows
                      ? not_applicable(text.id, text.source, text.statement,
                                       "--alpha0 1: the rows start equal, of rank one, where the correction needs beta_0 > 0")
                      : judge_rule(run, text, rule));
  }
}

// Layers at which measured[k] misses expected[k] by more than `roundings` times the allowance.
struct Misses {
  double cases = 0, violations = 0, largest = 0;
};

template <class Miss>
Misses count_misses(const Run& run, const Miss& miss) {
  Misses misses;
  for (const ExampleOutcome& outcome : run.outcomes) {
    if (outcome.system.is_degenerate()) continue;
    for (std::uint64_t k = 0; k <= run.config.layers; ++k) {
      const double by = miss(outcome, k);
      if (!std::isfinite(by)) continue;
      misses.cases += 1;
      misses.largest = std::max(misses.largest, by);
      misses.violations += by > rounding_allowance(outcome.system, k, run.single_precision);
    }
  }
  return misses;
}

Claim judge_misses(const Text& text, const Misses& misses, const std::string& what) {
  return judge_violations(
      text.id, text.source, text.statement, misses.violations, misses.cases,
      "largest " + what + " " + short_number(misses.largest) + "; every lambda for which D is defined, every layer");
}

void add_form_claims(const Run& run, std::vector<Claim>& out) {
  const bool sys2 = run.config.system == "sys2";
  const std::string id = sys2 ? "lambda-skip/prop-4.3.1/" : "lambda-skip/prop-A.10.1/";
  const std::string where_printed = sys2 ? "Appendix A.11, the form of Y(k)" : "Appendix A.10, eq. (13)";
  const auto error = [&](const char* name) {
    return [&run, name](const ExampleOutcome& outcome, std::uint64_t k) { return run.array(outcome, name).at(k); };
  };
  out.push_back(
      judge_misses({id + "form-as-printed", where_printed, "Y(k) has the printed form, whose row 1 is (1, 0) at every layer"},
                   count_misses(run, error("printed_error")), "difference of an entry"));
  out.push_back(judge_misses({id + "closed-form", where_printed + ", corrected",
                              "Y(k) equals the exact form, with the sign (sign(1 + lambda))^k, to rounding at every layer"},
                             count_misses(run, error("exact_error")), "difference of an entry"));
}

// [LambdaSkip] Proposition 4.3.2. With r = (2 + lambda)/(1 + lambda) and any lambda but -1, mu^2 = 1 - x_k/sqrt(1 + x_k^2) where
// x_k = r^k alpha_0/beta_0; for alpha_0 = beta_0 that is 1 - r^k/sqrt(1 + r^(2k)).
void add_tightness_claims(const Run& run, std::vector<Claim>& out) {
  const std::string id = "lambda-skip/prop-4.3.2/", source = "Proposition 4.3.2, Appendix A.12";
  const Text printed{id + "as-printed", source, "mu = 1/(1 + r^(2k)) with r = (2 + lambda)/(1 + lambda)"};
  const double alpha0 = run.config.alpha0, beta0 = two_token_system(run.config, 0.0, run.single_precision).beta0;
  const auto mu = [&](const ExampleOutcome& o, std::uint64_t k) { return run.array(o, "mu").at(k); };
  // mu is a distance over sqrt 2: it misses by at most twice what an entry does.
  const auto against = [&](const auto& expected) {
    return count_misses(run, [&](const ExampleOutcome& o, std::uint64_t k) { return std::abs(mu(o, k) - expected(o, k)) / 2; });
  };
  if (std::abs(alpha0 - beta0) <= limit_band) {
    out.push_back(judge_misses(printed, against([](const ExampleOutcome& o, std::uint64_t k) {
                                 return 1 / (1 + std::pow(o.system.ratio(), 2 * static_cast<double>(k)));
                               }),
                               "half difference"));
  } else {
    out.push_back(not_applicable(printed.id, printed.source, printed.statement, "the formula is for alpha_0 = beta_0"));
  }
  out.push_back(judge_misses(
      {id + "corrected", source + ", corrected",
       "mu^2 = 1 - r^k alpha_0/sqrt(r^(2k) alpha_0^2 + beta_0^2); for alpha_0 = beta_0, 1 - r^k/sqrt(1 + r^(2k))"},
      against([&](const ExampleOutcome& o, std::uint64_t k) { return run.array(o, "mu_closed_form").at(k); }), "half difference"));
  // 1 - 1/sqrt(1 + z) <= z/2 with z = x_k^(-2).
  const Misses above = count_misses(run, [&](const ExampleOutcome& o, std::uint64_t k) {
    const double bound = std::pow(1 / o.system.ratio(), static_cast<double>(k)) * beta0 / (alpha0 * std::numbers::sqrt2);
    return o.system.lambda > -1 ? std::max(0.0, mu(o, k) - bound) / 2 : std::nan("");
  });
  out.push_back(judge_violations(
      id + "decay", source,
      "for lambda > -1, mu^2 decays as a^k with a = ((1 + lambda)/(2 + lambda))^2: at most a^k (beta_0/alpha_0)^2 / 2",
      above.violations, above.cases, "largest excess of mu " + short_number(2 * above.largest) + "; every layer"));
}

}  // namespace

std::vector<Claim> example_claims(const ExamplesConfig& config, const TrialRecord& record, bool single_precision) {
  const Run run{config, record, single_precision, example_outcomes(config, record, single_precision)};
  std::vector<Claim> claims;
  if (config.system == "sys1") {
    add_sys1_claims(run, claims);
    add_form_claims(run, claims);
  } else {
    add_sys2_claims(run, claims);
    add_form_claims(run, claims);
    add_tightness_claims(run, claims);
  }
  return claims;
}

}  // namespace ranklab
