#include "io/tensors/token_ids.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/byte_source.hpp"
#include "io/tensors/tensor_file.hpp"

namespace ranklab {

namespace {

using nlohmann::json;
using Sequences = std::vector<std::vector<std::uint32_t>>;

constexpr std::uint64_t largest_id = std::numeric_limits<std::uint32_t>::max();

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
  // The next id of the row.
  void add(std::uint64_t id) {
    if (id > largest_id) refuse(std::to_string(id), "is beyond 32 bits");
    rows_.back().push_back(static_cast<std::uint32_t>(id));
  }
  // Ends the row, which must have two ids or more.
  void end() const {
    if (rows_.back().empty())
      throw Failure(label_ + ": " + row_name() + " is empty; a sequence has at least two tokens");
    if (rows_.back().size() == 1)
      throw Failure(
          label_ + ": " + row_name() +
          " has one token; a sequence needs at least two, because similarity compares tokens");
  }
  // Refuses the next entry of the row: "row 2, entry 3: <what> <why>; ids are ...".
  [[noreturn]] void refuse(std::string_view what, const std::string& why) const {
    throw Failure(label_ + ": " + row_name() + ", entry " +
                  std::to_string(rows_.back().size() + 1) + ": " +
                  printable_key(std::string(what.substr(0, 200))) + " " + why +
                  "; ids are integers from 0 to " + std::to_string(largest_id));
  }

  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
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
  return !is_floating(dtype) && dtype != Dtype::boolean;
}

// A double holds every id exactly; other integers (negative or beyond 32 bits) are rejected even if
// rounded.
void add_number(TokenRows& rows, double number) {
  constexpr double exact = 0x1p53;
  if (number < 0)
    rows.refuse(number < -exact ? "a number" : std::to_string(static_cast<std::int64_t>(number)),
                "is negative");
  if (number > exact) rows.refuse("a number", "is beyond 32 bits");
  rows.add(static_cast<std::uint64_t>(number));
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
  const bool is_integer =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_integer) rows.refuse(word, "is not an integer");
  if (word[0] == '-') rows.refuse(word, "is negative");
  if (error != std::errc() || stop != end) rows.refuse(word, "is beyond 32 bits");
  rows.add(id);
}

// A comma separates like a blank, but two commas with nothing in between are an error.
void add_line(TokenRows& rows, std::string_view line, std::uint64_t number) {
  constexpr std::string_view blanks = " \t\r";
  if (line.find_first_not_of(blanks) == std::string_view::npos) return;
  rows.begin(number);
  bool after_id = false;
  for (std::size_t at = line.find_first_not_of(blanks); at < line.size();
       at = line.find_first_not_of(blanks, at)) {
    if (line[at] == ',') {
      if (!after_id) rows.refuse("nothing", "precedes a comma");
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

// Handles parser events: a parsed document would take many times the memory of the ids.
class IdEvents : public nlohmann::json_sax<json> {
 public:
  IdEvents(std::size_t bytes, const std::string& label)
      : rows(label), bytes_(bytes), label_(label) {}

  TokenRows rows;

  bool start_array(std::size_t /*size*/) override {
    if (inside_ == Inside::outside) {
      inside_ = Inside::file;
    } else if (inside_ == Inside::file && !is_one_row_) {
      rows.begin();
      inside_ = Inside::row;
    } else {
      refuse("a list");
    }
    return true;
  }

  bool end_array() override {
    if (inside_ == Inside::row || is_one_row_) rows.end();
    inside_ = inside_ == Inside::row ? Inside::file : Inside::outside;
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    begin_entry();
    rows.add(number);
    return true;
  }

  bool number_integer(number_integer_t number) override {
    refuse(number == 0 ? "-0" : std::to_string(number), "is negative");
  }

  // Integers beyond 64 bits come as floats.
  bool number_float(number_float_t number, const std::string& text) override {
    if (text.find_first_of(".eE") != std::string::npos) refuse(text);
    refuse(text, number < 0 ? "is negative" : "is beyond 32 bits");
  }

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool string(std::string& text) override { refuse("\"" + text.substr(0, 50) + "\""); }
  bool binary(json::binary_t& /*value*/) override { refuse("a binary value"); }
  bool start_object(std::size_t /*size*/) override { refuse("an object"); }
  bool key(std::string& /*name*/) override { return true; }
  bool end_object() override { return true; }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    // The library counts from 1; its position is one past the end if the text ends too soon.
    throw Failure(label_ + ": not valid JSON, at byte " +
                  std::to_string(std::min(position, bytes_)));
  }

 private:
  enum class Inside { outside, file, row };

  // Call before an entry. If the first entry of the file is not a list, the file is one row.
  void begin_entry() {
    if (inside_ == Inside::outside)
      throw Failure(label_ + ": not a list of lists of integers, nor a list of integers");
    if (inside_ == Inside::row || is_one_row_) return;
    if (!rows.empty())
      throw Failure(label_ + ": row " + std::to_string(rows.size() + 1) +
                    " is not a list, as row 1 is");
    is_one_row_ = true;
    rows.begin();
  }

  [[noreturn]] void refuse(const std::string& what, const std::string& why = "is not an integer") {
    begin_entry();
    rows.refuse(what, why);
  }

  std::size_t bytes_;
  const std::string& label_;
  Inside inside_ = Inside::outside;
  bool is_one_row_ = false;
};

Sequences parse_token_json(std::string_view text, const std::string& label) {
  IdEvents events(text.size(), label);
  json::sax_parse(text.begin(), text.end(), &events);
  return events.rows.take();
}

}  // namespace

Sequences read_token_ids(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy_ids(path);
  const bool is_json = path.ends_with(".json");
  if (!is_json && !path.ends_with(".txt"))
    throw Failure(printable(path) +
                  ": the name of a file of token ids must end in .npy, .json or .txt");
  const std::shared_ptr<const InputFile> file = InputFile::open(path);
  const std::string text = file->text(0, file->size());
  return is_json ? parse_token_json(text, printable(path))
                 : parse_token_text(text, printable(path));
}

}  // namespace ranklab
