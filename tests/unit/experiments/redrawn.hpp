// Runs a study with some numbers of its trials replaced by given ones, to test its verdicts.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/configured_study.hpp"

/// Replacement values for arrays of a trial's record, by name.
using Drawing = std::vector<std::pair<std::string, std::vector<double>>>;

/// Runs one trial and returns its record three times, with the arrays of the drawing replaced. The
/// test fails if the trial does not measure one of these arrays.
class Redrawn : public ranklab::Runner {
 public:
  explicit Redrawn(Drawing drawing) : drawing_(std::move(drawing)) {}

  std::uint64_t trials() const override { return 3; }
  bool single_precision() const override { return false; }
  std::vector<ranklab::TrialRecord> run(
      const std::function<ranklab::TrialRecord(ranklab::Trial&)>& body) override {
    ranklab::Trial trial(1, 0, 0);
    ranklab::TrialRecord record = body(trial);
    for (const auto& [name, values] : drawing_) {
      const auto& shown = name;  // clang 14 cannot capture a structured binding
      CAPTURE(shown);
      REQUIRE(record.has(name));
      record.set(name, values);
    }
    return {record, record, record};
  }
  std::vector<ranklab::TrialRecord> run_batches(
      std::uint64_t,
      const std::function<std::vector<ranklab::TrialRecord>(std::vector<ranklab::Trial>&)>& body)
      override {
    return run([&](ranklab::Trial& trial) {
      std::vector<ranklab::Trial> one = {trial};
      return body(one).front();
    });
  }

 private:
  Drawing drawing_;
};

inline ranklab::Result run_redrawn(std::unique_ptr<ranklab::Study> study, const FlagValues& flags,
                                   Drawing drawing) {
  Redrawn runner(std::move(drawing));
  return configured(std::move(study), flags)->run(runner);
}
