#include "page/numbers.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "judge/references.hpp"
#include "judge/verdicts.hpp"
#include "own/number.hpp"

namespace ranklab {

const ResultFile& NumberedResults::result(const std::string& preset) const {
  std::vector<std::string> names;
  for (const ResultFile& each : results_) {
    if (each.preset == preset) return each;
    names.push_back(each.preset.value_or(""));
  }
  throw UsageError("no result of '" + printable_key(preset) + "'" +
                   did_you_mean(preset, names, ""));
}

std::string NumberedResults::of_papers(const std::string& what) const {
  std::string_view rest = what;
  const std::string kind = taken(rest, " "), first = taken(rest, " "), second = trimmed(rest);
  std::vector<Judge> judges;
  for (const ResultFile& each : results_)
    judges.push_back({each.preset.value_or(""), &each.claims});
  std::size_t found = 0;
  for (const Paper& paper : papers()) {
    for (const JudgedStatement& statement : judge_statements(paper, judges)) {
      if (kind == "verdict" && statement.entry->id == first) return statement.words();
      const std::optional<SlipClass> how = statement.slip_class();
      found += statement.entry->is_numbered() &&
               (first.empty() || first == words_of(statement.verdict).name) &&
               (second.empty() || (how && second == name_of(*how)));
    }
  }
  if (kind != "numbered") throw UsageError("unknown reference 'papers: " + what + "'");
  return std::to_string(found);
}

std::string NumberedResults::value_of(std::string_view reference) const {
  const std::string preset = taken(reference, ":"), what = taken(reference, "|");
  return preset == "papers" ? of_papers(what)
                            : own::number_text(result(preset), what, trimmed(reference));
}

std::string NumberedResults::renewed(std::string_view text,
                                     std::vector<std::string>& mistakes) const {
  std::string out;
  std::size_t at = 0;
  while (const std::optional<ReferencePlace> place = first_reference(text, at)) {
    const bool in_json = text.substr(place->begin).starts_with("{{");
    if (in_json && place->reference.find(':') == std::string::npos) {
      out.append(text.substr(at, place->end - at));
      at = place->end;
      continue;
    }
    std::string value(text.substr(place->value, place->value_end - place->value));
    try {
      value = (in_json ? " = " : "") + value_of(place->reference);
    } catch (const UsageError& error) {
      const auto line = 1 + std::ranges::count(text.substr(0, place->begin), '\n');
      mistakes.push_back("line " + std::to_string(line) + ": '" + place->reference +
                         "': " + error.what());
    }
    out.append(text.substr(at, place->value - at)).append(value);
    out.append(text.substr(place->value_end, place->end - place->value_end));
    at = place->end;
  }
  return out.append(text.substr(at));
}

}  // namespace ranklab
