#include "report/figure/svg_path.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace ranklab {
namespace {

bool is_number_start(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+';
}

std::string joined_pair(const std::string& x, const std::string& y) {
  return y.starts_with('-') ? x + y : x + " " + y;
}

double distance_to_chord(const SvgPoint& p, const SvgPoint& a, const SvgPoint& b) {
  const auto dx = static_cast<double>(b.x - a.x), dy = static_cast<double>(b.y - a.y),
             px = static_cast<double>(p.x - a.x), py = static_cast<double>(p.y - a.y);
  const double length = std::hypot(dx, dy);
  if (length == 0) return std::hypot(px, py);
  const double along = std::clamp((px * dx + py * dy) / (length * length), 0.0, 1.0);
  return std::hypot(px - along * dx, py - along * dy);
}

// Ramer, Douglas and Peucker.
SvgLine simplified(const SvgLine& line) {
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
  SvgLine out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (keeps[i]) out.push_back(line[i]);
  }
  return out;
}

// A step of a line: "h3" or "v-.5" along an axis, "l1 2" otherwise, where "l" is not repeated.
std::string step_text(long dx, long dy, char& command) {
  const char wanted = dy == 0 ? 'h' : dx == 0 ? 'v' : 'l';
  const std::string numbers = wanted == 'h'   ? svg_tenths(dx)
                              : wanted == 'v' ? svg_tenths(dy)
                                              : joined_pair(svg_tenths(dx), svg_tenths(dy));
  const bool repeats = std::exchange(command, wanted) == wanted;
  if (!repeats) return wanted + numbers;
  return numbers.starts_with('-') ? numbers : " " + numbers;
}

}  // namespace

std::optional<std::vector<double>> svg_numbers(std::string_view text) {
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

std::optional<SvgLine> svg_points(const std::vector<double>& numbers) {
  if (numbers.size() % 2 != 0) return std::nullopt;
  SvgLine out;
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    out.push_back({std::lround(10 * numbers[i]), std::lround(10 * numbers[i + 1])});
  return out;
}

std::string svg_tenths(long value) {
  const long size = std::labs(value);
  std::string out = value < 0 ? "-" : "";
  if (size >= 10 || size == 0) out += std::to_string(size / 10);
  return size % 10 == 0 ? out : out + "." + std::to_string(size % 10);
}

std::optional<std::vector<SvgLine>> svg_lines(std::string_view d) {
  std::vector<SvgLine> out;
  const std::size_t last = d.find_last_not_of(" \n\t");
  const bool is_closed = last != std::string_view::npos && d[last] == 'Z';
  if (is_closed) d = d.substr(0, last);
  std::size_t at = d.find_first_not_of(" \n\t");
  while (at < d.size()) {
    const char command = d[at];
    if (command != 'M' && command != 'L') return std::nullopt;
    const std::size_t end = std::min(d.find_first_of("ML", at + 1), d.size());
    const auto numbers = svg_numbers(d.substr(at + 1, end - at - 1));
    const auto points = numbers ? svg_points(*numbers) : std::nullopt;
    if (!points || (command == 'L' && out.empty())) return std::nullopt;
    if (command == 'M') out.emplace_back();
    out.back().insert(out.back().end(), points->begin(), points->end());
    at = end;
  }
  return out;
}

std::string svg_path(const std::vector<SvgLine>& lines) {
  std::string out;
  for (const SvgLine& all : lines) {
    if (all.empty()) continue;
    const SvgLine line = simplified(all);
    out += "M" + joined_pair(svg_tenths(line[0].x), svg_tenths(line[0].y));
    SvgPoint last = line[0];
    char command = 'M';
    for (std::size_t i = 1; i < line.size(); ++i) {
      const long dx = line[i].x - last.x, dy = line[i].y - last.y;
      // A step of less than a tenth of a pixel draws nothing, except a dot.
      if (dx == 0 && dy == 0 && !(command == 'M' && i + 1 == line.size())) continue;
      out += step_text(dx, dy, command);
      last = line[i];
    }
  }
  return out;
}

std::string svg_path_through(const SvgLine& points) {
  std::string out = "M" + joined_pair(svg_tenths(points[0].x), svg_tenths(points[0].y));
  for (std::size_t i = 1; i < points.size(); ++i) {
    const std::string step = joined_pair(svg_tenths(points[i].x - points[i - 1].x),
                                         svg_tenths(points[i].y - points[i - 1].y));
    out += i == 1 ? "l" + step : step.starts_with('-') ? step : " " + step;
  }
  return points.size() == 1 ? out + "h0" : out;
}

}  // namespace ranklab
