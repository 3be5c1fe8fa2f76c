#include "io/tensors/widen.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "core/machine.hpp"
#include "io/byte_reader.hpp"
#include "io/tensors/entry_types.hpp"

namespace ranklab {

namespace {

// A tile of a matrix stored row by row. Its rows are read contiguously and its columns written
// contiguously. In the matrix itself, the entries of a column are often a power of two apart and
// would evict each other from the cache; the rows of the tile are padded to avoid this.
constexpr std::uint64_t tile_rows = 8, tile_cols = 64, padding = 8;

// Bytes per read; they stay in a core's cache until they are converted.
constexpr std::uint64_t buffer_bytes = 1 << 18;

// Uninitialized: it is about to be written.
std::unique_ptr<unsigned char[]> buffer_of(std::uint64_t bytes) {
  return std::make_unique_for_overwrite<unsigned char[]>(bytes);
}

template <class Entry, bool big_endian>
struct Widening {
  static constexpr std::uint64_t bytes = sizeof(typename Entry::Raw);

  // Converts `count` contiguous entries.
  template <class T>
  static void run(const unsigned char* from, std::uint64_t count, T* out) {
    for (std::uint64_t i = 0; i < count; ++i) {
      out[i] = static_cast<T>(
          Entry::value(load_bits<typename Entry::Raw, big_endian>(from + i * bytes)));
    }
  }

  // Converts `count` entries starting at entry `first`, in storage order.
  template <class T>
  static void entries(const TensorLayout& layout, std::uint64_t first, std::uint64_t count,
                      T* out) {
    const std::uint64_t most = std::min(count, buffer_bytes / bytes);
    const auto buffer = buffer_of(most * bytes);
    for (std::uint64_t done = 0; done < count; done += most) {
      const std::uint64_t size = std::min(most, count - done);
      layout.reader->read(layout.begin + (first + done) * bytes, size * bytes, buffer.get());
      run(buffer.get(), size, out + done);
    }
  }

  // Converts `rows` x `cols` entries, contiguous along a row and `row_bytes` from row to row, to
  // columns `stride` apart.
  static void tile(const unsigned char* from, std::uint64_t row_bytes, std::uint64_t rows,
                   std::uint64_t cols, double* out, std::uint64_t stride) {
    std::array<std::array<double, tile_cols + padding>, tile_rows> widened;
    for (std::uint64_t i = 0; i < rows; ++i) run(from + i * row_bytes, cols, widened[i].data());
    for (std::uint64_t j = 0; j < cols; ++j) {
      for (std::uint64_t i = 0; i < rows; ++i) out[j * stride + i] = widened[i][j];
    }
  }

  // Whole columns are contiguous.
  static void column_major(const StoredBlock& block, double* out) {
    const std::uint64_t rows = block.layout.shape[0],
                        first = block.first_col * rows + block.first_row;
    if (block.row_count == rows) return entries(block.layout, first, rows * block.col_count, out);
    for (std::uint64_t j = 0; j < block.col_count; ++j) {
      entries(block.layout, first + j * rows, block.row_count, out + j * block.row_count);
    }
  }

  // Converts part by part; a part fills the buffer and is at least as high as a tile.
  static void row_major(const StoredBlock& block, double* out) {
    const std::uint64_t part_cols = std::min(block.col_count, buffer_bytes / (tile_rows * bytes));
    const std::uint64_t fitting_rows = buffer_bytes / (part_cols * bytes) / tile_rows * tile_rows;
    const std::uint64_t part_rows = std::min(block.row_count, fitting_rows);
    const auto part = buffer_of(part_rows * part_cols * bytes);
    for (std::uint64_t i = 0; i < block.row_count; i += part_rows) {
      for (std::uint64_t j = 0; j < block.col_count; j += part_cols) {
        const std::uint64_t rows = std::min(part_rows, block.row_count - i),
                            cols = std::min(part_cols, block.col_count - j);
        read_part(block, i, j, rows, cols, part.get());
        tiles(part.get(), rows, cols, out + j * block.row_count + i, block.row_count);
      }
    }
  }

  // Reads rows i ... i + rows - 1 and columns j ... j + cols - 1 of the block, row after row; whole
  // rows are contiguous and need one read.
  static void read_part(const StoredBlock& block, std::uint64_t i, std::uint64_t j,
                        std::uint64_t rows, std::uint64_t cols, unsigned char* part) {
    const TensorLayout& layout = block.layout;
    const std::uint64_t all = layout.shape[1], reads = cols == all ? 1 : rows,
                        read_bytes = rows / reads * cols * bytes;
    const std::uint64_t begin =
        layout.begin + ((block.first_row + i) * all + block.first_col + j) * bytes;
    for (std::uint64_t r = 0; r < reads; ++r)
      layout.reader->read(begin + r * all * bytes, read_bytes, part + r * read_bytes);
  }

  static void tiles(const unsigned char* part, std::uint64_t rows, std::uint64_t cols, double* out,
                    std::uint64_t stride) {
    for (std::uint64_t i = 0; i < rows; i += tile_rows) {
      for (std::uint64_t j = 0; j < cols; j += tile_cols) {
        tile(part + (i * cols + j) * bytes, cols * bytes, std::min(tile_rows, rows - i),
             std::min(tile_cols, cols - j), out + j * stride + i, stride);
      }
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
    if (layout.dtype == static_cast<Dtype>(type))
      return with_order<std::tuple_element_t<type, EntryTypes>>(layout, widen);
    with_widening<Function, type + 1>(layout, widen);
  }
}

}  // namespace

void widen_block(const StoredBlock& block, double* out) {
  if (block.row_count == 0 || block.col_count == 0) return;
  prefer_large_pages(out, block.row_count * block.col_count * sizeof(double));
  with_widening(block.layout, [&](auto widening) {
    // A single row or column has the same layout in either order.
    if (block.layout.column_major || block.layout.shape[1] == 1) {
      widening.column_major(block, out);
    } else {
      widening.row_major(block, out);
    }
  });
}

template <class T>
void widen_entries(const TensorLayout& layout, std::uint64_t count, T* out) {
  with_widening(layout, [&](auto widening) { widening.entries(layout, 0, count, out); });
}

template void widen_entries<double>(const TensorLayout&, std::uint64_t, double*);
template void widen_entries<float>(const TensorLayout&, std::uint64_t, float*);

}  // namespace ranklab
