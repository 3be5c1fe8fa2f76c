// The law of independent entries, by which all initial weights are drawn.
#pragma once

#include <cstdint>
#include <span>

#include "core/random.hpp"

namespace ranklab {

/// The law of independent entries. `map` is applied to each drawn entry.
struct EntryLaw {
  enum class Kind { constant, normal, uniform, ramp };
  Kind kind = Kind::constant;
  double first = 0.0;   // the constant; unused; the lower end; the step
  double second = 0.0;  // unused; the standard deviation; the upper end; the period
  double (*map)(double) = nullptr;

  static EntryLaw constant(double value) { return {Kind::constant, value, 0.0}; }
  static EntryLaw normal(double standard_deviation) {
    return {Kind::normal, 0.0, standard_deviation};
  }
  static EntryLaw uniform(double low, double high) { return {Kind::uniform, low, high}; }
  /// 0, step, 2 step, ..., restarting at 0 after `period` entries.
  static EntryLaw ramp(double step, std::uint64_t period) {
    return {Kind::ramp, step, static_cast<double>(period)};
  }
  /// Uniform on (-1/sqrt(inputs), 1/sqrt(inputs)): PyTorch's default for linear maps and
  /// convolutions.
  static EntryLaw fan_in(std::uint64_t inputs);
  EntryLaw mapped(double (*f)(double)) const { return {kind, first, second, f}; }
};

/// Draws the entries in double precision, multiplies them by `scale` and rounds them to T.
template <class T>
void draw_entries(Stream stream, std::span<T> out, const EntryLaw& law, double scale = 1.0);

}  // namespace ranklab
