#include "page/markdown.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/text.hpp"
#include "judge/catalog.hpp"

namespace ranklab {
namespace {

bool is_one_of(std::string_view characters, char c) {
  return characters.find(c) != std::string_view::npos;
}

// Whether the character has a meaning there. Names and intervals stay readable in the source:
// rank_one, [0, 1].
bool has_meaning(std::string_view text, std::size_t at) {
  const char c = text[at], before = at == 0 ? ' ' : text[at - 1],
             after = at + 1 < text.size() ? text[at + 1] : ' ';
  const auto is_alphanumeric = [](char x) { return is_letter(x) || is_digit(x); };
  const std::size_t start = text.find_first_not_of(' ');
  if (is_one_of("\\`$*~", c)) return true;
  if (c == '_') return !is_alphanumeric(before) || !is_alphanumeric(after);
  if (c == ']') return after == '(' || after == '[' || (after == ':' && text[start] == '[');
  if (c == ':') return after == '/';  // https://
  // www.example.com, and the numbers of a list: "1. ", "1) ".
  if (c == '.' || c == ')')
    return text.substr(0, at).ends_with("www") ||
           (after == ' ' && std::ranges::all_of(text.substr(start, at - start), is_digit));
  return at == start && is_one_of("#+-=", c);
}

}  // namespace

Markdown on_one_line(const Markup& html) {
  std::string out = html.text();
  std::ranges::replace(out, '\n', ' ');
  return Markdown::trusted(out);
}

Markdown markdown(const Markup& html) {
  const std::string text = on_one_line(html).text();
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    out += has_meaning(text, i) ? "&#" + std::to_string(text[i]) + ";" : std::string(1, text[i]);
  return Markdown::trusted(out);
}

Markdown table_row(const std::vector<Markdown>& cells) {
  std::string out;
  for (const char c : joined(cells, "\n").text())
    out += c == '|' ? "\\|" : c == '\n' ? " | " : std::string(1, c);
  return "| " + Markdown::trusted(out) + " |\n";
}

Markdown link_target(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;  // a working directory that was deleted
  std::string out;
  for (const unsigned char c :
       fs::path(path).is_absolute()
           ? fs::path(path).lexically_relative(fs::current_path(error)).string()
           : path) {
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", c);
    out += is_letter(c) || is_digit(c) || is_one_of("-._~/", c) ? std::string(1, c) : code;
  }
  return Markdown::trusted(out);
}

Markdown picture_target(const Entry& entry, std::size_t which) {
  const std::string stem = entry.file_name.substr(0, entry.file_name.rfind(".json"));
  return link_target(stem + (which == 0 ? "" : "." + std::to_string(which + 1)) + ".svg");
}

Markdown place_target(const Entry& entry) {
  if (entry.paper == papers().size()) return picture_target(entry);
  return link_target(papers()[entry.paper].anchor + ".md") + "#" + on_one_line(entry.anchor);
}

}  // namespace ranklab
