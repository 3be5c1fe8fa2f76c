// The figure of a result document, read and checked. Result files may be edited by hand, so every
// part is checked.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/result.hpp"

namespace ranklab {

/// The input of a drawing: the figure, the series that its curves name, and the surrounding text.
struct FigureSource {
  std::string title;
  std::string status;           // complete, interrupted, diverged
  std::string changes;          // differences of the run from its preset; empty: no difference
  double completed_trials = 0;  // 0: unknown
  double requested_trials = 0;
  std::string trial_unit = "trial";  // seed, input, ...
  Figure figure;
  std::map<std::string, Series> series;  // by name; null values are NaN
};

/// Throws a Failure of one line if there is no figure, or if a part of it has the wrong type, an
/// unknown scale or style, or names a series that the document does not have.
/// `which` is 0 for the figure of the result and counts its further figures from 1.
FigureSource read_figure(const nlohmann::json& result, std::size_t which = 0);

/// 1, and the number of further figures.
std::size_t number_of_figures(const nlohmann::json& result);

}  // namespace ranklab
