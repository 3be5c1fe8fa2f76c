#include "io/tensors/token_ids.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/byte_reader.hpp"
#include "io/json_file.hpp"
#include "io/tensors/tensor_file.hpp"

namespace ranklab {

namespace {

using nlohmann::json;
using Sequences = std::vector<std::vector<std::uint32_t>>;

constexpr std::uint32_t largest_id = std::numeric_limits<std::uint32_t>::max();

// Collects the sequences of one file. Every function throws Failure that names the file, and the
// row and the entry from 1.
class TokenRows {
 public:
  // `label` is the path as messages show it.
  explicit TokenRows(std::string label) : label_(std::move(label)) {}

  // Starts a row; `line` is that of a text file, from 1, or 0.
  void begin(std::uint64_t line = 0) {
    line_ = line;
    rows_.emplace_back();
  }
  // The next id of the row, in digits.
  void add(std::string_view word) {
    std::uint32_t id = 0;
    const char* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, id);
    if (error != std::errc() || end != last) refuse(word);
    rows_.back().push_back(id);
  }
  // The next id of the row, an integer.
  void add(double number) {
    if (number < 0 || number > largest_id)
      refuse(std::abs(number) > 0x1p53 ? short_number(number) : count_text(number));
    rows_.back().push_back(static_cast<std::uint32_t>(number));
  }
  // Ends the row, which must have two ids or more.
  void end() const {
    if (rows_.back().size() >= 2) return;
    throw Failure(label_ + ": " + row_name() +
                  (rows_.back().empty() ? " is empty" : " has one token") +
                  "; a sequence needs at least two, because similarity compares tokens");
  }
  // Refuses the next entry of the row.
  [[noreturn]] void refuse(std::string_view what) const {
    throw Failure(label_ + ": " + row_name() + ", entry " +
                  std::to_string(rows_.back().size() + 1) + ": " +
                  printable_key(std::string(what.substr(0, 200))) +
                  " is not a token id; ids are integers from 0 to " + std::to_string(largest_id));
  }
  // The rows, at least one.
  Sequences take() {
    if (rows_.empty()) throw Failure(label_ + ": no row of token ids");
    return std::move(rows_);
  }

 private:
  // Blank lines do not count as rows, so the line number of a row may be larger than its index.
  std::string row_name() const {
    const std::string row = "row " + std::to_string(rows_.size());
    return line_ == 0 || line_ == rows_.size() ? row
                                               : row + " (line " + std::to_string(line_) + ")";
  }

  std::string label_;
  std::uint64_t line_ = 0;
  Sequences rows_;
};

bool is_integer(Dtype dtype) {
  return !is_floating(dtype) && !is_float8(dtype) && dtype != Dtype::boolean;
}

Sequences read_npy_ids(const std::string& path) {
  const StoredTensor tensor = TensorFile::open(path).tensor("");
  if (!is_integer(tensor.dtype()))
    throw Failure(tensor.label() + ": token ids are integers; the entries are of type " +
                  dtype_name(tensor.dtype()));
  const std::vector<std::uint64_t>& shape = tensor.shape();
  if (shape.size() != 1 && shape.size() != 2)
    throw Failure(tensor.label() +
                  ": token ids are (sequences x tokens), or (tokens); the shape is " +
                  tensor.shape_text());
  // As doubles (perhaps twice, to change their order), and as ids in a vector that grows.
  require_memory(24 * static_cast<double>(tensor.elements()), tensor.label());
  const std::uint64_t sequences = shape.size() == 2 ? shape[0] : 1, tokens = shape.back();
  // Integers beyond 2^53 are rounded, and refused.
  const std::vector<double> numbers = tensor.values();
  TokenRows rows(tensor.label());
  for (std::uint64_t row = 0; row < sequences; ++row) {
    rows.begin();
    for (std::uint64_t i = 0; i < tokens; ++i) rows.add(numbers[row * tokens + i]);
    rows.end();
  }
  return rows.take();
}

// A comma separates like a blank, but two commas with nothing in between are an error.
void add_line(TokenRows& rows, std::string_view line, std::uint64_t number) {
  constexpr std::string_view blanks = " \t\r", separators = " \t\r,";
  if (line.find_first_not_of(blanks) == std::string_view::npos) return;
  rows.begin(number);
  bool after_id = false;
  for (std::size_t at = 0; (at = line.find_first_not_of(blanks, at)) < line.size();) {
    const bool is_comma = line[at] == ',';
    const std::size_t end =
        is_comma ? at + 1 : std::min(line.find_first_of(separators, at), line.size());
    if (is_comma && !after_id) rows.refuse("nothing, followed by a comma,");
    if (!is_comma) rows.add(line.substr(at, end - at));
    after_id = !is_comma;
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

void add_row(TokenRows& rows, const json& row) {
  rows.begin();
  for (const json& entry : row) {
    // The parser keeps -0 as a negative number, but writes it as 0.
    if (entry.is_number_integer() && !entry.is_number_unsigned())
      rows.refuse(entry == 0 ? "-0" : entry.dump());
    rows.add(entry.dump());
  }
  rows.end();
}

Sequences parse_token_json(std::string_view text, const std::string& label) {
  const json document = parse_json(text, label);
  if (!document.is_array())
    throw Failure(label + ": not a list of lists of integers, nor a list of integers");
  TokenRows rows(label);
  if (!document.empty() && !document[0].is_array()) {
    add_row(rows, document);
    return rows.take();
  }
  for (std::size_t i = 0; i < document.size(); ++i) {
    if (!document[i].is_array())
      throw Failure(label + ": row " + std::to_string(i + 1) + " is not a list, as row 1 is");
    add_row(rows, document[i]);
  }
  return rows.take();
}

}  // namespace

Sequences read_token_ids(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy_ids(path);
  if (path.ends_with(".json")) return parse_token_json(read_json_text(path), printable(path));
  if (!path.ends_with(".txt"))
    throw Failure(printable(path) +
                  ": the name of a file of token ids must end in .npy, .json or .txt");
  const std::shared_ptr<const InputFile> file = InputFile::open(path);
  // The text, and an id of four bytes for every second character in a vector that grows.
  require_memory(5 * static_cast<double>(file->size()), printable(path));
  return parse_token_text(file->text(0, file->size()), printable(path));
}

}  // namespace ranklab
