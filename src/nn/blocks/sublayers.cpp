#include "nn/blocks/sublayers.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"

namespace ranklab {

double sublayer_parameters(const BlockSizes& s) {
  const double sublayers = s.has_mlp ? 2 : 1;
  return 4 * s.d * s.d + 4 * s.d + (sublayers - 1) * (2 * s.d * s.q + s.d + s.q) +
         (s.normed ? 2 * s.d * sublayers : 0);
}

std::uint64_t embedding_width(const ModelSpec& spec) {
  return spec.row().embeds_narrowly ? spec.embedding : spec.dim;
}

std::vector<std::uint32_t> position_ids(std::uint64_t tokens) {
  std::vector<std::uint32_t> out(tokens);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

std::uint64_t position_table_rows(const ModelSpec& spec, std::uint64_t tokens) {
  if (spec.checkpoint != nullptr && tokens > spec.positions) {
    throw Failure("a sequence of " + std::to_string(tokens) + " tokens is longer than the " +
                  std::to_string(spec.positions) + " positions of the weights of " + spec.model +
                  "; shorten it with --tokens");
  }
  return std::max(spec.positions, tokens);
}

}  // namespace ranklab
