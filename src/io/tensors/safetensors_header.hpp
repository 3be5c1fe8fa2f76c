// The JSON header of a .safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// One tensor as its header describes it, not yet checked.
struct SafetensorsEntry {
  std::string key, dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // in the bytes after the header
};

/// The entries in the order of the header. Throws Failure, with `label` before the reason, for
/// anything except one JSON object of {"dtype", "shape", "data_offsets"} objects and a
/// "__metadata__" of strings, surrounded by white space, and for repeated keys. `metadata`: set to
/// these strings, if not null.
std::vector<SafetensorsEntry> parse_safetensors_header(
    std::string_view json, const std::string& label,
    std::map<std::string, std::string>* metadata = nullptr);

}  // namespace ranklab
