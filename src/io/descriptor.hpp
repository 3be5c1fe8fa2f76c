// A file descriptor that closes itself when it is destroyed.
#pragma once

#include <unistd.h>

#include <utility>

namespace ranklab {

class Descriptor {
 public:
  Descriptor() = default;
  /// Takes the result of open(2) and similar calls; a negative value is not open.
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    value_ = std::exchange(other.value_, -1);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return value_; }
  bool open() const { return value_ >= 0; }
  /// The result of close(2); 0 if not open.
  int close() { return open() ? ::close(std::exchange(value_, -1)) : 0; }

 private:
  int value_ = -1;
};

}  // namespace ranklab
