#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>

#include "experiments/rank_collapse/examples/examples.hpp"

namespace ranklab::examples {
namespace {

// Uses a lower bound on the growth of |x_k| up to the second-to-last layer. mu is within limit_band
// of its limit if |x_k| is above 1/limit_band or, if |x_k| falls, below limit_band.
bool is_settled(const TwoTokenSystem& system, std::uint64_t layers) {
  if (system.is_degenerate()) return false;
  const double steps = static_cast<double>(layers) - 1;
  if (!system.selective) {
    const double c = 2 / std::abs(1 + system.lambda);
    return c * std::pow(1 + c, steps - 1) >= 1 / limit_band;
  }
  if (system.beta0 == 0) return true;  // row 2 is plus or minus row 1 from the start
  const double r = std::abs(system.ratio()), x = std::pow(r, steps) * system.alpha0 / system.beta0;
  return r > 1 ? x >= 1 / limit_band : r < 1 && x <= limit_band;
}

// Statements about limits -------------------------------------------------------------------------

// Whether an outcome agrees with a statement; no value if the statement is not about its lambda.
using Rule = std::function<std::optional<bool>(const Outcome&)>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// A rule for every lambda in the open interval (low, high).
Rule between(double low, double high, const std::function<bool(const Outcome&)>& agrees) {
  return [=](const Outcome& o) -> std::optional<bool> {
    if (!o.settled || !(low < o.system.lambda && o.system.lambda < high)) return std::nullopt;
    return agrees(o);
  };
}

bool tends_to_zero(const Outcome& o) {
  return o.mu_tends_to(0);
}

// Counts one case for each lambda, by the first rule that applies.
void judge_limits(const Statement& statement, const std::vector<Rule>& rules,
                  const std::vector<Outcome>& outcomes, Claims& claims) {
  Tally tally;
  std::vector<std::string> violating;
  for (const Outcome& outcome : outcomes) {
    std::optional<bool> agrees;
    for (const Rule& rule : rules) {
      if (!agrees) agrees = rule(outcome);
    }
    if (agrees) tally.count(!*agrees);
    if (agrees == false) violating.push_back(series_number(outcome.system.lambda));
  }
  const char* const no_case =
      "the statement covers no lambda of the run that reaches its limit within --layers";
  if (!claims.applies(statement, tally.cases == 0 ? no_case : "")) return;
  claims.never_violated(
      statement, tally,
      violating.empty() ? "one case per lambda" : "violated at lambda = " + joined(violating));
}

// The places of the claims about one proposition.
struct Places {
  Place printed, corrected;
  std::string sign;  // a slip

  Places(const std::string& statement, const std::string& source)
      : printed{statement, statement + "/", source},
        corrected{statement, statement + "/", source + ", corrected"},
        sign(statement + "/sign") {}

  Statement ours(const std::string& id, const std::string& text) const {
    return beyond(Statement{printed.statement_id, printed.prefix + id,
                            "not in the paper; by the exact form of Y(k)", text});
  }
};

// [LambdaSkip] Proposition A.10.1 excludes lambda = -1 and does not mention lambda = -2.
void judge_sys1(const std::vector<Outcome>& outcomes, Claims& claims) {
  const Places of("lambda-skip/prop-A.10.1", "Proposition A.10.1");
  const auto judge = [&](const Statement& statement, const std::vector<Rule>& rules) {
    judge_limits(statement, rules, outcomes, claims);
  };
  const Statement whole = showing(of.sign,
                                  of.printed("as-printed",
                                             "mu tends to 0 in Sys-1 for every lambda > -2 except "
                                             "-1, and not for lambda < -2")),
                  above =
                      showing(of.sign,
                              of.printed("as-printed/collapse",
                                         "mu tends to 0 in Sys-1 for every lambda > -2 except -1")),
                  below = of.printed("as-printed/no-collapse",
                                     "mu does not tend to 0 in Sys-1 for any lambda < -2");
  const Rule collapse = between(-2, infinity, tends_to_zero);
  const Rule none = between(-infinity, -2, [](const Outcome& o) { return !o.mu_tends_to(0); });
  const Rule full_rank =
      between(-infinity, -2, [](const Outcome& o) { return !o.tends_to_rank_one(); });
  judge(whole, {collapse, none});
  judge(above, {collapse});
  judge(below, {none});
  judge(of.ours("no-collapse-below-minus-2",
                "Y does not tend to rank one in Sys-1 for any lambda < -2"),
        {full_rank});

  const Rule parallel = between(-1, infinity, tends_to_zero);
  const Rule anti_parallel = between(-infinity, -1, [](const Outcome& o) {
    return o.tends_to_rank_one() && o.mu_tends_to(std::numbers::sqrt2);
  });
  const Rule zero_row = [](const Outcome& o) -> std::optional<bool> {
    if (!o.system.is_degenerate()) return std::nullopt;
    return o.degenerate_rows > 0;
  };
  const auto corrects = [&](const Statement& printed, const std::string& id,
                            const std::string& text) {
    return correcting(printed, of.corrected(id, text));
  };
  judge(corrects(whole, "corrected",
                 "Y tends to rank one in Sys-1 for every lambda except -1: mu tends to 0 for "
                 "lambda > -1, and to sqrt 2 (anti-parallel rows) for lambda < -1; for lambda = -1 "
                 "a row becomes zero"),
        {parallel, anti_parallel, zero_row});
  judge(corrects(above, "corrected/parallel", "mu tends to 0 in Sys-1 for every lambda > -1"),
        {parallel});
  judge(corrects(whole, "corrected/anti-parallel",
                 "Y tends to rank one with anti-parallel rows, and mu to sqrt 2, in Sys-1 for "
                 "every lambda < -1"),
        {anti_parallel});
  judge(corrects(whole, "corrected/zero-row",
                 "A row becomes zero in Sys-1 for lambda = -1, so that D is undefined"),
        {zero_row});
}

// [LambdaSkip] Proposition 4.3.1 is stated for any alpha_0 > 0. For alpha_0 = 1 the tokens are
// equal from the start, and there is nothing that could collapse.
void judge_sys2(const std::vector<Outcome>& outcomes, bool equal_rows, Claims& claims) {
  const Places of("lambda-skip/prop-4.3.1", "Proposition 4.3.1");
  const auto different = claims.only_where(
      equal_rows ? "the statement is about different tokens; --alpha0 1 starts with equal ones"
                 : "");
  const auto judge = [&](const Statement& statement, const std::vector<Rule>& rules) {
    judge_limits(statement, rules, outcomes, claims);
  };
  const Statement
      whole = showing(of.sign, of.printed("as-printed",
                                          "mu tends to 0 in Sys-2 for every lambda > -3/2, and "
                                          "rank collapse is avoided for lambda < -3/2")),
      above = showing(of.sign, of.printed("as-printed/collapse",
                                          "mu tends to 0 in Sys-2 for every lambda > -3/2")),
      below = of.printed(
          "as-printed/no-collapse",
          "mu does not tend to 0 and Y does not tend to rank one in Sys-2 for any lambda < -3/2");
  const Rule collapse = between(-1.5, infinity, tends_to_zero);
  const Rule none = between(-infinity, -1.5, [](const Outcome& o) {
    return !o.mu_tends_to(0) && !o.tends_to_rank_one();
  });
  judge(whole, {collapse, none});
  judge(above, {collapse});
  judge(below, {none});

  const Rule parallel = between(-1, infinity, tends_to_zero);
  const Rule alternating = between(-1.5, -1, [](const Outcome& o) {
    const double low = std::min(o.mu[0], o.mu[1]), high = std::max(o.mu[0], o.mu[1]);
    return o.tends_to_rank_one() && low <= limit_band &&
           std::abs(high - std::numbers::sqrt2) <= limit_band;
  });
  const Rule orthogonal = between(
      -infinity, -1.5, [](const Outcome& o) { return !o.tends_to_rank_one() && o.mu_tends_to(1); });
  const auto corrects = [&](const Statement& printed, const std::string& id,
                            const std::string& text) {
    return correcting(printed, of.corrected(id, text));
  };
  judge(corrects(whole, "corrected",
                 "In Sys-2, mu tends to 0 for lambda > -1; Y tends to rank one while mu alternates "
                 "between 0 and sqrt 2 for -3/2 < lambda < -1; the rows become orthogonal and mu "
                 "tends to 1 for lambda < -3/2"),
        {parallel, alternating, orthogonal});
  judge(corrects(above, "corrected/parallel", "mu tends to 0 in Sys-2 for every lambda > -1"),
        {parallel});
  judge(corrects(above, "corrected/alternating",
                 "Y tends to rank one and mu alternates between 0 and sqrt 2 in Sys-2 for every "
                 "lambda with -3/2 < lambda < -1"),
        {alternating});
  judge(of.ours("corrected/orthogonal",
                "Y does not tend to rank one and mu tends to 1 in Sys-2 for every lambda < -3/2"),
        {orthogonal});
}

// Proposition 4.3.2: the rate of Sys-2 against eq. (7). mu(k)^2 = 1 - y_1.y_2 for unit rows.
void judge_rates(const Plan& plan, const TrialRecord& record, Claims& claims) {
  using namespace prop_4_3_2;
  double best = -infinity, best_lambda = 0;
  bool any = false;
  Tally at_positive;
  const auto count_positive = [&](double lambda, double cosine) {
    at_positive.count(margin(lambda, cosine) > 0);
  };
  for (const TwoTokenSystem& system : plan.systems) {
    if (!(system.lambda > -1)) continue;
    double cosine = 0;
    for (const double spread : record.array(at_lambda(system.lambda, mu)))
      cosine = std::max(cosine, std::abs(1 - spread * spread));
    if (system.lambda >= 0) count_positive(system.lambda, cosine);
    any = any || system.lambda < highest_attained;
    if (!(margin(system.lambda, cosine) > best)) continue;
    best = margin(system.lambda, cosine);
    best_lambda = system.lambda;
  }
  if (claims.applies(attained, any ? "" : "no lambda of the run lies where eq. (7) is met"))
    claims.number(attained, best, positive(),
                  "lambda^2 - a (S C_M + |lambda|)^2 at lambda = " + series_number(best_lambda) +
                      ", the largest over lambda > -1");
  // In the limit y_1.y_2 = 1.
  for (const double lambda : {10.0, 100.0}) count_positive(lambda, 1);
  claims.never_violated(positive_lambda, at_positive,
                        "also at lambda = 10, where mu^2 shrinks by 0.840 per layer and eq. (7) "
                        "allows less than 0.645, and at 100: 0.980 and 0.953");
}

}  // namespace

// The outcomes ------------------------------------------------------------------------------------

bool Outcome::mu_tends_to(double limit) const {
  return std::abs(mu[0] - limit) <= limit_band && std::abs(mu[1] - limit) <= limit_band;
}

bool Outcome::tends_to_rank_one() const {
  const double band = limit_band * limit_band / 2;
  return rank_one_residual[0] <= band && rank_one_residual[1] <= band;
}

std::vector<Outcome> outcomes_of(const Plan& plan, const TrialRecord& record) {
  std::vector<Outcome> outcomes;
  for (const TwoTokenSystem& system : plan.systems) {
    const auto& spread = record.array(at_lambda(system.lambda, mu));
    const auto& residual = record.array(at_lambda(system.lambda, rank_one_residual));
    const std::size_t last = plan.layers, previous = last - 1;
    outcomes.push_back({system,
                        {spread.at(previous), spread.at(last)},
                        {residual.at(previous), residual.at(last)},
                        record.scalar(at_lambda(system.lambda, degenerate_rows)),
                        is_settled(system, plan.layers)});
  }
  return outcomes;
}

std::string lambdas_where(const std::vector<Outcome>& outcomes,
                          const std::function<bool(const Outcome&)>& predicate) {
  std::vector<std::string> lambdas;
  for (const Outcome& outcome : outcomes) {
    if (predicate(outcome)) lambdas.push_back(series_number(outcome.system.lambda));
  }
  return joined(lambdas);
}

// All claims --------------------------------------------------------------------------------------

void judge(const Plan& plan, const TrialRecord& record, Claims& claims) {
  const std::vector<Outcome> outcomes = outcomes_of(plan, record);
  if (plan.selective) {
    judge_sys2(outcomes, plan.beta0 == 0, claims);
  } else {
    judge_sys1(outcomes, claims);
  }
  const auto at_every_layer = [&](const Inequality& statement, const std::string& what) {
    const Tally tally = record.tally(statement.id);
    claims.never_violated(statement, tally,
                          "largest " + what + " " + short_number(std::max(0.0, tally.largest)) +
                              ", over all layers and every lambda for which D is defined");
  };
  const Forms forms = forms_of(plan.selective);
  at_every_layer(forms.as_printed, "difference of an entry of Y(k)");
  at_every_layer(forms.exact, "difference of an entry of Y(k)");
  if (!plan.selective) return;
  using namespace prop_4_3_2;
  if (claims.applies(mu_as_printed,
                     plan.starts_at_45_degrees() ? "" : "the formula assumes alpha_0 = beta_0")) {
    const auto violations = [&](double lambda) {
      const Tally tally = record.tally(at_side(lambda));
      return count_text(tally.violations) + " of " + count_text(tally.cases);
    };
    claims.never_violated(
        mu_as_printed, record.tally(mu_as_printed.id),
        "violations for lambda > -1: " + violations(0) + ", for lambda < -1: " + violations(-2) +
            "; at layer 0 the formula gives 0.5, and mu is 0.541; at the other layers the two "
            "agree where mu is 0 or 1 to rounding");
  }
  at_every_layer(mu_corrected, "half difference of mu");
  const Tally decay = record.tally(mu_decay.id);
  claims.never_violated(mu_decay, decay,
                        "largest excess of mu over its bound " +
                            short_number(2 * std::max(0.0, decay.largest)) + ", over all layers");
  judge_rates(plan, record, claims);
}

double prop_4_3_2::margin(double lambda, double largest_cosine) {
  const double root_a = (1 + lambda) / (2 + lambda),
               mix = std::sqrt(2 * (2 + largest_cosine * largest_cosine));
  return lambda * lambda - std::pow(root_a * (mix + std::abs(lambda)), 2);
}

}  // namespace ranklab::examples
