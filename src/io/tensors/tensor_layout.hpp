// The type, shape and position of the entries of a stored tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ranklab {

class ByteReader;

/// Type of the entries as stored; other types of the formats are not read. Integers are token ids,
/// or weights that need a scale, as the 8-bit floats do.
enum class Dtype {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  f8_e4m3,
  f8_e5m2
};

/// "F32", as safetensors spells it.
std::string dtype_name(Dtype dtype);
std::uint64_t dtype_bytes(Dtype dtype);
/// A floating-point type whose entries need no scale.
bool is_floating(Dtype dtype);
bool is_float8(Dtype dtype);
/// The type with that name, if it exists.
std::optional<Dtype> dtype_named(const std::string& name);

struct TensorLayout {
  std::string label;  // "grads.npz:layer1", escaped, for messages
  Dtype dtype = Dtype::f32;
  std::vector<std::uint64_t> shape;  // empty: one number
  bool column_major = false;         // numpy's fortran_order; otherwise row by row
  bool big_endian = false;
  std::shared_ptr<const ByteReader> reader;
  std::uint64_t begin = 0;  // where its entries begin
};

/// Consecutive rows and columns of a matrix.
struct StoredBlock {
  TensorLayout layout;  // of the whole
  std::uint64_t first_row, row_count;
  std::uint64_t first_col, col_count;
};

/// Counts the entries of a tensor; false if the product of the nonzero dimensions exceeds 63 bits,
/// even if another dimension is 0.
bool count_elements(const std::vector<std::uint64_t>& shape, std::uint64_t& elements);

/// "4096 x 128"; "scalar" for a tensor without dimensions; long shapes are cut.
std::string shape_to_text(const std::vector<std::uint64_t>& shape);

}  // namespace ranklab
