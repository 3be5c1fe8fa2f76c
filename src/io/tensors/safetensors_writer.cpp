#include "io/tensors/safetensors_writer.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "io/atomic_file.hpp"
#include "io/tensors/safetensors_header.hpp"

namespace ranklab {

namespace {

void check(const TensorToWrite& tensor) {
  std::uint64_t elements = 0;
  if (!count_elements(tensor.shape, elements) || elements != tensor.bytes.size() / dtype_bytes(tensor.dtype) ||
      tensor.bytes.size() % dtype_bytes(tensor.dtype) != 0 || tensor.key == "__metadata__") {
    throw std::logic_error("write_safetensors: tensor '" + tensor.key +
                           "' has other bytes than its shape needs, or a reserved key");
  }
}

}  // namespace

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
