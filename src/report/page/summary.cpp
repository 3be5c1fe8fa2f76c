#include "report/page/summary.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "report/page/text.hpp"
#include "report/papers.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<const char*, const char*>, 6> kinds = {{
    {"theorem", "theorem"},
    {"printed-number", "printed number"},
    {"figure", "figure or text"},
    {"reading", "reading with our threshold"},
    {"beyond", "not in the papers"},
    {"", "without a kind"},
}};

constexpr std::size_t findings_per_paper = 3;

const JudgedStatement* statement_with(const std::string& id,
                                      const std::vector<JudgedStatement>& statements) {
  for (const JudgedStatement& statement : statements) {
    for (const auto* forms : {&statement.as_printed, &statement.corrected}) {
      for (const Appearance& form : *forms) {
        if (plain(member(*form.claim, "id")) == id) return &statement;
      }
    }
  }
  return nullptr;
}

const Json* claim_of(const Entry& entry, const std::string& id) {
  const Json& claims = member(*entry.result, "claims");
  if (!claims.is_array()) return nullptr;
  for (const Json& claim : claims) {
    if (plain(member(claim, "id")) == id) return &claim;
  }
  return nullptr;
}

}  // namespace

std::vector<KindCounts> counts_by_kind(const std::vector<JudgedStatement>& statements) {
  std::map<std::string, StandingCounts> by_kind;
  for (const JudgedStatement& statement : statements) {
    const std::string kind = plain(member(*statement.as_printed.front().claim, "kind"));
    const bool known = std::any_of(kinds.begin(), kinds.end(),
                                   [&](const auto& each) { return kind == each.first; });
    by_kind[known ? kind : ""].add(statement.standing());
  }
  std::vector<KindCounts> out;
  for (const auto& [key, words] : kinds) {
    const auto found = by_kind.find(key);
    if (found != by_kind.end()) out.push_back({words, found->second});
  }
  return out;
}

std::vector<Finding> findings_of(const std::vector<Entry>& entries,
                                 const std::vector<JudgedStatement>& statements) {
  std::vector<Finding> out;
  std::map<std::size_t, std::size_t> of_paper;
  for (const Entry& entry : entries) {
    const Json& finding = member(*entry.result, "finding");
    const Json* claim = claim_of(entry, plain(member(finding, "claim")));
    if (claim == nullptr || of_paper[entry.paper] == findings_per_paper) continue;
    const std::string verdict = plain(member(*claim, "verdict"));
    if (verdict != "holds" && verdict != "fails") continue;
    const bool as_written = verdict == plain(member(finding, "verdict"));
    const JudgedStatement* statement = statement_with(plain(member(*claim, "id")), statements);
    out.push_back(
        {&entry,
         plain(member(as_written ? finding : *claim, as_written ? "sentence" : "statement")), claim,
         statement == nullptr ? verdict_of(*claim) : statement->standing()});
    ++of_paper[entry.paper];
  }
  return out;
}

bool is_input(const Entry& entry) {
  if (entry.paper == papers.size()) return false;
  const Json& claims = member(*entry.result, "claims");
  return claims.is_array() && !claims.empty() &&
         std::none_of(claims.begin(), claims.end(),
                      [&](const Json& claim) { return belongs(claim, *entry.result); });
}

}  // namespace ranklab
