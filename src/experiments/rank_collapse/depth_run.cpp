#include "experiments/rank_collapse/depth_run.hpp"

#include <cmath>
#include <limits>
#include <memory>

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

struct Measure {
  std::string name;
  double TokenGeometry::*value;
};

const std::vector<Measure>& measures() {
  static const std::vector<Measure> list = {{"mu", &TokenGeometry::mu},
                                            {"mu_normalized", &TokenGeometry::mu_normalized},
                                            {"token_similarity", &TokenGeometry::token_similarity},
                                            {"token_diversity", &TokenGeometry::token_diversity},
                                            {"cosine_similarity", &TokenGeometry::cosine_similarity},
                                            {"rank_one_residual", &TokenGeometry::rank_one_residual},
                                            {"stable_rank", &TokenGeometry::stable_rank},
                                            {"effective_rank", &TokenGeometry::effective_rank},
                                            {"norm", &TokenGeometry::norm}};
  return list;
}

TokenGeometry undefined_geometry() {
  TokenGeometry g;
  for (const Measure& measure : measures()) g.*measure.value = undefined;
  return g;
}

// A curve on its way down.
template <class T>
struct Traveller {
  State<T> state;
  DepthTrace trace;
};

template <class T>
TokenGeometry measured(const State<T>& state) {
  TokenGeometry g = token_geometry(state.Y);
  const double scale = std::exp2(state.log2_scale);
  g.norm *= scale;
  g.mu *= scale;
  return g;
}

template <class T>
double log10_norm(const State<T>& state, const TokenGeometry& g) {
  const double unscaled = state.log2_scale == 0 ? g.norm : static_cast<double>(arma::norm(state.Y, "fro"));
  return std::log10(unscaled) + state.log2_scale * std::log10(2.0);
}

template <class T>
void measure(Traveller<T>& traveller, std::uint64_t layer, bool with_before, const TokenGeometry& before) {
  DepthTrace& trace = traveller.trace;
  // Once a state is not finite, all that follow are not.
  if (trace.overflow_layer == 0 && !(traveller.state.Y.is_finite() && std::isfinite(traveller.state.log2_scale))) {
    trace.overflow_layer = layer;
  }
  const bool finite = trace.overflow_layer == 0;
  trace.after.push_back(finite ? measured(traveller.state) : undefined_geometry());
  if (with_before) trace.before.push_back(finite ? before : undefined_geometry());
  trace.log10_norm.push_back(finite ? log10_norm(traveller.state, trace.after.back()) : undefined);
}

double at_layer(const std::vector<double>& schedule, std::uint64_t layer) {
  return schedule.size() == 1 ? schedule.front() : schedule.at(layer);
}

template <class T>
void advance(Traveller<T>& traveller, const Block<T>& block, const DepthCurve& curve, std::uint64_t layer, bool with_before) {
  TokenGeometry before;
  traveller.state.branch = {};
  if (traveller.trace.overflow_layer == 0) {
    State<T>& state = traveller.state;
    block.forward(state, at_layer(curve.lambda, layer));
    if (with_before && state.Y.is_finite()) before = measured(state);
    if (!curve.tau.empty()) state.Y.each_col() -= static_cast<T>(at_layer(curve.tau, layer)) * arma::Col<T>(arma::mean(state.Y, 1));
  }
  measure(traveller, layer + 1, with_before, before);
  traveller.trace.branch.push_back(traveller.trace.overflow_layer == 0 ? traveller.state.branch : BranchNorms{});
}

template <class T>
std::vector<Traveller<T>> at_input(const DepthGroup& group, const Trial& trial, bool measure_before) {
  const State<T> input = draw_input<T>(group.spec, trial);
  std::vector<Traveller<T>> travellers(group.curves.size());
  for (Traveller<T>& traveller : travellers) {
    traveller.state = input;
    measure(traveller, 0, measure_before, measure_before ? measured(input) : TokenGeometry{});
  }
  return travellers;
}

template <class T>
std::vector<DepthTrace> traces_of(std::vector<Traveller<T>>& travellers) {
  std::vector<DepthTrace> traces;
  for (Traveller<T>& traveller : travellers) {
    traveller.trace.degenerate_rows = static_cast<double>(traveller.state.degenerate_rows);
    traces.push_back(std::move(traveller.trace));
  }
  return traces;
}

}  // namespace

template <class T>
std::vector<DepthTrace> run_depth(const DepthGroup& group, const Trial& trial, bool measure_before,
                                  const DepthObserver<T>& observe) {
  const ModelSpec& spec = group.spec;
  std::vector<Traveller<T>> travellers = at_input<T>(group, trial, measure_before);
  std::unique_ptr<Block<T>> block;
  for (std::uint64_t layer = 0; layer < spec.layers; ++layer) {
    trial.check_interrupt();
    if (block == nullptr || !spec.shares_weights()) {
      block.reset();  // before the next is drawn: one block of weights in memory
      DrawnTensors<T> tensors = block_tensors<T>(spec, trial, layer);
      block = make_block<T>(spec, tensors);
    }
    trial.for_each_part(travellers.size(), [&](std::size_t c) {
      if (observe && travellers[c].trace.overflow_layer == 0) observe(c, *block, travellers[c].state);
      advance(travellers[c], *block, group.curves[c], layer, measure_before);
    });
  }
  return traces_of(travellers);
}

template <class T>
std::vector<std::vector<DepthTrace>> run_variants(const std::vector<DepthGroup>& groups, const Trial& trial) {
  std::vector<std::vector<Traveller<T>>> travellers;
  for (const DepthGroup& group : groups) travellers.push_back(at_input<T>(group, trial, false));
  for (std::uint64_t layer = 0; layer < groups.front().spec.layers; ++layer) {
    DrawnTensors<T> drawn = block_tensors<T>(groups.front().spec, trial, layer);
    RememberedTensors<T> tensors(drawn);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      trial.check_interrupt();
      const std::unique_ptr<Block<T>> block = make_block<T>(groups[g].spec, tensors);
      trial.for_each_part(travellers[g].size(),
                          [&](std::size_t c) { advance(travellers[g][c], *block, groups[g].curves[c], layer, false); });
    }
  }
  std::vector<std::vector<DepthTrace>> traces;
  for (auto& group : travellers) traces.push_back(traces_of(group));
  return traces;
}

const std::vector<std::string>& depth_measures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Measure& measure : measures()) list.push_back(measure.name);
    return list;
  }();
  return names;
}

void record_trace(const std::string& name, const DepthTrace& trace, TrialRecord& record) {
  const auto store = [&](const std::string& prefix, const std::vector<TokenGeometry>& layers) {
    for (const Measure& measure : measures()) {
      std::vector<double> values;
      for (const TokenGeometry& g : layers) values.push_back(g.*measure.value);
      record.set(prefix + measure.name, std::move(values));
    }
  };
  store(name + ".", trace.after);
  if (!trace.before.empty()) store(name + ".before.", trace.before);
  record.set(name + ".log10_norm", trace.log10_norm);
  if (!trace.branch.empty() && std::isfinite(trace.branch.front().output)) {
    std::vector<double> input, output;
    for (const BranchNorms& norms : trace.branch) {
      input.push_back(norms.input);
      output.push_back(norms.output);
    }
    record.set(name + ".branch_input_norm", std::move(input));
    record.set(name + ".branch_output_norm", std::move(output));
  }
  record.set(name + ".overflow_layer", static_cast<double>(trace.overflow_layer));
  record.set(name + ".degenerate_rows", trace.degenerate_rows);
}

DepthCost depth_cost(const std::vector<DepthGroup>& groups) {
  DepthCost cost;
  for (const DepthGroup& group : groups) {
    const ModelSpec& spec = group.spec;
    const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim), K = static_cast<double>(spec.layers),
                 curves = static_cast<double>(group.curves.size()), small = std::min(N, d);
    const double scores = spec.model == "attention" || spec.has_mlp() ? N * N * static_cast<double>(spec.heads) : 0;
    const double block = parameters_per_block(spec), width = 8 * d + (spec.has_mlp() ? static_cast<double>(spec.ffn) : 0);
    cost.bytes = std::max(cost.bytes, 8 * (2 * block + curves * (N * d + 9 * K) + scores + N * width + 4 * small * small));
    const double geometry = 2 * N * d * small + 4 * small * small * small;
    const double draws = 30 * block * (spec.shares_weights() ? 1 : K);  // a draw costs about as much as so many operations
    cost.flops += draws + K * curves * (flops_per_block(spec) + geometry);
  }
  return cost;
}

template std::vector<DepthTrace> run_depth(const DepthGroup&, const Trial&, bool, const DepthObserver<float>&);
template std::vector<DepthTrace> run_depth(const DepthGroup&, const Trial&, bool, const DepthObserver<double>&);
template std::vector<std::vector<DepthTrace>> run_variants<float>(const std::vector<DepthGroup>&, const Trial&);
template std::vector<std::vector<DepthTrace>> run_variants<double>(const std::vector<DepthGroup>&, const Trial&);

}  // namespace ranklab
