#include "io/tensors/npy_header.hpp"

#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/tensors/entry_types.hpp"
#include "io/tensors/python_literal.hpp"

namespace ranklab {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

[[noreturn]] void fail(const std::string& label, const std::string& why) {
  throw Failure(label + ": " + why);
}

// The major version and the number of bytes before the text of the header.
struct Prefix {
  int version;
  std::uint64_t bytes, text_bytes;
};

Prefix parse_prefix(std::string_view start, const std::string& label) {
  if (start.substr(0, magic.size()) != magic) {
    const bool pickle = start.size() > 1 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5;
    if (pickle)
      fail(label, std::string("a pickled Python object, which is never loaded; convert it: ") +
                      npy_recipe);
    if (start.substr(0, 4) == "PK\x03\x04")
      fail(label, "not a .npy array but a ZIP archive: name it .npz");
    fail(label, "not a .npy array: it does not start with \\x93NUMPY");
  }
  if (start.size() < 10) fail(label, "truncated: the .npy header is cut short");
  const auto* bytes = reinterpret_cast<const unsigned char*>(start.data());
  const int major = bytes[6], minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0) {
    fail(label, "version " + std::to_string(major) + "." + std::to_string(minor) +
                    " of .npy is not supported; allowed: 1.0, 2.0 and 3.0");
  }
  if (major == 1) return {major, 10, load_little<std::uint16_t>(bytes + 8)};
  if (start.size() < 12) fail(label, "truncated: the .npy header is cut short");
  return {major, 12, load_little<std::uint32_t>(bytes + 8)};
}

struct Descr {
  Dtype dtype;
  bool big_endian;
};

// The types that are read, by numpy's kind and size.
std::optional<Dtype> dtype_of(std::string_view kind_and_size) {
  struct Known {
    std::string_view descr;
    Dtype dtype;
  };
  static constexpr std::array<Known, 12> known{{{"f8", Dtype::f64},
                                                {"f4", Dtype::f32},
                                                {"f2", Dtype::f16},
                                                {"i8", Dtype::i64},
                                                {"i4", Dtype::i32},
                                                {"i2", Dtype::i16},
                                                {"i1", Dtype::i8},
                                                {"u8", Dtype::u64},
                                                {"u4", Dtype::u32},
                                                {"u2", Dtype::u16},
                                                {"u1", Dtype::u8},
                                                {"b1", Dtype::boolean}}};
  for (const Known& one : known) {
    if (one.descr == kind_and_size) return one.dtype;
  }
  return std::nullopt;
}

std::optional<Descr> parse_descr(std::string_view text) {
  const char order = text.empty() ? '\0' : text[0];
  const bool marked = order == '<' || order == '>' || order == '=' || order == '|';
  const std::optional<Dtype> dtype = dtype_of(text.substr(marked ? 1 : 0));
  // '|' means that the byte order is irrelevant.
  if (!dtype || (order == '|' && dtype_bytes(*dtype) > 1)) return std::nullopt;
  return Descr{*dtype, order == '>'};
}

std::string refusal_of(const PythonValue& descr) {
  if (descr.kind != PythonValue::Kind::text)
    return std::string("a structured dtype is not supported; save one field: ") + npy_recipe;
  const std::string& text = descr.text;
  if (text.find('O') != std::string::npos) {
    return "dtype '" + printable_key(text) +
           "' holds pickled Python objects, which are never loaded; convert it: " + npy_recipe;
  }
  return "dtype '" + printable_key(text) + "' is not supported; convert it: " + npy_recipe;
}

std::vector<std::uint64_t> shape_of(const PythonValue& value, const std::string& label) {
  if (value.kind != PythonValue::Kind::tuple)
    fail(label, "the 'shape' of the .npy header is not a tuple");
  std::vector<std::uint64_t> shape;
  for (const PythonValue& size : value.items) {
    if (size.kind != PythonValue::Kind::integer)
      fail(label, "the 'shape' of the .npy header holds more than sizes");
    shape.push_back(size.integer);
  }
  return shape;
}

// Bytes of prefix and header.
std::uint64_t header_bytes(std::string_view start, const std::string& label) {
  const Prefix prefix = parse_prefix(start, label);
  if (prefix.text_bytes > longest_npy_header) {
    fail(label, "a .npy header of " + std::to_string(prefix.text_bytes) +
                    " bytes is implausible; at most " + std::to_string(longest_npy_header) +
                    " are read");
  }
  return prefix.bytes + prefix.text_bytes;
}

}  // namespace

NpyHeader read_npy_header(const std::function<std::string(std::uint64_t count)>& start_of,
                          const std::string& label) {
  std::string start = start_of(256);  // headers of plain arrays take 128
  NpyHeader header;
  header.bytes = header_bytes(start, label);
  if (header.bytes > start.size()) start = start_of(header.bytes);
  if (start.size() < header.bytes) fail(label, "truncated: the .npy header is cut short");
  const Prefix prefix = parse_prefix(start, label);
  const PythonDict dict = parse_python_dict(
      std::string_view(start).substr(prefix.bytes, prefix.text_bytes), label + ": the .npy header");

  const auto entry = [&](const std::string& key) -> const PythonValue& {
    const PythonValue* value = dict.find(key);
    if (value == nullptr) fail(label, "the .npy header lacks '" + key + "'");
    return *value;
  };
  const PythonValue& descr = entry("descr");
  const PythonValue& fortran_order = entry("fortran_order");
  const PythonValue& shape = entry("shape");
  for (const auto& [key, value] : dict.entries) {
    if (key != "descr" && key != "fortran_order" && key != "shape") {
      fail(label, "the .npy header has a key '" + printable_key(key) +
                      "'; it may hold descr, fortran_order and shape");
    }
  }
  if (fortran_order.kind != PythonValue::Kind::boolean)
    fail(label, "the 'fortran_order' of the .npy header is neither True nor False");
  TensorLayout& layout = header.layout;
  layout.column_major = fortran_order.integer != 0;
  layout.shape = shape_of(shape, label);

  const std::optional<Descr> type =
      descr.kind == PythonValue::Kind::text ? parse_descr(descr.text) : std::nullopt;
  if (!type) {
    header.refusal = refusal_of(descr);
    return header;
  }
  layout.dtype = type->dtype;
  layout.big_endian = type->big_endian;
  std::uint64_t elements = 0;
  if (!count_elements(layout.shape, elements) ||
      elements > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) /
                     dtype_bytes(layout.dtype)) {
    fail(label,
         "the shape " + shape_to_text(layout.shape) + " has more entries than can be counted");
  }
  header.data_bytes = elements * dtype_bytes(layout.dtype);
  return header;
}

}  // namespace ranklab
