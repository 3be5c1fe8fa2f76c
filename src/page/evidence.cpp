#include "page/evidence.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "figure/cell_text.hpp"
#include "figure/text.hpp"
#include "page/prose.hpp"
#include "page/text.hpp"

namespace ranklab {
namespace {

// A constant, without the extra digits of a measured value: 0.05, 23.4.
Markup html_bound(double value) {
  const std::string shortest = digits_of(value, std::chars_format::general, 4);
  const std::size_t e = shortest.find('e');
  if (e == std::string::npos) return escape_markup(with_minus(shortest));
  const std::string power = with_minus(std::to_string(std::atoi(shortest.c_str() + e + 1)));
  const std::string mantissa =
      shortest.substr(0, e) == "1" ? "" : with_minus(shortest.substr(0, e)) + "\u00D7";
  return escape_markup(mantissa) + "10<sup>" + escape_markup(power) + "</sup>";
}

bool is_smallest(double value) {
  return value > 0 && value <= std::numeric_limits<double>::min();
}

Markup html_region(double low, double high) {
  if (low == high) return html_bound(low);
  if (is_smallest(-high)) return std::isfinite(low) ? "in [" + html_bound(low) + ", 0)" : "&lt; 0";
  const bool above_zero = is_smallest(low);
  if (!std::isfinite(high)) return above_zero ? "&gt; 0" : "\u2265 " + html_bound(low);
  if (!std::isfinite(low)) return "\u2264 " + html_bound(high);
  if (above_zero) return "in (0, " + html_bound(high) + "]";
  if (low == -high) return "0 \u00B1 " + html_bound(high);
  return html_bound(low) + " to " + html_bound(high);
}

struct Shown {
  const Claim& claim;
  ShownEvidence& out;

  void operator()(std::monostate) const {}
  void operator()(const NumberEvidence& e) const { out.measured = html_number(e.value); }
  void operator()(const CountEvidence& e) const {
    out.measured = escape_markup(evidence_text(claim));
    if (!e.value) out.expected = "none";
  }
  template <class Interval>
  void operator()(const Interval& e) const {
    const double half_width = e.high - e.mean;
    if (!std::isfinite(e.mean)) return;
    if constexpr (requires { e.binomial; }) {
      if (e.binomial) {
        out.measured = escape_markup(evidence_text(claim));
        return;
      }
    }
    out.measured = !std::isfinite(half_width) ? html_number(e.mean)
                   : half_width > 0 && half_width < 1e-6
                       ? html_number(e.mean) + " \u00B1 " + html_number(half_width)
                       : escape_markup(interval_text(e.mean, half_width));
    out.detail = prose(clauses(
        short_number(100 * e.level) + " %, " + plural(e.n, name_of(claim.unit)), claim.detail));
  }
};

}  // namespace

Markup html_expected(const Claim& claim) {
  if (const auto* value = std::get_if<double>(&claim.expected)) return html_bound(*value);
  const auto* region = std::get_if<std::pair<double, double>>(&claim.expected);
  if (region == nullptr) return "";
  if (!std::isfinite(region->first) && !std::isfinite(region->second)) return "any";
  return html_region(region->first, region->second);
}

ShownEvidence evidence_of(const Claim& claim) {
  ShownEvidence out{"", html_expected(claim), prose(claim.detail)};
  std::visit(Shown{claim, out}, claim.evidence);
  return out;
}

}  // namespace ranklab
