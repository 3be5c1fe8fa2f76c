#include "core/text.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ranklab {
namespace {

std::string formatted(const char* format, double x) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, x);
  return buffer;
}

}  // namespace

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == text.npos
             ? ""
             : std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

std::string taken(std::string_view& rest, std::string_view separator) {
  const std::size_t at = rest.find(separator);
  std::string out = trimmed(rest.substr(0, at));
  rest.remove_prefix(at == rest.npos ? rest.size() : at + separator.size());
  return out;
}

std::string short_number(double x) {
  return std::isfinite(x) ? formatted("%.4g", x) : "undefined";
}

std::string percent(double share) {
  return std::isfinite(share) ? short_number(100 * share) + " %" : "undefined";
}

std::string range_text(double low, double high) {
  return std::isfinite(low) && std::isfinite(high) ? short_number(low) + " to " + short_number(high)
                                                   : "undefined";
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string digits_of(double value, std::chars_format format, int precision) {
  char buffer[400];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value == 0 ? 0.0 : value, format, precision);
  return std::string(buffer, end.ptr);
}

std::string series_number(double x) {
  return formatted("%g", x);
}

std::string count_text(double n) {
  return std::isfinite(n) ? formatted("%.0f", n) : "undefined";
}

std::string grouped_count(double n) {
  std::string out = count_text(n);
  if (!std::isfinite(n)) return out;
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string plural(std::uint64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string with_words(const char* sentence, std::initializer_list<std::string> words) {
  std::string out;
  std::string_view rest = sentence;
  for (const std::string& each : words) {
    const std::size_t gap = rest.find("{}");
    out.append(rest.substr(0, gap)).append(each);
    rest.remove_prefix(gap + 2);
  }
  return out.append(rest);
}

bool matches_glob(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : separator) + word;
  return out;
}

std::vector<std::string> in_columns(const std::vector<std::vector<std::string>>& rows) {
  const auto width =
      [](const std::string& text) {  // bytes that do not continue a character of UTF-8
        return static_cast<std::size_t>(
            std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
      };
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths.at(i) = std::max(widths.at(i), width(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string& line = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width(row[i]) + 2, ' ');
    }
  }
  return lines;
}

std::string clauses(const std::string& first, const std::string& second) {
  return first.empty() ? second : second.empty() ? first : first + "; " + second;
}

namespace {

std::string_view without_dashes(std::string_view flag) {
  return flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
}

}  // namespace

std::string nearest(std::string_view typed, const std::vector<std::string>& candidates) {
  const std::string_view word = without_dashes(typed);
  // Edit distance with transpositions (optimal string alignment): swapped neighbors are the most
  // common typo.
  const auto distance = [&](std::string_view other) {
    const std::size_t rows = word.size() + 1, columns = other.size() + 1;
    std::vector<std::size_t> d(rows * columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        if (i == 0 || j == 0) {
          d[i * columns + j] = i + j;
          continue;
        }
        const std::size_t change = word[i - 1] != other[j - 1] ? 1 : 0;
        std::size_t best = std::min({d[(i - 1) * columns + j] + 1, d[i * columns + j - 1] + 1,
                                     d[(i - 1) * columns + j - 1] + change});
        if (i > 1 && j > 1 && word[i - 1] == other[j - 2] && word[i - 2] == other[j - 1]) {
          best = std::min(best, d[(i - 2) * columns + j - 2] + 1);
        }
        d[i * columns + j] = best;
      }
    }
    return d.back();
  };
  std::string best;
  std::size_t best_distance =
      std::max<std::size_t>(1, std::min<std::size_t>(3, word.size() / 3)) + 1;
  for (const auto& candidate : candidates) {
    const std::string_view other = without_dashes(candidate);
    // Arguments can be long: skip the quadratic work for a word that is much longer or shorter.
    if (word.size() > other.size() + 3 || other.size() > word.size() + 3) continue;
    // Of words of two letters nearly all are close.
    if (std::min(word.size(), other.size()) <= 2 && word.substr(0, 1) != other.substr(0, 1))
      continue;
    const std::size_t d = distance(other);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
  const std::string close = nearest(word, candidates);
  return close.empty() ? otherwise : "; did you mean '" + close + "'?";
}

CodePoint code_point(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || at + length > text.size()) return {};
  std::uint32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(at + i) & 0x3F);
  }
  const std::uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < smallest || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = code_point(text, at).length;
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string printable(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point(text, i);
    const std::size_t end = i + std::max<std::size_t>(1, c.length);
    if (c.length > 0 && !is_invisible(c.value)) out.append(text.substr(i, c.length)), i = end;
    for (; i < end; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    }
  }
  return out;
}

std::string printable_key(const std::string& key) {
  constexpr std::size_t longest = 100;
  if (key.size() <= longest) return printable(key);
  std::size_t end = longest;
  while (end > longest - 4 && (key[end] & 0xC0) == 0x80) --end;  // within a character
  return printable(std::string_view(key).substr(0, end)) + "...";
}

}  // namespace ranklab
