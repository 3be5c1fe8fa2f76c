// For the tests of the study eta.
#pragma once

#include "experiments/kit.hpp"

namespace ranklab::eta {

struct Config : Study {
  std::uint64_t tokens = 100;
  std::vector<std::uint64_t> dim = {10, 20, 40};
  std::vector<double> t = {0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
                           0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1};
  double alpha = 1;

  std::vector<Field> flags() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override { return "Concentration of xi_1/xi_2 over redraws of W"; }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;
};

/// mean(x)/mean(y) - mean(x/y) as a mean of jackknife pseudo-values, shifted so that their mean is
/// that number; NaN for fewer than `fewest_samples`.
std::vector<double> ratio_gap_pseudo_values(const std::vector<double>& x,
                                            const std::vector<double>& y);
inline constexpr std::size_t fewest_samples = 10;

}  // namespace ranklab::eta
