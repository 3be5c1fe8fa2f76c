// The result of the study train, and the small multiples of its figures.
#include "experiments/rank_collapse/trainings/train.hpp"

namespace ranklab::train {

const Run* with_lambda(const Group& group, double lambda) {
  return grid::first_where(group, [&](const Run& run) { return run.skip.is_fixed_at(lambda); });
}

const Run* learned(const Group& group) {
  return grid::first_where(group, [](const Run& run) { return run.skip.learned; });
}

// Parts of figures --------------------------------------------------------------------------------

constexpr std::size_t longest_row = 5;

std::size_t columns_for(std::size_t items) {
  if (items <= longest_row) return items;
  for (std::size_t columns = longest_row; columns > 2; --columns) {
    if (items % columns == 0) return columns;
  }
  return longest_row;
}

void add_small_multiples(Display& out, const std::string& title, const std::string& where,
                         const std::vector<std::string>& items,
                         const std::vector<DrawnQuantity>& quantities) {
  if (quantities.empty()) return;
  const bool fits = items.size() <= longest_row;
  const auto begin_figure = [&](const std::string& what) {
    out.next_figure(what + where);
    if (items.size() > 1) out.columns(columns_for(items.size()));
  };
  if (fits) begin_figure(title);
  for (const DrawnQuantity& quantity : quantities) {
    if (!fits) begin_figure(capitalized(quantity.name));
    for (std::size_t item = 0; item < items.size(); ++item) {
      const std::string of_item =
          items.size() > 1 ? items[item] + ": " + quantity.name : quantity.name;
      PanelBuilder panel = out.panel(capitalized(of_item), quantity.x, quantity.y);
      if (quantity.shares_axes && items.size() > 1) panel.group(quantity.name);
      quantity.draw(panel, item);
    }
  }
}

// The result --------------------------------------------------------------------------------------

std::string Config::title() const {
  return compares_variants()
             ? "Training post-norm, pre-norm and de-escalated models: effect of norm placement on "
               "losses and tokens"
             : "Training models with lambda-skip connections: effect of lambda on accuracy and "
               "tokens";
}

void Config::derive(Numbers& out) const {
  const Trained all{*this, out.records()};
  for (const Run& run : all.runs) {
    out.add(columns_of(*this, run), run.place);
    if (!run.skip.learned) continue;
    out.series(run.key(learned_lambda), "block", run.layers_from(1),
               [&run](const TrialRecord& record, std::size_t i) {
                 return InTrial{run, record}(learned_lambda_of(i + 1));
               });
  }
  if (compares_variants()) {
    derive_variants(out, all);
  } else {
    derive_lambdas(out, all);
  }
  grid::derive_divergences(out, all.runs);
}

void Config::judge(const Records& records, Claims& claims) const {
  const Trained all{*this, records};
  claims.set_unit(Unit::training);
  judge_groups(all, claims);  // variants too, if several lambdas are given as well
  if (compares_variants()) {
    judge_variants(all, claims);
  } else {
    judge_cause(all, claims);
  }
  judge_table_1(all, claims);
}

void Config::show(Display& out) const {
  const Trained all{*this, out.records()};
  out.note(all.task().description());
  if (compares_variants()) {
    draw_variants(out, all);
  } else {
    draw_lambdas(out, all);
  }
  grid::note_divergences(out, all.runs, [](const Run& run) { return run.name(); });
}

}  // namespace ranklab::train
