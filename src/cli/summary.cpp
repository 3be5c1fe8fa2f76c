#include "cli/summary.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>

#include "cli/terminal.hpp"
#include "core/text.hpp"
#include "figure/symbols.hpp"
#include "judge/catalog.hpp"
#include "judge/verdicts.hpp"
#include "result/standing.hpp"

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

// A run with more claims shows the counts for each statement, not every claim.
constexpr std::ptrdiff_t most_listed = 20;

class ClaimPrinter {
 public:
  explicit ClaimPrinter(std::FILE* to) : to_(to) {}

  // The verdict and the evidence; below, if the claim does not hold, what it says.
  void claim(const Claim& claim) const {
    const Standing standing = standing_of(claim);
    const bool holds = standing == Standing::holds;  // else the next line says what is expected
    std::string line =
        claim.id + ": " +
        set(clauses(holds ? evidence_in_words(claim) : evidence_text(claim), claim.detail));
    if (claim.holm_undecided) line = clauses(line, "undecided after Holm's correction");
    entry(color_of(standing), standing_text(claim), line);
    if (holds || standing == Standing::not_applicable) return;
    std::fprintf(to_, "%s%s", std::string(indent, ' ').c_str(),
                 wrapped("says: " + set(claim.statement), indent, columns_).c_str());
  }

  // A line for each statement of the catalog, in its order, with the counts of its claims.
  void statements(const std::vector<Claim>& claims) const {
    for (const Paper& paper : papers()) {
      for (const PaperStatement& statement : paper.statements) {
        std::vector<Claim> of_it;
        std::ranges::copy_if(claims, std::back_inserter(of_it), [&](const Claim& claim) {
          return claim.statement_id == statement.id && claim.judged_in.empty();
        });
        if (!of_it.empty())
          line(paper.key + " " + statement.name + ": " + counts_text(count(of_it)));
      }
    }
    line("--claims all lists every claim");
  }

  void line(const std::string& text) const {
    std::fprintf(to_, "%s\n", shortened("  " + text, columns_).c_str());
  }

 private:
  static constexpr std::size_t verdict_width = 15, indent = 2 + verdict_width + 1;

  void entry(const char* color, const std::string& word, const std::string& text) const {
    std::fprintf(to_, "  %s%s%s%s %s", in_color_ ? color : "", word.c_str(),
                 in_color_ ? "\x1b[0m" : "",
                 std::string(verdict_width - std::min(verdict_width, word.size()), ' ').c_str(),
                 wrapped(text, indent, columns_).c_str());
  }

  std::string set(const std::string& text) const { return in_symbols_ ? with_symbols(text) : text; }

  std::FILE* to_;
  std::size_t columns_ = columns_of_text(to_);
  bool in_color_ = shows_colors(::fileno(to_)), in_symbols_ = shows_symbols(::fileno(to_));
};

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

void print_findings(const Result& result, bool all_claims, std::FILE* to) {
  print_result_table(result, to);
  const ClaimPrinter print(to);
  const auto is_listed = [](const Claim& claim) {
    return claim.judged_in.empty() && claim.kind != Kind::own;
  };
  const bool is_long = std::ranges::count_if(result.claims, is_listed) > most_listed;
  for (std::size_t i = 0; i < standings; ++i) {
    const auto standing = static_cast<Standing>(i);
    if (is_long && !all_claims && standing != Standing::fails) continue;
    for (const Claim& claim : result.claims) {
      if (is_listed(claim) && standing_of(claim) == standing) print.claim(claim);
    }
  }
  if (is_long && !all_claims) print.statements(result.claims);
  for (const Claim& claim : result.claims) {
    if (claim.kind == Kind::own) print.claim(claim);
  }
  if (!result.claims.empty()) print.line(counts_text(count(result.claims)));
}

void print_claims(const std::vector<Claim>& claims, std::FILE* to) {
  const ClaimPrinter print(to);
  for (const Claim& claim : claims) print.claim(claim);
  print.line(counts_text(count(claims)));
}

}  // namespace ranklab
