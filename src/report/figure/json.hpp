// The figure of a result document, read and checked. Result files may be edited by hand, so nothing is taken for granted.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/result.hpp"

namespace ranklab {

/// What is needed to draw: the figure, the series that its curves name, and the words around it.
struct FigureSource {
  std::string title;
  std::string status;           // complete, interrupted, diverged
  std::string changes;          // in what the run differs from its preset; empty: in nothing
  double completed_trials = 0;  // 0: unknown
  double requested_trials = 0;
  Figure figure;
  std::map<std::string, Series> series;  // by name; null values are NaN
};

/// Throws Failure, one line, where there is no figure or where something in it has the wrong type, an unknown scale or
/// style, or names a series that the document does not have.
FigureSource read_figure(const nlohmann::json& result);

}  // namespace ranklab
