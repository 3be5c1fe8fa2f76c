// Claims about eq. (1.9) at the first two iterates and about the time that gradient descent takes,
// [Spectral] Sections 1 and 3.1.4.
#include <cmath>

#include "experiments/spike_plus_bulk/features/features.hpp"

namespace ranklab::features {
namespace {

// Eq. (1.9): J_t/L_t <= nr(grad L(W_t)) up to a constant. [Spectral] reports it from Shen et al.
// (2025), about a small MLP, and defines neither J_t nor L_t. Here J_t = tr(P B P') with the polar
// factor P of the gradient, and L_t = ||B||.
void judge_hessian_ratio(const SizeClaims& over_d) {
  const Place eq_1_9{"spectral/eq-1.9", "spectral/eq-1.9/", "Section 1.3, eq. (1.9)", Part::ours,
                     Kind::beyond};
  const std::string defined =
      "; J_t = tr(P B P') with the polar factor P of the gradient, L_t = "
      "||B||";
  over_d.everywhere(
      eq_1_9("first-step", "J_t/L_t <= nr(grad L(W_t)) at W_1, with constant 1"),
      [](const AtSize& at) { return at(gradient_rank[1]) - at(hessian_ratio[1]); },
      "J/L is " + over_d.range(hessian_ratio[1]) + ", nr " + over_d.range(gradient_rank[1]) +
          defined);
  over_d.exponent(
      eq_1_9("grows", "The margin of (1.9) at W_1, nr over J_t/L_t, is of order d"),
      ratio(gradient_rank[1], hessian_ratio[1]), within(1.0, exponent_slack),
      "the quotient is " + over_d.range(ratio(gradient_rank[1], hessian_ratio[1])) + defined);
  const Tally gains = over_d.tally([](const AtSize& at, Tally& tally) {
    for (std::size_t t = 0; t < hessian_ratio.size(); ++t) {
      if (!(at(hessian_ratio[t]) <= at(gradient_rank[t]))) continue;
      tally.count(!(at(polar_gain[t]) >= 1.0 - rounding_of_norms), at(polar_gain[t]));
    }
  });
  over_d.claims.never_violated(
      eq_1_9("guarantee",
             "Where (1.9) holds with constant 1, a step along the polar factor of the "
             "gradient has a better guarantee than a step of GD"),
      gains,
      "decrease of the loss by the best step along P, over the decrease ||G||_F^2/(2 L_t) that GD "
      "guarantees, at W_0 and W_1: " +
          (gains.cases > 0 ? short_number(gains.smallest) + " to " + short_number(gains.largest)
                           : std::string("no case")),
      WorstCase::smallest);
  const Tally ratios = over_d.tally([](const AtSize& at, Tally& tally) {
    for (const char* name : hessian_ratio) {
      const double quotient = at(name) / at(stable_rank_A);
      tally.count(!(quotient <= 1.0 + rounding_of_norms), quotient);
    }
  });
  over_d.claims.never_violated(
      eq_1_9("stable-rank",
             "J_t/L_t <= st(A) on random features, so condition (1.5) implies (1.9)"),
      ratios,
      "J_t/L_t over st(A), at W_0 and W_1: " + short_number(ratios.smallest) + " to " +
          short_number(ratios.largest) +
          "; equal if the gradient has full column rank, because then P'P = I",
      WorstCase::largest);
}

void judge_descent(const SizeClaims& over_d) {
  const Place introduction{"spectral/section-1/gd-time", "spectral/section-1/",
                           "Section 1, before Section 1.1"},
      section{"spectral/section-3.1.4/gd-time", "spectral/section-3.1.4/",
              "Section 3.1.4, before Theorem 3.6"};
  const double delta = relative_errors[judged_relative], epsilon = absolute_errors[judged_absolute];
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string with = std::string(labels[i]) + " labels";
    const Metric relative = [=](const AtSize& at) {
      return at.record.array(at.prefix + relative_time[i]).at(judged_relative);
    };
    const Metric absolute = [=](const AtSize& at) {
      return at.record.array(at.prefix + absolute_time[i]).at(judged_absolute);
    };
    const Metric printed =
        ratio(relative, [=](const AtSize& at) { return at.x * std::log(at.x / delta); });
    const Metric per_d = ratio(relative, [](const AtSize& at) { return at.x; });
    const Metric to_epsilon =
        ratio(absolute, [=](const AtSize& at) { return at.x * std::log(at.x / epsilon); });
    const Misprint time = introduction.misprint(
        "spectral/section-1/gd-time/relative", "gd-time/" + std::string(labels[i]),
        "GD needs at least of order d log(d/delta) steps to a relative error delta, " + with,
        "GD needs of order d log(1/delta) steps to a relative error delta, " + with);
    const std::string at_delta =
        ", delta = " + short_number(delta) + " of the initial L - min L, step 1/||B||";
    over_d.exponent(asymptotic(time.as_printed, "none: an exponent below 0 at 99 %"), printed,
                    at_least(0.0),
                    "steps over d log(d/delta) " + over_d.range(printed) + at_delta +
                        "; judged without slack because log d grows slowly");
    over_d.exponent(time.corrected, per_d, within(0.0, exponent_slack),
                    "steps over d " + over_d.range(per_d) + at_delta);
    // The sentence is about (3.1), that is realizable labels; it bounds the time from above.
    const Statement sentence = section(
        "gd-time/" + std::string(labels[i]),
        "GD finds an eps-optimal solution after at most of order d log(d/eps) steps, " + with);
    over_d.exponent(i == realizable_labels ? sentence : beyond(sentence), to_epsilon, does_not_grow,
                    "steps over d log(d/eps) " + over_d.range(to_epsilon) +
                        ", L - min L <= eps = " + short_number(epsilon) + ", step 1/||B||");
  }
  const Tally bound = over_d.tally([](const AtSize& at, Tally& tally) {
    for (const char* times : relative_time) {
      const std::vector<double>& steps = at.record.array(at.prefix + times);
      for (std::size_t j = 0; j < steps.size(); ++j) {
        if (!std::isfinite(steps[j])) continue;
        const double allowed = std::ceil(-std::log(relative_errors[j]) / at(decay));
        tally.count(steps[j] > allowed, steps[j] / allowed);
      }
    }
  });
  over_d.claims.never_violated(
      beyond(introduction("gd-time/bound",
                          "GD reaches the relative error delta within log(1/delta) / (-2 log(1 - "
                          "lambda_k/lambda_1)) steps, rounded up")),
      bound,
      bound.cases > 0 ? "steps over the bound " + short_number(bound.smallest) + " to " +
                            short_number(bound.largest)
                      : "no run has n > k and features of full rank",
      WorstCase::largest);
}

}  // namespace

void judge_times(const Plan& plan, const SizeClaims& over_d) {
  judge_hessian_ratio(over_d);
  const auto definite = over_d.claims.only_where(
      plan.singular ? "n <= k at some size, so B is singular and its smallest eigenvalue is 0"
                    : "");
  judge_descent(over_d);
}

}  // namespace ranklab::features
