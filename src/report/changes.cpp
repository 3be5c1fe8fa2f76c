#include "report/changes.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// Whether `run` is a nonempty proper part of the list `preset`.
bool is_part(const Json& run, const Json& preset) {
  return run.is_array() && preset.is_array() && !run.empty() && run.size() < preset.size() &&
         std::all_of(run.begin(), run.end(), [&](const Json& item) {
           return std::find(preset.begin(), preset.end(), item) != preset.end();
         });
}

bool is_fewer_trials(const Json& change) {
  const Json &preset = member(change, "preset"), &run = member(change, "run");
  return member(change, "name") == "trials" && preset.is_number() && run.is_number() &&
         run < preset;
}

// Whether every number of `run`, alone or after "model:", is smaller than the number of `preset` at
// the same position.
bool is_smaller(const Json& run, const Json& preset) {
  const auto number = [](const Json& value) {
    if (value.is_number()) return value.get<double>();
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    return std::atof(text.substr(text.find(':') + 1).c_str());
  };
  if (!run.is_array()) return number(run) < number(preset);
  return preset.is_array() && run.size() == preset.size() &&
         std::equal(run.begin(), run.end(), preset.begin(),
                    [&](const Json& a, const Json& b) { return number(a) < number(b); });
}

// Whether the run has fewer steps, fewer values, or fewer recorded steps.
bool is_shorter(const Json& change) {
  const Json &name = member(change, "name"), &preset = member(change, "preset"),
             &run = member(change, "run");
  if (name == "steps") return is_smaller(run, preset);
  if (name == "record-every") return is_smaller(preset, run);
  return is_part(run, preset);
}

std::string change_text(const Json& change, const std::string& unit) {
  const std::string name = member(change, "name").get<std::string>();
  const Json &preset = member(change, "preset"), &run = member(change, "run");
  if (name == "steps" && run.is_number() && preset.is_number() && run < preset)
    return run.dump() + " of " + preset.dump() + " steps";
  if (is_fewer_trials(change)) return run.dump() + " of " + preset.dump() + " " + unit + "s";
  if (!is_part(run, preset))
    return name + " " + flag_text(run) + " instead of " + flag_text(preset);
  constexpr std::size_t longest = 40;  // longest list that is printed, in characters
  const std::string values = flag_text(run);
  return std::to_string(run.size()) + " of " + std::to_string(preset.size()) + " values of " +
         name + (values.size() <= longest ? " (" + values + ")" : "");
}

}  // namespace

std::string flag_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) {
    const std::string number = value.dump();
    return number.ends_with(".0") ? number.substr(0, number.size() - 2) : number;
  }
  std::vector<std::string> words;
  for (const Json& item : value) words.push_back(flag_text(item));
  return words.empty() ? "none" : joined(words, ",");
}

std::string changes_text(const Json& result) {
  const Json changed = member(result, "changed");
  if (!changed.is_array() || changed.empty()) return "";
  const Json& unit = member(member(result, "trials"), "unit");
  std::vector<std::string> changes;
  for (const Json& change : changed) {
    if (member(change, "name").is_string())
      changes.push_back(change_text(change, unit.is_string() ? unit.get<std::string>() : "trial"));
  }
  if (changes.empty()) return "";
  return (changes_more_than_trials(result) ? "changed from the preset: " : "") + joined(changes);
}

void withhold_verdicts(std::vector<Claim>& claims, const nlohmann::ordered_json& changed,
                       const std::string& unit) {
  bool fewer_trials = false, shorter = false;
  std::vector<std::string> words;
  for (const auto& entry : changed) {
    const Json change = entry;
    if (!is_fewer_trials(change) && !is_shorter(change)) continue;
    (is_fewer_trials(change) ? fewer_trials : shorter) = true;
    words.push_back(change_text(change, unit.empty() ? "trial" : unit));
  }
  if (!fewer_trials && !shorter) return;
  for (Claim& claim : claims) {
    if (claim.verdict == Verdict::not_applicable && !claim.undecided) continue;
    const bool counts = std::holds_alternative<CountEvidence>(claim.evidence);
    const bool is_kept = (counts && claim.kind == Kind::theorem) ||
                         (!shorter && counts && claim.verdict == Verdict::fails) ||
                         (!shorter && !counts && !claim.holm_undecided);
    if (is_kept && !claim.undecided) continue;
    claim.verdict = Verdict::not_applicable;
    claim.shortened = true;
    claim.detail = clauses("shortened: " + joined(words), claim.detail);
  }
}

void refer_verdicts(std::vector<Claim>& claims, const nlohmann::ordered_json& changed,
                    const std::string& preset, const std::vector<std::string>& globs) {
  const auto only_shortens = [](const Json& change) {
    return is_fewer_trials(change) || is_shorter(change);
  };
  if (!std::all_of(changed.begin(), changed.end(), only_shortens)) return;
  for (Claim& claim : claims) {
    const auto matches_id = [&](const std::string& glob) { return matches_glob(glob, claim.id); };
    if (claim.verdict == Verdict::not_applicable && !claim.shortened) continue;
    if (std::none_of(globs.begin(), globs.end(), matches_id)) continue;
    claim.verdict = Verdict::not_applicable;
    claim.shortened = false;
    claim.judged_in = preset;
  }
}

bool changes_more_than_trials(const Json& result) {
  const Json& changed = member(result, "changed");
  return changed.is_array() && std::any_of(changed.begin(), changed.end(), [](const Json& change) {
           return member(change, "name").is_string() && !is_fewer_trials(change);
         });
}

Json trials_of_preset(const Json& result) {
  const Json& changed = member(result, "changed");
  if (!changed.is_array()) return nullptr;
  const auto fewer = std::find_if(changed.begin(), changed.end(), is_fewer_trials);
  return fewer == changed.end() ? Json() : member(*fewer, "preset");
}

}  // namespace ranklab
