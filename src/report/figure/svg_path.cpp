#include "report/figure/svg_path.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ranklab {
namespace {

// In tenths of a pixel.
struct Tenths {
  long x, y;
};
using TenthsLine = std::vector<Tenths>;

Tenths rounded(const Pixel& point) {
  return {std::lround(10 * point.x), std::lround(10 * point.y)};
}

std::string text_of(long tenths) {
  const long size = std::labs(tenths);
  std::string out = tenths < 0 ? "-" : "";
  if (size >= 10 || size == 0) out += std::to_string(size / 10);
  return size % 10 == 0 ? out : out + "." + std::to_string(size % 10);
}

std::string text_of(const Tenths& point) {
  const std::string y = text_of(point.y);
  return text_of(point.x) + (y.starts_with('-') ? "" : " ") + y;
}

double distance_to_chord(const Tenths& p, const Tenths& a, const Tenths& b) {
  const auto dx = static_cast<double>(b.x - a.x), dy = static_cast<double>(b.y - a.y),
             px = static_cast<double>(p.x - a.x), py = static_cast<double>(p.y - a.y);
  const double length = std::hypot(dx, dy);
  if (length == 0) return std::hypot(px, py);
  const double along = std::clamp((px * dx + py * dy) / (length * length), 0.0, 1.0);
  return std::hypot(px - along * dx, py - along * dy);
}

// Ramer, Douglas and Peucker.
TenthsLine simplified(const TenthsLine& line) {
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
  TenthsLine out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (keeps[i]) out.push_back(line[i]);
  }
  return out;
}

// A step of a line: "h3" or "v-.5" along an axis, "l1 2" otherwise, where "l" is not repeated.
std::string step_text(const Tenths& step, char& command) {
  const char wanted = step.y == 0 ? 'h' : step.x == 0 ? 'v' : 'l';
  const std::string numbers = wanted == 'h'   ? text_of(step.x)
                              : wanted == 'v' ? text_of(step.y)
                                              : text_of(step);
  const bool repeats = std::exchange(command, wanted) == wanted;
  if (!repeats) return wanted + numbers;
  return numbers.starts_with('-') ? numbers : " " + numbers;
}

}  // namespace

std::string svg_number(double pixels) {
  return text_of(std::lround(10 * pixels));
}

std::string line_path(const PixelLine& points) {
  if (points.empty()) return "";
  TenthsLine line;
  for (const Pixel& point : points) line.push_back(rounded(point));
  line = simplified(line);
  std::string out = "M" + text_of(line.front());
  Tenths last = line.front();
  char command = 'M';
  for (std::size_t i = 1; i < line.size(); ++i) {
    const Tenths step = {line[i].x - last.x, line[i].y - last.y};
    if (step.x == 0 && step.y == 0) continue;
    out += step_text(step, command);
    last = line[i];
  }
  return command == 'M' ? out + "h0" : out;
}

std::string area_path(const PixelLine& points) {
  return points.empty() ? "" : line_path(points) + "z";
}

std::string rectangle_path(const Pixel& corner, const Pixel& opposite) {
  const Tenths one = rounded(corner), other = rounded(opposite);
  return "M" + text_of(one) + "h" + text_of(other.x - one.x) + "v" + text_of(other.y - one.y) +
         "h" + text_of(one.x - other.x) + "z";
}

std::string circle_path(const Pixel& center, double radius) {
  const std::string r = svg_number(radius), arc = "a" + r + " " + r + " 0 1 0 ";
  return "M" + text_of(rounded({center.x - radius, center.y})) + arc + svg_number(2 * radius) +
         " 0" + arc + svg_number(-2 * radius) + " 0z";
}

}  // namespace ranklab
