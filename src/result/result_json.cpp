#include "result/result_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/json_file.hpp"

namespace ranklab {
namespace {

void append_formatted(std::string& out, const nlohmann::ordered_json& value, std::size_t indent) {
  const bool plain =
      std::all_of(value.begin(), value.end(),
                  [](const nlohmann::ordered_json& item) { return !item.is_structured(); });
  if (!value.is_structured() || value.empty() || (value.is_array() && plain)) {
    // Texts are UTF-8, except for names in the file system.
    out += value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return;
  }
  const std::string line = "\n" + std::string(indent + 1, ' ');
  out += value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    out += (first ? "" : ",") + line;
    if (value.is_object()) out += nlohmann::ordered_json(key).dump() + ": ";
    append_formatted(out, item, indent + 1);
    first = false;
  }
  out += "\n" + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

std::vector<std::string> words(const nlohmann::json& value, const std::string& label,
                               const Field& field) {
  const bool strings = std::holds_alternative<std::string*>(field.target) ||
                       std::holds_alternative<std::vector<std::string>*>(field.target);
  const auto text = [&](const nlohmann::json& item) {
    const bool number_for_word = field.numeric_words && item.is_number();
    if (number_for_word || (strings ? item.is_string() : item.is_number()))
      return item.is_string() ? item.get<std::string>() : item.dump();
    throw UsageError(label + ": " + printable_key(item.dump(-1, ' ', true)) +
                     " is not allowed; allowed: " + field.domain_text());
  };
  std::vector<std::string> out;
  if (!value.is_array()) return {text(value)};
  for (const auto& item : value) out.push_back(text(item));
  return out;
}

}  // namespace

std::string format_json(const nlohmann::ordered_json& document) {
  std::string out;
  append_formatted(out, document, 0);
  return out + "\n";
}

std::string printed_json(const nlohmann::ordered_json& document) {
  const std::string text = format_json(document);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point(text, i);
    if (c.value < 0x7F || !is_invisible(c.value)) {  // others below are escaped, or end a line
      out += text.substr(i, c.length);
    } else {
      char escaped[12];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c.value));
      out += escaped;
    }
    i += c.length;
  }
  return out;
}

nlohmann::ordered_json field_json(const Field& field) {
  nlohmann::ordered_json out =
      std::visit([](const auto* value) { return nlohmann::ordered_json(*value); }, field.target);
  if (!field.numeric_words) return out;
  for (auto& word : out) {
    const std::string text = word.get<std::string>();
    const char* const text_end = text.data() + text.size();
    const auto is = [&](auto& value) {
      const auto [end, error] = std::from_chars(text.data(), text_end, value);
      return error == std::errc() && end == text_end;
    };
    std::uint64_t count = 0;
    std::int64_t integer = 0;
    double real = 0;
    // A count too long for 64 bits stays a word, so that the study can reject it by name.
    if (is(count)) {
      word = count;
    } else if (is(integer)) {
      word = integer;
    } else if (text.find_first_not_of("0123456789") != std::string::npos && is(real) &&
               std::isfinite(real)) {
      word = real;
    }
  }
  return out;
}

void set_field(const Field& field, const nlohmann::json& value, const std::string& label) {
  if (field.is_switch()) {
    if (!value.is_boolean())
      throw UsageError(label + ": " + printable_key(value.dump(-1, ' ', true)) +
                       " is not allowed; allowed: true|false");
    field.parse(value.get<bool>() ? "on" : "off", label);
    return;
  }
  if (value.is_array() && (!field.is_list() || (value.empty() && !field.may_be_empty))) {
    throw UsageError(label + ": " + printable_key(value.dump(-1, ' ', true)) +
                     " is not allowed; allowed: " + field.domain_text());
  }
  const std::vector<std::string> given = words(value, label, field);
  if (value.is_array()) {
    field.parse_elements({given.begin(), given.end()}, label);
  } else {
    field.parse(given.front(), label);
  }
}

const nlohmann::json& member(const nlohmann::json& object, const char* key) {
  static const nlohmann::json null;
  const auto found = object.find(key);  // end() also if `object` is not an object
  return found == object.end() ? null : *found;
}

nlohmann::json read_json(const std::string& path) {
  return parse_json(read_file(path), printable(path));
}

}  // namespace ranklab
