#include "report/figure/svg.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/error.hpp"
#include "report/figure/compact_svg.hpp"
#include "report/figure/text.hpp"

namespace ranklab {
namespace {

// Throws unless the drawing has only elements and attributes that a drawing needs.
void check(const SvgNode& node) {
  static constexpr std::array<std::string_view, 17> allowed = {
      "svg",    "title",   "desc",        "g",       "defs",     "rect", "circle", "path", "use",
      "filter", "feFlood", "feComposite", "polygon", "polyline", "line", "text",   "tspan"};
  if (node.name.empty()) return;
  if (std::find(allowed.begin(), allowed.end(), node.name) == allowed.end())
    throw Failure("gnuplot wrote an unexpected SVG element");
  for (const auto& [key, value] : node.attributes) {
    const bool outside = (key == "href" || key == "xlink:href") && !value.starts_with('#');
    if (key.starts_with("on") || outside)
      throw Failure("gnuplot wrote an unexpected SVG attribute");
  }
  for (const SvgNode& child : node.children) check(child);
}

// gnuplot titles every curve with a running number, which a browser would show as a tool tip.
void drop_titles(SvgNode& node) {
  std::erase_if(node.children,
                [](const SvgNode& child) { return child.name == "title" || child.name == "desc"; });
  for (SvgNode& child : node.children) drop_titles(child);
}

SvgNode element_with_text(const char* name, const std::string& text) {
  SvgNode words;
  words.text = escape_markup(text);
  return {name, "", {}, {std::move(words)}};
}

// The width and height of the drawing, from its viewBox.
void set_size(SvgNode& svg) {
  const std::string box(svg.get("viewBox"));
  const std::size_t height = box.rfind(' '), width = box.rfind(' ', height - 1);
  if (box.empty() || height == std::string::npos || width == std::string::npos) return;
  svg.set("width", box.substr(width + 1, height - width - 1));
  svg.set("height", box.substr(height + 1));
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string out;
  std::size_t line = 0;
  while (line <= text.size()) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    for (const char c : one_line(text.substr(line, end - line))) {
      switch (c) {
        case '&':
          out += "&amp;";
          break;
        case '<':
          out += "&lt;";
          break;
        case '>':
          out += "&gt;";
          break;
        case '"':
          out += "&quot;";
          break;
        case '\'':
          out += "&#39;";
          break;
        default:
          out += c;
      }
    }
    if (end < text.size()) out += '\n';
    line = end + 1;
  }
  return out;
}

std::string finish_svg(std::string_view drawn, const std::string& title,
                       const std::string& description) {
  const std::size_t start = drawn.find("<svg");
  if (start == std::string_view::npos) throw Failure("gnuplot wrote no SVG");
  SvgNode svg = parse_svg(drawn.substr(start));
  check(svg);
  drop_titles(svg);
  compact_svg(svg);
  set_size(svg);
  svg.set("role", "img");
  svg.children.insert(svg.children.begin(),
                      {element_with_text("title", title), element_with_text("desc", description)});
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + write_svg(svg) + "\n";
}

std::string_view svg_element(std::string_view svg) {
  return svg.substr(std::min(svg.find("<svg"), svg.size()));
}

std::string prefix_svg_ids(std::string_view svg, std::string_view prefix) {
  std::string out;
  const auto tag = [&](std::string_view words) {
    std::size_t copied = 0;
    const auto insert_at = [&](std::size_t at) {
      out += words.substr(copied, at - copied);
      out += prefix;
      copied = at;
    };
    for_each_svg_attribute(words, [&](std::string_view key, std::size_t at, std::size_t length) {
      const std::string_view value = words.substr(at, length);
      if (key == "id") insert_at(at);
      if ((key == "href" || key == "xlink:href") && value.starts_with('#')) insert_at(at + 1);
      for (std::size_t found = value.find("url(#"); found != std::string_view::npos;
           found = value.find("url(#", found + 5))
        insert_at(at + found + 5);
      if (!key.starts_with("aria-labelledby")) return;
      for (std::size_t word = 0; word < length;
           word = std::min(value.find(' ', word), length - 1) + 1)
        insert_at(at + word);
    });
    out += words.substr(copied);
  };
  for_each_svg_part(
      svg, [&](std::string_view words) { out += words; }, tag);
  return out;
}

}  // namespace ranklab
