#include "io/tensors/stored_matrix.hpp"

#include "core/machine.hpp"
#include "io/tensors/tensor_file.hpp"
#include "io/tensors/widen.hpp"

namespace ranklab {
namespace {

template <class T>
void write_by_rows(const std::string& path, const arma::Mat<T>& A) {
  const arma::Mat<T> transposed = A.t();
  write_npy(path, A.n_rows, A.n_cols, std::span<const T>(transposed.memptr(), transposed.n_elem));
}

}  // namespace

arma::mat matrix_of(const StoredBlock& block) {
  require_memory(
      sizeof(double) * static_cast<double>(block.row_count) * static_cast<double>(block.col_count),
      block.layout.label);
  arma::mat out(block.row_count, block.col_count, arma::fill::none);
  widen_block(block, out.memptr());
  return out;
}

arma::mat matrix_of(const StoredTensor& tensor) {
  return matrix_of(tensor.columns(0, tensor.cols()));
}

void write_npy(const std::string& path, const arma::mat& A) {
  write_by_rows(path, A);
}
void write_npy(const std::string& path, const arma::fmat& A) {
  write_by_rows(path, A);
}

}  // namespace ranklab
