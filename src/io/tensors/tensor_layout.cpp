#include "io/tensors/tensor_layout.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace ranklab {

namespace {
constexpr std::array<const char*, 15> dtype_names{"F64", "F32", "F16",  "BF16",    "I64",
                                                  "I32", "I16", "I8",   "U64",     "U32",
                                                  "U16", "U8",  "BOOL", "F8_E4M3", "F8_E5M2"};
}

std::string dtype_name(Dtype dtype) {
  return dtype_names.at(static_cast<std::size_t>(dtype));
}

std::optional<Dtype> dtype_named(const std::string& name) {
  const auto* found = std::find(dtype_names.begin(), dtype_names.end(), name);
  if (found == dtype_names.end()) return std::nullopt;
  return static_cast<Dtype>(found - dtype_names.begin());
}

std::uint64_t dtype_bytes(Dtype dtype) {
  static constexpr std::array<std::uint64_t, 15> bytes{8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1, 1, 1};
  return bytes.at(static_cast<std::size_t>(dtype));
}

bool is_floating(Dtype dtype) {
  return dtype == Dtype::f64 || dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

bool is_float8(Dtype dtype) {
  return dtype == Dtype::f8_e4m3 || dtype == Dtype::f8_e5m2;
}

bool count_elements(const std::vector<std::uint64_t>& shape, std::uint64_t& elements) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  bool empty = false;
  elements = 1;
  for (const std::uint64_t size : shape) {
    if (size > largest) return false;
    if (size == 0) {
      empty = true;
    } else if (elements > largest / size) {
      return false;
    } else {
      elements *= size;
    }
  }
  if (empty) elements = 0;
  return true;
}

std::string shape_to_text(const std::vector<std::uint64_t>& shape) {
  constexpr std::size_t most = 8;
  if (shape.empty()) return "scalar";
  std::string text;
  for (std::size_t axis = 0; axis < shape.size() && axis < most; ++axis)
    text += (axis == 0 ? "" : " x ") + std::to_string(shape[axis]);
  return shape.size() > most ? text + " x ..." : text;
}

}  // namespace ranklab
