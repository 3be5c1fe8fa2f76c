// SIGINT and SIGTERM: the first signal stops the run after it has saved the finished trials; the
// second signal ends the program at once.
#pragma once

namespace ranklab {

/// During its lifetime, SIGINT and SIGTERM set a flag instead of ending the program.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// The signal that was received under a guard, or 0.
int interrupt_signal();

}  // namespace ranklab
