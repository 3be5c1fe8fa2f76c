// The measurements of trials: named arrays, and tallies of the cases of each inequality. The
// journal stores them bit for bit.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/undefined.hpp"

namespace ranklab {

/// Cases of a "for all" statement, the number of cases that violate it, and the range of the number
/// that each case shows.
struct Tally {
  double cases = 0, violations = 0;
  double smallest = std::numeric_limits<double>::infinity(),
         largest = -std::numeric_limits<double>::infinity();

  /// The part of one trial.
  struct InTrial {
    double cases = 0, violations = 0;
  };
  /// In the order of the trials. Empty inside a trial, and if the cases belong to no trial.
  std::vector<InTrial> trials = {};
  bool is_in_trial = false;

  /// The cases that follow belong to the next trial, or after end_trials() to none, such as worked
  /// examples.
  void begin_trial();
  void end_trials() { is_in_trial = false; }

  /// Adds one case; a `shown` that is NaN does not change the range.
  void count(bool violated, double shown = undefined);
  /// Adds the cases of another tally of the same trials, or of the trial that has begun.
  void add(const Tally& other);
};

class TrialRecord {
 public:
  void set(const std::string& name, double value) { set(name, std::vector<double>{value}); }
  void set(const std::string& name, std::vector<double> values);
  /// Adds the arrays of a part of the trial, with the prefix before each name. A part has no
  /// tallies.
  void insert(const TrialRecord& part, const std::string& prefix = "");
  bool has(const std::string& name) const { return arrays_.contains(name); }
  /// Throws std::logic_error if the name was never set.
  const std::vector<double>& array(const std::string& name) const;
  double scalar(const std::string& name) const;
  /// The scalar, or NaN if the trial has none of that name.
  double scalar_or_nan(const std::string& name) const;

  /// Adds to the tally of the statement `id`, which the record stores as the array `tally/<id>`. An
  /// empty tally means that the trial was checked and had no case.
  void add(const std::string& id, const Tally& tally);
  /// Adds one case of the statement `id`; call it only if the hypothesis is met.
  void count(const std::string& id, bool violated, double shown = undefined);
  /// The tally of the statement `id`; empty if the trial has none.
  Tally tally(const std::string& id) const;
  bool has_tally(const std::string& id) const { return has("tally/" + id); }

  const std::map<std::string, std::vector<double>>& arrays() const { return arrays_; }

 private:
  std::map<std::string, std::vector<double>> arrays_;
};

/// The records of the finished trials, by index.
using Records = std::vector<TrialRecord>;

/// One scalar, or one array, of every record.
std::vector<double> scalars_of(const Records& records, const std::string& name);
std::vector<std::vector<double>> arrays_of(const Records& records, const std::string& name);

/// value(record) of every record.
template <class Value>
auto per_trial(const Records& records, const Value& value) {
  std::vector<decltype(value(records.front()))> out;
  out.reserve(records.size());
  for (const TrialRecord& record : records) out.push_back(value(record));
  return out;
}

/// The mean of each array, entry by entry; NaN if any record's entry is NaN. Needs at least one
/// record; all records have the same arrays, of the same lengths, and no tallies.
TrialRecord mean_of(const Records& records);

/// The tally of the statement `id` over all records.
Tally tally_of(const Records& records, const std::string& id);

/// The tally that `count(record, tally)` fills from every record.
template <class Count>
Tally tally_of(const Records& records,
               const Count& count) requires std::is_invocable_v<Count, const TrialRecord&, Tally&> {
  Tally tally;
  for (const TrialRecord& record : records) {
    tally.begin_trial();
    count(record, tally);
  }
  tally.end_trials();
  return tally;
}

}  // namespace ranklab
