#include "experiments/rank_collapse/eta/readings.hpp"

#include <limits>
#include <numeric>

#include "experiments/rank_collapse/eta/trial.hpp"

namespace ranklab {
namespace {

double sum(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0);
}

}  // namespace

EtaRun::EtaRun(const EtaConfig& config_, const std::vector<TrialRecord>& records_)
    : config(config_), records(records_), dim(ascending_dim(config_)), t(ascending_t(config_)) {}

std::vector<double> EtaRun::recorded(const std::string& quantity, std::uint64_t d, std::size_t t_index) const {
  std::vector<double> values;
  for (const TrialRecord& record : records) values.push_back(record.array(eta::at_dim(d, quantity)).at(t_index));
  return values;
}

std::vector<double> eta_values(const EtaRun& run, EtaReading reading, std::uint64_t d, std::size_t t_index) {
  if (reading == EtaReading::expectation) return run.recorded("eta", d, t_index);
  return ratio_gap_pseudo_values(run.recorded("xi_1", d, t_index), run.recorded("xi_2", d, t_index));
}

std::vector<double> ratio_gap_pseudo_values(const std::vector<double>& x, const std::vector<double>& y) {
  const std::size_t count = x.size();
  if (count < fewest_samples) return std::vector<double>(count, std::numeric_limits<double>::quiet_NaN());
  const double n = static_cast<double>(count), x_sum = sum(x), y_sum = sum(y);
  double ratio_sum = 0;
  for (std::size_t i = 0; i < count; ++i) ratio_sum += x[i] / y[i];
  const double gap = x_sum / y_sum - ratio_sum / n;
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double without = (x_sum - x[i]) / (y_sum - y[i]) - (ratio_sum - x[i] / y[i]) / (n - 1);
    values.push_back(n * gap - (n - 1) * without);
  }
  const double shift = gap - sum(values) / n;
  for (double& value : values) value += shift;
  return values;
}

}  // namespace ranklab
