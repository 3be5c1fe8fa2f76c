// `ranklab judge RESULT... --claim TEXT`: judges statements of one's own from results that exist.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cli/commands.hpp"
#include "cli/overwrite.hpp"
#include "cli/quantities.hpp"
#include "cli/report_file.hpp"
#include "cli/summary.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "own/report.hpp"
#include "result/changes.hpp"
#include "result/result_file.hpp"
#include "result/same_run.hpp"

namespace ranklab {
namespace {

// The statements of one's own in an earlier result of the same run at --out, which stay. Refuses to
// replace an input, any other file, and curves of single trials that `result` does not have.
std::vector<OwnStatement> statements_at(const std::string& out,
                                        const std::vector<std::string>& inputs,
                                        const ResultFile& result, bool force) {
  std::error_code error;
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--out " + printable_key(out) + ": " + why);
  };
  if (is_one_of(out, inputs)) refuse("is a result that is judged; name another file");
  if (force || !std::filesystem::is_regular_file(out, error)) return {};
  std::string held = "is not a ranklab result";
  try {
    const ResultFile earlier = read_result(out);
    const bool is_same = earlier.command == result.command && earlier.config == result.config,
               loses_curves = earlier.keeps_trials && !result.keeps_trials;
    if (is_same && !loses_curves) return own_statements_of(earlier);
    held = loses_curves && is_same
               ? "keeps the curves of every trial, which " + printable_key(inputs[0]) + " does not"
               : "holds a different run";
  } catch (const Failure&) {
  }
  refuse(held + "; --force replaces it");
  return {};
}

// The statements of both lists. Throws UsageError if they use one id for different statements.
std::vector<OwnStatement> joined_statements(std::vector<OwnStatement> statements,
                                            const std::vector<OwnStatement>& more,
                                            const std::string& out) {
  for (const OwnStatement& own : more) {
    const auto same = std::ranges::find(statements, own.id, &OwnStatement::id);
    if (same == statements.end()) {
      statements.push_back(own);
    } else if (same->claim != own.claim) {
      throw UsageError("--out " + printable_key(out) + ": has another statement with the id '" +
                       printable_key(own.id) + "'; --force replaces it");
    }
  }
  return statements;
}

struct JudgeOptions {
  std::string out, claim, with;
  bool force = false, strict = false;
};

// Those of --with and --claim, and those of the first result and of --out that are kept.
struct Statements {
  std::vector<OwnStatement> kept, asked;
};

Statements statements_of(const Arguments& given, const std::vector<ResultFile>& results,
                         const OwnReport& report, const JudgeOptions& options) {
  const std::string& out = options.out;
  Statements of{own_statements_of(results.front()), {}};
  if (!out.empty()) {
    if (results.size() > 1)
      throw UsageError(
          "--out: needs exactly one result; it writes that result with the statements added");
    of.kept = joined_statements(
        std::move(of.kept), statements_at(out, given.positional, results.front(), options.force),
        out);
  }
  of.asked = report.claims;
  std::erase_if(of.kept, [&](const OwnStatement& kept) {
    return std::ranges::find(of.asked, kept.id, &OwnStatement::id) != of.asked.end();
  });
  std::vector<OwnStatement> typed;
  for (const auto& [name, value] : given.flags) {
    if (name == "claim") typed.push_back({"", "", value});
  }
  std::vector<OwnStatement> others = of.kept;
  others.insert(others.end(), of.asked.begin(), of.asked.end());
  std::ranges::move(checked(std::move(typed), "--claim", others), std::back_inserter(of.asked));
  return of;
}

// What can be judged: the quantities, and the flags that are numbers.
void print_names(const ResultFile& result) {
  const std::size_t columns = columns_of(STDOUT_FILENO, page_columns);
  std::fputs(quantities_text(listed(result), columns).c_str(), stdout);
  std::vector<std::string> flags;
  for (const auto& [name, value] : result.config.items()) {
    if (value.is_number()) flags.push_back(printable_key(name));
  }
  if (!flags.empty()) std::printf("flags\n    %s", wrapped(joined(flags), 6, columns - 4).c_str());
}

// Adds the quantities of a report to all results, and its panels and notes to the first.
void apply(const OwnReport& report, std::vector<ResultFile>& results, Mistakes& mistakes) {
  for (ResultFile& result : results) add_own_quantities(report, result, mistakes);
  add_own_panels(report, results.front(), mistakes);
}

// Replaces the statements of one's own in the first result. Any of the results may be a short run.
void replace_own(std::vector<ResultFile>& results, std::vector<Claim> claims) {
  ResultFile& first = results.front();
  std::erase_if(first.claims, [](const Claim& claim) { return claim.kind == Kind::own; });
  add_own(first, std::move(claims));
  const std::vector<Change> changed = first.changed;
  for (const ResultFile& result : results) {
    first.changed = &result == &first ? changed : result.changed;
    withhold_verdicts(first);
  }
  first.changed = changed;
}

// Prints the mistakes.
bool refuses(const Mistakes& mistakes, const std::string& label) {
  for (const std::string& mistake : mistakes)
    std::fprintf(stderr, "ranklab: %s: %s\n", printable(label).c_str(), printable(mistake).c_str());
  return !mistakes.empty();
}

int judge(const Arguments& given, const JudgeOptions& options) {
  std::vector<ResultFile> results;
  std::vector<std::string> paths = given.positional;
  for (const std::string& path : paths) {
    results.push_back(read_result(path));
    require_same_trials(results.back(), printable(path));
  }
  for (const std::string& line : drop_repeated_runs(results, paths))
    std::fprintf(stderr, "%s\n", printable(line).c_str());
  if (options.with.empty() && options.claim.empty()) {
    if (!options.out.empty()) throw UsageError("--out: needs --claim TEXT or --with FILE.json");
    for (const ResultFile& result : results) print_names(result);
    return 0;
  }
  OwnReport report;
  if (!options.with.empty()) {
    report = report_for(results.front(), options.with);
    for (ResultFile& result : results) remove_own_report(result, report);
  }
  const Statements statements = statements_of(given, results, report, options);
  std::vector<NamedResult> all;
  for (std::size_t i = 0; i < results.size(); ++i)
    all.push_back({&results[i], results.size() > 1 ? printable_key(paths[i]) : ""});
  std::vector<std::string> mistakes, earlier_mistakes;
  apply(report, results, mistakes);
  if (refuses(mistakes, "--with " + options.with)) return 2;
  std::vector<Claim> claims = judge_own(statements.kept, all, earlier_mistakes);
  const auto typed = statements.asked.begin() + static_cast<std::ptrdiff_t>(report.claims.size());
  const auto judge_these = [&](const std::vector<OwnStatement>& these) {
    std::ranges::move(judge_own(these, all, mistakes), std::back_inserter(claims));
  };
  judge_these({statements.asked.begin(), typed});
  if (refuses(mistakes, "--with " + options.with)) return 2;
  judge_these({typed, statements.asked.end()});
  if (refuses(mistakes, "--claim")) return 2;
  replace_own(results, std::move(claims));
  ResultFile& first = results.front();
  const std::size_t notes = first.notes.size();
  add_own_notes(report, first, mistakes);
  if (refuses(mistakes, "--with " + options.with)) return 2;
  if (!report.empty()) first.report = to_json_value(report);
  std::vector<Claim> asked;
  std::ranges::copy_if(first.claims, std::back_inserter(asked), [&](const Claim& claim) {
    const auto found = std::ranges::find(statements.asked, claim.statement_id, &OwnStatement::id);
    return claim.kind == Kind::own && found != statements.asked.end();
  });
  print_claims(asked, stdout);
  for (std::size_t i = notes; i < first.notes.size(); ++i)
    std::printf("  %s\n", printable(first.notes[i]).c_str());
  if (!options.out.empty()) {
    write_file_atomically(options.out, result_text(first));
    std::fprintf(stderr, "%s\n", printable(options.out).c_str());
  }
  const bool fails = std::ranges::find(asked, Verdict::fails, &Claim::verdict) != asked.end();
  return options.strict && fails ? 3 : 0;
}

}  // namespace

Utility judge_command() {
  const auto options = std::make_shared<JudgeOptions>();
  return {
      .name = "judge",
      .usage = "RESULT...",
      .summary = "judge statements of your own from results",
      .details =
          "Over several results, each a size, a slope has one point for each of them, "
          "paired by the number of the trial. `ranklab help claim` explains statements.",
      .takes = {1, any_number, "result files"},
      .flags =
          {one_per_flag(text_field("claim", options->claim,
                                   "statement, such as 'mean last(gd.loss) <= 1'; may be repeated; "
                                   "without it and --with, the names that can be judged are "
                                   "printed")),
           text_field("with", options->with,
                      "a preset whose report is applied: its quantities, statements, panels and "
                      "notes replace those of an earlier report"),
           text_field("out", options->out, "write the result with these claims into this file"),
           switch_field("force", options->force, "replace --out even if it holds something else"),
           switch_field("strict", options->strict, "exit with status 3 if a statement fails")},
      .run = [options](const Arguments& given) { return judge(given, *options); },
  };
}

}  // namespace ranklab
