// Matrices as tensors of a .safetensors file. A matrix is stored row by row, Armadillo's columns are contiguous.
#pragma once

#include <armadillo>
#include <string>
#include <type_traits>

#include "io/tensors/safetensors_writer.hpp"

namespace ranklab {

template <class T>
constexpr Dtype type_of = std::is_same_v<T, float> ? Dtype::f32 : Dtype::f64;

/// The entries in the order of memory, column by column: the rows of the transposed matrix.
template <class T>
std::string bytes_of(const arma::Mat<T>& A) {
  return {reinterpret_cast<const char*>(A.memptr()), A.n_elem * sizeof(T)};
}

/// A' as stored (columns, rows).
template <class T>
TensorToWrite transposed(const std::string& key, const arma::Mat<T>& A) {
  return {key, type_of<T>, {A.n_cols, A.n_rows}, bytes_of(A)};
}

template <class T>
TensorToWrite tensor(const std::string& key, const arma::Mat<T>& A) {
  return {key, type_of<T>, {A.n_rows, A.n_cols}, bytes_of<T>(A.st())};
}

/// A column as a vector.
template <class T>
TensorToWrite vector_tensor(const std::string& key, const arma::Mat<T>& A) {
  return {key, type_of<T>, {A.n_elem}, bytes_of(A)};
}

template <class T>
TensorToWrite constant(const std::string& key, std::uint64_t size, T value) {
  return vector_tensor(key, arma::Mat<T>(size, 1, arma::fill::value(value)));
}

/// "a/b.safetensors" with `what` in place of its ending, "a/b" + what; a name with another ending gets it at its end.
inline std::string beside(const std::string& file, const std::string& what) {
  const std::string ending = ".safetensors";
  return (file.ends_with(ending) ? file.substr(0, file.size() - ending.size()) : file) + what;
}

}  // namespace ranklab
