#include "experiments/rank_collapse/bounds/findings.hpp"

#include <algorithm>
#include <cmath>

#include "core/tolerances.hpp"

namespace ranklab::bounds {

void Tally::compare(double smaller, double larger, double slack) {
  count(smaller > larger + slack);
  if (smaller > 0 && larger > 0) closest = std::min(closest, larger / smaller);
}

void Tally::compare_logs(double smaller, double larger, double slack) {
  count(smaller > larger + slack * (1 + std::abs(larger)));
  closest = std::min(closest, std::exp(larger - smaller));
}

void Tally::count(bool violated) {
  cases += 1;
  if (violated) violations += 1;
}

void Tally::add(const Tally& other) {
  cases += other.cases;
  violations += other.violations;
  closest = std::min(closest, other.closest);
}

void Findings::add(const Findings& other) {
  for (const auto& [name, tally] : other.tallies) tallies[name].add(tally);
  for (const auto& [name, numbers] : other.values) values[name] = numbers;
  degenerate_rows += other.degenerate_rows;
}

TrialRecord to_record(const Findings& findings) {
  TrialRecord record;
  for (const auto& [name, tally] : findings.tallies) {
    record.set("tally/" + name, std::vector<double>{tally.cases, tally.violations, tally.closest});
  }
  for (const auto& [name, numbers] : findings.values) record.set(name, numbers);
  record.set("degenerate_rows", findings.degenerate_rows);
  return record;
}

Tally tally_over(const std::vector<TrialRecord>& records, const std::string& inequality) {
  Tally sum;
  for (const TrialRecord& record : records) {
    if (!record.has("tally/" + inequality)) continue;
    const std::vector<double>& numbers = record.array("tally/" + inequality);
    sum.add({numbers.at(0), numbers.at(1), numbers.at(2)});
  }
  return sum;
}

double rounding_slack(bool single_precision) {
  return single_precision ? tolerance::residual<float> : tolerance::residual<double>;
}

}  // namespace ranklab::bounds
