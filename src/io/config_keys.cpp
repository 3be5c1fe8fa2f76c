#include "io/config_keys.hpp"

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/json_file.hpp"

namespace ranklab {

namespace {

using nlohmann::json;

constexpr std::uint64_t largest_size = 1'000'000;
constexpr std::string_view infinity = "Infinity", infinity_substitute = "1e308   ";
static_assert(infinity.size() == infinity_substitute.size());

std::string shown(const json& value) {
  return printable_key(value.dump());
}

// Version 5 of transformers writes {"__float__": "Infinity"}.
bool is_infinite(const json& value) {
  if (value.is_number()) return value.get<double>() >= 1e308;
  return value.is_object() && value.contains("__float__") && value["__float__"] == infinity;
}

// Replaces Infinity outside strings (not JSON, but Python's writer produces it) by 1e308 and
// blanks, so that byte offsets in error messages stay correct.
std::string without_infinity(std::string json_text) {
  constexpr std::string_view before = " \t\r\n[:,-", after = " \t\r\n],}";
  const std::string& text = json_text;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && text.compare(i, infinity.size(), infinity) == 0) {
      const std::size_t end = i + infinity.size();
      const bool is_whole_word =
          (i == 0 || before.find(text[i - 1]) != std::string_view::npos) &&
          (end == text.size() || after.find(text[end]) != std::string_view::npos);
      if (is_whole_word) json_text.replace(i, infinity.size(), infinity_substitute);
    }
  }
  return json_text;
}

}  // namespace

ConfigKeys::ConfigKeys(const std::string& path) : label_(printable(path)) {
  object_ =
      std::make_shared<const json>(parse_json(without_infinity(read_json_text(path)), label_));
  if (!object_->is_object()) throw Failure(label_ + ": a config must be a JSON object");
}

void ConfigKeys::fail(const std::string& key, const std::string& why) const {
  throw Failure(label_ + ": " + prefix_ + key + " " + why);
}

bool ConfigKeys::has(const std::string& key) const {
  return !value(key).is_null();
}

const json& ConfigKeys::value(const std::string& key) const {
  static const json nothing;
  const auto found = object_->find(key);
  return found == object_->end() ? nothing : *found;
}

std::optional<ConfigSize> ConfigKeys::size(std::initializer_list<const char*> names) const {
  std::optional<ConfigSize> size;
  for (const std::string key : names) {
    const json& given = value(key);
    if (given.is_null()) continue;
    if (!given.is_number_unsigned() || given.get<std::uint64_t>() < 1 ||
        given.get<std::uint64_t>() > largest_size)
      fail(key, "is " + shown(given) + "; it must be an integer from 1 to " +
                    std::to_string(largest_size));
    if (size && size->value != given.get<std::uint64_t>())
      fail(key, "is " + shown(given) + ", and " + size->key + " " + std::to_string(size->value) +
                    "; both name the same size");
    if (!size) size = {given.get<std::uint64_t>(), prefix_ + key};
  }
  return size;
}

std::optional<double> ConfigKeys::epsilon(const char* key) const {
  const json& given = value(key);
  if (given.is_null()) return std::nullopt;
  if (!given.is_number() || !(given.get<double>() > 0 && given.get<double>() < 1))
    fail(key, "is " + shown(given) + "; it must be a number above 0 and below 1");
  return given.get<double>();
}

std::optional<std::string> ConfigKeys::text(const char* key) const {
  const json& given = value(key);
  if (given.is_null()) return std::nullopt;
  if (!given.is_string()) fail(key, "is " + shown(given) + "; it must be text");
  return given.get<std::string>();
}

ConfigKeys ConfigKeys::object(const char* key) const {
  const json& given = value(key);
  if (!given.is_null() && !given.is_object())
    fail(key, "is " + shown(given) + "; it must be an object");
  return {std::make_shared<const json>(given.is_null() ? json::object() : given), label_,
          prefix_ + key + "."};
}

void ConfigKeys::require(const char* key, const char* supported) const {
  require_value(key, supported);
}

void ConfigKeys::require(const char* key, bool supported) const {
  require_value(key, supported);
}

void ConfigKeys::require(const char* key, int supported) const {
  require_value(key, supported);
}

void ConfigKeys::require_value(const char* key, const json& supported) const {
  const json& given = value(key);
  if (!given.is_null() && given != supported)
    fail(key, "is " + shown(given) + ", which is not supported; allowed: " + shown(supported));
}

void ConfigKeys::require_empty(const char* key) const {
  const json& given = value(key);
  if (!given.is_null() && !(given.is_structured() && given.empty()))
    fail(key, "is " + shown(given) + ", which is not supported; allowed: an empty list");
}

void ConfigKeys::require_no_limits(const char* key) const {
  const json& given = value(key);
  if (given.is_null()) return;
  if (given.is_array() && given.size() == 2 && given[0] == 0 && is_infinite(given[1])) return;
  fail(key, "is " + shown(given) + ", which is not supported; allowed: [0.0, Infinity]");
}

}  // namespace ranklab
