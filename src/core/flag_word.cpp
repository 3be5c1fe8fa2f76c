#include "core/flag_word.hpp"

namespace ranklab {
namespace {

std::vector<std::string> split_at(char separator, std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator)) {
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  out.emplace_back(text);
  return out;
}

/// What follows the separator, removed from `text`; none without a separator.
std::optional<std::string> cut_at(char separator, std::string& text) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) return std::nullopt;
  std::string rest = text.substr(at + 1);
  text.resize(at);
  return rest;
}

}  // namespace

std::vector<std::string> FlagWord::joined_by_plus(std::string_view text) {
  return split_at('+', text);
}

FlagWord parse_flag_word(std::string_view text) {
  std::vector<std::string> parts = split_at(',', text);
  FlagWord word;
  word.value = cut_at(':', parts.front());
  word.head = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    FlagWord::Setting setting{parts[i], std::nullopt};
    setting.value = cut_at('=', setting.key);
    word.settings.push_back(std::move(setting));
  }
  return word;
}

}  // namespace ranklab
