// Splits batches into pieces, so that the values that a layer stores are still in cache for the
// next layer and for the backward pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ranklab {

/// The largest number of sequences of `length` tokens of width `dim` per piece.
inline std::size_t sequences_at_once(std::size_t length, std::size_t dim) {
  // Each piece reads all weights again, so wider models need longer pieces. Halving or doubling
  // this size does not change the training time.
  const std::size_t tokens = std::max<std::size_t>(4 * dim, 256);
  return std::max<std::size_t>(tokens / length, 1);
}

/// The sequences first to end - 1 of one piece.
struct PartRange {
  std::size_t first, end;
};
/// Pieces of about equal size.
inline std::vector<PartRange> piece_ranges(std::size_t sequences, std::size_t length,
                                           std::size_t dim) {
  const std::size_t at_once = sequences_at_once(length, dim),
                    pieces = (sequences + at_once - 1) / at_once;
  std::vector<PartRange> out;
  for (std::size_t i = 0; i < pieces; ++i)
    out.push_back({i * sequences / pieces, (i + 1) * sequences / pieces});
  return out;
}

/// Entries begin to end - 1.
template <class Entry>
std::vector<Entry> slice(const std::vector<Entry>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace ranklab
