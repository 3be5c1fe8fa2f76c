// The environment of a measurement: program, compiler, libraries, machine.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// The `environment` block of a result.
nlohmann::ordered_json environment_json(std::uint64_t threads,
                                        const std::vector<std::string>& argv);

/// Size and checksum of the file of the running program, 16 hexadecimal digits; "unknown" if it
/// cannot be read.
std::string program_checksum();

/// The text of `--version`, several lines.
std::string version_text();

/// `0.1.0 (git 1a2b3c4d5e)`.
std::string version_line();

}  // namespace ranklab
