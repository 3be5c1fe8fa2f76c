// SIGINT and SIGTERM: asked once, the run stops after saving what is finished; asked twice, it ends at once.
#pragma once

namespace ranklab {

/// While it lives, SIGINT and SIGTERM set a flag instead of ending the program.
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
