#include "cli/overwrite.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

std::string change_text(const std::string& name, const Json& before, const Json& now) {
  return name + " " + printable_key(before.dump(-1, ' ', true)) + ", now " +
         printable_key(now.dump(-1, ' ', true));
}

// True if the runs differ only in the number of trials, and the new run includes all completed
// trials of the earlier one.
bool contains_trials(const Json& earlier, const std::vector<std::string>& keys, const Json& now) {
  return keys == std::vector<std::string>{"trials"} && earlier["trials"].is_object() &&
         now["trials"] >= earlier["trials"].value("completed", Json());
}

std::vector<std::string> differing_keys(const Json& before, const Json& now) {
  std::vector<std::string> keys;
  Json all = before;
  all.update(now);
  for (const auto& [key, unused] : all.items()) {
    if (key != "preset" && before.value(key, Json()) != now.value(key, Json())) keys.push_back(key);
  }
  return keys;
}

}  // namespace

void refuse_to_replace(ResolvedRun& run) {
  const std::string& out = run.options.out;
  std::error_code error;
  if (run.options.force || !std::filesystem::is_regular_file(out, error) || read_file(out).empty())
    return;
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--out " + out + ": " + why + "; --force replaces it");
  };
  Json earlier;
  try {
    earlier = read_json(out);
  } catch (const Failure&) {
  }
  if (member(earlier, "schema") != result_schema || !member(earlier, "config").is_object())
    return refuse("is not a ranklab result");
  if (earlier["command"] != run.experiment->name)
    return refuse("holds a different run (" +
                  change_text("command", earlier["command"], run.experiment->name) + ")");
  Json before = earlier["config"], now = run.config();
  // Files next to the result change no number, and a replay does not write them.
  for (const Field& field : run.study->fields()) {
    if (!field.names_output) continue;
    before.erase(field.name);
    now.erase(field.name);
  }
  const std::vector<std::string> keys = differing_keys(before, now);
  if (keys.empty() || contains_trials(earlier, keys, now)) return;
  constexpr std::size_t max_named = 3;
  std::vector<std::string> named;
  for (const std::string& key : keys) {
    // If the study differs, most other parameters differ too: name only the study.
    if (before.value("study", Json()) != now["study"] && key != "study") continue;
    if (named.size() < max_named)
      named.push_back(change_text(key, before.value(key, Json()), now.value(key, Json())));
  }
  if (named.size() < keys.size() && named.size() == max_named)
    named.push_back(std::to_string(keys.size() - max_named) + " more");
  refuse("holds a different run (" + joined(named, "; ") + ")");
}

void refuse_to_replace_with_outputs(ResolvedRun& run) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto same = [&](const std::string& a, const std::string& b) {
    return fs::weakly_canonical(fs::absolute(a, error), error) ==
           fs::weakly_canonical(fs::absolute(b, error), error);
  };
  const Json config = run.config();
  for (const Field& field : run.study->fields()) {
    if (!field.names_output || !config.value(field.name, Json()).is_string()) continue;
    const std::string path = config[field.name], flag = "--" + field.name + " " + printable(path);
    if (path.empty()) continue;
    if (!run.options.out.empty() && same(path, run.options.out))
      throw UsageError(flag + ": is the file of --out; name another file");
    if (field.name != "save" || !fs::is_regular_file(path, error)) continue;
    // The eight bytes of a length, then the header in JSON.
    const std::string start = read_file(path).substr(0, 9);
    if (!start.empty() && (start.size() < 9 || start[8] != '{' || start[0] == '{'))
      throw UsageError(flag +
                       ": exists and is not a .safetensors file, so it is not replaced; "
                       "name another file");
  }
}

}  // namespace ranklab
