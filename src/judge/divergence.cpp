#include "judge/divergence.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"

namespace ranklab {
namespace {

struct LostTrials {
  std::size_t diverged = 0;   // trials in which a run diverged
  std::size_t lost = 0;       // those of them without a value; for a count, all of them
  std::size_t one_sided = 0;  // those of them in which another run did not diverge
};

LostTrials lost_trials(const JudgedRuns& of, const std::vector<double>* per_trial) {
  LostTrials out;
  for (std::size_t t = 0; t < of.runs.front().in_trial.size(); ++t) {
    const auto here = static_cast<std::size_t>(
        std::ranges::count_if(of.runs, [&](const Divergence& run) { return run.in_trial.at(t); }));
    if (here == 0) continue;
    out.diverged += 1;
    if (per_trial && !std::isnan(per_trial->at(t))) continue;
    out.lost += 1;
    out.one_sided += here < of.runs.size() ? 1 : 0;
  }
  return out;
}

// "GD diverged in 18 and SpecGD in 2 of 40 trials"
std::string divergences_text(const JudgedRuns& of) {
  std::vector<std::string> words;
  for (const auto& [run, in_trial] : of.runs) {
    const auto count = std::ranges::count(in_trial, true);
    if (count > 0)
      words.push_back(run + (words.empty() ? " diverged in " : " in ") + std::to_string(count));
  }
  return joined(words, words.size() == 2 ? " and " : ", ") + " of " +
         plural(of.runs.front().in_trial.size(), "trial");
}

}  // namespace

Divergence divergence_of(const Records& records, const std::string& run,
                         const std::string& number) {
  Divergence out{run, {}};
  for (const TrialRecord& record : records) out.in_trial.push_back(record.scalar(number) > 0);
  return out;
}

void leave_undecided(Claim& claim, const std::string& reason) {
  claim.verdict = Verdict::not_applicable;
  claim.undecided = true;
  claim.detail = clauses(reason, claim.detail);
}

void require_majority(Claim& claim, std::uint64_t lost, std::uint64_t units,
                      const std::string& without) {
  if (claim.verdict == Verdict::not_applicable || lost == 0 || 2 * lost < units) return;
  leave_undecided(claim,
                  say("{} of {} have no {}", lost, plural(units, name_of(claim.unit)), without));
}

void note_divergences(Claim& claim, const JudgedRuns& of, const std::vector<double>* per_trial) {
  const bool is_count = std::holds_alternative<CountEvidence>(claim.evidence);
  if (of.runs.empty() || std::holds_alternative<std::monostate>(claim.evidence) ||
      (!per_trial && is_count && claim.kind == Kind::theorem))
    return;
  const LostTrials trials = lost_trials(of, per_trial);
  const bool has_infinite =
      per_trial && std::ranges::any_of(*per_trial, [](double v) { return std::isinf(v); });
  if (trials.diverged == 0) return;
  std::string text = divergences_text(of);
  const std::size_t all = of.runs.front().in_trial.size();
  const auto known = per_trial ? static_cast<std::size_t>(std::ranges::count_if(
                                     *per_trial, [](double value) { return !std::isnan(value); }))
                               : all - trials.lost;
  if (trials.lost > 0)
    text += per_trial ? "; judged over the " + plural(known, "trial") + " with a value"
                      : ", " + of.counted_how;
  if (trials.lost == 0 && !has_infinite) text += ", after these values";
  std::string reason;
  if (of.compared && trials.one_sided > 0) {
    reason = "a run that diverged cannot be compared in " + plural(trials.one_sided, "trial");
  } else if (known == 0) {
    reason = "no trial has a value";
  } else if (2 * (all - trials.lost) <= all) {
    reason = "at least half of the trials diverged";
  }
  const bool violated = !per_trial && is_count && claim.verdict == Verdict::fails;
  if (!reason.empty() && !violated) leave_undecided(claim, reason);
  claim.detail = clauses(claim.detail, text);
}

}  // namespace ranklab
