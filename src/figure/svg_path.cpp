#include "figure/svg_path.hpp"

#include <cmath>
#include <utility>

namespace ranklab {
namespace {

// In units of the grid.
struct Point {
  long x, y;
};
using PointLine = std::vector<Point>;

// A line from a to b. It gives squared distances times unit(), so that only whole numbers are
// added: the same points are kept whether or not the compiler fuses multiplications.
struct Chord {
  Chord(const Point& a, const Point& b)
      : start(a),
        dx(static_cast<double>(b.x - a.x)),
        dy(static_cast<double>(b.y - a.y)),
        squared_length(dx * dx + dy * dy) {}

  double unit() const { return squared_length > 0 ? squared_length : 1; }
  double squared_distance(const Point& p) const {
    const auto px = static_cast<double>(p.x - start.x), py = static_cast<double>(p.y - start.y);
    const double along = px * dx + py * dy, across = px * dy - py * dx;
    if (along > 0 && along < squared_length) return across * across;
    const double x = along > 0 ? px - dx : px, y = along > 0 ? py - dy : py;  // from its end
    return (x * x + y * y) * unit();
  }

  Point start;
  double dx, dy, squared_length;
};

// Ramer, Douglas and Peucker.
PointLine simplified(const PointLine& line, double tolerance) {
  std::vector<bool> keeps(line.size(), false);
  keeps.front() = keeps.back() = true;
  std::vector<std::pair<std::size_t, std::size_t>> open = {{0, line.size() - 1}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    const Chord chord(line[first], line[last]);
    std::size_t farthest = first;
    double distance = tolerance * tolerance * chord.unit();
    for (std::size_t i = first + 1; i < last; ++i) {
      const double squared = chord.squared_distance(line[i]);
      if (squared > distance) distance = squared, farthest = i;
    }
    if (farthest == first) continue;
    keeps[farthest] = true;
    open.emplace_back(first, farthest);
    open.emplace_back(farthest, last);
  }
  PointLine out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (keeps[i]) out.push_back(line[i]);
  }
  return out;
}

class PathWriter {
 public:
  explicit PathWriter(const Precision& precision) : precision_(precision) {}

  std::string write(const Path& path) {
    for (const Shape& shape : path) {
      if (shape.radius > 0) write_circle(shape);
      if (!shape.points.empty()) write_line(shape);
    }
    return std::move(out_);
  }

 private:
  Point rounded(const Pixel& point, const Pixel& origin) const {
    const auto units = [&](double pixels) { return precision_.units(pixels); };
    // A page rounds a shape apart from its origin, so that all markers of a curve are equal.
    if (precision_.in_units)
      return {units(origin.x) + units(point.x), units(origin.y) + units(point.y)};
    return {units(origin.x + point.x), units(origin.y + point.y)};
  }

  std::string text_of(const Point& point) const {
    const std::string y = precision_.text_of(point.y);
    return precision_.text_of(point.x) + (y.starts_with('-') ? "" : " ") + y;
  }

  void move_to(const Point& point) {
    const std::string absolute = "M" + text_of(point),
                      relative = "m" + text_of({point.x - at_.x, point.y - at_.y});
    const bool steps = precision_.in_units && !out_.empty() && relative.size() <= absolute.size();
    out_ += steps ? relative : absolute;
    command_ = steps ? 'l' : 'M';  // after "m", steps "l" need no letter
    at_ = point;
  }

  // "h3" or "v-.5" along an axis, "l1 2" otherwise. A letter is not repeated.
  void step_to(const Point& point) {
    const Point step = {point.x - at_.x, point.y - at_.y};
    const char wanted = step.y == 0 ? 'h' : step.x == 0 ? 'v' : 'l';
    const std::string numbers = wanted == 'h'   ? precision_.text_of(step.x)
                                : wanted == 'v' ? precision_.text_of(step.y)
                                                : text_of(step);
    if (std::exchange(command_, wanted) != wanted)
      out_ += wanted;
    else if (!numbers.starts_with('-'))
      out_ += ' ';
    out_ += numbers;
    at_ = point;
  }

  void write_line(const Shape& shape) {
    PointLine line;
    for (const Pixel& point : shape.points) line.push_back(rounded(point, shape.origin));
    line = simplified(line, precision_.tolerance);
    move_to(line.front());
    const std::size_t start = out_.size();
    for (const Point& point : line) {
      if (point.x != at_.x || point.y != at_.y) step_to(point);
    }
    if (out_.size() == start) out_ += "h0";
    if (shape.is_closed) out_ += 'z', at_ = line.front();
  }

  void write_circle(const Shape& circle) {
    const std::string r = precision_.number(circle.radius).text(),
                      arc = "a" + r + " " + r + " 0 1 0 ";
    const long width = 2 * precision_.units(circle.radius);
    move_to(rounded({-circle.radius, 0}, circle.origin));
    out_ += arc + precision_.text_of(width) + " 0" + arc + precision_.text_of(-width) + " 0z";
  }

  const Precision& precision_;
  std::string out_;
  Point at_ = {0, 0};
  char command_ = 'M';
};

}  // namespace

std::string Precision::text_of(long units) const {
  if (in_units) return std::to_string(units);
  const long size = std::labs(units);  // in tenths
  std::string out = units < 0 ? "-" : "";
  if (size >= 10 || size == 0) out += std::to_string(size / 10);
  return size % 10 == 0 ? out : out + "." + std::to_string(size % 10);
}

long Precision::units(double pixels) const {
  // Halves are common, and rounding errors must not decide about them.
  constexpr double above_rounding = 1e-6;
  return std::lround(per_pixel * pixels + above_rounding);
}

Markup Precision::number(double pixels) const {
  return Markup::trusted(text_of(units(pixels)));
}

Path rectangle_path(const Pixel& corner, const Pixel& opposite) {
  return area_path({corner, {opposite.x, corner.y}, opposite, {corner.x, opposite.y}});
}

std::string path_data(const Path& path, const Precision& precision) {
  return PathWriter(precision).write(path);
}

}  // namespace ranklab
