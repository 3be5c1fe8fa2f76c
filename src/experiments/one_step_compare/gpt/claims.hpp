// Shared by the claims of the study gpt: the series of one run, the ids of statements about it, the
// share of Table 2, and the groups of claims in other files.
#pragma once

#include <algorithm>
#include <iterator>
#include <numeric>

#include "experiments/one_step_compare/gpt/gpt.hpp"

namespace ranklab::gpt {

/// One run and the records of all trials.
class RunRecords {
 public:
  RunRecords(const Run& run, const Records& records) : run_(run), records_(records) {}

  const Run& run() const { return run_; }
  const Records& records() const { return records_; }
  const std::vector<double>& series(const TrialRecord& record, const std::string& name,
                                    MeasuredOn text = MeasuredOn::training_batch) const {
    return record.array(run_.name + "." + std::string(prefix_of(text)) + name);
  }
  /// value(record) of every trial, undefined if the run diverged: an average over its steps would
  /// be one over the steps before that.
  template <class Value>
  std::vector<double> per_trial(const Value& value) const {
    return ranklab::per_trial(records_, [&](const TrialRecord& record) {
      return record.scalar(run_.name + "." + diverged) > 0 ? undefined : value(record);
    });
  }
  std::size_t layers() const { return run_.config.layers; }
  double dim() const { return static_cast<double>(run_.config.dim); }

  /// The series that these names stand for: "*.A.stable_rank" is that of every layer.
  std::vector<std::string> expand(const std::vector<std::string>& names) const {
    std::vector<std::string> out;
    for (std::size_t l = 0; l < layers(); ++l) {
      for (const std::string& name : names) {
        if (name.starts_with("*.")) out.push_back(in_layer(l, name.substr(2)));
      }
    }
    std::copy_if(names.begin(), names.end(), std::back_inserter(out),
                 [](const std::string& name) { return !name.starts_with("*."); });
    return out;
  }
  /// Calls visit(value) for every finite point of these series of one trial at the steps of `when`.
  template <class Visit>
  void for_each(const TrialRecord& record, const std::vector<std::string>& names, Region when,
                const Visit& visit, MeasuredOn text = MeasuredOn::training_batch) const {
    const std::vector<double>& steps = steps_of(run_, text);
    for (const std::string& name : expand(names)) {
      const std::vector<double>& values = series(record, name, text);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i]) && when.low <= steps[i] && steps[i] <= when.high)
          visit(values[i]);
      }
    }
  }
  /// The points of all trials; one for which ok(value) is false is a violation.
  template <class Ok>
  Tally count(const std::vector<std::string>& names, const Ok& ok, Region when = {},
              MeasuredOn text = MeasuredOn::training_batch) const {
    return tally_of(records_, [&](const TrialRecord& record, Tally& tally) {
      for_each(
          record, names, when, [&](double value) { tally.count(!ok(value), value); }, text);
    });
  }
  /// Of every trial: the mean of value(record, i) over the measured steps i of `when` at which it
  /// is finite.
  template <class ValueAt>
  std::vector<double> mean_over_steps(const ValueAt& value, Region when) const {
    const std::vector<double>& steps = run_.measured;
    return per_trial([&](const TrialRecord& record) {
      double sum = 0, count = 0;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!(when.low <= steps[i] && steps[i] <= when.high)) continue;
        const double at_step = value(record, i);
        if (std::isfinite(at_step)) sum += at_step, count += 1;
      }
      return sum / count;
    });
  }

 private:
  const Run& run_;
  const Records& records_;
};

/// A place of the text that says what the paper's figures show.
inline Place in_text(std::string statement_id, std::string prefix, std::string source,
                     std::vector<std::string> figures = {}) {
  return {std::move(statement_id), std::move(prefix), std::move(source), Part::text, Kind::figure,
          std::move(figures)};
}

/// The same place for claims that the paper does not make.
inline Place ours(Place place) {
  place.part = Part::ours;
  place.kind = Kind::beyond;
  return place;
}

/// The steps at which a run is judged: condition (1.8) also before `early_steps`.
inline const Region late = at_least(early_steps), at_start = {.high = early_steps - 1};

/// Makes statements about one run. The paper shows a run of Muon, so that a statement about any
/// other run is ours, and its id names the run: "spectral/fig-2/s-low" of Muon,
/// "spectral/fig-2/adam/s-low" of Adam.
class Named {
 public:
  Named(const Plan& plan, const Run& run) : is_paper_run_(&run == plan.paper_run()), run_(run) {}

  bool is_paper_run() const { return is_paper_run_; }
  /// With a threshold of ours, a statement that the paper makes about its run is a reading.
  Statement operator()(const Place& place, const std::string& id, const std::string& text,
                       const std::string& threshold = {}) const {
    const std::string of_run = is_paper_run_ ? "" : run_.name + "/";
    const Statement statement = place(of_run + id, text + " (" + run_.label + ")");
    if (!is_paper_run_ || place.part == Part::ours) return beyond(statement);
    return threshold.empty() ? statement : reading(statement, threshold);
  }

 private:
  bool is_paper_run_;
  const Run& run_;
};

inline std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] - b[i]);
  return out;
}

inline double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

inline std::string mean_text(const std::vector<double>& values) {
  return short_number(summarize(values).mean);
}

/// [Spectral] Table 2: the share of Muon's gain over Adam that Muon on W2 alone achieves. `missing`
/// is the reason why the share cannot be judged, or empty.
struct Share {
  std::vector<const Run*> runs;
  std::vector<double> per_trial;  // jackknife pseudo-values of the ratio of sums, since a single
                                  // trial's gain may be near 0
  std::string detail, missing;
};
struct Table2 {
  Share plain, gated;  // without and with a gated activation
};
Table2 table_2(const Plan& plan, const Records& records);
inline constexpr double printed_plain = 0.62, printed_gated = 0.27;

/// The trials in which each run diverged; a null run is left out.
std::vector<Divergence> divergences(const std::vector<const Run*>& runs, const Records& records);

/// Final validation losses of a run, one for each trial; infinite if it diverged.
std::vector<double> losses_of(const Run& run, const Records& records);
/// "Adam 3.76", for the detail of a claim.
std::string losses_text(const Run& run, const Records& records);
/// Judges the final validation loss of the first run minus that of the second. If a run is null,
/// the claim does not apply, because of `missing`.
void judge_pair(const Statement& statement, const Run* first, const Run* second,
                const std::string& missing, Region allowed, const Records& records, Claims& claims);

/// Claims about the best single steps (claims_one_step.cpp).
void judge_one_step(const RunRecords& view, const Named& named, Claims& claims);

/// Claims about runs that follow the advice, or do the opposite (claims_advice.cpp). None without
/// such a run.
void judge_advice(const Plan& plan, const Records& records, Claims& claims);

/// Mean of the logarithm of these series over the measured steps from early_steps on, where it is
/// finite: "*.A.stable_rank".
double mean_log(const RunRecords& view, const TrialRecord& record,
                const std::vector<std::string>& names);
/// The series of the measured advantage of polar(G) over G, from early_steps on: mean of its
/// logarithm.
double mean_log_advantage(const RunRecords& view, const TrialRecord& record, const char* what);
/// The names of the stable ranks of the inputs of attention and net; of the nuclear ranks of all
/// gradients inside layers; of the ratios nr/st.
std::vector<std::string> input_ranks();
std::vector<std::string> gradient_ranks(const Run& run);
std::vector<std::string> rank_ratios(const Run& run);
/// Claims about runs with and without the mean token (claims_mean_token.cpp). None without such
/// runs.
void judge_mean_token(const Plan& plan, const Records& records, Claims& claims);

/// Claims that compare runs: initialization, widths, optimizers, gates, Table 2, advice
/// (claims_between_runs.cpp).
void judge_comparisons(const Plan& plan, const Records& records, Claims& claims);

}  // namespace ranklab::gpt
