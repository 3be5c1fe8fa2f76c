// Figures of result files, drawn by gnuplot, a separate program that receives a script with the
// data inside. gnuplot writes to its standard output, so it never creates a file, and the script
// contains no file names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/figure/layout.hpp"

namespace ranklab {

/// The whole script for "svg", "png" or "pdf". The same document gives the same script. Throws
/// Failure (see read_figure) if the document has no figure or a broken one, UsageError for another
/// format.
std::string gnuplot_script(const nlohmann::json& result, const std::string& format);

std::string gnuplot_script(const FigureSource& source, const std::string& format, Extract extract,
                           std::size_t panel);

/// Draws the figure of a result into `out_path`, whose ending chooses the format, and its further
/// figures into files next to it: x.svg, x.2.svg, x.3.svg. Returns the paths. Missing folders are
/// created, and a picture appears whole or not at all; `out_path` appears after all others. With
/// `keep_script` the script is written next to each: `gnuplot PICTURE.gp > PICTURE` draws the
/// picture again. Throws UsageError for another ending, Failure for a broken figure, a missing
/// gnuplot or an unwritable path.
std::vector<std::string> draw_figure(const nlohmann::json& result, const std::string& out_path,
                                     bool keep_script);

/// A figure as SVG text with a title and a description for screen readers. `which` is 0 for the
/// figure of the result and counts its further figures from 1; `panel` is that of a thumbnail. The
/// same document gives the same bytes.
std::string draw_svg(const nlohmann::json& result, Extract extract = Extract::whole,
                     std::size_t which = 0, std::size_t panel = 0);

}  // namespace ranklab
