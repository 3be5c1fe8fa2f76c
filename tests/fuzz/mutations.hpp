// Mutations that keep the form of an input, which single bytes rarely do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ranklab::fuzz {

/// The input with one JSON value in it replaced, removed or copied to another place. The JSON is
/// the whole input, its first line, or a part of one record of a list of records (see targets.hpp):
/// a note, or the value in a line `name: value`. Empty if there is no JSON. The same seed gives the
/// same text.
std::string mutated_json(std::string_view input, std::uint32_t seed);

}  // namespace ranklab::fuzz
