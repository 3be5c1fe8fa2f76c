// Places in a sequence, of models that embed them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/blocks/model_spec.hpp"

namespace ranklab {

/// 0 ... tokens - 1.
std::vector<std::uint32_t> places(std::uint64_t tokens);

/// Rows of the table of positions from which `tokens` are taken: spec.positions; drawn ones are as many as are needed. Throws
/// Failure where published weights have fewer.
std::uint64_t positions_of_table(const ModelSpec& spec, std::uint64_t tokens);

}  // namespace ranklab
