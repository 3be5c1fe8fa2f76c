#include <algorithm>
#include <cmath>

#include "core/fits.hpp"
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
  constexpr int steps = 20;
  constexpr double expected_events = 200;  // in the draws, if the bound were the probability
  std::vector<Tail> tails;
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    for (const std::size_t i : {0u, 1u}) {
      const std::vector<double> values = per_trial(
          records, [&](const TrialRecord& record) { return deviation(plan, record, c, i); });
      for (int k = 1; k < steps; ++k) {
        const double eps = static_cast<double>(k) / steps,
                     d = static_cast<double>(plan.cells[c].dim),
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

// ||Bw||^2 - ||B||_F^2, in units of ||B||_F^2 = d alpha^2 mu_i^2.
double from_norm(const Plan& plan, const TrialRecord& record, std::size_t c, std::size_t i) {
  return at(record, quadratic[i], c) /
             (static_cast<double>(plan.cells[c].dim) * quadratic_size(plan, record, c, i)) -
         1;
}

// [Shallow] Lemmas A.2, A.3 and eq. (27), for the terms of xi_i to which the paper applies them: w
// holds the d^2 entries of W, and K = 1/sqrt(d).
void judge_lemmas(const Plan& plan, const Records& records, Claims& claims) {
  const std::size_t draws = records.size();
  const std::string constant = " with c = " + short_number(lemma_constant);
  judge_tails({"shallow/eq-25", "Lemma A.2, eq. (25)",
               "P(2 <a, w> >= eps ||a||) <= exp(-c eps^2/K^2)" + constant +
                   ", for the terms of xi_i linear in a normal W"},
              tails_of(plan, records, 1,
                       [](const Plan&, const TrialRecord& record, std::size_t c, std::size_t i) {
                         return at(record, linear[i], c) / at(record, linear_size[i], c);
                       }),
              draws, claims);

  judge_tails({"shallow/eq-26", "Lemma A.3, eq. (26)",
               "P(||Bw||^2 - ||B||_F^2 >= eps ||B||_F^2) <= exp(-c eps^2/K^2)" + constant +
                   ", for the terms of xi_i quadratic in a normal W"},
              tails_of(plan, records, 1, from_norm), draws, claims);

  judge_tails({"shallow/eq-27", "Appendix A.2, eq. (27)",
               "P(||Bw + a||^2 - E||Bw + a||^2 >= eps (||B||_F^2 + ||B'a||)) <= 2 exp(-c "
               "eps^2/K^2)" +
                   constant + ", for xi_i"},
              tails_of(plan, records, 2,
                       [](const Plan& of, const TrialRecord& record, std::size_t c, std::size_t i) {
                         return from_expectation(of, record, c, i) /
                                kappa(of, record, c, i, Kappa::from_27);
                       }),
              draws, claims);

  // The paper states (26) for the upper tail. xi_i needs both tails, and those of ||Bw||^2 are on
  // both sides of its expectation.
  const Misprint both = Place{"shallow/", "Lemma A.3, eq. (26)", Kind::beyond}.misprint(
      "eq-26/both-tails",
      "(26) with the factor 2 bounds both tails: P(abs(||Bw||^2 - ||B||_F^2) >= eps ||B||_F^2) <= "
      "2 "
      "exp(-c eps^2/K^2)" +
          constant,
      "Both tails around the expectation K^2 ||B||_F^2: P(abs(||Bw||^2 - K^2 ||B||_F^2) >= eps K^2 "
      "||B||_F^2) <= 2 exp(-c eps^2/K^2)" +
          constant);
  judge_tails(both.as_printed,
              tails_of(plan, records, 2,
                       [](const Plan& of, const TrialRecord& record, std::size_t c, std::size_t i) {
                         return std::abs(from_norm(of, record, c, i));
                       }),
              draws, claims);
  judge_tails(correcting(both.as_printed, both.corrected),
              tails_of(plan, records, 2,
                       [](const Plan& of, const TrialRecord& record, std::size_t c, std::size_t i) {
                         return std::abs(
                             at(record, quadratic[i], c) / quadratic_size(of, record, c, i) - 1);
                       }),
              draws, claims);
}

// The power of d in the exponent c d (s/kappa_1)^2 of the bound (28) at the fixed deviation s = 1,
// for doubly stochastic P, with which mu_1 is 1 at every d: the smallest over attention, t and
// alpha.
double smallest_power(const Plan& plan, const TrialRecord& record, Kappa which) {
  const std::vector<double> dim(plan.dim.begin(), plan.dim.end());
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t first = 0; first < plan.cells.size(); first += dim.size()) {
    if (plan.cells[first].attention == Attention::softmax) continue;
    std::vector<double> exponents;
    for (std::size_t k = 0; k < dim.size(); ++k) {
      const double scale = kappa(plan, record, first + k, 0, which);
      exponents.push_back(lemma_constant * dim[k] / (scale * scale));
    }
    smallest = std::min(smallest, fit_power(dim, exponents).slope);
  }
  return smallest;
}

void judge_lemma_a_5(const Plan& plan, const Records& records, Claims& claims) {
  const Misprint decay =
      Place{"shallow/", "Lemma A.5, eq. (28), and the proof of Theorem 2.6"}.misprint(
          "eq-28/decay",
          "With the kappa_1 of (27), the bound (28) on a fixed deviation of xi_1 falls "
          "exponentially with d if P is doubly stochastic",
          "With kappa_1 = alpha^2 mu_1^2 + ||B'a||, the bound (28) on a fixed deviation of xi_1 "
          "falls exponentially with d if P is doubly stochastic");
  const std::string constant = " with c = " + short_number(lemma_constant);
  judge_tails({"shallow/eq-28", "Lemma A.5, eq. (28)",
               "P(|xi_i - E[xi_i]| >= eps kappa_i) <= 4 exp(-c eps^2 d)" + constant +
                   " and the kappa_i of (27), which grow with d"},
              tails_of(plan, records, 4,
                       [](const Plan& of, const TrialRecord& record, std::size_t c, std::size_t i) {
                         return std::abs(from_expectation(of, record, c, i)) /
                                kappa(of, record, c, i, Kappa::from_27);
                       }),
              records.size(), claims);
  judge_tails(beyond(Statement{"shallow/eq-28/without-d", "Lemma A.5, eq. (28)",
                               "The same bound holds with kappa_i = alpha^2 mu_i^2 + ||B'a||, "
                               "which do not grow with d"}),
              tails_of(plan, records, 4,
                       [](const Plan& of, const TrialRecord& record, std::size_t c, std::size_t i) {
                         return std::abs(from_expectation(of, record, c, i)) /
                                kappa(of, record, c, i, Kappa::without_d);
                       }),
              records.size(), claims);
  const std::string one_dim = plan.dim.size() < 2 ? "requires two values of d" : "";
  const std::string detail =
      "power of d in c d/kappa_1^2, the exponent of the bound at |xi_1 - E[xi_1]| = 1; the "
      "smallest "
      "over attention, t and alpha";
  if (claims.applies(decay.as_printed, one_dim))
    claims.number(decay.as_printed, smallest_power(plan, records.front(), Kappa::from_27),
                  positive(), detail);
  if (claims.applies(correcting(decay.as_printed, decay.corrected), one_dim))
    claims.number(correcting(decay.as_printed, decay.corrected),
                  smallest_power(plan, records.front(), Kappa::without_d), positive(), detail);
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
      "shallow/prop-2.5", "Proposition 2.5, eq. (13)",
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
  claims.never_violated({"shallow/cor-2.7/mu-1", "Corollary 2.7",
                         "mu_1 = 1 and omega = 0 for doubly stochastic P, up to rounding"},
                        unit, "by Sinkhorn's scaling; largest error " + short_number(unit.largest),
                        WorstCase::largest);
  claims.never_violated({"shallow/cor-2.7/delta", "Corollary 2.7",
                         "delta = |lambda_2(P)| for symmetric P, up to rounding"},
                        equal, "largest difference " + short_number(equal.largest),
                        WorstCase::largest);
  // The hypothesis of Theorem 2.6 about (15).
  const auto is_away = [&](std::size_t c) {
    const double kept = 1 - at(record, omega, c), gap = at(record, delta, c);
    return std::max(at(record, mu_squared[0], c) - kept * kept,
                    gap * gap - at(record, mu_squared[1], c)) >= away_from_zero;
  };
  const std::string away = "(15) at least " + short_number(away_from_zero),
                    where = " if the left-hand side of (15) is at least " +
                            short_number(away_from_zero),
                    unmet = "no cell satisfies the hypotheses";
  const auto under = [&](Statement statement) {
    statement.text += where;
    return reading(std::move(statement), away);
  };
  judge_rate(
      under({"shallow/cor-2.7/alpha-1", "Corollary 2.7",
             "E[r] >= 1 + (1 - delta^2)/(1 + delta^2) t_sim for doubly stochastic P and "
             "alpha = 1,"}),
      plan, record, unmet, [&](std::size_t c) { return doubly(c) && alpha(c) == 1 && is_away(c); },
      [&](std::size_t c) { return bound(c, 1, at(record, delta, c)); }, claims);
  judge_rate(
      under({"shallow/eq-17/symmetric", "Corollary 2.7, eq. (17)",
             "E[r] >= 1 + (1 - |lambda_2|^2)/(1 + |lambda_2|^2) t_sim for symmetric P and "
             "alpha = 1,"}),
      plan, record, unmet,
      [&](std::size_t c) { return symmetric(c) && alpha(c) == 1 && is_away(c); },
      [&](std::size_t c) { return bound(c, 1, at(record, lambda_2, c)); }, claims);
  judge_rate(
      under({"shallow/eq-16/doubly-stochastic", "Theorem 2.6, eq. (16), with Corollary 2.7",
             "E[r] >= 1 + alpha^2 (1 - delta^2)/(1 + alpha^2 delta^2) t_sim for doubly "
             "stochastic P and alpha other than 1,"}),
      plan, record, unmet, [&](std::size_t c) { return doubly(c) && alpha(c) != 1 && is_away(c); },
      [&](std::size_t c) { return bound(c, alpha(c), at(record, delta, c)); }, claims);
  judge_rate(
      under({"shallow/eq-16/softmax", "Theorem 2.6, eq. (16)",
             "E[r] is at least the bound (16) for the softmax (2) with omega + delta < 1,"}),
      plan, record, unmet,
      [&](std::size_t c) {
        return !doubly(c) && at(record, omega, c) + at(record, delta, c) < 1 && is_away(c);
      },
      [&](std::size_t c) { return guaranteed_rate(plan, record, c); }, claims);
  judge_rate(
      beyond(Statement{"shallow/eq-16/near-zero", "Theorem 2.6, eq. (16)",
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
  claims.number(reading(Statement{"shallow/rem-2.8/maximum", "Remark 2.8",
                                  "As t_sim approaches 1, the right-hand side of (16) approaches 1 "
                                  "+ alpha^2 (within " +
                                      percent + "), for every alpha"},
                        percent),
                bound, within(1, margin), "bound (16) divided by 1 + alpha^2" + where);
  claims.number(reading(Statement{"shallow/rem-2.8/rate", "Remark 2.8",
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
      {"shallow/eq-20", "Section 3.1, eq. (20)",
       "E||Y||_F^2 - ||X||_F^2 = ||P(X^) X^||_F^2 for the pre-norm step (19)" + within_errors},
      "||P(X^) X^||_F^2", claims);
  judge_growth(plan, records, net_growth,
               {"shallow/eq-20/net", "Section 3.1, eq. (20)",
                "E||Z||_F^2 > E||Y||_F^2 for the pre-norm block (19): the difference is n d/2 for "
                "ReLU and normal W_1, W_2 of variance 1/rows" +
                    within_errors},
               "n d/2", claims);
}

}  // namespace

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
}

}  // namespace ranklab::escalation_lemmas
