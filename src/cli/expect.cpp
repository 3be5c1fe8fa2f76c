#include "cli/expect.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "judge/published.hpp"
#include "result/changes.hpp"

namespace ranklab {

std::string why_not_published(const ResolvedRun& run) {
  const std::string& preset = run.options().preset;
  if (published_results().empty()) return no_published_verdicts;
  if (preset.empty()) return "needs a preset, because the published verdicts are those of presets";
  const ResultFile* published = published_result(preset);
  if (published == nullptr)
    return "the preset " + printable_key(preset) + " has no published verdicts";
  for (const auto& [key, value] : run.preset_config.items()) {
    const auto then = published->config.find(key);
    if (key == "preset" || then == published->config.end() || *then == value) continue;
    return "the preset " + printable_key(preset) + " is not the published one: its " +
           printable_key(key) + " is " + printable_key(flag_text(value)) + ", published " +
           flag_text(*then);
  }
  return "";
}

void require_published(ResolvedRun& run) {
  if (!run.options().expect) return;
  if (const std::string why = why_not_published(run); !why.empty())
    throw UsageError("--expect: " + why);
  ResultFile file;
  file.changed = run.changed();
  if (changes_more_than_length(file))
    throw UsageError(
        "--expect: the published verdicts are about the preset or a shorter run of it; "
        "this run is " +
        printable_key(changes_text(file)));
}

bool fails_unexpectedly(const ResultFile& result) {
  const ResultFile* published = result.preset ? published_result(*result.preset) : nullptr;
  const auto is_published_as_failing = [&](const Claim& claim) {
    return published != nullptr && std::ranges::any_of(published->claims, [&](const Claim& each) {
             return each.id == claim.id && each.verdict == Verdict::fails;
           });
  };
  return std::ranges::any_of(result.claims, [&](const Claim& claim) {
    return claim.verdict == Verdict::fails && claim.slip.empty() && !is_published_as_failing(claim);
  });
}

}  // namespace ranklab
