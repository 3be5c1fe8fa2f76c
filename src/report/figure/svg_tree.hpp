// An SVG as a tree, for the few elements that drawings have.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ranklab {

struct SvgNode {
  std::string name;  // empty: text
  std::string text;  // as in the file, with entities
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<SvgNode> children;

  /// The value of an attribute; empty if the element does not have it.
  std::string_view get(std::string_view key) const;
  void set(std::string_view key, std::string value);
  void remove(std::string_view key);
};

/// Reads the `<svg>` element. Comments and declarations are left out, and so is white space between
/// elements. Throws Failure if the text is not well formed.
SvgNode parse_svg(std::string_view svg);

/// The element as text without line breaks.
std::string write_svg(const SvgNode& node);

/// Calls text(words between tags) and tag(a whole tag with its brackets), in order. Throws Failure
/// for a tag without an end.
void for_each_svg_part(std::string_view svg, const std::function<void(std::string_view)>& text,
                       const std::function<void(std::string_view)>& tag);

/// Calls attribute(name, position of the value in the tag, its length) for every name="value" of a
/// tag. Throws Failure for a value without quotes.
void for_each_svg_attribute(
    std::string_view tag,
    const std::function<void(std::string_view, std::size_t, std::size_t)>& attribute);

}  // namespace ranklab
