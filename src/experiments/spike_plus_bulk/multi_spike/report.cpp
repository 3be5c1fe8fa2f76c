// The study multi-spike: what is shown; flags, memory, work.
#include <algorithm>

#include "experiments/spike_plus_bulk/commands.hpp"
#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"

namespace ranklab::multi_spike {
namespace {

constexpr Measure predicted_burn_in = {"predicted_burn_in", "c u d^(u-l) log d",
                                       "predicted start of the window"},
                  predicted_window_end = {"predicted_window_end", "c d^u",
                                          "predicted end of the window"},
                  burn_in_slope = {"burn_in_slope", "b",
                                   "slope in burn-in / d^(u-l) = a + b log d"};
struct ExponentOverD {
  Measure exponent, of;
  Prediction over;
};
constexpr ExponentOverD exponents[] = {
    {{"burn_in_exponent", "", "exponent of d in burn-in / (d^(u-l) log d)"},
     burn_in_crossing,
     &SpikePair::burn_in_scale},
    {{"window_exponent", "", "exponent of d in length of the window / d^u"},
     window_length,
     &SpikePair::window_scale},
    {{"remark_window_exponent", "", "exponent of d in end of the longer window / (d^u log d)"},
     remark_window_end,
     &SpikePair::remark_scale}};

void add_scalars(const Config& c, Numbers& out) {
  const auto of_family = {burn_in,        burn_in_crossing,  window_end, window_length,
                          remark_burn_in, remark_window_end, peak,       peak_iteration,
                          nuclear_rank_0, nuclear_rank_1,    evaluations};
  const std::vector<SpikeFamily> families = c.families();
  const At& last = families.back().settings.back().place;
  for (const Measure& each : of_family) out.scalar(each, scalars_of(out.records(), last / each));
  for (const SpikeFamily& family : families) {
    for (const Setting& at : family.settings) {
      for (const Measure& each : of_family) out.scalar(at.place / each);
    }
    if (c.d.size() < 3) continue;
    const Sizes over_d = sizes_over_d(c, family.place);
    for (const auto& [exponent, of, prediction] : exponents) {
      out.scalar(over_all_sizes(family.place, exponent),
                 slopes_over(out.records(), over_d.x,
                             over_d.at_sizes(over(of, family.pair, prediction)), fit_power));
    }
    out.scalar(over_all_sizes(family.place, burn_in_slope), burn_in_slopes(family, out.records()));
  }
  for (const SpikePair& pair : c.pairs()) {
    for (const std::uint64_t d : c.d) {
      const At at = at_size(pair.place, d);
      for (const Measure& each :
           {bulk_smallest, bulk_largest, spike_smallest, spike_largest, eigenvalue_gap, W_norm}) {
        out.scalar(at / each);
      }
      if (!c.teacher()) continue;
      for (const Measure& each : {left_distance, right_distance, leak}) out.scalar(at / each);
    }
  }
}

void add_series(const Config& c, Numbers& out) {
  for (const SpikeFamily& family : c.families()) {
    for (const Setting& at : family.settings) {
      out.series(at.place / ranks, "iteration",
                 std::vector<double>(at.iterations.begin(), at.iterations.end()));
    }
    const Sizes over_d = sizes_over_d(c, family.place);
    const auto series = [&](const Measure& measure, const Metric& metric) {
      out.series(over_all_sizes(family.place, measure), "d", over_d.x, over_d.at_sizes(metric));
    };
    for (const Measure& each : {burn_in, burn_in_crossing, window_end, remark_window_end})
      series(each, each);
    const auto predicted = [&](std::uint64_t Span::*end) {
      return [&family, end](const AtSize& at) { return real(family.settings[at.i].window.*end); };
    };
    series(predicted_burn_in, predicted(&Span::from));
    series(predicted_window_end, predicted(&Span::to));
  }
}

// The figures ------------------------------------------------------------------------------------

constexpr std::size_t most_pairs = 5;  // columns of a figure
constexpr std::size_t most_sizes = 3;  // rows of the further figure of paths

std::size_t shown_pairs(const Config& c) {
  return std::min(c.pairs().size(), most_pairs);
}

std::string level_text(const Config& c) {
  return c.teacher() ? "d/5" : "d/4";
}

std::string power_of_d(double exponent) {
  return exponent == 1 ? "d" : say("d^{}", exponent);
}

std::string exponents_text(const SpikePair& pair) {
  return pair.low == pair.high ? say("l = u = {}", pair.high)
                               : say("l = {}, u = {}", pair.low, pair.high);
}

// "spikes from d^0.6 to d (l = 0.6, u = 1)"
std::string spikes_text(const Config& c, const SpikePair& pair) {
  const std::string low = power_of_d(pair.low), high = power_of_d(pair.high),
                    spikes = c.spikes == 1           ? "one spike " + high
                             : pair.low == pair.high ? "all spikes equal " + high
                                                     : say("spikes from {} to {}", low, high);
  return say("{} ({})", spikes, exponents_text(pair));
}

std::string step_text(double c) {
  return c == 1 ? "c = 1: step 1/||B||" : say("c = {}: step 1/({} ||B||)", c, c);
}

// The nuclear rank over the iterations and the windows in which it should exceed the level, one
// color per step. Each size has its own panel, because windows of several sizes would cover each
// other. W_0 is at 1, because iteration 0 has no place on a logarithmic axis.
void add_path_panel(const Config& c, const SpikePair& pair, std::size_t size, std::string title,
                    std::string y_label, Display& out) {
  PanelBuilder panel =
      out.panel(std::move(title), log_axis("iteration + 1"), rank_axis(std::move(y_label)));
  panel.group("path");
  int color = 0;
  for (const SpikeFamily& family : c.families()) {
    if (family.pair.place.text != pair.place.text) continue;
    const Setting& at = family.settings[size];
    if (color == 0) panel.line(at.level, level_text(c));
    panel.curve(at.place / ranks, step_text(family.c), {.color = color, .x_offset = 1});
    const Span window = at.window;
    if (window.from <= window.to) {
      panel.band(real(window.from) + 1, real(window.to) + 1,
                 say("predicted window, c = {}", family.c), color);
    }
    ++color;
  }
}

// The last size in the first figure, and the sizes before it, one row each, in a further one.
void add_paths(const Config& c, Display& out) {
  const std::vector<SpikePair> pairs = c.pairs();
  const std::size_t shown = shown_pairs(c), last = c.d.size() - 1,
                    others = std::min(last, most_sizes);
  const auto size_text = [&](std::size_t size) { return say("d = {}", c.d[size]); };
  for (std::size_t i = 0; i < shown; ++i) {
    add_path_panel(c, pairs[i], last, spikes_text(c, pairs[i]),
                   "nuclear rank nr(G) at " + size_text(last), out);
  }
  out.columns(shown);
  if (others == 0) return;
  out.next_figure("Nuclear rank along gradient descent at the other dimensions d");
  for (std::size_t size = last - others; size < last; ++size) {
    for (std::size_t i = 0; i < shown; ++i) {
      add_path_panel(c, pairs[i], size, say("{}, {}", size_text(size), exponents_text(pairs[i])),
                     "nuclear rank nr(G)", out);
    }
  }
  out.columns(shown > 1 ? shown : others);
}

// An end of the window over d in one panel per pair; `formula` is the prediction in terms of c.
struct WindowEnd {
  const char* title;
  Measure measured, predicted;
  const char* formula;
  std::string y_label;
};

void add_scaling_row(const Config& c, const WindowEnd& end, Display& out) {
  const std::vector<SpikePair> pairs = c.pairs();
  for (std::size_t i = 0; i < shown_pairs(c); ++i) {
    PanelBuilder panel = out.panel(say("{}, {}", end.title, exponents_text(pairs[i])),
                                   log_axis("dimension d"), log_axis(end.y_label));
    panel.group(end.title);
    int color = 0;
    for (const SpikeFamily& family : c.families()) {
      if (family.pair.place.text != pairs[i].place.text) continue;
      panel
          .curve(over_all_sizes(family.place, end.measured), say("measured, c = {}", family.c),
                 {.style = LineStyle::line_points, .color = color, .band = BandKind::interval})
          .curve(over_all_sizes(family.place, end.predicted),
                 say("predicted {}, c = {}", end.formula, family.c),
                 {.style = LineStyle::dashed, .color = color, .band = BandKind::interval});
      ++color;
    }
  }
}

void add_figures(const Config& c, Display& out) {
  add_paths(c, out);
  if (c.d.size() == 1) return;
  out.next_figure("Burn-in and end of the window over the dimension d");
  add_scaling_row(c,
                  {"Burn-in", burn_in_crossing, predicted_burn_in, "c u d^(u-l) log d",
                   "iteration at which nr(G) reaches " + level_text(c)},
                  out);
  add_scaling_row(c,
                  {"End of the window", window_end, predicted_window_end, "c d^u",
                   "iteration at which nr(G) falls below " + level_text(c)},
                  out);
  out.columns(shown_pairs(c));
}

void add_notes(const Config& c, Display& out) {
  out.note(say(
      "A nuclear rank counts as large if it is at least {}; the paper leaves the multiple of d "
      "unspecified. Burn-in and window end are exact: every iteration was evaluated or enclosed by "
      "convexity of log ||G_t||_*. The curves of the burn-in interpolate log nr between the last "
      "iteration below the level and the next. The peak is exact to 0.1%.",
      c.teacher() ? "0.2 d" : "d/4"));
  for (const double step : c.c) {
    if (step == 1) {
      out.note(
          "With c = 1 the first step removes the top eigendirection of B exactly. If also l = u, "
          "it removes all spikes up to the contribution of the bulk, for every d. With c > 1 the "
          "spikes decay geometrically.");
    }
  }
  const std::size_t pairs = c.pairs().size();
  if (pairs > shown_pairs(c))
    out.note(say("The figures show the first {} of {} pairs (l, u).", shown_pairs(c), pairs));
  if (c.d.size() > most_sizes + 1)
    out.note(say("The figures of single sizes show the last {} values of d.", most_sizes + 1));
  std::vector<std::string> left_out;
  for (const double low : c.spike_low) {
    for (const double high : c.spike_high) {
      if (low > high && c.spikes > 1) left_out.push_back(say("({}, {})", low, high));
    }
  }
  if (!left_out.empty())
    out.note(say("Pairs (l, u) with l > u were skipped: {}.", joined(left_out)));
  if (c.teacher()) {
    out.note(
        "||S-bar_1 R_1' L_2||_op is of order 1 here instead of d^(u-l), because the spikes of B "
        "and B-bar have equal sizes: the error in the direction of each spike is the inverse of "
        "the size of that spike.");
  }
}

}  // namespace

std::string Config::title() const {
  return teacher() ? "Nuclear rank of the gradient with several spikes, labels of a teacher"
                   : "Nuclear rank of the gradient with several spikes, realizable labels";
}

void Config::derive(Numbers& out) const {
  add_scalars(*this, out);
  add_series(*this, out);
}

void Config::show(Display& out) const {
  add_figures(*this, out);
  add_notes(*this, out);
}

// Flags, memory, work -----------------------------------------------------------------------------

std::vector<Field> Config::flags() {
  return {
      size_list_field("d", d, 4, 4096, "d", "sizes k = m = d; a fit over d needs three or more"),
      size_field("spikes", spikes, 1, 4096, teacher() ? "p" : "r",
                 "number of spikes, at most the smallest d"),
      excluding_low(
          real_list_field("spike-low", spike_low, 0.0, 2.0, "l",
                          "exponent of the smallest spike d^l; pairs with l > u are skipped")),
      excluding_low(
          real_list_field("spike-high", spike_high, 0.0, 2.0, "u",
                          "exponent of the largest spike d^u; a single spike is d^u for any l")),
      real_list_field("c", c, 0.5, 1000.0, "c",
                      "constant of the step 1 / (c ||B||); the theorems assume c >= 1"),
      size_field("steps", steps, 0, 1'000'000'000, "T",
                 "last iteration to examine; 0: 20 c d^u log d"),
      excluding_low(real_field("epsilon", epsilon, 0.0, 1.0, "eps",
                               "exponent of the longer window, nr >= d^(1 - eps); below 1")),
  };
}

void Config::check() const {
  if (pairs().empty())
    throw UsageError(
        "--spike-low is above --spike-high in every pair; at least one pair must have l <= u");
  const std::uint64_t smallest = *std::min_element(d.begin(), d.end());
  if (spikes > smallest) {
    throw Misfit(say("--spikes {} is not allowed: at most the smallest --d, {}", spikes, smallest),
                 "spikes", std::to_string(smallest), {"d"});
  }
  if (steps == 1) throw UsageError("--steps 1 is not allowed: 0, or at least 2");
  if (epsilon >= 1.0) throw UsageError("--epsilon 1 is not allowed: below 1");
}

Estimate Config::memory() const {
  constexpr double typical_searches =
      40;  // singular value decompositions of a family at one size, in addition to the series
  Estimate cost;
  for (const SpikeFamily& family : families()) {
    for (const Setting& at : family.settings)
      cost.bytes += 8 * (typical_searches + static_cast<double>(at.iterations.size()));
  }
  // Bases, parts, B, G_0 and their eigenvectors. The parts of a trial run one after another unless
  // spare threads are available.
  const double largest = real(*std::max_element(d.begin(), d.end()));
  cost.bytes += 8 * (teacher() ? 22 : 14) * largest * largest;
  return cost;
}

Work Config::work() const {
  return each_trial([config = *this](Trial& trial) { return run_trial(config, trial); });
}

}  // namespace ranklab::multi_spike

namespace ranklab {

std::unique_ptr<Study> make_multi_spike_study(LabelModel model) {
  return std::make_unique<multi_spike::Config>(model);
}

}  // namespace ranklab
