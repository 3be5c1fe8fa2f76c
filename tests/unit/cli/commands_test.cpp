#include "cli/commands.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "cli/help.hpp"
#include "core/error.hpp"

namespace commands_test {

using namespace ranklab;

namespace {

struct Given {
  std::string out = "x.csv";
  bool force = false;
  std::vector<std::string> positional, words;
};

Utility sample(const std::shared_ptr<Given>& given) {
  return {
      .name = "sample",
      .usage = "FILE [FILE]",
      .summary = "show files",
      .details = "Two at most.",
      .takes = {1, 2, "one or two files"},
      .flags = {text_field("out", given->out, "path"), switch_field("force", given->force, "-")},
      .run = [given](const Arguments& arguments) {
        given->positional = arguments.positional;
        given->words = arguments.words;
        return 7;
      }};
}

}  // namespace

TEST_CASE("a utility's declaration parses its words") {
  const auto given = std::make_shared<Given>();
  const std::vector<std::string> words = {"a", "-o", "b.csv", "c", "--force"};
  CHECK(run_utility(sample(given), words) == 7);
  CHECK(given->out == "b.csv");
  CHECK(given->force);
  CHECK(given->positional == std::vector<std::string>{"a", "c"});
  CHECK(given->words == words);
}

TEST_CASE("a utility refuses other flags, empty values and other numbers of arguments") {
  const auto refused = [](const std::vector<std::string>& words, const std::string& message) {
    const auto given = std::make_shared<Given>();
    CHECK_THROWS_WITH_AS(run_utility(sample(given), words), message.c_str(), UsageError);
    CHECK(given->words.empty());
  };
  refused({"a", "--fource"}, "unknown flag '--fource'; did you mean '--force'?");
  refused({"a", "--out", ""}, "--out: '' is not allowed; allowed: text");
  refused({}, "sample takes one or two files, none given");
  refused({"a", "b", "c"}, "sample takes one or two files, 3 given");
  Utility list = sample(std::make_shared<Given>());
  list.takes = {};
  CHECK_THROWS_WITH_AS(run_utility(list, {"a"}), "unexpected argument 'a'; sample takes none",
                       UsageError);
}

TEST_CASE("a utility's declaration is its help") {
  CHECK(utility_help(sample(std::make_shared<Given>())) ==
        "Usage: ranklab sample FILE [FILE] [flags]\n\nShow files. Two at most.\n\nFlags:\n"
        "  -o, --out             path (text) [x.csv]\n"
        "  --force               - (on|off) [off]\n");
}

}  // namespace commands_test
