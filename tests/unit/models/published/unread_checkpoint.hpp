// A spec that says that its weights were loaded, for tests of what does not look into them.
#pragma once

#include <memory>

namespace ranklab {
class Checkpoint;
}

/// Not null, and not to be read.
inline std::shared_ptr<const ranklab::Checkpoint> unread_checkpoint() {
  static const char nothing = 0;
  return {std::make_shared<char>(nothing), reinterpret_cast<const ranklab::Checkpoint*>(&nothing)};
}
