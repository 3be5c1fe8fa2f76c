#include <array>
#include <stdexcept>

#include "core/error.hpp"
#include "io/tensors/mapped_file.hpp"
#include "io/tensors/tensor_file.hpp"
#include "io/tensors/tensor_reader.hpp"
#include "io/tensors/widen.hpp"

namespace ranklab {

namespace {

// Entries in the order of a column-major tensor, where the first index runs fastest, into the order where the last does.
template <class T>
void to_row_major(const std::vector<T>& entries, const std::vector<std::uint64_t>& shape, T* out) {
  struct Axis {
    std::uint64_t size, stride, index;
  };
  std::vector<Axis> axes;
  for (const std::uint64_t size : shape) axes.push_back({size, axes.empty() ? 1 : axes.back().size * axes.back().stride, 0});
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
void copy_entries(const StoredTensor::Layout& layout, std::uint64_t count, T* out) {
  prefer_large_pages(out, count * sizeof(T));
  if (!layout.column_major || layout.shape.size() < 2) return widen_entries(layout, count, out);
  std::vector<T> entries(count);
  widen_entries(layout, count, entries.data());
  to_row_major(entries, layout.shape, out);
}

arma::mat read_block(const StoredTensor::Layout& layout, const StoredBlock& block) {
  if (block.first_row > block.rows || block.row_count > block.rows - block.first_row || block.first_col > block.cols ||
      block.col_count > block.cols - block.first_col) {
    throw std::logic_error("StoredTensor: rows or columns beyond the matrix");
  }
  arma::mat out(block.row_count, block.col_count, arma::fill::none);
  if (out.is_empty()) return out;
  prefer_large_pages(out.memptr(), out.n_elem * sizeof(double));
  widen_block(layout, block, out.memptr());
  return out;
}

}  // namespace

std::string dtype_name(Dtype dtype) {
  static constexpr std::array<const char*, 13> names{"F64", "F32", "F16", "BF16", "I64", "I32", "I16",
                                                     "I8",  "U64", "U32", "U16",  "U8",  "BOOL"};
  return names.at(static_cast<std::size_t>(dtype));
}

std::uint64_t dtype_bytes(Dtype dtype) {
  static constexpr std::array<std::uint64_t, 13> bytes{8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1};
  return bytes.at(static_cast<std::size_t>(dtype));
}

StoredTensor::StoredTensor(Layout layout) : layout_(std::move(layout)) {
  std::uint64_t unused = 0;
  if (!count_elements(layout_.shape, unused)) throw std::logic_error("StoredTensor: a shape without a size");
}

const std::string& StoredTensor::label() const {
  return layout_.label;
}
Dtype StoredTensor::dtype() const {
  return layout_.dtype;
}
const std::vector<std::uint64_t>& StoredTensor::shape() const {
  return layout_.shape;
}
std::string StoredTensor::shape_text() const {
  return shape_to_text(layout_.shape);
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

arma::mat StoredTensor::columns(std::uint64_t first, std::uint64_t count) const {
  return read_block(layout_, {rows(), cols(), 0, rows(), first, count});
}

arma::mat StoredTensor::rows(std::uint64_t first, std::uint64_t count) const {
  return read_block(layout_, {rows(), cols(), first, count, 0, cols()});
}

arma::mat StoredTensor::matrix() const {
  return columns(0, cols());
}

std::vector<double> StoredTensor::values() const {
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
