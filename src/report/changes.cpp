#include "report/changes.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "core/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// "4 of 32 inputs", or empty where the change is another one.
std::string fewer_trials(const Json& result, const Json& changed) {
  const Json preset = member(changed[0], "preset"), run = member(changed[0], "run");
  if (changed.size() != 1 || member(changed[0], "name") != "trials") return "";
  if (!preset.is_number() || !run.is_number() || run >= preset) return "";
  const Json unit = member(member(result, "trials"), "unit");
  return run.dump() + " of " + preset.dump() + " " + (unit.is_string() ? unit.get<std::string>() : "trial") + "s";
}

}  // namespace

std::string flag_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> words;
  for (const Json& item : value) words.push_back(flag_text(item));
  return words.empty() ? "none" : joined(words, ",");
}

std::string changes_text(const Json& result) {
  const Json changed = member(result, "changed");
  if (!changed.is_array() || changed.empty()) return "";
  if (const std::string trials = fewer_trials(result, changed); !trials.empty()) return trials;
  std::vector<std::string> changes;
  for (const Json& change : changed) {
    const Json name = member(change, "name"), preset = member(change, "preset"), run = member(change, "run");
    if (name.is_string()) changes.push_back(name.get<std::string>() + " " + flag_text(run) + " instead of " + flag_text(preset));
  }
  return changes.empty() ? "" : "changed from the preset: " + joined(changes);
}

}  // namespace ranklab
