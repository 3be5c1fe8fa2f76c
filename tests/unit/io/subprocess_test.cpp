#include "io/subprocess.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace subprocess_test {

using ranklab::run_process;

TEST_CASE("a child gets its input and arguments unchanged, and its two outputs are kept apart") {
  const std::string words = "$HOME `id` '\"; *";
  const auto run = run_process({"sh", "-c", "cat; printf %s \"$1\" >&2", "sh", words}, words);
  CHECK(run.exit_code == 0);
  CHECK(run.out == words);
  CHECK(run.err == words);
}

TEST_CASE("more data than a pipe holds is sent both ways without a deadlock") {
  const std::string megabytes(5u << 20, 'x');
  const auto run = run_process({"cat"}, megabytes);
  CHECK(run.out.size() == megabytes.size());
  CHECK(run.out == megabytes);
}

TEST_CASE("a child that does not read its input does not terminate the program") {
  const std::string megabytes(5u << 20, 'x');
  CHECK(run_process({"sh", "-c", "exit 7"}, megabytes).exit_code == 7);
}

TEST_CASE("a signal that terminates the child shows in its exit code") {
  CHECK(run_process({"sh", "-c", "kill -9 $$"}, "").exit_code == 128 + 9);
}

TEST_CASE("a missing program is reported differently from a program that fails") {
  CHECK_THROWS_WITH_AS(run_process({"ranklab-no-such-program"}, ""),
                       "ranklab-no-such-program is not installed", ranklab::ProgramMissing);
  CHECK(run_process({"false"}, "").exit_code == 1);
}

}  // namespace subprocess_test
