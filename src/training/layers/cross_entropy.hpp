// Softmax cross-entropy, forward and backward.
#pragma once

#include <armadillo>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ranklab {

/// The mean over tokens of -log softmax(logits)[target], in nats. `logits` is (V, N), N > 0; the targets, one for each column, are
/// below V. The logits are overwritten: by (softmax - one-hot) / N, their gradient, or, without `gradient`, by what is of no use.
/// Not finite where a logit is not. Of a part of a batch of `cases` tokens it is the part's share: the sum / cases.
template <class T>
double cross_entropy(arma::Mat<T>& logits, const std::vector<std::uint32_t>& targets, bool gradient, std::size_t cases = 0);

}  // namespace ranklab
