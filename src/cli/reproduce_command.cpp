// `ranklab reproduce [PRESET...]`: every preset with its picture, the cheap ones first, and the page, renewed after each. What is
// done is kept; an interrupted run goes on; a preset that fails does not stop the others.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/execute.hpp"
#include "cli/help.hpp"
#include "cli/presets.hpp"
#include "cli/summary.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/changes.hpp"
#include "report/environment.hpp"
#include "report/figure/gnuplot.hpp"
#include "report/page/page.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Options {
  std::string out = "results";
  bool full = false, force = false;
  std::uint64_t threads = 0;
};

struct Task {
  std::string name;
  double seconds = 0;  // expected, on two cores
  ResolvedRun run;
  Json config, full, reduced;   // of this run, of the preset as it stands, and as it is run in minutes
  std::string result, picture;  // paths
};

Task task_of(const std::string& name, const Options& options) {
  const Json preset = read_preset(name);
  const Experiment* experiment = find_experiment(preset["command"]);
  if (experiment == nullptr) throw UsageError("preset " + name + ": the command " + preset["command"].dump() + " is unknown");
  Arguments arguments;
  arguments.flags = {{"preset", name}};
  if (options.threads > 0) arguments.flags.emplace_back("threads", std::to_string(options.threads));
  Task task;
  task.name = name;
  task.result = options.out + "/" + name + ".json";
  task.picture = options.out + "/" + name + ".svg";
  ResolvedRun full = resolve_run(*experiment, arguments);
  if (preset.contains("reproduce")) {
    for (const auto& [key, value] : preset["reproduce"]["config"].items()) arguments.flags.emplace_back(key, flag_text(value));
  }
  ResolvedRun reduced = resolve_run(*experiment, arguments);
  task.full = full.config();
  task.reduced = reduced.config();
  const bool is_full = options.full || task.full == task.reduced;
  task.seconds = is_full ? preset.value("seconds", 0.0) : preset["reproduce"]["seconds"].get<double>();
  task.run = std::move(is_full ? full : reduced);
  task.config = is_full ? task.full : task.reduced;
  return task;
}

std::vector<Task> tasks_of(const std::vector<std::string>& names, const Options& options) {
  std::vector<Task> tasks;
  for (const auto& name : names) tasks.push_back(task_of(name, options));
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.seconds < b.seconds; });
  return tasks;
}

// The whole result of an earlier run with the task's parameters, of this program, or with the preset's own, or null. Throws Failure
// where the file holds something else.
Json finished_result(const Task& task) {
  if (!fs::exists(task.result)) return nullptr;
  Json earlier = read_result(task.result);
  const Json config = earlier["config"];
  if (config != task.full && config != task.reduced) throw Failure("it holds a run with other parameters");
  if (earlier["status"] == "interrupted") return nullptr;
  const bool is_same = config == task.config && earlier["environment"].value("program", "") == program_checksum();
  // A full run that took an hour is not replaced by a shorter one because the program is another.
  const bool is_more = config == task.full && task.config != task.full;
  return is_same || is_more ? earlier : Json();
}

// The journal of the task, with the trials that an interrupted run of this program has left in it.
Journal open_journal(Task& task, bool force) {
  const std::string mine = journal_identity(task.run), found = Journal::owner(task.result);
  const auto program = [](const std::string& identity) { return identity.substr(0, identity.find('\n')); };
  if (!force && found != mine && program(found) == program(mine))
    throw Failure("an interrupted run with other parameters has left its trials there");
  return {task.result, mine, found == mine};
}

class Reproduction {
 public:
  Reproduction(std::vector<Task> tasks, Options options) : tasks_(std::move(tasks)), options_(std::move(options)) {
    for (Task& task : tasks_) ++uses_[key_of(task)];
  }

  int run() {
    std::vector<Json> finished;
    double seconds = 0;
    for (Task& task : tasks_) {
      finished.push_back(nullptr);
      try {
        finished.back() = finished_result(task);
      } catch (const Failure&) {
        // told when it is its turn
      }
      if (finished.back().is_null()) seconds += task.seconds;
    }
    const auto kept =
        static_cast<std::size_t>(std::count_if(finished.begin(), finished.end(), [](const Json& r) { return !r.is_null(); }));
    say(counted(tasks_.size(), "preset") + ", " + (kept > 0 ? std::to_string(kept) + " of them done already, " : "") + "about " +
        duration_text(seconds * 2 / static_cast<double>(std::max<std::uint64_t>(2, available_cores()))) + " to go");
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (const int signal = one(i, std::move(finished[i])); signal != 0) {
        say("interrupted; the same command goes on from here");
        return 128 + signal;
      }
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    say(page() + " after " + duration_text(elapsed.count()) + (failed_ > 0 ? "; " + counted(failed_, "preset") + " failed" : ""));
    return failed_ > 0 ? 1 : 0;
  }

 private:
  static std::string key_of(Task& task) { return task.run.experiment->name + task.run.trials_config().dump(); }
  static void say(const std::string& line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); }
  std::string page() const { return options_.out + "/report.html"; }

  std::string label(std::size_t i) const {
    const std::string total = std::to_string(tasks_.size()), number = std::to_string(i + 1);
    std::size_t width = 0;
    for (const Task& task : tasks_) width = std::max(width, task.name.size());
    return "[" + std::string(total.size() - number.size(), ' ') + number + "/" + total + "] " + tasks_[i].name +
           std::string(width - tasks_[i].name.size(), ' ');
  }

  // The signal that interrupted the task, or 0.
  int one(std::size_t i, Json finished) {
    Task& task = tasks_[i];
    try {
      std::string took = "done before";
      if (finished.is_null()) {
        if (!options_.force) finished_result(task);  // throws where the file holds something else
        const Execution execution = compute(task, label(i));
        if (execution.signal != 0) return execution.signal;
        finished = Json::parse(execution.document.dump());
        write_file_atomically(task.result, format_json(execution.document));
        draw_figure(finished, task.picture, false);
        took = duration_text(execution.wall_seconds);
      } else if (!fs::exists(task.picture)) {
        draw_figure(finished, task.picture, false);
      }
      say(label(i) + "  " + std::string(took.size() < 7 ? 7 - took.size() : 0, ' ') + took + "  " +
          verdict_counts(nlohmann::ordered_json(finished["claims"])));
      results_.push_back(std::move(finished));
      files_.push_back(task.result);
      pictures_.push_back(read_file(task.picture));
      write_file_atomically(page(), html_report(results_, files_, pictures_));
    } catch (const std::exception& error) {
      ++failed_;
      say(label(i) + "  not run: " + task.result + ": " + error.what() + (options_.force ? "" : " (--force replaces it)"));
    }
    return 0;
  }

  Execution compute(Task& task, const std::string& label) {
    check_memory(task.run);
    check_writable(task.result);
    Journal journal = open_journal(task, options_.force);
    const std::string key = key_of(task);
    const bool is_shared = uses_[key] > 1;
    const Progress::Look look{::isatty(STDERR_FILENO) != 0, label};
    Execution out = execute(task.run, &journal, look, {"ranklab", "reproduce", task.name}, is_shared ? &shared_[key] : nullptr);
    if (out.signal == 0) journal.remove();
    return out;
  }

  std::vector<Task> tasks_;
  Options options_;
  std::map<std::string, int> uses_;  // tasks that have the same trials
  std::map<std::string, SharedTrials> shared_;
  std::vector<Json> results_;
  std::vector<std::string> files_, pictures_;  // paths of the results, and their figures as SVG
  std::size_t failed_ = 0;
};

}  // namespace

int reproduce_command(const std::vector<std::string>& words) {
  Options options;
  const std::vector<Field> fields = {
      text_field("out", options.out, "the folder of the results, pictures and page"),
      switch_field("full", options.full, "the papers' own numbers of inputs and seeds in every preset"),
      switch_field("force", options.force, "replace results of runs with other parameters"),
      size_field("threads", options.threads, 0, 1024, "", "trials run at once; 0: all cores"),
  };
  const Arguments arguments = parse_utility(words, fields);
  const std::string summary =
      "Runs every preset, or those named, draws the pictures and renews OUT/report.html after each. Long presets run fewer inputs "
      "or\n"
      "seeds unless --full. What this program has done before is kept. Exit 1 where a preset could not be run.";
  if (prints_help(arguments, "reproduce [PRESET...] [flags]", summary, fields)) return 0;
  const std::vector<std::string> names = arguments.positional.empty() ? preset_names() : arguments.positional;
  if (names.empty()) throw Failure("no folder experiments/ with presets here or beside the program");
  return Reproduction(tasks_of(names, options), options).run();
}

}  // namespace ranklab
