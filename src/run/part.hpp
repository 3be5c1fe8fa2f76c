// One shard's share of a run: which trials, and the file that holds them once they are done. While the shard runs its file is a
// journal of the same bytes (journal_format.hpp); the last note, of what the shard took, makes it a part.
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
  /// How many of a run's `trials`.
  std::uint64_t trials_of(std::uint64_t trials) const { return (trials + count - index) / count; }
  /// "3/8".
  std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

/// "3/8" to a shard of a run of `trials`. Throws UsageError that starts with `label` and says what is allowed.
Shard parse_shard(const std::string& text, std::uint64_t trials, const std::string& label);

/// What stands in a part or in the journal of a shard; empty where the file is neither.
class PartFile {
 public:
  /// Throws Failure where the file cannot be read.
  explicit PartFile(std::string path);
  PartFile(PartFile&&) = delete;  // views of its own bytes

  const std::string& path() const { return path_; }
  const std::string& header() const { return header_; }
  /// Whole records of trials.
  std::uint64_t trials() const { return trials_.size(); }
  /// The last note that trials follow, of the session that wrote them; and the last record, where that is a note. Empty: none.
  const std::string& session_note() const { return session_note_; }
  const std::string& last_note() const { return last_note_; }
  /// True where bytes follow that are no whole record.
  bool torn() const { return torn_; }

  /// Puts the trials into `records`, by index. Throws Failure for a trial that is not the shard's, or beyond their number.
  void take(const Shard& shard, std::vector<TrialRecord>& records) const;

 private:
  std::string path_, content_, header_, session_note_, last_note_;
  std::vector<std::string_view> trials_;
  bool torn_ = false;
};

/// Gives a study trials that were done elsewhere, all of them, once.
class FinishedTrials : public Runner {
 public:
  FinishedTrials(std::vector<TrialRecord> records, bool single_precision)
      : records_(std::move(records)), trials_(records_.size()), single_precision_(single_precision) {}

  std::uint64_t trials() const override { return trials_; }
  bool single_precision() const override { return single_precision_; }
  std::vector<TrialRecord> run(const std::function<TrialRecord(Trial&)>&) override { return std::move(records_); }
  std::vector<TrialRecord> run_batches(std::uint64_t,
                                       const std::function<std::vector<TrialRecord>(std::vector<Trial>&)>&) override {
    return std::move(records_);
  }

 private:
  std::vector<TrialRecord> records_;
  std::uint64_t trials_;
  bool single_precision_;
};

/// Does the trials of a shard and gives the study none of them: it has nothing to judge.
class TrialsAlone : public Runner {
 public:
  explicit TrialsAlone(Runner& runner) : runner_(runner) {}

  std::uint64_t trials() const override { return runner_.trials(); }
  bool single_precision() const override { return runner_.single_precision(); }
  std::vector<TrialRecord> run(const std::function<TrialRecord(Trial&)>& body) override {
    runner_.run(body);
    return {};
  }
  std::vector<TrialRecord> run_batches(std::uint64_t size,
                                       const std::function<std::vector<TrialRecord>(std::vector<Trial>&)>& body) override {
    runner_.run_batches(size, body);
    return {};
  }

 private:
  Runner& runner_;
};

}  // namespace ranklab
