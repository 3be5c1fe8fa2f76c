#include "result/agreement.hpp"

#include <algorithm>
#include <map>

#include "core/text.hpp"

namespace ranklab {
namespace {

bool is_decided(const Claim* claim) {
  return claim != nullptr && claim->verdict != Verdict::not_applicable;
}

// Null: the run does not have the claim.
std::string outcome_of(const Claim* claim) {
  if (claim == nullptr) return "missing";
  if (is_decided(claim)) return claim->verdict == Verdict::holds ? "holds" : "fails";
  return claim->undecided || claim->shortened ? "undecided" : "not applicable";
}

std::string listed(const std::vector<std::string>& lines) {
  constexpr std::size_t most = 3;
  std::vector<std::string> out(lines.begin(), lines.begin() + std::min(most, lines.size()));
  if (lines.size() > most) out.push_back("and " + std::to_string(lines.size() - most) + " more");
  return joined(out);
}

}  // namespace

void Agreement::add(const ResultFile& run, const ResultFile& published) {
  std::map<std::string_view, const Claim*> here;
  for (const Claim& claim : run.claims) here.emplace(claim.id, &claim);
  const bool is_shorter = !run.changed.empty();
  for (const Claim& claim : published.claims) {
    const auto found = here.find(claim.id);
    const Claim* mine = found == here.end() ? nullptr : found->second;
    const std::string then = outcome_of(&claim), now = outcome_of(mine);
    if (!claim.judged_in.empty() || (then == "not applicable" && !is_decided(mine))) continue;
    if (is_shorter && !is_decided(mine)) {
      ++withheld;
      continue;
    }
    ++verdicts;
    as_published += then == now ? 1 : 0;
    if (then == now) continue;
    (is_decided(&claim) && is_decided(mine) ? contradictions : differences)
        .push_back(published.preset.value_or("") + " " + claim.id + " (published " + then +
                   ", here " + now + ")");
  }
}

std::string Agreement::text() const {
  const auto count = [](std::size_t n) { return grouped_count(static_cast<double>(n)); };
  std::string out = count(as_published) + " of " + count(verdicts) +
                    (verdicts == 1 ? " verdict" : " verdicts") + " as published";
  if (withheld > 0) out += "; " + count(withheld) + " withheld, the run is shorter";
  if (!contradictions.empty())
    out += "; " + count(contradictions.size()) +
           (contradictions.size() == 1 ? " contradicts: " : " contradict: ") +
           listed(contradictions);
  if (!differences.empty())
    out += "; " + count(differences.size()) + (differences.size() == 1 ? " differs" : " differ") +
           " without a contradiction: " + listed(differences);
  return out;
}

}  // namespace ranklab
