#include "io/token_rows.hpp"

#include <limits>

#include "core/error.hpp"
#include "io/tensors/tensor_reader.hpp"

namespace ranklab {

namespace {
constexpr std::uint64_t largest_id = std::numeric_limits<std::uint32_t>::max();
}

void TokenRows::begin(std::uint64_t line) {
  line_ = line;
  rows_.emplace_back();
}

void TokenRows::add(std::uint64_t id) {
  if (id > largest_id) refuse(std::to_string(id), "is beyond 32 bits");
  rows_.back().push_back(static_cast<std::uint32_t>(id));
}

void TokenRows::end() const {
  if (rows_.back().empty()) throw Failure(label_ + ": " + row_name() + " is empty; a sequence has at least two tokens");
  if (rows_.back().size() == 1)
    throw Failure(label_ + ": " + row_name() + " has one token; a sequence has at least two, for similarity is between tokens");
}

void TokenRows::refuse(std::string_view what, const std::string& why) const {
  throw Failure(label_ + ": " + row_name() + ", entry " + std::to_string(rows_.back().size() + 1) + ": " +
                printable_key(std::string(what.substr(0, 200))) + " " + why + "; ids are integers from 0 to " +
                std::to_string(largest_id));
}

std::vector<std::vector<std::uint32_t>> TokenRows::take() {
  if (rows_.empty()) throw Failure(label_ + ": no row of token ids");
  return std::move(rows_);
}

// Blank lines are no rows, so that a row of a text file may stand on a later line.
std::string TokenRows::row_name() const {
  const std::string row = "row " + std::to_string(rows_.size());
  return line_ == 0 || line_ == rows_.size() ? row : row + " (line " + std::to_string(line_) + ")";
}

}  // namespace ranklab
