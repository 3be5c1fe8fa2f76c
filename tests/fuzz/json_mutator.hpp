// Mutations of JSON that keep it JSON, which single bytes rarely do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ranklab::fuzz {

/// The text with one value replaced, removed, copied to another place, or with one key renamed;
/// empty if the text is not JSON. The same seed gives the same text.
std::string mutated_json(std::string_view text, std::uint32_t seed);

}  // namespace ranklab::fuzz
