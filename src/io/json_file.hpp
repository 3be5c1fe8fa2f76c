// Small JSON files, read strictly.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ranklab {

/// The text of a JSON file of at most 64 MiB. Throws Failure that names the file and what is wrong.
std::string read_json_text(const std::string& path);

/// The one JSON value in `text`: valid UTF-8, no repeated key in an object, lists and objects
/// nested at most 64 deep. Throws Failure, with `label` before the reason.
nlohmann::json parse_json(std::string_view text, const std::string& label);

}  // namespace ranklab
