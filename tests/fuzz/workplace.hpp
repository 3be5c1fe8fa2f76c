// The private folder of a target, which is its working directory while it runs.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"
#include "targets.hpp"

namespace ranklab::fuzz {

/// Writes a file into the working directory; returns its name. A name may contain one folder.
std::string put(const std::string& name, std::string_view bytes);

/// Allows the reader to leave a file of this name behind; returns the name.
std::string expect(const std::string& name);

/// Calls a reader, which may refuse the input.
template <class Call>
void attempt(const Call& call) {
  try {
    call();
  } catch (const UsageError&) {
  } catch (const Failure&) {
  }
}

/// The folder of the target while the object exists: changes the working directory and discards
/// standard output.
class Visit {
 public:
  explicit Visit(const Target& target);
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  /// Throws std::logic_error if the folder holds a file that put() and expect() did not name.
  void require_no_other_files() const;

 private:
  int folder_, output_;  // descriptors of what was there before
};

}  // namespace ranklab::fuzz
