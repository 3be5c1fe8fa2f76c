#include "experiments/rank_collapse/depth/run.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>

#include "models/blocks/model_row.hpp"
#include "report/environment.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

struct TokenMeasure {
  const char* name;
  double TokenGeometry::*value;
};

constexpr TokenMeasure measures[] = {{measure::mu, &TokenGeometry::mu},
                                     {measure::mu_normalized, &TokenGeometry::mu_normalized},
                                     {measure::token_similarity, &TokenGeometry::token_similarity},
                                     {measure::token_diversity, &TokenGeometry::token_diversity},
                                     {measure::cosine_similarity, &TokenGeometry::cosine_similarity},
                                     {measure::rank_one_residual, &TokenGeometry::rank_one_residual},
                                     {measure::stable_rank, &TokenGeometry::stable_rank},
                                     {measure::effective_rank, &TokenGeometry::effective_rank},
                                     {measure::norm, &TokenGeometry::norm}};

TokenGeometry undefined_geometry() {
  TokenGeometry g;
  for (const TokenMeasure& each : measures) g.*each.value = undefined;
  return g;
}

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

// A curve of a trial on its way down.
template <class T>
struct Traveller {
  const DepthCurve* curve;
  State<T> state;
  DepthTrace trace;
};

// Appends what the state is after `layer` blocks, and was before de-escalation. Once it is not finite, all that follows is
// undefined.
template <class T>
void measure_layer(Traveller<T>& traveller, std::uint64_t layer, const TokenGeometry& before) {
  DepthTrace& trace = traveller.trace;
  const State<T>& state = traveller.state;
  if (trace.overflow_layer == 0 && !(state.Y.is_finite() && std::isfinite(state.log2_scale))) trace.overflow_layer = layer;
  const bool finite = trace.overflow_layer == 0;
  trace.after.push_back(finite ? measured(state) : undefined_geometry());
  trace.log10_norm.push_back(finite ? log10_norm(state, trace.after.back()) : undefined);
  if (!traveller.curve->tau.empty()) trace.before.push_back(finite && layer > 0 ? before : trace.after.back());
  if (layer > 0) trace.branch.push_back(finite ? state.branch : BranchNorms{});
}

double at_layer(const std::vector<double>& schedule, std::uint64_t layer) {
  return schedule.size() == 1 ? schedule.front() : schedule.at(layer);
}

template <class T>
void advance(Traveller<T>& traveller, const Block<T>& block, std::uint64_t layer) {
  const DepthCurve& curve = *traveller.curve;
  State<T>& state = traveller.state;
  TokenGeometry before;
  if (traveller.trace.overflow_layer == 0) {
    state.branch = {};
    block.forward(state, at_layer(curve.lambda, layer));
    if (!curve.tau.empty()) {
      if (state.Y.is_finite()) before = measured(state);
      state.Y.each_col() -= static_cast<T>(at_layer(curve.tau, layer)) * arma::Col<T>(arma::mean(state.Y, 1));
    }
  }
  measure_layer(traveller, layer + 1, before);
}

// Appends those of one trial, at the input.
template <class T>
void add_travellers(const ModelSpec& spec, const std::vector<DepthCurve>& curves, const Trial& trial,
                    std::vector<Traveller<T>>& travellers) {
  const State<T> input = draw_input<T>(spec, trial);
  for (const DepthCurve& curve : curves) {
    travellers.push_back({&curve, input, {}});
    measure_layer(travellers.back(), 0, {});
  }
}

template <class T>
DepthTraces traces_of(std::span<Traveller<T>> travellers) {
  DepthTraces traces;
  for (Traveller<T>& traveller : travellers) {
    traveller.trace.degenerate_rows = static_cast<double>(traveller.state.degenerate_rows);
    traces.push_back(std::move(traveller.trace));
  }
  return traces;
}

template <class T>
std::unique_ptr<Block<T>> block_at(const ModelSpec& spec, const Trial& trial, std::uint64_t layer) {
  return make_block<T>(spec, *tensors_of_layer<T>(spec, trial, layer));
}

// Takes the travellers through all layers. The trial is that of drawn weights, or any of those that share a file's.
template <class T>
void walk(const ModelSpec& spec, const Trial& trial, std::vector<Traveller<T>>& travellers, const DepthObserver<T>& observe) {
  // Reading a block takes about as long as a few states take through it.
  const bool reads_ahead = spec.checkpoint != nullptr && !spec.shares_weights();
  std::unique_ptr<Block<T>> block, next;
  for (std::uint64_t layer = 0; layer < spec.layers; ++layer) {
    trial.check_interrupt();
    if (next != nullptr) {
      block = std::move(next);
    } else if (block == nullptr || !spec.shares_weights()) {
      block.reset();  // before the next is drawn: one block of weights in memory
      block = block_at<T>(spec, trial, layer);
    }
    const std::size_t ahead = reads_ahead && layer + 1 < spec.layers ? 1 : 0;
    trial.for_each_part(ahead + travellers.size(), [&](std::size_t part) {
      if (part < ahead) {
        next = block_at<T>(spec, trial, layer + 1);
        return;
      }
      const std::size_t c = part - ahead;
      if (observe && travellers[c].trace.overflow_layer == 0) observe(c, *block, travellers[c].state);
      advance(travellers[c], *block, layer);
    });
  }
}

template <class T>
std::vector<DepthTraces> walk_trials(const ModelSpec& spec, const std::vector<std::vector<DepthCurve>>& curves,
                                     const std::vector<Trial>& trials, const DepthObserver<T>& observe = {}) {
  std::vector<DepthTraces> traces;
  const std::size_t at_once = spec.checkpoint != nullptr ? trials.size() : 1;  // drawn weights belong to one trial
  for (std::size_t begin = 0; begin < trials.size(); begin += at_once) {
    std::vector<Traveller<T>> travellers;
    for (std::size_t t = begin; t < begin + at_once; ++t) add_travellers<T>(spec, curves[t], trials[t], travellers);
    walk(spec, trials[begin], travellers, observe);
    std::span<Traveller<T>> arrived(travellers);
    for (std::size_t t = begin; t < begin + at_once; ++t) {
      traces.push_back(traces_of(arrived.first(curves[t].size())));
      arrived = arrived.subspan(curves[t].size());
    }
  }
  return traces;
}

template <class T>
std::vector<std::vector<DepthTraces>> walk_variants(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials) {
  const ModelSpec& common = groups.front().spec;
  const Trial& trial = trials.front();
  std::vector<std::vector<Traveller<T>>> travellers(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const Trial& each : trials) add_travellers<T>(groups[g].spec, groups[g].curves, each, travellers[g]);
  }
  for (std::uint64_t layer = 0; layer < common.layers; ++layer) {
    const std::unique_ptr<Tensors<T>> source = tensors_of_layer<T>(common, trial, layer);
    RememberedTensors<T> tensors(*source);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      trial.check_interrupt();
      const std::unique_ptr<Block<T>> block = make_block<T>(groups[g].spec, tensors);
      trial.for_each_part(travellers[g].size(), [&](std::size_t c) { advance(travellers[g][c], *block, layer); });
    }
  }
  std::vector<std::vector<DepthTraces>> traces(trials.size());
  for (std::size_t t = 0; t < trials.size(); ++t) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::size_t curves = groups[g].curves.size();
      traces[t].push_back(traces_of(std::span(travellers[g]).subspan(t * curves, curves)));
    }
  }
  return traces;
}

}  // namespace

template <class T>
DepthTraces run_depth(const DepthGroup& group, const Trial& trial, const DepthObserver<T>& observe) {
  return walk_trials<T>(group.spec, {group.curves}, {trial}, observe).front();
}

template DepthTraces run_depth(const DepthGroup&, const Trial&, const DepthObserver<float>&);
template DepthTraces run_depth(const DepthGroup&, const Trial&, const DepthObserver<double>&);

std::vector<DepthTraces> run_trials(const ModelSpec& spec, const std::vector<std::vector<DepthCurve>>& curves,
                                    const std::vector<Trial>& trials, bool single_precision) {
  return single_precision ? walk_trials<float>(spec, curves, trials) : walk_trials<double>(spec, curves, trials);
}

std::vector<std::vector<DepthTraces>> run_variants(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                                                   bool single_precision) {
  if (groups.front().spec.checkpoint == nullptr && trials.size() > 1) {
    throw std::logic_error("run_variants: drawn weights belong to one trial");
  }
  return single_precision ? walk_variants<float>(groups, trials) : walk_variants<double>(groups, trials);
}

void record_trace(const std::string& curve, const DepthTrace& trace, TrialRecord& record) {
  const auto store = [&](const std::string& under, const std::vector<TokenGeometry>& layers) {
    for (const TokenMeasure& each : measures) {
      std::vector<double> values;
      for (const TokenGeometry& g : layers) values.push_back(g.*each.value);
      record.set(of_curve(under, each.name), std::move(values));
    }
  };
  store(curve, trace.after);
  if (!trace.before.empty()) store(before_de_escalation(curve), trace.before);
  record.set(of_curve(curve, measure::log10_norm), trace.log10_norm);
  if (!trace.branch.empty() && std::isfinite(trace.branch.front().output)) {
    std::vector<double> input, output;
    for (const BranchNorms& norms : trace.branch) {
      input.push_back(norms.input);
      output.push_back(norms.output);
    }
    record.set(of_curve(curve, measure::branch_input_norm), std::move(input));
    record.set(of_curve(curve, measure::branch_output_norm), std::move(output));
  }
  record.set(of_curve(curve, overflow_layer), static_cast<double>(trace.overflow_layer));
  record.set(of_curve(curve, degenerate_rows), trace.degenerate_rows);
}

const std::vector<std::string>& token_measures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const TokenMeasure& each : measures) list.push_back(each.name);
    return list;
  }();
  return names;
}

std::uint64_t trials_per_batch(const ModelSpec& spec) {
  // Enough that reading a layer costs little beside using it and that every core has one, few enough that not much is lost when
  // a run is stopped.
  constexpr std::uint64_t sequences = 8;
  return spec.checkpoint != nullptr ? std::max(sequences, available_cores()) : 1;
}

Estimate depth_cost(const std::vector<DepthGroup>& groups) {
  Estimate cost;
  for (const DepthGroup& group : groups) {
    const ModelSpec& spec = group.spec;
    const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim), K = static_cast<double>(spec.layers),
                 curves = static_cast<double>(group.curves.size()), small = std::min(N, d);
    const double scores = spec.row().attends ? N * N * static_cast<double>(spec.heads) : 0;
    const double block = parameters_per_block(spec), width = 8 * d + (spec.has_mlp() ? static_cast<double>(spec.ffn) : 0);
    const double weights = 2 * block, states = curves * (N * d + 9 * K), at_work = scores + N * width + 4 * small * small;
    const double geometry = 2 * N * d * small + 4 * small * small * small;
    if (spec.checkpoint != nullptr) {
      // A batch's states, two layers at once and the largest matrix of the second as it was read; a value is read about as fast as
      // so many operations are done.
      cost.shared_bytes = std::max(cost.shared_bytes, 8 * (1.25 * weights + static_cast<double>(trials_per_batch(spec)) * states));
      cost.bytes = std::max(cost.bytes, 8 * at_work);
      cost.flops += 30 * block * K / static_cast<double>(trials_per_batch(spec));
    } else {
      cost.bytes = std::max(cost.bytes, 8 * (weights + states + at_work));
      cost.flops += 30 * block * (spec.shares_weights() ? 1 : K);  // a draw costs about as much as so many operations
    }
    cost.flops += K * curves * (flops_per_block(spec) + geometry);
  }
  return cost;
}

}  // namespace ranklab
