// Shared by the claims of the study gpt and its tables: the numbers of one run, statements about
// it, the share of Table 2, the effect of the mean token.
#pragma once

#include "experiments/one_step_compare/gpt/gpt.hpp"

namespace ranklab::gpt {

/// The mean of the finite values; NaN without one.
double mean_of_finite(const std::vector<double>& values);
/// The mean of the logarithms of the finite positive values; NaN without one.
double mean_log(std::vector<double> values);

/// One run in all trials.
class RunRecords : public grid::RunRecords {
 public:
  RunRecords(const Run& run, const Records& records) : grid::RunRecords(run, records), run_(run) {}

  const Run& run() const { return run_; }
  std::size_t layers() const { return run_.config.layers; }
  double dim() const { return static_cast<double>(run_.config.dim); }
  const std::vector<double>& series(const TrialRecord& record, const std::string& name,
                                    MeasuredOn text = MeasuredOn::training_batch) const {
    return record.array(run_.key(place_of(text) / name));
  }

  /// The names of a quantity of these activations or matrices in every layer.
  std::vector<std::string> in_layers(const MatrixMeasure& measure,
                                     const std::vector<std::string>& of) const;
  /// The indices of the steps of `when`.
  std::vector<std::size_t> steps(Region when, MeasuredOn text = MeasuredOn::training_batch) const;
  /// The finite numbers of these series of one trial at the steps of `when`.
  std::vector<double> points(const TrialRecord& record, const std::vector<std::string>& names,
                             Region when = {}, MeasuredOn text = MeasuredOn::training_batch) const;
  /// The mean of these series of one trial at the i-th measured step.
  double mean_at(const TrialRecord& record, const std::vector<std::string>& names,
                 std::size_t i) const;
  /// The points of all trials; one for which ok(value) is false is a violation.
  template <class Ok>
  Tally count(const std::vector<std::string>& names, const Ok& ok, Region when = {},
              MeasuredOn text = MeasuredOn::training_batch) const {
    return tally_of(records_, [&](const TrialRecord& record, Tally& tally) {
      for (const double value : points(record, names, when, text)) tally.count(!ok(value), value);
    });
  }
  /// The finite value(record, i) of all trials at all measured steps i.
  template <class ValueAt>
  std::vector<double> at_steps(const ValueAt& value) const {
    std::vector<double> out;
    for (const TrialRecord& record : records_) {
      for (std::size_t i = 0; i < run_.measured.size(); ++i) {
        if (const double x = value(record, i); std::isfinite(x)) out.push_back(x);
      }
    }
    return out;
  }
  /// The finite value(record, i) of all trials at all measured steps i; one that is not `ok` is a
  /// violation.
  template <class ValueAt, class Ok>
  Tally count_at_steps(const ValueAt& value, const Ok& ok) const {
    return tally_of(records_, [&](const TrialRecord& record, Tally& tally) {
      for (std::size_t i = 0; i < run_.measured.size(); ++i) {
        if (const double x = value(record, i); std::isfinite(x)) tally.count(!ok(x), x);
      }
    });
  }
  /// value(record) of every trial, undefined if the run diverged: an average over its steps would
  /// be one over the steps before that.
  template <class Value>
  std::vector<double> of_whole_runs(const Value& value) const {
    return per_trial([&](const grid::InTrial& trained) {
      return trained(diverged) > 0 ? undefined : value(trained.record);
    });
  }
  /// Of every trial: the mean of the finite value(record, i) over the measured steps i of `when`.
  template <class ValueAt>
  std::vector<double> mean_over_steps(const ValueAt& value, Region when) const {
    return of_whole_runs([&](const TrialRecord& record) {
      std::vector<double> values;
      for (const std::size_t i : steps(when)) values.push_back(value(record, i));
      return mean_of_finite(values);
    });
  }

 private:
  const Run& run_;
};

/// A place of the text that says what the paper's figures show.
inline Place in_text(std::string statement_id, const std::string& prefix, std::string source) {
  return {std::move(statement_id), prefix, std::move(source), Part::text, Kind::figure};
}

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
    const std::string of_run = is_paper_run_ ? "" : run_.name() + "/";
    const Statement statement = place(of_run + id, say("{} ({})", text, run_.label));
    if (!is_paper_run_ || place.kind == Kind::beyond) return beyond(statement);
    return threshold.empty() ? statement : reading(statement, threshold);
  }

 private:
  bool is_paper_run_;
  const Run& run_;
};

/// [Spectral] Table 2: the share of Muon's gain over Adam that Muon on W2 alone achieves. `missing`
/// is the reason why the share cannot be judged, or empty.
struct Share {
  const Run *adam, *on_W2, *muon;  // null if the plan does not have it
  double printed;
  std::vector<double> per_trial = {};  // jackknife pseudo-values of the ratio of sums, since a
                                       // single trial's gain may be near 0
  std::string detail = {}, missing = {};

  std::vector<const Run*> runs() const { return {adam, muon, on_W2}; }
  bool has_runs() const { return adam && muon && on_W2; }
};
struct Table2 {
  Share plain, gated;  // without and with a gated activation
};
Table2 table_2(const Trained& all);

/// What may change without the mean token, from step 32 on.
struct MeanTokenEffect {
  const char *id, *column;  // of its claim; of its table
  const char* statement;    // after "Without the mean token, "
  Region change;            // of the logarithm, as the statement says
  const char* over;         // what the mean is over
  bool of_single_steps;
  double (*mean_log_of)(const RunRecords&, const TrialRecord&);
};
std::vector<MeanTokenEffect> mean_token_effects();

/// Claims about the best single steps (claims_one_step.cpp).
void judge_one_step(const RunRecords& view, const Named& named, Claims& claims);
/// Claims that compare runs (claims_between_runs.cpp): all of them; about Muon on groups of
/// matrices, about scales of its step, and about runs with and without the mean token, if there are
/// any.
void judge_comparisons(const Trained& all, Claims& claims);
void judge_blocks(const Trained& all, Claims& claims);
void judge_scales(const Trained& all, Claims& claims);
void judge_mean_token(const Trained& all, Claims& claims);

}  // namespace ranklab::gpt
