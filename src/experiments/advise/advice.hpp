// The advice that follows from the ratio nr(G) / st(A) of a layer.
#pragma once

#include <string>
#include <string_view>

#include "experiments/advise/pooling.hpp"

namespace ranklab::advise {

/// The range in which the ratio lies. For one full-gradient step, with L_F and L_op of [Spectral]
/// eq. (1.4), the least-squares loss satisfies
///   L - ||G||_F^2 / L_F   <= L(W_GD) <= L - ||G||_F^2 / (2 L_F)
///   L - ||G||_*^2 / L_op  <= L(W_SD) <= L - ||G||_*^2 / (2 L_op)
/// for the step lengths 1 / L_F along G and ||G||_* / L_op along its polar factor. Since
/// (||G||_*^2 / L_op) / (||G||_F^2 / L_F) = nr(G) / st(A), the intervals do not overlap if the
/// ratio is above 2 (they touch at 2), or (the mirrored comparison, which the paper does not print)
/// below 1/2. In between, only the guarantees can be compared. With the best length along each
/// direction the order may be another.
enum class Advantage { spectral, spectral_by_guarantee, euclidean_by_guarantee, euclidean };

/// Both ranks have a relative error of about 1e-12; a ratio within this of 1/2, 1 or 2 counts as
/// equal to it.
inline constexpr double ratio_rounding = 1e-10;
Advantage advantage_of(double ratio);

/// For a claim: what is guaranteed, and what is not.
std::string_view comparison_of(Advantage advantage);

/// Which step's guarantee settles the comparison; `nothing` for ratios between 1/2 and 2.
enum class Settled { spectral, nothing, euclidean };
Settled settled_by(double ratio);
/// Also `nothing` if the interval contains 1: other batches may favor the other step.
Settled settled_by(const PooledRatio& ratio);

/// "muon", "either", "euclidean": in result files, and in files of --groups.
std::string_view word_for(Settled settled);

/// Whether the printed inequality (1.8), nr(G) >= st(A), holds. Undecided if the interval contains
/// 1, and with two values, as every claim with fewer than three.
enum class Holds { yes, no, undecided };
Holds inequality_holds(const PooledRatio& ratio);

struct Advice {
  Settled settled = Settled::nothing;
  std::string ratio, verdict, text;  // table cells: nr/st, (1.8), advice
};

/// Whether the paper keeps layers of this role on Euclidean steps whatever the ratio.
bool is_kept_euclidean(const std::string& role);

/// If the paper keeps Euclidean steps for this role, the text says so.
Advice advice_of(const PooledRatio& ratio, const std::string& role);

}  // namespace ranklab::advise
