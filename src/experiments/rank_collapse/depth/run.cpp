#include "experiments/rank_collapse/depth/depth.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>

#include "core/machine.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/block.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {
namespace {

struct TokenMeasure {
  Measure after, before;  // de-escalation
  double TokenGeometry::*value;
};

constexpr TokenMeasure measures[] = {
    {measure::mu, before_de_escalation::mu, &TokenGeometry::mu},
    {measure::mu_normalized, before_de_escalation::mu_normalized, &TokenGeometry::mu_normalized},
    {measure::token_similarity, before_de_escalation::token_similarity,
     &TokenGeometry::token_similarity},
    {measure::token_diversity, before_de_escalation::token_diversity,
     &TokenGeometry::token_diversity},
    {measure::cosine_similarity, before_de_escalation::cosine_similarity,
     &TokenGeometry::cosine_similarity},
    {measure::rank_one_residual, before_de_escalation::rank_one_residual,
     &TokenGeometry::rank_one_residual},
    {measure::stable_rank, before_de_escalation::stable_rank, &TokenGeometry::stable_rank},
    {measure::effective_rank, before_de_escalation::effective_rank, &TokenGeometry::effective_rank},
    {measure::norm, before_de_escalation::norm, &TokenGeometry::norm}};

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
  const double unscaled =
      state.log2_scale == 0 ? g.norm : static_cast<double>(arma::norm(state.Y, "fro"));
  return std::log10(unscaled) + state.log2_scale * std::log10(2.0);
}

double at_layer(const std::vector<double>& schedule, std::uint64_t layer) {
  return schedule.size() == 1 ? schedule.front() : schedule.at(layer);
}

// The state of one curve of a trial, and its numbers so far. After the first state that is not
// finite, all numbers are undefined.
template <class T>
class WalkedPath {
 public:
  WalkedPath(const DepthPath& curve, const State<T>& input, TrialRecord& record)
      : curve_(&curve), record_(&record), state_(input) {
    append(measured(input));
  }

  bool is_finite() const { return overflow_layer_ == 0; }
  const State<T>& state() const { return state_; }
  bool shares_trial_with(const WalkedPath& other) const { return record_ == other.record_; }

  /// Passes the curves that are still finite through a block, together.
  static void advance(const std::vector<WalkedPath*>& paths, const Block<T>& block,
                      std::uint64_t layer) {
    std::vector<State<T>*> states;
    std::vector<double> lambda;
    for (WalkedPath* const path : paths) {
      if (!path->is_finite()) continue;
      path->state_.branch = {};
      states.push_back(&path->state_);
      lambda.push_back(at_layer(path->curve_->lambda, layer));
    }
    if (!states.empty()) block.forward_all(states, lambda);
    for (WalkedPath* const path : paths) path->measure(layer);
  }

  // Stores the numbers in the record of the trial.
  void store() const {
    for (const auto& [what, values] : numbers_) record_->set(curve_->at / what, values);
    record_->set(curve_->at / overflow_layer, static_cast<double>(overflow_layer_));
    record_->set(curve_->at / degenerate_rows, static_cast<double>(state_.degenerate_rows));
  }

 private:
  bool de_escalates() const { return curve_->tau.has_value(); }

  // De-escalates and measures the output of a block.
  void measure(std::uint64_t layer) {
    TokenGeometry before;
    if (is_finite()) {
      if (de_escalates()) {
        if (state_.Y.is_finite()) before = measured(state_);
        state_.Y.each_col() -= static_cast<T>(*curve_->tau) * arma::Col<T>(arma::mean(state_.Y, 1));
      }
      if (!(state_.Y.is_finite() && std::isfinite(state_.log2_scale))) overflow_layer_ = layer + 1;
    }
    append(before);
    const BranchNorms branch = is_finite() ? state_.branch : BranchNorms{};
    if (layer == 0 ? std::isfinite(branch.output)
                   : numbers_.contains(measure::branch_output_norm)) {
      numbers_[measure::branch_input_norm].push_back(branch.input);
      numbers_[measure::branch_output_norm].push_back(branch.output);
    }
  }

  void append(const TokenGeometry& before) {
    const TokenGeometry after = is_finite() ? measured(state_) : TokenGeometry{};
    const auto append_to = [&](const std::string& what, double value) {
      numbers_[what].push_back(is_finite() ? value : undefined);
    };
    for (const TokenMeasure& each : measures) {
      append_to(each.after, after.*each.value);
      if (de_escalates()) append_to(each.before, before.*each.value);
    }
    append_to(measure::log10_norm, log10_norm(state_, after));
  }

  const DepthPath* curve_;
  TrialRecord* record_;
  State<T> state_;
  std::map<std::string, std::vector<double>> numbers_;  // one value per layer
  std::uint64_t overflow_layer_ = 0;
};

// Appends the curves of one trial.
template <class T>
void add_paths(const ModelSpec& spec, const std::vector<DepthPath>& curves, const Trial& trial,
               TrialRecord& record, std::vector<WalkedPath<T>>& paths) {
  const State<T> input = draw_input<T>(spec, trial);
  for (const DepthPath& curve : curves) {
    paths.emplace_back(curve, curve.dropout > 0 ? draw_input<T>(spec, trial, curve.dropout) : input,
                       record);
  }
}

template <class T>
std::unique_ptr<Block<T>> block_at(const ModelSpec& spec, const Trial& trial, std::uint64_t layer) {
  return make_block<T>(spec, *tensors_of_layer<T>(spec, trial, layer));
}

struct PathRange {
  std::size_t first, end;
};

// The paths that pass through a block together, at most `together`. They are of one trial, because
// the last bits of a product can depend on its number of columns, and the numbers of a trial must
// not depend on which other trials run here.
template <class T>
std::vector<PathRange> paths_together(const std::vector<WalkedPath<T>>& paths,
                                      std::size_t together) {
  std::vector<PathRange> out;
  for (std::size_t first = 0, end = 0; first < paths.size(); first = end) {
    while (end < paths.size() && paths[end].shares_trial_with(paths[first])) ++end;
    const std::size_t curves = end - first, parts = (curves + together - 1) / together;
    for (std::size_t part = 0; part < parts; ++part) {
      out.push_back({first + part * curves / parts, first + (part + 1) * curves / parts});
    }
  }
  return out;
}

// Runs all curves through all layers. For drawn weights they belong to `trial`; for weights from a
// file, `trial` is any of the trials that share them.
template <class T>
void walk(const ModelSpec& spec, const Trial& trial, std::vector<WalkedPath<T>>& paths,
          const DepthObserver<T>& observe) {
  // Reading a block takes about as long as passing a few states through it.
  const bool reads_ahead = spec.checkpoint != nullptr && !spec.shares_weights();
  std::unique_ptr<Block<T>> block, next;
  for (std::uint64_t layer = 0; layer < spec.layers; ++layer) {
    trial.check_interrupt();
    if (next != nullptr) {
      block = std::move(next);
    } else if (block == nullptr || !spec.shares_weights()) {
      block.reset();  // before the next is drawn, so that only one block is in memory
      block = block_at<T>(spec, trial, layer);
    }
    const std::size_t ahead = reads_ahead && layer + 1 < spec.layers ? 1 : 0;
    const std::vector<PathRange> groups =
        paths_together(paths, block->states_together(spec.tokens));
    trial.for_each_piece(ahead + groups.size(), [&](std::size_t part) {
      if (part < ahead) {
        next = block_at<T>(spec, trial, layer + 1);
        return;
      }
      const PathRange& group = groups[part - ahead];
      std::vector<WalkedPath<T>*> members;
      for (std::size_t c = group.first; c < group.end; ++c) {
        if (observe && paths[c].is_finite()) observe(c, *block, paths[c].state());
        members.push_back(&paths[c]);
      }
      WalkedPath<T>::advance(members, *block, layer);
    });
    trial.advance();
  }
}

template <class T>
void walk_trials(const ModelSpec& spec, const std::vector<std::vector<DepthPath>>& curves,
                 const std::vector<Trial>& trials, Records& records,
                 const DepthObserver<T>& observe = {}) {
  // Drawn weights belong to one trial.
  const std::size_t at_once = spec.checkpoint != nullptr ? trials.size() : 1;
  for (std::size_t first = 0; first < trials.size(); first += at_once) {
    std::vector<WalkedPath<T>> paths;
    for (std::size_t t = first; t < first + at_once; ++t)
      add_paths(spec, curves[t], trials[t], records[t], paths);
    walk(spec, trials[first], paths, observe);
    for (const WalkedPath<T>& path : paths) path.store();
  }
}

template <class T>
void walk_variants(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                   Records& records) {
  const ModelSpec& common = groups.front().spec;
  const Trial& trial = trials.front();
  std::vector<std::vector<WalkedPath<T>>> paths(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t t = 0; t < trials.size(); ++t) {
      add_paths(groups[g].spec, groups[g].curves, trials[t], records[t], paths[g]);
    }
  }
  for (std::uint64_t layer = 0; layer < common.layers; ++layer) {
    const std::unique_ptr<Tensors<T>> uncached = tensors_of_layer<T>(common, trial, layer);
    CachedTensors<T> tensors(*uncached);
    trial.for_each_piece(groups.size(), [&](std::size_t g) {
      trial.check_interrupt();
      const std::unique_ptr<Block<T>> block = make_block<T>(groups[g].spec, tensors);
      trial.for_each_piece(paths[g].size(), [&](std::size_t c) {
        WalkedPath<T>::advance({&paths[g][c]}, *block, layer);
      });
      trial.advance();
    });
  }
  for (const auto& of_group : paths) {
    for (const WalkedPath<T>& path : of_group) path.store();
  }
}

// For the progress bar: every group runs through its layers once.
void expect_layers(const std::vector<DepthGroup>& groups, const Trial& trial) {
  std::uint64_t layers = 0;
  for (const DepthGroup& group : groups) layers += group.spec.layers;
  trial.expect(layers, "layer");
}

// The record of one training: the mean over the sequences of the token file.
TrialRecord mean_over_sequences(const ModelSpec& spec, const std::vector<At>& curves,
                                const Trial& training, const RunTrials& run) {
  if (spec.sequences == nullptr) return run(training.index(), {training}).front();
  Records records;
  const std::uint64_t sequences = spec.sequences->size(), at_once = trials_per_batch(spec);
  for (std::uint64_t first = 0; first < sequences; first += at_once) {
    std::vector<Trial> batch;
    for (std::uint64_t s = first; s < std::min(first + at_once, sequences); ++s)
      batch.push_back(training.at(s));
    for (TrialRecord& record : run(training.index(), batch)) records.push_back(std::move(record));
  }
  TrialRecord out = mean_of(records);
  for (const At& curve : curves) {
    const std::string name = curve / overflow_layer;
    double earliest = 0;  // instead of the mean of the layers, which may not be a layer
    for (const double layer : scalars_of(records, name)) {
      if (layer > 0 && (earliest == 0 || layer < earliest)) earliest = layer;
    }
    out.set(name, earliest);
  }
  return out;
}

}  // namespace

void DepthConfig::adopt_files() {
  ranklab::adopt_files(model, also);
}

std::uint64_t DepthConfig::trials_in_files() const {
  return ranklab::trials_in_files(model);
}

std::vector<Contradiction> DepthConfig::contradictions() const {
  return ranklab::contradictions(model);
}

std::vector<std::string> DepthConfig::assumptions() const {
  return ranklab::assumptions(model);
}

void DepthConfig::fill_defaults() {
  resolve_defaults_with_files(model);
}

std::vector<At> curves_in(const std::vector<DepthGroup>& groups) {
  std::vector<At> curves;
  for (const DepthGroup& group : groups) {
    for (const DepthPath& curve : group.curves) curves.push_back(curve.at);
  }
  return curves;
}

std::string listed(const std::vector<At>& curves) {
  std::vector<std::string> names;
  for (const At& curve : curves) names.push_back(curve.text);
  return joined(names);
}

Work depth_work(const ModelSpec& model, std::vector<At> curves, RunTrials run) {
  if (model.trainings > 1) {
    return each_trial([&model, curves = std::move(curves), run = std::move(run)](Trial& training) {
      return mean_over_sequences(model, curves, training, run);
    });
  }
  return in_batches(trials_per_batch(model),
                    [run = std::move(run)](std::vector<Trial>& trials) { return run(0, trials); });
}

void run_curves(const ModelSpec& spec, const std::vector<std::vector<DepthPath>>& curves,
                const std::vector<Trial>& trials, bool single_precision, Records& records) {
  single_precision ? walk_trials<float>(spec, curves, trials, records)
                   : walk_trials<double>(spec, curves, trials, records);
}

Records run_groups(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                   bool single_precision) {
  Records records(trials.size());
  expect_layers(groups, trials.front());
  for (const DepthGroup& group : groups) {
    run_curves(group.spec, {trials.size(), group.curves}, trials, single_precision, records);
  }
  return records;
}

Records run_variants(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                     bool single_precision) {
  if (groups.front().spec.checkpoint == nullptr && trials.size() > 1) {
    throw std::logic_error("run_variants: drawn weights belong to one trial");
  }
  Records records(trials.size());
  expect_layers(groups, trials.front());
  single_precision ? walk_variants<float>(groups, trials, records)
                   : walk_variants<double>(groups, trials, records);
  return records;
}

template <class T>
TrialRecord run_observed(const DepthGroup& group, const Trial& trial,
                         const DepthObserver<T>& observe) {
  Records records(1);
  walk_trials<T>(group.spec, {group.curves}, {trial}, records, observe);
  return records.front();
}

template TrialRecord run_observed(const DepthGroup&, const Trial&, const DepthObserver<float>&);
template TrialRecord run_observed(const DepthGroup&, const Trial&, const DepthObserver<double>&);

std::vector<Measure> token_measures() {
  std::vector<Measure> out;
  for (const TokenMeasure& each : measures) out.push_back(each.after);
  return out;
}

std::uint64_t trials_per_batch(const ModelSpec& spec) {
  // Enough that reading a layer costs little compared with using it and that every core has a
  // sequence, but few enough that an interrupted run loses little.
  constexpr std::uint64_t sequences = 8;
  return spec.checkpoint != nullptr ? std::max(sequences, available_cores()) : 1;
}

Estimate depth_cost(const std::vector<DepthGroup>& groups) {
  Estimate cost;
  for (const DepthGroup& group : groups) {
    const ModelSpec& spec = group.spec;
    const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim),
                 K = static_cast<double>(spec.layers),
                 curves = static_cast<double>(group.curves.size()), small = std::min(N, d);
    // The scores count twice: a smaller matrix may lie in the memory of those of the layer before,
    // so that the next ones do not fit into it, and the rest of it is kept (keep_freed_memory).
    const double scores = spec.row().attends ? 2 * N * N * static_cast<double>(spec.heads) : 0;
    const double weights = 2 * parameters_per_block(spec);
    const double states = curves * (N * d + 9 * K),
                 at_work = scores + N * stored_per_token(spec) + 4 * small * small;
    if (spec.checkpoint != nullptr) {
      // The states of a batch, two layers, and the largest matrix of the second layer in its stored
      // form.
      cost.shared_bytes =
          std::max(cost.shared_bytes,
                   8 * (1.25 * weights + static_cast<double>(trials_per_batch(spec)) * states));
      cost.bytes = std::max(cost.bytes, 8 * at_work);
    } else {
      cost.bytes = std::max(cost.bytes, 8 * (weights + states + at_work));
    }
  }
  return cost;
}

// Results of curves -------------------------------------------------------------------------------

std::vector<double> final_values(const At& curve, const Measure& what, const Records& records) {
  return per_trial(records,
                   [&](const TrialRecord& record) { return record.array(curve / what).back(); });
}

std::vector<Divergence> overflows(const std::vector<At>& curves, const Records& records) {
  std::vector<Divergence> out;
  for (const At& curve : curves)
    out.push_back(divergence_of(records, curve.text, curve / overflow_layer));
  return out;
}

std::string too_shallow(const ModelSpec& spec) {
  constexpr std::uint64_t enough_layers = 32;
  if (spec.layers >= enough_layers) return "";
  return say("hypothesis not met: {}; the model of the figure has 64",
             plural(spec.layers, "layer"));
}

void add_depth_series(const ModelSpec& spec, const DepthPath& curve, Numbers& out) {
  const std::vector<double> states = layers_from(0, spec), blocks = layers_from(1, spec);
  const auto add = [&](const Measure& measure) { out.series(curve.at / measure, "layer", states); };
  for (const TokenMeasure& each : measures) add(each.after);
  add(measure::log10_norm);
  for (const TokenMeasure& each : measures) {
    if (curve.tau) add(each.before);
  }
  if (spec.row().figure != DepthFigure::shallow_4) return;  // no other model reports them
  for (const Measure& each : {measure::branch_input_norm, measure::branch_output_norm}) {
    const Quantity norms = curve.at / each;
    out.sometimes(!out.declares() && out.records().front().has(norms),
                  [&] { out.series(norms, "layer", blocks); });
  }
}

void add_depth_scalars(const std::vector<At>& curves, Numbers& out) {
  std::vector<double> degenerate(out.records().size(), 0.0), diverged = degenerate;
  for (const At& curve : curves) {
    const std::vector<double> rows = scalars_of(out.records(), curve / degenerate_rows),
                              layers = scalars_of(out.records(), curve / overflow_layer);
    out.diverged(curve.text, layers);
    for (std::size_t t = 0; t < layers.size(); ++t) {
      degenerate[t] += rows[t];
      if (layers[t] > 0) diverged[t] += 1;
    }
  }
  out.scalar(degenerate_rows, degenerate);
  out.scalar(diverged_curves, diverged);
}

void note_overflows(const std::vector<At>& curves, Display& out) {
  std::vector<std::string> overflowed;
  for (const At& curve : curves) {
    double earliest = 0;
    for (const double layer : scalars_of(out.records(), curve / overflow_layer)) {
      if (layer > 0) earliest = earliest == 0 ? layer : std::min(earliest, layer);
    }
    if (earliest > 0) overflowed.push_back(say("{} (layer {})", curve.text, earliest));
  }
  if (overflowed.empty()) return;
  out.note(
      say("Overflow (earliest layer over the trials): {}. Later values of these curves are "
          "undefined.",
          joined(overflowed)));
}

std::string collapse_note(const std::vector<At>& curves, double threshold, const Records& records) {
  std::vector<At> by_mu, by_rank_alone, kept;
  for (const At& curve : curves) {
    const double mu = summarize(final_values(curve, measure::mu_normalized, records)).mean;
    // rank_one_residual is the squared distance from parallel tokens relative to ||Y||_F^2, so its
    // square root is comparable to mu_normalized.
    const double from_rank_one =
        std::sqrt(summarize(final_values(curve, measure::rank_one_residual, records)).mean);
    if (!std::isfinite(mu)) continue;
    (mu < threshold ? by_mu : from_rank_one < threshold ? by_rank_alone : kept).push_back(curve);
  }
  const auto list = [](const std::vector<At>& which) {
    return which.empty() ? std::string("none") : listed(which);
  };
  return say(
      "At the last layer, mean over trials, threshold {}: mu_normalized is below it (the tokens "
      "are equal) for {}; only the square root of rank_one_residual is below it (the tokens are "
      "parallel or anti-parallel, a collapse that mu does not detect) for {}; both are above it "
      "for {}.",
      threshold, list(by_mu), list(by_rank_alone), list(kept));
}

std::string threshold_label(double threshold) {
  return "threshold " + short_number(threshold);
}

Axis normalized_mu_axis() {
  return unit_axis("normalized mu (0: equal tokens)");
}

Axis rank_one_residual_axis() {
  return unit_axis("rank-one residual (0: rank one)");
}

BandKind band_of_trials(const ModelSpec& spec, std::size_t trials) {
  constexpr std::size_t few_trials = 5;  // each is drawn
  return spec.trainings > 1 || trials <= few_trials ? BandKind::trials : BandKind::interval;
}

void note_rounding(const std::vector<Quantity>& of_mu, bool single_precision, Display& out) {
  const bool hidden = single_precision && std::ranges::any_of(of_mu, [&](const Quantity& each) {
                        const Series mu =
                            series_over_trials(each, "layer", arrays_of(out.records(), each));
                        return std::ranges::any_of(
                            mu.mean, [](double mean) { return mean < single_precision_floor; });
                      });
  if (hidden) {
    out.note(say(
        "In single precision, normalized mu below {} is rounding noise; --precision f64 resolves "
        "smaller values.",
        single_precision_floor));
  }
}

std::vector<Quantity> mu_arrays(const std::vector<DepthGroup>& groups) {
  std::vector<Quantity> out;
  for (const DepthGroup& group : groups) {
    for (const DepthPath& curve : group.curves) {
      out.push_back(curve.at / measure::mu_normalized);
      if (curve.tau) out.push_back(curve.at / before_de_escalation::mu_normalized);
    }
  }
  return out;
}

}  // namespace ranklab
