#include "report/page/summary.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/catalog.hpp"
#include "report/page/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

constexpr std::size_t findings_per_paper = 3;

const Claim* claim_with(const Entry& entry, const std::string& id) {
  const auto found = std::find_if(entry.claims.begin(), entry.claims.end(),
                                  [&](const Claim& claim) { return claim.id == id; });
  return found == entry.claims.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Finding> findings_of(const std::vector<Entry>& entries) {
  std::vector<Finding> out;
  std::map<std::size_t, std::size_t> of_paper;
  for (const Entry& entry : entries) {
    const Json& finding = member(*entry.result, "finding");
    const Claim* claim = claim_with(entry, plain(member(finding, "claim")));
    if (claim == nullptr || of_paper[entry.paper] == findings_per_paper) continue;
    if (claim->verdict == Verdict::not_applicable) continue;
    const std::string verdict = claim->verdict == Verdict::holds ? "holds" : "fails";
    const bool as_written = verdict == plain(member(finding, "verdict"));
    out.push_back(
        {&entry, as_written ? plain(member(finding, "sentence")) : claim->statement, claim});
    ++of_paper[entry.paper];
  }
  return out;
}

bool is_input(const Entry& entry) {
  return entry.paper != papers().size() && !entry.claims.empty() &&
         std::all_of(entry.claims.begin(), entry.claims.end(),
                     [](const Claim& claim) { return !claim.judged_in.empty(); });
}

}  // namespace ranklab
