#include "judge/size_claims.hpp"

#include <cmath>

#include "core/fits.hpp"
#include "core/text.hpp"

namespace ranklab {

Metric ratio(const Metric& numerator, const Metric& denominator) {
  return [=](const AtSize& at) { return numerator(at) / denominator(at); };
}

ValueAtSize Sizes::at_sizes(const Metric& metric) const {
  return [sizes = *this, metric](const TrialRecord& record, std::size_t i) {
    return metric(sizes.at(record, i));
  };
}

Tally SizeClaims::tally(const std::function<void(const AtSize&, Tally&)>& count) const {
  return tally_of(records, [&](const TrialRecord& record, Tally& t) {
    for (std::size_t i = 0; i < x.size(); ++i) count(at(record, i), t);
  });
}

std::string SizeClaims::range(const Metric& metric) const {
  const Tally values = tally([&](const AtSize& at, Tally& t) {
    const double value = metric(at);
    if (std::isfinite(value)) t.count(false, value);
  });
  return range_text(values.smallest, values.largest);
}

void SizeClaims::everywhere(const Statement& statement, const Metric& margin,
                            const std::string& detail) const {
  const Tally cases = tally([&](const AtSize& at, Tally& t) {
    const double value = margin(at);
    if (!std::isnan(value)) t.count(value < 0);
  });
  claims.never_violated(statement, cases, detail);
}

void SizeClaims::exponent(const Statement& statement, const Metric& metric, Region allowed,
                          const std::string& detail) const {
  const Statement judged =
      statement.kind == Kind::theorem ? asymptotic(statement, slack) : statement;
  if (!claims.applies(judged, no_exponents)) return;
  claims.mean(judged, slopes_over(records, x, at_sizes(metric), fit_power, fewest), allowed,
              clauses(detail, fit_description));
}

}  // namespace ranklab
