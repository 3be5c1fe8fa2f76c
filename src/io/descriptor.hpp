// A file descriptor that is closed when it goes.
#pragma once

#include <unistd.h>

#include <utility>

namespace ranklab {

class Descriptor {
 public:
  Descriptor() = default;
  /// Takes what open(2) and its kin return; below zero, it is not open.
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
  /// What close(2) says; 0 where it was not open.
  int close() { return open() ? ::close(std::exchange(value_, -1)) : 0; }

 private:
  int value_ = -1;
};

}  // namespace ranklab
