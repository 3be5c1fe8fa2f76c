// Figures of result files, drawn by gnuplot, a separate program that receives a script with the
// data inside. gnuplot writes to its standard output, so it never creates a file, and the script
// contains no file names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ranklab {

/// The whole script for "svg", "png" or "pdf". The same document gives the same script. Throws
/// Failure (see read_figure) if the document has no figure or a broken one, UsageError for another
/// format.
std::string gnuplot_script(const nlohmann::json& result, const std::string& format);

/// Draws into `out_path`, whose ending chooses the format. Missing folders are created, and the
/// picture appears whole or not at all. With `keep_script` the script is written next to it:
/// `gnuplot PICTURE.gp > PICTURE` draws the picture again. Throws UsageError for another ending,
/// Failure for a broken figure, a missing gnuplot or an unwritable path.
void draw_figure(const nlohmann::json& result, const std::string& out_path, bool keep_script);

/// The figure as SVG text with a title and a description for screen readers. The same document
/// gives the same bytes.
std::string draw_svg(const nlohmann::json& result);

}  // namespace ranklab
