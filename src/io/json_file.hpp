// Small JSON files, read strictly.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace ranklab {

/// The text of a JSON file of at most 64 MiB. Throws Failure that names the file and what is wrong.
std::string read_json_text(const std::string& path);

/// The value of `key` if it has the type of `otherwise`, else `otherwise`; never throws. For files
/// whose writer may have been another program.
template <class JsonObject, class Value>
Value value_or(const JsonObject& object, const char* key, const Value& otherwise) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) return otherwise;
  if constexpr (std::is_same_v<Value, std::string>) {
    return found->is_string() ? found->template get<std::string>() : otherwise;
  } else if constexpr (std::is_unsigned_v<Value>) {
    return found->is_number_unsigned() ? found->template get<Value>() : otherwise;
  } else {
    return found->is_number() ? found->template get<Value>() : otherwise;
  }
}

/// Whether a text may have // and /* */ comments.
enum class Comments { refused, skipped };

/// The one JSON value in `text`: valid UTF-8, no repeated key in an object, lists and objects
/// nested at most 64 deep. Throws Failure, with `label` before the reason.
nlohmann::json parse_json(std::string_view text, const std::string& label,
                          Comments comments = Comments::refused);

/// Parses one JSON object as strictly, without keeping it in memory: gives each member to `take`,
/// in the order of the text. Also throws Failure for an object inside a member, and for a member of
/// more than a million parts: a list takes many times the memory of its text.
void parse_json_members(
    std::string_view text, const std::string& label,
    const std::function<void(const std::string& key, const nlohmann::json& value)>& take);

}  // namespace ranklab
