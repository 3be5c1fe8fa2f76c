#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/one_step_compare/transformer_init/transformer_init.hpp"
#include "experiments/token_embedding.hpp"

namespace ranklab::transformer_init {
namespace {

// K_B, the bound on st(B) that Theorem 2.7 gives.
constexpr double activation_bound = 2 * std::numbers::pi;

double square(double x) {
  return x * x;
}

}  // namespace

double relu_small_ball() {
  const double upper_tail = std::erfc(1 / std::numbers::sqrt2) / 2;  // 1 - Phi(1)
  return upper_tail / 2;
}

ColumnRange attention_columns(const ColumnRange& input, double delta) {
  return {(1 - delta) * input.low, (1 + delta) * (input.high + 1)};
}

ColumnRange output_columns(const ColumnRange& input, double delta) {
  return {square(1 - delta) * input.low, square(1 + delta) * (input.high + 2)};
}

BlockBounds block_bounds(const ColumnRange& input, double stable_rank_X, double delta) {
  const double spread = (1 + delta) / (1 - delta), residual = 1 + 2 / input.low;
  return {input.high / input.low * stable_rank_X, spread * residual * stable_rank_X,
          square(spread) * (input.high + 1) / input.low * residual * stable_rank_X,
          activation_bound,
          activation_bound * spread *
              (1 + (1 + delta) * (input.high + 1) / (relu_small_ball() * (1 - delta)))};
}

double residual_bound(const SquaredNorms& X, const SquaredNorms& H, double d_over_k, double delta) {
  return (1 + delta) / (1 - delta) * (X.frobenius + d_over_k * H.frobenius) /
         std::max(X.op, d_over_k * H.op);
}

DepthBounds depth_bounds(std::uint64_t layers, double eps, double one_over_p_max) {
  const double delta = 1 / (8 * static_cast<double>(layers));
  ColumnRange columns{1 - eps, 1 + eps};
  double stable_rank_X = embedding_bound(eps, one_over_p_max);
  DepthBounds out;
  for (std::uint64_t l = 0; l < layers; ++l) {
    const BlockBounds block = block_bounds(columns, stable_rank_X, delta);
    out.X.push_back(stable_rank_X);
    out.A_rms.push_back(block.A_rms);
    out.A_mlp_rms.push_back(block.A_mlp_rms);
    stable_rank_X = block.X_plus;
    columns = output_columns(columns, delta);
  }
  out.final_rms = columns.high / columns.low * stable_rank_X;
  return out;
}

}  // namespace ranklab::transformer_init
