#include "cli/summary.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/terminal.hpp"
#include "core/text.hpp"
#include "report/result_json.hpp"
#include "report/standing.hpp"

namespace ranklab {
namespace {

using OrderedJson = nlohmann::ordered_json;

const char* color_of(Standing standing) {
  return standing == Standing::holds   ? "\x1b[32m"
         : standing == Standing::fails ? "\x1b[31m"
                                       : "\x1b[33m";
}

std::size_t columns_of_text(std::FILE* to) {
  return columns_of(::fileno(to), std::numeric_limits<std::size_t>::max());
}

}  // namespace

void print_result_table(const OrderedJson& document, std::FILE* to) {
  const auto line = [&, columns = columns_of_text(to)](const std::string& text) {
    std::fprintf(to, "%s\n", shortened(text, columns).c_str());
  };
  if (document.contains("table")) {
    std::vector<std::vector<std::string>> rows = {
        document["table"]["columns"].get<std::vector<std::string>>()};
    for (const auto& row : document["table"]["rows"])
      rows.push_back(row.get<std::vector<std::string>>());
    if (document["table"].contains("summary"))
      line("  " + document["table"]["summary"].get<std::string>());
    for (const auto& row : in_columns(rows)) line("  " + row);
  }
  if (document.contains("skipped")) {
    for (const auto& skipped : document["skipped"])
      line("  skipped         " + skipped["name"].get<std::string>() + ": " +
           skipped["reason"].get<std::string>());
  }
  if (document.contains("failed_gates")) {
    for (const auto& gate : document["failed_gates"])
      line("  gate fails      " + gate.get<std::string>());
  }
  for (const std::string& note : document.value("notes", std::vector<std::string>())) {
    if (note.starts_with(assumed)) line("  assumed         " + note.substr(std::strlen(assumed)));
    if (note.starts_with(validated))
      std::fprintf(to, "  %s",
                   wrapped(note.substr(std::strlen(validated)), 2, columns_of_text(to)).c_str());
  }
}

void print_findings(const OrderedJson& document, const std::vector<Claim>& claims) {
  print_result_table(document, stderr);
  const std::size_t columns = columns_of_text(stderr);
  const bool in_color = shows_colors(STDERR_FILENO);
  constexpr std::size_t verdict_width = 15, indent = 2 + verdict_width + 1;
  for (std::size_t i = 0; i < standings; ++i) {
    const auto standing = static_cast<Standing>(i);
    for (const Claim& claim : claims) {
      if (!claim.judged_in.empty() || standing_of(claim) != standing) continue;
      const std::string word = standing_text(claim);
      std::string line = claim.id + ": " + clauses(evidence_text(claim), claim.detail);
      if (claim.holm_undecided) line = clauses(line, "undecided after Holm's correction");
      std::fprintf(stderr, "  %s%s%s%s %s", in_color ? color_of(standing) : "", word.c_str(),
                   in_color ? "\x1b[0m" : "", std::string(verdict_width - word.size(), ' ').c_str(),
                   wrapped(line, indent, columns).c_str());
    }
  }
  if (!claims.empty())
    std::fprintf(stderr, "%s\n", shortened("  " + counts_text(count(claims)), columns).c_str());
}

}  // namespace ranklab
