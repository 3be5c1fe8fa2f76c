#include "io/tensors/widen.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/machine.hpp"
#include "io/mapped_file.hpp"
#include "io/tensors/entry_types.hpp"

namespace ranklab {

namespace {

// A tile of a matrix stored row by row: its rows are read where they are contiguous, its columns written where they are.
// Neither is so in the matrix itself, where entries of a column lie a power of two apart as often as not, and would push
// each other out of the cache; nor is it in the tile, whose rows are padded.
constexpr std::uint64_t tile_rows = 8, tile_cols = 64, padding = 8;

// What is read at once before the file is told of it.
constexpr std::uint64_t stretch_bytes = 1 << 22;

// Within a block, not after it: a few columns of a matrix stored by rows touch as many pages as the whole.
void were_read(const TensorLayout& layout, std::uint64_t runs, std::uint64_t run_bytes) {
  if (layout.file != nullptr) layout.file->read_was(runs, run_bytes);
}

template <class Entry, bool big_endian>
struct Widening {
  static constexpr std::uint64_t bytes = sizeof(typename Entry::Raw);

  // `count` entries that are contiguous.
  template <class T>
  static void run(const unsigned char* from, std::uint64_t count, T* out) {
    for (std::uint64_t i = 0; i < count; ++i) {
      out[i] = static_cast<T>(Entry::value(load_bits<typename Entry::Raw, big_endian>(from + i * bytes)));
    }
  }

  template <class T>
  static void entries(const TensorLayout& layout, std::uint64_t count, T* out) {
    constexpr std::uint64_t stretch = stretch_bytes / bytes;
    for (std::uint64_t i = 0; i < count; i += stretch) {
      const std::uint64_t size = std::min(stretch, count - i);
      run(layout.data + i * bytes, size, out + i);
      were_read(layout, 1, size * bytes);
    }
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

  static void column_major(const StoredBlock& block, double* out) {
    const TensorLayout& layout = block.layout;
    const std::uint64_t rows = layout.shape[0];
    for (std::uint64_t j = 0; j < block.col_count; ++j) {
      run(layout.data + ((block.first_col + j) * rows + block.first_row) * bytes, block.row_count, out + j * block.row_count);
      were_read(layout, 1, block.row_count * bytes);
    }
  }

  static void row_major(const StoredBlock& block, double* out) {
    const TensorLayout& layout = block.layout;
    const std::uint64_t row_bytes = layout.shape[1] * bytes;
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

// Calls `widen` with the Widening of the layout's entries.
template <class Entry, class Function>
void with_order(const TensorLayout& layout, const Function& widen) {
  if (layout.big_endian) return widen(Widening<Entry, true>());
  widen(Widening<Entry, false>());
}

template <class Function, std::size_t type = 0>
void with_widening(const TensorLayout& layout, const Function& widen) {
  if constexpr (type == std::tuple_size_v<EntryTypes>) {
    throw std::logic_error("widen: no such dtype");
  } else {
    if (layout.dtype == static_cast<Dtype>(type)) return with_order<std::tuple_element_t<type, EntryTypes>>(layout, widen);
    with_widening<Function, type + 1>(layout, widen);
  }
}

}  // namespace

void widen_block(const StoredBlock& block, double* out) {
  if (block.row_count == 0 || block.col_count == 0) return;
  prefer_large_pages(out, block.row_count * block.col_count * sizeof(double));
  with_widening(block.layout, [&](auto widening) {
    // One row or one column lies the same in either order.
    if (block.layout.column_major || block.layout.shape[1] == 1) {
      widening.column_major(block, out);
    } else {
      widening.row_major(block, out);
    }
  });
}

template <class T>
void widen_entries(const TensorLayout& layout, std::uint64_t count, T* out) {
  with_widening(layout, [&](auto widening) { widening.entries(layout, count, out); });
}

template void widen_entries<double>(const TensorLayout&, std::uint64_t, double*);
template void widen_entries<float>(const TensorLayout&, std::uint64_t, float*);

}  // namespace ranklab
