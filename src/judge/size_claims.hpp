// Claims about quantities at every size of a run: growth with the size, or statements at each size.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/record.hpp"
#include "judge/claims.hpp"

namespace ranklab {

/// The numbers of one trial at one size.
struct AtSize {
  const TrialRecord& record;
  const At& place;  // of these numbers
  double x;         // the size
  std::size_t i;    // its index in the list of sizes

  double operator()(const Quantity& quantity) const { return record.scalar(place / quantity); }
};

/// A quantity of every trial and size: a recorded number, or a function of several.
class Metric {
 public:
  Metric(const Quantity& quantity)
      : value_([quantity](const AtSize& at) { return at(quantity); }) {}
  Metric(const Measure& measure) : Metric(Quantity(measure)) {}
  template <class Value>
  Metric(Value value) requires std::is_invocable_r_v<double, Value, const AtSize&>
      : value_(std::move(value)) {}
  double operator()(const AtSize& at) const { return value_(at); }

 private:
  std::function<double(const AtSize&)> value_;
};

Metric ratio(const Metric& numerator, const Metric& denominator);

/// The sizes of a run.
struct Sizes {
  std::vector<double> x;   // ascending
  std::vector<At> places;  // of the numbers at each of them

  AtSize at(const TrialRecord& record, std::size_t i) const { return {record, places[i], x[i], i}; }
  /// The metric of a record at the i-th size.
  ValueAtSize at_sizes(const Metric& metric) const;
};

/// Makes claims from all trials and sizes of a run.
struct SizeClaims : Sizes {
  Claims& claims;
  const Records& records;
  std::string no_exponents =
      {};  // why exponents of x cannot be judged in this run; empty if they can
  std::string fit_description = {};  // how exponents are fitted, for the details of claims
  std::size_t fewest = 3;            // smallest number of sizes for a fit, see fits_over
  std::string slack = {};            // of exponents, with its unit: "0.1 in the exponent of d"

  /// The tally of count(at, tally) over every size of every trial.
  Tally tally(const std::function<void(const AtSize& at, Tally& tally)>& count) const;
  /// The smallest and the largest finite value, "0.1 to 0.2".
  std::string range(const Metric& metric) const;

  /// Claim: the margin is >= 0 in every trial at every size. An undefined margin is not a case.
  void everywhere(const Statement& statement, const Metric& margin,
                  const std::string& detail) const;
  /// Claim: the mean over trials of the exponent of x in the metric lies in `allowed`. A statement
  /// of the paper becomes asymptotic, with `slack` as its threshold. Not applicable if no_exponents
  /// gives a reason.
  void exponent(const Statement& statement, const Metric& metric, Region allowed,
                const std::string& detail) const;
};

}  // namespace ranklab
