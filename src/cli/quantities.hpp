// The quantities of a run before it runs: what one can judge, export and draw.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/numbers.hpp"
#include "result/result_file.hpp"

namespace ranklab {

/// One quantity at all places at which a run has it.
struct ListedQuantity {
  std::string kind, symbol, meaning, unit;
  std::string x_name;     // of a curve; empty: one number for each trial
  std::vector<double> x;  // empty: unknown before the run
  std::map<std::string, std::vector<Coordinate>> at;  // the coordinates on each axis
  std::vector<std::string> names;
  bool always = true;  // else only some runs have all of these
};

/// In the order of the result. Places on different axes are listed apart, and curves over other x
/// than a part of the same ones, such as the steps of a shorter run.
std::vector<ListedQuantity> listed(const std::vector<DeclaredQuantity>& declared);
/// Those of a result, which does not know their symbols, meanings and units.
std::vector<ListedQuantity> listed(const ResultFile& result);

/// A few lines for each.
std::string quantities_text(const std::vector<ListedQuantity>& quantities, std::size_t columns);
nlohmann::ordered_json quantities_json(const std::vector<ListedQuantity>& quantities);

}  // namespace ranklab
