// `ranklab reproduce [PRESET...]`: runs every preset, the cheapest first, draws its figure and
// rewrites the report after each. Finished results are kept, interrupted runs are continued, and a
// preset that fails does not stop the others.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/check_report.hpp"
#include "cli/commands.hpp"
#include "cli/deliver.hpp"
#include "cli/execute.hpp"
#include "cli/expect.hpp"
#include "cli/overwrite.hpp"
#include "cli/presets.hpp"
#include "cli/run_identity.hpp"
#include "cli/summary.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "figure/picture.hpp"
#include "io/atomic_file.hpp"
#include "io/json_file.hpp"
#include "judge/published.hpp"
#include "page/page.hpp"
#include "result/agreement.hpp"
#include "result/environment.hpp"
#include "result/result_json.hpp"
#include "result/standing.hpp"

namespace ranklab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Options {
  std::string out = "results";
  bool full = false, force = false, expect = false;
  std::uint64_t threads = 0;
};

struct Task {
  std::string name, result, picture;  // the preset's name, and paths
  bool requested = true;              // else its finished result is only shown in the report
  Preset preset;
  double seconds = 0;  // expected wall time on two cores
  ResolvedRun run;
  Json config, full, reduced;  // of this run, of the preset, and of the preset's shorter version
  std::string problem;         // why the task cannot run, if found before the first run
  std::optional<ResultFile> finished = {};  // its result; none: not finished
};

// Resolves the run of the task, or sets its problem.
void prepare(Task& task, const Options& options) {
  const std::string label = "preset " + task.name;
  const Preset& preset = task.preset;
  task.problem = "";
  try {
    const Experiment& experiment = experiment_of(preset.command, label);
    RunRequest request = {preset, {}, {}};
    if (options.threads > 0)
      request.flags.flags.emplace_back("threads", std::to_string(options.threads));
    ResolvedRun full = resolve(experiment, request);
    const ShorterRun shorter = preset.reproduce.value_or(ShorterRun{Json::object(), 0});
    request.config = ParameterFile{label + ": reproduce", preset.command, shorter.config};
    request.config->owner = owner_of(preset);
    ResolvedRun reduced = resolve(experiment, request);
    task.full = full.config();
    task.reduced = reduced.config();
    const bool is_full = options.full || task.full == task.reduced;
    task.seconds = is_full ? preset.seconds.value_or(0) : shorter.seconds;
    task.run = std::move(is_full ? full : reduced);
    task.config = is_full ? task.full : task.reduced;
  } catch (const std::exception& error) {  // does not stop the others
    task.problem = error.what();
  }
}

// A task for each requested preset, and for each other one with a result, which the report shows.
std::vector<Task> tasks_of(std::vector<std::string> requested, const Options& options) {
  std::map<std::string, Preset> read;
  // A preset may need the files of another one. Throws for an unknown name.
  std::vector<std::string> places(requested.size(), "reproduce");  // where each is named
  for (std::size_t i = 0; i < requested.size(); ++i) {
    Preset preset = read_preset(requested[i], places[i]);
    requested[i] = preset.name;
    read[preset.name] = preset;
    if (preset.after.empty()) continue;
    places.push_back("preset " + requested[i] + ": after");
    requested.push_back(preset.after);
  }
  std::vector<Task> tasks;
  for (const auto& name : preset_names()) {
    Task task;
    task.name = name;
    task.result = options.out + "/" + name + ".json";
    task.picture = options.out + "/" + name + ".svg";
    task.requested = requested.empty() || read.contains(name);
    if (!task.requested && !fs::exists(task.result)) continue;
    try {
      task.preset = read.contains(name) ? read.at(name) : read_preset(name);
      prepare(task, options);
    } catch (const std::exception& error) {
      task.problem = error.what();
    }
    tasks.push_back(std::move(task));
  }
  // Presets that read the files of other presets come last.
  const auto order = [](const Task& task) {
    return std::pair(!task.preset.after.empty(), task.seconds);
  };
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](const Task& a, const Task& b) { return order(a) < order(b); });
  return tasks;
}

// The complete result of an earlier run to keep, if there is one. A result is kept if it is of this
// program with the task's parameters and input files, or of any program with the preset's full
// parameters if the task uses the reduced ones. Throws Failure if the file holds a run with
// different parameters.
std::optional<ResultFile> finished_result(Task& task) {
  if (!fs::exists(task.result)) return {};
  ResultFile earlier = read_result(task.result);
  const Json config = earlier.config;
  if (config != task.full && config != task.reduced)
    throw Failure(task.result + " holds a run with different parameters; --force replaces it");
  if (earlier.status == Status::interrupted) return {};
  const Json inputs = earlier.environment.value("inputs", nlohmann::ordered_json::object());
  const bool is_same =
      config == task.config && inputs == Json(task.run.input_checksums()) &&
      value_or(earlier.environment, "program", std::string()) == program_checksum();
  // Never replace a full run, which may have taken hours, by a reduced run of a newer program.
  const bool is_more = config == task.full && task.config != task.full;
  return is_same || is_more ? std::optional(std::move(earlier)) : std::nullopt;
}

// Opens the journal of the task, with the trials of an interrupted run of this program.
Journal open_journal(Task& task, bool force) {
  using Earlier = Journal::Earlier;
  const std::string path = Journal::path_for(task.result), mine = run_identity(task.run),
                    found = fs::exists(path) ? read_journal(path).header : "";
  const bool is_of_this_program = found.empty() || program_line(found) == program_line(mine);
  return {path, mine,
          force                ? Earlier::discarded
          : found == mine      ? Earlier::resumed
          : is_of_this_program ? Earlier::same_discarded
                               : Earlier::discarded};
}

// True if the figure is missing, or older than the result because a run was killed before drawing.
bool needs_drawing(const Task& task) {
  return !fs::exists(task.picture) ||
         fs::last_write_time(task.picture) < fs::last_write_time(task.result);
}

class Reproduction {
 public:
  Reproduction(std::vector<Task> tasks, Options options)
      : tasks_(std::move(tasks)), options_(std::move(options)) {
    for (Task& task : tasks_) {
      if (!task.requested) continue;
      ++requested_count_;
      longest_name_ = std::max(longest_name_, task.name.size());
    }
  }

  int run() {
    for (Task& task : tasks_) find_result(task);
    announce();
    const auto start = std::chrono::steady_clock::now();
    for (Task& task : tasks_) {
      if (!task.requested) continue;
      ++turn_;
      const int signal = run_task(task);
      if (signal == 0) continue;
      print_line("interrupted; the same command continues the run");
      return 128 + signal;
    }
    write_page();
    const bool contradicts = options_.expect && contradicts_published();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    print_line(page() + " after " + duration_text(elapsed.count()) +
               (failed_ > 0 ? "; " + plural(failed_, "preset") + " failed" : ""));
    return failed_ > 0 ? 1 : contradicts ? 3 : 0;
  }

 private:
  // Prints the line of --expect about all requested presets.
  bool contradicts_published() {
    Agreement agreement;
    std::vector<std::string> left_out;
    for (Task& task : tasks_) {
      if (!task.requested || !task.finished) continue;
      const std::string program = value_or(task.finished->environment, "program", std::string());
      const std::string why =
          program != program_checksum() ? "kept from another program" : why_not_published(task.run);
      if (why.empty()) {
        agreement.add(*task.finished, *published_result(task.name));
      } else {
        left_out.push_back(task.name + ": " + why);
      }
    }
    print_line(agreement.text() +
               (left_out.empty() ? "" : "; not compared: " + joined(left_out, "; ")));
    return !agreement.contradictions.empty();
  }

  static void print_line(const std::string& line) {
    std::fprintf(stderr, "%s\n", printable(line).c_str());
  }
  std::string page() const { return options_.out + "/report.html"; }

  static void find_result(Task& task) {
    task.finished.reset();
    if (task.requested && !task.problem.empty()) return;
    try {
      if (task.requested) {
        task.finished = finished_result(task);
      } else if (ResultFile earlier = read_result(task.result);
                 earlier.status != Status::interrupted) {
        task.finished = std::move(earlier);  // of any program: the page is about the whole folder
      }
    } catch (const Failure&) {
      // run_task() reports it in its turn
    }
  }

  void announce() const {
    std::size_t kept = 0;
    double seconds = 0;
    for (const Task& task : tasks_) {
      if (task.requested) task.finished ? void(++kept) : void(seconds += task.seconds);
    }
    print_line(plural(requested_count_, "preset") + ", " +
               (kept > 0 ? std::to_string(kept) + " of them finished, " : "") + "about " +
               duration_text(seconds * 2 /
                             static_cast<double>(std::max<std::uint64_t>(2, available_cores()))) +
               " left");
  }

  std::string label(const Task& task) const {
    const std::string total = std::to_string(requested_count_), number = std::to_string(turn_);
    return "[" + std::string(total.size() - number.size(), ' ') + number + "/" + total + "] " +
           task.name + std::string(longest_name_ - task.name.size(), ' ');
  }

  // The signal that interrupted the task, or 0.
  int run_task(Task& task) {
    try {
      // Its input files may have been written in the meantime.
      if (!task.preset.after.empty()) {
        prepare(task, options_);
        find_result(task);
      }
      if (!task.problem.empty()) throw Failure(task.problem);
      const bool is_new = !task.finished;
      std::string took = "kept";
      if (is_new) {
        if (!options_.force) finished_result(task);  // throws if the file holds a different run
        Execution execution = compute(task);
        if (execution.signal != 0) return execution.signal;
        task.finished = std::move(execution.result);
        took = duration_text(task.finished->timing.wall);
      }
      if (is_new || needs_drawing(task)) draw_figure(*task.finished, task.picture);
      print_line(label(task) + "  " + std::string(took.size() < 7 ? 7 - took.size() : 0, ' ') +
                 took + "  " + counts_text(count(task.finished->claims)));
      if (is_new) write_page();
    } catch (const std::exception& error) {
      ++failed_;
      print_line(label(task) + "  failed: " + error.what());
    }
    return 0;
  }

  // Runs the task and writes its result.
  Execution compute(Task& task) {
    CommonOptions& run = task.run.options();
    run.out = task.result;
    run.force = options_.force;
    run.quiet = true;
    refuse_to_replace_with_outputs(task.run);
    check_report(task.run);
    check_memory(task.run);
    check_writable(task.result);
    Journal journal = open_journal(task, options_.force);
    if (journal.discarded() && !options_.force)
      print_line(label(task) + "  starting over: another program left the finished trials");
    if (!journal.loss().empty())
      print_line(label(task) + "  " + journal.path() + " " + journal.loss());
    const Progress::Look look{::isatty(STDERR_FILENO) != 0, label(task)};
    Execution out = execute(task.run, &journal, look, {"ranklab", "reproduce", task.name});
    if (out.signal == 0) deliver(task.run, out, &journal);
    return out;
  }

  void write_page() {
    std::vector<ResultFile> results;
    std::vector<std::string> files;
    for (const Task& task : tasks_) {
      if (!task.finished) continue;
      results.push_back(*task.finished);
      files.push_back(task.result);
    }
    write_file_atomically(page(), html_report(results, files));
  }

  std::vector<Task> tasks_;
  Options options_;
  std::size_t requested_count_ = 0, turn_ = 0, longest_name_ = 0, failed_ = 0;
};

int reproduce(const std::vector<std::string>& names, const Options& options) {
  require_presets();
  if (options.expect && published_results().empty())
    throw UsageError(std::string("--expect: ") + no_published_verdicts);
  for (const std::string& name : names) {
    if (options.expect && is_preset(name) && published_result(name) == nullptr)
      throw UsageError("--expect: the preset " + name + " has no published verdicts");
  }
  return Reproduction(tasks_of(names, options), options).run();
}

}  // namespace

Utility reproduce_command() {
  const auto options = std::make_shared<Options>();
  return {
      .name = "reproduce",
      .usage = "[PRESET...]",
      .summary = "run all presets, or the named ones, and write results, figures and a report",
      .details =
          "Rewrites OUT/report.html with all finished results after each preset. Long presets "
          "run fewer inputs, seeds or steps unless --full is given. Keeps finished results of "
          "this program. Exits with status 1 if a preset could not be run.",
      .takes = {0, any_number},
      .flags = {text_field("out", options->out, "folder of the results, figures and report"),
                switch_field("full", options->full,
                             "use the papers' numbers of inputs and seeds in every preset"),
                switch_field("force", options->force,
                             "replace the results of runs with other parameters"),
                switch_field("expect", options->expect,
                             "compare the verdicts with the published ones in one line; exit with "
                             "status 3 if one contradicts"),
                size_field("threads", options->threads, 0, 1024, "",
                           "threads of each run; 0: all cores")},
      .run = [options](const Arguments& given) { return reproduce(given.positional, *options); },
  };
}

}  // namespace ranklab
