// Matrices in files.
#pragma once

#include <armadillo>

#include "io/tensors/stored_tensor.hpp"

namespace ranklab {

/// The block as a matrix, converted to double. Entries may be infinite or NaN.
arma::mat matrix_of(const StoredBlock& block);
/// A whole stored matrix. Throws Failure if the tensor is not a matrix.
arma::mat matrix_of(const StoredTensor& tensor);

}  // namespace ranklab
