#include "figure/table.hpp"

#include <algorithm>
#include <numeric>

#include "figure/symbols.hpp"
#include "figure/text.hpp"

namespace ranklab {
namespace {

constexpr double cell_font = 12, table_row = 18, cell_padding = 18, widest_head = 120;
constexpr std::size_t head_lines = 3;

struct Columns {
  std::vector<double> widths;  // with padding
  std::vector<std::vector<std::string>> heads;
  std::size_t lines = 1;  // of the widest head
  double total = 0;
};

double width_of(const std::string& text) {
  return text_width(label_with_symbols(text), cell_font);
}

// A column is as wide as its widest cell, or as its head over up to three lines. Too wide a table
// shrinks all columns in proportion, and cells are shortened.
Columns columns_of(const FigureTable& table) {
  Columns out;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    double widest = 30;
    for (const auto& row : table.rows) {
      if (c < row.size()) widest = std::max(widest, width_of(row[c]));
    }
    out.heads.push_back(wrap(label_with_symbols(table.columns[c]), cell_font,
                             std::max(widest, widest_head), head_lines));
    for (const std::string& line : out.heads.back()) widest = std::max(widest, width_of(line));
    out.lines = std::max(out.lines, out.heads.back().size());
    out.widths.push_back(widest + cell_padding);
  }
  out.total = std::accumulate(out.widths.begin(), out.widths.end(), 0.0);
  const double room = widest_figure - 16;
  if (out.total > room) {
    for (double& width : out.widths) width *= room / out.total;
    out.total = room;
  }
  return out;
}

}  // namespace

double widest_table(const Figure& figure) {
  double widest = 0;
  for (const FigureTable& table : figure.tables) widest = std::max(widest, columns_of(table).total);
  return widest > 0 ? widest + 16 : 0;
}

double place_table(const FigureTable& table, double top, PlacedFigure& figure) {
  const Columns columns = columns_of(table);
  const double left = (figure.width - columns.total) / 2, right = left + columns.total;
  const auto title = wrap(label_with_symbols(table.title), FontSize::panel, figure.width - 16, 3);
  place_lines(title, figure.width / 2, top, FontSize::panel, TextRole::panel_title, figure);
  top += line_height(FontSize::panel) * static_cast<double>(title.size()) + 5;
  figure.rules.push_back({left, right, top, true});
  // The first column is aligned at the left, the others are centered.
  const auto cell = [&](std::size_t column, double x, double y, const std::string& label) {
    const double width = columns.widths[column];
    const std::string text = shorten(label, cell_font, width - 6);
    if (text.empty()) return;
    if (column == 0)
      figure.texts.push_back({text, x + 4, y, cell_font, Anchor::left, TextRole::cell});
    else
      figure.texts.push_back({text, x + width / 2, y, cell_font, Anchor::center, TextRole::cell});
  };
  double x = left;
  for (std::size_t c = 0; c < columns.heads.size(); ++c) {
    for (std::size_t i = 0; i < columns.heads[c].size(); ++i)
      cell(c, x, top + table_row * (static_cast<double>(i) + 0.6), columns.heads[c][i]);
    x += columns.widths[c];
  }
  top += table_row * static_cast<double>(columns.lines) + 4;
  figure.rules.push_back({left, right, top, false});
  for (const auto& row : table.rows) {
    x = left;
    for (std::size_t c = 0; c < columns.widths.size() && c < row.size(); ++c) {
      cell(c, x, top + table_row * 0.6, label_with_symbols(row[c]));
      x += columns.widths[c];
    }
    top += table_row;
  }
  top += 4;
  figure.rules.push_back({left, right, top, true});
  return top;
}

}  // namespace ranklab
