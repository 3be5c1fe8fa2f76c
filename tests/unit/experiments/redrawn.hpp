// A study whose trials have some of their numbers drawn by hand, for tests of its verdicts.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/configured_study.hpp"

/// Arrays of a trial's record by name.
using Drawing = std::vector<std::pair<std::string, std::vector<double>>>;

/// Three trials with the numbers of the first, of which those in the drawing are replaced; one that no trial measures fails the
/// test.
class Redrawn : public ranklab::Runner {
 public:
  explicit Redrawn(Drawing drawing) : drawing_(std::move(drawing)) {}

  std::uint64_t trials() const override { return 3; }
  bool single_precision() const override { return false; }
  std::vector<ranklab::TrialRecord> run(const std::function<ranklab::TrialRecord(ranklab::Trial&)>& body) override {
    ranklab::Trial trial(1, 0, 0);
    ranklab::TrialRecord record = body(trial);
    for (const auto& [name, values] : drawing_) {
      const auto& shown = name;  // clang 14 captures no structured binding
      CAPTURE(shown);
      REQUIRE(record.has(name));
      record.set(name, values);
    }
    return {record, record, record};
  }
  std::vector<ranklab::TrialRecord> run_batches(
      std::uint64_t, const std::function<std::vector<ranklab::TrialRecord>(std::vector<ranklab::Trial>&)>& body) override {
    return run([&](ranklab::Trial& trial) {
      std::vector<ranklab::Trial> one = {trial};
      return body(one).front();
    });
  }

 private:
  Drawing drawing_;
};

inline ranklab::Result run_redrawn(std::unique_ptr<ranklab::Study> study, const FlagValues& flags, Drawing drawing) {
  Redrawn runner(std::move(drawing));
  return configured(std::move(study), flags)->run(runner);
}
