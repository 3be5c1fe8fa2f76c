#include "io/widen.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "io/entry_types.hpp"
#include "io/mapped_file.hpp"

namespace ranklab {

namespace {

// A tile of a matrix stored row by row: its rows are read where they are contiguous, its columns written where they are.
// Neither is so in the matrix itself, where entries of a column lie a power of two apart as often as not, and would push
// each other out of the cache; nor is it in the tile, whose rows are padded.
constexpr std::uint64_t tile_rows = 8, tile_cols = 64, padding = 8;

// Within a block, not after it: a few columns of a matrix stored by rows touch as many pages as the whole.
void were_read(const StoredTensor::Layout& layout, std::uint64_t runs, std::uint64_t run_bytes) {
  if (layout.file != nullptr) layout.file->read_was(runs, run_bytes);
}

template <class Entry, bool big_endian>
struct Widening {
  static constexpr std::uint64_t bytes = sizeof(typename Entry::Raw);

  static double entry(const unsigned char* at) { return Entry::value(load_bits<typename Entry::Raw, big_endian>(at)); }

  // `count` entries that are contiguous.
  static void run(const unsigned char* from, std::uint64_t count, double* out) {
    for (std::uint64_t i = 0; i < count; ++i) out[i] = entry(from + i * bytes);
  }

  // `rows` x `cols` entries, contiguous along a row, `row_bytes` from one row to the next, to columns `stride` apart.
  static void tile(const unsigned char* from, std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t cols, double* out,
                   std::uint64_t stride) {
    std::array<std::array<double, tile_cols + padding>, tile_rows> widened;
    for (std::uint64_t i = 0; i < rows; ++i) run(from + i * row_bytes, cols, widened[i].data());
    for (std::uint64_t j = 0; j < cols; ++j) {
      for (std::uint64_t i = 0; i < rows; ++i) out[j * stride + i] = widened[i][j];
    }
  }

  static void column_major(const StoredTensor::Layout& layout, const StoredBlock& block, double* out) {
    for (std::uint64_t j = 0; j < block.col_count; ++j) {
      run(layout.data + ((block.first_col + j) * block.rows + block.first_row) * bytes, block.row_count, out + j * block.row_count);
      were_read(layout, 1, block.row_count * bytes);
    }
  }

  static void row_major(const StoredTensor::Layout& layout, const StoredBlock& block, double* out) {
    const std::uint64_t row_bytes = block.cols * bytes;
    for (std::uint64_t i = 0; i < block.row_count; i += tile_rows) {
      const unsigned char* rows_begin = layout.data + (block.first_row + i) * row_bytes + block.first_col * bytes;
      const std::uint64_t rows = std::min(tile_rows, block.row_count - i);
      for (std::uint64_t j = 0; j < block.col_count; j += tile_cols) {
        tile(rows_begin + j * bytes, row_bytes, rows, std::min(tile_cols, block.col_count - j), out + j * block.row_count + i,
             block.row_count);
      }
      were_read(layout, rows, block.col_count * bytes);
    }
  }
};

template <class Entry, bool big_endian>
void widen_as(const StoredTensor::Layout& layout, const StoredBlock& block, double* out) {
  // One row or one column lies the same in either order.
  if (layout.column_major || block.cols == 1) {
    Widening<Entry, big_endian>::column_major(layout, block, out);
  } else if (block.row_count == 1) {
    Widening<Entry, big_endian>::run(layout.data + (block.first_row * block.cols + block.first_col) * sizeof(typename Entry::Raw),
                                     block.col_count, out);
  } else {
    Widening<Entry, big_endian>::row_major(layout, block, out);
  }
}

template <class Entry>
void widen_in_order(const StoredTensor::Layout& layout, const StoredBlock& block, double* out) {
  if (layout.big_endian) return widen_as<Entry, true>(layout, block, out);
  widen_as<Entry, false>(layout, block, out);
}

}  // namespace

void widen_block(const StoredTensor::Layout& layout, const StoredBlock& block, double* out) {
  switch (layout.dtype) {
    case Dtype::f64:
      return widen_in_order<Plain<std::uint64_t, double>>(layout, block, out);
    case Dtype::f32:
      return widen_in_order<Plain<std::uint32_t, float>>(layout, block, out);
    case Dtype::f16:
      return widen_in_order<Half>(layout, block, out);
    case Dtype::bf16:
      return widen_in_order<BrainHalf>(layout, block, out);
    case Dtype::i64:
      return widen_in_order<Plain<std::uint64_t, std::int64_t>>(layout, block, out);
    case Dtype::i32:
      return widen_in_order<Plain<std::uint32_t, std::int32_t>>(layout, block, out);
    case Dtype::i16:
      return widen_in_order<Plain<std::uint16_t, std::int16_t>>(layout, block, out);
    case Dtype::i8:
      return widen_in_order<Plain<std::uint8_t, std::int8_t>>(layout, block, out);
    case Dtype::u64:
      return widen_in_order<Plain<std::uint64_t, std::uint64_t>>(layout, block, out);
    case Dtype::u32:
      return widen_in_order<Plain<std::uint32_t, std::uint32_t>>(layout, block, out);
    case Dtype::u16:
      return widen_in_order<Plain<std::uint16_t, std::uint16_t>>(layout, block, out);
    case Dtype::u8:
      return widen_in_order<Plain<std::uint8_t, std::uint8_t>>(layout, block, out);
    case Dtype::boolean:
      return widen_in_order<Boolean>(layout, block, out);
  }
  throw std::logic_error("widen_block: no such dtype");
}

}  // namespace ranklab
