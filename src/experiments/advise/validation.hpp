// --validate: what the advice from one batch is worth on another batch of the same step.
#pragma once

#include <string>
#include <vector>

#include "experiments/advise/rows.hpp"

namespace ranklab::advise {

/// The mean of a score over disjoint pairs of batches, with its interval at `confidence_level`.
struct Score {
  Summary values;

  /// Infinite for fewer than three pairs.
  double half_width() const;
};

/// Each score is computed over the layers of one pair of batches, of which each is predicted from
/// the other. "Better" is the larger of the best decreases along polar(G) and along G,
/// by the curvature of the batch that checks.
struct Validation {
  std::size_t pairs = 0, layers = 0;
  Score spectral_is_better;  // share of layers
  // Shares of layers for which a prediction picks the better step, and rank correlations of the
  // predicted with the actual advantage of polar(G)
  Score right_by_ratio, right_by_curvature, order_by_ratio, order_by_curvature;
  // Along polar(G), medians over the layers: the actual decrease at the predicted length over the
  // predicted decrease, and the best length over the predicted one
  Score kept, length;

  /// Whether neither prediction is known to order the layers better than chance.
  bool orders_nothing() const;
};

/// Throws Failure if no step has two batches with second moments of output gradients.
Validation validate(const std::vector<Row>& rows);
/// In sentences.
std::vector<std::string> sentences_of(const Validation& validation);

}  // namespace ranklab::advise
