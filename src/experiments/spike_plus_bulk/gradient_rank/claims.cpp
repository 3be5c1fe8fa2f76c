#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/gradient_rank.hpp"

namespace ranklab::gradient_rank {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// "Of order k" is judged by the exponent e of a power law k^e over the run's values of k. A quantity counts as linear within
// `linear_margin` of e = 1, and as bounded up to `bounded_margin`: k^(1/4) grows by 1.7 where k grows by 8. A logarithm has
// e = 0.2 from k = 64 to 512, so that no such fit tells it from a constant.
constexpr double linear_margin = 0.1, bounded_margin = 0.25;
const Region linear = within(1, linear_margin), at_least_linear = at_least(1 - linear_margin), bounded = at_most(bounded_margin),
             grows = at_least(0.0);
// Inequalities that hold exactly are compared with this relative slack for rounding.
constexpr double rounding_slack = 1e-9;
// The least of L that counts as more than zero, over L(W_0).
constexpr double smallest_minimum = 1e-3;

// Judges statements about quantities at every k.
struct Judge {
  const Plan& plan;
  const Records& records;
  Claims& claims;

  ValueAtSize quantity(const std::string& name) const { return recorded(plan, name); }
  ValueAtSize ratio(const std::string& numerator, const std::string& denominator) const {
    return [n = quantity(numerator), d = quantity(denominator)](const TrialRecord& r, std::size_t i) { return n(r, i) / d(r, i); };
  }

  bool about_relu(const Statement& statement) const {
    const std::string& activation = plan.config.activation;
    return claims.applies(statement, activation == "relu" ? "" : "the paper has relu here, the run's activation is " + activation);
  }

  // The mean exponent over trials lies in `allowed`; about ReLU features, and for at least three values of k.
  void exponent(const Statement& statement, const ValueAtSize& value, Region allowed) const {
    const std::size_t count = plan.k.size();
    if (!about_relu(statement)) return;
    if (!claims.applies(statement,
                        count >= fewest_k ? "" : "an exponent needs three values of --k, this run has " + std::to_string(count))) {
      return;
    }
    claims.mean(statement, slopes_over(records, plan.k, value, fit_power, 2), allowed,
                "exponent of a power law in k, one fit per trial; " + fits_of_means(value));
  }

  // The same for a statement about the step 1/||B|| or 1/(offset + ||B||) alone.
  void exponent_of_first_step(const Statement& statement, const ValueAtSize& value, Region allowed) const {
    const double c = plan.config.c;
    if (claims.applies(statement,
                       c == 1.0 ? "" : "about the step 1/||B|| or 1/(offset + ||B||); this run has --c " + short_number(c))) {
      exponent(statement, value, allowed);
    }
  }

  // A violation where lower > upper, for each trial and k; where either is undefined there is no case.
  void inequality(const Statement& statement, const ValueAtSize& lower, const ValueAtSize& upper) const {
    const Tally tally = tally_of(records, [&](const TrialRecord& record, Tally& t) {
      for (std::size_t i = 0; i < plan.k.size(); ++i) {
        const double small = lower(record, i), large = upper(record, i);
        if (std::isfinite(small) && std::isfinite(large)) t.count(small > large * (1 + rounding_slack), large / small);
      }
    });
    claims.never_violated(
        statement, tally,
        tally.cases > 0 ? "smallest ratio of the two sides " + short_number(tally.smallest) : "a constant is not positive");
  }

  // Of the means over trials, with standard errors.
  std::string fits_of_means(const ValueAtSize& value) const {
    const auto& k = plan.k;
    std::vector<double> means;
    for (std::size_t i = 0; i < k.size(); ++i) {
      means.push_back(summarise(per_trial(records, [&](const TrialRecord& record) { return value(record, i); })).mean);
    }
    const LineFit line = fit_line(k, means), power = fit_power(k, means);
    return "fits of the means over " + std::to_string(k.size()) + " values of k: exponent " + short_number(power.slope) + " +- " +
           short_number(power.slope_error) + ", slope " + short_number(line.slope) + " +- " + short_number(line.slope_error) +
           " (standard errors); mean at k = " + std::to_string(plan.sizes.front().k) + ": " + short_number(means.front()) +
           ", at k = " + std::to_string(plan.sizes.back().k) + ": " + short_number(means.back());
  }
};

void judge_figures(const Judge& judge) {
  const auto& [plan, records, claims] = judge;
  const std::string letter = plan.teacher() ? "b" : "a", number = plan.teacher() ? "3.2.2" : "3.1.2";
  const Place fig_14{"spectral/fig-14" + letter + "/", "Figure 14 (" + letter + ")"},
      fig_15{"spectral/fig-15" + letter + "/", "Figure 15 (" + letter + ")"},
      section{"spectral/section-" + number + "/", "Section " + number}, introduction{fig_14.prefix, "Section 3, introduction"},
      both{fig_14.prefix, introduction.source + ", and " + fig_14.source};
  judge.exponent(fig_15("nr-0-bounded", "nr at W_0 is essentially independent of k"), judge.quantity(nuclear_rank_0), bounded);
  judge.inequality(section("nr-0-bound",
                           "nr at W_0 is at most the square of C (spike + ||bulk||_*) / (kappa spike - C ||bulk||_F), "
                           "with the run's own constants"),
                   judge.quantity(nuclear_rank_0), judge.quantity(nuclear_rank_0_bound));
  judge.exponent(section("bound-constant", "that bound does not grow with k, where its denominator is positive"),
                 judge.quantity(nuclear_rank_0_bound), bounded);
  judge.exponent_of_first_step(fig_15("nr-1-linear", "nr at W_1 grows linearly with k"), judge.quantity(nuclear_rank_1), linear);
  judge.exponent_of_first_step(fig_15("eq-1.5-increasingly", "nr at W_1 over st(A), the condition (1.5), grows with k"),
                               judge.ratio(nuclear_rank_1, stable_rank_A), grows);
  const Statement first_step = fig_14("first-step", "the first step raises the nuclear rank, at every k");
  if (judge.about_relu(first_step)) {
    judge.inequality(first_step, judge.quantity(nuclear_rank_0), judge.quantity(nuclear_rank_1));
  }
  judge.exponent_of_first_step(fig_14("stronger-with-k", "the first step raises the nuclear rank by a factor that grows with k"),
                               judge.ratio(nuclear_rank_1, nuclear_rank_0), grows);

  // Large over at least Theta(d) iterates. A window that never opens is too short, one that never ends is not.
  const auto length = [&](const TrialRecord& record, std::size_t i) {
    return record.scalar(plan.sizes[i].at(window_end)) - record.scalar(plan.sizes[i].at(window_start));
  };
  const Statement window = both("window", "nr stays at or above d/4 for at least d iterations");
  if (judge.about_relu(window)) {
    const Tally tally = tally_of(records, [&](const TrialRecord& record, Tally& t) {
      for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
        const double d = static_cast<double>(plan.sizes[i].d);
        const bool opens = std::isfinite(record.scalar(plan.sizes[i].at(window_start)));
        t.count(!opens || length(record, i) < d, length(record, i) / d);
      }
    });
    claims.never_violated(window, tally,
                          "shortest window " + short_number(tally.smallest) + " d; its ends are sought beyond --steps");
  }
  judge.exponent(
      introduction("window-grows", "the window of nr >= d/4 lengthens in proportion to the dimension, at least as the power 3/4"),
      length, at_least(1 - bounded_margin));
}

// [Spectral] Assumption E, or G, with the spikes of Theorem 3.4 and Corollary 3.8.
void judge_assumption(const Judge& judge) {
  const Plan& plan = judge.plan;
  const Place assumption = plan.teacher() ? Place{"spectral/eq-3.15/assumption-G/", "Assumption G and Corollary 3.8"}
                                          : Place{"spectral/eq-3.2/assumption-E/", "Assumption E and Theorem 3.4"};
  judge.exponent(assumption("spike", "the spike ||u||^2 of B, u the mean feature, grows linearly with k"), judge.quantity(spike_B),
                 linear);
  judge.exponent(assumption("bulk", "c_2 / c_1 of the bulk B - uu' is bounded"), judge.ratio(bulk_largest, bulk_smallest), bounded);
  if (!plan.teacher()) return;
  judge.exponent(assumption("cross-spike", "the spike ||u|| ||v|| of the cross-Gram matrix grows linearly with k"),
                 judge.quantity(cross_spike), linear);
  judge.exponent(assumption("cross-bulk", "s_1 / s_d of the cross-Gram bulk is bounded"),
                 judge.ratio(cross_bulk_largest, cross_bulk_d), bounded);
}

void judge_first_iteration(const Judge& judge) {
  const Plan& plan = judge.plan;
  const std::string step = ", at eta = 1/(" + short_number(plan.theorem_offset) + " + ||B||)";
  if (plan.teacher()) {
    const Place theorem{"spectral/thm-3.9/", "Theorem 3.9, eq. (3.20)"};
    judge.exponent(theorem("nr-1-linear", "nr at W_1 is at least of order d" + step), judge.quantity(nuclear_rank_1_offset),
                   at_least_linear);
    return;
  }
  const Place lemma{"spectral/lemma-3.5/", "Lemma 3.5"}, proof{lemma.prefix, lemma.source + ", proof"};
  judge.exponent(lemma("condition-bounded", "the condition number of T is bounded as k grows" + step), judge.quantity(condition_T),
                 bounded);
  judge.inequality(proof("explicit-bound",
                         "the eigenvalues of T lie in [c_1 (1 - c_2/(c + ||B||)), c_2] or are c ||B||/(c + ||B||), so that "
                         "its condition number is at most the ratio of the extremes" +
                             step),
                   judge.quantity(condition_T), judge.quantity(condition_T_bound));
  judge.exponent(lemma("nr-1", "nr at W_1 is at least of the order of nr(W#)" + step),
                 judge.ratio(nuclear_rank_1_offset, nuclear_rank_W), at_least(-linear_margin));
  judge.inequality(
      proof("elementary-observation", "nr(W# T) is at least nr(W#) over the squared condition number of T" + step),
      [&](const TrialRecord& record, std::size_t i) {
        return record.scalar(plan.sizes[i].at(nuclear_rank_W)) / std::pow(record.scalar(plan.sizes[i].at(condition_T)), 2);
      },
      judge.quantity(nuclear_rank_1_offset));
}

// The closed form against the iteration, per trial, at the smallest k.
void judge_closed_form(const Plan& plan, const Records& records, Claims& claims) {
  const Place place = plan.teacher() ? Place{"spectral/lemma-3.10/", "Lemma 3.10"}
                                     : Place{"spectral/section-3.1.4/", "Section 3.1.4, before Theorem 3.6"};
  const Tally tally = tally_of(records, [&](const TrialRecord& record, Tally& t) {
    const double error = record.scalar(closed_form_error);
    if (std::isfinite(error)) t.count(error > record.scalar(closed_form_tolerance), error);
  });
  claims.never_violated(place("closed-form", "the gradient at W_t equals the gradient at W_0 times (I - eta B)^t, to rounding"),
                        tally,
                        "gradients of the iteration itself at k = " + std::to_string(plan.sizes.front().k) +
                            ", largest error over ||G_0||_F " + short_number(std::max(0.0, tally.largest)));
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
    claims.mean({"spectral/eq-3.1/minimum", "Section 3.1, eq. (3.1)", "min L is zero, to rounding"}, per_trial(records, largest),
                at_most(rounding_slack), "largest |min L| / L(W_0) over k");
    return;
  }
  const Statement statement{"spectral/eq-3.14/minimum", "Section 3.2, eq. (3.14)",
                            "the student cannot fit the teacher: min L is not zero"};
  // W A = Y has a solution where A has full column rank.
  const bool solvable = std::any_of(plan.sizes.begin(), plan.sizes.end(), [](const Size& size) { return size.n <= size.k; });
  if (!claims.applies(statement, solvable ? "with n <= k the labels are interpolated" : "")) return;
  claims.mean(statement, per_trial(records, [&](const TrialRecord& record) { return over_k(record).smallest; }),
              {smallest_minimum, 1.0}, "smallest min L / L(W_0) over k");
}

}  // namespace

ValueAtSize recorded(const Plan& plan, const std::string& quantity) {
  return [&plan, quantity](const TrialRecord& record, std::size_t i) { return record.scalar(plan.sizes[i].at(quantity)); };
}

void judge(const Plan& plan, const Records& records, Claims& claims) {
  const Judge judge{plan, records, claims};
  judge_figures(judge);
  judge_assumption(judge);
  judge_first_iteration(judge);
  judge_closed_form(plan, records, claims);
  judge_minimum(plan, records, claims);
}

}  // namespace ranklab::gradient_rank
