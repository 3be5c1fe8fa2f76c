#include "report/figure/layout.hpp"

#include <algorithm>
#include <cmath>

#include "report/figure/text.hpp"

namespace ranklab {
namespace {

constexpr double gap = 8, tick_length = 8, legend_sample = 32, legend_spacing = 16,
                 widest_name = 130, widest_tick = 110, widest_row_name = 240, row_height = 15;
constexpr std::size_t most_rows = 60;
constexpr double sine_of_slant = 0.5736, cosine_of_slant = 0.8192;  // 35 degrees

struct Room {
  double left = 0, right = 0, top = 0, below_ticks = 0, legend = 0;
};

// Two rows if they are short enough for a page, otherwise rows of three.
std::size_t grid_columns(std::size_t panels) {
  if (panels <= 3) return panels;
  if (panels == 4) return 2;
  return panels == 7 || panels == 8 ? 4 : 3;
}

double height_of(const std::vector<std::string>& lines, double font_size) {
  return line_height(font_size) * static_cast<double>(lines.size());
}

// Names of ticks are in one row if they fit, otherwise slanted, and only some are shown if they do
// not fit even then.
double place_names(PlacedPanel& placed) {
  DrawnAxis& x = placed.panel.x;
  const double slot = placed.width / static_cast<double>(std::max<std::size_t>(x.ticks.size(), 1));
  const double widest = x.label_width(FontSize::tick);
  placed.slanted = x.named && widest + 6 > slot;
  if (!placed.slanted) return tick_length + line_height(FontSize::tick);
  for (Tick& tick : x.ticks)
    tick.label = tick.plain = shorten(tick.label, FontSize::tick, widest_name);
  placed.name_every = static_cast<std::size_t>(std::ceil(line_height(FontSize::tick) / slot));
  return tick_length + std::min(widest, widest_name) * sine_of_slant +
         line_height(FontSize::tick) * cosine_of_slant;
}

Room room_around(PlacedPanel& placed) {
  DrawnPanel& panel = placed.panel;
  Room room;
  if (panel.y.named) {
    const double widest = panel.horizontal_bars ? widest_row_name : widest_tick;
    for (Tick& tick : panel.y.ticks)
      tick.label = tick.plain = shorten(tick.label, FontSize::tick, widest);
  }
  placed.y_label = wrap(panel.y_label, FontSize::axis, placed.height + 20, 2);
  placed.x_label = wrap(panel.x_label, FontSize::axis, placed.width, 2);
  placed.title = wrap(panel.title, FontSize::panel, placed.width, 2);
  room.left = gap + height_of(placed.y_label, FontSize::axis) + 4 +
              panel.y.label_width(FontSize::tick) + tick_length + 2;
  room.below_ticks = place_names(placed) + 2;
  if (placed.slanted)
    room.left = std::max(
        room.left,
        gap + std::min(widest_name, panel.x.label_width(FontSize::tick)) * cosine_of_slant - 10);
  double side_label_width = 0;
  for (const DrawnLine& line : panel.lines)
    side_label_width = std::max(side_label_width, text_width(line.label, FontSize::tick));
  room.right = std::max(side_label_width > 0 ? side_label_width + 14 : 0, 20.0);
  room.top = height_of(placed.title, FontSize::panel) + gap;
  return room;
}

// As many columns as fit under the panel, or under the panels that share the legend. Returns the
// height of the legend.
double place_legend(PlacedPanel& placed, double cell_left, double cell_right, bool shared) {
  std::vector<LegendEntry>& legend = placed.panel.legend;
  if (legend.empty()) return 0;
  const double available = cell_right - cell_left - 2 * gap;
  double widest = 0;
  for (LegendEntry& entry : legend) {
    entry.label = shorten(entry.label, FontSize::legend, available - legend_sample);
    widest = std::max(widest, text_width(entry.label, FontSize::legend));
  }
  placed.legend_column = legend_sample + widest + legend_spacing;
  const auto fitting =
      static_cast<std::size_t>((available + legend_spacing) / placed.legend_column);
  placed.legend_columns = std::clamp<std::size_t>(fitting, 1, legend.size());
  const double total =
      placed.legend_column * static_cast<double>(placed.legend_columns) - legend_spacing;
  const double wanted = shared ? (cell_left + cell_right - total) / 2
                               : std::min(placed.left, cell_right - gap - total);
  placed.legend_left = std::max(cell_left + gap, wanted);
  const std::size_t rows = (legend.size() + placed.legend_columns - 1) / placed.legend_columns;
  return gap + line_height(FontSize::legend) * static_cast<double>(rows);
}

std::string note_for(const FigureSource& source, const std::vector<PlacedPanel>& panels) {
  bool bands = false, bars = false;
  for (const auto& placed : panels) {
    for (const DrawnCurve& curve : placed.panel.curves)
      (curve.look == Look::scatter || curve.look == Look::bars ? bars : bands) |= curve.band;
  }
  const std::string trials = gnuplot_number(source.completed_trials, 12),
                    requested = gnuplot_number(source.requested_trials, 12);
  std::string note = bands && bars ? "Bands and bars" : bands ? "Bands" : bars ? "Bars" : "";
  if (!note.empty())
    note += ": one standard deviation" +
            (source.completed_trials > 0 ? " over " + trials + " trials" : std::string()) + ".";
  bool errors = false;
  for (const Panel& panel : source.figure.panels) {
    for (const Curve& curve : panel.curves) errors |= curve.standard_error;
  }
  if (!note.empty() && errors) note += " If the legend says so: the standard error of the mean.";
  if (source.status == "interrupted")
    note += " Interrupted after " + trials + " of " + requested + " trials.";
  if (source.status == "diverged") note += " Some trials diverged; undefined points are left out.";
  return one_line(note);
}

bool same_entry(const DrawnPanel& a, const LegendEntry& first, const DrawnPanel& b,
                const LegendEntry& second) {
  if (first.label != second.label || first.sample != second.sample) return false;
  if (first.sample == Sample::line) return first.index == second.index;  // its dash
  if (first.sample == Sample::band)
    return a.bands[first.index].color == b.bands[second.index].color;
  const DrawnCurve &one = a.curves[first.index], &other = b.curves[second.index];
  return one.look == other.look && one.color == other.color && one.bar_fill == other.bar_fill &&
         one.band == other.band && one.markers.empty() == other.markers.empty();
}

bool same_legend(const DrawnPanel& a, const DrawnPanel& b) {
  return !a.legend.empty() && std::equal(a.legend.begin(), a.legend.end(), b.legend.begin(),
                                         b.legend.end(), [&](const auto& one, const auto& other) {
                                           return same_entry(a, one, b, other);
                                         });
}

// Columns share their left edge and rows their top edge, so that panels align.
class Grid {
 public:
  Grid(PlacedFigure& figure, std::size_t columns)
      : figure_(figure),
        columns_(columns),
        cells_(figure.panels.size()),
        legend_ends_(cells_.size()) {
    const double width = columns_ == 1   ? 500
                         : columns_ == 2 ? 380
                                         : 320,
                 height = columns_ == 1   ? 310
                          : columns_ == 2 ? 270
                                          : 240;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      figure_.panels[i].width = width;
      const DrawnPanel& panel = figure_.panels[i].panel;
      figure_.panels[i].height =
          panel.horizontal_bars ? row_height * static_cast<double>(panel.y.ticks.size()) : height;
      cells_[i] = room_around(figure_.panels[i]);
    }
    share_legends();
  }

  double place_columns() {
    double left = 0;
    std::vector<double> edges = {left};
    for (std::size_t c = 0; c < columns_; ++c) {
      Room room;
      for (std::size_t i = c; i < cells_.size(); i += columns_) {
        room.left = std::max(room.left, cells_[i].left);
        room.right = std::max(room.right, cells_[i].right);
      }
      const double right = left + room.left + figure_.panels[c].width + room.right;
      for (std::size_t i = c; i < cells_.size(); i += columns_) {
        figure_.panels[i].left = left + room.left;
      }
      edges.push_back(left = right);
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const std::size_t last = legend_ends_[i];
      cells_[i].legend = place_legend(figure_.panels[i], edges[i % columns_],
                                      edges[last % columns_ + 1], last > i);
    }
    return left + gap / 2;
  }

  double place_rows(double top) {
    for (std::size_t first = 0; first < cells_.size(); first += columns_) {
      const std::size_t end = std::min(first + columns_, cells_.size());
      double above = 0, bottom = top;
      for (std::size_t i = first; i < end; ++i) above = std::max(above, cells_[i].top);
      for (std::size_t i = first; i < end; ++i) {
        PlacedPanel& placed = figure_.panels[i];
        placed.top = top + above;
        placed.x_label_top = placed.top + placed.height + cells_[i].below_ticks;
        placed.legend_top = placed.x_label_top + height_of(placed.x_label, FontSize::axis) + gap;
        bottom = std::max(bottom, placed.legend_top + cells_[i].legend);
      }
      top = bottom + gap;
    }
    return top;
  }

 private:
  // Neighbors in a row with the same legend show it once, below them; whole rows with the same
  // legend show it below the last row.
  void share_legends() {
    std::size_t next = 0;
    for (std::size_t first = 0; first < cells_.size(); first = next) {
      const DrawnPanel& panel = figure_.panels[first].panel;
      const bool at_row_start = first % columns_ == 0;
      next = first + 1;
      while (next < cells_.size() && (at_row_start || next % columns_ != 0) &&
             same_legend(panel, figure_.panels[next].panel))
        ++next;
      const bool breaks_a_row =
          next < cells_.size() && next % columns_ != 0 && next - first > columns_;
      if (breaks_a_row) next -= next % columns_;
      const std::size_t last = next - 1, owner = std::max(first, last - last % columns_);
      for (std::size_t i = first; i < next; ++i) {
        legend_ends_[i] = i == owner ? last : i;
        if (i != owner) figure_.panels[i].panel.legend.clear();
      }
    }
  }

  PlacedFigure& figure_;
  std::size_t columns_;
  std::vector<Room> cells_;
  std::vector<std::size_t> legend_ends_;  // the last panel of the row that shares a panel's legend
};

}  // namespace

PlacedFigure place_figure(const FigureSource& source) {
  PlacedFigure figure;
  std::vector<std::vector<DrawnPanel>> pieces;
  std::size_t most = 0;
  for (const Panel& panel : source.figure.panels) {
    pieces.push_back(
        split_horizontal(make_panel(panel, source.series, source.completed_trials), most_rows));
    most = std::max(most, pieces.back().size());
  }
  // Pieces of several panels with the same names are placed side by side.
  for (std::size_t i = 0; i < most; ++i) {
    for (const auto& panel : pieces) {
      if (i >= panel.size()) continue;
      figure.panels.emplace_back().panel = panel[i];
    }
  }
  Grid grid(figure,
            most > 1 ? std::min<std::size_t>(pieces.size(), 3) : grid_columns(pieces.size()));
  figure.width = std::ceil(grid.place_columns());
  figure.title = wrap(one_line(source.title), FontSize::title, figure.width - 4 * gap, 3);
  figure.subtitle = wrap(one_line(source.changes), FontSize::axis, figure.width - 4 * gap, 2);
  figure.note = shorten(note_for(source, figure.panels), FontSize::note, figure.width - 2 * gap);
  const double head =
      height_of(figure.title, FontSize::title) + height_of(figure.subtitle, FontSize::axis);
  const double bottom = grid.place_rows(gap + head + (head > 0 ? gap / 2 : 0));
  figure.height = std::ceil(bottom + (figure.note.empty() ? 0 : line_height(FontSize::note)) + 2);
  return figure;
}

}  // namespace ranklab
