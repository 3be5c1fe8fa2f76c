#include "io/tensors/safetensors_writer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "io/atomic_file.hpp"

namespace ranklab {
namespace {

void check(const TensorToWrite& tensor) {
  std::uint64_t elements = 0;
  if (!count_elements(tensor.shape, elements) ||
      elements != tensor.bytes.size() / dtype_bytes(tensor.dtype) ||
      tensor.bytes.size() % dtype_bytes(tensor.dtype) != 0 || tensor.key == "__metadata__") {
    throw std::logic_error("write_safetensors: tensor '" + tensor.key +
                           "' has bytes that do not match its shape, or a reserved key");
  }
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const TensorToWrite*> order;
  for (const TensorToWrite& tensor : tensors) {
    check(tensor);
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const TensorToWrite* a, const TensorToWrite* b) {
    return dtype_bytes(a->dtype) > dtype_bytes(b->dtype);
  });
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::string data;
  for (const TensorToWrite* tensor : order) {
    if (header.contains(tensor->key))
      throw std::logic_error("write_safetensors: two tensors '" + tensor->key + "'");
    const std::size_t begin = data.size();
    data += tensor->bytes;
    header[tensor->key] = {{"dtype", dtype_name(tensor->dtype)},
                           {"shape", tensor->shape},
                           {"data_offsets", nlohmann::json::array({begin, data.size()})}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length;
  for (int byte = 0; byte < 8; ++byte)
    length += static_cast<char>((text.size() >> (8 * byte)) & 0xFF);
  write_file_atomically(path, length + text + data);
}

}  // namespace ranklab
