// One shard of a run: its trials. Its file, a part, is its journal.
#pragma once

#include <cstdint>
#include <string>

#include "core/record.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Shard `index` of `count`, both from 1: the trials t with t mod count = index - 1.
struct Shard {
  std::uint64_t index = 1, count = 1;

  bool holds(std::uint64_t trial) const { return trial % count == index - 1; }
  /// The number of trials of this shard in a run of `trials`.
  std::uint64_t trials_of(std::uint64_t trials) const { return (trials + count - index) / count; }
  /// "3/8".
  std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

/// Parses "3/8" to a shard of a run of `trials`. Throws UsageError that starts with `label` and
/// states the allowed values.
Shard parse_shard(const std::string& text, std::uint64_t trials, const std::string& label);

/// Gives a study trials that have already run. The records can be taken once.
class FinishedTrials : public Runner {
 public:
  FinishedTrials(std::vector<TrialRecord> records, bool single_precision)
      : records_(std::move(records)),
        trials_(records_.size()),
        single_precision_(single_precision) {}

  std::uint64_t trials() const override { return trials_; }
  bool single_precision() const override { return single_precision_; }
  std::vector<TrialRecord> run(const std::function<TrialRecord(Trial&)>&) override {
    return std::move(records_);
  }
  std::vector<TrialRecord> run_batches(
      std::uint64_t, const std::function<std::vector<TrialRecord>(std::vector<Trial>&)>&) override {
    return std::move(records_);
  }

 private:
  std::vector<TrialRecord> records_;
  std::uint64_t trials_;
  bool single_precision_;
};

/// Runs the trials of a shard and returns no records, so that the study judges nothing.
class DiscardingRunner : public Runner {
 public:
  explicit DiscardingRunner(Runner& runner) : runner_(runner) {}

  std::uint64_t trials() const override { return runner_.trials(); }
  bool single_precision() const override { return runner_.single_precision(); }
  std::vector<TrialRecord> run(const std::function<TrialRecord(Trial&)>& body) override {
    runner_.run(body);
    return {};
  }
  std::vector<TrialRecord> run_batches(
      std::uint64_t size,
      const std::function<std::vector<TrialRecord>(std::vector<Trial>&)>& body) override {
    runner_.run_batches(size, body);
    return {};
  }

 private:
  Runner& runner_;
};

}  // namespace ranklab
