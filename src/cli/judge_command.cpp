// `ranklab judge RESULT... --claim TEXT`: judges statements of one's own from results that exist.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cli/commands.hpp"
#include "cli/overwrite.hpp"
#include "cli/summary.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "judge/own/own_claims.hpp"
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
  std::string out, claim;
  bool force = false, strict = false;
};

// Those of --claim, and those of the first result and of --out that are kept. Without --claim, the
// latter are asked.
struct Statements {
  std::vector<OwnStatement> kept, asked;
};

Statements statements_of(const Arguments& given, const std::vector<ResultFile>& results,
                         const JudgeOptions& options) {
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
  for (const auto& [name, value] : given.flags) {
    if (name == "claim") of.asked.push_back({"", "", value});
  }
  if (of.asked.empty())
    std::swap(of.asked, of.kept);
  else
    of.asked = checked(std::move(of.asked), "--claim", of.kept);
  if (of.asked.empty())
    throw UsageError("judge: needs --claim TEXT, because " + printable_key(given.positional[0]) +
                     " has no statement of your own; `ranklab help claim` explains what it can "
                     "say");
  return of;
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

int judge(const Arguments& given, const JudgeOptions& options) {
  std::vector<ResultFile> results;
  std::vector<std::string> paths = given.positional;
  for (const std::string& path : paths) {
    results.push_back(read_result(path));
    require_same_trials(results.back(), printable(path));
  }
  for (const std::string& line : drop_repeated_runs(results, paths))
    std::fprintf(stderr, "%s\n", printable(line).c_str());
  const Statements statements = statements_of(given, results, options);
  std::vector<NamedResult> all;
  for (std::size_t i = 0; i < results.size(); ++i)
    all.push_back({&results[i], results.size() > 1 ? printable_key(paths[i]) : ""});
  std::vector<std::string> mistakes, earlier_mistakes;
  std::vector<Claim> claims = judge_own(statements.kept, all, earlier_mistakes);
  std::ranges::move(judge_own(statements.asked, all, mistakes), std::back_inserter(claims));
  for (const std::string& mistake : mistakes)
    std::fprintf(stderr, "ranklab: --claim: %s\n", printable(mistake).c_str());
  if (!mistakes.empty()) return 2;
  replace_own(results, std::move(claims));
  const ResultFile& first = results.front();
  std::vector<Claim> asked;
  std::ranges::copy_if(first.claims, std::back_inserter(asked), [&](const Claim& claim) {
    const auto found = std::ranges::find(statements.asked, claim.statement_id, &OwnStatement::id);
    return claim.kind == Kind::own && found != statements.asked.end();
  });
  print_claims(asked, stdout);
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
                                   "without it, those that the result has are judged again")),
           text_field("out", options->out, "write the result with these claims into this file"),
           switch_field("force", options->force, "replace --out even if it holds something else"),
           switch_field("strict", options->strict, "exit with status 3 if a statement fails")},
      .run = [options](const Arguments& given) { return judge(given, *options); },
  };
}

}  // namespace ranklab
