#include "nn/checkpoints/loaded_tensors.hpp"

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/machine.hpp"
#include "io/tensors/stored_matrix.hpp"

namespace ranklab {
namespace {

[[noreturn]] void refuse_shape(const StoredTensor& tensor,
                               const std::vector<std::uint64_t>& wanted) {
  throw Failure(tensor.label() + ": is " + tensor.shape_text() + ", expected " +
                shape_to_text(wanted));
}

// The filters of a convolution (channels, 1, taps) are read as a matrix (channels, taps).
void require_matrix(const StoredTensor& tensor, std::uint64_t rows, std::uint64_t cols) {
  const std::vector<std::uint64_t>& shape = tensor.shape();
  const bool filters = shape.size() == 3 && shape[1] == 1;
  if ((shape.size() != 2 && !filters) || shape.front() != rows || shape.back() != cols)
    refuse_shape(tensor, {rows, cols});
}

// Counts without a branch, so that the loop costs little compared to reading the file.
template <class T>
void require_finite(const StoredTensor& tensor, const arma::Mat<T>& entries) {
  std::uint64_t finite = 0;
  for (const T entry : entries) finite += std::fabs(entry) <= std::numeric_limits<T>::max() ? 1 : 0;
  if (finite == entries.n_elem) return;
  throw Failure(tensor.label() + ": " + std::to_string(entries.n_elem - finite) +
                " of its entries are infinite or NaN in " +
                (sizeof(T) == sizeof(float) ? "single" : "double") + " precision");
}

}  // namespace

// Contiguous rows are contiguous columns of the transpose: the memory of a tensor stored as (out,
// in) is a matrix (in, out).
template <class T>
arma::Mat<T> LoadedTensors<T>::matrix(const std::string& name, arma::uword rows, arma::uword cols,
                                      const EntryLaw& /*start*/) {
  const Checkpoint::Found found = checkpoint_->find(prefix_ + name);
  require_matrix(found.tensor, found.inputs_first ? rows : cols, found.inputs_first ? cols : rows);
  require_memory(sizeof(T) * static_cast<double>(rows) * static_cast<double>(cols),
                 found.tensor.label());
  arma::Mat<T> out(found.inputs_first ? cols : rows, found.inputs_first ? rows : cols,
                   arma::fill::none);
  found.tensor.copy_to(out.memptr());
  require_finite(found.tensor, out);
  if (found.inputs_first) arma::inplace_trans(out);
  return out;
}

// Consecutive ids, such as those of positions, are read together.
template <class T>
arma::Mat<T> LoadedTensors<T>::columns(const std::string& name, arma::uword rows, arma::uword cols,
                                       const std::vector<std::uint32_t>& ids,
                                       const EntryLaw& /*start*/) {
  const StoredTensor table = checkpoint_->find(prefix_ + name).tensor;
  require_matrix(table, cols, rows);
  arma::Mat<T> out(rows, ids.size(), arma::fill::none);
  for (std::size_t first = 0, end = 0; first < ids.size(); first = end) {
    for (end = first + 1; end < ids.size() && ids[end] == ids[first] + (end - first);) ++end;
    const std::uint64_t last = ids[end - 1];
    if (last >= cols)
      throw Failure(table.label() + ": has " + std::to_string(cols) + " rows; id " +
                    std::to_string(last) + " is out of range");
    out.cols(first, end - 1) =
        arma::conv_to<arma::Mat<T>>::from(matrix_of(table.rows(ids[first], end - first)).t());
  }
  require_finite(table, out);
  return out;
}

template <class T>
arma::Col<T> LoadedTensors<T>::vector(const std::string& name, arma::uword size,
                                      const EntryLaw& /*start*/) {
  const StoredTensor tensor = checkpoint_->find(prefix_ + name).tensor;
  if (tensor.elements() != size) refuse_shape(tensor, {size});
  arma::Col<T> out(size, arma::fill::none);
  tensor.copy_to(out.memptr());
  require_finite<T>(tensor, out);
  return out;
}

template class LoadedTensors<float>;
template class LoadedTensors<double>;

}  // namespace ranklab
