#include "io/subprocess.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "core/machine.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

// As a shell: the program could not be started.
constexpr int not_started = 127;

// A temporary file without a name. Files instead of pipes: neither program waits for the other, and
// no signal is raised if the child does not read its input.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view content = {}) : file_(std::tmpfile(), &std::fclose) {
    const bool is_written =
        file_ &&
        (content.empty() ||  // whose data may be null
         std::fwrite(content.data(), 1, content.size(), file_.get()) == content.size()) &&
        std::fflush(file_.get()) == 0;
    if (!is_written)
      throw Failure(std::string("cannot write a temporary file: ") + std::strerror(errno));
    std::rewind(file_.get());
  }
  int descriptor() const { return ::fileno(file_.get()); }
  std::string text() const {
    std::string text;
    std::array<char, 1 << 16> buffer;
    ssize_t got = 0;
    while ((got = ::pread(descriptor(), buffer.data(), buffer.size(),
                          static_cast<off_t>(text.size()))) > 0)
      text.append(buffer.data(), static_cast<std::size_t>(got));
    return text;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// In the child, between fork and exec: only system calls are allowed there, because another thread
// may hold a lock of the library. (posix_spawn cannot make the child end with its parent.)
[[noreturn]] void become(char* const* argv, const std::array<int, 3>& files, pid_t parent) {
  die_with_parent();
  if (::getppid() != parent) ::_exit(1);  // it ended before it could be watched
  // If descriptors 0 to 2 were free, the files have them, in this order: none is overwritten early.
  for (int target = 0; target < 3; ++target)
    ::dup2(files[static_cast<std::size_t>(target)], target);
  std::signal(SIGXFSZ, SIG_DFL);
  ::execvp(argv[0], argv);
  ::_exit(not_started);
}

// The status of the child when it ends; false if it did not end in time, and was killed.
bool wait_for(pid_t child, double seconds, int& status) {
  using namespace std::chrono;
  const auto deadline = steady_clock::now() + duration<double>(seconds);
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (steady_clock::now() > deadline) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

}  // namespace

ProcessOutput run_process(const std::vector<std::string>& words, std::string_view input,
                          double seconds) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const ScratchFile in(input), out, err;
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0)
    become(argv.data(), {in.descriptor(), out.descriptor(), err.descriptor()}, parent);
  if (child < 0) throw Failure("cannot start " + words[0] + ": " + std::strerror(errno));
  int status = 0;
  if (!wait_for(child, seconds, status))
    throw Failure(words[0] + " did not end within " + short_number(seconds) + " s");
  ProcessOutput result{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.text(),
                       err.text()};
  if (result.exit_code == not_started && result.err.empty())
    throw ProgramMissing(words[0] + " is not installed");
  return result;
}

}  // namespace ranklab
