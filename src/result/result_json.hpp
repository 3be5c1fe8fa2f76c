// JSON files, and the parameters of a run in them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/fields.hpp"

namespace ranklab {

/// The document as text: objects and lists indented, each list of plain values on one line.
std::string format_json(const nlohmann::ordered_json& document);
/// The same for a terminal: invisible characters are written as \uXXXX.
std::string printed_json(const nlohmann::ordered_json& document);

/// The value of a field as JSON: numbers, strings, true or false, arrays for lists.
nlohmann::ordered_json field_json(const Field& field);

/// The value for a field from JSON of the right type. Throws a UsageError that starts with `label`.
Field::Value field_value(const Field& field, const nlohmann::json& value, const std::string& label);
inline void set_field(const Field& field, const nlohmann::json& value, const std::string& label) {
  field.set(field_value(field, value, label));
}

/// The value of `key`; null if the key is missing or `object` is not an object.
const nlohmann::json& member(const nlohmann::json& object, const char* key);

/// Reads a JSON file strictly: one value, valid UTF-8, no duplicate keys. Throws a Failure that
/// names the file.
nlohmann::json read_json(const std::string& path);

}  // namespace ranklab
