// Claims about windows of large nuclear rank: Theorem 3.6 and Remark 1, Theorem 3.11, Corollary 3.12 and Remark 2 of [Spectral].
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.hpp"
#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"

namespace ranklab::multi_spike {
namespace {

double real(std::uint64_t n) {
  return static_cast<double>(n);
}

// Why the theorem says nothing about this family, or "".
std::string unmet_hypothesis(const Plan& plan, const SpikeFamily& family) {
  const std::uint64_t p = plan.config.spikes, smallest = *std::min_element(plan.config.d.begin(), plan.config.d.end());
  if (family.c < 1) return "the theorem takes c >= 1, this run c = " + short_number(family.c);
  if (!plan.teacher()) return p >= smallest ? "as many spikes as dimensions leave no bulk: M-bar has no column" : "";
  if (family.pair.high > 1) return "Assumption H takes u <= 1, this run u = " + short_number(family.pair.high);
  if (2 * p >= smallest / 2) {
    return "2 p = " + short_number(2 * real(p)) + " spikes leave no column p + 1 to r - p at d = " + std::to_string(smallest);
  }
  return "";
}

// Corollary 3.12 asks for more than Theorem 3.11.
std::string unmet_hypothesis_of_window(const Plan& plan, const SpikeFamily& family) {
  const std::string reason = unmet_hypothesis(plan, family);
  if (!reason.empty() || !plan.teacher()) return reason;
  const double difference = family.pair.high - family.pair.low;
  if (difference >= 0.5) return "u - l = " + short_number(difference) + " is not below 1/2";
  const std::uint64_t p = plan.config.spikes, largest = *std::max_element(plan.config.d.begin(), plan.config.d.end());
  const double limit = std::pow(real(largest), 1 - 2 * difference);
  if (real(p) >= limit) {
    return "p = o(d^(1-2(u-l))) cannot be said of p = " + std::to_string(p) + ": d^(1-2(u-l)) is " + short_number(limit) +
           " at d = " + std::to_string(largest);
  }
  return "";
}

// Judges statements about one family.
struct FamilyJudge {
  const Plan& plan;
  const SpikeFamily& family;
  const Records& records;
  Claims& claims;

  // Theorem 3.6, or Corollary 3.12.
  void window() const {
    const Place theorem = plan.teacher() ? place("cor-3.12", "Corollary 3.12, eq. (3.27)") : place("thm-3.6", "Theorem 3.6");
    const std::string level = plan.teacher() ? "nr >= 0.2 d" : "nr >= d/4";
    passage(theorem("window", level + " at every iteration from c u d^(u-l) log d to c d^u"), burn_in, window_end,
            &Setting::window);
    order(theorem("window-order", "the window of " + level + " lasts for at least the order of d^u"), window_length,
          &SpikePair::window_scale, "length / d^u");

    const std::string ratios =
        "burn-in / (d^(u-l) log d): " + means(burn_in_crossing, &SpikePair::burn_in_scale) + "; exponent of d in it " +
        short_number(summarise(slopes_over(records, plan.d, over(burn_in_crossing, &SpikePair::burn_in_scale), fit_power)).mean);
    const std::vector<double> slopes = burn_in_slopes(plan, family, records);
    const double constant = family.c * family.pair.high;
    const auto slope_in = [&](Region allowed, const Statement& statement) {
      if (claims.applies(statement, too_few_sizes(plan, ratios))) claims.mean(statement, slopes, allowed, ratios);
    };
    slope_in(
        at_most(constant),
        theorem("burn-in-at-most",
                "the burn-in grows no faster than d^(u-l) log d: burn-in / d^(u-l) = a + b log d with b at most the constant c u "
                "of the proof"));
    slope_in({positive().low, constant},
             theorem("burn-in-of-order",
                     "the burn-in grows like d^(u-l) log d, not more slowly: b > 0 in burn-in / d^(u-l) = a + b log d"));
  }

  // Remark 1, or 2.
  void longer_window() const {
    const Place remark = plan.teacher() ? place("remark-2", "Remark 2") : place("remark-1", "Remark 1");
    const std::string level = "nr >= d^(1-eps), eps = " + short_number(plan.config.epsilon);
    passage(remark("window", level + ", from c u d^(u-l) log d to c eps d^u log d / (2 c_2)"), remark_burn_in, remark_window_end,
            &Setting::remark_window);
    order(remark("order", "the window of " + level + " lasts for at least the order of d^u log d"), remark_window_end,
          &SpikePair::remark_scale, "end / (d^u log d)");
    const Tally longer = tally_of(records, [&](const TrialRecord& record, Tally& t) {
      for (const Setting& at : family.settings) {
        const double end = record.scalar(at.prefix + window_end);
        if (at.remark_level >= at.level || !std::isfinite(end)) continue;
        t.count(record.scalar(at.prefix + remark_window_end) <= end);  // one that has not ended is undefined, and no violation
      }
    });
    claims.never_violated(remark("longer", "the window of " + level + " ends after that of nr of order d"), longer,
                          "sizes with d^(1-eps) below the level of the shorter window");
  }

  // (3.11) and Theorem 3.11 over the predicted window, with the constants of the proofs in place of the unspecified ones.
  void norms() const {
    const bool teacher = plan.teacher();
    const double p = real(plan.config.spikes), c_1 = plan.c_1, c_2 = plan.c_2;
    Tally nuclear, frobenius;
    for (const Setting& at : family.settings) {
      if (at.window.from > at.window.to) continue;
      const double d = real(at.d);
      const double passed = teacher ? std::pow(d, family.pair.high - family.pair.low) : 1.0, last = teacher ? 1 / d : 0.0;
      for (const TrialRecord& record : records) {
        const auto value = [&](const char* name) { return record.scalar(at.prefix + name); };
        const double W = record.scalar(at_size(family.pair.names, at.d) + W_norm);
        const double lower = value(M_nuclear) - p * passed - last;
        const double upper = value(teacher ? W_frobenius : M_frobenius) + std::sqrt(p) * passed + last;
        const double constant = std::max(c_2, (teacher ? 2 * c_2 : 1.0) * W);
        frobenius.count(value(window_frobenius) > constant * upper, value(window_frobenius) / upper);
        if (lower > 0) nuclear.count(value(window_nuclear) < c_1 * std::exp(-2 * c_2) * lower, value(window_nuclear) / lower);
      }
    }
    const Place theorem = teacher ? place("thm-3.11", "Theorem 3.11") : place("eq-3.11", "eq. (3.11)");
    const std::string terms = teacher ? "||M-bar||_* - p d^(u-l) - d^(-1)" : "||M-bar||_* - r";
    claims.never_violated(
        theorem("nuclear", "over the predicted window ||grad L(W_t)||_* >= C (" + terms + "), C = c_1 exp(-2 c_2)"), nuclear,
        nuclear.cases > 0 ? "smallest ratio " + short_number(nuclear.smallest) : "the right side is not positive");
    claims.never_violated(
        theorem("frobenius", teacher ? "over the predicted window ||grad L(W_t)||_F <= C (||W-bar||_F + sqrt(p) d^(u-l) + d^(-1)), "
                                       "C = 2 c_2 ||W-bar||_op"
                                     : "over the predicted window ||grad L(W_t)||_F <= C (||M-bar||_F + sqrt(r)), C = max(c_2, "
                                       "||W#||_op)"),
        frobenius, "largest ratio " + short_number(std::max(0.0, frobenius.largest)));
  }

  using Prediction = double (SpikePair::*)(double) const;

  // The place of a theorem, whose ids carry what distinguishes the family.
  Place place(const std::string& theorem, const std::string& source) const {
    return {"spectral/" + theorem + id_suffix(family.names) + "/", source};
  }

  ValueAtSize over(const char* quantity, Prediction prediction) const {
    return over_scale(plan, family.names, quantity, [=, this](double d) { return (family.pair.*prediction)(d); });
  }

  // The means over trials at every size, over the prediction.
  std::string means(const char* quantity, Prediction prediction) const {
    std::vector<std::string> texts;
    for (const Setting& at : family.settings) {
      const double mean = summarise(scalars_of(records, at.prefix + quantity)).mean;
      texts.push_back(short_number(mean / (family.pair.*prediction)(real(at.d))));
    }
    return joined(texts);
  }

  // nr stays at the level or above over the predicted span, in every trial at every size; one whose span is empty is no case.
  void passage(const Statement& statement, const char* start, const char* end, Span Setting::*predicted) const {
    Tally tally;
    std::vector<std::string> empty;
    for (const Setting& at : family.settings) {
      const Span span = at.*predicted;
      if (span.from > span.to || span.to > at.horizon) {
        empty.push_back(std::to_string(at.d));
        continue;
      }
      for (const TrialRecord& record : records) {
        // Between the two first passages every iteration is at the level or above it.
        tally.count(!(record.scalar(at.prefix + start) <= real(span.from)) || record.scalar(at.prefix + end) <= real(span.to));
      }
    }
    claims.never_violated(
        statement, tally,
        clauses("cases are trials and sizes",
                empty.empty()
                    ? ""
                    : "the predicted window is empty, or ends after the last iteration looked at, at d = " + joined(empty)));
  }

  // The quantity is at least of the order of the prediction.
  void order(const Statement& statement, const char* quantity, Prediction prediction, const std::string& ratio) const {
    judge_exponent(plan, records, statement, over(quantity, prediction), at_least(-plan.exponent_tolerance),
                   ratio + ": " + means(quantity, prediction), claims);
  }
};

}  // namespace

ValueAtSize over_scale(const Plan& plan, const std::string& names, const std::string& quantity, const SizeScale& scale) {
  return [&plan, names, quantity, scale](const TrialRecord& record, std::size_t i) {
    return record.scalar(at_size(names, plan.config.d[i]) + quantity) / scale(plan.d[i]);
  };
}

std::vector<double> burn_in_slopes(const Plan& plan, const SpikeFamily& family, const Records& records) {
  std::vector<double> log_d;
  for (const double d : plan.d) log_d.push_back(std::log(d));
  const auto value = [&](const TrialRecord& record, std::size_t i) {
    const double crossing = record.scalar(family.settings[i].prefix + burn_in_crossing);
    const double iterations = crossing > 0 ? std::max(crossing, 1.0) : 0 * crossing;  // NaN where there is none
    return iterations * log_d[i] / family.pair.burn_in_scale(plan.d[i]);
  };
  return slopes_over(records, log_d, value, fit_line);
}

std::string id_suffix(const std::string& names) {
  return names.empty() ? "" : "/" + names.substr(0, names.size() - 1);
}

std::string too_few_sizes(const Plan& plan, const std::string& detail) {
  return plan.d.size() < 3 ? "a fit over d takes three sizes or more; " + detail : "";
}

void judge_exponent(const Plan& plan, const Records& records, const Statement& statement, const ValueAtSize& ratio, Region allowed,
                    const std::string& detail, Claims& claims) {
  std::vector<double> exponents, errors;
  for (const LineFit& fit : fits_over(records, plan.d, ratio, fit_power)) {
    exponents.push_back(fit.slope);
    errors.push_back(fit.slope_error);
  }
  const std::string text = detail + "; standard error of a fit " + short_number(summarise(errors).mean);
  if (claims.applies(statement, too_few_sizes(plan, text))) claims.mean(statement, exponents, allowed, text);
}

void judge(const Plan& plan, const Records& records, Claims& claims) {
  for (const SpikePair& pair : plan.pairs) judge_matrices(plan, pair, records, claims);
  for (const SpikeFamily& family : plan.families) {
    const FamilyJudge about{plan, family, records, claims};
    {
      const auto hypothesis = claims.only_where(unmet_hypothesis_of_window(plan, family), Claims::Unmet::reason_and_measured);
      about.window();
      about.longer_window();
    }
    const auto hypothesis = claims.only_where(unmet_hypothesis(plan, family));
    about.norms();
  }
}

}  // namespace ranklab::multi_spike
