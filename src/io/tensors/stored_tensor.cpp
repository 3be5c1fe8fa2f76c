#include "io/tensors/stored_tensor.hpp"

#include <stdexcept>

#include "core/error.hpp"
#include "core/machine.hpp"
#include "io/tensors/widen.hpp"

namespace ranklab {

namespace {

// Reorders entries from column-major order (the first index varies fastest) to row-major order.
template <class T>
void to_row_major(const std::vector<T>& entries, const std::vector<std::uint64_t>& shape, T* out) {
  struct Axis {
    std::uint64_t size, stride, index;
  };
  std::vector<Axis> axes;
  for (const std::uint64_t size : shape)
    axes.push_back({size, axes.empty() ? 1 : axes.back().size * axes.back().stride, 0});
  std::uint64_t from = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    out[i] = entries[from];
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      from += axis->stride;
      if (++axis->index < axis->size) break;
      from -= axis->stride * axis->size;
      axis->index = 0;
    }
  }
}

template <class T>
void copy_entries(const TensorLayout& layout, std::uint64_t count, T* out) {
  prefer_large_pages(out, count * sizeof(T));
  if (!layout.column_major || layout.shape.size() < 2) return widen_entries(layout, count, out);
  std::vector<T> entries(count);
  widen_entries(layout, count, entries.data());
  to_row_major(entries, layout.shape, out);
}

// Throws unless the block lies within its matrix.
StoredBlock checked(StoredBlock block) {
  const std::uint64_t rows = block.layout.shape[0], cols = block.layout.shape[1];
  if (block.first_row > rows || block.row_count > rows - block.first_row ||
      block.first_col > cols || block.col_count > cols - block.first_col) {
    throw std::logic_error("StoredTensor: rows or columns beyond the matrix");
  }
  return block;
}

}  // namespace

StoredTensor::StoredTensor(TensorLayout layout) : layout_(std::move(layout)) {
  std::uint64_t unused = 0;
  if (!count_elements(layout_.shape, unused))
    throw std::logic_error("StoredTensor: the shape has too many entries");
}

std::uint64_t StoredTensor::elements() const {
  std::uint64_t elements = 0;
  count_elements(layout_.shape, elements);
  return elements;
}

std::uint64_t StoredTensor::rows() const {
  if (!is_matrix()) throw Failure(layout_.label + ": not a matrix: its shape is " + shape_text());
  return layout_.shape[0];
}

std::uint64_t StoredTensor::cols() const {
  rows();
  return layout_.shape[1];
}

StoredBlock StoredTensor::columns(std::uint64_t first, std::uint64_t count) const {
  return block(0, rows(), first, count);
}

StoredBlock StoredTensor::rows(std::uint64_t first, std::uint64_t count) const {
  return block(first, count, 0, cols());
}

StoredBlock StoredTensor::block(std::uint64_t first_row, std::uint64_t row_count,
                                std::uint64_t first_col, std::uint64_t col_count) const {
  rows();
  return checked({layout_, first_row, row_count, first_col, col_count});
}

void StoredTensor::require_row_major(const std::string& what) const {
  if (!layout_.column_major || shape().size() < 2) return;
  throw Failure(layout_.label + ": stored column by column, so no " + what +
                " can be read from it; store it row by row with numpy.ascontiguousarray");
}

StoredTensor StoredTensor::at(std::uint64_t index) const {
  if (shape().empty() || index >= shape().front()) {
    throw Failure(layout_.label + ": has no entry " + std::to_string(index) + ": its shape is " +
                  shape_text());
  }
  require_row_major("part");
  TensorLayout part = layout_;
  part.label += "[" + std::to_string(index) + "]";
  part.shape.erase(part.shape.begin());
  part.begin += index * (elements() / shape().front()) * dtype_bytes(dtype());
  return StoredTensor(std::move(part));
}

StoredTensor StoredTensor::as_matrix(std::uint64_t rows, std::uint64_t columns) const {
  TensorLayout matrix = layout_;
  matrix.shape = {rows, columns};
  std::uint64_t count = 0;
  if (!count_elements(matrix.shape, count) || count != elements()) {
    throw Failure(layout_.label + ": has the shape " + shape_text() + ", which cannot be read as " +
                  shape_to_text(matrix.shape));
  }
  if (shape() != matrix.shape) require_row_major("matrix of another shape");
  return StoredTensor(std::move(matrix));
}

std::vector<double> StoredTensor::values() const {
  const double copies = layout_.column_major && shape().size() > 1 ? 2 : 1;
  require_memory(copies * sizeof(double) * static_cast<double>(elements()), label());
  std::vector<double> out(elements());
  copy_to(out.data());
  return out;
}

void StoredTensor::copy_to(double* out) const {
  copy_entries(layout_, elements(), out);
}
void StoredTensor::copy_to(float* out) const {
  copy_entries(layout_, elements(), out);
}

}  // namespace ranklab
