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
  const char *name, *one, *several, *colour;
};
constexpr std::array<VerdictWords, 3> verdicts = {{{"holds", "holds", "hold", "\x1b[32m"},
                                                   {"fails", "fails", "fail", "\x1b[31m"},
                                                   {"not-applicable", "not applicable", "not applicable", "\x1b[33m"}}};
constexpr std::array<std::size_t, 3> failures_first = {1, 0, 2};

std::size_t count_of(const OrderedJson& claims, const char* verdict) {
  std::size_t count = 0;
  for (const OrderedJson& claim : claims) count += claim["verdict"] == verdict ? 1 : 0;
  return count;
}

}  // namespace

std::string verdict_counts(const OrderedJson& claims) {
  std::vector<std::string> words;
  for (const VerdictWords& verdict : verdicts) {
    const std::size_t count = count_of(claims, verdict.name);
    if (count > 0) words.push_back(std::to_string(count) + " " + (count == 1 ? verdict.one : verdict.several));
  }
  return words.empty() ? "no claims" : joined(words);
}

void print_findings(const OrderedJson& document) {
  const std::size_t columns = columns_of(STDERR_FILENO, std::numeric_limits<std::size_t>::max());
  const bool in_colour = shows_colours(STDERR_FILENO);
  const auto line = [&](const std::string& text) { std::fprintf(stderr, "%s\n", shortened(text, columns).c_str()); };
  if (document.contains("table")) {
    std::vector<std::vector<std::string>> rows = {document["table"]["columns"].get<std::vector<std::string>>()};
    for (const auto& row : document["table"]["rows"]) rows.push_back(row.get<std::vector<std::string>>());
    if (document["table"].contains("summary")) line("  " + document["table"]["summary"].get<std::string>());
    for (const auto& row : in_columns(rows)) line("  " + row);
  }
  if (document.contains("skipped")) {
    for (const auto& skipped : document["skipped"])
      line("  left out        " + skipped["name"].get<std::string>() + ": " + skipped["reason"].get<std::string>());
  }
  if (document.contains("failed_gates")) {
    for (const auto& gate : document["failed_gates"]) line("  gate fails      " + gate.get<std::string>());
  }
  for (const std::string& note : document.value("notes", std::vector<std::string>())) {
    if (note.starts_with(assumed)) line("  assumed         " + note.substr(std::strlen(assumed)));
  }
  constexpr std::size_t verdict_width = 15;
  for (const std::size_t i : failures_first) {
    const VerdictWords& verdict = verdicts[i];
    for (const OrderedJson& claim : document["claims"]) {
      if (claim["verdict"] != verdict.name) continue;
      const std::string name = verdict.name, rest = claim["id"].get<std::string>() + ": " + claim["detail"].get<std::string>();
      const std::string shown = shortened("  " + name + std::string(verdict_width - name.size(), ' ') + " " + rest, columns);
      const std::size_t end = std::min(shown.size(), 2 + name.size());
      std::fprintf(stderr, "%s\n",
                   in_colour ? (verdict.colour + shown.substr(0, end) + "\x1b[0m" + shown.substr(end)).c_str() : shown.c_str());
    }
  }
  if (!document["claims"].empty()) line("  " + verdict_counts(document["claims"]));
}

}  // namespace ranklab
