// Batches in parts: what a layer keeps of a part is still in cache when the next layer reads it, and on the way back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ranklab {

/// The most sequences of `length` tokens of width `dim` in a part.
inline std::size_t sequences_at_once(std::size_t length, std::size_t dim) {
  // Each part reads all weights again: the wider the model, the longer the parts that repay that. Half as long or twice, training
  // takes the same time.
  const std::size_t tokens = std::max<std::size_t>(4 * dim, 256);
  return std::max<std::size_t>(tokens / length, 1);
}

/// The number of parts for so many sequences.
inline std::size_t parts_of(std::size_t sequences, std::size_t length, std::size_t dim) {
  const std::size_t at_once = sequences_at_once(length, dim);
  return (sequences + at_once - 1) / at_once;
}

/// Entries begin to end - 1.
template <class Entry>
std::vector<Entry> some_of(const std::vector<Entry>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace ranklab
