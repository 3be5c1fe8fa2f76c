// A line of the source.
#pragma once

namespace ranklab {

/// As a default argument, current() is the line of the call. clang 14 has no std::source_location.
struct SourceLine {
  const char* file = "";
  int line = 0;

  static constexpr SourceLine current(const char* file = __builtin_FILE(),
                                      int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace ranklab
