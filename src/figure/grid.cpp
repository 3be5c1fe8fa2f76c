#include "figure/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "figure/text.hpp"

namespace ranklab {
namespace {

constexpr double legend_spacing = 16, widest_name = 200, widest_tick = 110, widest_row_name = 240,
                 row_height = 15;
constexpr std::size_t legend_lines = 2, most_name_lines = 3;
constexpr double slant = 35;  // degrees
const double sine_of_slant = std::sin(slant * std::numbers::pi / 180),
             cosine_of_slant = std::cos(slant * std::numbers::pi / 180);

// The room around a panel.
struct Room {
  double left = 0, right = 0, top = 0, below_ticks = 0, legend = 0;
};

// A panel with the lines of its texts.
struct Cell {
  PlacedPanel placed;
  std::vector<std::string> title, x_label, y_label;
  Room room;
  bool shares_y = false, shares_x = false;  // the neighbor to the left, below, shows the axis
  bool hides_line_labels = false;           // the neighbor to the right shows them
  bool slanted = false;                     // names of x ticks, if they are too wide for their room
  std::size_t name_lines = 1;               // of upright names
  std::size_t name_every = 1;               // only every name_every-th x tick has a name
  std::size_t legend_end = 0;               // the last cell of the row that shares the legend
};

// Columns share their left edge and rows their top edge, so that panels align.
class Grid {
 public:
  Grid(std::vector<DrawnPanel> panels, const GridSize& size) : columns_(size.columns), size_(size) {
    for (DrawnPanel& panel : panels) cells_.emplace_back().placed.panel = std::move(panel);
    find_shared_axes();
    share_legends();
    // The margins depend on the width of the panels through slanted names and line breaks alone,
    // so the second round is exact enough to fill the width.
    double width = 300;
    for (int round = 0; round < 2; ++round) {
      for (Cell& cell : cells_) measure(cell, width);
      double margins = figure_gap;
      for (std::size_t c = 0; c < columns_; ++c) {
        const Room room = room_of_column(c);
        margins += room.left + room.right;
      }
      width = std::max(80.0, std::floor((size_.width - margins) / static_cast<double>(columns_)));
    }
    for (Cell& cell : cells_) measure(cell, width);
  }

  // Returns the width of all columns, with room for a table that is `table_width` wide, below which
  // the columns are centered.
  double place_columns(double table_width) {
    double width = 0;
    for (std::size_t c = 0; c < columns_ && c < cells_.size(); ++c) {
      const Room room = room_of_column(c);
      width += room.left + room.right + cells_[c].placed.width;
    }
    double left = std::max(0.0, (table_width - width - figure_gap / 2) / 2);
    const double before = left;
    std::vector<double> edges = {left};
    for (std::size_t c = 0; c < columns_ && c < cells_.size(); ++c) {
      const Room room = room_of_column(c);
      for (std::size_t i = c; i < cells_.size(); i += columns_)
        cells_[i].placed.left = left + room.left;
      edges.push_back(left += room.left + cells_[c].placed.width + room.right);
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const std::size_t last = cells_[i].legend_end;
      cells_[i].room.legend =
          place_legend(cells_[i], edges[i % columns_], edges[last % columns_ + 1], last > i);
    }
    return left + before + figure_gap / 2;
  }

  // Returns the bottom of all rows.
  double place_rows(double top) {
    for (std::size_t first = 0; first < cells_.size(); first += columns_) {
      const std::size_t end = std::min(first + columns_, cells_.size());
      double above = 0, bottom = top;
      for (std::size_t i = first; i < end; ++i) above = std::max(above, cells_[i].room.top);
      for (std::size_t i = first; i < end; ++i) {
        Cell& cell = cells_[i];
        cell.placed.top = top + above;
        const double labels = cell.placed.top + cell.placed.height + cell.room.below_ticks,
                     legend = labels + height_of(cell.x_label, FontSize::axis) + figure_gap;
        for (PlacedText& text : legends_[i].texts) text.y += legend;
        for (PlacedKey& key : legends_[i].keys) key.y += legend;
        bottom = std::max(bottom, legend + cell.room.legend);
      }
      top = bottom + figure_gap;
    }
    return top;
  }

  // Moves the panels and their texts into the figure.
  void move_to(PlacedFigure& figure) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      write_words(cells_[i], figure);
      write_tick_texts(cells_[i], figure);
      write_line_labels(cells_[i], figure);
      for (PlacedText& text : legends_[i].texts) figure.texts.push_back(std::move(text));
      for (PlacedKey& key : legends_[i].keys) figure.keys.push_back(std::move(key));
    }
    for (Cell& cell : cells_) figure.panels.push_back(std::move(cell.placed));
  }

 private:
  struct Legend {
    std::vector<PlacedText> texts;
    std::vector<PlacedKey> keys;
  };

  bool same_group(std::size_t a, std::size_t b) const {
    const DrawnPanel &one = cells_[a].placed.panel, &other = cells_[b].placed.panel;
    return !one.group.empty() && one.group == other.group && one.y_label == other.y_label &&
           one.x_label == other.x_label;
  }

  void find_shared_axes() {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      cells_[i].shares_y = i % columns_ > 0 && same_group(i - 1, i);
      cells_[i].shares_x = i + columns_ < cells_.size() && same_group(i, i + columns_);
      cells_[i].hides_line_labels = (i + 1) % columns_ != 0 && i + 1 < cells_.size() &&
                                    same_group(i, i + 1) && same_lines(i, i + 1);
    }
  }

  bool same_lines(std::size_t a, std::size_t b) const {
    const auto &one = cells_[a].placed.panel.lines, &other = cells_[b].placed.panel.lines;
    return std::equal(
        one.begin(), one.end(), other.begin(), other.end(),
        [](const DrawnLine& x, const DrawnLine& y) { return x.y == y.y && x.label == y.label; });
  }

  Room room_of_column(std::size_t column) const {
    Room room;
    for (std::size_t i = column; i < cells_.size(); i += columns_) {
      room.left = std::max(room.left, cells_[i].room.left);
      room.right = std::max(room.right, cells_[i].room.right);
    }
    return room;
  }

  void measure(Cell& cell, double width) {
    DrawnPanel& panel = cell.placed.panel;
    cell.placed.width = width;
    cell.placed.height = panel.horizontal_bars
                             ? row_height * static_cast<double>(panel.y.ticks.size())
                             : size_.panel_height;
    if (panel.y.named) {
      const double widest = panel.horizontal_bars ? widest_row_name : widest_tick;
      for (Tick& tick : panel.y.ticks) tick.label = shorten(tick.label, FontSize::tick, widest);
    }
    cell.y_label = wrap(panel.y_label, FontSize::axis, cell.placed.height + 20, 2);
    cell.x_label = wrap(panel.x_label, FontSize::axis, cell.placed.width + 20, 2);
    cell.title = wrap(panel.title, FontSize::panel, cell.placed.width + 10, 3);
    if (cell.shares_y) cell.y_label.clear();
    if (cell.shares_x) cell.x_label.clear();
    Room& room = cell.room;
    room.left = cell.shares_y ? 2 * figure_gap
                              : figure_gap + height_of(cell.y_label, FontSize::axis) + 4 +
                                    panel.y.label_width(FontSize::tick) + tick_room + 2;
    room.below_ticks = cell.shares_x ? tick_room : place_names(cell) + 2;
    // A slanted name ends below its tick and begins to the left of it.
    for (const Tick& tick : panel.x.ticks) {
      if (!cell.slanted) break;
      room.left = std::max(room.left, figure_gap + tick.width(FontSize::tick) * cosine_of_slant -
                                          cell.placed.width * panel.x.fraction(tick.at));
    }
    // Half of the last tick's label is to the right of the panel.
    const double last_tick =
        panel.x.ticks.empty() ? 0 : panel.x.ticks.back().width(FontSize::tick) / 2 + 2;
    room.right = std::max(12.0, last_tick);
    for (const DrawnLine& line : panel.lines) {
      if (!cell.hides_line_labels && !line.label.empty())
        room.right = std::max(room.right, text_width(line.label, FontSize::tick) + 12);
    }
    room.top = height_of(cell.title, FontSize::panel) + figure_gap;
  }

  static std::vector<std::string> name_in_lines(const Tick& tick, double slot) {
    constexpr std::size_t most = 100;
    return wrap(tick.label, FontSize::tick, slot - 6, most);
  }

  // The lines of the longest name that has a room of `slot`; 0: a word is too wide.
  static std::size_t lines_of_names(const DrawnAxis& x, double slot) {
    std::size_t lines = 1;
    for (const Tick& tick : x.ticks) {
      std::string whole;
      for (const std::string& line : name_in_lines(tick, slot))
        whole += (whole.empty() ? "" : " ") + line;
      if (whole != tick.label) return 0;
      lines = std::max(lines, name_in_lines(tick, slot).size());
    }
    return lines;
  }

  // Names of ticks are upright if they fit in up to three lines, otherwise slanted, and only some
  // are shown if they do not fit even then.
  static double place_names(Cell& cell) {
    DrawnAxis& x = cell.placed.panel.x;
    const double slot =
        cell.placed.width / static_cast<double>(std::max<std::size_t>(x.ticks.size(), 1));
    cell.name_lines = x.named ? lines_of_names(x, slot) : 1;
    cell.slanted = cell.name_lines == 0 || cell.name_lines > most_name_lines;
    if (!cell.slanted)
      return tick_room + static_cast<double>(cell.name_lines) * line_height(FontSize::tick);
    const double widest = x.label_width(FontSize::tick);
    for (Tick& tick : x.ticks) tick.label = shorten(tick.label, FontSize::tick, widest_name);
    cell.name_every = static_cast<std::size_t>(std::ceil(line_height(FontSize::tick) / slot));
    return tick_room + std::min(widest, widest_name) * sine_of_slant +
           line_height(FontSize::tick) * cosine_of_slant;
  }

  // Neighbors in a row with the same legend show it once, below them; whole rows with the same
  // legend show it below the last row.
  void share_legends() {
    std::size_t next = 0;
    for (std::size_t first = 0; first < cells_.size(); first = next) {
      const DrawnPanel& panel = cells_[first].placed.panel;
      const bool at_row_start = first % columns_ == 0;
      next = first + 1;
      while (next < cells_.size() && (at_row_start || next % columns_ != 0) &&
             !panel.legend.empty() && panel.legend == cells_[next].placed.panel.legend)
        ++next;
      const bool breaks_a_row =
          next < cells_.size() && next % columns_ != 0 && next - first > columns_;
      if (breaks_a_row) next -= next % columns_;
      const std::size_t last = next - 1, owner = std::max(first, last - last % columns_);
      for (std::size_t i = first; i < next; ++i) {
        cells_[i].legend_end = i == owner ? last : i;
        if (i != owner) cells_[i].placed.panel.legend.clear();
      }
    }
  }

  // As many columns as fit under the panel, or under the panels that share the legend. Places the
  // entries relative to the top of the legend, and returns the height of the legend.
  double place_legend(const Cell& cell, double cell_left, double cell_right, bool shared) {
    Legend& placed = legends_.emplace_back();
    const std::vector<LegendEntry>& legend = cell.placed.panel.legend;
    if (legend.empty()) return 0;
    const double available = cell_right - cell_left - 2 * figure_gap, sample = key_width + 6;
    double widest = 0;
    std::vector<std::vector<std::string>> labels;
    for (const LegendEntry& entry : legend) {
      labels.push_back(wrap(entry.label, FontSize::legend, available - sample, legend_lines));
      for (const std::string& line : labels.back())
        widest = std::max(widest, text_width(line, FontSize::legend));
    }
    const double column_width = sample + widest + legend_spacing;
    const auto fitting = static_cast<std::size_t>((available + legend_spacing) / column_width);
    const std::size_t columns = std::clamp<std::size_t>(fitting, 1, legend.size());
    const double total = column_width * static_cast<double>(columns) - legend_spacing;
    const double wanted = shared ? (cell_left + cell_right - total) / 2
                                 : std::min(cell.placed.left, cell_right - figure_gap - total);
    const double left = std::max(cell_left + figure_gap, wanted);
    const double line = line_height(FontSize::legend);
    double top = 0, bottom = 0;  // of the row
    for (std::size_t i = 0; i < legend.size(); ++i) {
      if (i % columns == 0) top = bottom;
      const double x = left + column_width * static_cast<double>(i % columns);
      double y = top + line / 2;
      placed.keys.push_back({legend[i], x, y});
      for (const std::string& words : labels[i]) {
        placed.texts.push_back(
            {words, x + sample, y, FontSize::legend, Anchor::left, TextRole::legend});
        y += line;
      }
      bottom = std::max(bottom, y - line / 2);
    }
    return figure_gap + bottom;
  }

  static void write_words(const Cell& cell, PlacedFigure& figure) {
    const PlacedPanel& placed = cell.placed;
    const double middle = placed.left + placed.width / 2;
    place_lines(cell.title, middle, placed.top - height_of(cell.title, FontSize::panel) - 6,
                FontSize::panel, TextRole::panel_title, figure);
    place_lines(cell.x_label, middle, placed.top + placed.height + cell.room.below_ticks,
                FontSize::axis, TextRole::axis_label, figure);
    const double labels = placed.panel.y.label_width(FontSize::tick) + 14;
    for (std::size_t i = 0; i < cell.y_label.size(); ++i) {
      const double from_axis =
          line_height(FontSize::axis) * (static_cast<double>(cell.y_label.size() - i) - 0.5);
      figure.texts.push_back({cell.y_label[i], placed.left - labels - from_axis,
                              placed.top + placed.height / 2, FontSize::axis, Anchor::center,
                              TextRole::axis_label, 90});
    }
    if (placed.panel.empty)
      figure.texts.push_back({"no defined values", middle, placed.top + placed.height / 4,
                              FontSize::axis, Anchor::center, TextRole::message});
  }

  static PlacedText tick_text(const Tick& tick, double x, double y, Anchor anchor,
                              double degrees = 0) {
    return {tick.label, x, y, FontSize::tick, anchor, TextRole::tick, degrees, tick.power};
  }

  // A text that would touch the one before is left out.
  static void write_tick_texts(const Cell& cell, PlacedFigure& figure) {
    const PlacedPanel& placed = cell.placed;
    const double bottom = placed.top + placed.height, half_line = line_height(FontSize::tick) / 2;
    const DrawnAxis &x_axis = placed.panel.x, &y_axis = placed.panel.y;
    double free_from = -widest_figure;
    for (std::size_t i = 0; i < x_axis.ticks.size() && !cell.shares_x; i += cell.name_every) {
      const Tick& tick = x_axis.ticks[i];
      if (tick.label.empty()) continue;
      const double x = placed.x_of(tick.at);
      if (cell.slanted) {
        figure.texts.push_back(
            tick_text(tick, x + 4, bottom + half_line + 5, Anchor::right, slant));
        continue;
      }
      if (cell.name_lines > 1) {
        const double slot = placed.width / static_cast<double>(x_axis.ticks.size());
        place_lines(name_in_lines(tick, slot), x, bottom + 8, FontSize::tick, TextRole::tick,
                    figure);
        continue;
      }
      const double half = tick.width(FontSize::tick) / 2;
      if (x - half < free_from) continue;
      free_from = x + half + 3;
      figure.texts.push_back(tick_text(tick, x, bottom + half_line + 8, Anchor::center));
    }
    for (const Tick& tick : y_axis.ticks) {
      if (tick.label.empty() || cell.shares_y) continue;
      figure.texts.push_back(tick_text(tick, placed.left - 9, placed.y_of(tick.at), Anchor::right));
    }
  }

  // Labels of near lines are moved apart.
  static void write_line_labels(const Cell& cell, PlacedFigure& figure) {
    const PlacedPanel& placed = cell.placed;
    if (placed.panel.horizontal_bars || cell.hides_line_labels) return;
    std::vector<DrawnLine> lines = placed.panel.lines;
    std::stable_sort(lines.begin(), lines.end(),
                     [](const DrawnLine& a, const DrawnLine& b) { return a.y > b.y; });
    double free_from = placed.top - 10;
    for (const DrawnLine& line : lines) {
      if (line.label.empty()) continue;
      const double label = std::max(placed.y_of(line.y), free_from);
      figure.texts.push_back({line.label, placed.left + placed.width + 6, label, FontSize::tick,
                              Anchor::left, TextRole::line_label});
      free_from = label + line_height(FontSize::tick);
    }
  }

  std::size_t columns_;
  GridSize size_;
  std::vector<Cell> cells_;
  std::vector<Legend> legends_;  // of each cell
};

}  // namespace

GridSize page_grid(std::size_t columns) {
  if (columns == 1) return {1, 560, 250};
  if (columns == 2) return {2, 840, 215};
  return {columns, widest_figure, columns == 3 ? 205.0 : 170.0};
}

GridSize printed_grid(double width, std::size_t most_per_row) {
  constexpr double narrowest = 240, lowest = 110, highest = 250, shape = 0.55;
  const double fitting = std::max(1.0, std::floor(width / narrowest));
  const std::size_t columns = std::min(most_per_row, static_cast<std::size_t>(fitting));
  return {columns, width,
          std::clamp(shape * width / static_cast<double>(columns), lowest, highest)};
}

PlacedFigure place_grid(std::vector<DrawnPanel> panels, const GridSize& size, double table_width) {
  PlacedFigure out;
  Grid grid(std::move(panels), size);
  out.width = std::ceil(std::max(grid.place_columns(table_width), table_width));
  out.height = grid.place_rows(0);
  grid.move_to(out);
  return out;
}

}  // namespace ranklab
