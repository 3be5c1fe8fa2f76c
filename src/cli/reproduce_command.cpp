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
  bool asked_for = true;        // else it is only shown, where it has been done
  std::string after;            // the task that writes files which it reads
  std::string broken;           // why it cannot be run, found before anything is
  Json finished = {};           // its result; null: not yet
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
  task.after = preset.value("after", "");
  task.result = options.out + "/" + name + ".json";
  task.picture = options.out + "/" + name + ".svg";
  ResolvedRun full = resolve_run(*experiment, arguments);
  Json fewer = {{"command", preset["command"]}, {"config", Json::object()}};
  if (preset.contains("reproduce")) fewer["config"] = preset["reproduce"]["config"];
  ResolvedRun reduced = resolve_document(*experiment, arguments, fewer, "preset " + name + ": reproduce");
  task.full = full.config();
  task.reduced = reduced.config();
  const bool is_full = options.full || task.full == task.reduced;
  task.seconds = is_full ? preset.value("seconds", 0.0) : preset["reproduce"]["seconds"].get<double>();
  task.run = std::move(is_full ? full : reduced);
  task.config = is_full ? task.full : task.reduced;
  return task;
}

// "" where the preset cannot be read.
std::string after_of(const std::string& name) {
  try {
    return read_preset(name).value("after", "");
  } catch (const std::exception&) {
    return "";
  }
}

// Of every preset: the page shows all that is done.
std::vector<Task> tasks_of(std::vector<std::string> asked_for, const Options& options) {
  const std::vector<std::string> presets = preset_names();
  for (std::size_t i = 0; i < asked_for.size(); ++i) {
    const std::string after = read_preset(asked_for[i]).value("after", "");  // throws for an unknown one
    if (!after.empty()) asked_for.push_back(after);
  }
  std::vector<Task> tasks;
  for (const auto& name : presets) {
    const bool is_asked_for = asked_for.empty() || std::find(asked_for.begin(), asked_for.end(), name) != asked_for.end();
    try {
      tasks.push_back(task_of(name, options));
    } catch (const std::exception& error) {  // does not stop the others
      tasks.push_back(Task{});
      tasks.back().name = name;
      tasks.back().after = after_of(name);
      tasks.back().broken = error.what();
    }
    tasks.back().asked_for = is_asked_for;
  }
  // Those that read what others write come last.
  const auto order = [](const Task& task) { return std::pair(!task.after.empty(), task.seconds); };
  std::stable_sort(tasks.begin(), tasks.end(), [&](const Task& a, const Task& b) { return order(a) < order(b); });
  return tasks;
}

// The whole result of an earlier run with the task's parameters, of this program, or with the preset's own, or null. Throws Failure
// where the file holds something else.
Json finished_result(const Task& task) {
  if (!fs::exists(task.result)) return nullptr;
  Json earlier = read_result(task.result);
  const Json config = earlier["config"];
  if (config != task.full && config != task.reduced)
    throw Failure(task.result + " holds a run with other parameters; --force replaces it");
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
    throw Failure(Journal::path_for(task.result) +
                  " holds the trials of an interrupted run with other parameters; --force discards them");
  return {task.result, mine, found == mine};
}

// True where the picture is older than the result, or missing: a killed run may have left it behind.
bool needs_drawing(const Task& task) {
  return !fs::exists(task.picture) || fs::last_write_time(task.picture) < fs::last_write_time(task.result);
}

class Reproduction {
 public:
  Reproduction(std::vector<Task> tasks, Options options) : tasks_(std::move(tasks)), options_(std::move(options)) {
    for (Task& task : tasks_) {
      if (!task.asked_for) continue;
      if (task.broken.empty()) ++uses_[key_of(task)];
      ++asked_for_;
      longest_name_ = std::max(longest_name_, task.name.size());
    }
  }

  int run() {
    for (Task& task : tasks_) {
      if (!task.broken.empty()) continue;
      try {
        task.finished = finished_result(task);
      } catch (const Failure&) {
        // told when it is its turn
      }
    }
    announce();
    const auto start = std::chrono::steady_clock::now();
    for (Task& task : tasks_) {
      if (!task.asked_for) continue;
      ++turn_;
      const int signal = take(task);
      if (signal == 0) continue;
      say("interrupted; the same command goes on from here");
      return 128 + signal;
    }
    write_page();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    say(page() + " after " + duration_text(elapsed.count()) + (failed_ > 0 ? "; " + counted(failed_, "preset") + " failed" : ""));
    return failed_ > 0 ? 1 : 0;
  }

 private:
  static std::string key_of(Task& task) { return task.run.experiment->name + task.run.trials_config().dump(); }
  static void say(const std::string& line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); }
  std::string page() const { return options_.out + "/report.html"; }

  void announce() const {
    std::size_t kept = 0;
    double seconds = 0;
    for (const Task& task : tasks_) {
      if (task.asked_for) task.finished.is_null() ? void(seconds += task.seconds) : void(++kept);
    }
    say(counted(asked_for_, "preset") + ", " + (kept > 0 ? std::to_string(kept) + " of them done already, " : "") + "about " +
        duration_text(seconds * 2 / static_cast<double>(std::max<std::uint64_t>(2, available_cores()))) + " to go");
  }

  std::string label(const Task& task) const {
    const std::string total = std::to_string(asked_for_), number = std::to_string(turn_);
    return "[" + std::string(total.size() - number.size(), ' ') + number + "/" + total + "] " + task.name +
           std::string(longest_name_ - task.name.size(), ' ');
  }

  // The signal that interrupted the task, or 0.
  int take(Task& task) {
    try {
      // What was missing before may have been written since.
      if (!task.after.empty() && !task.broken.empty()) {
        task = task_of(task.name, options_);
        task.finished = options_.force ? Json() : finished_result(task);
      }
      if (!task.broken.empty()) throw Failure(task.broken);
      const bool is_new = task.finished.is_null();
      std::string took = "done before";
      if (is_new) {
        if (!options_.force) finished_result(task);  // throws where the file holds something else
        const Execution execution = compute(task);
        if (execution.signal != 0) return execution.signal;
        write_file_atomically(task.result, format_json(execution.document));
        task.finished = Json::parse(execution.document.dump());
        took = duration_text(execution.wall_seconds);
      }
      if (is_new || needs_drawing(task)) draw_figure(task.finished, task.picture, false);
      say(label(task) + "  " + std::string(took.size() < 7 ? 7 - took.size() : 0, ' ') + took + "  " +
          verdict_counts(nlohmann::ordered_json(task.finished["claims"])));
      if (is_new) write_page();
    } catch (const std::exception& error) {
      ++failed_;
      say(label(task) + "  failed: " + error.what());
    }
    return 0;
  }

  Execution compute(Task& task) {
    check_memory(task.run);
    check_writable(task.result);
    Journal journal = open_journal(task, options_.force);
    const std::string key = key_of(task);
    const bool is_shared = uses_[key] > 1;
    const Progress::Look look{::isatty(STDERR_FILENO) != 0, label(task)};
    Execution out = execute(task.run, &journal, look, {"ranklab", "reproduce", task.name}, is_shared ? &shared_[key] : nullptr);
    if (out.signal == 0) journal.remove();
    return out;
  }

  void write_page() {
    std::vector<Json> results;
    std::vector<std::string> files, pictures;
    for (const Task& task : tasks_) {
      if (task.finished.is_null()) continue;
      results.push_back(task.finished);
      files.push_back(task.result);
      pictures.push_back(needs_drawing(task) ? "" : read_file(task.picture));
    }
    write_file_atomically(page(), html_report(results, files, pictures));
  }

  std::vector<Task> tasks_;
  Options options_;
  std::size_t asked_for_ = 0, turn_ = 0, longest_name_ = 0, failed_ = 0;
  std::map<std::string, int> uses_;  // tasks that have the same trials
  std::map<std::string, SharedTrials> shared_;
};

}  // namespace

int reproduce_command(const std::vector<std::string>& words) {
  Options options;
  const std::vector<Field> fields = {
      text_field("out", options.out, "folder of the results, figures and report"),
      switch_field("full", options.full, "use the papers' numbers of inputs and seeds in every preset"),
      switch_field("force", options.force, "replace the results of runs with other parameters"),
      size_field("threads", options.threads, 0, 1024, "", "number of trials run at once; 0: all cores"),
  };
  const Arguments arguments = parse_utility(words, fields);
  const std::string summary =
      "Runs every preset, or those named, and draws the figures. Rewrites OUT/report.html with all finished results after each "
      "preset. Long presets run fewer inputs, seeds or steps unless --full is given. Finished results of this program are kept. "
      "Exits with status 1 if a preset could not be run.";
  if (prints_help(arguments, "reproduce [PRESET...] [flags]", summary, fields)) return 0;
  if (preset_names().empty()) throw Failure("no folder experiments/ with presets here or beside the program");
  return Reproduction(tasks_of(arguments.positional, options), options).run();
}

}  // namespace ranklab
