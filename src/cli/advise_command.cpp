// `ranklab advise FOLDER|FILE...`: which layers of a model to train with Muon. It runs
// `one-step-compare --study files` on the given paths and prints the table on standard output. A
// result is only written if --out is given.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/resolve.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

namespace fs = std::filesystem;
using Flags = std::vector<std::pair<std::string, std::string>>;

bool all_end_in(const std::vector<std::string>& paths, std::initializer_list<const char*> endings) {
  return std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](const char* ending) { return path.ends_with(ending); });
  });
}

// The flags of --study files that the paths stand for.
Flags flags_of(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) throw Failure(printable(path) + ": no such file or folder");
  }
  if (paths.empty()) return {};
  if (paths.size() == 1 && fs::is_directory(paths[0])) return {{"from", paths[0]}};
  if (all_end_in(paths, {".json"})) {
    Flags manifests;
    for (const std::string& path : paths) manifests.emplace_back("manifest", path);
    return manifests;
  }
  if (paths.size() == 2 && all_end_in(paths, {".npy"}))
    return {{"pair", "layer," + paths[0] + "," + paths[1]}};
  if (paths.size() == 2 && all_end_in(paths, {".npz", ".safetensors"}))
    return {{"activations", paths[0]}, {"gradients", paths[1]}};
  if (paths.size() == 1 && all_end_in(paths, {".npz", ".safetensors"}))
    return {{"weights-only", paths[0]}};
  throw UsageError("advise: " + printable_key(paths.front()) + (paths.size() > 1 ? ", ..." : "") +
                   " is not allowed; allowed: a folder of recordings, manifests (.json), "
                   "ACTIVATIONS GRADIENTS (two .npy, .npz or .safetensors files), or a .npz or "
                   ".safetensors file of weights");
}

const Experiment& one_step_compare() {
  return *find_experiment("one-step-compare");
}

int advise_on(const std::vector<std::string>& words) {
  Arguments common = parse_arguments(words, common_flag_shapes(one_step_compare()), Unknown::kept);
  if (common.help) {
    std::fputs(utility_help(advise_command()).c_str(), stdout);
    return 0;
  }
  for (const char* flag : {"study", "preset", "shard"}) {
    if (common.find(flag) != nullptr)
      throw UsageError(std::string("advise: --") + flag +
                       " is not allowed; use `ranklab one-step-compare`");
  }
  common.flags.emplace_back("study", "files");
  RunSources sources = read_sources(one_step_compare(), common);
  Arguments& given = sources.flags;
  for (auto& [name, value] : flags_of(given.positional)) {
    if (given.find(name) != nullptr && name != "manifest")
      throw UsageError("advise: --" + name + " is not allowed with " + printable_key(value));
    given.flags.emplace_back(name, value);
  }
  if (given.flags.empty())
    throw UsageError("advise takes a folder or files; `ranklab advise --help` lists what it reads");
  given.flags.emplace_back("study", "files");
  ResolvedRun run = resolve(one_step_compare(), sources);
  run.prints_table = run.options.out != "-";
  std::vector<std::string> argv = {"ranklab", "advise"};
  argv.insert(argv.end(), words.begin(), words.end());
  return run_resolved(run, argv);
}

}  // namespace

Utility advise_command() {
  // The study and the options hold the defaults, which the help shows.
  struct Defaults {
    std::unique_ptr<Study> study;
    CommonOptions options;
  };
  const auto defaults = std::make_shared<Defaults>();
  for (const StudyEntry& entry : one_step_compare().studies) {
    if (entry.name == "files") defaults->study = entry.make();
  }
  std::vector<Field> flags = defaults->study->fields();
  for (Field& field : session_fields(defaults->options)) {
    if (field.name != "shard") flags.push_back(std::move(field));
  }
  return {
      .name = "advise",
      .usage = "FOLDER|FILE...",
      .summary = "print which layers of your model to train with Muon",
      .details =
          "Compares the stable rank of each layer's activations with the nuclear rank of its "
          "gradient. Takes a folder that ranklab_dump.record wrote, manifests (.json), "
          "activations and gradients (two .npy, .npz or .safetensors files), or an archive of "
          "weights, for which it prints the ranks without advice. Without --out it writes no "
          "file. The same as `one-step-compare --study files`.",
      .flags = std::move(flags),
      .passes_words_on = true,
      .run = [defaults](const Arguments& given) { return advise_on(given.words); },
  };
}

}  // namespace ranklab
