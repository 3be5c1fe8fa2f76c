// .npz: a ZIP archive of .npy arrays.
#include <algorithm>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/tensors/npy_header.hpp"
#include "io/tensors/tensor_reader.hpp"
#include "io/tensors/zip_archive.hpp"

namespace ranklab {

namespace {

constexpr std::string_view npy_ending = ".npy";

class NpzReader : public TensorReader {
 public:
  NpzReader(std::shared_ptr<const InputFile> file, const std::string& label)
      : file_(std::move(file)), label_(label) {
    const std::vector<ZipMember> members = read_zip_directory(*file_, label);
    std::vector<std::string> keys;
    for (const ZipMember& member : members) {
      if (!member.name.ends_with(npy_ending)) continue;  // a folder, or a text that someone added
      const std::string key = member.name.substr(0, member.name.size() - npy_ending.size());
      arrays_.push_back({member, read_header(member, label_of(key))});
      keys.push_back(key);
    }
    set_keys(std::move(keys));  // unique, as the names of the members are
  }

  StoredTensor tensor(std::size_t index) const override {
    const auto& [member, header] = arrays_[index];
    TensorLayout layout = header.layout;
    layout.label = label_of(keys()[index]);
    if (!header.refusal.empty()) throw Failure(layout.label + ": " + header.refusal);
    layout.reader = open_zip_member(file_, member, layout.label);
    layout.begin = header.bytes;
    return StoredTensor(std::move(layout));
  }

 private:
  struct Array {
    ZipMember member;
    NpyHeader header;
  };

  std::string label_of(const std::string& key) const { return label_ + ":" + printable_key(key); }

  // The header of a member. Checks that the member is as long as its array.
  NpyHeader read_header(const ZipMember& member, const std::string& label) const {
    NpyHeader header = read_npy_header(
        [&](std::uint64_t count) { return zip_member_start(*file_, member, count, label); }, label);
    if (header.refusal.empty() && member.bytes - header.bytes != header.data_bytes) {
      throw Failure(label + ": " + shape_to_text(header.layout.shape) + " entries of " +
                    dtype_name(header.layout.dtype) + " take " + std::to_string(header.data_bytes) +
                    " bytes, but the archive has " + std::to_string(member.bytes - header.bytes));
    }
    return header;
  }

  std::shared_ptr<const InputFile> file_;
  std::string label_;
  std::vector<Array> arrays_;
};

}  // namespace

std::shared_ptr<const TensorReader> read_npz(std::shared_ptr<const InputFile> file,
                                             const std::string& label) {
  return std::make_shared<NpzReader>(std::move(file), label);
}

}  // namespace ranklab
