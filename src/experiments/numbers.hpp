// The numbers of a result: scalars and series, taken from the records of the trials or derived from
// them. Without records the same code declares them: which quantities a run has, and where.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/track.hpp"
#include "judge/claims.hpp"
#include "result/result.hpp"

namespace ranklab {

/// A quantity at a place that the runs of a config have: a scalar, or a series over x.
struct DeclaredQuantity {
  Quantity quantity;
  std::string x_name = {};     // empty: a scalar
  std::vector<double> x = {};  // empty: as long as the trials make it
  bool always = true;          // else only some runs have it, or all its points
  bool has_trials = true;      // else its points are of all trials together
};

/// What Study::derive() fills.
class Numbers {
 public:
  /// Of these records; they and the result outlive this.
  Numbers(Result& result, const Records& records) : result_(&result), records_(records) {}
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  /// What derive() adds if there are no records, in its order.
  static std::vector<DeclaredQuantity> declared_by(const std::function<void(Numbers&)>& derive);

  const Records& records() const { return records_; }

  // Scalars ---------------------------------------------------------------------------------------
  /// Adds the scalar that every record has under this name.
  void scalar(const Quantity& quantity);
  void scalar(Quantity quantity, std::vector<double> per_trial);
  /// Adds the violations of an inequality in each trial, under the name that it declares; NaN if a
  /// trial has no tally.
  void scalar(const Inequality& inequality);

  // Series ----------------------------------------------------------------------------------------
  /// Adds the array that every record has under this name, over x = first_x, first_x + 1, ...
  void series(const Quantity& quantity, const std::string& x_name, double first_x = 0.0);
  /// Like the above, over given x.
  void series(const Quantity& quantity, const std::string& x_name, std::vector<double> x);
  /// Adds value(record, i) at x[i].
  void series(const Quantity& quantity, const std::string& x_name, std::vector<double> x,
              const ValueAtSize& value);
  /// Adds points without a spread.
  void series_of_points(const Quantity& quantity, const std::string& x_name, std::vector<double> x,
                        std::vector<double> y);
  /// Adds these numbers; the quantity names them.
  void series(const Quantity& quantity, Series numbers);
  /// Adds the scalars and series of columns, which the records have at that place.
  void add(const std::vector<Column>& columns, const At& at = {});

  /// Adds what only some runs have, or what has some of its points in some trials only: calls add()
  /// if this run has it.
  template <class Add>
  void sometimes(bool has_it, const Add& add) {
    const bool before = always_;
    always_ = false;
    if (has_it || declares()) add();
    always_ = before;
  }

  /// The series added under this name. Throws std::logic_error if there is none. Numbers that are
  /// only declared have no series.
  const Series& at(const std::string& name) const;
  bool declares() const { return result_ == nullptr; }

  /// If any of these numbers, one of each trial, is above 0, the method diverged in these trials.
  void diverged(const std::string& method, const std::vector<double>& per_trial);

 private:
  Numbers(std::vector<DeclaredQuantity>& declared, const Records& none)
      : declared_(&declared), records_(none) {}
  void declare(const Quantity& quantity, const std::string& x_name = "", std::vector<double> x = {},
               bool has_trials = true);

  Result* result_ = nullptr;
  std::vector<DeclaredQuantity>* declared_ = nullptr;  // while declaring
  const Records& records_;
  bool always_ = true;
};

}  // namespace ranklab
