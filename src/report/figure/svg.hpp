// SVG text as gnuplot writes it, made accessible, scalable and safe to place in a page beside others.
#pragma once

#include <string>
#include <string_view>

namespace ranklab {

/// The text with & < > " and ' as entities, broken UTF-8 and characters that XML forbids replaced, line breaks kept.
std::string escape_markup(std::string_view text);

/// Replaces the drawing program's title and description, adds role, size and scaling. Throws Failure where the text is no
/// SVG or holds an element or attribute that a drawing does not need: pages inline it, so it must not be able to do more.
std::string finish_svg(std::string_view drawn, const std::string& title, const std::string& description);

/// The SVG with `prefix` before every id and before every reference to one.
std::string prefix_svg_ids(std::string_view svg, std::string_view prefix);

}  // namespace ranklab
