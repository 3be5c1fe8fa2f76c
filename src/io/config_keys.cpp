#include "io/config_keys.hpp"

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/json_file.hpp"

namespace ranklab {

namespace {

using nlohmann::json;

constexpr std::uint64_t largest_size = 1'000'000'000;
constexpr std::string_view infinity = "Infinity", stands_for_infinity = "1e308   ";
static_assert(infinity.size() == stands_for_infinity.size());

std::string shown(const json& value) {
  return printable_key(value.dump());
}

// Version 5 of transformers writes {"__float__": "Infinity"}.
bool is_infinite(const json& value) {
  if (value.is_number()) return value.get<double>() >= 1e308;
  return value.is_object() && value.contains("__float__") && value["__float__"] == infinity;
}

// Infinity, which JSON does not have and Python's writer of it spells so, outside strings: replaced by 1e308 and blanks, so that
// bytes keep their places.
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
      const bool alone = (i == 0 || before.find(text[i - 1]) != std::string_view::npos) &&
                         (end == text.size() || after.find(text[end]) != std::string_view::npos);
      if (alone) json_text.replace(i, infinity.size(), stands_for_infinity);
    }
  }
  return json_text;
}

}  // namespace

ConfigKeys::ConfigKeys(const std::string& path) : label_(printable(path)) {
  object_ = std::make_shared<const json>(parse_json(without_infinity(read_json_text(path)), label_));
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

std::optional<std::uint64_t> ConfigKeys::size(std::initializer_list<const char*> names) const {
  std::optional<std::uint64_t> size;
  std::string first;
  for (const std::string key : names) {
    const json& said = value(key);
    if (said.is_null()) continue;
    if (!said.is_number_unsigned() || said.get<std::uint64_t>() < 1 || said.get<std::uint64_t>() > largest_size)
      fail(key, "is " + shown(said) + "; it must be an integer from 1 to " + std::to_string(largest_size));
    if (size && *size != said.get<std::uint64_t>())
      fail(key, "is " + shown(said) + ", and " + prefix_ + first + " " + std::to_string(*size) + ": they mean the same size");
    if (!size) first = key;
    size = said.get<std::uint64_t>();
  }
  return size;
}

std::optional<double> ConfigKeys::epsilon(const char* key) const {
  const json& said = value(key);
  if (said.is_null()) return std::nullopt;
  if (!said.is_number() || !(said.get<double>() > 0 && said.get<double>() < 1))
    fail(key, "is " + shown(said) + "; it must be a number above 0 and below 1");
  return said.get<double>();
}

std::optional<std::string> ConfigKeys::text(const char* key) const {
  const json& said = value(key);
  if (said.is_null()) return std::nullopt;
  if (!said.is_string()) fail(key, "is " + shown(said) + "; it must be text");
  return said.get<std::string>();
}

ConfigKeys ConfigKeys::object(const char* key) const {
  const json& said = value(key);
  if (!said.is_null() && !said.is_object()) fail(key, "is " + shown(said) + "; it must be an object");
  return {std::make_shared<const json>(said.is_null() ? json::object() : said), label_, prefix_ + key + "."};
}

void ConfigKeys::require(const char* key, const char* built) const {
  require_value(key, built);
}

void ConfigKeys::require(const char* key, bool built) const {
  require_value(key, built);
}

void ConfigKeys::require(const char* key, int built) const {
  require_value(key, built);
}

void ConfigKeys::require_value(const char* key, const json& built) const {
  const json& said = value(key);
  if (!said.is_null() && said != built) fail(key, "is " + shown(said) + ", which is not built here; allowed: " + shown(built));
}

void ConfigKeys::require_empty(const char* key) const {
  const json& said = value(key);
  if (!said.is_null() && !(said.is_structured() && said.empty()))
    fail(key, "is " + shown(said) + ", which is not built here; allowed: an empty list");
}

void ConfigKeys::require_no_limits(const char* key) const {
  const json& said = value(key);
  if (said.is_null()) return;
  if (said.is_array() && said.size() == 2 && said[0] == 0 && is_infinite(said[1])) return;
  fail(key, "is " + shown(said) + ", which is not built here; allowed: [0.0, Infinity]");
}

}  // namespace ranklab
