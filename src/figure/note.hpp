// The note below a figure: what bands, bars and thin lines are, and problems of the run.
#pragma once

#include <string>
#include <vector>

#include "figure/layout.hpp"

namespace ranklab {

/// One line for the head of the figure if most trials of a curve diverged, otherwise empty.
std::string warning_for(const FigureData& data);

/// One line of text, or empty. Without `panels`, the note says what the curves ask for, whether or
/// not it is visible.
std::string note_for(const FigureData& data, const std::vector<PlacedPanel>& panels);

}  // namespace ranklab
