#include "io/tensors/tensor_reader.hpp"

#include <limits>

#include "core/text.hpp"
#include "io/atomic_file.hpp"

namespace ranklab {

std::size_t TensorFile::Reader::find(const std::string& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? keys_.size() : found->second;
}

bool TensorFile::Reader::add_key(const std::string& key) {
  if (!index_.emplace(key, keys_.size()).second) return false;
  keys_.push_back(key);
  return true;
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

std::string printable_key(const std::string& key) {
  constexpr std::size_t longest = 100;
  return key.size() <= longest ? printable(key) : printable(key.substr(0, longest)) + "...";
}

}  // namespace ranklab
