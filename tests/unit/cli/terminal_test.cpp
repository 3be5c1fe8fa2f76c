#include "cli/terminal.hpp"

#include <doctest/doctest.h>

namespace terminal_test {

using namespace ranklab;

TEST_CASE(
    "text is wrapped at blanks and later lines are indented; a word that is too long is not "
    "split") {
  CHECK(wrapped("one two three", 2, 9) == "one two\n  three\n");
  CHECK(wrapped("extraordinary a", 0, 5) == "extraordinary\na\n");
  CHECK(wrapped("\u03bb\u03bb \u03bb\u03bb", 0, 5) == "\u03bb\u03bb \u03bb\u03bb\n");
}

TEST_CASE("text is shortened by characters, not by bytes") {
  CHECK(shortened("abcde", 5) == "abcde");
  CHECK(shortened("abcdef", 5) == "abcd\u2026");
  CHECK(shortened("\u03bb\u03bb\u03bb\u03bb", 3) == "\u03bb\u03bb\u2026");
}

TEST_CASE("words of a command line are quoted so that a shell reads them back") {
  CHECK(shell_words({"--lambda", "-1,0", "my file", "it's", ""}) ==
        "--lambda -1,0 'my file' 'it'\\''s' ''");
}

}  // namespace terminal_test
