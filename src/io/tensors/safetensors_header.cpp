#include "io/tensors/safetensors_header.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/json_file.hpp"

namespace ranklab {

namespace {

using nlohmann::json;

SafetensorsEntry entry_of(const std::string& key, const json& tensor, const std::string& label) {
  const auto refuse = [&](const std::string& why) {
    throw Failure(label + ": tensor '" + printable_key(key) + "': " + why);
  };
  if (!tensor.is_object()) refuse("the header does not describe it by an object");
  SafetensorsEntry entry;
  entry.key = key;
  for (const auto& [name, value] : tensor.items()) {
    if (name == "dtype") {
      if (!value.is_string()) refuse("its dtype is not a string");
      entry.dtype = value.get<std::string>();
      continue;
    }
    if (name != "shape" && name != "data_offsets")
      refuse("it has a '" + printable_key(name) + "' in addition to dtype, shape and data_offsets");
    const bool is_list = value.is_array() && std::all_of(value.begin(), value.end(), [](auto& one) {
                           return one.is_number_unsigned();
                         });
    if (!is_list) refuse("its shape and data_offsets must be lists of integers from 0");
    if (name == "shape") {
      entry.shape = value.get<std::vector<std::uint64_t>>();
    } else {
      if (value.size() != 2) refuse("its data_offsets are not two numbers");
      entry.begin = value[0].get<std::uint64_t>();
      entry.end = value[1].get<std::uint64_t>();
    }
  }
  if (tensor.size() != 3) refuse("it lacks one of dtype, shape and data_offsets");
  return entry;
}

void check_metadata(const json& metadata, const std::string& label) {
  const bool is_text =
      metadata.is_object() && std::all_of(metadata.begin(), metadata.end(),
                                          [](const json& value) { return value.is_string(); });
  if (!is_text && !metadata.is_null())
    throw Failure(label + ": __metadata__ of the header is not an object of strings");
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(
    std::string_view text, const std::string& label, std::map<std::string, std::string>* metadata) {
  // Only white space may surround the object; writers use it to align the data.
  constexpr std::string_view white_space = " \t\n\r";
  const std::size_t first = text.find_first_not_of(white_space),
                    last = text.find_last_not_of(white_space);
  if (first == std::string_view::npos || text[first] != '{' || text[last] != '}')
    throw Failure(label + ": the header does not start with { and end with }");
  std::vector<SafetensorsEntry> entries;
  parse_json_members(text, label + ": the header", [&](const std::string& key, const json& value) {
    if (key != "__metadata__") return entries.push_back(entry_of(key, value, label));
    check_metadata(value, label);
    if (metadata != nullptr && value.is_object())
      *metadata = value.get<std::map<std::string, std::string>>();
  });
  return entries;
}

}  // namespace ranklab
