#include "cli/arguments.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

namespace arguments_test {

using namespace ranklab;

namespace {
const std::vector<FlagShape> known = {
    {"m", false}, {"trials", false}, {"lambda", false}, {"from-peak", true}, {"quiet", true}};
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

}  // namespace arguments_test
