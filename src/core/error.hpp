// Errors, each tied to one exit code of the program; main.cpp is the one place that maps them.
#pragma once

#include <stdexcept>
#include <string>

namespace ranklab {

/// The user asked for something that is not allowed: exit 2, nothing written.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The run failed (I/O, memory, numerical breakdown): exit 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A signal asked the run to stop; thrown inside a trial and caught by the pool of trials.
struct Interrupted {};

}  // namespace ranklab
