// `ranklab where CLAIM|STATEMENT`: the lines of the source that judge a claim, and those that
// compute its numbers. Ids may be made from the flags of the run, so a preset runs one trial.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/execute.hpp"
#include "cli/input_files.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "report/catalog.hpp"
#include "report/published.hpp"

namespace ranklab {
namespace {

using Wanted = std::function<bool(const Claim&)>;

// The claims of results that are wanted, by preset.
struct Judging {
  std::map<std::string, std::vector<std::string>> ids;
  std::string best;  // most of the claims, then the shortest trial; empty: no claim is wanted
};

// False if a hypothesis is not met.
bool applies(const Claim& claim) {
  return claim.verdict != Verdict::not_applicable || claim.undecided || claim.shortened;
}

Judging judging_all(const std::vector<ResultFile>& results, const Wanted& is_wanted) {
  Judging out;
  std::size_t most = 0;
  double shortest = 0;
  for (const ResultFile& result : results) {
    if (!result.preset || !is_preset(*result.preset)) continue;
    std::vector<std::string>& ids = out.ids[*result.preset];
    for (const Claim& claim : result.claims) {
      if (is_wanted(claim) && claim.judged_in.empty()) ids.push_back(claim.id);
    }
    const double seconds = result.timing.wall / static_cast<double>(result.trials.completed);
    if (ids.size() > most || (ids.size() == most && most > 0 && seconds < shortest))
      out.best = *result.preset, most = ids.size(), shortest = seconds;
  }
  std::erase_if(out.ids, [](const auto& preset) { return preset.second.empty(); });
  return out;
}

// Of the claims that apply, or of all if none does.
Judging judging(const std::vector<ResultFile>& results, const Wanted& is_wanted) {
  Judging out =
      judging_all(results, [&](const Claim& claim) { return is_wanted(claim) && applies(claim); });
  return out.best.empty() ? judging_all(results, is_wanted) : out;
}

// One trial of a preset.
Execution run_one_trial_of(Preset preset, bool shortened) {
  const Experiment& experiment = experiment_of(preset.command, preset.name);
  const auto study = study_of(experiment, {preset, {}, {}}).make();
  // Only a run writes the files that its preset names.
  for (const Field& field : study->fields()) {
    if (field.names_output) preset.config.erase(field.name);
  }
  RunSources sources = {preset, {}, {}};
  if (shortened) {
    sources.config = ParameterFile{preset.name, preset.command, preset.reproduce->config};
    sources.config->owner = owner_of(preset);
  }
  sources.flags.flags = {{"trials", "1"}};
  ResolvedRun run = resolve(experiment, sources);
  check_memory(run);
  const WatchedReads watched;
  return execute(run, nullptr, {false}, {}, OnMistake::is_kept);
}

std::string shown(const SourceLine& line) {
  std::string_view file = line.file;
  if (file.starts_with("./")) file.remove_prefix(2);
  return say("{}:{}", std::string(file), line.line);
}

// Names by the line of the source where they are set or judged, in order of first appearance.
struct NamesByLine {
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;

  void add(const SourceLine& at, const std::string& name) {
    const std::string line = shown(at);
    const auto same = std::find_if(lines.begin(), lines.end(),
                                   [&](const auto& each) { return each.first == line; });
    if (same == lines.end()) {
      lines.push_back({line, {name}});
    } else if (std::find(same->second.begin(), same->second.end(), name) == same->second.end()) {
      same->second.push_back(name);
    }
  }
};

// "gd.loss and 2 others"
std::string first_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return names.front();
  return say("{} and {}", names.front(), plural(names.size() - 1, "other"));
}

// Each line that judges, and below it the lines that compute the numbers of these claims.
void print(const std::vector<Claim>& claims) {
  NamesByLine judged;
  for (const Claim& claim : claims) judged.add(claim.judged_at, claim.id);
  for (const auto& [line, ids] : judged.lines) {
    std::printf("%s: judges %s\n", line.c_str(), first_of(ids).c_str());
    NamesByLine computed;
    for (const Claim& claim : claims) {
      if (shown(claim.judged_at) != line) continue;
      for (const auto& [name, set_at] : claim.read) computed.add(set_at, name);
    }
    for (const auto& [at, names] : computed.lines)
      std::printf("  %s: computes %s\n", at.c_str(), first_of(names).c_str());
  }
}

// The statements of the catalog that the words name, such as "Theorem 3.11" or "spectral thm-3.11".
std::vector<const PaperStatement*> statements_named(const std::vector<std::string>& words) {
  std::vector<const PaperStatement*> out;
  for (const Paper& paper : papers()) {
    const bool begins_with_paper = words.size() > 1 && is_named(paper, words.front());
    const std::string name = joined({words.begin() + begins_with_paper, words.end()}, " ");
    for (const PaperStatement& statement : paper.statements) {
      if (is_named(statement, name)) out.push_back(&statement);
    }
  }
  return out;
}

// Those of the folder, or the published ones if it is not given.
std::vector<ResultFile> results_of(const std::string& folder) {
  if (folder.empty()) return published_results();
  std::vector<ResultFile> out;
  for (auto& [path, result] : results_in(folder)) out.push_back(std::move(result));
  return out;
}

int show(const std::vector<std::string>& given, const std::string& folder) {
  require_presets();
  const std::vector<ResultFile> results = results_of(folder);
  const std::string word = joined(given, " ");
  std::istringstream separate(word);  // a statement may be one argument: "[Spectral] Theorem 3.7"
  const std::vector<std::string> words(std::istream_iterator<std::string>(separate), {});
  Wanted is_wanted = [&](const Claim& claim) { return claim.id == word; };
  Judging found = judging(results, is_wanted);
  if (found.best.empty()) {
    const std::vector<const PaperStatement*> statements = statements_named(words);
    if (statements.size() == 1 && !statements.front()->not_judged.empty())
      throw UsageError("where: no claim judges " + statements.front()->id + ": " +
                       statements.front()->not_judged);
    is_wanted = [statements](const Claim& claim) {
      return std::any_of(statements.begin(), statements.end(), [&](const PaperStatement* each) {
        return claim.statement_id == each->id;
      });
    };
    found = judging(results, is_wanted);
  }
  if (found.best.empty()) {
    std::vector<std::string> ids;
    for (const ResultFile& result : results) {
      for (const Claim& claim : result.claims) ids.push_back(claim.id);
    }
    throw UsageError(
        "where: no " +
        (folder.empty() ? "published preset" : "preset with a result in " + printable(folder)) +
        " judges '" + printable_key(word) + "'" + did_you_mean(word, ids));
  }
  const Preset preset = read_preset(found.best);
  std::vector<Claim> claims;
  for (const bool shortened : {true, false}) {
    if (!claims.empty() || (shortened && !preset.reproduce)) continue;
    const Execution execution = run_one_trial_of(preset, shortened);
    if (execution.signal != 0) return 128 + execution.signal;
    claims = execution.result->claims;
    std::erase_if(claims, [&](const Claim& claim) { return !is_wanted(claim); });
  }
  if (claims.empty())
    throw Failure("where: one trial of " + preset.name + " judges no '" + printable_key(word) +
                  "'");
  std::printf("one trial of %s, %s --study %s:\n", preset.name.c_str(), preset.command.c_str(),
              preset.config.value("study", "").c_str());
  print(claims);
  for (const auto& [name, ids] : found.ids) {
    if (name != preset.name)
      std::printf("%s judges it too: %s\n", name.c_str(), first_of(ids).c_str());
  }
  return 0;
}

}  // namespace

Utility where_command() {
  const auto folder = std::make_shared<std::string>();
  return {
      .name = "where",
      .usage = "CLAIM|STATEMENT",
      .summary = "show the lines of the source that judge a claim and compute its numbers",
      .details =
          "Takes a claim, such as spectral/eq-1.5/gd, or a statement, such as spectral "
          "Theorem 3.11. Runs one trial of a preset that judges it.",
      .takes = {1, any_number, "a claim, such as spectral/eq-1.5/gd, or a statement"},
      .flags = {text_field(
          "results", *folder,
          "folder of results that have the claim (not given: the published ones)")},
      .run = [folder](const Arguments& given) { return show(given.positional, *folder); },
  };
}

}  // namespace ranklab
