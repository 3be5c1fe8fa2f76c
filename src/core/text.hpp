// Text in messages, details and names: numbers, lists, misspelled words, bytes that came from a
// file.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ranklab {

/// 0 to 9.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// a to z, A to Z.
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The text without blanks around it.
std::string trimmed(std::string_view text);

/// The part before the separator, trimmed, which `rest` loses with the separator; all of `rest` if
/// it has none.
std::string taken(std::string_view& rest, std::string_view separator);

/// Four significant digits; "undefined" if the number is not finite.
std::string short_number(double x);

/// "12.5 %" for a share of 0.125; "undefined" if the number is not finite.
std::string percent(double share);

/// "0.1 to 0.2"; "undefined" if an end is not finite, as in the range of no values.
std::string range_text(double low, double high);

/// The text with its first letter in upper case, if that is one of a to z.
std::string capitalized(std::string text);

/// A number in a format of std::to_chars; 0 has no sign.
std::string digits_of(double value, std::chars_format format, int precision);

/// "%g", as the names of series, scalars and claims print their values: `lambda=<v>.mu`.
std::string series_number(double x);

/// A count without a decimal point; "undefined" if it is not finite.
std::string count_text(double n);

/// The same with commas, for readers: "12,012".
std::string grouped_count(double n);

/// "1 trial", "3 trials".
std::string plural(std::uint64_t n, const std::string& what);

/// The text of an argument of say().
inline const std::string& word(const std::string& text) {
  return text;
}
inline std::string word(const char* text) {
  return text;
}
inline std::string word(double x) {
  return short_number(x);
}
template <std::integral Count>
std::string word(Count n) requires(!std::same_as<Count, bool> && !std::same_as<Count, char>) {
  return std::to_string(n);
}

/// A sentence with a gap {} for each of the arguments; another number of gaps does not compile.
template <class... Args>
struct Sentence {
  const char* text;
  consteval Sentence(const char* sentence) : text(sentence) {
    std::size_t gaps = 0;
    for (const char* c = text; *c != 0; ++c) gaps += c[0] == '{' && c[1] == '}';
    if (gaps != sizeof...(Args)) throw "the number of {} differs from that of the arguments";
  }
};
std::string with_words(const char* sentence, std::initializer_list<std::string> words);

/// say("the mean is {} at d = {}", 0.25, 10): the sentence with its gaps filled. A real number has
/// four significant digits.
template <class... Args>
std::string say(Sentence<std::type_identity_t<Args>...> sentence, const Args&... args) {
  return with_words(sentence.text, {word(args)...});
}

/// "a, b, c".
std::string joined(const std::vector<std::string>& words, const std::string& separator = ", ");

/// Whether a shell glob matches the whole name; * also matches / and a leading dot.
bool matches_glob(const std::string& glob, const std::string& name);

/// A table as lines. Columns are as wide as their widest cell, in characters, and two blanks apart;
/// the last column is not padded. All rows have as many cells as the first.
std::vector<std::string> in_columns(const std::vector<std::vector<std::string>>& rows);

/// Two clauses of a detail, "first; second"; if one is empty, only the other.
std::string clauses(const std::string& first, const std::string& second);

/// The candidate nearest to `word` in edit distance, or "" if none is close enough to be a likely
/// misspelling: one change, and another one for each three letters from the sixth on, at most
/// three. Dashes at the beginning do not count.
std::string nearest(std::string_view typed, const std::vector<std::string>& candidates);

/// The end of an error message: "; did you mean 'x'?" with the nearest candidate, or `otherwise` if
/// none is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise = "");

/// The Unicode scalar value that starts at `at` and its length in bytes; length 0 if the bytes are
/// not valid UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};
CodePoint code_point(std::string_view text, std::size_t at);

/// Control characters, line separators, marks that reverse the direction of text, and characters
/// without width: what a reader does not see in a name, or sees differently.
constexpr bool is_invisible(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

/// Whether the text is valid UTF-8, as JSON needs it.
bool is_utf8(std::string_view text);

/// A name or message that came from a file, made safe to print on a terminal: the bytes of
/// invisible characters and invalid UTF-8 are shown as \xNN.
std::string printable(std::string_view text);

/// As printable() for a name; long names are cut.
std::string printable_key(const std::string& key);

}  // namespace ranklab
