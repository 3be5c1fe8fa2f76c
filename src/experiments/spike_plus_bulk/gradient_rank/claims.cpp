#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/gradient_rank.hpp"
#include "report/size_claims.hpp"

namespace ranklab::gradient_rank {
namespace {

// "Of order k" is judged by the exponent e of a power law k^e over the run's values of k. A
// quantity counts as linear within `linear_margin` of e = 1, and as bounded up to `bounded_margin`:
// k^(1/4) grows by a factor 1.7 if k grows by 8. A logarithm has e = 0.2 from k = 64 to 512, so
// such a fit cannot tell a logarithm from a constant.
constexpr double linear_margin = 0.1, bounded_margin = 0.25;
// An order in k: the exponents that it allows, and our slack.
struct Order {
  Region region;
  std::string slack;
};
const std::string of_linear = "0.1 in the exponent of k", of_bounded = "0.25 in the exponent of k";
const Order linear{within(1, linear_margin), of_linear},
    at_least_linear{at_least(1 - linear_margin), of_linear},
    does_not_shrink{at_least(-linear_margin), of_linear},
    bounded{at_most(bounded_margin), of_bounded}, grows{compared(at_least(0.0)), ""};
// Relative slack for rounding in inequalities.
constexpr double rounding_slack = 1e-9;
// The smallest ratio of min L to L(W_0) that counts as positive.
constexpr double smallest_minimum = 1e-3;

// Fits of the means over trials, with standard errors.
std::string fits_of_means(const SizeClaims& over_k, const Metric& metric) {
  const std::vector<double>& k = over_k.x;
  if (k.size() < fewest_k) return "";
  const ValueAtSize value = over_k.at_sizes(metric);
  std::vector<double> means;
  for (std::size_t i = 0; i < k.size(); ++i) {
    means.push_back(summarize(per_trial(over_k.records, [&](const TrialRecord& record) {
                      return value(record, i);
                    })).mean);
  }
  const LineFit line = fit_line(k, means), power = fit_power(k, means);
  return "exponent of a power law in k, one fit per trial; fits of the means over " +
         std::to_string(k.size()) + " values of k: exponent " + short_number(power.slope) + " +- " +
         short_number(power.slope_error) + ", slope " + short_number(line.slope) + " +- " +
         short_number(line.slope_error) +
         " (standard errors); mean at k = " + count_text(k.front()) + ": " +
         short_number(means.front()) + ", at k = " + count_text(k.back()) + ": " +
         short_number(means.back());
}

// Claim: the mean exponent of k over trials is allowed by the order.
void judge_exponent(const SizeClaims& over_k, const Statement& statement, const Metric& metric,
                    const Order& order) {
  over_k.exponent(statement.kind == Kind::theorem ? asymptotic(statement, order.slack) : statement,
                  metric, order.region, fits_of_means(over_k, metric));
}

// Claim: lower <= upper in each trial at each k, or lower < upper if `strict`. If either is
// undefined there is no case.
void judge_inequality(const SizeClaims& over_k, const Statement& statement, const Metric& lower,
                      const Metric& upper, bool strict = false) {
  const Tally tally = over_k.tally([&](const AtSize& at, Tally& t) {
    const double small = lower(at), large = upper(at);
    if (std::isfinite(small) && std::isfinite(large))
      t.count(strict ? !(small < large) : small > large * (1 + rounding_slack), large / small);
  });
  over_k.claims.never_violated(
      statement, tally,
      tally.cases > 0 ? "smallest ratio of the two sides " + short_number(tally.smallest)
                      : "the bound is undefined, because a constant in it is not positive",
      WorstCase::smallest);
}

// Section 3.2.2 exchanges the spikes: its hypothesis is ||W-bar u|| >= kappa ||u||, but the spike
// of B-bar is v u'. u = sqrt(k) e_1, v = sqrt(k) e_2, Sigma = I, W-bar = I - e_2 e_2' and C = kappa
// = 1 obey the hypothesis as printed. W-bar B-bar = W-bar has the nuclear rank k - 1; spike = k,
// ||I||_* = k and ||I||_F = sqrt(k).
constexpr double k_of_example = 500;

void judge_bound(const SizeClaims& over_k, const Plan& plan, const Place& section) {
  const std::string bound =
      "The nuclear rank of the gradient at W_0 is at most the square of C "
      "(spike + ||bulk||_*) / (kappa spike - C ||bulk||_F)";
  Statement judged = section("nr-0-bound", bound + ", with the constants of the run");
  if (plan.teacher()) {
    const Statement printed =
        showing("spectral/section-3.2.2/spikes",
                section("nr-0-bound/as-printed", bound + ", if ||W-bar|| <= C and ||W-bar u|| >= "
                                                         "kappa ||u||"));
    const double right = std::pow(2 * k_of_example / (k_of_example - std::sqrt(k_of_example)), 2);
    over_k.claims.number(printed, k_of_example - 1, at_most(right),
                         "an example: u = sqrt(k) e_1, v = sqrt(k) e_2, Sigma = I, W-bar = I - e_2 "
                         "e_2', C = kappa = 1, k = " +
                             short_number(k_of_example) + "; the bound is " + short_number(right));
    judged =
        correcting(printed, section("nr-0-bound", bound + ", if ||W-bar|| <= C and ||W-bar v|| "
                                                          ">= kappa ||v||; with the constants "
                                                          "of the run"));
  }
  judge_inequality(over_k, judged, nuclear_rank_0, nuclear_rank_0_bound);
}

void judge_figures(const SizeClaims& over_k, const Plan& plan) {
  const double c = plan.config.c;
  const std::string
      letter = plan.teacher() ? "b" : "a",
      number = plan.teacher() ? "3.2.2" : "3.1.2",
      other_step =
          c == 1.0
              ? ""
              : "the statement is about the step 1/||B|| or 1/(offset + ||B||); this run has --c " +
                    short_number(c);
  const std::string figure_14 = "Figure 14 (" + letter + ")",
                    figure_15 = "Figure 15 (" + letter + ")";
  const auto caption = [](Place place) {
    place.part = Part::caption;
    return place;
  };
  const Place fig_14 = caption(in_figure("spectral/fig-14", "spectral/fig-14" + letter + "/",
                                         figure_14, {figure_14})),
              fig_15 = caption(in_figure("spectral/fig-15", "spectral/fig-15" + letter + "/",
                                         figure_15, {figure_15})),
              section{"spectral/section-" + number + "/nr-0", "spectral/section-" + number + "/",
                      "Section " + number},
              introduction{"spectral/section-3/window", fig_14.prefix, "Section 3, introduction"},
              both{introduction.statement_id,
                   fig_14.prefix,
                   introduction.source + ", and " + figure_14,
                   Part::statement,
                   Kind::theorem,
                   {figure_14}};
  judge_exponent(
      over_k,
      reading(fig_15("nr-0-bounded",
                     "The nuclear rank of the gradient at W_0 is essentially independent of k"),
              "an exponent of k of at most 1/4"),
      nuclear_rank_0, bounded);
  judge_bound(over_k, plan, section);
  judge_exponent(over_k,
                 section("bound-constant",
                         "The square of C (spike + ||bulk||_*) / (kappa spike - C ||bulk||_F) is "
                         "bounded as k grows, if the denominator is positive"),
                 nuclear_rank_0_bound, bounded);
  {
    const auto first_step = over_k.claims.only_where(other_step);
    judge_exponent(over_k,
                   reading(fig_15("nr-1-linear",
                                  "The nuclear rank of the gradient at W_1 grows linearly with k"),
                           "an exponent of k from 0.9 to 1.1"),
                   nuclear_rank_1, linear);
    judge_exponent(over_k,
                   fig_15("eq-1.5-increasingly",
                          "The ratio of the nuclear rank of the gradient at W_1 to st(A), the two "
                          "sides of condition (1.5), grows with k"),
                   ratio(nuclear_rank_1, stable_rank_A), grows);
  }
  {
    const auto relu = over_k.claims.only_where(plan.not_relu());
    judge_inequality(over_k,
                     fig_14("first-step",
                            "The first step increases the nuclear rank of the gradient at every k"),
                     nuclear_rank_0, nuclear_rank_1, true);
  }
  {
    const auto first_step = over_k.claims.only_where(other_step);
    judge_exponent(over_k,
                   fig_14("stronger-with-k",
                          "The factor by which the first step increases the nuclear rank of the "
                          "gradient grows with k"),
                   ratio(nuclear_rank_1, nuclear_rank_0), grows);
  }
  // The rank is large over at least Theta(d) iterates. A window that never opens counts as too
  // short, one that never ends as long enough.
  const auto relu = over_k.claims.only_where(plan.not_relu());
  const Metric length = [](const AtSize& at) { return at(window_end) - at(window_start); };
  const Tally windows = over_k.tally([&](const AtSize& at, Tally& t) {
    const double d = static_cast<double>(plan.sizes[at.i].d);
    t.count(!std::isfinite(at(window_start)) || length(at) < d, length(at) / d);
  });
  over_k.claims.never_violated(asymptotic(both("window",
                                               "The nuclear rank of the gradient is at least d/4 "
                                               "for at least d consecutive iterations"),
                                          "level d/4, length d"),
                               windows,
                               "shortest window " + short_number(windows.smallest) +
                                   " d; the search for its ends continues beyond --steps",
                               WorstCase::smallest);
  judge_exponent(over_k,
                 introduction("window-grows",
                              "The length of the window with nr >= d/4 is at least of the order of "
                              "the dimension"),
                 length, {at_least(1 - bounded_margin), "0.25 in the exponent of the dimension"});
}

// [Spectral] Assumption E, or G, with the spikes of Theorem 3.4 and Corollary 3.8.
void judge_assumption(const SizeClaims& over_k, bool teacher) {
  const Place assumption = teacher ? Place{"spectral/cor-3.8", "spectral/eq-3.15/assumption-G/",
                                           "Assumption G and Corollary 3.8"}
                                   : Place{"spectral/thm-3.4", "spectral/eq-3.2/assumption-E/",
                                           "Assumption E and Theorem 3.4"};
  judge_exponent(
      over_k,
      assumption("spike",
                 "The spike ||u||^2 of B, where u is the mean feature, grows linearly with k"),
      spike_B, linear);
  judge_exponent(over_k,
                 assumption("bulk",
                            "The ratio c_2 / c_1 of the extreme eigenvalues of the bulk B - uu' is "
                            "bounded as k grows"),
                 ratio(bulk_largest, bulk_smallest), bounded);
  if (!teacher) return;
  judge_exponent(over_k,
                 assumption("cross-spike",
                            "The spike ||u|| ||v|| of the cross-Gram matrix grows linearly with k"),
                 cross_spike, linear);
  judge_exponent(
      over_k,
      assumption(
          "cross-bulk",
          "The ratio s_1 / s_d of singular values of the cross-Gram bulk is bounded as k grows"),
      ratio(cross_bulk_largest, cross_bulk_d), bounded);
}

void judge_first_iteration(const SizeClaims& over_k, const Plan& plan) {
  const std::string step =
      ", with the step eta = 1/(" + short_number(plan.theorem_offset) + " + ||B||)";
  if (plan.teacher()) {
    const Place theorem{"spectral/thm-3.9", "spectral/thm-3.9/", "Theorem 3.9, eq. (3.20)"};
    judge_exponent(over_k,
                   theorem("nr-1-linear",
                           "The nuclear rank of the gradient at W_1 is at least of order d" + step),
                   nuclear_rank_1_offset, at_least_linear);
    return;
  }
  // The lemma leaves its constants open; with_constants states it with those of its proof.
  const Place lemma{"spectral/lemma-3.5", "spectral/lemma-3.5/", "Lemma 3.5"},
      with_constants{lemma.statement_id, lemma.prefix,
                     lemma.source + " with the constants of its proof"};
  judge_exponent(over_k,
                 lemma("condition-bounded",
                       "The condition number of T = (I - eta B) B is bounded as k grows" + step),
                 condition_T, bounded);
  judge_inequality(
      over_k,
      with_constants(
          "explicit-bound",
          "The condition number of T = (I - eta B) B is at most max(s, c_2) / min(s, c_1 (1 - "
          "c_2/(c + ||B||))), where s = c ||B||/(c + ||B||) is the image of the top eigenvalue" +
              step),
      condition_T, condition_T_bound);
  judge_exponent(
      over_k,
      lemma("nr-1",
            "The nuclear rank of the gradient at W_1 is at least of the order of nr(W#)" + step),
      ratio(nuclear_rank_1_offset, nuclear_rank_W), does_not_shrink);
  judge_inequality(
      over_k,
      with_constants(
          "elementary-observation",
          "nr(W# T) is at least nr(W#) divided by the squared condition number of T = (I - eta "
          "B) B" +
              step),
      [](const AtSize& at) { return at(nuclear_rank_W) / std::pow(at(condition_T), 2); },
      nuclear_rank_1_offset);
}

// Compares the closed form with the iteration, per trial, at the smallest k.
void judge_closed_form(const Plan& plan, const Records& records, Claims& claims) {
  const Place place = plan.teacher()
                          ? Place{"spectral/lemma-3.10", "spectral/lemma-3.10/", "Lemma 3.10"}
                          : Place{"spectral/section-3.1.4/recursion", "spectral/section-3.1.4/",
                                  "Section 3.1.4, before Theorem 3.6"};
  const Tally tally = tally_of(records, [&](const TrialRecord& record, Tally& t) {
    const double error = record.scalar(closed_form_error);
    if (std::isfinite(error)) t.count(error > record.scalar(closed_form_tolerance), error);
  });
  claims.never_violated(
      place("closed-form",
            "The gradient at W_t equals the gradient at W_0 times (I - eta B)^t, up to rounding"),
      tally,
      "compared with the gradients of the iteration at k = " +
          std::to_string(plan.sizes.front().k) + "; largest error over ||G_0||_F " +
          short_number(std::max(0.0, tally.largest)),
      WorstCase::largest);
}

void judge_minimum(const Plan& plan, const Records& records, Claims& claims) {
  const auto over_k = [&](const TrialRecord& record) {
    std::vector<double> ratios;
    for (const Size& size : plan.sizes) ratios.push_back(record.scalar(size.at(minimum_ratio)));
    return spread_of(ratios);
  };
  if (!plan.teacher()) {
    const auto largest = [&](const TrialRecord& record) {
      const Spread ratios = over_k(record);
      return std::max(std::abs(ratios.smallest), std::abs(ratios.largest));
    };
    claims.mean(beyond(Statement{"spectral/eq-3.1", "spectral/eq-3.1/minimum",
                                 "Section 3.1, eq. (3.1)", "min L is zero, up to rounding"}),
                per_trial(records, largest), at_most(rounding_slack),
                "largest |min L| / L(W_0) over k");
    return;
  }
  const Statement statement =
      beyond(Statement{"spectral/eq-3.14", "spectral/eq-3.14/minimum", "Section 3.2, eq. (3.14)",
                       "The student cannot fit the teacher: min L is positive"});
  // W A = Y has a solution if A has full column rank.
  const bool solvable = std::any_of(plan.sizes.begin(), plan.sizes.end(),
                                    [](const Size& size) { return size.n <= size.k; });
  if (!claims.applies(
          statement,
          solvable ? "n <= k at some size, so the student can interpolate the labels" : ""))
    return;
  claims.mean(
      statement,
      per_trial(records, [&](const TrialRecord& record) { return over_k(record).smallest; }),
      {smallest_minimum, 1.0}, "smallest min L / L(W_0) over k");
}

}  // namespace

void judge(const Plan& plan, const Records& records, Claims& claims) {
  SizeClaims over_k{claims, records, plan.k, {}, plan.not_relu(), "", 2};
  for (const Size& size : plan.sizes) over_k.prefixes.push_back(size.at(""));
  if (over_k.no_exponents.empty() && plan.k.size() < fewest_k) {
    over_k.no_exponents = "an exponent requires at least three values of --k; this run has " +
                          std::to_string(plan.k.size());
  }
  judge_figures(over_k, plan);
  judge_assumption(over_k, plan.teacher());
  judge_first_iteration(over_k, plan);
  judge_closed_form(plan, records, claims);
  judge_minimum(plan, records, claims);
}

}  // namespace ranklab::gradient_rank
