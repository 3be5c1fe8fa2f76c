#include "page/summary.hpp"

#include <algorithm>
#include <map>

#include "judge/catalog.hpp"
#include "judge/references.hpp"
#include "page/text.hpp"

namespace ranklab {
namespace {

constexpr std::size_t findings_per_paper = 3;

const Claim* claim_with(const Entry& entry, const std::string& id) {
  const auto found = std::find_if(entry.result->claims.begin(), entry.result->claims.end(),
                                  [&](const Claim& claim) { return claim.id == id; });
  return found == entry.result->claims.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Finding> findings_of(const std::vector<Entry>& entries) {
  std::vector<Finding> out;
  std::map<std::size_t, std::size_t> of_paper;
  for (const Entry& entry : entries) {
    const std::optional<PresetFinding>& finding = entry.result->finding;
    const Claim* claim = finding ? claim_with(entry, finding->claim) : nullptr;
    if (claim == nullptr || of_paper[entry.paper] == findings_per_paper) continue;
    if (claim->verdict == Verdict::not_applicable) continue;
    const bool as_written = claim->verdict == finding->verdict;
    out.push_back({&entry, as_written ? without_references(finding->sentence) : claim->statement,
                   claim, as_written});
    ++of_paper[entry.paper];
  }
  return out;
}

bool is_input(const Entry& entry) {
  return entry.paper != papers().size() && !entry.result->claims.empty() &&
         std::all_of(entry.result->claims.begin(), entry.result->claims.end(),
                     [](const Claim& claim) { return !claim.judged_in.empty(); });
}

}  // namespace ranklab
