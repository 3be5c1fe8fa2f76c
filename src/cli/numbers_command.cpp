// `ranklab numbers FILE...`: writes the numbers of results into sentences that refer to them.

#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/input_files.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "page/numbers.hpp"

namespace ranklab {
namespace {

struct NumbersOptions {
  std::string folder = "results/reference";
  bool check = false;
};

int renew(const std::vector<std::string>& paths, const NumbersOptions& options) {
  std::vector<ResultFile> results;
  for (auto& [path, result] : results_in(options.folder)) results.push_back(std::move(result));
  if (results.empty())
    throw UsageError("numbers: no results in " + printable_key(options.folder) +
                     "; --results names a folder of results");
  const NumberedResults numbered(results);
  int status = 0;
  for (const std::string& path : paths) {
    const std::string text = read_file(path);
    std::vector<std::string> mistakes;
    const std::string renewed = numbered.renewed(text, mistakes);
    for (const std::string& mistake : mistakes)
      std::fprintf(stderr, "ranklab: %s, %s\n", printable(path).c_str(),
                   printable(mistake).c_str());
    if (!mistakes.empty()) status = 1;
    if (renewed == text) continue;
    std::fprintf(stderr, "%s\n", printable(path).c_str());
    if (!options.check) write_file_atomically(path, renewed);
    if (options.check && status == 0) status = 3;
  }
  return status;
}

}  // namespace

Utility numbers_command() {
  const auto options = std::make_shared<NumbersOptions>();
  return {
      .name = "numbers",
      .usage = "FILE...",
      .summary = "write the numbers of results into texts that refer to them",
      .details =
          "In Markdown, <!--{PRESET: VALUE | FORMAT}-->...<!--/--> refers to a number; in JSON, "
          "{{PRESET: VALUE | FORMAT = ...}} does. VALUE is a formula of `ranklab help claim`, "
          "computed from the means over the trials; with median, largest or least before it, over "
          "its numbers in the trials. `claim ID` is the evidence of a claim, with violations, "
          "cases, share, worst, units, violated, low or high after it. `claim max GLOB` "
          "and `claim min GLOB` take the extreme of several claims, and claim(ID) is a number in a "
          "formula. FORMAT is .2f, .3g, .0% or ,d; +- after it adds the half width of the 99 % "
          "interval. Only the values change. "
          "Prints the name of each file that changes.",
      .takes = {1, any_number, "texts"},
      .flags = {text_field("results", options->folder, "folder of the results"),
                switch_field("check", options->check,
                             "write nothing; exit with status 3 if a number would change")},
      .run = [options](const Arguments& given) { return renew(given.positional, *options); },
  };
}

}  // namespace ranklab
