// `ranklab compare A.json B.json`: claims, scalars and series of two results side by side.

#include <unistd.h>

#include <cstdio>
#include <limits>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "result/compare.hpp"

namespace ranklab {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string cell(const std::string& text) {
  return text.empty() ? "-" : text;
}

Rows rows_of(const Comparison& comparison, ComparedItem::Kind kind, const std::string& heading) {
  Rows rows = {{heading, "A", "B", "", ""}};
  for (const ComparedItem& item : comparison.items) {
    if (item.kind == kind)
      rows.push_back({item.name, cell(item.a), cell(item.b), item.distance, item.difference});
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

// "differ: 0 of 12 verdicts, 1 of 40 scalars, 0 of 6 series"
std::string summary_of(const Comparison& comparison) {
  using enum ComparedItem::Kind;
  const auto differing = [&](ComparedItem::Kind kind, const std::string& unit) {
    return std::to_string(comparison.differing(kind)) + " of " +
           (unit == "series" ? std::to_string(comparison.count(kind)) + " series"
                             : plural(comparison.count(kind), unit));
  };
  return "differ: " + differing(claim, "verdict") + ", " + differing(scalar, "scalar") + ", " +
         differing(series, "series") + (comparison.same_bits() ? " (bit for bit equal)" : "") +
         (comparison.no_error_bars() ? "; 1 trial: no error bars" : "");
}

int compare_files(const std::vector<std::string>& paths) {
  const Comparison comparison =
      compare_results(read_result(paths[0]), read_result(paths[1]), "A", "B");
  std::printf("A: %s, %s\nB: %s, %s\n\n", printable(paths[0]).c_str(),
              plural(comparison.trials_a, "trial").c_str(), printable(paths[1]).c_str(),
              plural(comparison.trials_b, "trial").c_str());
  using enum ComparedItem::Kind;
  print_table(rows_of(comparison, claim, "CLAIM"));
  print_table(rows_of(comparison, scalar, "SCALAR"));
  print_table(rows_of(comparison, series, "SERIES"));
  print_table(rows_of(comparison, part, "PART"));
  std::printf("%s\n", summary_of(comparison).c_str());
  const std::size_t differing =
      comparison.differing(claim) + comparison.differing(scalar) + comparison.differing(part);
  return differing > 0 ? 1 : 0;
}

}  // namespace

Utility compare_command() {
  return {
      .name = "compare",
      .usage = "A.json B.json",
      .summary = "compare claims, scalars and series of two results side by side",
      .details =
          "Differences of means are in standard errors. A scalar or a point of a series differs if "
          "its means are farther apart than Student's quantile at the level " +
          short_number(comparison_level) +
          " divided by the number of comparisons (with one trial: by more than rounding). Exits "
          "with "
          "status 1 if a verdict, a scalar, or which curves a figure has differs; series that "
          "differ are "
          "listed.",
      .takes = {2, 2, "two result files"},
      .run = [](const Arguments& given) { return compare_files(given.positional); },
  };
}

}  // namespace ranklab
