// Softmax cross-entropy, forward and backward.
#pragma once

#include <armadillo>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ranklab {

/// The mean over tokens of -log softmax(logits)[target], in nats. `logits` is (V, N), N > 0; there
/// is one target below V per column. Overwrites the logits: with `gradient` by their gradient
/// (softmax - one-hot) / N, otherwise by unspecified values. Not finite if a logit is not finite.
/// For a piece of a batch of `cases` tokens, returns sum / cases, its share of the mean.
template <class T>
double cross_entropy(arma::Mat<T>& logits, const std::vector<std::uint32_t>& targets, bool gradient,
                     std::size_t cases = 0);

}  // namespace ranklab
