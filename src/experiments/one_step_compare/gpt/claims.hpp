// What the verdicts of the study gpt share: a run as its statements see it, their names, and three groups of them.
#pragma once

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/statistics.hpp"
#include "experiments/one_step_compare/gpt/gpt.hpp"

namespace ranklab::gpt {

/// The records as one run sees them.
class View {
 public:
  View(const Run& run, const Records& records) : run_(run), records_(records) {}

  const Run& run() const { return run_; }
  const Records& records() const { return records_; }
  const std::vector<double>& series(const TrialRecord& record, const std::string& name) const {
    return record.array(run_.name + "." + name);
  }
  std::size_t layers() const { return run_.config.layers; }
  double dim() const { return static_cast<double>(run_.config.dim); }

  /// visit(value, step) of every finite point of a series, in all trials.
  template <class Visit>
  void for_each(const TrialRecord& record, const std::string& name, const Visit& visit) const {
    const std::vector<double>& values = series(record, name);
    const std::vector<double>& steps = name.starts_with(probe) ? run_.probed : run_.measured;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) visit(values[i], steps[i]);
    }
  }

 private:
  const Run& run_;
  const Records& records_;
};

/// Statements about one run: of the paper's run the ids stand as they are, of others the run's name stands before the last word.
class Named {
 public:
  Named(const Plan& plan, const Run& run) : of_paper_(&run == &plan.of_paper()), run_(run) {}

  Statement operator()(const std::string& place, const std::string& source, const std::string& id, const std::string& text,
                       std::vector<std::string> figures = {}) const {
    return {"spectral/" + place + (of_paper_ ? "" : "/" + run_.name) + "/" + id, source, text + " (" + run_.label + ")",
            Kind::figure, std::move(figures)};
  }

 private:
  bool of_paper_;
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
  return short_number(summarise(values).mean);
}

/// [Spectral] Table 2: the share of Muon's gain over Adam that Muon on W2 alone has, as a value for each trial; the runs without a
/// gate and with one. `missing` says what a run lacks to speak of it.
struct Share {
  std::vector<double> per_trial;  // the jackknife's pseudo-values of the ratio of sums: a single trial's gain may be near 0
  std::string detail, missing;
};
struct Table2 {
  Share plain, gated;
};
Table2 table_2(const Plan& plan, const Records& records);
inline constexpr double printed_plain = 0.62, printed_gated = 0.27;

/// Statements about best steps (one_step_claims.cpp).
void judge_one_step(const View& view, const Named& named, Claims& claims);

/// Statements that compare runs: optimisers, starts, widths, gates, Table 2 (comparisons.cpp).
void judge_comparisons(const Plan& plan, const Records& records, Claims& claims);

}  // namespace ranklab::gpt
