#include "figure/svg_curves.hpp"

#include <algorithm>
#include <cmath>

namespace ranklab {
namespace {

class CurveDrawing {
 public:
  explicit CurveDrawing(const PlacedPanel& placed)
      : placed_(placed), top_(placed.top), bottom_(placed.top + placed.height) {}

  Drawing draw() {
    for (const DrawnCurve& curve : placed_.panel.curves) {
      if (curve.segments.empty() && curve.trials.empty()) continue;
      for (const Segments& trial : curve.trials) {
        Path range;
        for (const auto& segment : trial) range += band_path(segment);
        if (has_band(trial)) below_ += drawn(range, spread_pen(curve.color));
        below_ += drawn(lines_path(trial), trial_pen(curve.look, curve.color));
      }
      if (curve.look == Look::bars)
        draw_bars(curve);
      else if (curve.look == Look::scatter)
        draw_scatter(curve);
      else
        draw_line(curve);
    }
    return below_ + lines_ + above_;
  }

 private:
  // Horizontal bars have their values on the x axis and their names on the y axis.
  Pixel at(double x, double y) const {
    if (placed_.panel.horizontal_bars) std::swap(x, y);
    return {placed_.x_of(x), placed_.y_of(y)};
  }
  Pixel at(const DrawnPoint& point) const { return at(point.x, point.y); }

  bool is_inside(const Pixel& place) const {
    constexpr double slack = 0.5;  // pixels
    return std::isfinite(place.x) && place.y >= top_ - slack && place.y <= bottom_ + slack;
  }

  std::vector<Pixel> places_of(const std::vector<DrawnPoint>& points) const {
    std::vector<Pixel> out;
    for (const DrawnPoint& point : points) {
      const Pixel place = at(point);
      if (is_inside(place)) out.push_back(place);
    }
    return out;
  }

  // The parts of a line between the top and the bottom of the panel.
  std::vector<PixelLine> clipped(const PixelLine& line) const {
    std::vector<PixelLine> out;
    bool is_open = false;
    for (std::size_t i = 1; i < line.size(); ++i) {
      const Pixel &a = line[i - 1], &b = line[i];
      const double rise = b.y - a.y;
      double from = 0, to = 1;
      if (rise != 0) {
        const auto [enters, leaves] = std::minmax({(top_ - a.y) / rise, (bottom_ - a.y) / rise});
        from = std::max(from, enters), to = std::min(to, leaves);
      }
      // Also false for a position that is not a number.
      const bool is_seen = from <= to && is_inside({a.x + from * (b.x - a.x), a.y + from * rise});
      if (!is_seen) {
        is_open = false;
        continue;
      }
      if (!is_open || from > 0) out.push_back({{a.x + from * (b.x - a.x), a.y + from * rise}});
      out.back().push_back({a.x + to * (b.x - a.x), a.y + to * rise});
      is_open = to == 1;
    }
    return out;
  }

  Path lines_path(const Segments& segments) const {
    Path out;
    for (const auto& segment : segments) {
      PixelLine line;
      for (const DrawnPoint& point : segment) line.push_back(at(point));
      for (const PixelLine& part : clipped(line)) out += line_path(part);
    }
    return out;
  }

  double inside(double y) const { return std::clamp(y, top_, bottom_); }

  // The area between the lower and the upper edge, where they are known.
  Path band_path(const std::vector<DrawnPoint>& segment) const {
    Path out;
    PixelLine upper, lower;
    const auto finish = [&] {
      upper.insert(upper.end(), lower.rbegin(), lower.rend());
      out += area_path(upper);
      upper.clear(), lower.clear();
    };
    for (const DrawnPoint& point : segment) {
      const Pixel high = at(point.x, point.high), low = at(point.x, point.low);
      if (point.high >= point.low && std::isfinite(high.x) && !std::isnan(high.y + low.y)) {
        upper.push_back({high.x, inside(high.y)});
        lower.push_back({low.x, inside(low.y)});
      } else {
        finish();
      }
    }
    finish();
    return out;
  }

  void draw_line(const DrawnCurve& curve) {
    Path band;
    std::vector<Pixel> lonely;
    for (const auto& segment : curve.segments) {
      if (curve.band) band += band_path(segment);
      const auto places = places_of(segment);
      if (segment.size() == 1 && !places.empty()) lonely.push_back(places.front());
    }
    below_ += drawn(band, spread_pen(curve.color));
    lines_ += drawn(lines_path(curve.segments), line_pen(curve.look, curve.color));
    // A line of one point has no length; without a dot the point would vanish.
    Path dots;
    for (const Pixel& place : lonely) dots += circle_path(place, 1.3);
    lines_ += drawn(dots, fill(color_of(curve.color)));
    above_ += markers(places_of(curve.markers), curve.color, marker_radius, true);
  }

  // A line with a cap at both ends.
  Path spread_path(double x, double low, double high) const {
    constexpr double cap = 2.5;  // pixels
    const Pixel from = at(x, low), to = at(x, high);
    if (!(std::isfinite(from.x + to.x) && !std::isnan(from.y + to.y))) return {};
    if (placed_.panel.horizontal_bars) {
      const auto end = [&](const Pixel& p) {
        return line_path({{p.x, p.y - cap}, {p.x, p.y + cap}});
      };
      return line_path({from, to}) + end(from) + end(to);
    }
    Path out;
    for (const Pixel& p : {from, to}) {
      if (is_inside(p)) out += line_path({{p.x - cap, p.y}, {p.x + cap, p.y}});
    }
    return line_path({{from.x, inside(from.y)}, {to.x, inside(to.y)}}) + out;
  }

  void draw_bars(const DrawnCurve& curve) {
    Path bars, spreads;
    for (const auto& segment : curve.segments) {
      for (const DrawnPoint& point : segment) {
        Pixel foot = at(point.x + curve.bar_left, placed_.panel.bar_foot),
              end = at(point.x + curve.bar_right, point.y);
        if (!std::isfinite(foot.x + end.x) || std::isnan(foot.y + end.y)) continue;
        foot.y = inside(foot.y), end.y = inside(end.y);
        bars += rectangle_path(foot, end);
        if (curve.band && point.high > point.low)
          spreads +=
              spread_path(point.x + (curve.bar_left + curve.bar_right) / 2, point.low, point.high);
      }
    }
    const std::string_view color = color_of(curve.color);
    lines_ += drawn(bars, fill(color, curve.bar_fill) + stroke(color, 0.8));
    above_ += drawn(spreads, stroke("#000000", 1));
  }

  // Below the lines, because the points would hide a formula that they follow.
  void draw_scatter(const DrawnCurve& curve) {
    Path spreads;
    if (curve.band) {
      for (const DrawnPoint& point : curve.markers) {
        if (point.high > point.low) spreads += spread_path(point.x, point.low, point.high);
      }
    }
    below_ += drawn(spreads, stroke(color_of(curve.color), 1));
    below_ += markers(places_of(curve.markers), curve.color,
                      curve.medians ? point_radius : marker_radius, false);
    if (curve.medians)
      above_ += drawn(lines_path(curve.segments), stroke(color_of(curve.color), 2.5));
  }

  const PlacedPanel& placed_;
  const double top_, bottom_;
  Drawing below_, lines_, above_;
};

}  // namespace

Drawing drawn_curves(const PlacedPanel& placed) {
  return CurveDrawing(placed).draw();
}

}  // namespace ranklab
