#include "report/figure/compact_svg.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace ranklab {
namespace {

using Attributes = std::vector<std::pair<std::string, std::string>>;

bool is_number_start(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+';
}

// The numbers of a list such as "1.25,2 -3"; nullopt if the text has anything else.
std::optional<std::vector<double>> numbers_in(std::string_view text) {
  std::vector<double> out;
  const char *at = text.data(), *const end = at + text.size();
  while (at != end) {
    if (*at == ' ' || *at == ',' || *at == '\n' || *at == '\t') {
      ++at;
      continue;
    }
    double value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || !is_number_start(*at)) return std::nullopt;
    out.push_back(value);
    at = next;
  }
  return out;
}

// A number of tenths without a leading zero: 12.5, -.3, 7.
std::string tenths(long value) {
  const long size = std::labs(value);
  std::string out = value < 0 ? "-" : "";
  if (size >= 10 || size == 0) out += std::to_string(size / 10);
  return size % 10 == 0 ? out : out + "." + std::to_string(size % 10);
}

std::string rounded(double value) {
  return tenths(std::lround(10 * value));
}

struct Point {
  long x, y;  // tenths of a pixel
};
using Line = std::vector<Point>;

// "M" and "L" with absolute points and perhaps a last "Z", as gnuplot writes them.
std::optional<std::vector<Line>> lines_of_path(std::string_view d) {
  std::vector<Line> out;
  const std::size_t last = d.find_last_not_of(" \n\t");
  const bool is_closed = last != std::string_view::npos && d[last] == 'Z';
  if (is_closed) d = d.substr(0, last);
  std::size_t at = d.find_first_not_of(" \n\t");
  while (at < d.size()) {
    const char command = d[at];
    if (command != 'M' && command != 'L') return std::nullopt;
    const std::size_t end = std::min(d.find_first_of("ML", at + 1), d.size());
    const auto numbers = numbers_in(d.substr(at + 1, end - at - 1));
    if (!numbers || numbers->size() % 2 != 0 || (command == 'L' && out.empty()))
      return std::nullopt;
    if (command == 'M') out.emplace_back();
    for (std::size_t i = 0; i < numbers->size(); i += 2)
      out.back().push_back({std::lround(10 * (*numbers)[i]), std::lround(10 * (*numbers)[i + 1])});
    at = end;
  }
  return out;
}

std::string joined_pair(const std::string& x, const std::string& y) {
  return y.starts_with('-') ? x + y : x + " " + y;
}

double distance_to_chord(const Point& p, const Point& a, const Point& b) {
  const auto dx = static_cast<double>(b.x - a.x), dy = static_cast<double>(b.y - a.y),
             px = static_cast<double>(p.x - a.x), py = static_cast<double>(p.y - a.y);
  const double length = std::hypot(dx, dy);
  if (length == 0) return std::hypot(px, py);
  const double along = std::clamp((px * dx + py * dy) / (length * length), 0.0, 1.0);
  return std::hypot(px - along * dx, py - along * dy);
}

// The line without points that are closer than a fifth of a pixel to the rest of it (Ramer, Douglas
// and Peucker). A smooth curve keeps a few points, a noisy one keeps nearly all.
Line simplified(const Line& line) {
  constexpr double tolerance = 2;  // tenths of a pixel
  std::vector<bool> keeps(line.size(), false);
  keeps.front() = keeps.back() = true;
  std::vector<std::pair<std::size_t, std::size_t>> open = {{0, line.size() - 1}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    std::size_t farthest = first;
    double distance = tolerance;
    for (std::size_t i = first + 1; i < last; ++i) {
      const double own = distance_to_chord(line[i], line[first], line[last]);
      if (own > distance) distance = own, farthest = i;
    }
    if (farthest == first) continue;
    keeps[farthest] = true;
    open.emplace_back(first, farthest);
    open.emplace_back(farthest, last);
  }
  Line out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (keeps[i]) out.push_back(line[i]);
  }
  return out;
}

// A step of a line: "h3" or "v-.5" along an axis, "l1 2" otherwise, where "l" is not repeated.
std::string step_text(long dx, long dy, char& command) {
  const char wanted = dy == 0 ? 'h' : dx == 0 ? 'v' : 'l';
  const std::string numbers = wanted == 'h'   ? tenths(dx)
                              : wanted == 'v' ? tenths(dy)
                                              : joined_pair(tenths(dx), tenths(dy));
  const bool repeats = std::exchange(command, wanted) == wanted;
  if (!repeats) return wanted + numbers;
  return numbers.starts_with('-') ? numbers : " " + numbers;
}

// Relative points. A step of less than a tenth of a pixel draws nothing and is left out.
std::string path_of(const std::vector<Line>& lines) {
  std::string out;
  for (const Line& all : lines) {
    if (all.empty()) continue;
    const Line line = simplified(all);
    out += "M" + joined_pair(tenths(line[0].x), tenths(line[0].y));
    Point last = line[0];
    char command = 'M';
    for (std::size_t i = 1; i < line.size(); ++i) {
      const long dx = line[i].x - last.x, dy = line[i].y - last.y;
      if (dx == 0 && dy == 0 && !(command == 'M' && i + 1 == line.size())) continue;
      out += step_text(dx, dy, command);
      last = line[i];
    }
  }
  return out;
}

// rgb(0, 114, 178) as #0072b2
std::string color_of(std::string_view value) {
  if (!value.starts_with("rgb(") || !value.ends_with(")")) return std::string(value);
  const auto parts = numbers_in(value.substr(4, value.size() - 5));
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

void shorten_attributes(SvgNode& node) {
  for (const char* key : {"class", "stroke-linecap", "stroke-linejoin"}) {
    const std::string_view value = node.get(key);
    if (value == "gridline" || value == "butt" || value == "miter") node.remove(key);
  }
  for (auto& [key, value] : node.attributes) {
    value = color_of(value);
    if (key != "stroke-width" && key != "fill-opacity" && key != "font-size") continue;
    double number = 0;
    const char* const end = value.data() + value.size();
    if (std::from_chars(value.data(), end, number).ptr == end) {
      const auto hundredths = std::lround(100 * number);
      value = tenths(hundredths / 10);
      if (hundredths % 10 != 0)
        value += (hundredths / 10 % 10 == 0 ? ".0" : "") + std::to_string(hundredths % 10);
      if (number < 0.1 && hundredths > 0) value = ".0" + std::to_string(hundredths);
    }
  }
}

void shorten_points(SvgNode& node) {
  if (node.name == "path") {
    const bool is_closed = node.get("d").find('Z') != std::string_view::npos;
    if (const auto lines = lines_of_path(node.get("d")))
      node.set("d", path_of(*lines) + (is_closed ? "z" : ""));
  }
  if (node.name != "polygon" && node.name != "polyline") return;
  const auto numbers = numbers_in(node.get("points"));
  if (!numbers || numbers->size() % 2 != 0 || numbers->empty()) return;
  Line line;
  for (std::size_t i = 0; i < numbers->size(); i += 2)
    line.push_back({std::lround(10 * (*numbers)[i]), std::lround(10 * (*numbers)[i + 1])});
  const bool is_closed = node.name == "polygon";
  node.name = "path";
  node.remove("points");
  node.set("d", path_of({line}) + (is_closed ? "z" : ""));
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
    const auto at = numbers_in(std::string_view(transform).substr(
        start.size(), std::min(end, transform.size()) - start.size()));
    if (at && at->size() == 2) {
      if (end + 1 == transform.size()) {
        text.remove("transform");
        text.attributes.insert(text.attributes.begin(),
                               {{"x", rounded((*at)[0])}, {"y", rounded((*at)[1])}});
      } else {
        text.set("transform", "translate(" + rounded((*at)[0]) + "," + rounded((*at)[1]) + ")" +
                                  transform.substr(end + 1));
      }
    }
  }
  if (text.get("text-anchor") == "start") text.remove("text-anchor");
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

// The look of a marker: symbol, scale, color and the width of its pen.
struct Marker {
  std::string symbol, scale, color, pen;
  auto operator<=>(const Marker&) const = default;
};

class MarkerPaths {
 public:
  // Replaces runs of equal symbols by paths.
  void join(SvgNode& node, const std::string& pen) {
    const std::string own =
        node.get("stroke-width").empty() ? pen : std::string(node.get("stroke-width"));
    std::vector<SvgNode> kept;
    std::optional<Marker> open;
    Line points;
    const auto close = [&] {
      if (open) kept.push_back(path(*open, points));
      open.reset();
      points.clear();
    };
    for (SvgNode& child : node.children) {
      Point at{};
      if (const auto marker = marker_of(child, own, at)) {
        if (open != marker) close();
        open = marker;
        points.push_back(at);
      } else {
        close();
        join(child, own);
        kept.push_back(std::move(child));
      }
    }
    close();
    node.children = std::move(kept);
  }

  // A marker is drawn twice, first as a wider white rim: two neighboring groups with the same
  // points become one.
  void join_rims(SvgNode& node) {
    std::vector<SvgNode> kept;
    for (SvgNode& child : node.children) {
      join_rims(child);
      const SvgNode *rim = kept.empty() ? nullptr : only_path(kept.back()),
                    *mark = only_path(child);
      if (rim == nullptr || mark == nullptr || rim->get("d") != mark->get("d")) {
        kept.push_back(std::move(child));
        continue;
      }
      const std::pair both(number_in(*rim), number_in(*mark));
      const std::size_t number =
          pairs_.try_emplace(both, numbers_.size() + pairs_.size()).first->second;
      child.children[0].set("style", "marker:url(#k" + std::to_string(number) + ")");
      kept.back() = std::move(child);
    }
    node.children = std::move(kept);
  }

  std::vector<SvgNode> definitions() const {
    std::vector<SvgNode> out;
    std::map<std::size_t, SvgNode> symbols;
    for (const auto& [marker, number] : numbers_) {
      symbols[number] = {"use",
                         "",
                         {{"xlink:href", marker.symbol},
                          {"transform", "scale(" + marker.scale + ")"},
                          {"color", marker.color},
                          {"stroke-width", marker.pen}},
                         {}};
      out.push_back(definition(number, {symbols[number]}));
    }
    for (const auto& [both, number] : pairs_)
      out.push_back(definition(number, {symbols[both.first], symbols[both.second]}));
    return out;
  }

 private:
  static SvgNode definition(std::size_t number, std::vector<SvgNode> symbols) {
    return {"marker",
            "",
            {{"id", "k" + std::to_string(number)},
             {"overflow", "visible"},
             {"markerUnits", "userSpaceOnUse"}},
            std::move(symbols)};
  }

  // The path of a group that holds nothing but one path of markers.
  static const SvgNode* only_path(const SvgNode& node) {
    const bool is_one = node.name == "g" && node.children.size() == 1 &&
                        node.children[0].get("style").starts_with("marker:");
    return is_one ? &node.children[0] : nullptr;
  }

  static std::size_t number_in(const SvgNode& path) {
    const std::string style(path.get("style"));
    return std::stoul(style.substr(style.find("#k") + 2));
  }

  static std::optional<Marker> marker_of(const SvgNode& node, const std::string& pen, Point& at) {
    if (node.name != "use" || node.attributes.size() != 3) return std::nullopt;
    const std::string_view transform = node.get("transform");
    constexpr std::string_view move = "translate(", scale = ") scale(";
    const std::size_t middle = transform.find(scale);
    if (!transform.starts_with(move) || middle == std::string_view::npos) return std::nullopt;
    const auto place = numbers_in(transform.substr(move.size(), middle - move.size()));
    if (!place || place->size() != 2) return std::nullopt;
    at = {std::lround(10 * (*place)[0]), std::lround(10 * (*place)[1])};
    const std::size_t from = middle + scale.size();
    return Marker{std::string(node.get("xlink:href")),
                  std::string(transform.substr(from, transform.find(')', from) - from)),
                  std::string(node.get("color")), pen};
  }

  SvgNode path(const Marker& marker, const Line& points) {
    const std::size_t number = numbers_.try_emplace(marker, numbers_.size()).first->second;
    const std::string url = "url(#k" + std::to_string(number) + ")";
    // Every point must stay a vertex, so equal neighbors are kept.
    std::string d = "M" + joined_pair(tenths(points[0].x), tenths(points[0].y));
    for (std::size_t i = 1; i < points.size(); ++i) {
      const std::string step =
          joined_pair(tenths(points[i].x - points[i - 1].x), tenths(points[i].y - points[i - 1].y));
      d += i == 1 ? "l" + step : step.starts_with('-') ? step : " " + step;
    }
    if (points.size() == 1) d += "h0";
    // The shorthand sets the marker of every vertex; a single point has two, at one place.
    return {"path", "", {{"d", d}, {"style", "marker:" + url}, {"stroke", "none"}}, {}};
  }

  std::map<Marker, std::size_t> numbers_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> pairs_;  // of numbers
};

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
    if (child.name != "text") {
      children.push_back(std::move(child));
      continue;
    }
    if (children.empty() || children.back().name != "g" || children.back().attributes != look)
      children.push_back({"g", "", look, {}});
    for (const auto& [key, value] : look) {
      if (child.get(key) == value) {
        child.remove(key);
      } else if (child.get(key).empty()) {
        child.set(key, key == "text-anchor" ? "start" : key == "stroke" ? "none" : "");
      }
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
  MarkerPaths markers;
  if (SvgNode* definitions = find_definitions(svg)) {
    // Symbols in the definitions refer to each other by <use> as well, and stay.
    const SvgNode kept = *definitions;
    markers.join(svg, "1");
    markers.join_rims(svg);
    SvgNode* now = find_definitions(svg);
    *now = kept;
    for (SvgNode& marker : markers.definitions()) now->children.push_back(std::move(marker));
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
