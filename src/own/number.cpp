#include "own/number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "own/formula.hpp"
#include "own/values.hpp"

namespace ranklab::own {
namespace {

struct Measured {
  double value = undefined, half_width = undefined;
};

// ".2f", ".3g", ".0%", ",d".
std::string formatted(double value, const std::string& format) {
  if (!std::isfinite(value)) throw UsageError("the number is undefined");
  if (format == ",d") return grouped_count(std::round(value));
  int digits = -1;
  const char* end = format.data() + format.size();
  const bool reads = format.size() >= 3 && format[0] == '.' &&
                     std::from_chars(format.data() + 1, end, digits).ptr == end - 1;
  const char kind = format.empty() ? ' ' : format.back();
  if (!reads || digits < 0 || digits > 15 ||
      std::string_view("fg%").find(kind) == std::string::npos)
    throw UsageError("unknown format '" + printable_key(format) +
                     "'; allowed: .2f, .3g, .0%, ,d, each with +- or without");
  if (kind == '%') return digits_of(100 * value, std::chars_format::fixed, digits) + " %";
  return digits_of(value, kind == 'f' ? std::chars_format::fixed : std::chars_format::general,
                   digits);
}

Measured evidence_of(const Claim& claim, const std::string& field) {
  if (const auto* count = std::get_if<CountEvidence>(&claim.evidence)) {
    if (field == "violations") return {count->violations};
    if (field == "cases") return {count->cases};
    if (field == "units") return {static_cast<double>(count->units)};
    if (field == "violated") return {static_cast<double>(count->units_violated)};
    if (field == "share") return {count->violations / count->cases};
    if (field == "worst") return {count->worst};
    if (field.empty() && count->value) return {*count->value};
    throw UsageError("the evidence of '" + claim.id +
                     "' is a count; allowed: violations, cases, share, worst, units, violated");
  }
  return std::visit(
      [&](const auto& e) -> Measured {
        if constexpr (requires { e.high; }) {
          if (field == "low") return {e.low};
          if (field == "high") return {e.high};
          if (field == "units") return {static_cast<double>(e.n)};
          if (field.empty()) return {e.mean, e.high - e.mean};
        } else if constexpr (requires { e.value; }) {
          if (field.empty()) return {claim.measured};
        }
        throw UsageError("the evidence of '" + claim.id + "' has no '" + field + "'");
      },
      claim.evidence);
}

// "ID [FIELD]"; "max GLOB [FIELD]" and "min GLOB [FIELD]" of all claims that match.
Measured of_claim(const ResultFile& result, std::string_view words) {
  std::string id = taken(words, " ");
  const bool least = id == "min", is_one = !least && id != "max";
  if (!is_one) id = taken(words, " ");
  const std::string field = trimmed(words);
  std::vector<std::string> ids;
  std::optional<Measured> out;
  for (const Claim& claim : result.claims) {
    ids.push_back(claim.id);
    if (is_one ? claim.id != id : !matches_glob(id, claim.id)) continue;
    const Measured each = evidence_of(claim, field);
    if (!out || (least ? each.value < out->value : each.value > out->value)) out = each;
  }
  if (!out) throw UsageError("no claim '" + printable_key(id) + "'" + did_you_mean(id, ids, ""));
  return *out;
}

// The formula with the numbers of claims: "10^claim(ID)".
std::string with_claims(const ResultFile& result, std::string words) {
  constexpr std::string_view call = "claim(";
  for (std::size_t at; (at = words.find(call)) != words.npos;) {
    const std::size_t begin = at + call.size(), close = words.find(')', begin);
    if (close == words.npos) throw UsageError("no ) after claim(");
    const double value = of_claim(result, trimmed(words.substr(begin, close - begin))).value;
    words.replace(at, close + 1 - at,
                  "(" + digits_of(value, std::chars_format::scientific, 17) + ")");
  }
  return words;
}

// One trial, which has the means over the trials.
ResultFile of_means(const ResultFile& result) {
  ResultFile out;
  out.config = result.config;
  for (const auto& [name, mean] : result.means) {
    out.scalars.push_back({name, {mean.mean}});
    out.scalars.back().quantity = mean.quantity;
    out.scalars.back().at = mean.at;
  }
  for (const Series& series : result.series) {
    out.series.push_back(series);
    out.series.back().trials = {series.mean};
  }
  return out;
}

Measured of_summary(const std::vector<double>& per_trial) {
  const Summary summary = summarize(per_trial);
  return {summary.mean, confidence_half_width(summary)};
}

// The formula in every trial.
std::vector<double> in_trials(const ResultFile& result, const Formula& formula) {
  const Run run(result, "");
  Evaluation evaluation(formula, run, {});
  std::vector<double> out;
  for (std::size_t trial = 0; trial < run.trials(); ++trial)
    out.push_back(evaluation.number(formula.first, trial));
  return out;
}

Measured of_formula(const ResultFile& result, const std::string& text, bool with_interval,
                    Over over) {
  for (const Scalar& scalar : result.scalars)
    if (scalar.name == text) return of_summary(scalar.per_trial);
  const std::string words = with_claims(result, text);
  if (words != text && with_interval) throw UsageError("a formula of claims has no interval");
  const Formula formula = parse_value(words);
  if (with_interval || over == Over::trials) return of_summary(in_trials(result, formula));
  const ResultFile means = of_means(result);
  const Run run(means, "");
  Evaluation evaluation(formula, run, {});
  return {evaluation.number(formula.first, 0)};
}

// "median predicate_wrong_factor - 1": over the trials in which the formula has a value.
std::optional<Measured> of_order(const ResultFile& result, std::string_view what) {
  const std::string order = taken(what, " ");
  if (order != "median" && order != "largest" && order != "least") return {};
  std::vector<double> values = in_trials(result, parse_value(trimmed(what)));
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return Measured{};
  if (order == "median") return Measured{median(values)};
  return Measured{order == "least" ? std::ranges::min(values) : std::ranges::max(values)};
}

}  // namespace

std::string number_text(const ResultFile& result, const std::string& what, std::string format,
                        Over over) {
  const bool with_interval = format.ends_with("+-");
  if (with_interval) format = trimmed(std::string_view(format).substr(0, format.size() - 2));
  const bool negative = what.starts_with("-claim ");
  Measured measured;
  if (negative || what.starts_with("claim ")) {
    measured = of_claim(result, std::string_view(what).substr(negative ? 7 : 6));
    if (negative) measured.value = -measured.value;
  } else if (const auto ordered = of_order(result, what)) {
    if (with_interval) throw UsageError("a " + what.substr(0, what.find(' ')) + " has no interval");
    measured = *ordered;
  } else {
    measured = of_formula(result, what, with_interval, over);
  }
  if (over == Over::trials && !std::isfinite(measured.value)) return "undefined";
  std::string value = formatted(measured.value, format);
  if (!with_interval) return value;
  if (value.ends_with(" %")) value.resize(value.size() - 2);  // 97 +- 8 %
  if (over == Over::trials && !std::isfinite(measured.half_width)) return value;
  return value + " +- " + formatted(measured.half_width, format);
}

}  // namespace ranklab::own
