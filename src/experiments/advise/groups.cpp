#include "experiments/advise/groups.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "report/result_json.hpp"

namespace ranklab::advise {

void require_groups_file(const std::string& path) {
  if (path == "-") throw UsageError("--groups: '-' is not allowed; allowed: a file");
  if (!std::filesystem::exists(path)) return;
  try {
    if (read_json(path).contains("not_judged")) return;
  } catch (const Failure&) {  // not a groups file: refused below
  }
  throw UsageError("--groups: " + printable(path) +
                   " exists and is not a groups file, so it is not replaced; name another file");
}

std::string groups_text(const Plan& plan, const Records& records) {
  constexpr std::array<const char*, 3> names = {"muon", "either",
                                                "euclidean"};  // in the order of Settled
  const Rows all = rows_of(plan, records.front());
  std::map<std::string, std::set<Settled>> advice;
  nlohmann::ordered_json out = {{"muon", nlohmann::json::array()},
                                {"either", nlohmann::json::array()},
                                {"euclidean", nlohmann::json::array()},
                                {"not_judged", nlohmann::json::object()}};
  for (const Row& row : all.rows) {
    const std::string& parameter = plan.parameter_of(row.name());
    if (row.is_judged()) {
      advice[parameter].insert(row.advice().settled);
    } else {
      out["not_judged"][parameter] = "no activation or no gradient";
    }
  }
  std::vector<Skipped> others = all.skipped;
  others.insert(others.end(), plan.vectors.begin(), plan.vectors.end());
  const auto is_judged = [&](const std::string& name) {
    return std::any_of(all.rows.begin(), all.rows.end(),
                       [&](const Row& row) { return row.is_judged() && row.name() == name; });
  };
  for (const Skipped& one : others) {
    const std::string& parameter = plan.parameter_of(one.name);
    if (!advice.contains(parameter)) {
      out["not_judged"][parameter] = one.reason;
    } else if (!is_judged(one.name)) {
      advice[parameter].insert(Settled::nothing);  // this part was not judged
    }
  }
  for (const auto& [parameter, settled] : advice) {
    out[names[static_cast<std::size_t>(settled.size() > 1 ? Settled::nothing : *settled.begin())]]
        .push_back(parameter);
  }
  return format_json(out);
}

}  // namespace ranklab::advise
