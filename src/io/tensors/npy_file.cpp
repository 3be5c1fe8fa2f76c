// .npy: one array per file.
#include <algorithm>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/npy_header.hpp"
#include "io/tensors/tensor_file.hpp"
#include "io/tensors/tensor_reader.hpp"

namespace ranklab {

namespace {

class NpyReader : public TensorReader {
 public:
  NpyReader(std::shared_ptr<const InputFile> file, const std::string& label) {
    const auto start = [&](std::uint64_t count) {
      return file->text(0, std::min(count, file->size()));
    };
    NpyHeader header = read_npy_header(start, label);
    if (!header.refusal.empty()) throw Failure(label + ": " + header.refusal);
    const std::uint64_t present = file->size() - header.bytes;
    if (present != header.data_bytes) {
      throw Failure(label + ": " + (present < header.data_bytes ? "truncated: " : "too long: ") +
                    shape_to_text(header.layout.shape) + " entries of " +
                    dtype_name(header.layout.dtype) + " take " + std::to_string(header.data_bytes) +
                    " bytes, " + std::to_string(present) + " follow the header");
    }
    layout_ = std::move(header.layout);
    layout_.label = label;
    layout_.reader = std::move(file);
    layout_.begin = header.bytes;
    set_keys({""});
  }

  StoredTensor tensor(std::size_t /*index*/) const override { return StoredTensor(layout_); }

 private:
  TensorLayout layout_;
};

void write_matrix(const std::string& path, const char* descr, std::uint64_t rows,
                  std::uint64_t cols, std::string_view entries) {
  std::string header = std::string("{'descr': '") + descr +
                       "', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                       std::to_string(cols) + "), }";
  // Magic, version and length take 10 bytes; the entries start at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes += entries;
  write_file_atomically(path, bytes);
}

}  // namespace

std::shared_ptr<const TensorReader> read_npy(std::shared_ptr<const InputFile> file,
                                             const std::string& label) {
  return std::make_shared<NpyReader>(std::move(file), label);
}

void write_npy(const std::string& path, std::uint64_t rows, std::uint64_t cols,
               std::span<const double> entries) {
  write_matrix(path, "<f8", rows, cols,
               {reinterpret_cast<const char*>(entries.data()), entries.size_bytes()});
}
void write_npy(const std::string& path, std::uint64_t rows, std::uint64_t cols,
               std::span<const float> entries) {
  write_matrix(path, "<f4", rows, cols,
               {reinterpret_cast<const char*>(entries.data()), entries.size_bytes()});
}

}  // namespace ranklab
