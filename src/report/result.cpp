#include "report/result.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace ranklab {
namespace {

std::string with_detail(const std::string& text, const std::string& detail) {
  return detail.empty() ? text : text + "; " + detail;
}

}  // namespace

Series series_over_trials(std::string name, std::string x_name, std::vector<double> x,
                          const std::vector<std::vector<double>>& per_trial) {
  Series series{std::move(name), std::move(x_name), std::move(x), {}, {}};
  std::size_t length = series.x.size();
  for (const auto& values : per_trial) length = std::min(length, values.size());
  series.x.resize(length);
  std::vector<double> column(per_trial.size());
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t t = 0; t < per_trial.size(); ++t) column[t] = per_trial[t][i];
    const Summary summary = summarise(column);
    series.mean.push_back(summary.mean);
    series.std.push_back(summary.std);
  }
  return series;
}

Series series_over_trials(std::string name, std::string x_name, const std::vector<std::vector<double>>& per_trial, double first_x) {
  std::size_t length = per_trial.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  for (const auto& values : per_trial) length = std::min(length, values.size());
  std::vector<double> x(length);
  for (std::size_t i = 0; i < length; ++i) x[i] = first_x + static_cast<double>(i);
  return series_over_trials(std::move(name), std::move(x_name), std::move(x), per_trial);
}

Claim judge_mean(std::string id, std::string source, std::string statement, const std::vector<double>& per_trial, double low,
                 double high, const std::string& detail) {
  const Summary summary = summarise(per_trial);
  const double half_width = confidence_half_width(summary);
  Claim claim{
      std::move(id), std::move(source), std::move(statement), Verdict::not_applicable, summary.mean, std::pair(low, high), ""};
  std::string text;
  if (summary.n == 0) {
    text = "no finite value";
  } else if (summary.mean - half_width >= low && summary.mean + half_width <= high) {
    claim.verdict = Verdict::holds;
    text = "mean " + short_number(summary.mean) + " +- " + short_number(half_width) + " (z = 3, " + count_text(double(summary.n)) +
           " trials)";
  } else if (summary.mean + half_width < low || summary.mean - half_width > high) {
    claim.verdict = Verdict::fails;
    text = "mean " + short_number(summary.mean) + " +- " + short_number(half_width) + " (z = 3, " + count_text(double(summary.n)) +
           " trials)";
  } else {
    text = "undecided at " + count_text(double(summary.n)) + (summary.n == 1 ? " trial" : " trials");
    if (summary.n > 1) text += ": mean " + short_number(summary.mean) + " +- " + short_number(half_width) + " (z = 3)";
  }
  claim.detail = with_detail(text, detail);
  return claim;
}

Claim judge_violations(std::string id, std::string source, std::string statement, double violations, double cases,
                       const std::string& detail) {
  Claim claim{std::move(id), std::move(source), std::move(statement), Verdict::not_applicable, violations, 0.0, ""};
  if (cases > 0) claim.verdict = violations == 0 ? Verdict::holds : Verdict::fails;
  const std::string text =
      cases > 0 ? count_text(violations) + " violations in " + count_text(cases) + " cases" : "no case to judge";
  claim.detail = with_detail(text, detail);
  return claim;
}

Claim not_applicable(std::string id, std::string source, std::string statement, const std::string& reason) {
  return {std::move(id), std::move(source), std::move(statement), Verdict::not_applicable, std::nan(""), {}, reason};
}

}  // namespace ranklab
