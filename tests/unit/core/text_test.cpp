#include "core/text.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <tuple>

namespace text_test {

using namespace ranklab;

TEST_CASE("numbers, lists and clauses are formatted as text") {
  CHECK(short_number(12345.678) == "1.235e+04");
  for (const double none : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    CHECK(short_number(none) == "undefined");
    CHECK(count_text(none) == "undefined");
    CHECK(percent(none) == "undefined");
    CHECK(range_text(0, none) == "undefined");
  }
  CHECK(range_text(HUGE_VAL, -HUGE_VAL) == "undefined");  // of no values
  CHECK(range_text(0.1, 0.2) == "0.1 to 0.2");
  CHECK(percent(0.125) == "12.5 %");
  CHECK(series_number(0.1) == "0.1");
  CHECK(series_number(1e8) == "1e+08");
  CHECK(count_text(1e6) == "1000000");
  CHECK(plural(1, "trial") == "1 trial");
  CHECK(plural(0, "trial") == "0 trials");
  CHECK(joined({"a", "b", "c"}) == "a, b, c");
  CHECK(joined({"a", "b"}, "|") == "a|b");
  CHECK(joined({}).empty());
  CHECK(clauses("first", "second") == "first; second");
  CHECK(clauses("", "second") == "second");
  CHECK(clauses("first", "") == "first");
}

TEST_CASE("a text is taken apart at its separators, each part without blanks around it") {
  std::string_view rest = " median(a | b) |  .3g";
  CHECK(taken(rest, "| b") == "median(a");
  CHECK(taken(rest, "|") == ")");
  CHECK(rest == "  .3g");
  CHECK(taken(rest, "|") == ".3g");
  CHECK(rest.empty());
  CHECK(taken(rest, "|").empty());
  CHECK(trimmed("  ").empty());
}

TEST_CASE("say fills the gaps of a sentence: reals with four digits, counts and words whole") {
  const std::uint64_t d = 12345;
  CHECK(say("nothing to fill, {a} b }{") == "nothing to fill, {a} b }{");
  CHECK(say("{} of {} at d = {}: {}{}", 0.123456, "{}", d, -1, std::string("x")) ==
        "0.1235 of {} at d = 12345: -1x");
  CHECK(say("{}", std::nan("")) == "undefined");
}

TEST_CASE("columns are as wide as their widest cell in characters; the last column is not padded") {
  const std::vector<std::vector<std::string>> rows = {
      {"a", "name", "x"}, {"\u03BB\u03BC\u03BD", "b", "long"}, {"", "", ""}};
  CHECK(in_columns(rows) == std::vector<std::string>{"a    name  x",
                                                     "\u03BB\u03BC\u03BD  b     long",
                                                     std::string(11, ' ')});
  CHECK(in_columns({}).empty());
}

TEST_CASE("code points are returned with their length; invalid UTF-8 gives none") {
  for (const auto& [text, value, length] :
       std::vector<std::tuple<std::string, std::uint32_t, std::size_t>>{
           {"a", 0x61, 1},
           {"\u00E9", 0xE9, 2},
           {"\u2265", 0x2265, 3},
           {"\U0001F600", 0x1F600, 4},
           {"\xC0\xAF", 0, 0},          // overlong
           {"\xE0\x80\xAF", 0, 0},      // overlong
           {"\xED\xA0\x80", 0, 0},      // a surrogate
           {"\xF4\x90\x80\x80", 0, 0},  // beyond U+10FFFF
           {"\x80", 0, 0}}) {
    const std::string shown = printable(text);  // clang 14 cannot capture a structured binding
    CAPTURE(shown);
    CHECK(code_point(text, 0).value == value);
    CHECK(code_point(text, 0).length == length);
  }
}

TEST_CASE("an error message ends with the nearest word, or with the text that was given") {
  CHECK(did_you_mean("lambada", {"lambda", "layers"}) == "; did you mean 'lambda'?");
  CHECK(did_you_mean("zzz", {"lambda", "layers"}, "; see --help") == "; see --help");
  CHECK(did_you_mean("--lr", {"--m", "--k"}, "; see --help") == "; see --help");
  CHECK(did_you_mean("--lr", {"--m", "--lr-adam", "--l"}) == "; did you mean '--l'?");
  // Half of the letters are not close, and the dashes are no letters.
  for (const auto& [typed, other] : {std::pair("--data", "--late"), {"--only", "--out"}})
    CHECK(did_you_mean(typed, {other}).empty());
  CHECK(did_you_mean("-steps", {"--seed", "--steps"}) == "; did you mean '--steps'?");
  CHECK(did_you_mean("activtaoin", {"activation"}) == "; did you mean 'activation'?");
}

TEST_CASE("printable writes control characters and invalid UTF-8 as \\xNN and keeps the rest") {
  CHECK(printable("plain, \xC3\xA9 and \xE2\x89\xA5") == "plain, \xC3\xA9 and \xE2\x89\xA5");
  CHECK(printable("a\nb\x1b[31m\x7f") == "a\\x0ab\\x1b[31m\\x7f");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xC3") == "\\xc3");           // truncated
  CHECK(printable("\xC0\xAF") == "\\xc0\\xaf");  // overlong
  CHECK(printable("\xC2\x9B") == "\\xc2\\x9b");  // the control sequence introducer, as U+009B
  CHECK(printable(std::string("\0x", 2)) == "\\x00x");
  CHECK(printable("a\u202Eb\u200B") == "a\\xe2\\x80\\xaeb\\xe2\\x80\\x8b");  // reversed; no width
}

TEST_CASE("long printable names are shortened") {
  CHECK(printable_key("a\n") == "a\\x0a");
  CHECK(printable_key(std::string(100, 'k')) == std::string(100, 'k'));
  CHECK(printable_key(std::string(101, 'k')) == std::string(100, 'k') + "...");
}

}  // namespace text_test
