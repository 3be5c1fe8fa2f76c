#include "io/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/machine.hpp"
#include "io/descriptor.hpp"

extern char** environ;

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

struct FileActions {
  posix_spawn_file_actions_t actions;
  FileActions() { ::posix_spawn_file_actions_init(&actions); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
};

// The destructor kills and reaps the child, so no exit path leaves it behind.
class Child {
 public:
  Child(const std::vector<std::string>& words, int in, int out, int err) {
    FileActions files;
    ::posix_spawn_file_actions_adddup2(&files.actions, in, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files.actions, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files.actions, err, STDERR_FILENO);
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const int error = ::posix_spawnp(&pid_, argv[0], &files.actions, nullptr, argv.data(), environ);
    if (error == 0) return;
    pid_ = -1;
    // A PATH with folders that are missing, inaccessible or not folders also means: not found.
    if (error == ENOENT || error == ENOTDIR || error == EACCES)
      throw ProgramMissing(words[0] + " is not installed");
    fail("cannot start " + words[0], error);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
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
// input.
void exchange(Descriptor& in, Descriptor& out, Descriptor& err, std::string_view input,
              ProcessOutput& result) {
  while (in.open() || out.open() || err.open()) {
    std::array<pollfd, 3> waiting = {pollfd{in.get(), POLLOUT, 0}, pollfd{out.get(), POLLIN, 0},
                                     pollfd{err.get(), POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno == EINTR) continue;
      fail("cannot wait for a child process", errno);
    }
    if (waiting[0].revents != 0) send_some(in, input);
    if (waiting[1].revents != 0) receive_some(out, result.out);
    if (waiting[2].revents != 0) receive_some(err, result.err);
  }
}

}  // namespace

ProcessOutput run_process(const std::vector<std::string>& words, std::string_view input) {
  if (words.empty()) throw Failure("no program to run");
  Channel in = make_channel(), out = make_channel(), err = make_channel();
  Child child(words, in.theirs.get(), out.theirs.get(), err.theirs.get());
  in.theirs.close();
  out.theirs.close();
  err.theirs.close();
  ProcessOutput result;
  exchange(in.ours, out.ours, err.ours, input, result);
  result.exit_code = child.wait();
  return result;
}

}  // namespace ranklab
