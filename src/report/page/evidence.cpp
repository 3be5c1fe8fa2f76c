#include "report/page/evidence.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/text.hpp"
#include "report/figure/text.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// A given constant, without the digits that a measured one would show: 0.05, 23.4.
std::string html_bound(double value) {
  const std::string shortest = digits_of(value, std::chars_format::general, 4);
  const std::size_t e = shortest.find('e');
  if (e == std::string::npos) return with_minus(shortest);
  const std::string power = with_minus(std::to_string(std::atoi(shortest.c_str() + e + 1)));
  const std::string mantissa = shortest.substr(0, e) == "1" ? "" : with_minus(shortest.substr(0, e)) + "\u00D7";
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

struct Tally {
  std::uint64_t violations = 0, cases = 0;
  std::size_t length = 0;  // of what was read
};

// "235 violations in 4838 cases" at the start.
std::optional<Tally> read_tally(std::string_view text) {
  Tally out;
  const char *at = text.data(), *const end = at + text.size();
  const auto number = [&](std::uint64_t& value) {
    const auto [stop, error] = std::from_chars(at, end, value);
    at = stop;
    return error == std::errc();
  };
  const auto word = [&](std::string_view expected) {
    const bool found = std::string_view(at, end).starts_with(expected);
    if (found) at += expected.size();
    return found;
  };
  if (!number(out.violations) || !(word(" violations in ") || word(" violation in ")) || !number(out.cases)) return {};
  if (!word(" cases") && !word(" case")) return {};
  out.length = static_cast<std::size_t>(at - text.data());
  return out;
}

struct Mean {
  std::string half_width, level;
  std::size_t length = 0;
};

// "mean 12.44 +- 2.149 (z = 3, 12 trials)" at the start.
std::optional<Mean> read_mean(std::string_view text) {
  constexpr std::string_view sign = " +- ";
  const std::size_t plus = text.find(sign), open = text.find(" ("), close = text.find(')');
  if (!text.starts_with("mean ") || open == std::string_view::npos || close == std::string_view::npos) return {};
  if (plus == std::string_view::npos || plus > open || open > close || text.find(';') < close) return {};
  return Mean{std::string(text.substr(plus + sign.size(), open - plus - sign.size())),
              std::string(text.substr(open + 2, close - open - 2)), close + 1};
}

// Two digits of the half width, and the mean to the same place: 12.4 ± 2.1.
std::string html_interval(const Json& mean, const std::string& half_width) {
  const double width = std::strtod(half_width.c_str(), nullptr), value = std::abs(mean.get<double>());
  if (!(width >= 1e-6 && width < 100 && (value == 0 || value >= 1e-4) && value < 1e6))
    return html_number(mean) + " \u00B1 " + prose(half_width);
  const int places = std::max(0, 1 - static_cast<int>(std::floor(std::log10(width))));
  const auto rounded = [&](double number) { return with_minus(digits_of(number, std::chars_format::fixed, places)); };
  return rounded(mean.get<double>()) + " \u00B1 " + rounded(width);
}

std::string after_clause(const std::string& detail, std::size_t length) {
  return detail.compare(length, 2, "; ") == 0 ? detail.substr(length + 2) : detail.substr(length);
}

}  // namespace

std::string html_expected(const Json& value) {
  if (value.is_null()) return "";
  const bool is_region = value.is_array() && value.size() == 2;
  if (!is_region) return value.is_number() ? html_bound(value.get<double>()) : html(value);
  const auto bound = [&](std::size_t i, double open) { return value[i].is_number() ? value[i].get<double>() : open; };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Json& end : value) {
    if (!end.is_null() && !end.is_number()) return html(value);
  }
  if (value[0].is_null() && value[1].is_null()) return "any";
  return html_region(bound(0, -infinity), bound(1, infinity));
}

Evidence evidence_of(const Json& claim) {
  const std::string detail = plain(member(claim, "detail"));
  const Json &measured = member(claim, "measured"), &expected = member(claim, "expected");
  Evidence out{measured.is_null() ? "" : html_number(measured), html_expected(expected), prose(detail)};
  if (const auto tally = read_tally(detail); tally && expected.is_number() && expected == 0) {
    out.measured = grouped(tally->violations) + " of " + grouped(tally->cases) + (tally->cases == 1 ? " case" : " cases");
    out.expected = "none";
    out.detail = prose(after_clause(detail, tally->length));
  } else if (const auto mean = read_mean(detail); mean && measured.is_number()) {
    out.measured = html_interval(measured, mean->half_width);
    out.detail = prose(clauses(mean->level, after_clause(detail, mean->length)));
  }
  return out;
}

std::string Evidence::text() const {
  std::string out = measured.empty() ? "" : "<b>" + measured + "</b>";
  if (!expected.empty() && !measured.empty()) out += ", expected " + expected;
  return out + (out.empty() || detail.empty() ? "" : "; ") + detail;
}

}  // namespace ranklab
