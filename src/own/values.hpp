// The value of a formula in one trial of a run.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "own/formula.hpp"
#include "result/result_file.hpp"

namespace ranklab::own {

/// What a curve is over: "iteration", and the iterations.
struct Axis {
  std::string name;
  std::vector<double> x;
};

/// One number, or a curve over an axis. Of a condition: 1 where it holds, 0 where it does not, NaN
/// where a number in it is undefined.
struct Values {
  std::vector<double> at;
  std::shared_ptr<const Axis> axis = nullptr;  // null: one number
  bool is_condition = false;
  /// Of the numbers that each value was computed from: its rounding error is relative to it, and
  /// after a difference larger than the value. Empty: the sizes of the values themselves.
  std::vector<double> sizes = {};

  /// Undefined at the end, as after a divergence, or at most of its points.
  bool is_lost() const;
};

/// What the trials of a run have measured, by name, and the numbers among its flags.
class Run {
 public:
  Run(const ResultFile& result, std::string name);

  std::size_t trials() const { return trials_; }
  const std::string& name() const { return name_; }

  struct Quantity {
    std::shared_ptr<const Axis> axis;                          // null: one number for each trial
    const std::vector<double>* numbers = nullptr;              // of such a one
    const std::vector<std::vector<double>>* curves = nullptr;  // of the trials; empty: not kept
  };
  /// Null for an unknown name.
  const Quantity* quantity(const std::string& name) const;
  /// The names of what was measured at the places of `name`, in the order of the names, with what
  /// the stars in the places stand for. Throws UsageError if it was measured on other axes.
  std::vector<std::pair<std::string, std::vector<std::string>>> at_places(const Node& name) const;
  /// A quantity that a name stands for, and where it was measured on the axes that it leaves open.
  struct Found {
    std::string name;
    std::map<std::string, Coordinate> at;
  };
  /// All of them, in the order of the result: those of what was measured at places, or of a place
  /// with stars. None for the name of one quantity, and for what is no quantity. Throws UsageError
  /// if they do not have the same axes.
  std::vector<Found> all_places(const Node& name) const;
  const double* flag(const std::string& name) const;
  /// Throws UsageError with the nearest name that exists.
  [[noreturn]] void refuse_name(const Node& node, const std::string& name) const;

  const std::map<std::string, Quantity>& quantities() const { return quantities_; }
  bool keeps_trials() const { return keeps_trials_; }

 private:
  std::string name_;
  std::size_t trials_ = 0;
  std::map<std::string, Quantity> quantities_;
  struct Place {
    std::string kind;
    std::map<std::string, Coordinate> at;
  };
  std::map<std::string, Place> places_;  // of the quantities
  std::vector<std::string> order_;       // of their names in the result
  std::map<std::string, double> flags_;
  bool keeps_trials_ = false;
};

/// What the stars of a formula's globs stand for. A formula without a glob has one match, without
/// stars.
using Match = std::vector<std::string>;
/// In the order of the names. Throws UsageError if no quantity matches the first glob.
std::vector<Match> matches_of(const Formula& formula, const Run& run);

/// A value at one of the places at which its quantities were measured.
struct PlacedFormula {
  std::map<std::string, Coordinate> at;
  Formula formula;  // of quantities there, by their names
};
/// In the order of the result. What was measured at places is taken at each of them, and quantities
/// that share an axis at the same place on it; the name of an axis is the number there. Throws
/// UsageError if there is no such place.
std::vector<PlacedFormula> at_each_place(const Formula& formula, const Run& run);

/// Computes formulas in the trials of one run, for one match.
class Evaluation {
 public:
  Evaluation(const Formula& formula, const Run& run, Match match);

  /// Throws UsageError "column 12: ..." for an unknown name and for numbers that do not fit.
  Values value(const Node& node, std::size_t trial);
  /// The same, for a formula that must be one number. A number that equals one of `bounds` up to
  /// rounding becomes this bound.
  double number(const Node& node, std::size_t trial, const std::vector<double>& bounds = {});
  /// A comparison, and by how much it holds; negative for a violation.
  struct Compared {
    Values holds;
    std::vector<double> margins;  // empty: the condition is no comparison
  };
  Compared condition(const Node& node, std::size_t trial);

  /// How many values of curves were undefined and left out of a reduction.
  std::size_t left_out() const { return left_out_; }
  /// Whether some curves of the formula are lost in this trial and others are not, so that they
  /// cannot be compared.
  bool is_one_sided(std::size_t trial);
  /// Whether the condition of `from` is lost in this trial.
  bool from_is_lost(std::size_t trial);
  /// Throws UsageError for an at() whose place no trial has had.
  void require_places() const;

 private:
  double place_on(const Node& node, const Values& of, std::size_t trial);
  Values named(const Node& node, std::size_t trial);
  Values reduced(const Node& node, Values of, std::size_t trial);
  Values combined(const Node& node, const Values& a, const Values& b) const;
  /// The places of an axis that `from` keeps in this trial, and the axis of these.
  struct Kept {
    std::vector<std::size_t> places;
    std::shared_ptr<const Axis> axis;
    bool is_lost = false;  // the condition is undefined to its end
  };
  const Kept& kept(const std::shared_ptr<const Axis>& axis, std::size_t trial);
  bool is_about(const Node& from, const Axis& axis) const;
  std::string full_name(const Node& name) const;

  const Formula& formula_;
  const Run& run_;
  Match match_;
  std::map<std::string, std::shared_ptr<const Axis>> axes_;  // of the formula's curves, by name
  std::map<const Axis*, Kept> kept_;                         // in the trial kept_in_
  std::size_t kept_in_ = 0;
  std::shared_ptr<const Axis> restricting_;  // its x is what its name means in `from`
  std::size_t left_out_ = 0;
  std::map<const Node*, std::string> no_place_;  // of at(): what is wrong
  std::set<const Node*> has_place_;
};

}  // namespace ranklab::own
