// Matrices as tensors of a .safetensors file, which stores rows contiguously; Armadillo stores
// columns contiguously.
#pragma once

#include <armadillo>
#include <string>
#include <type_traits>

#include "io/tensors/safetensors_writer.hpp"

namespace ranklab {

template <class T>
constexpr Dtype type_of = std::is_same_v<T, float> ? Dtype::f32 : Dtype::f64;

/// The entries in memory order, column by column: the rows of the transpose.
template <class T>
std::string bytes_of(const arma::Mat<T>& A) {
  return {reinterpret_cast<const char*>(A.memptr()), A.n_elem * sizeof(T)};
}

/// A', stored as (columns, rows).
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

/// Replaces the extension .safetensors by `suffix`: "a/b.safetensors" becomes "a/b" + suffix.
/// Appends `suffix` to a file name with another extension.
inline std::string replace_extension(const std::string& file, const std::string& suffix) {
  const std::string ending = ".safetensors";
  return (file.ends_with(ending) ? file.substr(0, file.size() - ending.size()) : file) + suffix;
}

}  // namespace ranklab
