// A figure in words, for readers who cannot see it.
#pragma once

#include <string>

#include "figure/data.hpp"

namespace ranklab {

/// The panels with their axes, curves, shaded ranges and reference lines, and the number of trials.
std::string describe_figure(const FigureData& data);

}  // namespace ranklab
