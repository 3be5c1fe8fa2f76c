// What a multi-spike study runs through, and what [Spectral] Section 3 predicts for each setting.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spike_plus_bulk/multi_spike/config.hpp"
#include "experiments/spike_plus_bulk/window.hpp"
#include "models/spiked_gram.hpp"

namespace ranklab {

/// One pair of exponents with its Gram matrices, whatever the step.
struct SpikePair {
  double low, high;   // l <= u
  std::string names;  // "l=0.6,u=1,": what distinguishes the pair, empty for a single one
};
/// Every l with every u that is not below it; a single spike is d^u, so that its l is u.
std::vector<SpikePair> spike_pairs(const MultiSpikeConfig& config);

/// A pair and a step: what is compared over d.
struct SpikeFamily {
  SpikePair pair;
  double c;
  std::string names;  // "l=0.6,u=1,c=2,"
  /// "l=0.6,u=1,c=2,d=64."
  std::string at(std::uint64_t d) const { return names + "d=" + std::to_string(d) + "."; }
};
std::vector<SpikeFamily> spike_families(const MultiSpikeConfig& config);

SpikedShape spiked_shape(const MultiSpikeConfig& config, const SpikePair& pair, std::uint64_t d);

/// The nuclear rank that counts as large: d / 4, for the teacher d / 5, whose gradients have half the rank.
double large_rank(LabelModel model, std::uint64_t d);
/// d^(1 - eps), Remarks 1 and 2.
double remark_rank(const MultiSpikeConfig& config, std::uint64_t d);

double burn_in_scale(const SpikePair& pair, double d);  // d^(u-l) log d
double window_scale(const SpikePair& pair, double d);   // d^u
double remark_scale(const SpikePair& pair, double d);   // d^u log d

/// Iterations from C_1 d^(u-l) log d up to C_2 d^u with the constants of the proof: C_1 = c u, where (3.12) becomes 1, and
/// C_2 = c, where a bulk direction with eigenvalue 1 has lost a factor e. Empty where from > to.
Span predicted_window(const SpikeFamily& family, std::uint64_t d);
/// The same for Remarks 1 and 2: up to c eps / (2 c_2) d^u log d, where no bulk direction has lost more than d^(-eps/2), so that
/// the square in nr costs no more than d^(-eps).
Span predicted_remark_window(const MultiSpikeConfig& config, const SpikeFamily& family, std::uint64_t d);

/// The last iteration looked at.
std::uint64_t horizon(const MultiSpikeConfig& config, const SpikeFamily& family, std::uint64_t d);
/// Iterations of the series: 0, 1, 2, 3, 4, 5, then each a third more than the one before, and the horizon.
std::vector<std::uint64_t> recorded_iterations(std::uint64_t horizon);

}  // namespace ranklab
