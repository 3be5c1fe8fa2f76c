#include "figure/layout.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "figure/bars.hpp"
#include "figure/grid.hpp"
#include "figure/note.hpp"
#include "figure/symbols.hpp"
#include "figure/table.hpp"
#include "figure/text.hpp"

namespace ranklab {
namespace {

constexpr std::size_t most_rows = 60;  // of horizontal bars in one panel

// Rows of up to three panels; four are a square.
std::size_t grid_columns(std::size_t panels) {
  if (panels <= 3) return panels;
  return panels == 4 ? 2 : 3;
}

std::size_t columns_of(const Figure& figure) {
  const std::size_t panels = figure.panels.size(),
                    wanted = figure.columns > 0 ? std::min(figure.columns, most_columns)
                                                : grid_columns(panels);
  return std::max<std::size_t>(std::min(wanted, panels), 1);
}

// Panels with too many horizontal bars in pieces. Pieces of several panels with the same names are
// placed side by side.
std::vector<DrawnPanel> in_pieces(const std::vector<DrawnPanel>& panels) {
  std::vector<std::vector<DrawnPanel>> pieces;
  std::size_t most = 0;
  for (const DrawnPanel& panel : panels) {
    pieces.push_back(split_horizontal(panel, most_rows));
    most = std::max(most, pieces.back().size());
  }
  std::vector<DrawnPanel> out;
  for (std::size_t i = 0; i < most; ++i) {
    for (const auto& each : pieces) {
      if (i < each.size()) out.push_back(each[i]);
    }
  }
  return out;
}

void move_down(PlacedFigure& figure, double by) {
  for (PlacedText& text : figure.texts) text.y += by;
  for (PlacedKey& key : figure.keys) key.y += by;
  for (PlacedPanel& panel : figure.panels) panel.top += by;
}

// Places the title and the tables above the panels, which it moves down. Returns by how much.
double place_head(const FigureData& data, bool has_title, PlacedFigure& figure) {
  PlacedFigure head;
  head.width = figure.width;
  double top = figure_gap;
  if (has_title) {
    const std::string words = data.figure.title.empty() ? data.title : data.figure.title;
    const auto title = wrap(label_with_symbols(words), FontSize::title,
                            figure.width - 4 * figure_gap, 3),
               subtitle = wrap(label_with_symbols(data.changes), FontSize::axis,
                               figure.width - 4 * figure_gap, 2);
    place_lines(title, figure.width / 2, top, FontSize::title, TextRole::title, head);
    top += height_of(title, FontSize::title);
    place_lines(subtitle, figure.width / 2, top, FontSize::axis, TextRole::title, head);
    top += height_of(subtitle, FontSize::axis) + figure_gap / 2;
  }
  const auto warning =
      wrap(label_with_symbols(warning_for(data)), FontSize::axis, figure.width - 4 * figure_gap, 2);
  place_lines(warning, figure.width / 2, top, FontSize::axis, TextRole::title, head);
  top += height_of(warning, FontSize::axis);
  for (const FigureTable& table : data.figure.tables)
    top = place_table(table, top, head) + 2 * figure_gap;
  move_down(figure, top);
  figure.texts.insert(figure.texts.begin(), head.texts.begin(), head.texts.end());
  figure.rules = std::move(head.rules);
  return top;
}

std::string in_lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// The title of the only panel is left out if the title of the figure says the same.
void drop_repeated_title(const std::string& title, std::vector<DrawnPanel>& panels) {
  if (panels.size() != 1) return;
  const std::string words = in_lower_case(label_with_symbols(title));
  if (words.find(in_lower_case(panels.front().title)) != words.npos) panels.front().title.clear();
}

// Places the note below `bottom`, and ends the figure there.
void place_note(const FigureData& data, double bottom, PlacedFigure& figure) {
  for (const std::string& line : wrap(label_with_symbols(note_for(data, figure.panels)),
                                      FontSize::note, figure.width - 2 * figure_gap, 4)) {
    figure.texts.push_back({line, figure.width - 10, bottom + line_height(FontSize::note) / 2,
                            FontSize::note, Anchor::right, TextRole::note});
    bottom += line_height(FontSize::note);
  }
  figure.height = std::ceil(bottom + 3);
}

// One panel with its ticks.
PlacedFigure place_thumbnail(const FigureData& data, std::size_t which) {
  FigureData one = data;
  one.figure.panels = {data.figure.panels.at(std::min(which, data.figure.panels.size() - 1))};
  constexpr double width = 140, height = 84;
  PlacedFigure figure;
  PlacedPanel& placed = figure.panels.emplace_back();
  placed.panel = make_panels(one, {width, height, 60}).front();
  DrawnPanel& panel = placed.panel;
  for (DrawnCurve& curve : panel.curves) {
    if (curve.look != Look::scatter) curve.markers.clear();
  }
  placed.left = panel.y.label_width(FontSize::tick) + tick_room + 6;
  placed.top = figure_gap;
  placed.width = width;
  placed.height = height;
  figure.width = std::ceil(placed.left + width + 16);
  figure.height = std::ceil(placed.top + height + tick_room + line_height(FontSize::tick) + 2);
  const double bottom = placed.top + height;
  double free_from = 0;
  for (const Tick& tick : panel.x.ticks) {
    const double x = placed.x_of(tick.at), half = tick.width(FontSize::tick) / 2;
    if (tick.label.empty() || x - half < free_from || x + half > figure.width) continue;
    free_from = x + half + 6;
    figure.texts.push_back({tick.label, x, bottom + line_height(FontSize::tick) / 2 + 7,
                            FontSize::tick, Anchor::center, TextRole::tick, 0, tick.power});
  }
  double free_above = figure.height;
  for (const Tick& tick : panel.y.ticks) {
    const double y = placed.y_of(tick.at);
    if (tick.label.empty() || y + line_height(FontSize::tick) / 2 > free_above) continue;
    free_above = y - line_height(FontSize::tick) / 2;
    figure.texts.push_back({tick.label, placed.left - 8, y, FontSize::tick, Anchor::right,
                            TextRole::tick, 0, tick.power});
  }
  return figure;
}

}  // namespace

Box box_of(const PlacedText& text) {
  const double width = text_width(text.text + text.power, text.size), height = 1.15 * text.size,
               angle = text.degrees * std::numbers::pi / 180;
  const double start = text.anchor == Anchor::left     ? 0
                       : text.anchor == Anchor::center ? -width / 2
                                                       : -width;
  Box box{text.x, text.y, text.x, text.y};
  for (const double along : {start, start + width}) {
    for (const double across : {-height / 2, height / 2}) {
      const double x = text.x + along * std::cos(angle) + across * std::sin(angle),
                   y = text.y - along * std::sin(angle) + across * std::cos(angle);
      box.left = std::min(box.left, x), box.right = std::max(box.right, x);
      box.top = std::min(box.top, y), box.bottom = std::max(box.bottom, y);
    }
  }
  return box;
}

void place_lines(const std::vector<std::string>& lines, double x, double top, double font_size,
                 TextRole role, PlacedFigure& figure) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    figure.texts.push_back({lines[i], x,
                            top + line_height(font_size) * (static_cast<double>(i) + 0.5),
                            font_size, Anchor::center, role});
  }
}

PlacedFigure place_figure(const FigureData& data, Extract extract, std::size_t panel,
                          const Print& print) {
  if (extract == Extract::thumbnail && !data.figure.panels.empty())
    return place_thumbnail(data, panel);
  const std::size_t wanted = columns_of(data.figure);
  const GridSize grid = print.width > 0
                            ? printed_grid(print.width * FontSize::tick / printed_points, wanted)
                            : page_grid(wanted);
  const PanelSize size{grid.width / static_cast<double>(grid.columns) - 80, grid.panel_height,
                       extract == Extract::whole ? 300u : 48u};
  std::vector<DrawnPanel> panels = make_panels(data, size);
  if (print.title)
    drop_repeated_title(data.figure.title.empty() ? data.title : data.figure.title, panels);
  const std::size_t whole = panels.size();
  panels = in_pieces(panels);
  GridSize placed = grid;
  if (panels.size() > whole && print.width == 0)
    placed = page_grid(std::min<std::size_t>(whole, 3));
  PlacedFigure figure = place_grid(std::move(panels), placed, widest_table(data.figure));
  const double head = place_head(data, extract == Extract::whole && print.title, figure);
  place_note(data, head + figure.height, figure);
  return figure;
}

}  // namespace ranklab
