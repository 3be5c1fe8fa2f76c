#include "run/interrupt.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace ranklab {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free,
              "a signal handler may use only lock-free atomics");

void on_signal(int signal) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal)) ::_exit(128 + signal);
}

struct sigaction old_interrupt, old_terminate;

}  // namespace

InterruptGuard::InterruptGuard() {
  received = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // Without SA_RESTART, a signal ends a read that would wait forever, such as that of a pipe.
  for (const auto& [signal, old] :
       {std::pair(SIGINT, &old_interrupt), std::pair(SIGTERM, &old_terminate)}) {
    ::sigaction(signal, nullptr, old);
    // A shell lets the programs that it starts in the background ignore Ctrl-C.
    if (old->sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &old_interrupt, nullptr);
  ::sigaction(SIGTERM, &old_terminate, nullptr);
}

int interrupt_signal() {
  return received;
}

}  // namespace ranklab
