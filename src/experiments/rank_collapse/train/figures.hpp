// Internal header of the study `train`: its figures and the words in them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/rank_collapse/train/train.hpp"
#include "report/builder.hpp"

namespace ranklab::train {

// Words (figures.cpp) -----------------------------------------------------------------------------

/// "usual initial weights" for fan, and their law: "variance 1 / fan-in".
std::string start_name(const std::string& init);
std::string start_law(const std::string& init);
/// "-2", "learned", or "learned, rate x 0.1"; the label puts "lambda = " before a number.
std::string skip_name(const Curve& curve);
std::string skip_label(const Curve& curve);
/// "post-norm, rate 0.001, no warm-up": the variant and, of its settings, those that vary.
std::string variant_name(const Plan& plan, const Curve& curve);
/// What distinguishes the group of a curve from the others: "Mamba-2, 8 layers".
std::string group_name(const Plan& plan, const Curve& curve);
/// What Curve::setting says, in words.
std::string setting_name(const Plan& plan, const Curve& curve);

// Parts of figures (figures.cpp) ------------------------------------------------------------------

/// The curves of a group, which differ only in lambda.
std::vector<const Curve*> curves_of_group(const Plan& plan, const Curve& group);

/// Steps after each tenth of a run, from the tenth `first` on; 0 is the start.
std::vector<double> tenths_of(const Curve& curve, std::size_t first);

/// The look of a curve that shows every training.
inline CurveLook trials_look(LineStyle style, int color, double x_offset = 0) {
  return {.style = style, .color = color, .x_offset = x_offset, .band = BandKind::trials};
}

/// One quantity that small multiples show for each of several items.
struct Quantity {
  std::string name;
  Axis x, y;
  std::function<void(PanelBuilder& panel, std::size_t item)> draw;
  bool shares_axes = true;
};

/// Adds a further figure with one row per quantity and one column per item. If a row would be too
/// long, each quantity gets its own figure. `where` ends the titles of the figures.
void add_small_multiples(ResultBuilder& out, const std::string& title, const std::string& where,
                         const std::vector<std::string>& items,
                         const std::vector<Quantity>& quantities);
/// Panels per row for this number of items.
std::size_t columns_for(std::size_t items);

}  // namespace ranklab::train
