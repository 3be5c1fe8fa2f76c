#include <algorithm>

#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"
#include "report/builder.hpp"

namespace ranklab::multi_spike {
namespace {

// The name of a scalar contains l=, u=, c= if the flag has several values, and always d=. The plain
// names belong to the last value of every list.
void add_scalars(ResultBuilder& out, const Plan& plan) {
  const auto of_family = {burn_in,        burn_in_crossing,  window_end, window_length,
                          remark_burn_in, remark_window_end, peak,       peak_iteration,
                          nuclear_rank_0, nuclear_rank_1,    evaluations};
  const std::string& last = plan.families.back().settings.back().prefix;
  for (const char* name : of_family) out.scalar(name, scalars_of(out.records(), last + name));
  for (const SpikeFamily& family : plan.families) {
    for (const Setting& at : family.settings) {
      for (const char* name : of_family) out.scalar(at.prefix + name);
    }
    if (plan.d.size() < 3) continue;
    const SizeClaims over_d = over_sizes(plan, family.names, out.records(), out.claims());
    const auto exponent = [&](const char* name, const char* quantity,
                              double (SpikePair::*prediction)(double) const) {
      const Metric over =
          ratio(quantity, [&](const AtSize& at) { return (family.pair.*prediction)(at.x); });
      out.scalar(family.names + name,
                 slopes_over(out.records(), plan.d, over_d.at_sizes(over), fit_power));
    };
    exponent("burn_in_exponent", burn_in_crossing, &SpikePair::burn_in_scale);
    exponent("window_exponent", window_length, &SpikePair::window_scale);
    exponent("remark_window_exponent", remark_window_end, &SpikePair::remark_scale);
    out.scalar(family.names + "burn_in_slope", burn_in_slopes(plan, family, out.records()));
  }
  for (const SpikePair& pair : plan.pairs) {
    for (const std::uint64_t d : plan.config.d) {
      const std::string at = at_size(pair.names, d);
      for (const char* name :
           {bulk_smallest, bulk_largest, spike_smallest, spike_largest, eigenvalue_gap, W_norm}) {
        out.scalar(at + name);
      }
      if (!plan.teacher()) continue;
      for (const char* name : {left_distance, right_distance, leak}) out.scalar(at + name);
    }
  }
}

void add_series(ResultBuilder& out, const Plan& plan) {
  for (const SpikeFamily& family : plan.families) {
    for (const Setting& at : family.settings) {
      out.series(at.prefix + ranks, "iteration",
                 std::vector<double>(at.iterations.begin(), at.iterations.end()));
    }
    const auto over_d = [&](const std::string& name, const ValueAtSize& value) {
      out.series(family.names + name, "d", plan.d, value);
    };
    for (const char* name : {burn_in, burn_in_crossing, window_end, remark_window_end}) {
      over_d(name, [&](const TrialRecord& record, std::size_t i) {
        return record.scalar(family.settings[i].prefix + name);
      });
    }
    const auto predicted = [&](std::uint64_t Span::*end) {
      return [&family, end](const TrialRecord&, std::size_t i) {
        return static_cast<double>(family.settings[i].window.*end);
      };
    };
    over_d("predicted_burn_in", predicted(&Span::from));
    over_d("predicted_window_end", predicted(&Span::to));
  }
}

// The figures ------------------------------------------------------------------------------------

constexpr std::size_t most_pairs = 5;  // columns of a figure
constexpr std::size_t most_sizes = 3;  // rows of the further figure of paths

std::size_t shown_pairs(const Plan& plan) {
  return std::min(plan.pairs.size(), most_pairs);
}

std::string level_text(const Plan& plan) {
  return plan.teacher() ? "d/5" : "d/4";
}

std::string power_of_d(double exponent) {
  return exponent == 1 ? "d" : "d^" + short_number(exponent);
}

std::string exponents_text(const SpikePair& pair) {
  const std::string high = "u = " + short_number(pair.high);
  return pair.low == pair.high ? "l = " + high : "l = " + short_number(pair.low) + ", " + high;
}

// "spikes from d^0.6 to d (l = 0.6, u = 1)"
std::string spikes_text(const Plan& plan, const SpikePair& pair) {
  const std::string high = power_of_d(pair.high),
                    spikes = plan.config.spikes == 1 ? "one spike " + high
                             : pair.low == pair.high
                                 ? "all spikes equal " + high
                                 : "spikes from " + power_of_d(pair.low) + " to " + high;
  return spikes + " (" + exponents_text(pair) + ")";
}

std::string step_text(double c) {
  return "c = " + short_number(c) + ": step " +
         (c == 1 ? "1/||B||" : "1/(" + short_number(c) + " ||B||)");
}

// The nuclear rank over the iterations and the windows in which it should exceed the level, one
// color per step. Each size has its own panel, because windows of several sizes would cover each
// other. W_0 is at 1, because iteration 0 has no place on a logarithmic axis.
void add_path_panel(ResultBuilder& out, const Plan& plan, const SpikePair& pair, std::size_t size,
                    std::string title, std::string y_label) {
  PanelBuilder panel =
      out.panel(std::move(title), log_axis("iteration + 1"), rank_axis(std::move(y_label)));
  panel.group("path");
  int color = 0;
  for (const SpikeFamily& family : plan.families) {
    if (family.pair.names != pair.names) continue;
    const Setting& at = family.settings[size];
    if (color == 0) panel.line(at.level, level_text(plan));
    panel.curve(at.prefix + ranks, step_text(family.c), {.color = color, .x_offset = 1});
    const Span window = at.window;
    if (window.from <= window.to) {
      panel.band(real(window.from) + 1, real(window.to) + 1,
                 "predicted window, c = " + short_number(family.c), color);
    }
    ++color;
  }
}

// The last size in the first figure, and the sizes before it, one row each, in a further one.
void add_paths(ResultBuilder& out, const Plan& plan) {
  const std::size_t pairs = shown_pairs(plan), last = plan.d.size() - 1,
                    others = std::min(last, most_sizes);
  const auto size_text = [&](std::size_t size) {
    return "d = " + std::to_string(plan.config.d[size]);
  };
  for (std::size_t i = 0; i < pairs; ++i) {
    add_path_panel(out, plan, plan.pairs[i], last, spikes_text(plan, plan.pairs[i]),
                   "nuclear rank nr(G) at " + size_text(last));
  }
  out.columns(pairs);
  if (others == 0) return;
  out.next_figure("Nuclear rank along gradient descent at the other dimensions d");
  for (std::size_t size = last - others; size < last; ++size) {
    for (std::size_t i = 0; i < pairs; ++i) {
      add_path_panel(out, plan, plan.pairs[i], size,
                     size_text(size) + ", " + exponents_text(plan.pairs[i]), "nuclear rank nr(G)");
    }
  }
  out.columns(pairs > 1 ? pairs : others);
}

// An end of the window over d in one panel per pair; `formula` is the prediction in terms of c.
struct WindowEnd {
  const char *title, *measured, *predicted, *formula;
  std::string y_label;
};

void add_scaling_row(ResultBuilder& out, const Plan& plan, const WindowEnd& end) {
  for (std::size_t i = 0; i < shown_pairs(plan); ++i) {
    const SpikePair& pair = plan.pairs[i];
    PanelBuilder panel = out.panel(std::string(end.title) + ", " + exponents_text(pair),
                                   log_axis("dimension d"), log_axis(end.y_label));
    panel.group(end.title);
    int color = 0;
    for (const SpikeFamily& family : plan.families) {
      if (family.pair.names != pair.names) continue;
      const std::string step = ", c = " + short_number(family.c);
      panel
          .curve(family.names + end.measured, "measured" + step,
                 {.style = LineStyle::line_points, .color = color, .band = BandKind::interval})
          .curve(family.names + end.predicted, "predicted " + (end.formula + step),
                 {.style = LineStyle::dashed, .color = color, .band = BandKind::interval});
      ++color;
    }
  }
}

void add_figures(ResultBuilder& out, const Plan& plan) {
  add_paths(out, plan);
  if (plan.d.size() == 1) return;
  out.next_figure("Burn-in and end of the window over the dimension d");
  add_scaling_row(out, plan,
                  {"Burn-in", burn_in_crossing, "predicted_burn_in", "c u d^(u-l) log d",
                   "iteration at which nr(G) reaches " + level_text(plan)});
  add_scaling_row(out, plan,
                  {"End of the window", window_end, "predicted_window_end", "c d^u",
                   "iteration at which nr(G) falls below " + level_text(plan)});
  out.columns(shown_pairs(plan));
}

void add_notes(ResultBuilder& out, const Plan& plan) {
  out.note(std::string("A nuclear rank counts as large if it is at least ") +
           (plan.teacher() ? "0.2 d" : "d/4") +
           "; the paper leaves the multiple of d unspecified. Burn-in and window end are exact: "
           "every iteration was evaluated or enclosed by convexity of log ||G_t||_*. The curves of "
           "the burn-in interpolate log nr between the last iteration below the level and the "
           "next. The peak is exact to 0.1%.");
  for (const double c : plan.config.c) {
    if (c == 1) {
      out.note(
          "With c = 1 the first step removes the top eigendirection of B exactly. If also l = u, "
          "it removes all spikes up to the contribution of the bulk, for every d. With c > 1 the "
          "spikes decay geometrically.");
    }
  }
  if (plan.pairs.size() > shown_pairs(plan)) {
    out.note("The figures show the first " + std::to_string(shown_pairs(plan)) + " of " +
             std::to_string(plan.pairs.size()) + " pairs (l, u).");
  }
  if (plan.d.size() > most_sizes + 1) {
    out.note("The figures of single sizes show the last " + std::to_string(most_sizes + 1) +
             " values of d.");
  }
  std::vector<std::string> left_out;
  for (const double low : plan.config.spike_low) {
    for (const double high : plan.config.spike_high) {
      if (low > high && plan.config.spikes > 1)
        left_out.push_back("(" + short_number(low) + ", " + short_number(high) + ")");
    }
  }
  if (!left_out.empty())
    out.note("Pairs (l, u) with l > u were skipped: " + joined(left_out) + ".");
  if (plan.teacher()) {
    out.note(
        "||S-bar_1 R_1' L_2||_op is of order 1 here instead of d^(u-l), because the spikes of B "
        "and B-bar have equal sizes: the error in the direction of each spike is the inverse of "
        "the size of that spike.");
  }
}

}  // namespace

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out(plan.teacher()
                        ? "Nuclear rank of the gradient with several spikes, labels of a teacher"
                        : "Nuclear rank of the gradient with several spikes, realizable labels",
                    records);
  add_scalars(out, plan);
  add_series(out, plan);
  judge(plan, records, out.claims());
  add_figures(out, plan);
  add_notes(out, plan);
  return out.take();
}

}  // namespace ranklab::multi_spike
