#include "report/page/evidence.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "report/figure/cell_text.hpp"
#include "report/figure/text.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// A constant, without the extra digits of a measured value: 0.05, 23.4.
std::string html_bound(double value) {
  const std::string shortest = digits_of(value, std::chars_format::general, 4);
  const std::size_t e = shortest.find('e');
  if (e == std::string::npos) return with_minus(shortest);
  const std::string power = with_minus(std::to_string(std::atoi(shortest.c_str() + e + 1)));
  const std::string mantissa =
      shortest.substr(0, e) == "1" ? "" : with_minus(shortest.substr(0, e)) + "\u00D7";
  return mantissa + "10<sup>" + power + "</sup>";
}

bool is_smallest(double value) {
  return value > 0 && value <= std::numeric_limits<double>::min();
}

std::string html_region(double low, double high) {
  if (low == high) return html_bound(low);
  if (is_smallest(-high)) return std::isfinite(low) ? "in [" + html_bound(low) + ", 0)" : "&lt; 0";
  const bool above_zero = is_smallest(low);
  if (!std::isfinite(high)) return above_zero ? "&gt; 0" : "\u2265 " + html_bound(low);
  if (!std::isfinite(low)) return "\u2264 " + html_bound(high);
  if (above_zero) return "in (0, " + html_bound(high) + "]";
  if (low == -high) return "0 \u00B1 " + html_bound(high);
  return html_bound(low) + " to " + html_bound(high);
}

// "99 %, 12 seeds"
template <class Interval>
std::string basis(const Interval& interval, const Json& claim) {
  const std::string unit = plain(member(claim, "unit"));
  return short_number(100 * interval.level) + " %, " +
         counted(interval.n, unit.empty() || unit == "none" ? "trial" : unit);
}

std::string after_clause(const std::string& detail, std::size_t length) {
  return detail.compare(length, 2, "; ") == 0 ? detail.substr(length + 2) : detail.substr(length);
}

}  // namespace

std::string html_expected(const Json& value) {
  if (value.is_null()) return "";
  const bool is_region = value.is_array() && value.size() == 2;
  if (!is_region) return value.is_number() ? html_bound(value.get<double>()) : html(value);
  const auto bound = [&](std::size_t i, double open) {
    return value[i].is_number() ? value[i].get<double>() : open;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Json& end : value) {
    if (!end.is_null() && !end.is_number()) return html(value);
  }
  if (value[0].is_null() && value[1].is_null()) return "any";
  return html_region(bound(0, -infinity), bound(1, infinity));
}

ShownEvidence evidence_of(const Json& claim) {
  const std::string detail = plain(member(claim, "detail"));
  const Json &measured = member(claim, "measured"), &expected = member(claim, "expected");
  ShownEvidence out{measured.is_null() ? "" : html_number(measured), html_expected(expected),
                    prose(detail)};
  const Evidence evidence = evidence_from(member(claim, "evidence"));
  const std::string words = evidence_text(evidence);
  // The detail of an undecided mean begins with "undecided" instead and is shown unchanged.
  if (words.empty() || !detail.starts_with(words) || !measured.is_number()) return out;
  const std::string rest = after_clause(detail, words.size());
  if (const auto* count = std::get_if<CountEvidence>(&evidence)) {
    const auto whole = [](double value) { return grouped(whole_count(value)); };
    out.measured = whole(count->violations) +
                   (count->violations == 1 ? " violation in " : " violations in ") +
                   whole(count->cases) + (count->cases == 1 ? " case" : " cases");
    out.expected = "none";
    out.detail = prose(rest);
  }
  const auto show_interval = [&](const auto& interval) {
    const double half_width = interval.high - interval.mean;
    out.measured =
        half_width > 0 && half_width < 1e-6
            ? html_number(Json(interval.mean)) + " \u00B1 " + html_number(Json(half_width))
            : interval_text(interval.mean, half_width);
    out.detail = prose(clauses(basis(interval, claim), rest));
  };
  if (const auto* mean = std::get_if<MeanEvidence>(&evidence)) show_interval(*mean);
  if (const auto* equivalence = std::get_if<EquivalenceEvidence>(&evidence))
    show_interval(*equivalence);
  return out;
}

std::string ShownEvidence::text() const {
  std::string out = measured.empty() ? "" : "<b>" + measured + "</b>";
  if (!expected.empty() && !measured.empty()) out += ", expected " + expected;
  return out + (out.empty() || detail.empty() ? "" : "; ") + detail;
}

}  // namespace ranklab
