#include "io/token_ids.hpp"

#include <charconv>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/mapped_file.hpp"
#include "io/tensors/tensor_file.hpp"
#include "io/token_rows.hpp"

namespace ranklab {

namespace {

using Sequences = std::vector<std::vector<std::uint32_t>>;

bool is_integer(Dtype dtype) {
  return dtype != Dtype::f64 && dtype != Dtype::f32 && dtype != Dtype::f16 && dtype != Dtype::bf16 && dtype != Dtype::boolean;
}

// A double holds every id exactly, and an integer that is none of them stays none.
void add_number(TokenRows& rows, double number) {
  constexpr double exact = 0x1p53;
  if (number < 0) rows.refuse(number < -exact ? "a number" : std::to_string(static_cast<std::int64_t>(number)), "is negative");
  if (number > exact) rows.refuse("a number", "is beyond 32 bits");
  rows.add(static_cast<std::uint64_t>(number));
}

Sequences read_npy_ids(const std::string& path) {
  const StoredTensor tensor = TensorFile::open(path).tensor("");
  if (!is_integer(tensor.dtype()))
    throw Failure(tensor.label() + ": token ids are integers; the entries are of type " + dtype_name(tensor.dtype()));
  const std::vector<std::uint64_t>& shape = tensor.shape();
  if (shape.size() != 1 && shape.size() != 2)
    throw Failure(tensor.label() + ": token ids are (sequences x tokens), or (tokens); the shape is " + tensor.shape_text());
  const std::uint64_t sequences = shape.size() == 2 ? shape[0] : 1, tokens = shape.back();
  const std::vector<double> numbers = tensor.values();
  TokenRows rows(tensor.label());
  for (std::uint64_t row = 0; row < sequences; ++row) {
    rows.begin();
    for (std::uint64_t i = 0; i < tokens; ++i) add_number(rows, numbers[row * tokens + i]);
    rows.end();
  }
  return rows.take();
}

void add_word(TokenRows& rows, std::string_view word) {
  std::uint64_t id = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, id);
  const std::string_view digits = word.substr(word[0] == '-' ? 1 : 0);
  const bool is_integer = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_integer) rows.refuse(word, "is not an integer");
  if (word[0] == '-') rows.refuse(word, "is negative");
  if (error != std::errc() || stop != end) rows.refuse(word, "is beyond 32 bits");
  rows.add(id);
}

// A comma separates as a blank does, but two of them have nothing in between.
void add_line(TokenRows& rows, std::string_view line, std::uint64_t number) {
  constexpr std::string_view blanks = " \t\r";
  if (line.find_first_not_of(blanks) == std::string_view::npos) return;
  rows.begin(number);
  bool after_id = false;
  for (std::size_t at = line.find_first_not_of(blanks); at < line.size(); at = line.find_first_not_of(blanks, at)) {
    if (line[at] == ',') {
      if (!after_id) rows.refuse("nothing", "stands before a comma");
      after_id = false;
      ++at;
      continue;
    }
    const std::size_t end = std::min(line.find_first_of(" \t\r,", at), line.size());
    add_word(rows, line.substr(at, end - at));
    after_id = true;
    at = end;
  }
  rows.end();
}

Sequences parse_token_text(std::string_view text, const std::string& label) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  TokenRows rows(label);
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_line(rows, text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows.take();
}

}  // namespace

Sequences read_token_ids(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy_ids(path);
  const bool json = path.ends_with(".json");
  if (!json && !path.ends_with(".txt"))
    throw Failure(printable(path) + ": the name of a file of token ids must end in .npy, .json or .txt");
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file->data()), file->size());
  return json ? parse_token_json(text, printable(path)) : parse_token_text(text, printable(path));
}

}  // namespace ranklab
