#include "experiments/one_step_compare/transformer_init/decoder_block.hpp"

#include <cmath>
#include <string>

#include "models/random_features.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/norms.hpp"

namespace ranklab::transformer_init {
namespace {

arma::mat rms_normalized(arma::mat X) {
  rms_norm(X, 0.0);
  return X;
}

}  // namespace

DecoderWeights draw_decoder_weights(const Trial& trial, std::uint64_t number, std::uint64_t d,
                                    std::uint64_t k) {
  const auto draw = [&](const char* name, std::uint64_t rows, std::uint64_t columns) {
    const std::string stream = "block" + std::to_string(number) + "." + name;
    return draw_gaussian<double>(trial, stream.c_str(), rows, columns,
                                 1 / std::sqrt(static_cast<double>(columns)));
  };
  return {draw("W_Q", d, d), draw("W_K", d, d), draw("W_V", d, d),
          draw("W_O", d, d), draw("W_1", k, d), draw("W_2", d, k)};
}

DecoderStates decoder_block(const DecoderWeights& weights, const arma::mat& X) {
  DecoderStates out;
  // A_rms = RMSNorm(X)
  out.A_rms = rms_normalized(X);
  // P = softmax(d^(-1/2) K' Q), H = V P
  const arma::mat Q = weights.W_Q * out.A_rms, K = weights.W_K * out.A_rms;
  const arma::mat P = attention_matrix(Q, K, 1 / std::sqrt(static_cast<double>(X.n_rows)));
  out.H = weights.W_V * out.A_rms * P;
  // X_att = X + W_O H
  out.X_att = X + weights.W_O * out.H;
  // B = relu(W_1 RMSNorm(X_att))
  out.A_mlp_rms = rms_normalized(out.X_att);
  out.B = weights.W_1 * out.A_mlp_rms;
  for (double& b : out.B) b = b < 0 ? 0 : b;  // keeps NaN
  // X_plus = X_att + W_2 B
  out.X_plus = out.X_att + weights.W_2 * out.B;
  return out;
}

}  // namespace ranklab::transformer_init
