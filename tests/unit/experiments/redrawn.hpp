// Runs a study with some numbers of its trials replaced by given ones, to test its verdicts.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/configured_study.hpp"

/// Replacement values for arrays of a trial's record, by name.
using Drawing = std::vector<std::pair<std::string, std::vector<double>>>;

/// The result of three trials with the record of trial 0, in which the arrays of the drawing are
/// replaced. The test fails if the trial does not measure one of these arrays.
inline ranklab::Result run_redrawn(std::unique_ptr<ranklab::Study> study, const FlagValues& flags,
                                   const Drawing& drawing) {
  const auto ready = configured(std::move(study), flags);
  ranklab::TrialRecord record = records_of(*ready).front();
  for (const auto& [name, values] : drawing) {
    const auto& shown = name;  // clang 14 cannot capture a structured binding
    CAPTURE(shown);
    REQUIRE(record.has(name));
    record.set(name, values);
  }
  return ready->report({record, record, record});
}
