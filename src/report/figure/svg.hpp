// SVG text from gnuplot, made accessible, scalable and safe to place in a page with other SVGs.
#pragma once

#include <string>
#include <string_view>

namespace ranklab {

/// The text with & < > " and ' as entities; broken UTF-8 and characters that XML forbids are
/// replaced, line breaks kept.
std::string escape_markup(std::string_view text);

/// Replaces the drawing program's title and description, and adds role, size and scaling. Throws
/// Failure if the text is not an SVG, or if it has an element or attribute that a drawing does not
/// need: pages inline the SVG, so it must not be able to do more.
std::string finish_svg(std::string_view drawn, const std::string& title,
                       const std::string& description);

/// The SVG without the declaration before its first element, for a page; empty for another text.
std::string_view svg_element(std::string_view svg);

/// The SVG with `prefix` added to every id and to every reference to an id.
std::string prefix_svg_ids(std::string_view svg, std::string_view prefix);

}  // namespace ranklab
