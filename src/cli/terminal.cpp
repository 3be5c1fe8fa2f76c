#include "cli/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/text.hpp"
#include "page/text.hpp"

namespace ranklab {
namespace {

bool starts_character(char c) {
  return (c & 0xC0) != 0x80;
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool shows_colors(int descriptor) {
  return ::isatty(descriptor) != 0 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

bool shows_symbols(int descriptor) {
  // The first that is set decides.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return ::isatty(descriptor) != 0 && (value.find("UTF-8") != std::string_view::npos ||
                                         value.find("utf8") != std::string_view::npos);
  }
  return false;
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t columns) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (column > indent && column + 1 + width(word) > columns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width(word);
    start = end + 1;
  }
  return out + "\n";
}

std::string shortened(const std::string& text, std::size_t columns) {
  if (width(text) <= columns) return text;
  std::size_t end = 0, used = 0;
  for (; end < text.size(); ++end) {
    if (starts_character(text[end]) && ++used >= columns) break;
  }
  return text.substr(0, end) + "\u2026";
}

std::string with_program_name(std::string message, const std::string& program_name) {
  const std::string usual = "`ranklab ", typed = "`" + program_name + " ";
  for (std::size_t at = 0; (at = message.find(usual, at)) != std::string::npos; at += typed.size())
    message.replace(at, usual.size(), typed);
  return message;
}

std::string shell_words(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) out.push_back(shell_word(word));
  return joined(out, " ");
}

}  // namespace ranklab
