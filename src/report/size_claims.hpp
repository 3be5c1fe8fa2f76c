// Statements about quantities at every size of a run: how they grow with it, or what holds at each.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/record.hpp"
#include "report/claims.hpp"

namespace ranklab {

/// The numbers of one trial at one size.
struct AtSize {
  const TrialRecord& record;
  const std::string& prefix;  // of the names of these numbers
  double x;                   // the size
  std::size_t i;              // its place in the list of sizes

  double operator()(const std::string& name) const { return record.scalar(prefix + name); }
};

/// A quantity of every trial and size: a recorded number, or a function of several.
class Metric {
 public:
  Metric(const char* name) : value_([name](const AtSize& at) { return at(name); }) {}
  template <class Value>
  Metric(Value value) requires std::is_invocable_r_v<double, Value, const AtSize&> : value_(std::move(value)) {}
  double operator()(const AtSize& at) const { return value_(at); }

 private:
  std::function<double(const AtSize&)> value_;
};

Metric ratio(const Metric& numerator, const Metric& denominator);

/// Makes claims from all trials and sizes of a run.
struct SizeClaims {
  Claims& claims;
  const Records& records;
  std::vector<double> x;              // the sizes, ascending
  std::vector<std::string> prefixes;  // of the names of the numbers at each of them
  std::string no_exponents = {};      // why exponents of x mean nothing in this run; empty where they do
  std::string exponents_are = {};     // how they are fitted, for details
  std::size_t fewest = 3;             // sizes that a fit takes, see fits_over

  AtSize at(const TrialRecord& record, std::size_t i) const { return {record, prefixes[i], x[i], i}; }
  /// The metric of a record at the i-th size. It refers to this object.
  ValueAtSize at_sizes(const Metric& metric) const;
  /// What count(at, tally) counts at every size of every trial.
  Tally tally(const std::function<void(const AtSize& at, Tally& tally)>& count) const;
  /// The smallest and the largest finite value, "0.1 to 0.2".
  std::string range(const Metric& metric) const;

  /// The margin is >= 0 in every trial at every size; an undefined margin is no case.
  void everywhere(const Statement& statement, const Metric& margin, const std::string& detail) const;
  /// The mean over trials of the exponent of x in the metric lies in `allowed`; not applicable where no_exponents says why.
  void exponent(const Statement& statement, const Metric& metric, Region allowed, const std::string& detail) const;
};

}  // namespace ranklab
