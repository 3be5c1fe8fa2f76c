// .npz: a ZIP archive of .npy arrays.
#include <algorithm>
#include <atomic>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/tensors/npy_header.hpp"
#include "io/tensors/tensor_reader.hpp"
#include "io/tensors/zip_archive.hpp"

namespace ranklab {

namespace {

constexpr std::string_view ending = ".npy";

class NpzReader : public TensorReader {
 public:
  NpzReader(std::shared_ptr<const MappedFile> file, const std::string& label) : file_(std::move(file)), label_(label) {
    const std::vector<ZipMember> members = read_zip_directory(*file_, label);
    checked_ = std::vector<std::atomic<bool>>(members.size());
    for (const ZipMember& member : members) {
      const bool array = member.name.ends_with(ending);
      const std::string key = array ? member.name.substr(0, member.name.size() - ending.size()) : member.name;
      if (!add_key(key)) throw Failure(label + ": two members with the key '" + printable_key(key) + "'");
      arrays_.push_back({member, array ? read_header(member, label_of(key)) : not_an_array()});
    }
  }

  StoredTensor tensor(std::size_t index) const override {
    const auto& [member, header] = arrays_[index];
    TensorLayout layout = header.layout;
    layout.label = label_of(keys()[index]);
    if (!header.refusal.empty()) throw Failure(layout.label + ": " + header.refusal);
    if (member.deflated) {
      const auto bytes = inflate_zip_member(member, layout.label);
      layout.data = bytes.get() + header.bytes;
      layout.keeper = bytes;
    } else {
      // Once is enough; two threads at the same time do no harm.
      if (!checked_[index].load()) check_stored_zip_member(*file_, member, layout.label);
      checked_[index].store(true);
      layout.data = member.packed + header.bytes;
      layout.keeper = file_;
      layout.file = file_.get();
    }
    return StoredTensor(std::move(layout));
  }

 private:
  struct Array {
    ZipMember member;
    NpyHeader header;
  };

  std::string label_of(const std::string& key) const { return label_ + ":" + printable_key(key); }

  static NpyHeader not_an_array() {
    NpyHeader header;
    header.refusal = "this member of the archive is not a .npy array";
    return header;
  }

  // The header of a member; the member must be as long as its array needs.
  static NpyHeader read_header(const ZipMember& member, const std::string& label) {
    // Headers of plain arrays take 128 bytes.
    std::string start = zip_member_start(member, 256, label);
    const std::uint64_t wanted = npy_header_bytes(start, label);
    if (wanted > start.size()) start = zip_member_start(member, wanted, label);
    NpyHeader header = parse_npy_header(start, label);
    if (header.refusal.empty() && member.bytes - header.bytes != header.data_bytes) {
      throw Failure(label + ": " + shape_to_text(header.layout.shape) + " entries of " + dtype_name(header.layout.dtype) +
                    " take " + std::to_string(header.data_bytes) + " bytes, the archive says " +
                    std::to_string(member.bytes - header.bytes));
    }
    return header;
  }

  std::shared_ptr<const MappedFile> file_;
  std::string label_;
  std::vector<Array> arrays_;
  mutable std::vector<std::atomic<bool>> checked_;
};

}  // namespace

std::shared_ptr<const TensorReader> read_npz(std::shared_ptr<const MappedFile> file, const std::string& label) {
  return std::make_shared<NpzReader>(std::move(file), label);
}

}  // namespace ranklab
