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

// A short object of plain values, such as the place of a quantity, in one line; "" for another.
std::string in_one_line(const nlohmann::ordered_json& object) {
  constexpr std::size_t most = 80;
  std::string out = "{";
  for (const auto& [key, item] : object.items()) {
    if (item.is_structured() || out.size() > most) return "";
    out += (out.size() > 1 ? ", " : "") + nlohmann::ordered_json(key).dump() + ": " +
           item.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  out += "}";
  return out.size() > most ? "" : out;
}

void append_formatted(std::string& out, const nlohmann::ordered_json& value, std::size_t indent) {
  const bool plain =
      std::all_of(value.begin(), value.end(),
                  [](const nlohmann::ordered_json& item) { return !item.is_structured(); });
  if (!value.is_structured() || value.empty() || (value.is_array() && plain)) {
    // Texts are UTF-8, except for names in the file system.
    out += value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return;
  }
  if (const std::string line = value.is_object() ? in_one_line(value) : ""; !line.empty()) {
    out += line;
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

[[noreturn]] void refuse(const Field& field, const nlohmann::json& value,
                         const std::string& label) {
  throw UsageError(
      label + ": " + printable_key(value.dump(-1, ' ', true)) +
      " is not allowed; allowed: " + (field.is_switch() ? "true|false" : field.domain_text()));
}

// The value as that of a field's element, whose type `of_type` points to.
std::uint64_t element(const Field& field, const nlohmann::json& value, const std::string& label,
                      const std::uint64_t*) {
  if (!value.is_number()) refuse(field, value, label);
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  const double number = value.get<double>();
  constexpr double most = 9007199254740992.0;  // to which every integer is a double
  if (number >= 0 && number <= most && number == std::floor(number))
    return static_cast<std::uint64_t>(number);
  field.read(value.dump(), label);  // refuses it as it does a flag
  refuse(field, value, label);
}

double element(const Field& field, const nlohmann::json& value, const std::string& label,
               const double*) {
  if (!value.is_number()) refuse(field, value, label);
  return value.get<double>();
}

bool element(const Field& field, const nlohmann::json& value, const std::string& label,
             const bool*) {
  if (!value.is_boolean()) refuse(field, value, label);
  return value.get<bool>();
}

std::string element(const Field& field, const nlohmann::json& value, const std::string& label,
                    const std::string*) {
  if (field.numeric_words && value.is_number()) return value.dump();
  if (!value.is_string()) refuse(field, value, label);
  return value.get<std::string>();
}

template <class T>
T typed(const Field& field, const nlohmann::json& value, const std::string& label, const T* type) {
  return element(field, value, label, type);
}

template <class T>
std::vector<T> typed(const Field& field, const nlohmann::json& value, const std::string& label,
                     const std::vector<T>*) {
  std::vector<T> list;
  for (const nlohmann::json& item : value)
    list.push_back(element(field, item, label, static_cast<const T*>(nullptr)));
  return list;
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

Field::Value field_value(const Field& field, const nlohmann::json& value,
                         const std::string& label) {
  if (value.is_array() && (!field.is_list() || (value.empty() && !field.may_be_empty)))
    refuse(field, value, label);
  // A text can be a list: "muon,adam".
  if (field.is_list() && value.is_string()) return field.read(value.get<std::string>(), label);
  const nlohmann::json list =
      field.is_list() && !value.is_array() ? nlohmann::json::array({value}) : nlohmann::json();
  return std::visit(
      [&](const auto* type) {
        return field.checked(typed(field, list.is_null() ? value : list, label, type), label);
      },
      field.target);
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
