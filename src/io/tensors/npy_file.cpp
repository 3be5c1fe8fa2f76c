// .npy: one array per file.
#include <algorithm>

#include "core/error.hpp"
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

}  // namespace

std::shared_ptr<const TensorReader> read_npy(std::shared_ptr<const InputFile> file,
                                             const std::string& label) {
  return std::make_shared<NpyReader>(std::move(file), label);
}

}  // namespace ranklab
