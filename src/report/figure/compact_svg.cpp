#include "report/figure/compact_svg.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "report/figure/svg_markers.hpp"
#include "report/figure/svg_path.hpp"
#include "report/figure/text.hpp"

namespace ranklab {
namespace {

using Attributes = std::vector<std::pair<std::string, std::string>>;

// rgb(0, 114, 178) as #0072b2
std::string color_of(std::string_view value) {
  if (!value.starts_with("rgb(") || !value.ends_with(")")) return std::string(value);
  const auto parts = svg_numbers(value.substr(4, value.size() - 5));
  if (!parts || parts->size() != 3) return std::string(value);
  constexpr const char* digits = "0123456789abcdef";
  std::string out = "#";
  for (const double part : *parts) {
    const auto level = static_cast<std::size_t>(std::clamp(part, 0.0, 255.0));
    out += digits[level / 16];
    out += digits[level % 16];
  }
  return out;
}

// "1.80" as "1.8", "0.180000" as ".18"; another text unchanged.
std::string shortest(const std::string& value) {
  const auto numbers = svg_numbers(value);
  if (!numbers || numbers->size() != 1) return value;
  std::string out = digits_of(numbers->front(), std::chars_format::fixed, 2);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out.starts_with("0.") ? out.substr(1) : out;
}

void shorten_attributes(SvgNode& node) {
  for (const char* key : {"class", "stroke-linecap", "stroke-linejoin"}) {
    const std::string_view value = node.get(key);
    if (value == "gridline" || value == "butt" || value == "miter") node.remove(key);
  }
  for (auto& [key, value] : node.attributes) {
    value = color_of(value);
    if (key == "stroke-width" || key == "fill-opacity" || key == "font-size")
      value = shortest(value);
  }
}

void shorten_points(SvgNode& node) {
  if (node.name == "path") {
    const bool is_closed = node.get("d").find('Z') != std::string_view::npos;
    if (const auto lines = svg_lines(node.get("d")))
      node.set("d", svg_path(*lines) + (is_closed ? "z" : ""));
  }
  if (node.name != "polygon" && node.name != "polyline") return;
  const auto numbers = svg_numbers(node.get("points"));
  const auto line = numbers ? svg_points(*numbers) : std::nullopt;
  if (!line || line->empty()) return;
  const bool is_closed = node.name == "polygon";
  node.name = "path";
  node.remove("points");
  node.set("d", svg_path({*line}) + (is_closed ? "z" : ""));
}

// <g transform="translate(x,y)" ...><text>words</text></g> as one element.
void unwrap_text(SvgNode& node) {
  if (node.name != "g" || node.children.size() != 1 || node.children[0].name != "text") return;
  if (!node.children[0].attributes.empty()) return;
  SvgNode text = std::move(node.children[0]);
  text.attributes = std::move(node.attributes);
  const std::string transform(text.get("transform"));
  constexpr std::string_view start = "translate(";
  if (transform.starts_with(start)) {
    const std::size_t end = transform.find(')');
    const auto at = svg_numbers(std::string_view(transform).substr(
        start.size(), std::min(end, transform.size()) - start.size()));
    if (at && at->size() == 2) {
      const SvgPoint place = svg_points(*at)->front();
      const std::string x = svg_tenths(place.x), y = svg_tenths(place.y);
      if (end + 1 == transform.size()) {
        text.remove("transform");
        text.attributes.insert(text.attributes.begin(), {{"x", x}, {"y", y}});
      } else {
        text.set("transform", "translate(" + x + "," + y + ")" + transform.substr(end + 1));
      }
    }
  }
  if (text.get("font-family") == "sans-serif") text.remove("font-family");
  // gnuplot wraps every part of an enhanced text into a span that names the font again.
  for (SvgNode& span : text.children) {
    if (span.name == "tspan" && span.get("font-family") == "sans-serif") span.remove("font-family");
  }
  for (SvgNode& span : text.children) {
    if (span.name == "tspan" && span.attributes.empty() && span.children.size() == 1 &&
        span.children[0].name.empty()) {
      SvgNode words = std::move(span.children[0]);
      span = std::move(words);
    }
  }
  node = std::move(text);
}

bool draws(const SvgNode& node) {
  if (node.name != "g" && node.name != "text" && node.name != "tspan") return true;
  return std::any_of(node.children.begin(), node.children.end(), draws);
}

// From the leaves up: drops what draws nothing, shortens, unwraps.
void simplify(SvgNode& node) {
  if (node.name == "defs") return;
  for (SvgNode& child : node.children) simplify(child);
  std::erase_if(node.children, [](const SvgNode& child) { return !draws(child); });
  if (node.name.empty()) return;
  if (node.name == "g") node.remove("id");
  shorten_attributes(node);
  shorten_points(node);
  unwrap_text(node);
  // A group without attributes is replaced by its content, neighbors with the same pen are joined.
  std::vector<SvgNode> children;
  const auto add = [&](SvgNode&& child) {
    const bool joins = child.name == "g" && !children.empty() && children.back().name == "g" &&
                       children.back().attributes == child.attributes;
    if (!joins) {
      children.push_back(std::move(child));
      return;
    }
    for (SvgNode& grandchild : child.children)
      children.back().children.push_back(std::move(grandchild));
  };
  for (SvgNode& child : node.children) {
    if (child.name == "g" && child.attributes.empty()) {
      for (SvgNode& grandchild : child.children) add(std::move(grandchild));
    } else {
      add(std::move(child));
    }
  }
  node.children = std::move(children);
}

using Pen = std::map<std::string, std::string>;

// Drops attributes that repeat what a node inherits, and groups that are then without any.
void drop_inherited(SvgNode& node, Pen inherited) {
  std::erase_if(node.attributes, [&](const auto& attribute) {
    const auto known = inherited.find(attribute.first);
    return known != inherited.end() && known->second == attribute.second;
  });
  for (auto& [key, value] : inherited) {
    if (!node.get(key).empty()) value = node.get(key);
  }
  std::vector<SvgNode> children;
  for (SvgNode& child : node.children) {
    drop_inherited(child, inherited);
    if (child.name == "g" && child.attributes.empty()) {
      for (SvgNode& grandchild : child.children) children.push_back(std::move(grandchild));
    } else {
      children.push_back(std::move(child));
    }
  }
  node.children = std::move(children);
}

bool is_plain_line(const SvgNode& node) {
  return node.name == "path" && node.attributes.size() == 2 && !node.get("stroke").empty() &&
         !node.get("d").empty();
}

// Ticks and grid lines alternate: neighboring lines of one pen become one path per color.
void join_lines(SvgNode& node) {
  std::vector<SvgNode> children;
  std::size_t run = 0;  // the first of the neighboring lines
  for (SvgNode& child : node.children) {
    join_lines(child);
    if (!is_plain_line(child)) {
      children.push_back(std::move(child));
      run = children.size();
      continue;
    }
    const auto same = std::find_if(
        children.begin() + static_cast<std::ptrdiff_t>(run), children.end(),
        [&](const SvgNode& line) { return line.get("stroke") == child.get("stroke"); });
    if (same == children.end())
      children.push_back(std::move(child));
    else
      same->set("d", std::string(same->get("d")) + std::string(child.get("d")));
  }
  node.children = std::move(children);
}

// Neighboring texts share a group with their most frequent look, and keep what differs from it.
void group_texts(SvgNode& node) {
  static const Attributes look = {
      {"stroke", "none"}, {"fill", "#222222"}, {"font-size", "11"}, {"text-anchor", "middle"}};
  for (SvgNode& child : node.children) group_texts(child);
  std::vector<SvgNode> children;
  for (SvgNode& child : node.children) {
    // gnuplot sets all four attributes of every text; one without would inherit the group's.
    const bool is_complete = std::all_of(look.begin(), look.end(), [&](const auto& attribute) {
      return !child.get(attribute.first).empty();
    });
    if (child.name != "text" || !is_complete) {
      children.push_back(std::move(child));
      continue;
    }
    if (children.empty() || children.back().name != "g" || children.back().attributes != look)
      children.push_back({"g", "", look, {}});
    for (const auto& [key, value] : look) {
      if (child.get(key) == value) child.remove(key);
    }
    children.back().children.push_back(std::move(child));
  }
  node.children = std::move(children);
}

void collect_references(const SvgNode& node, std::set<std::string>& out) {
  for (const auto& [key, value] : node.attributes) {
    if (value.starts_with("#")) out.insert(value.substr(1));
    const std::size_t url = value.find("url(#");
    if (url != std::string::npos) out.insert(value.substr(url + 5, value.find(')', url) - url - 5));
  }
  for (const SvgNode& child : node.children) collect_references(child, out);
}

SvgNode* find_definitions(SvgNode& node) {
  if (node.name == "defs") return &node;
  for (SvgNode& child : node.children) {
    if (SvgNode* found = find_definitions(child)) return found;
  }
  return nullptr;
}

// Symbols refer to other symbols, so unused ones are dropped until none is left.
void drop_unused(SvgNode& svg, SvgNode& definitions) {
  std::size_t before = 0;
  do {
    before = definitions.children.size();
    std::set<std::string> used;
    collect_references(svg, used);
    std::erase_if(definitions.children, [&](const SvgNode& symbol) {
      return !used.contains(std::string(symbol.get("id")));
    });
  } while (definitions.children.size() != before);
}

}  // namespace

void compact_svg(SvgNode& svg) {
  simplify(svg);
  if (SvgNode* definitions = find_definitions(svg)) {
    // Symbols in the definitions refer to each other by <use> as well, and stay.
    const SvgNode kept = *definitions;
    std::vector<SvgNode> markers = join_markers(svg);
    SvgNode* now = find_definitions(svg);
    *now = kept;
    for (SvgNode& marker : markers) now->children.push_back(std::move(marker));
    drop_unused(svg, *now);
  }
  // gnuplot's pen, which every group sets again.
  static const Pen pen = {{"fill", "none"}, {"color", "black"}, {"stroke", "currentColor"}};
  for (SvgNode& child : svg.children) {
    if (child.name == "rect") child.set("stroke", "none");  // the background, outside of all pens
    drop_inherited(child, pen);
  }
  for (const auto& [key, value] : pen) svg.set(key, value);
  join_lines(svg);
  group_texts(svg);
  svg.set("font-family", "sans-serif");
}

}  // namespace ranklab
