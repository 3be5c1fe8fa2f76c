// A placeholder for loaded weights, for tests of specs that do not read them.
#pragma once

#include <memory>

namespace ranklab {
class Checkpoint;
}

/// Not null, but must not be read.
inline std::shared_ptr<const ranklab::Checkpoint> unread_checkpoint() {
  static const char nothing = 0;
  return {std::make_shared<char>(nothing), reinterpret_cast<const ranklab::Checkpoint*>(&nothing)};
}
