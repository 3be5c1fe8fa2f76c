#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "core/tolerances.hpp"
#include "experiments/rank_collapse/escalation_lemmas/escalation_lemmas.hpp"
#include "report/result.hpp"

namespace ranklab::escalation_lemmas {
namespace {

std::string cell_text(const Cell& cell) {
  return name_of(cell.attention) + ", d = " + std::to_string(cell.dim) +
         ", t = " + short_number(cell.t) + ", alpha = " + short_number(cell.alpha);
}

// Probabilities -----------------------------------------------------------------------------------

const std::string constant = "c = 1/8";  // lemma_constant

// The "absolute constant" c is open in the paper; 1/8 is ours.
Statement with_constant(const Statement& statement) {
  return asymptotic(statement, constant);
}

// The values of eps at which a bound is compared.
constexpr int steps_of_eps = 20;
double eps_at(int k) {
  return static_cast<double>(k) / steps_of_eps;
}

// A bound on P(event) with its event in the draws.
struct Tail {
  std::size_t count = 0;  // draws with the event
  double bound = 0;
  std::string where;
};

// Wilson's interval of a frequency minus its bound. The level covers all tails of a statement.
MeanEvidence excess_over_bound(const Tail& tail, std::size_t draws, std::size_t tails) {
  const double n = static_cast<double>(draws), p = static_cast<double>(tail.count) / n,
               level = 1 - (1 - confidence_level) / static_cast<double>(tails),
               z = student_quantile((1 - level) / 2, n - 1), spread = z * z / n,
               center = (p + spread / 2) / (1 + spread),
               half = z * std::sqrt(p * (1 - p) / n + spread / (4 * n)) / (1 + spread);
  return {.mean = p - tail.bound,
          .low = center - half - tail.bound,
          .high = center + half - tail.bound,
          .level = level,
          .n = draws};
}

// Fails if the frequency of one event is above its bound; holds if all are below.
void judge_tails(const Statement& statement, const std::vector<Tail>& tails, std::size_t draws,
                 Claims& claims) {
  const std::string too_few = draws < fewest_values ? "requires at least three draws"
                              : tails.empty()       ? "no bound is below 1 and large enough for "
                                                      "the number of draws"
                                                    : "";
  if (!claims.applies(statement, too_few)) return;
  const auto interval = [&](const Tail& tail) {
    return excess_over_bound(tail, draws, tails.size());
  };
  const auto by = [&](double MeanEvidence::*end) {
    return *std::max_element(tails.begin(), tails.end(), [&](const Tail& a, const Tail& b) {
      return interval(a).*end < interval(b).*end;
    });
  };
  const Tail violated = by(&MeanEvidence::low), nearest = by(&MeanEvidence::high);
  const Tail& worst = interval(violated).low > 0 ? violated : nearest;
  const auto farthest = std::max_element(
      tails.begin(), tails.end(), [](const Tail& a, const Tail& b) { return a.count < b.count; });
  claims.interval(
      statement, interval(worst), at_most(0),
      "frequency minus bound, largest of " + std::to_string(tails.size()) +
          " events: " + worst.where + "; the largest frequency is " +
          short_number(static_cast<double>(farthest->count) / static_cast<double>(draws)));
}

// The events value >= threshold(eps) of every cell and part, for the eps = 0.05, 0.1, ..., 0.95 at
// which the bound factor exp(-c eps^2 d) is below 1 and the draws can resolve it.
using Deviation = double (*)(const Plan&, const TrialRecord&, std::size_t cell, std::size_t i);
std::vector<Tail> tails_of(const Plan& plan, const Records& records, double factor,
                           Deviation deviation) {
  constexpr double expected_events = 200;  // in the draws, if the bound were the probability
  std::vector<Tail> tails;
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    for (const std::size_t i : {0u, 1u}) {
      const std::vector<double> values = per_trial(
          records, [&](const TrialRecord& record) { return deviation(plan, record, c, i); });
      for (int k = 1; k < steps_of_eps; ++k) {
        const double eps = eps_at(k), d = static_cast<double>(plan.cells[c].dim),
                     bound = factor * std::exp(-lemma_constant * eps * eps * d);
        if (!(bound < 1 && bound * static_cast<double>(records.size()) >= expected_events))
          continue;
        const auto count = std::ranges::count_if(values, [&](double v) { return !(v < eps); });
        tails.push_back({static_cast<std::size_t>(count), bound,
                         cell_text(plan.cells[c]) + ", i = " + std::to_string(i + 1) +
                             ", eps = " + short_number(eps)});
      }
    }
  }
  return tails;
}

double from_expectation(const Plan& plan, const TrialRecord& record, std::size_t c, std::size_t i) {
  return at(record, xi[i], c) - expected_xi(plan, record, c, i);
}

double quadratic_size(const Plan& plan, const TrialRecord& record, std::size_t c, std::size_t i) {
  return expected_xi(plan, record, c, i) - 1;  // alpha^2 mu_i^2
}

// [Shallow] (26). The entries of W have K = 1/sqrt(d), with which the event never occurs. With w of
// N(0, 1), K = 1, and B of one row, ||Bw||^2/||B||_F^2 is chi-squared with one degree of freedom.
void judge_square(Claims& claims) {
  double excess = -std::numeric_limits<double>::infinity(), largest_eps = 0;
  for (int k = 1; k < steps_of_eps; ++k) {
    const double eps = eps_at(k),
                 over = tail_of_one_row(eps) - std::exp(-lemma_constant * eps * eps);
    if (over > excess) excess = over, largest_eps = eps;
  }
  claims.number(with_constant({"shallow/lemma-A.3", "shallow/eq-26", "Lemma A.3, eq. (26)",
                               "P(||Bw||^2 - ||B||_F^2 >= eps ||B||_F^2) <= exp(-c eps^2/K^2), for "
                               "w of N(0, 1), K = 1 and B of one row"}),
                excess, at_most(0),
                "probability, which is erfc(sqrt((1 + eps)/2)), minus bound, largest of " +
                    std::to_string(steps_of_eps - 1) +
                    " values of eps: eps = " + short_number(largest_eps));
}

// [Shallow] Lemma A.2 and eq. (27), for the terms of xi_i to which the paper applies them: w holds
// the d^2 entries of W, and K = 1/sqrt(d).
void judge_lemmas(const Plan& plan, const Records& records, Claims& claims) {
  const std::size_t draws = records.size();
  judge_tails(with_constant({"shallow/lemma-A.2", "shallow/eq-25", "Lemma A.2, eq. (25)",
                             "P(2 <a, w> >= eps ||a||) <= exp(-c eps^2/K^2), for the terms of xi_i "
                             "linear in a normal W"}),
              tails_of(plan, records, 1,
                       [](const Plan&, const TrialRecord& record, std::size_t c, std::size_t i) {
                         return at(record, linear[i], c) / at(record, linear_size[i], c);
                       }),
              draws, claims);

  judge_square(claims);

  judge_tails(with_constant({"shallow/eq-27", "shallow/eq-27", "Appendix A.2, eq. (27)",
                             "P(||Bw + a||^2 - E||Bw + a||^2 >= eps (||B||_F^2 + ||B'a||)) <= 2 "
                             "exp(-c eps^2/K^2), for xi_i"}),
              tails_of(plan, records, 2,
                       [](const Plan& of, const TrialRecord& record, std::size_t c, std::size_t i) {
                         return from_expectation(of, record, c, i) /
                                kappa(of, record, c, i, Kappa::from_27);
                       }),
              draws, claims);

  // The paper states (26) for the upper tail. xi_i needs both tails, around the expectation.
  judge_tails(
      beyond(Statement{"shallow/lemma-A.3", "shallow/eq-26/both-tails", "Lemma A.3, eq. (26)",
                       "Both tails of ||Bw||^2 around its expectation: P(abs(||Bw||^2 - K^2 "
                       "||B||_F^2) >= eps K^2 ||B||_F^2) <= 2 exp(-c eps^2/K^2) with " +
                           constant}),
      tails_of(plan, records, 2,
               [](const Plan& of, const TrialRecord& record, std::size_t c, std::size_t i) {
                 return std::abs(at(record, quadratic[i], c) / quadratic_size(of, record, c, i) -
                                 1);
               }),
      draws, claims);
}

// The exponent c d (s/kappa_1)^2 of the bound (28) at the fixed deviation s = 1, for doubly
// stochastic P, with which mu_1 is 1 at every d. A case is its quotient at one d and the next; a
// bound that falls has quotients above 1.
Tally growth_of_exponent(const Plan& plan, const TrialRecord& record, Kappa which) {
  Tally tally;
  for (std::size_t c = 0; c + 1 < plan.cells.size(); ++c) {
    const Cell &cell = plan.cells[c], &next = plan.cells[c + 1];
    if (cell.attention == Attention::softmax || next.dim <= cell.dim) continue;
    const double before = kappa(plan, record, c, 0, which),
                 after = kappa(plan, record, c + 1, 0, which),
                 growth = static_cast<double>(next.dim) / static_cast<double>(cell.dim) * before *
                          before / (after * after);
    tally.count(!(growth > 1), growth);
  }
  return tally;
}

void judge_lemma_a_5(const Plan& plan, const Records& records, Claims& claims) {
  judge_tails(with_constant({"shallow/lemma-A.5", "shallow/eq-28", "Lemma A.5, eq. (28)",
                             "P(|xi_i - E[xi_i]| >= eps kappa_i) <= 4 exp(-c eps^2 d) with the "
                             "kappa_i of (27), which grow with d"}),
              tails_of(plan, records, 4,
                       [](const Plan& of, const TrialRecord& record, std::size_t c, std::size_t i) {
                         return std::abs(from_expectation(of, record, c, i)) /
                                kappa(of, record, c, i, Kappa::from_27);
                       }),
              records.size(), claims);
  judge_tails(
      beyond(Statement{"shallow/lemma-A.5", "shallow/eq-28/without-d", "Lemma A.5, eq. (28)",
                       "The same bound holds with kappa_i = alpha^2 mu_i^2 + ||B'a||, "
                       "which do not grow with d, and " +
                           constant}),
      tails_of(plan, records, 4,
               [](const Plan& of, const TrialRecord& record, std::size_t c, std::size_t i) {
                 return std::abs(from_expectation(of, record, c, i)) /
                        kappa(of, record, c, i, Kappa::without_d);
               }),
      records.size(), claims);
  const Misprint decay =
      Place{"shallow/thm-2.6", "shallow/", "Theorem 2.6, proof, with Lemma A.5, eq. (28)",
            Part::proof}
          .misprint(
              "shallow/thm-2.6/kappa", "eq-28/decay",
              "With the kappa_1 of (27), the bound (28) on a fixed deviation of xi_1 falls "
              "from each d to the next if P is doubly stochastic",
              "With kappa_1 = alpha^2 mu_1^2 + ||B'a||, the bound (28) on a fixed deviation of "
              "xi_1 falls from each d to the next if P is doubly stochastic");
  const std::string one_dim = plan.dim.size() < 2 ? "requires two values of d" : "";
  for (const auto& [statement, which] :
       {std::pair(decay.as_printed, Kappa::from_27), {decay.corrected, Kappa::without_d}}) {
    if (!claims.applies(statement, one_dim)) continue;
    const Tally growth = growth_of_exponent(plan, records.front(), which);
    claims.never_violated(statement, growth,
                          "exponent c d/kappa_1^2 of the bound at |xi_1 - E[xi_1]| = 1, divided by "
                          "that at the d before, over attention, t and alpha: " +
                              range_text(growth.smallest, growth.largest) + "; below 1 it shrinks",
                          WorstCase::smallest);
  }
}

// Expected rates ----------------------------------------------------------------------------------

// E[r] by (8), with E[xi_1/xi_2] by quadrature.
double exact_rate(const TrialRecord& record, std::size_t c) {
  return 1 + (at(record, ratio, c) - 1) * at(record, similarity, c);
}

// [Shallow] (13): the mean of r over draws, compared with its right-hand side, in which E[eta]
// comes from quadrature.
void judge_proposition(const Plan& plan, const Records& records, Claims& claims) {
  Tally tally;
  double width = 0, low = 0, high = 0;
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    const TrialRecord& fixed = records.front();
    const Summary measured = summarize(
        per_trial(records, [&](const TrialRecord& record) { return at(record, rate, c); }));
    const double E_1 = expected_xi(plan, fixed, c, 0), E_2 = expected_xi(plan, fixed, c, 1),
                 eta = E_1 / E_2 - at(fixed, ratio, c),
                 expected = 1 + ((E_1 - E_2) / E_2 - eta) * at(fixed, similarity, c),
                 error = standard_error(measured);
    if (!std::isfinite(error) || !std::isfinite(expected)) continue;
    const double away = std::abs(measured.mean - expected) / error;
    tally.count(!(away <= tolerance::standard_errors), away);
    width = std::max(width, error / expected);
    low = std::min(low, eta);
    high = std::max(high, eta);
  }
  const Statement statement = {
      "shallow/prop-2.5", "shallow/prop-2.5", "Proposition 2.5, eq. (13)",
      "E[r] = 1 + (alpha^2 (mu_1^2 - mu_2^2)/(1 + alpha^2 mu_2^2) - E[eta]) t_sim, within " +
          short_number(tolerance::standard_errors) + " standard errors of the mean over draws"};
  if (!claims.applies(statement, tally.cases == 0 ? "a standard error requires two draws" : ""))
    return;
  claims.never_violated(statement, tally,
                        "E[eta] by quadrature, from " + range_text(low, high) +
                            "; largest distance " + short_number(tally.largest) +
                            " standard errors, which are at most " + short_number(100 * width) +
                            " % of E[r]",
                        WorstCase::largest);
}

// Of expected_ratio, relative; escalation_lemmas_test measures it.
constexpr double quadrature_error = 1e-12;

// Counts the cells in which the exact rate is below `bound`; shows the smallest margin.
template <class Where, class Bound>
void judge_rate(const Statement& statement, const Plan& plan, const TrialRecord& record,
                const std::string& unmet, Where where, Bound bound, Claims& claims) {
  Tally tally;
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    if (!where(c)) continue;
    const double margin = exact_rate(record, c) - bound(c);
    tally.count(!(margin >= -quadrature_error), margin);
  }
  if (!claims.applies(statement, tally.cases == 0 ? unmet : "")) return;
  claims.never_violated(statement, tally,
                        "E[r] by quadrature minus the bound, smallest " +
                            short_number(tally.smallest) + ", largest " +
                            short_number(tally.largest),
                        WorstCase::smallest);
}

// Our number for "bounded away from zero" in Theorem 2.6.
constexpr double away_from_zero = 1e-4;

void judge_corollary(const Plan& plan, const Records& records, Claims& claims) {
  const TrialRecord& record = records.front();
  const auto doubly = [&](std::size_t c) { return plan.cells[c].attention != Attention::softmax; };
  const auto symmetric = [&](std::size_t c) {
    return plan.cells[c].attention == Attention::symmetric;
  };
  const auto alpha = [&](std::size_t c) { return plan.cells[c].alpha; };
  const auto bound = [&](std::size_t c, double strength, double gap) {
    return guaranteed_rate(strength, 1, gap * gap, at(record, similarity, c));
  };
  constexpr double rounding = tolerance::residual<double>;
  Tally unit, equal;
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    if (doubly(c)) {
      const double error =
          std::max(std::abs(at(record, mu_squared[0], c) - 1), at(record, omega, c));
      unit.count(!(error <= rounding / at(record, similarity, c)), error);
    }
    if (symmetric(c)) {
      const double error = std::abs(at(record, delta, c) - at(record, lambda_2, c));
      equal.count(!(error <= rounding), error);
    }
  }
  claims.never_violated({"shallow/cor-2.7", "shallow/cor-2.7/mu-1", "Corollary 2.7",
                         "mu_1 = 1 and omega = 0 for doubly stochastic P, up to rounding"},
                        unit, "by Sinkhorn's scaling; largest error " + short_number(unit.largest),
                        WorstCase::largest);
  claims.never_violated({"shallow/cor-2.7", "shallow/cor-2.7/delta", "Corollary 2.7",
                         "delta = |lambda_2(P)| for symmetric P, up to rounding"},
                        equal, "largest difference " + short_number(equal.largest),
                        WorstCase::largest);
  // The hypothesis of Theorem 2.6 about (15).
  const auto is_away = [&](std::size_t c) {
    const double kept = 1 - at(record, omega, c), gap = at(record, delta, c);
    return std::max(at(record, mu_squared[0], c) - kept * kept,
                    gap * gap - at(record, mu_squared[1], c)) >= away_from_zero;
  };
  const std::string away = "(15) at least " + short_number(away_from_zero) + ", d at least " +
                           std::to_string(plan.dim.front()),
                    where = " if the left-hand side of (15) is at least " +
                            short_number(away_from_zero),
                    unmet = "no cell satisfies the hypotheses";
  const auto under = [&](Statement statement) {
    statement.text += where;
    return asymptotic(std::move(statement), away);
  };
  judge_rate(
      under({"shallow/cor-2.7", "shallow/cor-2.7/alpha-1", "Corollary 2.7",
             "E[r] >= 1 + (1 - delta^2)/(1 + delta^2) t_sim for doubly stochastic P and "
             "alpha = 1,"}),
      plan, record, unmet, [&](std::size_t c) { return doubly(c) && alpha(c) == 1 && is_away(c); },
      [&](std::size_t c) { return bound(c, 1, at(record, delta, c)); }, claims);
  judge_rate(
      under({"shallow/cor-2.7", "shallow/eq-17/symmetric", "Corollary 2.7, eq. (17)",
             "E[r] >= 1 + (1 - |lambda_2|^2)/(1 + |lambda_2|^2) t_sim for symmetric P and "
             "alpha = 1,"}),
      plan, record, unmet,
      [&](std::size_t c) { return symmetric(c) && alpha(c) == 1 && is_away(c); },
      [&](std::size_t c) { return bound(c, 1, at(record, lambda_2, c)); }, claims);
  judge_rate(
      under({"shallow/thm-2.6", "shallow/eq-16/doubly-stochastic",
             "Theorem 2.6, eq. (16), with Corollary 2.7",
             "E[r] >= 1 + alpha^2 (1 - delta^2)/(1 + alpha^2 delta^2) t_sim for doubly "
             "stochastic P and alpha other than 1,"}),
      plan, record, unmet, [&](std::size_t c) { return doubly(c) && alpha(c) != 1 && is_away(c); },
      [&](std::size_t c) { return bound(c, alpha(c), at(record, delta, c)); }, claims);
  judge_rate(
      under({"shallow/thm-2.6", "shallow/eq-16/softmax", "Theorem 2.6, eq. (16)",
             "E[r] is at least the bound (16) for the softmax (2) with omega + delta < 1,"}),
      plan, record, unmet,
      [&](std::size_t c) {
        return !doubly(c) && at(record, omega, c) + at(record, delta, c) < 1 && is_away(c);
      },
      [&](std::size_t c) { return guaranteed_rate(plan, record, c); }, claims);
  judge_rate(
      beyond(Statement{"shallow/thm-2.6", "shallow/eq-16/near-zero", "Theorem 2.6, eq. (16)",
                       "E[r] is at least the bound (16) for doubly stochastic P also if the "
                       "left-hand side of (15) is below " +
                           short_number(away_from_zero)}),
      plan, record, "the left-hand side of (15) is never below " + short_number(away_from_zero),
      [&](std::size_t c) { return doubly(c) && !is_away(c); },
      [&](std::size_t c) { return bound(c, alpha(c), at(record, delta, c)); }, claims);
}

// [Shallow] Remark 2.8, at the smallest t: our margin for "approaches" and "asymptotically".
void judge_remark(const Plan& plan, const Records& records, Claims& claims) {
  constexpr double margin = 0.02;
  const std::string percent = short_number(100 * margin) + " %";
  const TrialRecord& record = records.front();
  const double t = plan.t.front();
  constexpr double near_the_limit = 0.1;
  const auto hypothesis = claims.only_where(
      t <= near_the_limit ? ""
                          : "the smallest --t is " + short_number(t) + ", which is not near 0");
  double bound = 1, diversity = 1;  // relative to the limits; the values farthest from 1
  const auto farther = [](double a, double b) {
    return std::abs(a - 1) >= std::abs(b - 1) ? a : b;
  };
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    const Cell& cell = plan.cells[c];
    if (cell.t != t) continue;
    const double limit = 1 + cell.alpha * cell.alpha;
    bound = farther(guaranteed_rate(plan, record, c) / limit, bound);
    diversity = farther(exact_rate(record, c) / limit, diversity);
  }
  const std::string where =
      ", farthest from 1 over attention, alpha and d at t = " + short_number(t);
  claims.number(
      asymptotic(Statement{"shallow/rem-2.8", "shallow/rem-2.8/maximum", "Remark 2.8",
                           "As t_sim approaches 1, the right-hand side of (16) approaches 1 "
                           "+ alpha^2 (within " +
                               percent + "), for every alpha"},
                 percent),
      bound, within(1, margin), "bound (16) divided by 1 + alpha^2" + where);
  claims.number(asymptotic(Statement{"shallow/rem-2.8", "shallow/rem-2.8/rate", "Remark 2.8",
                                     "As t_sim approaches 1, the rate E[r] approaches 1 + alpha^2 "
                                     "(within " +
                                         percent + "), for every alpha"},
                           percent),
                diversity, within(1, margin), "E[r] by quadrature divided by 1 + alpha^2" + where);
}

// One half of [Shallow] (20): the growth, divided by its expectation at every d, has mean 1.
void judge_growth(const Plan& plan, const Records& records, const char* name,
                  const Statement& statement, const std::string& expected, Claims& claims) {
  Tally tally;
  double width = 0;
  for (std::size_t k = 0; k < plan.dim.size(); ++k) {
    const Summary growth = summarize(
        per_trial(records, [&](const TrialRecord& record) { return at(record, name, k); }));
    const double error = standard_error(growth), away = std::abs(growth.mean - 1) / error;
    if (!std::isfinite(error)) continue;
    tally.count(!(away <= tolerance::standard_errors), away);
    width = std::max(width, error);
  }
  if (!claims.applies(statement, tally.cases == 0 ? "a standard error requires two draws" : ""))
    return;
  claims.never_violated(statement, tally,
                        "largest distance " + short_number(tally.largest) +
                            " standard errors, which are at most " + short_number(100 * width) +
                            " % of " + expected,
                        WorstCase::largest);
}

// [Shallow] (20) for the first pre-norm block. Its second half as an equality: the rows of LN(Y)
// have the squared norm d, so the entries of LN(Y) W_1 are N(0, 1), and half of their square is
// left after ReLU.
void judge_pre_norm(const Plan& plan, const Records& records, Claims& claims) {
  const std::string within_errors =
      ", within " + short_number(tolerance::standard_errors) + " standard errors";
  judge_growth(
      plan, records, attention_growth,
      {"shallow/eq-20", "shallow/eq-20", "Section 3.1, eq. (20)",
       "E||Y||_F^2 - ||X||_F^2 = ||P(X^) X^||_F^2 for the pre-norm step (19)" + within_errors},
      "||P(X^) X^||_F^2", claims);
  judge_growth(plan, records, net_growth,
               {"shallow/eq-20", "shallow/eq-20/net", "Section 3.1, eq. (20)",
                "E||Z||_F^2 > E||Y||_F^2 for the pre-norm block (19): the difference is n d/2 for "
                "ReLU and normal W_1, W_2 of variance 1/rows" +
                    within_errors},
               "n d/2", claims);
}

// [Shallow] Section 2.2.1: if |lambda_2(P_k)| is bounded away from 1, P_k ... P_1 x converges to
// span{1}. The catalog has the derivation of this example.
void judge_products(Claims& claims) {
  constexpr int factors = 60;
  claims.number(
      showing("shallow/sec-2.2.1/products",
              Statement{"shallow/sec-2.2.1", "shallow/sec-2.2.1/products", "Section 2.2.1",
                        "If |lambda_2(P_k)| is bounded away from 1, P_k ... P_1 x converges to "
                        "span{1}: in an example with lambda_2 = 0, the part of x outside of it is "
                        "below 1 % of its size after " +
                            std::to_string(factors) + " factors"}),
      rest_after_products(factors), at_most(0.01),
      "||Pi_2 P_k ... P_1 x||/||Pi_2 x|| for two 0/1 matrices of 3 rows in turn");
}

}  // namespace

double tail_of_one_row(double eps) {
  return std::erfc(std::sqrt((1 + eps) / 2));
}

double rest_after_products(int factors) {
  const arma::mat odd = {{0, 1, 0}, {0, 0, 1}, {0, 0, 1}}, even = {{1, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  const auto rest = [](const arma::vec& x) { return arma::norm(x - arma::mean(x)); };
  const arma::vec start = {0, 0, 1};
  arma::vec x = start;
  for (int k = 1; k <= factors; ++k) x = (k % 2 == 1 ? odd : even) * x;
  return rest(x) / rest(start);
}

double at(const TrialRecord& record, const char* name, std::size_t cell) {
  return record.array(name)[cell];
}

double expected_xi(const Plan& plan, const TrialRecord& record, std::size_t cell, std::size_t i) {
  const double alpha = plan.cells[cell].alpha;
  return 1 + alpha * alpha * at(record, mu_squared[i], cell);
}

double kappa(const Plan& plan, const TrialRecord& record, std::size_t cell, std::size_t i,
             Kappa which) {
  const double factor = which == Kappa::from_27 ? static_cast<double>(plan.cells[cell].dim) : 1;
  return factor * quadratic_size(plan, record, cell, i) + at(record, linear_size[i], cell);
}

double guaranteed_rate(double alpha, double mu_1_bound, double mu_2_bound, double t_sim) {
  const double strength = alpha * alpha;
  return 1 + strength * (mu_1_bound - mu_2_bound) / (1 + strength * mu_2_bound) * t_sim;
}

double guaranteed_rate(const Plan& plan, const TrialRecord& record, std::size_t cell) {
  const double kept = 1 - at(record, omega, cell), gap = at(record, delta, cell);
  return guaranteed_rate(plan.cells[cell].alpha, kept * kept, gap * gap,
                         at(record, similarity, cell));
}

void judge(const Plan& plan, const Records& records, Claims& claims) {
  judge_lemmas(plan, records, claims);
  judge_lemma_a_5(plan, records, claims);
  judge_proposition(plan, records, claims);
  judge_corollary(plan, records, claims);
  judge_remark(plan, records, claims);
  judge_pre_norm(plan, records, claims);
  judge_products(claims);
}

}  // namespace ranklab::escalation_lemmas
