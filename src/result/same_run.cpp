#include "result/same_run.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.hpp"

namespace ranklab {
namespace {

// Two programs of one version and commit may differ, so the program is known by its checksum.
std::string identity_of(const ResultFile& result) {
  using Json = nlohmann::json;  // sorts the keys of an object
  const Json environment = result.environment;
  const auto value = [&](const char* key) { return environment.value(key, Json()); };
  const Json program =
      environment.contains("program") ? value("program") : Json{value("version"), value("git")};
  const Json identity = {result.command, Json(result.config), program, value("inputs"),
                         result.trials.completed};
  return identity.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// The index of the result of the group that counts.
std::size_t best_of(const std::vector<std::size_t>& group, const std::vector<ResultFile>& results) {
  return *std::ranges::max_element(group, {}, [&](std::size_t i) {
    return std::pair(results[i].keeps_trials, results[i].claims.size());
  });
}

// "a", "a and b", "a, b and c".
std::string enumerated(std::vector<std::string> names) {
  const std::string last = names.back();
  names.pop_back();
  return joined(names) + " and " + last;
}

}  // namespace

std::vector<std::string> drop_repeated_runs(std::vector<ResultFile>& results,
                                            std::vector<std::string>& paths) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> group_of;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto [entry, is_new] = group_of.emplace(identity_of(results[i]), groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(i);
  }
  std::vector<std::string> lines;
  std::vector<std::size_t> kept;
  for (const std::vector<std::size_t>& group : groups) {
    kept.push_back(best_of(group, results));
    if (group.size() == 1) continue;
    std::vector<std::string> names;
    for (const std::size_t i : group) names.push_back(paths[i]);
    lines.push_back(enumerated(names) + " are the same run; counted once (" + paths[kept.back()] +
                    ")");
  }
  std::ranges::sort(kept);  // the order of the results
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i == kept[i]) continue;
    results[i] = std::move(results[kept[i]]);
    paths[i] = std::move(paths[kept[i]]);
  }
  results.resize(kept.size());
  paths.resize(kept.size());
  return lines;
}

}  // namespace ranklab
