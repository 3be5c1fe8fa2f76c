// `ranklab judge RESULT... --claim TEXT`: judges statements of one's own from results that exist.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/summary.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/changes.hpp"
#include "report/own/own_claims.hpp"
#include "report/result_file.hpp"

namespace ranklab {
namespace {

int judge(const Arguments& given, const std::string& out) {
  std::vector<OwnStatement> statements;
  for (const auto& [name, value] : given.flags) {
    if (name == "claim") statements.push_back({"", "", value});
  }
  if (statements.empty())
    throw UsageError("judge: needs --claim TEXT; `ranklab help claim` explains what it can say");
  statements = checked(std::move(statements), "--claim");
  std::vector<ResultFile> results;
  for (const std::string& path : given.positional) results.push_back(read_result(path));
  if (!out.empty() && results.size() > 1)
    throw UsageError("--out: is not allowed with several results; it writes one with its claims");
  std::vector<const ResultFile*> all;
  for (const ResultFile& result : results) all.push_back(&result);
  std::vector<std::string> mistakes;
  std::vector<Claim> claims = judge_own(statements, all, mistakes);
  for (const std::string& mistake : mistakes)
    std::fprintf(stderr, "ranklab: --claim: %s\n", printable(mistake).c_str());
  if (!mistakes.empty()) return 2;
  ResultFile& first = results.front();
  std::erase_if(first.claims, [](const Claim& claim) { return claim.kind == Kind::own; });
  const auto before = static_cast<std::ptrdiff_t>(first.claims.size());
  add_own(first, std::move(claims));
  ResultFile own = first;
  own.claims.erase(own.claims.begin(), own.claims.begin() + before);
  withhold_verdicts(own);
  std::copy(own.claims.begin(), own.claims.end(), first.claims.begin() + before);
  print_claims(own.claims, stdout);
  if (!out.empty()) {
    write_file_atomically(out, result_text(first));
    std::fprintf(stderr, "%s\n", printable(out).c_str());
  }
  return 0;
}

}  // namespace

Utility judge_command() {
  const auto out = std::make_shared<std::string>(), claim = std::make_shared<std::string>();
  return {
      .name = "judge",
      .usage = "RESULT...",
      .summary = "judge statements of your own from results",
      .details =
          "Over several results, each a size, a slope has one point for each of them, "
          "paired by the number of the trial. `ranklab help claim` explains statements.",
      .takes = {1, any_number, "result files"},
      .flags = {text_field("claim", *claim,
                           "statement, such as 'mean last(gd.loss) <= 1'; may be repeated"),
                text_field("out", *out, "write the result with these claims into this file")},
      .run = [out, claim](const Arguments& given) { return judge(given, *out); },
  };
}

}  // namespace ranklab
