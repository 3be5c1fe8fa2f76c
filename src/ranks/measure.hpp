// What a trial measures: the ranks of an activation and a gradient, read from their files, and
// whether the two can belong together.
#pragma once

#include <armadillo>
#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/undefined.hpp"
#include "ranks/gram.hpp"
#include "ranks/ranks.hpp"

namespace ranklab::ranks {

/// Ranks of an activation or of a layer's gradient; NaN if the matrix is zero or an entry is not
/// finite.
struct Ranks {
  double stable_rank = undefined;
  double nuclear_rank = undefined;  // of gradients only
  NonFinite non_finite;             // rows count from the gradient's first row, not the layer's
  // Of weights only: exp(entropy of s / sum(s)); largest over smallest singular value, infinite if
  // the matrix is singular
  double effective_rank = undefined, condition = undefined;
};

/// Whether an activation and a gradient can belong together.
struct Checks {
  // Share of the gradient's norm outside the span of the samples; NaN: not checked
  double outside = undefined;
  bool is_valid_moment = true, underflows = false;  // as MeasuredActivation
};

/// The reason why this activation and gradient cannot belong to one layer at one step; empty if no
/// check fails.
std::string contradiction(const Pair& pair, const Checks& checks);
std::string contradiction(const Pair& pair, const Layer& layer, const Ranks& gradient);

/// Read from a trial's record; `pair` and `layer` are indices into the plan. Throws Failure if the
/// record belongs to other files.
Ranks activation_ranks(const TrialRecord& record, std::size_t pair);
Checks checks_of(const TrialRecord& record, std::size_t pair);
Ranks gradient_ranks(const TrialRecord& record, std::size_t pair, std::size_t layer);
/// nr/st of the joined batches of a layer at one step (the second moment of all their samples, the
/// mean of their gradients); NaN if the step has only one batch.
double joined_ratio(const TrialRecord& record, const std::string& layer, std::int64_t step);

// Parts of a trial --------------------------------------------------------------------------------

struct MeasuredActivation {
  Ranks ranks;
  StreamedGram read;  // of A / divisor; not set for a second moment
  double divisor = 1.0;
  arma::vec squares;  // sums of squares of the features; set for a second moment only
  // False if a second moment is not symmetric to 1e-3, or has a negative diagonal entry
  bool is_valid_moment = true;
  // The largest entry (of a second moment, the largest mean square) is stored in single precision
  // and below its normal numbers: it has lost digits
  bool underflows = false;
};

/// [Spectral] Section 1.1: st(A) = ||A||_F^2 / ||A||_op^2 from the smaller Gram matrix, accumulated
/// in double over blocks of A, to a relative error of about 1e-12. st(A') = st(A). Throws as
/// StoredTensor does, and Interrupted.
MeasuredActivation measure_activation(const StoredActivation& A, const Trial& trial);

/// A A' of an activation, for any number of samples. Throws Interrupted.
arma::mat second_moment(const StoredActivation& A, const Trial& trial);

/// The stored second moment: k x k, or k x 1 of a diagonal.
Piece read_moment(const StoredTensor& moment);

/// [Spectral] Section 1.1: st(A) = tr(M) / lambda_max(M) for a symmetric M = A A' (k, k), or its
/// diagonal (k, 1); NaN of a zero matrix. Throws Interrupted.
double stable_rank_of_moment(const arma::mat& M, const Trial& trial);

/// st(A) from A A' of so many samples. Throws Interrupted.
MeasuredActivation measure_second_moment(const StoredTensor& moment, std::uint64_t samples,
                                         const Trial& trial);

/// Whether a tensor of this shape scales a matrix: one number, one for each row, or one for each
/// block of 128 x 128.
bool is_scale_of(std::uint64_t rows, std::uint64_t columns, std::vector<std::uint64_t> shape);

/// A stored gradient or weight, m x k. Its entries are the stored ones times `factor` and, if it is
/// not empty, times the entries of `scale`, which is_scale_of() allows.
struct StoredGradient {
  StoredTensor tensor;
  double factor = 1.0;
  arma::mat scale = {};
};

/// A layer's rows, m x k. The position of a non-finite entry counts from the first row of
/// the whole gradient, as stored.
Piece rows_of(const StoredGradient& G, const Layer& layer);

struct MeasuredGradient {
  Ranks ranks;
  arma::vec s;  // singular values; empty if an entry is not finite
};

/// [Spectral] eq. (1.5): nr(G) = ||G||_*^2 / ||G||_F^2, and st(G), of a layer's rows. Computed from
/// their singular values: a Gram matrix would lose the small ones, which add up in nr. Throws as
/// measure_activation does.
MeasuredGradient measure_gradient(const StoredGradient& G, const Layer& layer, const Trial& trial);

struct CheckedGradient {
  double outside = undefined;
  bool underflows = false;  // as MeasuredActivation
};

/// `outside` is ||G - G P||_F / ||G||_F, where P projects onto the span of the samples of A; 0 for
/// a gradient G = E A' of the same samples. Directions of A that are as small as rounding errors
/// count as part of the span. For a second moment (`A` is null), which may itself be rounded, only
/// features that are zero in all samples are outside. NaN if not checked: with more than 4096
/// features and at least as many samples, where the share could hardly differ from 0, and for a G
/// that is zero or not finite.
CheckedGradient check_gradient(const StoredActivation* A, const MeasuredActivation& measured,
                               const StoredGradient& G, const Trial& trial);
/// The flops of check_gradient for a raw activation; 0 if it is not checked.
double outside_span_flops(double m, double k, double n);

/// st and nr of a random m x k matrix of independent normal entries, for large m and k, as
/// python/ranklab/ranks.py has them: m k / (sqrt(m) + sqrt(k))^2, from the largest singular value
/// (Bai and Yin, 1988), and the squared mean singular value of Marchenko and Pastur (1967) times
/// min(m, k).
double random_stable_rank(double m, double k);
double random_nuclear_rank(double m, double k);

}  // namespace ranklab::ranks
