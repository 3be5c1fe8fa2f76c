// Matrices in files.
#pragma once

#include <armadillo>
#include <string>

#include "io/tensors/stored_tensor.hpp"

namespace ranklab {

/// The block as a matrix, converted to double. Entries may be infinite or NaN.
arma::mat matrix_of(const StoredBlock& block);
/// A whole stored matrix. Throws Failure if the tensor is not a matrix.
arma::mat matrix_of(const StoredTensor& tensor);

/// Writes a matrix as a .npy file of doubles or floats, atomically. Throws Failure as
/// write_file_atomically does.
void write_npy(const std::string& path, const arma::mat& A);
void write_npy(const std::string& path, const arma::fmat& A);

}  // namespace ranklab
