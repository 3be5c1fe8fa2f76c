// Numbers along a run, such as a training, whose names are declared before it begins.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/record.hpp"

namespace ranklab {

/// A number of a run, or numbers over x: steps, layers.
struct Column {
  Quantity quantity;
  std::string x_name = {};        // "step"; empty: one number
  std::vector<double> x = {0.0};  // an entry for each number
};

/// The numbers of declared columns. A number is NaN until it is set, so that a run that ends early,
/// as after a divergence, leaves NaN. All methods throw std::logic_error for a name that is not
/// declared.
class Track {
 public:
  explicit Track(const std::vector<Column>& columns);

  /// Sets the i-th number of a column.
  void set(const std::string& name, double value, std::size_t i = 0);
  /// Sets the number of a column after those that were added.
  void add(const std::string& name, double value);
  /// How many numbers were added.
  std::size_t added(const std::string& name) { return at(name).added; }
  const std::vector<double>& values(const std::string& name) { return at(name).values; }
  /// All columns. Nothing is left in the track.
  TrialRecord take();

 private:
  struct Values {
    std::vector<double> values;
    std::size_t added = 0;
  };
  Values& at(const std::string& name);

  std::map<std::string, Values> columns_;
};

}  // namespace ranklab
