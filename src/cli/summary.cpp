#include "cli/summary.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/terminal.hpp"
#include "core/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct VerdictWords {
  const char *name, *plural, *color;
};
constexpr std::array<VerdictWords, 4> verdicts = {
    {{"holds", "hold", "\x1b[32m"},
     {"fails", "fail", "\x1b[31m"},
     {"undecided", "undecided", "\x1b[33m"},
     {"not applicable", "not applicable", "\x1b[33m"}}};
constexpr std::array<std::size_t, 4> failures_first = {1, 0, 2, 3};

// "at 32 trials: mean ..." of "undecided at 32 trials: mean ...": the verdict precedes it already.
std::string evidence_of(const OrderedJson& claim) {
  std::string detail = claim["detail"];
  if (shown_verdict(claim) != "undecided" || !detail.starts_with("undecided")) return detail;
  return detail.substr(
      std::min(detail.find_first_not_of(": ", std::strlen("undecided")), detail.size()));
}

std::size_t columns_of_text(std::FILE* to) {
  return columns_of(::fileno(to), std::numeric_limits<std::size_t>::max());
}

std::size_t count_of(const OrderedJson& claims, const char* verdict) {
  std::size_t count = 0;
  for (const OrderedJson& claim : claims) count += shown_verdict(claim) == verdict ? 1 : 0;
  return count;
}

}  // namespace

std::string verdict_counts(const OrderedJson& claims) {
  std::vector<std::string> words;
  for (const VerdictWords& verdict : verdicts) {
    const std::size_t count = count_of(claims, verdict.name);
    if (count > 0)
      words.push_back(std::to_string(count) + " " + (count == 1 ? verdict.name : verdict.plural));
  }
  return words.empty() ? "no claims" : joined(words);
}

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

void print_findings(const OrderedJson& document) {
  print_result_table(document, stderr);
  const std::size_t columns = columns_of_text(stderr);
  const bool in_color = shows_colors(STDERR_FILENO);
  constexpr std::size_t verdict_width = 15, indent = 2 + verdict_width + 1;
  for (const std::size_t i : failures_first) {
    const VerdictWords& verdict = verdicts[i];
    for (const OrderedJson& claim : document["claims"]) {
      if (shown_verdict(claim) != verdict.name) continue;
      const std::string name = verdict.name;
      const std::string evidence = claim["id"].get<std::string>() + ": " + evidence_of(claim);
      std::fprintf(stderr, "  %s%s%s%s %s", in_color ? verdict.color : "", name.c_str(),
                   in_color ? "\x1b[0m" : "", std::string(verdict_width - name.size(), ' ').c_str(),
                   wrapped(evidence, indent, columns).c_str());
    }
  }
  if (!document["claims"].empty())
    std::fprintf(stderr, "%s\n",
                 shortened("  " + verdict_counts(document["claims"]), columns).c_str());
}

}  // namespace ranklab
