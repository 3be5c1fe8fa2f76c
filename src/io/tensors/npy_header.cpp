#include "io/tensors/npy_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/tensors/entry_types.hpp"

namespace ranklab {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

[[noreturn]] void fail(const std::string& label, const std::string& why) {
  throw Failure(label + ": " + why);
}

struct Prefix {
  std::uint64_t bytes;       // of the prefix itself
  std::uint64_t text_bytes;  // of the header's text after it
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
  if (major == 1) return {10, load_little<std::uint16_t>(bytes + 8)};
  if (start.size() < 12) fail(label, "truncated: the .npy header is cut short");
  return {12, load_little<std::uint32_t>(bytes + 8)};
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

std::string refusal_of(const std::string& descr) {
  if (descr.find('O') != std::string::npos) {
    return "dtype '" + printable_key(descr) +
           "' holds pickled Python objects, which are never loaded; convert it: " + npy_recipe;
  }
  if (descr.ends_with("V2")) {
    // numpy does not know bfloat16: it stores the bytes, and reads them back as void.
    return "dtype '" + printable_key(descr) +
           "' is not supported; if the entries are bfloat16, convert it: np.save(path, "
           "x.view(ml_dtypes.bfloat16).astype(np.float32))";
  }
  return "dtype '" + printable_key(descr) + "' is not supported; convert it: " + npy_recipe;
}

// The text of a header: a Python dict {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& label) : text_(text), label_(label) {
    parse();
  }

  // Nothing if the dtype is structured, a list or a tuple. Such entries are not read, so reading
  // stops there.
  std::optional<std::string> descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;

 private:
  void parse() {
    struct Field {
      std::string_view key;
      void (HeaderText::*read)();
      bool is_read;
    };
    std::array<Field, 3> fields{{{"descr", &HeaderText::read_descr, false},
                                 {"fortran_order", &HeaderText::read_fortran_order, false},
                                 {"shape", &HeaderText::read_shape, false}}};
    expect("{");
    while (!take("}")) {
      const std::string key = text();
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const Field& one) { return one.key == key; });
      if (field == fields.end()) {
        fail(label_, "the .npy header has a key '" + printable_key(key) +
                         "'; it may hold descr, fortran_order and shape");
      }
      if (std::exchange(field->is_read, true)) refuse("two keys '" + key + "'");
      expect(":");
      if (key == "descr" && (next() == '[' || next() == '(')) return;
      (this->*field->read)();
      if (take(",")) continue;
      expect("}");
      break;
    }
    next();
    if (at_ != text_.size()) refuse("something follows it");
    for (const Field& field : fields) {
      if (!field.is_read) fail(label_, "the .npy header lacks '" + std::string(field.key) + "'");
    }
  }

  void read_descr() { descr = text(); }

  void read_fortran_order() {
    fortran_order = take("True");
    if (!fortran_order && !take("False"))
      fail(label_, "the 'fortran_order' of the .npy header is neither True nor False");
  }

  void read_shape() {
    if (!take("(")) fail(label_, "the 'shape' of the .npy header is not a tuple");
    bool comma = true;
    while (!take(")")) {
      if (!comma) refuse("',' or ')' is missing");
      if (!is_digit(next()))
        fail(label_, "the 'shape' of the .npy header holds more than integers from 0");
      shape.push_back(integer());
      comma = take(",");
    }
    // Parentheses around one value without a comma are not a tuple.
    if (shape.size() == 1 && !comma)
      refuse("a number in parentheses is not a tuple: a comma is missing");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    fail(label_, "the .npy header is not a Python dict of an array: " + why + " (byte " +
                     std::to_string(at_) + ")");
  }

  static bool is_quote(char c) { return c == '\'' || c == '"'; }

  // The next character that is not white space; 0 at the end.
  char next() {
    at_ = std::min(text_.find_first_not_of(" \n\t\r", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(std::string_view word) {
    next();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void expect(const std::string& word) {
    if (!take(word)) refuse("'" + word + "' is missing");
  }

  std::string text() {
    const char quote = next();
    if (!is_quote(quote)) refuse("a string is missing");
    const std::size_t begin = at_ + 1;
    at_ = text_.find_first_of(std::string("\\\n") + quote, begin);
    if (at_ == std::string_view::npos) {
      at_ = text_.size();
      refuse("a string does not end");
    }
    if (text_[at_] != quote) refuse("a string with an escape or a line break");
    return std::string(text_.substr(begin, at_++ - begin));
  }

  // Call if a digit is next.
  std::uint64_t integer() {
    std::int64_t number = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (error != std::errc()) refuse("a number beyond 63 bits");
    if (*begin == '0' && end != begin + 1) refuse("a number that starts with 0");
    at_ += static_cast<std::size_t>(end - begin);
    // Python 2 wrote long integers with an L.
    if (text_.substr(at_).starts_with('L')) ++at_;
    return static_cast<std::uint64_t>(number);
  }

  std::string_view text_;
  const std::string& label_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader read_npy_header(const std::function<std::string(std::uint64_t count)>& start_of,
                          const std::string& label) {
  std::string start = start_of(256);  // headers of plain arrays take 128
  NpyHeader header;
  const Prefix prefix = parse_prefix(start, label);
  if (prefix.text_bytes > longest_npy_header) {
    fail(label, "a .npy header of " + std::to_string(prefix.text_bytes) +
                    " bytes is implausible; at most " + std::to_string(longest_npy_header) +
                    " are read");
  }
  header.bytes = prefix.bytes + prefix.text_bytes;
  if (header.bytes > start.size()) start = start_of(header.bytes);
  if (start.size() < header.bytes) fail(label, "truncated: the .npy header is cut short");
  const HeaderText text(std::string_view(start).substr(prefix.bytes, prefix.text_bytes), label);
  TensorLayout& layout = header.layout;
  layout.column_major = text.fortran_order;
  layout.shape = text.shape;

  const std::optional<Descr> type = text.descr ? parse_descr(*text.descr) : std::nullopt;
  if (!type) {
    header.refusal =
        text.descr
            ? refusal_of(*text.descr)
            : std::string("a structured dtype is not supported; save one field: ") + npy_recipe;
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
