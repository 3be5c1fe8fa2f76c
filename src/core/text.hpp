// Text in messages, details and names: numbers, lists, misspelled words, bytes that came from a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// Four significant digits.
std::string short_number(double x);

/// "%g", as the names of series, scalars and claims print their values: `lambda=<v>.mu`.
std::string series_number(double x);

/// A count without a decimal point.
std::string count_text(double n);

/// "1 trial", "3 trials".
std::string counted(std::uint64_t n, const std::string& what);

/// "a, b, c".
std::string joined(const std::vector<std::string>& words, const std::string& separator = ", ");

/// Two clauses of a detail, "first; second"; one that is empty leaves the other alone.
std::string clauses(const std::string& first, const std::string& second);

/// The candidate nearest to `word` in edit distance, or "" where none is close enough to be a likely misspelling.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// The end of a refusal: "; did you mean 'x'?" with the nearest candidate, or `otherwise` where none is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, const std::string& otherwise = "");

/// A name or message that came from a file, made safe to print on a terminal: control characters and invalid UTF-8 are
/// shown as \xNN.
std::string printable(std::string_view text);

}  // namespace ranklab
