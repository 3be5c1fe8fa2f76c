#include "io/tensors/safetensors_writer.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "io/atomic_file.hpp"
#include "io/tensors/safetensors_header.hpp"
#include "io/tensors/tensor_reader.hpp"

namespace ranklab {

namespace {

template <class T>
TensorToWrite as_stored(const std::string& key, Dtype dtype, const arma::Mat<T>& A) {
  const arma::Mat<T> by_rows = A.t();
  return {
      key, dtype, {A.n_rows, A.n_cols}, std::string(reinterpret_cast<const char*>(by_rows.memptr()), by_rows.n_elem * sizeof(T))};
}

void check(const TensorToWrite& tensor) {
  std::uint64_t elements = 0;
  if (!count_elements(tensor.shape, elements) || elements != tensor.bytes.size() / dtype_bytes(tensor.dtype) ||
      tensor.bytes.size() % dtype_bytes(tensor.dtype) != 0 || tensor.key == "__metadata__") {
    throw std::logic_error("write_safetensors: tensor '" + tensor.key +
                           "' has other bytes than its shape needs, or a reserved key");
  }
}

}  // namespace

TensorToWrite tensor_to_write(const std::string& key, const arma::mat& A) {
  return as_stored(key, Dtype::f64, A);
}
TensorToWrite tensor_to_write(const std::string& key, const arma::fmat& A) {
  return as_stored(key, Dtype::f32, A);
}

void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors) {
  std::vector<const TensorToWrite*> order;
  std::unordered_set<std::string> keys;
  for (const TensorToWrite& tensor : tensors) {
    check(tensor);
    if (!keys.insert(tensor.key).second) throw std::logic_error("write_safetensors: two tensors '" + tensor.key + "'");
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const TensorToWrite* a, const TensorToWrite* b) { return dtype_bytes(a->dtype) > dtype_bytes(b->dtype); });
  std::vector<SafetensorsEntry> entries;
  std::string data;
  for (const TensorToWrite* tensor : order) {
    entries.push_back({tensor->key, dtype_name(tensor->dtype), tensor->shape, data.size(), data.size() + tensor->bytes.size()});
    data += tensor->bytes;
  }
  const std::string header = format_safetensors_header(entries);
  std::string length;
  for (int byte = 0; byte < 8; ++byte) length += static_cast<char>((header.size() >> (8 * byte)) & 0xFF);
  write_file_atomically(path, length + header + data);
}

}  // namespace ranklab
