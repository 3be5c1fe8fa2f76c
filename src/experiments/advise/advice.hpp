// The advice that follows from the ratios nr(G) / st(A) of a layer.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/statistics.hpp"
#include "core/undefined.hpp"

namespace ranklab::advise {

/// The range in which the ratio lies. For one full-gradient step, with L_F and L_op of [Spectral]
/// eq. (1.4), the least-squares loss satisfies
///   L - ||G||_F^2 / L_F   <= L(W_GD) <= L - ||G||_F^2 / (2 L_F)
///   L - ||G||_*^2 / L_op  <= L(W_SD) <= L - ||G||_*^2 / (2 L_op).
/// Since (||G||_*^2 / L_op) / (||G||_F^2 / L_F) = nr(G) / st(A), the intervals do not overlap if
/// the ratio is above 2 (they touch at 2), or (the mirrored comparison, which the paper does not
/// print) below 1/2. In between, only the guarantees can be compared.
enum class Advantage { spectral, spectral_by_guarantee, euclidean_by_guarantee, euclidean };

/// Both ranks have a relative error of about 1e-12; a ratio within this of 1/2, 1 or 2 counts as
/// equal to it.
inline constexpr double ratio_rounding = 1e-10;
Advantage advantage_of(double ratio);

struct Words {
  std::string verdict;  // of (1.8), in the table
  std::string advice;   // one line for the user: "Muon: ...", "either: ...", "keep Adam/SGD: ..."
  std::string comparison;  // for the claim: what is guaranteed, and what is not
};
const Words& words_for(Advantage advantage);

/// Which step is ahead for sure; `nothing` for ratios between 1/2 and 2.
enum class Settled { spectral, nothing, euclidean };

/// nr / st of a layer at one step: over its batches and, if there are several, of all of them
/// joined.
struct StepRatio {
  Summary batches;
  double joined = undefined;
};

Settled settled_by(double ratio);
/// For one batch, settled by its ratio. For several, only if the 99 % interval of their mean and
/// the joined batches agree.
Settled settled_by(const StepRatio& ratio);

struct Advice {
  Settled settled = Settled::nothing;
  std::string ratio, verdict, text;  // table cells: nr/st, (1.8), advice
  std::string comparison;            // for the claim's detail
};

/// Whether the paper keeps layers of this role on Euclidean steps whatever the ratio.
bool is_kept_euclidean(const std::string& role);

/// The advice from a layer's ratios at each step (at least one). Several steps settle it if four
/// fifths of them agree. If the paper keeps Euclidean steps for this role, the text says so.
Advice advice_of(const std::map<std::int64_t, StepRatio>& ratios, const std::string& role);

}  // namespace ranklab::advise
