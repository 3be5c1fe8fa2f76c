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

#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace subprocess_test {

using namespace ranklab;

namespace {

ProcessOutput run_shell(const std::string& script, const std::string& input = "") {
  return run_process({"sh", "-c", script, "sh", "$HOME `id` '\"; *"}, input, 20);
}

}  // namespace

TEST_CASE("a child gets its input and arguments unchanged, and its two outputs are kept apart") {
  const std::string megabytes = std::string(5u << 20, 'x') + std::string("\n\0\xff", 3);
  const ProcessOutput run = run_shell("cat; printf %s \"$1\" >&2", megabytes);
  CHECK(run.exit_code == 0);
  CHECK(run.out == megabytes);
  CHECK(run.err == "$HOME `id` '\"; *");
}

TEST_CASE("the exit code is that of the child, whether it reads its input or a signal ends it") {
  CHECK(run_shell("exit 7", std::string(5u << 20, 'x')).exit_code == 7);
  CHECK(run_shell("kill -9 $$").exit_code == 128 + 9);
  CHECK(run_shell("echo 'a library is missing' >&2; exit 127").exit_code == 127);
}

TEST_CASE("a file-size limit ends the child, although it only fails writes of this program") {
  std::signal(SIGXFSZ, SIG_IGN);
  const ProcessOutput run = run_shell("ulimit -f 1; cat > /dev/null; head -c 5000 /dev/zero");
  std::signal(SIGXFSZ, SIG_DFL);
  CHECK(run.exit_code == 128 + SIGXFSZ);
}

TEST_CASE("a program that cannot be started is reported as missing") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "not-executable", "");
  for (const std::string& program : {std::string("ranklab-no-such-program"),
                                     folder / "not-executable", folder / "not-executable/below"}) {
    CHECK_THROWS_WITH_AS(run_process({program}, "", 20), (program + " is not installed").c_str(),
                         ProgramMissing);
  }
}

TEST_CASE("a child that does not end in time is killed, even if it has closed its outputs") {
  const TemporaryFolder folder;
  const std::string pid = folder / "pid";
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH_AS(
      run_process({"sh", "-c", "echo $$ > " + pid + "; exec sleep 1000 >&- 2>&-"}, "", 0.3),
      "sh did not end within 0.3 s", Failure);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
  CHECK(::kill(std::stoi(read_file(pid)), 0) != 0);
}

TEST_CASE("a child does not outlive the program that started it") {
  const TemporaryFolder folder;
  const std::string pid = folder / "pid";
  const pid_t program = ::fork();
  if (program == 0) {
    run_process({"sh", "-c", "echo $$ > " + pid + "; exec sleep 1000"}, "", 1000);
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
  const int child = std::stoi(read_file(pid));
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
