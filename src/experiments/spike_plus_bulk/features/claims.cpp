// The study features: what its claims have in common, and their order.
#include <algorithm>

#include "experiments/spike_plus_bulk/features/features.hpp"

namespace ranklab::features {
namespace {

SizeClaims over(const std::vector<Size>& sizes, const Records& records, Claims& claims,
                const std::string& no_exponents) {
  SizeClaims over_d{claims,
                    records,
                    of_each(sizes, &Size::d),
                    {},
                    no_exponents,
                    say("exponent of d, fitted to each trial over {} sizes up to d = {}",
                        sizes.size(), sizes.back().d)};
  over_d.slack = slack_of_exponents;
  return over_d;
}

}  // namespace

std::string Config::not_relu() const {
  return relu() ? "" : say("the statement is about relu; this run uses {}", activation);
}

std::string why_no_rates(const Config& c) {
  const std::vector<Size> sizes = c.sizes();
  if (sizes.size() < 3)
    return "--k has fewer than three sizes, so no exponent can be fitted with an error";
  if (sizes.front().d == sizes.back().d)
    return "--d is fixed; the statement is about a d that grows with k";
  std::vector<double> samples;  // n/d
  for (const Size& size : sizes)
    samples.push_back(static_cast<double>(size.n) / static_cast<double>(size.d));
  const auto [smallest, largest] = std::minmax_element(samples.begin(), samples.end());
  return *largest > 1.1 * *smallest ? "n is not proportional to d over the sizes of this run" : "";
}

SizeClaims over_sizes(const Config& c, const Records& records, Claims& claims) {
  SizeClaims over_d = over(c.sizes(), records, claims, why_no_rates(c));
  for (const Size& size : c.sizes()) over_d.prefixes.push_back(size.prefix());
  return over_d;
}

SizeClaims over_wide_sizes(const Config& c, const Records& records, Claims& claims) {
  SizeClaims wide = over(c.wide(), records, claims,
                         c.wide_d.size() < 3 ? "--wide-d has fewer than three sizes" : "");
  for (const Size& size : c.wide()) wide.prefixes.push_back(size.wide_prefix());
  return wide;
}

Metric k_at(const Config& c) {
  return [k = of_each(c.sizes(), &Size::k)](const AtSize& at) { return k[at.i]; };
}

Metric root_log_k_over_d(const Config& c) {
  return [k = k_at(c)](const AtSize& at) { return std::sqrt(std::log(k(at)) / at.x); };
}

Metric k_log_k_over_d_squared(const Config& c) {
  return [k = k_at(c)](const AtSize& at) { return k(at) * std::pow(std::log(k(at)) / at.x, 2); };
}

Metric d_over_n(const Config& c) {
  return [n = of_each(c.sizes(), &Size::n)](const AtSize& at) { return at.x / n[at.i]; };
}

Metric root_d_over_n(const Config& c) {
  return [quotient = d_over_n(c)](const AtSize& at) { return std::sqrt(quotient(at)); };
}

void judge_rate(const SizeClaims& over_d, const Statement& statement, const Metric& metric,
                Region allowed, const std::string& more) {
  over_d.exponent(statement, metric, allowed, say("measured {}{}", over_d.range(metric), more));
}

void judge_at_largest(const Config& c, const SizeClaims& over_d, const Statement& statement,
                      const char* name, Region allowed, const std::string& slack,
                      const std::string& detail) {
  const Statement judged =
      statement.kind == Kind::theorem ? asymptotic(statement, slack) : statement;
  constexpr std::uint64_t smallest_measured =
      64;  // features and samples from which constants are judged
  const Size size = c.sizes().back();
  if (!over_d.claims.applies(
          judged,
          std::min(size.k, size.n) < smallest_measured
              ? say("fewer than {} features or samples even at the largest size", smallest_measured)
              : "")) {
    return;
  }
  over_d.claims.mean(judged, scalars_of(over_d.records, size.prefix() + name), allowed,
                     say("{}; at k = {}, d = {}, n = {}", detail, size.k, size.d, size.n));
}

void judge_constant(const Config& c, const SizeClaims& over_d, const Statement& statement,
                    const char* name, double expected, double band, const std::string& detail) {
  judge_at_largest(c, over_d, statement, name, within(expected, band * std::fabs(expected)),
                   say("{} % in the coefficient", 100.0 * band), detail);
}

void judge(const Config& c, const Records& records, Claims& claims) {
  const SizeClaims over_d = over_sizes(c, records, claims);
  if (c.teacher()) {
    judge_hadamard(records, claims);
    judge_cross_gram(c, over_d);
  } else {
    judge_phi(c, over_d);
    judge_gram(c, over_d);
    judge_rows(c, over_d);
  }
}

}  // namespace ranklab::features
