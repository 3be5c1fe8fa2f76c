// `ranklab judge RESULT... --claim TEXT`: judges statements of one's own from results that exist.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/overwrite.hpp"
#include "cli/summary.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/changes.hpp"
#include "report/own/own_claims.hpp"
#include "report/result_file.hpp"

namespace ranklab {
namespace {

// Refuses to replace an input, and any file but an earlier result of the same run.
void refuse_to_replace(const std::string& out, const std::vector<std::string>& inputs,
                       const ResultFile& result, bool force) {
  std::error_code error;
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--out " + printable_key(out) + ": " + why);
  };
  if (is_one_of(out, inputs)) refuse("is a result that is judged; name another file");
  if (force || !std::filesystem::is_regular_file(out, error)) return;
  std::string held = "is not a ranklab result";
  try {
    const ResultFile earlier = read_result(out);
    if (earlier.command == result.command && earlier.config == result.config) return;
    held = "holds a different run";
  } catch (const Failure&) {
  }
  refuse(held + "; --force replaces it");
}

int judge(const Arguments& given, const std::string& out, bool force, bool strict) {
  std::vector<ResultFile> results;
  for (const std::string& path : given.positional) results.push_back(read_result(path));
  ResultFile& first = results.front();
  const bool several = results.size() > 1;
  if (!out.empty()) {
    if (several)
      throw UsageError(
          "--out: needs exactly one result; it writes that result with the statements added");
    refuse_to_replace(out, given.positional, first, force);
  }
  const std::vector<OwnStatement> stored = own_statements_of(first);
  std::vector<OwnStatement> statements;
  for (const auto& [name, value] : given.flags) {
    if (name == "claim") statements.push_back({"", "", value});
  }
  statements = statements.empty() ? stored : checked(std::move(statements), "--claim", stored);
  if (statements.empty())
    throw UsageError("judge: needs --claim TEXT, because " + printable_key(given.positional[0]) +
                     " has no statement of your own; `ranklab help claim` explains what it can "
                     "say");
  std::vector<NamedResult> all;
  for (std::size_t i = 0; i < results.size(); ++i)
    all.push_back({&results[i], several ? printable_key(given.positional[i]) : ""});
  std::vector<std::string> mistakes;
  std::vector<Claim> claims = judge_own(statements, all, mistakes);
  for (const std::string& mistake : mistakes)
    std::fprintf(stderr, "ranklab: --claim: %s\n", printable(mistake).c_str());
  if (!mistakes.empty()) return 2;
  std::erase_if(first.claims, [&](const Claim& claim) {
    return claim.kind == Kind::own &&
           std::any_of(statements.begin(), statements.end(),
                       [&](const OwnStatement& own) { return own.id == claim.statement_id; });
  });
  const auto before = static_cast<std::ptrdiff_t>(first.claims.size());
  add_own(first, std::move(claims));
  ResultFile own = first;
  own.claims.erase(own.claims.begin(), own.claims.begin() + before);
  for (const ResultFile& result : results) {  // any of them may be a short run
    own.changed = result.changed;
    withhold_verdicts(own);
  }
  std::copy(own.claims.begin(), own.claims.end(), first.claims.begin() + before);
  print_claims(own.claims, stdout);
  if (!out.empty()) {
    write_file_atomically(out, result_text(first));
    std::fprintf(stderr, "%s\n", printable(out).c_str());
  }
  const bool fails = std::any_of(own.claims.begin(), own.claims.end(), [](const Claim& claim) {
    return claim.verdict == Verdict::fails;
  });
  return strict && fails ? 3 : 0;
}

}  // namespace

Utility judge_command() {
  const auto out = std::make_shared<std::string>(), claim = std::make_shared<std::string>();
  const auto force = std::make_shared<bool>(false), strict = std::make_shared<bool>(false);
  return {
      .name = "judge",
      .usage = "RESULT...",
      .summary = "judge statements of your own from results",
      .details =
          "Over several results, each a size, a slope has one point for each of them, "
          "paired by the number of the trial. `ranklab help claim` explains statements.",
      .takes = {1, any_number, "result files"},
      .flags = {one_per_flag(
                    text_field("claim", *claim,
                               "statement, such as 'mean last(gd.loss) <= 1'; may be repeated; "
                               "without it, those that the result has are judged again")),
                text_field("out", *out, "write the result with these claims into this file"),
                switch_field("force", *force, "replace --out even if it holds something else"),
                switch_field("strict", *strict, "exit with status 3 if a statement fails")},
      .run = [out, claim, force,
              strict](const Arguments& given) { return judge(given, *out, *force, *strict); },
  };
}

}  // namespace ranklab
