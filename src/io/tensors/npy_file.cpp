// .npy: one array per file.
#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/npy_header.hpp"
#include "io/tensors/tensor_reader.hpp"

namespace ranklab {

namespace {

class NpyReader : public TensorFile::Reader {
 public:
  NpyReader(std::shared_ptr<const MappedFile> file, const std::string& label) {
    const std::string_view bytes(reinterpret_cast<const char*>(file->data()), file->size());
    const NpyHeader header = parse_npy_header(bytes, label);
    if (!header.refusal.empty()) throw Failure(label + ": " + header.refusal);
    const std::uint64_t present = file->size() - header.bytes;
    if (present != header.data_bytes) {
      throw Failure(label + ": " + (present < header.data_bytes ? "truncated: " : "too long: ") + shape_to_text(header.shape) +
                    " entries of " + dtype_name(header.dtype) + " take " + std::to_string(header.data_bytes) + " bytes, " +
                    std::to_string(present) + " follow the header");
    }
    layout_.label = label;
    layout_.dtype = header.dtype;
    layout_.shape = header.shape;
    layout_.column_major = header.fortran_order;
    layout_.big_endian = header.big_endian;
    layout_.data = file->data() + header.bytes;
    layout_.file = file.get();
    layout_.keeper = std::move(file);
    add_key("");
  }

  StoredTensor tensor(std::size_t /*index*/) const override { return StoredTensor(layout_); }

 private:
  StoredTensor::Layout layout_;
};

template <class T>
void write_matrix(const std::string& path, const arma::Mat<T>& A, const char* descr) {
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (" + std::to_string(A.n_rows) +
                       ", " + std::to_string(A.n_cols) + "), }";
  // Magic, version and length take 10 bytes; the entries start at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  const arma::Mat<T> transposed = A.t();
  bytes.append(reinterpret_cast<const char*>(transposed.memptr()), transposed.n_elem * sizeof(T));
  write_file_atomically(path, bytes);
}

}  // namespace

std::shared_ptr<const TensorFile::Reader> read_npy(std::shared_ptr<const MappedFile> file, const std::string& label) {
  return std::make_shared<NpyReader>(std::move(file), label);
}

void write_npy(const std::string& path, const arma::mat& A) {
  write_matrix(path, A, "<f8");
}
void write_npy(const std::string& path, const arma::fmat& A) {
  write_matrix(path, A, "<f4");
}

}  // namespace ranklab
