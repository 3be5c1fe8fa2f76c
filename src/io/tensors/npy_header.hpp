// The header of a .npy array.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/tensors/tensor_layout.hpp"

namespace ranklab {

/// numpy.lib.format, versions 1.0, 2.0 and 3.0.
struct NpyHeader {
  std::uint64_t bytes = 0;  // of the prefix and the header: the entries follow
  std::string refusal;      // why entries of this type are not read, and what to do; empty where they are
  // What follows is only known where `refusal` is empty.
  TensorLayout layout;  // but for where the entries are
  std::uint64_t data_bytes = 0;
};

/// One line of Python that makes an array which is read.
inline constexpr const char* npy_recipe = "np.save(path, np.asarray(x, dtype=np.float32))";

/// Headers longer than this are refused; those of plain arrays take some hundred bytes.
inline constexpr std::uint64_t longest_npy_header = 1 << 20;

/// Reads the header of an array whose first `count` bytes (all, if it has fewer) are start_of(count). Throws Failure, with `label`
/// before the reason, for what is not a .npy array or is a header longer than longest_npy_header.
NpyHeader read_npy_header(const std::function<std::string(std::uint64_t count)>& start_of, const std::string& label);

}  // namespace ranklab
