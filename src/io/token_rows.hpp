// Rows of token ids as a reader finds them, and what is wrong with them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// Collects the sequences of one file. Every function throws Failure that names the file, and the row and the entry from 1.
class TokenRows {
 public:
  /// `label` is the path as messages show it.
  explicit TokenRows(std::string label) : label_(std::move(label)) {}

  /// Starts a row; `line` is that of a text file, from 1, or 0.
  void begin(std::uint64_t line = 0);
  /// The next id of the row.
  void add(std::uint64_t id);
  /// Ends the row, which must have two ids or more.
  void end() const;
  /// Refuses the next entry of the row: "row 2, entry 3: <what> <why>; ids are ...".
  [[noreturn]] void refuse(std::string_view what, const std::string& why) const;

  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  /// The rows, at least one.
  std::vector<std::vector<std::uint32_t>> take();

 private:
  std::string row_name() const;

  std::string label_;
  std::uint64_t line_ = 0;
  std::vector<std::vector<std::uint32_t>> rows_;
};

/// Reads `json`, an array of arrays of integers or one array of integers. Throws Failure likewise.
std::vector<std::vector<std::uint32_t>> parse_token_json(std::string_view json, const std::string& label);

}  // namespace ranklab
