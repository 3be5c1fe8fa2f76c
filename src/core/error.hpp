// Errors, each tied to one exit code of the program; main.cpp is the one place that maps them.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ranklab {

/// The user asked for something that is not allowed: exit 2, nothing written.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The value of a flag does not fit the values of others. A run whose user did not type the flag
/// takes `fitting` instead (cli/resolve.cpp), so that a default or a preset is never what is
/// refused.
struct Misfit : UsageError {
  Misfit(const std::string& message, std::string flag_, std::string fitting_,
         std::vector<std::string> others_)
      : UsageError(message),
        flag(std::move(flag_)),
        fitting(std::move(fitting_)),
        others(std::move(others_)) {}
  std::string flag;                 // without dashes
  std::string fitting;              // as on the command line; empty: an empty list
  std::vector<std::string> others;  // the flags that it does not fit
};

/// The run failed (I/O, memory, numerical breakdown): exit 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A signal asked the run to stop; thrown inside a trial and caught by the pool of trials.
struct Interrupted {};

}  // namespace ranklab
