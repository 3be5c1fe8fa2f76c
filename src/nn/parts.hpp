// Splits batches into parts, so that the values that a layer stores are still in cache for the next
// layer and for the backward pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "nn/layers/parameter.hpp"

namespace ranklab {

/// The largest number of sequences of `length` tokens of width `dim` per part.
inline std::size_t sequences_at_once(std::size_t length, std::size_t dim) {
  // Each part reads all weights again, so wider models need longer parts. Halving or doubling this
  // size does not change the training time.
  const std::size_t tokens = std::max<std::size_t>(4 * dim, 256);
  return std::max<std::size_t>(tokens / length, 1);
}

/// The sequences first to end - 1 of one part, or of a piece of it.
struct PartRange {
  std::size_t first, end;
  Piece piece = {};
};
/// Parts of about equal size. With `in_pieces`, each of few parts comes in two pieces, so that
/// several threads have about the same work.
inline std::vector<PartRange> part_ranges(std::size_t sequences, std::size_t length,
                                          std::size_t dim, bool in_pieces = false) {
  // Measured: with four pieces of a part, two threads gain less.
  constexpr std::size_t few = 5;
  const std::size_t at_once = sequences_at_once(length, dim),
                    parts = (sequences + at_once - 1) / at_once,
                    pieces = in_pieces && parts <= few ? 2 : 1;
  std::vector<PartRange> out;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t first = i * sequences / parts, size = (i + 1) * sequences / parts - first,
                      n = std::min(pieces, size);
    // The first piece is not the smaller one, because the last also adds up the gradients.
    const auto begin = [&](std::size_t j) { return first + (j * size + n - 1) / n; };
    for (std::size_t j = 0; j < n; ++j)
      out.push_back({begin(j), begin(j + 1), {j == 0, j + 1 == n}});
  }
  return out;
}

/// Entries begin to end - 1.
template <class Entry>
std::vector<Entry> slice(const std::vector<Entry>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace ranklab
