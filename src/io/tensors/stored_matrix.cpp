#include "io/tensors/stored_matrix.hpp"

#include "core/machine.hpp"
#include "io/tensors/widen.hpp"

namespace ranklab {
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

}  // namespace ranklab
