#include "result/changes.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/text.hpp"

namespace ranklab {
namespace {

using Value = nlohmann::ordered_json;  // of a parameter

// Whether `run` is a nonempty proper part of the list `preset`.
bool is_part(const Value& run, const Value& preset) {
  return run.is_array() && preset.is_array() && !run.empty() && run.size() < preset.size() &&
         std::all_of(run.begin(), run.end(), [&](const Value& item) {
           return std::find(preset.begin(), preset.end(), item) != preset.end();
         });
}

bool is_fewer_trials(const Change& change) {
  return change.name == "trials" && change.preset.is_number_integer() && change.run.is_number() &&
         change.run < change.preset;
}

// Whether every number of `run`, alone or after "model:", is smaller than the number of `preset` at
// the same position.
bool is_smaller(const Value& run, const Value& preset) {
  const auto number = [](const Value& value) {
    if (value.is_number()) return value.get<double>();
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    return std::atof(text.substr(text.find(':') + 1).c_str());
  };
  if (!run.is_array()) return number(run) < number(preset);
  return preset.is_array() && run.size() == preset.size() &&
         std::equal(run.begin(), run.end(), preset.begin(),
                    [&](const Value& a, const Value& b) { return number(a) < number(b); });
}

// Whether the run has fewer steps, fewer values, or fewer recorded steps.
bool is_shorter(const Change& change) {
  if (change.name == "steps") return is_smaller(change.run, change.preset);
  if (change.name == "record-every") return is_smaller(change.preset, change.run);
  return is_part(change.run, change.preset);
}

std::string change_text(const Change& change, const std::string& unit) {
  const auto& [name, preset, run] = change;
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

std::string flag_text(const Value& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) {
    const std::string number = value.dump();
    return number.ends_with(".0") ? number.substr(0, number.size() - 2) : number;
  }
  std::vector<std::string> words;
  for (const Value& item : value) words.push_back(flag_text(item));
  return words.empty() ? "none" : joined(words, ",");
}

std::string changes_text(const ResultFile& file) {
  if (file.changed.empty()) return "";
  std::vector<std::string> changes;
  for (const Change& change : file.changed)
    changes.push_back(change_text(change, file.trial_unit()));
  return (changes_more_than_trials(file) ? "changed from the preset: " : "") + joined(changes);
}

void withhold_verdicts(ResultFile& file) {
  bool fewer_trials = false, shorter = false;
  std::vector<std::string> words;
  for (const Change& change : file.changed) {
    if (!is_fewer_trials(change) && !is_shorter(change)) continue;
    (is_fewer_trials(change) ? fewer_trials : shorter) = true;
    words.push_back(change_text(change, file.trial_unit()));
  }
  if (!fewer_trials && !shorter) return;
  for (Claim& claim : file.claims) {
    if (claim.shortened || (claim.verdict == Verdict::not_applicable && !claim.undecided)) continue;
    const auto* count = std::get_if<CountEvidence>(&claim.evidence);
    const bool counts = count != nullptr && !count->value;
    const bool is_kept = (counts && claim.kind == Kind::theorem) ||
                         (!shorter && counts && claim.verdict == Verdict::fails) ||
                         (!shorter && !counts && !claim.holm_undecided);
    if (is_kept && !claim.undecided) continue;
    claim.verdict = Verdict::not_applicable;
    claim.shortened = true;
    claim.detail = clauses("shortened: " + joined(words), claim.detail);
  }
}

bool changes_more_than_length(const ResultFile& file) {
  return !std::all_of(file.changed.begin(), file.changed.end(), [](const Change& change) {
    return is_fewer_trials(change) || is_shorter(change);
  });
}

void refer_verdicts(ResultFile& file, const std::string& preset,
                    const std::vector<std::string>& globs) {
  if (changes_more_than_length(file)) return;
  for (Claim& claim : file.claims) {
    const auto matches_id = [&](const std::string& glob) { return matches_glob(glob, claim.id); };
    if (claim.verdict == Verdict::not_applicable && !claim.shortened) continue;
    if (std::none_of(globs.begin(), globs.end(), matches_id)) continue;
    claim.verdict = Verdict::not_applicable;
    claim.shortened = false;
    claim.judged_in = preset;
  }
}

bool changes_more_than_trials(const ResultFile& file) {
  return !std::all_of(file.changed.begin(), file.changed.end(), is_fewer_trials);
}

std::uint64_t trials_of_preset(const ResultFile& file) {
  const auto fewer = std::find_if(file.changed.begin(), file.changed.end(), is_fewer_trials);
  return fewer == file.changed.end() ? file.trials.requested : fewer->preset.get<std::uint64_t>();
}

}  // namespace ranklab
