#include "experiments/rank_collapse/depth/run.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "models/blocks/model_row.hpp"
#include "report/environment.hpp"

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

// A curve of a trial on its way down.
template <class T>
struct Traveller {
  const DepthCurve* curve;
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
void advance(Traveller<T>& traveller, const Block<T>& block, std::uint64_t layer, bool with_before) {
  const DepthCurve& curve = *traveller.curve;
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

// Appends those of one trial.
template <class T>
void add_travellers(const ModelSpec& spec, const std::vector<DepthCurve>& curves, const Trial& trial, bool measure_before,
                    std::vector<Traveller<T>>& travellers) {
  const State<T> input = draw_input<T>(spec, trial);
  for (const DepthCurve& curve : curves) {
    travellers.push_back({&curve, input, {}});
    measure(travellers.back(), 0, measure_before, measure_before ? measured(input) : TokenGeometry{});
  }
}

// Of `count` travellers, from `first` on.
template <class T>
std::vector<DepthTrace> traces_of(std::vector<Traveller<T>>& travellers, std::size_t first, std::size_t count) {
  std::vector<DepthTrace> traces;
  for (std::size_t i = first; i < first + count; ++i) {
    travellers[i].trace.degenerate_rows = static_cast<double>(travellers[i].state.degenerate_rows);
    traces.push_back(std::move(travellers[i].trace));
  }
  return traces;
}

template <class T>
std::unique_ptr<Block<T>> block_at(const ModelSpec& spec, const Trial& trial, std::uint64_t layer) {
  return make_block<T>(spec, *tensors_of_layer<T>(spec, trial, layer));
}

// Takes the travellers through all layers. The trial is that of drawn weights, or any of those that share a file's.
template <class T>
void walk(const ModelSpec& spec, const Trial& trial, std::vector<Traveller<T>>& travellers, bool measure_before,
          const DepthObserver<T>& observe) {
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
      advance(travellers[c], *block, layer, measure_before);
    });
  }
}

}  // namespace

template <class T>
std::vector<DepthTrace> run_depth(const DepthGroup& group, const Trial& trial, bool measure_before,
                                  const DepthObserver<T>& observe) {
  std::vector<Traveller<T>> travellers;
  add_travellers<T>(group.spec, group.curves, trial, measure_before, travellers);
  walk(group.spec, trial, travellers, measure_before, observe);
  return traces_of(travellers, 0, travellers.size());
}

template <class T>
std::vector<std::vector<DepthTrace>> run_trials(const ModelSpec& spec, const std::vector<std::vector<DepthCurve>>& curves,
                                                const std::vector<Trial>& trials, bool measure_before) {
  std::vector<std::vector<DepthTrace>> traces;
  if (spec.checkpoint == nullptr) {
    for (std::size_t t = 0; t < trials.size(); ++t) {
      traces.push_back(run_depth<T>({spec, curves[t]}, trials[t], measure_before));
    }
    return traces;
  }
  std::vector<Traveller<T>> travellers;
  for (std::size_t t = 0; t < trials.size(); ++t) add_travellers<T>(spec, curves[t], trials[t], measure_before, travellers);
  walk<T>(spec, trials.front(), travellers, measure_before, {});
  std::size_t first = 0;
  for (const auto& of_trial : curves) {
    traces.push_back(traces_of(travellers, first, of_trial.size()));
    first += of_trial.size();
  }
  return traces;
}

template <class T>
std::vector<std::vector<std::vector<DepthTrace>>> run_variants(const std::vector<DepthGroup>& groups,
                                                               const std::vector<Trial>& trials) {
  const ModelSpec& common = groups.front().spec;
  if (common.checkpoint == nullptr && trials.size() > 1) throw std::logic_error("run_variants: drawn weights belong to one trial");
  const Trial& trial = trials.front();
  std::vector<std::vector<Traveller<T>>> travellers(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const Trial& each : trials) add_travellers<T>(groups[g].spec, groups[g].curves, each, false, travellers[g]);
  }
  for (std::uint64_t layer = 0; layer < common.layers; ++layer) {
    const std::unique_ptr<Tensors<T>> source = tensors_of_layer<T>(common, trial, layer);
    RememberedTensors<T> tensors(*source);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      trial.check_interrupt();
      const std::unique_ptr<Block<T>> block = make_block<T>(groups[g].spec, tensors);
      trial.for_each_part(travellers[g].size(), [&](std::size_t c) { advance(travellers[g][c], *block, layer, false); });
    }
  }
  std::vector<std::vector<std::vector<DepthTrace>>> traces(trials.size());
  for (std::size_t t = 0; t < trials.size(); ++t) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::size_t curves = groups[g].curves.size();
      traces[t].push_back(traces_of(travellers[g], t * curves, curves));
    }
  }
  return traces;
}

std::uint64_t trials_per_batch(const ModelSpec& spec) {
  // Enough that reading a layer costs little beside using it and that every core has one, few enough that not much is lost when
  // a run is stopped.
  constexpr std::uint64_t sequences = 8;
  return spec.checkpoint != nullptr ? std::max(sequences, available_cores()) : 1;
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

template std::vector<DepthTrace> run_depth(const DepthGroup&, const Trial&, bool, const DepthObserver<float>&);
template std::vector<DepthTrace> run_depth(const DepthGroup&, const Trial&, bool, const DepthObserver<double>&);
template std::vector<std::vector<DepthTrace>> run_trials<float>(const ModelSpec&, const std::vector<std::vector<DepthCurve>>&,
                                                                const std::vector<Trial>&, bool);
template std::vector<std::vector<DepthTrace>> run_trials<double>(const ModelSpec&, const std::vector<std::vector<DepthCurve>>&,
                                                                 const std::vector<Trial>&, bool);
template std::vector<std::vector<std::vector<DepthTrace>>> run_variants<float>(const std::vector<DepthGroup>&,
                                                                               const std::vector<Trial>&);
template std::vector<std::vector<std::vector<DepthTrace>>> run_variants<double>(const std::vector<DepthGroup>&,
                                                                                const std::vector<Trial>&);

}  // namespace ranklab
