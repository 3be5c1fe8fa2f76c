// The header of a .npy array.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/tensors/tensor_layout.hpp"

namespace ranklab {

/// numpy.lib.format, versions 1.0, 2.0 and 3.0.
struct NpyHeader {
  std::uint64_t bytes = 0;  // of the prefix and the header; the entries follow
  // Why entries of this type are not read, and how to convert them; empty if they are read
  std::string refusal;
  // Set only if `refusal` is empty; `layout` without the place of the entries
  TensorLayout layout;
  std::uint64_t data_bytes = 0;
};

/// One line of Python that writes an array that can be read here.
inline constexpr const char* npy_recipe = "np.save(path, np.asarray(x, dtype=np.float32))";

/// Headers longer than this are refused; those of plain arrays take about a hundred bytes.
inline constexpr std::uint64_t longest_npy_header = 1 << 20;

/// Reads the header of an array. start_of(count) returns its first `count` bytes (all, if it has
/// fewer). Throws Failure, with `label` before the reason, if it is not a .npy array or the header
/// is longer than longest_npy_header.
NpyHeader read_npy_header(const std::function<std::string(std::uint64_t count)>& start_of,
                          const std::string& label);

}  // namespace ranklab
