// How the study transformer-init judges: inequalities in every block of every trial.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/one_step_compare/transformer_init/bounds.hpp"
#include "experiments/one_step_compare/transformer_init/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab::transformer_init {

/// Bounds that hold exactly (Lemma 2.10 with equal columns) may be met to rounding alone, also in single precision.
inline constexpr double rounding_slack = 1e-5;

/// Measured value over bound at a block of a trial, counted from 0.
using RatioAt = std::function<double(const TrialRecord& record, std::size_t block)>;

/// The words of a claim; the id without its `spectral/`.
struct Text {
  std::string id, source, statement;
};

/// The recorded value of a block.
double at(const TrialRecord& record, const std::string& name, std::size_t block);

class Judge {
 public:
  /// Both must outlive the judge.
  Judge(const TransformerInitConfig& config, const std::vector<TrialRecord>& records) : config_(config), records_(records) {}

  /// A violation is a ratio above 1, for each block of each trial; where it is NaN there is no case.
  Claim every_block(const Text& text, const RatioAt& ratio, const std::string& detail = "") const;
  /// How the hypothesis d >= C delta^-2 log n with its unnamed C is met.
  std::string hypothesis() const;

  const TransformerInitConfig& config() const { return config_; }
  const std::vector<TrialRecord>& records() const { return records_; }

 private:
  const TransformerInitConfig& config_;
  const std::vector<TrialRecord>& records_;
};

/// st(matrix) over one of the bounds of Proposition 2.14 (ii).
RatioAt over_bound(const TransformerInitConfig& config, const std::string& matrix, double BlockBounds::*field);

/// Corollary 2.15.
void add_corollary(const Judge& judge, std::vector<Claim>& claims);

}  // namespace ranklab::transformer_init
