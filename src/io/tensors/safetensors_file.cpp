// .safetensors: the length of the header, the header, and the entries of all tensors without gaps.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/tensors/entry_types.hpp"
#include "io/tensors/safetensors_header.hpp"
#include "io/tensors/tensor_reader.hpp"

namespace ranklab {

namespace {

constexpr std::uint64_t length_bytes = 8, longest_header = 100'000'000;

// Types of the format that are not read, with the bits of an entry.
constexpr std::array<std::pair<std::string_view, unsigned>, 7> unread_dtypes{{{"C64", 64},
                                                                              {"F8_E8M0", 8},
                                                                              {"F8_E4M3FNUZ", 8},
                                                                              {"F8_E5M2FNUZ", 8},
                                                                              {"F6_E2M3", 6},
                                                                              {"F6_E3M2", 6},
                                                                              {"F4", 4}}};

// Bits of an entry; nothing for an unknown type, which a later version of the format may add.
std::optional<unsigned> bits_of(const std::string& dtype) {
  if (const auto read = dtype_named(dtype)) return static_cast<unsigned>(8 * dtype_bytes(*read));
  const auto* known = std::find_if(unread_dtypes.begin(), unread_dtypes.end(),
                                   [&](const auto& one) { return one.first == dtype; });
  return known == unread_dtypes.end() ? std::nullopt : std::optional(known->second);
}

// Bytes of a tensor; nothing if the number is too large or not a whole number.
std::optional<std::uint64_t> bytes_of(const std::vector<std::uint64_t>& shape, unsigned bits) {
  std::uint64_t elements = 0;
  if (!count_elements(shape, elements) || elements > (std::uint64_t{1} << 63) / bits)
    return std::nullopt;
  if (elements * bits % 8 != 0) return std::nullopt;
  return elements * bits / 8;
}

class SafetensorsReader : public TensorReader {
 public:
  SafetensorsReader(std::shared_ptr<const InputFile> file, const std::string& label)
      : file_(std::move(file)), label_(label) {
    if (file_->size() < length_bytes)
      fail("truncated: a .safetensors file starts with 8 bytes of length");
    const auto header_bytes = load_little<std::uint64_t>(
        reinterpret_cast<const unsigned char*>(file_->text(0, length_bytes).data()));
    if (header_bytes > longest_header) {
      fail("not a .safetensors file: a header of " + std::to_string(header_bytes) +
           " bytes; at most " + std::to_string(longest_header) + " are allowed");
    }
    if (header_bytes > file_->size() - length_bytes) fail("truncated: the header is cut short");
    data_begin_ = length_bytes + header_bytes;
    entries_ = parse_safetensors_header(file_->text(length_bytes, header_bytes), label, &metadata_);
    std::vector<std::string> keys;
    keys.reserve(entries_.size());
    for (SafetensorsEntry& entry : entries_) keys.push_back(std::move(entry.key));
    set_keys(std::move(keys));
    check_offsets(file_->size() - data_begin_);
    for (std::size_t i = 0; i < entries_.size(); ++i) check_size(i);
  }

  StoredTensor tensor(std::size_t index) const override {
    const SafetensorsEntry& entry = entries_[index];
    const std::optional<Dtype> dtype = dtype_named(entry.dtype);
    TensorLayout layout;
    layout.label = label_ + ":" + printable_key(keys()[index]);
    if (!dtype)
      throw Failure(layout.label + (entry.dtype.empty()
                                        ? ": has an empty dtype; save it again with a type"
                                        : ": dtype " + printable_key(entry.dtype) +
                                              " is not supported; dequantize it with the library "
                                              "that wrote it"));
    layout.dtype = *dtype;
    layout.shape = entry.shape;
    layout.reader = file_;
    layout.begin = data_begin_ + entry.begin;
    return StoredTensor(std::move(layout));
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw Failure(label_ + ": " + why); }

  [[noreturn]] void fail_offsets(std::size_t index, const std::string& why) const {
    const SafetensorsEntry& entry = entries_[index];
    fail("tensor '" + printable_key(keys()[index]) + "': its data_offsets " +
         std::to_string(entry.begin) + " to " + std::to_string(entry.end) + " " + why);
  }

  // Checks that the tensors fill the `present` bytes after the header: no gap, no overlap, no
  // remainder.
  void check_offsets(std::uint64_t present) const {
    std::vector<std::size_t> order(entries_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto before = [&](std::size_t a, std::size_t b) {
      return std::pair(entries_[a].begin, entries_[a].end) <
             std::pair(entries_[b].begin, entries_[b].end);
    };
    if (!std::is_sorted(order.begin(), order.end(), before))
      std::sort(order.begin(), order.end(), before);
    std::uint64_t filled = 0;
    for (const std::size_t i : order) {
      const SafetensorsEntry& entry = entries_[i];
      if (entry.end < entry.begin) fail_offsets(i, "are in the wrong order");
      if (entry.begin < filled) fail_offsets(i, "overlap another tensor's");
      if (entry.begin > filled) fail_offsets(i, "leave a gap");
      if (entry.end > present) fail_offsets(i, "lie beyond the file (truncated?)");
      filled = entry.end;
    }
    if (filled != present)
      fail("too long: " + std::to_string(present - filled) + " bytes follow the last tensor");
  }

  void check_size(std::size_t index) const {
    const SafetensorsEntry& entry = entries_[index];
    const std::optional<unsigned> bits = bits_of(entry.dtype);
    const std::optional<std::uint64_t> bytes = bytes_of(entry.shape, bits.value_or(8));
    if (bytes && (!bits || *bytes == entry.end - entry.begin)) return;
    fail("tensor '" + printable_key(keys()[index]) + "': " + shape_to_text(entry.shape) +
         " entries of " + printable_key(entry.dtype) +
         (bytes ? " take " + std::to_string(*bytes) + " bytes, but its data_offsets span " +
                      std::to_string(entry.end - entry.begin)
                : " cannot be counted in bytes"));
  }

  std::shared_ptr<const InputFile> file_;
  std::string label_;
  std::uint64_t data_begin_ = 0;
  std::vector<SafetensorsEntry> entries_;  // keys are moved to keys()
};

}  // namespace

std::shared_ptr<const TensorReader> read_safetensors(std::shared_ptr<const InputFile> file,
                                                     const std::string& label) {
  return std::make_shared<SafetensorsReader>(std::move(file), label);
}

}  // namespace ranklab
