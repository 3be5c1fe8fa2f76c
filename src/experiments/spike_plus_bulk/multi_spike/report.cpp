#include <algorithm>

#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"
#include "report/figure/builder.hpp"

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

std::string title(const SpikePair& pair) {
  return "l = " + short_number(pair.low) + ", u = " + short_number(pair.high);
}

// The nuclear rank over the iterations and the windows in which it should exceed the level, one
// color per step. Each size has its own panel, because windows of several sizes would cover each
// other.
void add_path_panel(ResultBuilder& out, const Plan& plan, const SpikePair& pair, std::size_t size) {
  PanelBuilder panel = out.panel(title(pair) + ", d = " + std::to_string(plan.config.d[size]),
                                 log_axis("iteration"), log_axis("nuclear rank of the gradient"));
  int color = 0;
  for (const SpikeFamily& family : plan.families) {
    if (family.pair.names != pair.names) continue;
    const Setting& at = family.settings[size];
    const std::string step = "c = " + short_number(family.c);
    if (color == 0) panel.line(at.level, plan.teacher() ? "d/5" : "d/4");
    panel.curve(at.prefix + ranks, step, {LineStyle::line, color});
    const Span window = at.window;
    if (window.from <= window.to) {
      panel.band(static_cast<double>(window.from), static_cast<double>(window.to),
                 "predicted window, " + step, color);
    }
    ++color;
  }
}

void add_scaling_panel(ResultBuilder& out, const Plan& plan, const char* title_text,
                       const std::string& measured, const std::string& predicted,
                       const std::string& bound) {
  PanelBuilder panel = out.panel(title_text, log_axis("d"), log_axis("iteration"));
  int color = 0;
  for (const SpikeFamily& family : plan.families) {
    panel.curve(family.names + measured, title(family.pair) + ", c = " + short_number(family.c),
                {LineStyle::line_points, color});
    panel.curve(family.names + predicted, color == 0 ? bound : "", {LineStyle::dashed, color});
    ++color;
  }
}

// At most nine panels of paths; if there are more sizes, the first ones are left out.
void add_figure(ResultBuilder& out, const Plan& plan) {
  constexpr std::size_t most = 9;
  const std::size_t sizes = std::clamp<std::size_t>(most / plan.pairs.size(), 1, plan.d.size());
  for (std::size_t i = 0; i < std::min(plan.pairs.size(), most); ++i) {
    for (std::size_t j = plan.d.size() - sizes; j < plan.d.size(); ++j)
      add_path_panel(out, plan, plan.pairs[i], j);
  }
  if (plan.d.size() == 1) return;
  add_scaling_panel(out, plan, "Burn-in", burn_in_crossing, "predicted_burn_in",
                    "c u d^(u-l) log d");
  add_scaling_panel(out, plan, "End of the window", window_end, "predicted_window_end", "c d^u");
}

void add_notes(ResultBuilder& out, const Plan& plan) {
  out.note(std::string("A nuclear rank counts as large if it is at least ") +
           (plan.teacher() ? "0.2 d" : "d/4") +
           "; the paper leaves the multiple of d unspecified. Burn-in and window end are exact: "
           "every iteration was evaluated or enclosed by convexity of log ||G_t||_*. The peak is "
           "exact to 0.1%.");
  for (const double c : plan.config.c) {
    if (c == 1) {
      out.note(
          "With c = 1 the first step removes the top eigendirection of B exactly. If also l = u, "
          "it removes all spikes up to the contribution of the bulk, for every d. With c > 1 the "
          "spikes decay geometrically.");
    }
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
  add_figure(out, plan);
  add_notes(out, plan);
  return out.take();
}

}  // namespace ranklab::multi_spike
