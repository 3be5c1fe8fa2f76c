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
  Figure figure;
  std::map<std::string, Series> series;  // by name; null values are NaN
};

/// Throws a Failure of one line if there is no figure, or if a part of it has the wrong type, an
/// unknown scale or style, or names a series that the document does not have.
FigureSource read_figure(const nlohmann::json& result);

}  // namespace ranklab
