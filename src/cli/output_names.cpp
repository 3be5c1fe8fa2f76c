#include "cli/output_names.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

struct OutputKind {
  const char* command;
  const char* what;
  std::vector<std::string> endings;

  bool writes(const std::string& ending) const {
    return std::ranges::find(endings, ending) != endings.end();
  }
};

const std::vector<OutputKind>& output_kinds() {
  static const std::vector<OutputKind> all = {
      {"plot", "a figure", {".svg", ".png", ".pdf", ".eps"}},
      {"report", "a page", {".html", ".htm", ".md"}},
      {"export", "a table as CSV", {".csv", ".txt"}}};
  return all;
}

const OutputKind result_kind = {"", "a result as JSON", {".json"}};

// Endings of kinds that no command writes.
constexpr std::array<const char*, 12> foreign_endings = {".xlsx", ".xls", ".ods",  ".docx",
                                                         ".doc",  ".odt", ".tex",  ".tsv",
                                                         ".bmp",  ".jpg", ".jpeg", ".gif"};

std::string ending_of(const std::string& name) {
  std::string ending = std::filesystem::path(name).extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return ending;
}

const OutputKind& kind_of(const std::string& command) {
  const auto found = std::ranges::find(output_kinds(), command, &OutputKind::command);
  return found == output_kinds().end() ? result_kind : *found;
}

}  // namespace

bool names_output_of(const std::string& command, const std::string& name) {
  const OutputKind& kind = kind_of(command);
  return &kind != &result_kind && kind.writes(ending_of(name));
}

void require_fitting_name(const std::string& command, const std::string& out) {
  const OutputKind& mine = kind_of(command);
  const std::string ending = ending_of(out);
  if (mine.writes(ending)) return;
  std::string other;  // the command that writes such files
  for (const OutputKind& kind : output_kinds()) {
    if (kind.writes(ending)) other = kind.command;
  }
  if (other.empty() && !result_kind.writes(ending) &&
      std::ranges::find(foreign_endings, ending) == foreign_endings.end())
    return;
  const std::string stem = printable_key(out.substr(0, out.size() - ending.size()));
  const bool makes_it = &mine == &result_kind && ending != ".txt" && !other.empty();
  throw UsageError("--out " + printable_key(out) + ": " + command + " writes " + mine.what +
                   "; allowed: a name such as " + stem + mine.endings[0] +
                   (makes_it ? ", and then `ranklab " + other + " " + stem + ".json --out " +
                                   printable_key(out) + "`"
                             : ""));
}

}  // namespace ranklab
