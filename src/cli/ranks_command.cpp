// `ranklab ranks PATH...`: the ranks of your own matrices. It prints the table on standard output.
// A result is only written if --out is given.

#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/resolve.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "ranks/ranks.hpp"

namespace ranklab {
namespace {

int measure(const std::vector<std::string>& words) {
  const Arguments common =
      parse_arguments(words, common_flag_shapes(ranks_experiment()), Unknown::kept);
  if (common.help) {
    std::fputs(utility_help(ranks_command()).c_str(), stdout);
    return 0;
  }
  for (const char* flag : {"study", "preset", "shard"}) {
    if (common.find(flag) != nullptr)
      throw UsageError(std::string("ranks: --") + flag + " is not allowed");
  }
  RunRequest request = read_request(ranks_experiment(), common, {}, "ranks PATH...");
  Arguments& given = request.flags;
  if (!given.positional.empty()) {
    for (auto& [name, value] : flags_of_paths(given.positional)) {
      if (given.find(name) != nullptr && name != "from")
        throw UsageError("ranks: --" + name + " is not allowed with " + printable_key(value));
      given.flags.emplace_back(name, value);
    }
  }
  if (given.flags.empty())
    throw UsageError("ranks takes files or folders; `ranklab ranks --help` lists what it reads");
  ResolvedRun run = resolve(ranks_experiment(), request);
  run.prints_table = run.options().out != "-";
  std::vector<std::string> argv = {"ranklab", "ranks"};
  argv.insert(argv.end(), words.begin(), words.end());
  return run_resolved(run, argv);
}

}  // namespace

Utility ranks_command() {
  // The study and the options hold the defaults, which the help shows.
  struct Defaults {
    std::unique_ptr<Study> study;
    CommonOptions options;
  };
  const auto defaults = std::make_shared<Defaults>();
  defaults->study = make_ranks_study();
  std::vector<Field> flags = defaults->study->flags();
  for (Field& field : session_fields(defaults->options)) {
    if (field.name != "shard") flags.push_back(std::move(field));
  }
  return {
      .name = "ranks",
      .usage = "PATH...",
      .summary = "print the ranks of your own activations, gradients and weights",
      .details =
          "Compares the stable rank of each matrix's activations with the nuclear rank of its "
          "gradient, at each step. Takes recordings that ranklab.record() of the Python package "
          "wrote or folders of them, or two archives (.safetensors, .npz) with --activations and "
          "--gradients. For weights alone (an archive, the index.json of shards, or a folder of "
          "shards) it prints their ranks and those of random matrices. Without --out it writes no "
          "file.",
      .flags = std::move(flags),
      .passes_words_on = true,
      .run = [defaults](const Arguments& given) { return measure(given.words); },
  };
}

}  // namespace ranklab
