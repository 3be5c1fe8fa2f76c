#include "io/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/descriptor.hpp"

namespace ranklab {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw Failure(what + ": " + std::strerror(error));
}

struct Channel {
  Descriptor ours, theirs;
};

// A socket pair instead of a pipe: send() can suppress SIGPIPE, which would end this program if the
// child stops reading.
Channel make_channel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    fail("cannot talk to a child process", errno);
  Descriptor low_ours(ends[0]), low_theirs(ends[1]);
  // Descriptors 0, 1 and 2 may be free here, but are overwritten in the child: use 3 and above.
  Channel channel{Descriptor(::fcntl(ends[0], F_DUPFD_CLOEXEC, 3)),
                  Descriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3))};
  if (!channel.ours.open() || !channel.theirs.open()) fail("cannot talk to a child process", errno);
  return channel;
}

using Clock = std::chrono::steady_clock;

// In the child, between fork and exec: only system calls are allowed there, because another thread
// may hold a lock of the library. Reports its errno through `report` if the program cannot start.
[[noreturn]] void become(char* const* argv, const std::array<int, 3>& files, int report,
                         pid_t parent) {
  die_with_parent();
  int error = 0;
  if (::getppid() != parent) ::_exit(1);  // it ended before it could be watched
  for (std::size_t target = 0; target < files.size() && error == 0; ++target) {
    if (::dup2(files[target], static_cast<int>(target)) < 0) error = errno;
  }
  std::signal(SIGXFSZ, SIG_DFL);
  if (error == 0) {
    ::execvp(argv[0], argv);
    error = errno;
  }
  [[maybe_unused]] const ssize_t sent = ::write(report, &error, sizeof error);
  ::_exit(1);
}

// The destructor kills and reaps the child, so no exit path leaves it behind.
class Child {
 public:
  Child(const std::vector<std::string>& words, const std::array<int, 3>& files) {
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    Channel report = make_channel();  // closes when the program starts
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) fail("cannot start " + words[0], errno);
    if (pid_ == 0) become(argv.data(), files, report.theirs.get(), parent);
    throw_if_not_started(report, words[0]);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The exit code, or nothing if the child has not ended at the deadline.
  std::optional<int> wait_until(Clock::time_point deadline) {
    constexpr std::chrono::milliseconds pause{5};
    while (!wait(WNOHANG)) {
      if (Clock::now() > deadline) return std::nullopt;
      std::this_thread::sleep_for(pause);
    }
    return exit_code_;
  }

 private:
  void throw_if_not_started(Channel& report, const std::string& program) {
    report.theirs.close();
    int error = 0;
    ssize_t got;
    do {
      got = ::read(report.ours.get(), &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    if (got != static_cast<ssize_t>(sizeof error)) return;
    wait(0);
    // A PATH with folders that are missing, inaccessible or not folders also means: not found.
    if (error == ENOENT || error == ENOTDIR || error == EACCES)
      throw ProgramMissing(program + " is not installed");
    fail("cannot start " + program, error);
  }

  // True if the child has ended.
  bool wait(int options) {
    int status = 0;
    pid_t ended;
    do {
      ended = ::waitpid(pid_, &status, options);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) return false;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    pid_ = -1;
    return true;
  }

  pid_t pid_ = -1;
  int exit_code_ = 0;
};

void send_some(Descriptor& socket, std::string_view& input) {
  const long sent =
      input.empty() ? 0 : send_without_signal(socket.get(), input.data(), input.size());
  if (sent > 0) input.remove_prefix(static_cast<std::size_t>(sent));
  // A child that stops reading reports why on its standard error; this is not our failure.
  const bool again = sent < 0 && (errno == EAGAIN || errno == EINTR);
  if (input.empty() || (sent < 0 && !again)) socket.close();
}

void receive_some(Descriptor& socket, std::string& output) {
  std::array<char, 1 << 16> buffer;
  const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) output.append(buffer.data(), static_cast<std::size_t>(got));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) socket.close();
}

// Serves all three at once: a child that blocks on full output would never read the rest of its
// input. Returns false at the deadline.
bool exchange(Descriptor& in, Descriptor& out, Descriptor& err, std::string_view input,
              ProcessOutput& result, Clock::time_point deadline) {
  while (in.open() || out.open() || err.open()) {
    std::array<pollfd, 3> waiting = {pollfd{in.get(), POLLOUT, 0}, pollfd{out.get(), POLLIN, 0},
                                     pollfd{err.get(), POLLIN, 0}};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(left));
    if (ready < 0 && errno != EINTR) fail("cannot wait for a child process", errno);
    if (ready <= 0) continue;
    if (waiting[0].revents != 0) send_some(in, input);
    if (waiting[1].revents != 0) receive_some(out, result.out);
    if (waiting[2].revents != 0) receive_some(err, result.err);
  }
  return true;
}

}  // namespace

ProcessOutput run_process(const std::vector<std::string>& words, std::string_view input,
                          double seconds) {
  if (words.empty()) throw Failure("no program to run");
  const auto deadline = Clock::now() + std::chrono::milliseconds(std::llround(1000 * seconds));
  Channel in = make_channel(), out = make_channel(), err = make_channel();
  Child child(words, {in.theirs.get(), out.theirs.get(), err.theirs.get()});
  in.theirs.close();
  out.theirs.close();
  err.theirs.close();
  ProcessOutput result;
  const bool is_heard = exchange(in.ours, out.ours, err.ours, input, result, deadline);
  const std::optional<int> exit_code = is_heard ? child.wait_until(deadline) : std::nullopt;
  if (!exit_code)
    throw ProgramHangs(words[0] + " did not end within " + short_number(seconds) + " s");
  result.exit_code = *exit_code;
  return result;
}

}  // namespace ranklab
