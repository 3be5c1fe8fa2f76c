#include "experiments/advise/groups.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

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

namespace {

// What the parts of one parameter are advised; a parameter that is not cut has one part.
using Parts = std::map<std::string, Settled>;

std::map<std::string, Parts> advised_parts(const Plan& plan, const Rows& all,
                                           const std::vector<Skipped>& others) {
  std::map<std::string, Parts> out;
  for (const Row& row : all.rows) {
    if (!row.is_judged()) continue;
    const bool is_kept = is_kept_euclidean(row.pair().role);
    out[plan.parameter_of(row.name())][row.name()] =
        is_kept ? Settled::euclidean : row.advice().settled;
  }
  for (const Skipped& one : others) {  // a part that is not judged
    const auto found = out.find(plan.parameter_of(one.name));
    if (found != out.end()) found->second.emplace(one.name, Settled::nothing);
  }
  return out;
}

bool all_agree(const Parts& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const auto& part) { return part.second == parts.begin()->second; });
}

}  // namespace

Groups groups_of(const Plan& plan, const Records& records) {
  const Rows all = rows_of(plan, records.front());
  std::vector<Skipped> others = all.skipped;
  others.insert(others.end(), plan.vectors.begin(), plan.vectors.end());
  const std::map<std::string, Parts> advised = advised_parts(plan, all, others);
  nlohmann::ordered_json json = {{"muon", nlohmann::json::array()},
                                 {"either", nlohmann::json::array()},
                                 {"euclidean", nlohmann::json::array()},
                                 {"not_judged", nlohmann::json::object()}};
  Groups out;
  for (const auto& [parameter, parts] : advised) {
    const bool agrees = all_agree(parts);
    json[word_for(agrees ? parts.begin()->second : Settled::nothing)].push_back(parameter);
    if (agrees) continue;
    std::vector<std::string> words;
    for (const auto& [part, settled] : parts)
      words.push_back(part + " " + std::string(word_for(settled)));
    out.differing.push_back(parameter + " (" + joined(words) + ")");
  }
  const auto not_judged = [&](const std::string& name, const std::string& reason) {
    const std::string& parameter = plan.parameter_of(name);
    if (!advised.contains(parameter)) json["not_judged"][parameter] = reason;
  };
  for (const Row& row : all.rows) {
    if (!row.is_judged()) not_judged(row.name(), "no activation or no gradient");
  }
  for (const Skipped& one : others) not_judged(one.name, one.reason);
  out.text = format_json(json);
  return out;
}

std::string optimizers_snippet(const std::string& path) {
  return "import json\n"
         "groups = json.load(open(" +
         nlohmann::json(path).dump() +
         "))\n"
         "wrappers = \"_orig_mod\", \"_fsdp_wrapped_module\", \"_checkpoint_wrapped_module\"\n"
         "named = {\".\".join(part for part in name.split(\".\") if part not in wrappers): p\n"
         "for name, p in model.named_parameters()}\n"
         "muon = [named[name] for name in groups[\"muon\"] if named[name].ndim == 2]\n"
         "rest = [p for p in named.values() if all(p is not q for q in muon)]\n"
         "optimizers = [torch.optim.AdamW(rest, lr=3e-4)]\n"
         "optimizers += [Muon(muon, lr=0.02)] if muon else []";
}

}  // namespace ranklab::advise
