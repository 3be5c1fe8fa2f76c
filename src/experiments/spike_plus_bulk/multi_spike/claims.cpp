// Claims about windows of large nuclear rank: Theorem 3.6 and Remark 1, Theorem 3.11,
// Corollary 3.12 and Remark 2 of [Spectral].
#include <algorithm>

#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"

namespace ranklab::multi_spike {
namespace {

// Why Assumption H does not hold for these spikes, or "".
std::string unmet_bound_on_spikes(const Config& config, const SpikePair& pair) {
  return config.teacher() && pair.high > 1
             ? say("Assumption H requires u <= 1; here u = {}", pair.high)
             : "";
}

// Why the theorem does not apply to this family, or "".
std::string unmet_hypothesis(const Config& config, const SpikeFamily& family) {
  const std::uint64_t p = config.spikes,
                      smallest = *std::min_element(config.d.begin(), config.d.end());
  if (family.c < 1) return say("the theorem assumes c >= 1; here c = {}", family.c);
  if (!config.teacher())
    return p >= smallest
               ? "there are at least as many spikes as dimensions, so M-bar has no columns"
               : "";
  std::string bound = unmet_bound_on_spikes(config, family.pair);
  if (!bound.empty()) return bound;
  if (2 * p >= smallest / 2) {
    return say("with 2 p = {}, M-bar (columns p + 1 to r - p) has no columns at d = {}",
               2 * real(p), smallest);
  }
  return "";
}

// Corollary 3.12 requires more than Theorem 3.11.
std::string unmet_hypothesis_of_window(const Config& config, const SpikeFamily& family) {
  std::string reason = unmet_hypothesis(config, family);
  if (!reason.empty() || !config.teacher()) return reason;
  const double difference = family.pair.high - family.pair.low;
  if (difference >= 0.5)
    return say("the corollary requires u - l < 1/2; here u - l = {}", difference);
  const std::uint64_t p = config.spikes,
                      largest = *std::max_element(config.d.begin(), config.d.end());
  const double limit = std::pow(real(largest), 1 - 2 * difference);
  if (real(p) >= limit) {
    return say(
        "the corollary requires p = o(d^(1-2(u-l))), but p = {} is not below "
        "d^(1-2(u-l)) = {} at d = {}",
        p, limit, largest);
  }
  return "";
}

// The place of a theorem; its ids begin with `name` and carry the parameters that distinguish the
// family.
Place place(const SpikeFamily& family, const std::string& statement_id, const std::string& name,
            const std::string& source) {
  return {statement_id, "spectral/" + name + id_suffix(family.place) + "/", source};
}

// The means over trials at every size, divided by the prediction.
std::string means(const SpikeFamily& family, const Records& records, const Measure& quantity,
                  Prediction prediction) {
  std::vector<std::string> texts;
  for (const Setting& at : family.settings) {
    const double mean = summarize(scalars_of(records, at.place / quantity)).mean;
    texts.push_back(short_number(mean / (family.pair.*prediction)(real(at.d))));
  }
  return joined(texts);
}

// "; <quantity> <value>", or nothing if too few sizes leave the value undefined.
std::string and_fitted(const char* quantity, double value) {
  return std::isfinite(value) ? say("; {} {}", quantity, value) : "";
}

// Why no exponent of d can be judged, with the measured values; empty for three sizes or more.
std::string too_few_sizes(const SizeClaims& over_d, const std::string& detail) {
  return over_d.x.size() < 3 ? "a fit over d requires at least three sizes; " + detail : "";
}

// Claim: nr is at least the level over the predicted span, in every trial at every size. A size
// whose span is empty is not a case.
void judge_passage(const SpikeFamily& family, const SizeClaims& over_d, const Statement& statement,
                   const Measure& start, const Measure& end, Span Setting::*predicted) {
  std::vector<std::string> empty;
  const auto is_empty = [&](const Setting& at) {
    const Span span = at.*predicted;
    return span.from > span.to || span.to > at.horizon;
  };
  for (const Setting& at : family.settings) {
    if (is_empty(at)) empty.push_back(word(at.d));
  }
  const Tally tally = over_d.tally([&](const AtSize& at, Tally& t) {
    const Setting& setting = family.settings[at.i];
    const Span span = setting.*predicted;
    // Between the two first passages nr is at least the level at every iteration.
    if (!is_empty(setting)) t.count(!(at(start) <= real(span.from)) || at(end) <= real(span.to));
  });
  const std::string left_out =
      "the predicted window is empty, or ends after the last iteration examined, at d = ";
  over_d.claims.never_violated(
      statement, tally,
      clauses("one case per trial and size", empty.empty() ? "" : left_out + joined(empty)));
}

// Claim: the quantity is at least of the order of the prediction.
void judge_order(const Config& config, const SpikeFamily& family, const SizeClaims& over_d,
                 const Statement& statement, const Measure& quantity, Prediction prediction,
                 const char* name) {
  judge_exponent(over_d, statement, over(quantity, family.pair, prediction),
                 at_least(-exponent_tolerance(config)),
                 say("{}: {}", name, means(family, over_d.records, quantity, prediction)));
}

// Theorem 3.6, or Corollary 3.12.
void judge_window(const Config& config, const SpikeFamily& family, const SizeClaims& over_d) {
  const Place theorem =
      config.teacher() ? place(family, spectral::cor_3_12, "cor-3.12", "Corollary 3.12, eq. (3.27)")
                       : place(family, spectral::thm_3_6, "thm-3.6", "Theorem 3.6");
  const std::string level = config.teacher() ? "nr >= 0.2 d" : "nr >= d/4";
  judge_passage(
      family, over_d,
      asymptotic(
          with_spike_order(
              theorem("window", level + " at every iteration from c u d^(u-l) log d to c d^u")),
          config.teacher() ? "C_1 = c u, C_3 = c, level 0.2 d" : "C_1 = c u, C_2 = c, C_3 = 1/4"),
      burn_in, window_end, &Setting::window);
  judge_order(
      config, family, over_d,
      with_spike_order(theorem(
          "window-order", say("The length of the window with {} is at least of order d^u", level))),
      window_length, &SpikePair::window_scale, "length / d^u");

  const ValueAtSize burn_in_ratio =
      over_d.at_sizes(over(burn_in_crossing, family.pair, &SpikePair::burn_in_scale));
  const std::string ratios = say(
      "burn-in / (d^(u-l) log d): {}{}",
      means(family, over_d.records, burn_in_crossing, &SpikePair::burn_in_scale),
      and_fitted("exponent of d in this ratio",
                 summarize(slopes_over(over_d.records, over_d.x, burn_in_ratio, fit_power)).mean));
  const std::vector<double> slopes = burn_in_slopes(family, over_d.records);
  const double constant = family.c * family.pair.high;
  const auto slope_in = [&](Region allowed, const Statement& statement) {
    if (over_d.claims.applies(statement, too_few_sizes(over_d, ratios)))
      over_d.claims.mean(statement, slopes, allowed, ratios);
  };
  const std::string fitted = say(
      "The burn-in (the first t with {}) divided by d^(u-l) is a + b log d; the number is b, and ",
      level);
  slope_in(at_most(constant),
           asymptotic(with_spike_order(theorem("burn-in-at-most",
                                               fitted + "b at most the constant c u of the proof")),
                      "C_1 = c u, for the coefficient of d^(u-l) log d"));
  // The theorem bounds the burn-in from above only.
  slope_in(
      {positive().low, constant},
      beyond(theorem("burn-in-of-order", fitted + "0 < b <= c u: it is of order d^(u-l) log d")));
}

// Remark 1, or 2.
void judge_longer_window(const Config& config, const SpikeFamily& family,
                         const SizeClaims& over_d) {
  const Place remark = config.teacher() ? place(family, spectral::remark_2, "remark-2", "Remark 2")
                                        : place(family, spectral::remark_1, "remark-1", "Remark 1");
  const std::string epsilon = say("eps = {}", config.epsilon),
                    level = "nr >= d^(1-eps) with " + epsilon;
  judge_passage(
      family, over_d,
      asymptotic(with_spike_order(
                     remark("window", level + " at every iteration from c u d^(u-l) log d to c eps "
                                              "d^u log d / (2 c_2)")),
                 epsilon + ", c_0 = c u, c(eps) = c eps/(2 c_2)"),
      remark_burn_in, remark_window_end, &Setting::remark_window);
  judge_order(
      config, family, over_d,
      with_spike_order(remark("order", say("The end of the window with {} is at least of order "
                                           "d^u log d",
                                           level))),
      remark_window_end, &SpikePair::remark_scale, "end / (d^u log d)");
  const Tally longer = over_d.tally([&](const AtSize& at, Tally& t) {
    const Setting& setting = family.settings[at.i];
    const double end = at(window_end);
    if (setting.remark_level >= setting.level || !std::isfinite(end)) return;
    // A window that has not ended has an undefined end and is no violation.
    t.count(at(remark_window_end) <= end);
  });
  over_d.claims.never_violated(
      asymptotic(
          with_spike_order(remark(
              "longer", say("The window with {} ends after the window with nr of order d", level))),
          epsilon + ", level of order d as in the theorem"),
      longer, "judged at the sizes at which d^(1-eps) is below the level of the shorter window");
}

// (3.11) and Theorem 3.11 over the predicted window, with the constants of the proofs in place of
// the unspecified ones.
void judge_norms(const Config& config, const SpikeFamily& family, const SizeClaims& over_d) {
  const bool teacher = config.teacher();
  const double p = real(config.spikes);
  Tally nuclear, frobenius;
  for (const TrialRecord& record : over_d.records) {
    nuclear.begin_trial();
    frobenius.begin_trial();
    for (std::size_t i = 0; i < family.settings.size(); ++i) {
      const Setting& setting = family.settings[i];
      if (setting.window.from > setting.window.to) continue;
      const AtSize at = over_d.at(record, i);
      const double d = at.x;
      const double passed = teacher ? std::pow(d, family.pair.high - family.pair.low) : 1.0,
                   last = teacher ? 1 / d : 0.0;
      const double W = record.scalar(at_size(family.pair.place, setting.d) / W_norm);
      const double lower = at(M_nuclear) - p * passed - last;
      const double upper = at(teacher ? W_frobenius : M_frobenius) + std::sqrt(p) * passed + last;
      const double constant = std::max(c_2, (teacher ? 2 * c_2 : 1.0) * W);
      frobenius.count(at(window_frobenius) > constant * upper, at(window_frobenius) / upper);
      if (lower > 0)
        nuclear.count(at(window_nuclear) < c_1 * std::exp(-2 * c_2) * lower,
                      at(window_nuclear) / lower);
    }
  }
  const Place theorem =
      teacher ? place(family, spectral::thm_3_11, "thm-3.11", "Theorem 3.11")
              : place(family, spectral::thm_3_6, "eq-3.11", "Theorem 3.6, eq. (3.11)");
  const std::string constants = teacher ? "C_1 = c u, C_3 = c, q = 1; " : "C_1 = c u, C_2 = c; ";
  const std::string lower_bound =
      say("||grad L(W_t)||_* >= C ({}) at every iteration of the predicted window, with C = c_1 "
          "exp(-2 c_2)",
          teacher ? "||M-bar||_* - p d^(u-l) - d^(-1)" : "||M-bar||_* - r");
  over_d.claims.never_violated(
      asymptotic(with_spike_order(theorem("nuclear", lower_bound)),
                 constants + "C = c_1 exp(-2 c_2)"),
      nuclear,
      nuclear.cases > 0 ? say("smallest ratio of the norm to the parenthesis {}", nuclear.smallest)
                        : "the right side is never positive");
  over_d.claims.never_violated(
      asymptotic(
          with_spike_order(theorem(
              "frobenius",
              teacher ? "||grad L(W_t)||_F <= C (||W-bar||_F + sqrt(p) d^(u-l) + d^(-1)) at every "
                        "iteration of the predicted window, with C = 2 c_2 ||W-bar||_op"
                      : "||grad L(W_t)||_F <= C (||M-bar||_F + sqrt(r)) at every iteration of the "
                        "predicted window, with C = max(c_2, ||W#||_op)")),
          constants + (teacher ? "C = 2 c_2 ||W-bar||" : "C = max(c_2, ||W#||)")),
      frobenius,
      say("largest ratio of the norm to the parenthesis {}", std::max(0.0, frobenius.largest)));
}

}  // namespace

Metric over(const Measure& measure, const SpikePair& pair, Prediction prediction) {
  return ratio(measure, [=, &pair](const AtSize& at) { return (pair.*prediction)(at.x); });
}

std::vector<double> burn_in_slopes(const SpikeFamily& family, const Records& records) {
  std::vector<double> log_d;
  for (const Setting& at : family.settings) log_d.push_back(std::log(real(at.d)));
  const auto value = [&](const TrialRecord& record, std::size_t i) {
    const Setting& at = family.settings[i];
    const double crossing = record.scalar(at.place / burn_in_crossing);
    const double iterations =
        crossing > 0 ? std::max(crossing, 1.0) : 0 * crossing;  // NaN without a crossing
    return iterations * log_d[i] / family.pair.burn_in_scale(real(at.d));
  };
  return slopes_over(records, log_d, value, fit_line);
}

double exponent_tolerance(const Config& config) {
  double log_sum = 0;
  for (const std::uint64_t d : config.d) log_sum += std::log(real(d));
  return static_cast<double>(config.d.size()) / log_sum;
}

std::string id_suffix(const At& place) {
  return place.text.empty() ? "" : "/" + place.text;
}

Sizes sizes_over_d(const Config& config, const At& place) {
  Sizes out{{config.d.begin(), config.d.end()}, {}};
  for (const std::uint64_t d : config.d) out.places.push_back(at_size(place, d));
  return out;
}

SizeClaims over_sizes(const Config& config, const At& place, const Records& records,
                      Claims& claims) {
  SizeClaims over_d{sizes_over_d(config, place), claims, records};
  over_d.slack = say("{} (a factor log d) in the exponent of d", exponent_tolerance(config));
  return over_d;
}

void judge_exponent(const SizeClaims& over_d, const Statement& statement, const Metric& ratio,
                    Region allowed, const std::string& detail) {
  std::vector<double> exponents, errors;
  for (const LineFit& fit :
       fits_over(over_d.records, over_d.x, over_d.at_sizes(ratio), fit_power)) {
    exponents.push_back(fit.slope);
    errors.push_back(fit.slope_error);
  }
  const std::string text = detail + and_fitted("standard error of a fit", summarize(errors).mean);
  Statement judged =
      statement.kind == Kind::theorem ? asymptotic(statement, over_d.slack) : statement;
  judged.text += " (the number is an exponent of d)";
  if (over_d.claims.applies(judged, too_few_sizes(over_d, text)))
    over_d.claims.mean(judged, exponents, allowed, text);
}

void Config::judge(const Records& records, Claims& claims) const {
  for (const SpikePair& pair : pairs()) {
    const auto hypothesis = claims.only_where(unmet_bound_on_spikes(*this, pair));
    judge_matrices(*this, pair, over_sizes(*this, pair.place, records, claims));
  }
  for (const SpikeFamily& family : families()) {
    const SizeClaims over_d = over_sizes(*this, family.place, records, claims);
    {
      const auto hypothesis = claims.only_where(unmet_hypothesis_of_window(*this, family),
                                                Claims::Unmet::reason_and_measured);
      judge_window(*this, family, over_d);
      judge_longer_window(*this, family, over_d);
    }
    const auto hypothesis = claims.only_where(unmet_hypothesis(*this, family));
    judge_norms(*this, family, over_d);
  }
  judge_spike_order(*this, claims);
}

}  // namespace ranklab::multi_spike
