// What a trial measures: the ranks of one activation and of one gradient, from their files, and whether the two can belong
// together.
#pragma once

#include <armadillo>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "experiments/one_step_compare/files/files.hpp"
#include "experiments/one_step_compare/files/gram.hpp"

namespace ranklab::files {

/// Of an activation or of a layer's gradient; NaN of a zero matrix and where an entry is not finite.
struct Ranks {
  double stable_rank = undefined;
  double nuclear_rank = undefined;  // of gradients alone
  NonFinite non_finite;             // its row counts from the gradient's first, not the layer's
};

/// Of a weight.
struct Spectrum {
  double effective_rank;            // exp of the entropy of s / sum of s
  double condition;                 // largest over smallest singular value; infinite of a singular matrix
  std::array<double, 3> quantiles;  // singular values below which a quarter, a half, three quarters lie, over the largest
};

/// Whether an activation and a gradient can belong together.
struct Checks {
  double alike = 0;            // samples that are one and the same: the largest group
  double outside = undefined;  // share of the gradient outside the samples' span; NaN: not looked at
  bool is_moment = true;       // MeasuredActivation::is_moment
};

/// Why the pair, or a layer of it, cannot be what a layer has in one step, so that no advice follows from it; empty where nothing
/// speaks against it.
std::string contradiction(const Pair& pair, const Checks& checks);
std::string contradiction(const Pair& pair, const Layer& layer, const Ranks& gradient);

/// Several batches as one: the second moment of all their samples and the mean of their gradients.
struct Joined {
  double batches, samples;                   // of each; samples are those of their activations, in the mean
  Summary stable_rank, nuclear_rank, ratio;  // over disjoint groups of so many batches
};

/// Layers one after another; where an activation cannot be used, its gradients are not looked at. Then the batches of a step
/// joined, two, four, ... and all of them.
TrialRecord run_trial(const Plan& plan, const Trial& trial);

/// From a trial's record; `pair` and `layer` are indices. Throws Failure where the record is of other files.
Ranks activation_ranks(const TrialRecord& record, std::size_t pair);
Checks checks_of(const TrialRecord& record, std::size_t pair);
Spectrum spectrum_of(const TrialRecord& record, std::size_t pair, std::size_t layer);
Ranks gradient_ranks(const TrialRecord& record, std::size_t pair, std::size_t layer);
/// Of a layer at one step; empty where that has one batch.
std::vector<Joined> joined_batches(const TrialRecord& record, const std::string& layer, std::int64_t step);

// The pieces of it ---------------------------------------------------------------------------------------------------------------

struct MeasuredActivation {
  Ranks ranks;
  StreamedGram read;  // of A / divisor; of a second moment the Gram matrix alone, A A' or its diagonal, k x 1
  double divisor = 1.0;
  bool is_moment = true;  // a second moment that is not symmetric to 1e-3, or whose diagonal is negative, is none
};

/// [Spectral] Section 1.1: st(A) = ||A||_F^2 / ||A||_op^2 from the smaller Gram matrix, accumulated in double over blocks of A, to
/// a relative error of about 1e-12. Transposing A changes nothing. Throws as StoredTensor does, and Interrupted.
MeasuredActivation measure_activation(const StoredActivation& A, const Trial& trial);

/// A A' of an activation, k x k, however many samples it has. Throws Interrupted.
arma::mat second_moment(const StoredActivation& A, const Trial& trial);
/// st(A) from A A', k x k, or from its diagonal, k x 1; NaN of a zero matrix. Throws Interrupted.
double stable_rank_of_moment(const arma::mat& moment, const Trial& trial);

/// st(A) of these features from A A', or from its diagonal where A A' is one. Throws Interrupted.
MeasuredActivation measure_second_moment(const StoredTensor& moment, std::uint64_t first_feature, std::uint64_t features,
                                         const Trial& trial);

/// Features first_feature ... first_feature + features - 1 of a gradient as it is stored: m x k, or k x m.
struct StoredGradient {
  StoredTensor tensor;
  bool transposed = false;
  std::uint64_t first_feature = 0, features = transposed ? tensor.rows() : tensor.cols();

  std::uint64_t rows() const { return transposed ? tensor.cols() : tensor.rows(); }
};

/// A layer's rows, m x features; an entry that is not finite counts from the first row of the whole, as it is stored.
Piece rows_of(const StoredGradient& G, const Layer& layer);

struct MeasuredGradient {
  Ranks ranks;
  arma::vec s;  // singular values; empty where an entry is not finite
};

/// [Spectral] eq. (1.5): nr(G) = ||G||_*^2 / ||G||_F^2, and st(G), of a layer's rows, from their singular values: a Gram matrix
/// would lose the small ones, which add up. Throws likewise.
MeasuredGradient measure_gradient(const StoredGradient& G, const Layer& layer, const Trial& trial);

/// ||G - G P||_F / ||G||_F, where P projects on the span of the samples of A: 0 for a gradient G = E A' of the same samples. What
/// rounding leaves of A's rank counts as its span; of a second moment, which may be rounded itself, only features that no sample
/// has are outside. NaN where it is not looked at: with more than 4096 features and more samples than features, where it could
/// hardly be anything but 0, and for a G that is zero or not finite. Of a second moment `A` is null.
double outside_span(const StoredActivation* A, const MeasuredActivation& measured, const StoredGradient& G, const Trial& trial);
/// The flops of that for a raw activation; 0 where it is not looked at.
double outside_span_flops(double m, double k, double n);

}  // namespace ranklab::files
