#include "cli/summary.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "cli/terminal.hpp"
#include "core/text.hpp"
#include "report/standing.hpp"

namespace ranklab {
namespace {

const char* color_of(Standing standing) {
  return standing == Standing::holds   ? "\x1b[32m"
         : standing == Standing::fails ? "\x1b[31m"
                                       : "\x1b[33m";
}

std::size_t columns_of_text(std::FILE* to) {
  return columns_of(::fileno(to), std::numeric_limits<std::size_t>::max());
}

}  // namespace

void print_result_table(const Result& result, std::FILE* to) {
  const auto line = [&, columns = columns_of_text(to)](const std::string& text) {
    std::fprintf(to, "%s\n", shortened(text, columns).c_str());
  };
  if (!result.table.summary.empty()) line("  " + result.table.summary);
  if (!result.table.columns.empty()) {
    std::vector<std::vector<std::string>> rows = {result.table.columns};
    rows.insert(rows.end(), result.table.rows.begin(), result.table.rows.end());
    for (const std::string& row : in_columns(rows)) line("  " + row);
  }
  for (const Skipped& skipped : result.skipped)
    line("  skipped         " + skipped.name + ": " + skipped.reason);
  for (const std::string& gate : result.failed_gates) line("  gate fails      " + gate);
  for (const std::string& note : result.notes) {
    if (note.starts_with(assumed)) line("  assumed         " + note.substr(std::strlen(assumed)));
    if (note.starts_with(caution))
      std::fprintf(to, "  %s",
                   wrapped(note.substr(std::strlen(caution)), 2, columns_of_text(to)).c_str());
  }
}

void print_findings(const Result& result) {
  print_result_table(result, stderr);
  const std::size_t columns = columns_of_text(stderr);
  const bool in_color = shows_colors(STDERR_FILENO);
  constexpr std::size_t verdict_width = 15, indent = 2 + verdict_width + 1;
  for (std::size_t i = 0; i < standings; ++i) {
    const auto standing = static_cast<Standing>(i);
    for (const Claim& claim : result.claims) {
      if (!claim.judged_in.empty() || standing_of(claim) != standing) continue;
      const std::string word = standing_text(claim);
      std::string line = claim.id + ": " + clauses(evidence_text(claim), claim.detail);
      if (claim.holm_undecided) line = clauses(line, "undecided after Holm's correction");
      std::fprintf(stderr, "  %s%s%s%s %s", in_color ? color_of(standing) : "", word.c_str(),
                   in_color ? "\x1b[0m" : "", std::string(verdict_width - word.size(), ' ').c_str(),
                   wrapped(line, indent, columns).c_str());
    }
  }
  if (!result.claims.empty())
    std::fprintf(stderr, "%s\n",
                 shortened("  " + counts_text(count(result.claims)), columns).c_str());
}

}  // namespace ranklab
