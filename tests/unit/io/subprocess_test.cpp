#include "io/subprocess.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace subprocess_test {

namespace {

constexpr double seconds = 20;

ranklab::ProcessOutput run_process(const std::vector<std::string>& words,
                                   const std::string& input) {
  return ranklab::run_process(words, input, seconds);
}

}  // namespace

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

TEST_CASE("a child that does not end in time is killed, with or without open outputs") {
  const TemporaryFolder folder;
  for (const std::string outputs : {"", " >&- 2>&-"}) {
    CAPTURE(outputs);
    const std::string pid = folder / "pid";
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_WITH_AS(
        ranklab::run_process({"sh", "-c", "echo $$ > " + pid + "; exec sleep 1000" + outputs}, "",
                             0.3),
        "sh did not end within 0.3 s", ranklab::ProgramHangs);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
    CHECK(::kill(std::stoi(ranklab::read_file(pid)), 0) != 0);
  }
}

TEST_CASE("a child does not outlive the program that started it") {
  const TemporaryFolder folder;
  const std::string pid = folder / "pid";
  const pid_t program = ::fork();
  if (program == 0) {
    ranklab::run_process({"sh", "-c", "echo $$ > " + pid + "; exec sleep 1000"}, "", 1000);
    ::_exit(0);
  }
  const auto wait_until = [](const auto& is_true) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_true() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return is_true();
  };
  std::error_code error;
  REQUIRE(wait_until([&] { return std::filesystem::file_size(pid, error) > 0 && !error; }));
  const int child = std::stoi(ranklab::read_file(pid));
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  // The child is gone, or a zombie that its new parent has not read yet.
  CHECK(wait_until([&] {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string number, name, state;
    status >> number >> name >> state;
    return !status || state == "Z";
  }));
}

}  // namespace subprocess_test
