// `ranklab verify RESULT.json...`: reruns the configs of results and compares the results: every
// field but environment and timing. Words that only an author can know are listed.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/execute.hpp"
#include "cli/run_identity.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "result/compare.hpp"
#include "result/result_members.hpp"

namespace ranklab {
namespace {

std::string shown(const nlohmann::ordered_json& value) {
  return value.is_string() ? printable_key(value.get<std::string>())
                           : printable_key(value.dump(-1, ' ', true));
}

// How the environments of the two runs differ, because that can explain different bits; empty: the
// same program on the same type of CPU.
std::string changed_environment(const ResultFile& before, const ResultFile& now) {
  const auto value = [](const ResultFile& result, const char* key) {
    return result.environment.value(key, nlohmann::ordered_json());
  };
  std::vector<std::string> changed;
  for (const char* key : {"git", "compiler", "flags", "armadillo", "blas", "cpu"}) {
    if (value(before, key) != value(now, key)) changed.emplace_back(key);
  }
  const nlohmann::ordered_json kernel = value(before, "blas_core"), mine = value(now, "blas_core");
  if (kernel != mine)
    changed.push_back("BLAS kernel " + shown(kernel) + " before, " + shown(mine) + " now");
  if (changed.empty() && value(before, "program") != value(now, "program"))
    changed.emplace_back("program");
  return joined(changed);
}

// "claim spectral/eq-1.5: holds before, fails now"
std::string line_of(const ComparedItem& item) {
  const auto said = [](const std::string& text) { return text.empty() ? "missing" : text; };
  if (item.kind == ComparedItem::Kind::part) return item.difference;
  const std::string values =
      item.a != item.b ? said(item.a) + " before, " + said(item.b) + " now" : item.difference;
  return std::string(name_of(item.kind)) + " " + item.name + ": " +
         (item.kind == ComparedItem::Kind::series ? item.difference : values) +
         (item.distance.empty() ? "" : " (" + item.distance + ")");
}

// How many numbers were compared, and by which criterion.
std::string compared_text(const Comparison& comparison) {
  const std::string what = plural(comparison.count(ComparedItem::Kind::claim), "verdict") + ", " +
                           plural(comparison.count(ComparedItem::Kind::scalar), "scalar") +
                           " and " + plural(comparison.points, "point") + " of series";
  if (comparison.no_error_bars())
    return what + " compared; 1 trial: no error bars, so only rounding differences are allowed";
  return what + " compared; Student's quantile at level " + short_number(comparison_level) +
         " divided by the number of comparisons";
}

// Whether the words of a preset may be in the result that the program cannot know: the preset is
// not on this machine, or --config named a file. A merged result does not say whether its parts had
// --config.
bool has_words_of_a_file(const ResultFile& result) {
  if (result.preset) return !is_preset(*result.preset);
  const auto argv = result.environment.value("argv", nlohmann::ordered_json::array());
  return result.environment.contains("shards") ||
         std::ranges::any_of(argv, [](const nlohmann::ordered_json& word) {
           return word.is_string() && word.get<std::string>().starts_with("--config");
         });
}

// The fields of the file that only its author can know, in words; the rerun takes them over.
std::vector<std::string> adopt_words(const ResultFile& earlier, ResultFile& again) {
  std::vector<std::string> out;
  if (has_words_of_a_file(earlier)) {
    const auto adopt = [&](const char* name, auto field) {
      if (to_json_value(earlier.*field) == to_json_value(again.*field)) return;
      again.*field = earlier.*field;
      out.emplace_back(name);
    };
    adopt("title", &ResultFile::title);
    adopt("source", &ResultFile::source);
    adopt("see", &ResultFile::see);
    adopt("finding", &ResultFile::finding);
    if (!earlier.trials.unit.empty()) out.emplace_back("the unit of a trial");
    if (!earlier.changed.empty()) out.emplace_back("the values of the preset");
  }
  const std::vector<OwnStatement> own = own_statements_of(earlier);
  const auto worded = static_cast<std::size_t>(std::ranges::count_if(
      own, [](const OwnStatement& statement) { return statement.says != statement.claim; }));
  if (worded > 0)
    out.push_back(plural(worded, "statement") + (worded == 1 ? "'s" : "s'") + " words");
  return out;
}

int report_comparison(const std::string& path, const ResultFile& earlier, ResultFile again) {
  constexpr std::size_t most_shown = 10;
  const std::vector<std::string> words = adopt_words(earlier, again);
  const Comparison comparison = compare_rerun(earlier, again, "the file", "this run");
  const std::string changed = changed_environment(earlier, again), name = printable(path);
  const auto print_words = [&] {
    if (!words.empty()) std::printf("  %s: the author's, not certified\n", joined(words).c_str());
  };
  if (comparison.same_bits()) {
    std::printf("%s: reproduced bit for bit\n", name.c_str());
    print_words();
    return 0;
  }
  // The same program on the same type of CPU gives the same bits.
  const bool agrees = !changed.empty() && comparison.agrees();
  const std::string within = comparison.no_error_bars() ? "reproduced within rounding"
                                                        : "reproduced within its error bars";
  std::printf("%s: %s (%s)\n  the first difference is at %s; %s\n", name.c_str(),
              agrees ? (within + ", not bit for bit").c_str() : "not reproduced",
              (changed.empty() ? "same CPU type and program" : "changed since: " + changed).c_str(),
              printable_key(comparison.first_difference).c_str(),
              compared_text(comparison).c_str());
  std::size_t shown_lines = 0, all = 0;
  for (const ComparedItem& item : comparison.items) {
    if (item.difference.empty()) continue;
    ++all;
    if (shown_lines == most_shown) continue;
    ++shown_lines;
    std::printf("  %s\n", printable(line_of(item)).c_str());
  }
  if (all > shown_lines) std::printf("  and %zu more\n", all - shown_lines);
  print_words();
  return agrees ? 0 : 1;
}

namespace fs = std::filesystem;

struct VerifyOptions {
  std::string folder;  // of the input files; empty: the current directory
  std::uint64_t threads = 0;
  bool quiet = false;
};

bool is_below(const fs::path& folder, const fs::path& path) {
  const fs::path relative = path.lexically_normal().lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// What may be a path in a text of a config: NAME,FILE,FILE, FILE.npz:key or name=FILE.
std::vector<std::string> possible_paths(const std::string& text) {
  std::vector<std::string> out = {text};
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    out.push_back(part);
    out.push_back(part.substr(0, part.rfind(':')));
    out.push_back(part.substr(part.find('=') + 1));
  }
  return out;
}

// A result, perhaps of a stranger, must not choose what is read. Throws Failure if a text of the
// config names anything but files and folders below `root`; relative paths start at `start`.
void require_inputs_below(const fs::path& root, const fs::path& start,
                          const nlohmann::ordered_json& value, const std::string& label) {
  if (value.is_array()) {
    for (const auto& element : value) require_inputs_below(root, start, element, label);
  }
  if (!value.is_string()) return;
  for (const std::string& text : possible_paths(value.get<std::string>())) {
    std::error_code error;
    const fs::path path = start / text;
    const fs::file_status status = fs::status(path, error);
    if (text.empty() || !fs::exists(status)) continue;
    const auto refuse = [&](const std::string& why) {
      throw Failure(label + ": " + printable_key(text) + " is not read: it " + why);
    };
    if (!is_below(root, path))
      refuse("is not below " + printable(root.string()) + "; --folder names another folder");
    if (!fs::is_regular_file(status) && !fs::is_directory(status))
      refuse("is neither a file nor a folder");
  }
}

// The parameters of the result without the words that its run did not compute. Those of a preset
// that is on this machine come from there.
ParameterFile parameters_without_words(const ResultFile& earlier, const std::string& path) {
  ParameterFile out = parameters_of(earlier, path);
  PresetTexts words;
  words.report = out.texts.report;
  if (has_words_of_a_file(earlier)) words.trial = out.texts.trial;
  out.texts = words;
  return out;
}

// Relative paths in a config start at the working directory of the run, which the result stores
// relative to its own folder, if that is below the folder of the input files; else, and if the
// files are not there, they start at that folder.
ResolvedRun resolve_in_original_folder(const ResultFile& earlier, const std::string& path,
                                       const fs::path& root) {
  const Experiment& experiment = writer_of(earlier.command, path);
  const RunRequest request = replay_of(parameters_without_words(earlier, path));
  const auto study = study_of(experiment, request).make();
  nlohmann::ordered_json inputs = earlier.config;
  for (const Field& field : study->flags()) {
    if (field.names_output) inputs.erase(field.name);
  }
  const auto resolved_in = [&](const fs::path& start) {
    for (const auto& [key, value] : inputs.items())
      require_inputs_below(root, start, value, printable(path) + ": " + printable_key(key));
    fs::current_path(start);
    ResolvedRun run = resolve(experiment, request);
    run.study().memory();  // reads the input files
    return run;
  };
  const nlohmann::ordered_json folder =
      earlier.environment.value("folder", nlohmann::ordered_json());
  std::error_code error;
  const fs::path start =
      folder.is_string()
          ? fs::canonical(fs::absolute(path).parent_path() / folder.get<std::string>(), error)
          : root;
  if (error || start == root || !is_below(root, start)) return resolved_in(root);
  try {
    return resolved_in(start);
  } catch (const Failure&) {
    return resolved_in(root);
  }
}

// Returns the exit code.
int verify(const std::string& path, const VerifyOptions& options) {
  const ResultFile earlier = read_result(path);
  if (earlier.status == Status::interrupted)
    throw Failure(printable(path) + ": the run was interrupted; finish it with --resume first");
  std::error_code error;
  const fs::path root = fs::canonical(options.folder.empty() ? "." : options.folder, error);
  if (error)
    throw Failure((options.folder.empty() ? "the current directory"
                                          : "--folder " + printable(options.folder)) +
                  ": " + error.message());
  ResolvedRun run = resolve_in_original_folder(earlier, path, root);
  if (options.threads > 0) run.options().threads = options.threads;
  check_memory(run);
  require_same_inputs(run, earlier.environment.value("inputs", nlohmann::ordered_json::object()),
                      path);

  const Progress::Look look{!options.quiet && ::isatty(STDERR_FILENO) != 0};
  const Execution execution = execute(run, nullptr, look, {});
  if (execution.signal != 0) return 128 + execution.signal;
  return report_comparison(path, earlier, *execution.result);
}

int verify_all(const std::vector<std::string>& paths, const VerifyOptions& options) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  std::size_t failed = 0;
  for (const std::string& path : paths) {
    const int code = verify(path, options);
    if (code > 1) return code;
    failed += code == 0 ? 0 : 1;
    fs::current_path(here, error);
  }
  const std::size_t all = paths.size();
  if (all > 1) std::printf("%zu of %zu reproduced\n", all - failed, all);
  return failed > 0 ? 1 : 0;
}

}  // namespace

Utility verify_command() {
  const auto options = std::make_shared<VerifyOptions>();
  return {
      .name = "verify",
      .usage = "RESULT.json...",
      .summary = "rerun the config of a result and compare the results",
      .details =
          "Exits with status 0 if every result is reproduced: bit for bit if this program made it "
          "on this type of CPU, else at least within its own error bars. Exits with 1 if not. "
          "Compares every field except environment and timing. Lists what only the author can "
          "know: the words of own statements, and of presets that are not on this machine.",
      .takes = {1, any_number, "one or more result files"},
      .flags = {text_field("folder", options->folder,
                           "folder of the input files: nothing else is read (not given: the "
                           "current directory)"),
                size_field("threads", options->threads, 0, 1024, "",
                           "threads of the run; 0: all cores"),
                switch_field("quiet", options->quiet, "show no progress bar")},
      .run = [options](const Arguments& given) { return verify_all(given.positional, *options); },
  };
}

}  // namespace ranklab
