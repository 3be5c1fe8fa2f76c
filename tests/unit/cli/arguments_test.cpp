#include "cli/arguments.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

namespace arguments_test {

using namespace ranklab;

namespace {
const std::vector<FlagShape> known = {
    {"m", false},        {"trials", false}, {"lambda", false, true},
    {"from-peak", true}, {"quiet", true},   {"claim", false, true, true},
    {"threads", false}};
}

TEST_CASE("flags may have one letter, =, a negative or empty value, and may be repeated") {
  const Arguments a = parse_arguments(
      {"--m", "3", "--trials=5", "--lambda", "-2,-1,0", "--trials", "", "--m=-7"}, known);
  CHECK(a.flags.size() == 5);
  CHECK(*a.find("m") == "-7");
  CHECK(*a.find("trials") == "");
  CHECK(*a.find("lambda") == "-2,-1,0");
  CHECK(a.find("quiet") == nullptr);
  CHECK(!a.help);
}

TEST_CASE(
    "a switch may stand alone, before on or off, or with =value; it consumes no positional "
    "argument") {
  const Arguments a = parse_arguments({"--from-peak", "off", "--quiet", "file.json"}, known);
  CHECK(*a.find("from-peak") == "off");
  CHECK(*a.find("quiet") == "on");
  CHECK(a.positional == std::vector<std::string>{"file.json"});
  CHECK(*parse_arguments({"--from-peak=false"}, known).find("from-peak") == "false");
  CHECK(parse_arguments({"--help"}, known).help);
  CHECK(parse_arguments({"-h"}, known).help);
}

TEST_CASE("single letters abbreviate the most common flags if the command has them") {
  const std::vector<FlagShape> shapes = {
      {"out", false}, {"threads", false}, {"quiet", true}, {"m", false}};
  const Arguments a =
      parse_arguments({"-o", "x.json", "-j4", "-q", "file.json", "-m", "3"}, shapes);
  CHECK(*a.find("out") == "x.json");
  CHECK(*a.find("threads") == "4");
  CHECK(*a.find("quiet") == "on");
  CHECK(*a.find("m") == "3");
  CHECK(a.positional == std::vector<std::string>{"file.json"});
  CHECK(*parse_arguments({"-o", "-"}, shapes).find("out") == "-");
  CHECK_THROWS_AS(parse_arguments({"-o"}, shapes), UsageError);
  CHECK_THROWS_AS(parse_arguments({"-o", "x"}, known), UsageError);
  CHECK(short_flag("out") == 'o');
  CHECK(short_flag("seed") == 0);
}

TEST_CASE("unknown flags and missing values are usage errors") {
  CHECK_THROWS_WITH_AS(parse_arguments({"--trails", "3"}, known),
                       "unknown flag '--trails'; did you mean '--trials'?", UsageError);
  CHECK_THROWS_WITH_AS(parse_arguments({"--zzzzz=1"}, known),
                       "unknown flag '--zzzzz'; --help lists the flags", UsageError);
  CHECK_THROWS_WITH_AS(parse_arguments({"--trials"}, known), "--trials needs a value", UsageError);
  CHECK_THROWS_WITH_AS(parse_arguments({"--m", "--trials", "2"}, known), "--m needs a value",
                       UsageError);
  CHECK_THROWS_AS(parse_arguments({"-x"}, known), UsageError);
}

TEST_CASE("one dash in place of two, and the name of another program, are answered with the flag") {
  CHECK_THROWS_WITH_AS(parse_arguments({"-trials", "5"}, known),
                       "unknown flag '-trials'; did you mean '--trials'?", UsageError);
  CHECK_THROWS_WITH_AS(parse_arguments({"-help"}, known),
                       "unknown flag '-help'; did you mean '--help'?", UsageError);
  CHECK_THROWS_WITH_AS(parse_arguments({"--jobs=5"}, known),
                       "unknown flag '--jobs'; did you mean '--threads'?", UsageError);
  CHECK_THROWS_WITH_AS(parse_arguments({"--size", "5"}, known),  // no --width here
                       "unknown flag '--size'; --help lists the flags", UsageError);
  CHECK_THROWS_WITH_AS(
      parse_arguments({"--only", "x"}, known, Unknown::refused, "reproduce [PRESET...]"),
      "unknown flag '--only'; the usage is `ranklab reproduce [PRESET...]`; --help lists the flags",
      UsageError);
  CHECK(*parse_arguments({"-m3"}, known).find("m") == "3");
  CHECK(parse_arguments({"-trials"}, known, Unknown::kept).positional ==
        std::vector<std::string>{"-trials"});
}

TEST_CASE("flags with several values are named, unless each use gives a further one") {
  using Sentences = std::vector<std::string>;
  const auto repeated = [](const std::vector<std::string>& words) {
    return parse_arguments(words, known).repeated;
  };
  CHECK(repeated({"--m=1", "--m", "2"}) ==
        Sentences{"--m is given twice (1, 2); the last value counts"});
  CHECK(repeated({"--m=1", "--m", "2", "-m", "1"}) ==
        Sentences{"--m is given 3 times (1, 2, 1); the last value counts"});
  CHECK(repeated({"--from-peak", "--trials", "4", "--from-peak", "off"}) ==
        Sentences{"--from-peak is given twice (on, off); the last value counts"});
  CHECK(repeated({"--m", "1", "--m", "1", "--quiet", "--quiet"}).empty());
  CHECK(repeated({"--claim", "a > 1", "--claim", "b > 1"}).empty());
}

TEST_CASE("a list with blanks is answered with the list with commas") {
  const auto list = [](const std::vector<std::string>& words) {
    return parse_arguments(words, known).list_with_commas;
  };
  CHECK(list({"--m", "3", "--lambda", "1", "2", "3", "--quiet"}) == "--lambda 1,2,3");
  CHECK(list({"--lambda", "1,", "2,", "3"}) == "--lambda 1,2,3");
  CHECK(list({"--lambda", "-1", "-2.5"}) == "--lambda -1,-2.5");
  CHECK(list({"--lambda=1", "2", "--m", "3"}) == "--lambda 1,2");
  CHECK(list({"--lambda", "1", "--m", "3"}).empty());
  CHECK(list({"--m", "3", "4"}).empty());
  CHECK_THROWS_WITH_AS(list({"--m", "3", "-4"}), "unknown flag '-4'; --help lists the flags",
                       UsageError);
}

}  // namespace arguments_test
