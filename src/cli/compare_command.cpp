// `ranklab compare A.json B.json`: claims, scalars and series of two results side by side.

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "report/compare.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr const char* marks[] = {"", "differs"};

std::string mean_text(double mean) {
  return std::isnan(mean) ? "-" : short_number(mean);
}

std::string errors_text(double standard_errors) {
  return std::isinf(standard_errors) ? "no error bars" : short_number(standard_errors);
}

Rows claim_rows(const Comparison& comparison) {
  Rows rows = {{"CLAIM", "A", "B", ""}};
  for (const ComparedClaim& claim : comparison.claims)
    rows.push_back({claim.id, claim.a.empty() ? "-" : claim.a, claim.b.empty() ? "-" : claim.b,
                    claim.a != claim.b || claim.field.empty() ? marks[claim.differs()]
                                                              : "another " + claim.field});
  return rows;
}

Rows advice_rows(const Comparison& comparison) {
  Rows rows = {{"ADVICE", "A", "B", ""}};
  for (const ComparedAdvice& layer : comparison.advice)
    rows.push_back({layer.layer, layer.a.empty() ? "-" : layer.a, layer.b.empty() ? "-" : layer.b,
                    marks[layer.differs()]});
  return rows;
}

Rows scalar_rows(const Comparison& comparison) {
  Rows rows = {{"SCALAR", "A", "B", "STANDARD ERRORS", ""}};
  for (const ComparedScalar& scalar : comparison.scalars) {
    rows.push_back({scalar.name, mean_text(scalar.a), mean_text(scalar.b),
                    errors_text(scalar.standard_errors),
                    scalar.missing.empty() ? marks[scalar.differs] : scalar.missing});
  }
  return rows;
}

Rows series_rows(const Comparison& comparison) {
  Rows rows = {{"SERIES", "POINTS", "DIFFER", "MOST STANDARD ERRORS", "AT", ""}};
  for (const ComparedSeries& series : comparison.series) {
    rows.push_back({series.name, std::to_string(series.points), std::to_string(series.beyond),
                    errors_text(series.farthest), mean_text(series.at),
                    series.missing.empty() ? marks[series.differs()] : series.missing});
  }
  return rows;
}

void print_table(const Rows& rows) {
  if (rows.size() < 2) return;
  const std::size_t columns = columns_of(STDOUT_FILENO, std::numeric_limits<std::size_t>::max());
  for (const std::string& line : in_columns(rows)) {
    const std::size_t end = line.find_last_not_of(' ');
    std::printf("%s\n", shortened(printable(line.substr(0, end + 1)), columns).c_str());
  }
  std::printf("\n");
}

int compare_files(const std::vector<std::string>& paths) {
  const nlohmann::json a = read_result(paths[0]), b = read_result(paths[1]);
  try {
    const Comparison comparison = compare_results(a, b, "A", "B");
    std::printf("A: %s, %s\nB: %s, %s\n\n", printable(paths[0]).c_str(),
                counted(comparison.trials_a, "trial").c_str(), printable(paths[1]).c_str(),
                counted(comparison.trials_b, "trial").c_str());
    print_table(claim_rows(comparison));
    print_table(advice_rows(comparison));
    print_table(scalar_rows(comparison));
    print_table(series_rows(comparison));
    if (!comparison.parts.empty()) std::printf("different: %s\n", joined(comparison.parts).c_str());
    const std::string advice = comparison.advice.empty()
                                   ? ""
                                   : ", advice for " +
                                         std::to_string(comparison.differing_advice()) + " of " +
                                         counted(comparison.advice.size(), "layer");
    std::printf("differ: %zu of %s%s, %zu of %s, %zu of %zu series%s%s\n",
                comparison.differing_claims(), counted(comparison.claims.size(), "verdict").c_str(),
                advice.c_str(), comparison.differing_scalars(),
                counted(comparison.scalars.size(), "scalar").c_str(), comparison.differing_series(),
                comparison.series.size(), comparison.same_bits ? " (bit for bit equal)" : "",
                comparison.no_error_bars() ? "; 1 trial: no error bars" : "");
    const std::size_t differing = comparison.differing_claims() + comparison.differing_advice() +
                                  comparison.differing_scalars() + comparison.parts.size();
    return differing > 0 ? 1 : 0;
  } catch (const nlohmann::json::exception& error) {
    throw Failure(printable(joined(paths)) + ": not complete result files: " + error.what());
  }
}

}  // namespace

Utility compare_command() {
  return {
      .name = "compare",
      .usage = "A.json B.json",
      .summary = "compare claims, scalars and series of two results side by side",
      .details =
          "Differences of means are in standard errors. Exits with status 1 if a verdict, the "
          "advice for a layer or a figure differs, or if a scalar differs by more standard "
          "errors than Student's quantile at the level " +
          short_number(comparison_level) +
          " divided by the number of comparisons (with one trial: by more than rounding).",
      .takes = {2, 2, "two result files"},
      .run = [](const Arguments& given) { return compare_files(given.positional); },
  };
}

}  // namespace ranklab
