#include "core/record.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/text.hpp"
#include "core/undefined.hpp"

namespace ranklab {
namespace {

Tally tally_from(const std::vector<double>& numbers) {
  return {numbers.at(0), numbers.at(1), numbers.at(2), numbers.at(3)};
}

}  // namespace

void Tally::begin_trial() {
  trials.emplace_back();
  is_in_trial = true;
}

void Tally::count(bool violated, double shown) {
  cases += 1;
  if (violated) violations += 1;
  if (is_in_trial) {
    trials.back().cases += 1;
    trials.back().violations += violated ? 1 : 0;
  }
  if (std::isnan(shown)) return;
  smallest = std::min(smallest, shown);
  largest = std::max(largest, shown);
}

void Tally::add(const Tally& other) {
  cases += other.cases;
  violations += other.violations;
  smallest = std::min(smallest, other.smallest);
  largest = std::max(largest, other.largest);
  if (is_in_trial) {
    trials.back().cases += other.cases;
    trials.back().violations += other.violations;
    return;
  }
  if (trials.size() < other.trials.size()) trials.resize(other.trials.size());
  for (std::size_t t = 0; t < other.trials.size(); ++t) {
    trials[t].cases += other.trials[t].cases;
    trials[t].violations += other.trials[t].violations;
  }
}

void TrialRecord::insert(const TrialRecord& part, const std::string& prefix) {
  for (const auto& [name, values] : part.arrays_) set(prefix + name, values);
}

void TrialRecord::set(const std::string& name, std::vector<double> values) {
  arrays_.insert_or_assign(name, std::move(values));
}

const std::vector<double>& TrialRecord::array(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) {
    std::vector<std::string> known;
    for (const auto& [each, unused] : arrays_) known.push_back(each);
    throw std::logic_error("the trial's record has no array '" + name + "'" +
                           did_you_mean(name, known, "; it has " + joined(known)));
  }
  return found->second;
}

double TrialRecord::scalar(const std::string& name) const {
  if (!has(name)) throw std::logic_error("the trial's record has no scalar " + name);
  return array(name).at(0);
}

double TrialRecord::scalar_or_nan(const std::string& name) const {
  return has(name) ? scalar(name) : undefined;
}

void TrialRecord::add(const std::string& id, const Tally& tally) {
  const std::string name = "tally/" + id;
  // Looked up once: a trial may count a million cases.
  std::vector<double>& numbers = arrays_[name];
  Tally sum = numbers.empty() ? Tally() : tally_from(numbers);
  sum.add(tally);
  numbers.assign({sum.cases, sum.violations, sum.smallest, sum.largest});
}

void TrialRecord::count(const std::string& id, bool violated, double shown) {
  Tally tally;
  tally.count(violated, shown);
  add(id, tally);
}

Tally TrialRecord::tally(const std::string& id) const {
  return has_tally(id) ? tally_from(array("tally/" + id)) : Tally();
}

TrialRecord mean_of(const Records& records) {
  TrialRecord out;
  for (const auto& [name, first] : records.front().arrays()) {
    std::vector<double> sum(first.size(), 0.0);
    for (const TrialRecord& record : records) {
      const std::vector<double>& values = record.array(name);
      if (values.size() != sum.size())
        throw std::logic_error("mean_of: the array " + name + " has another length");
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += values[i] / static_cast<double>(records.size());
    }
    out.set(name, std::move(sum));
  }
  return out;
}

std::vector<double> scalars_of(const Records& records, const std::string& name) {
  return per_trial(records, [&](const TrialRecord& record) { return record.scalar(name); });
}

std::vector<std::vector<double>> arrays_of(const Records& records, const std::string& name) {
  return per_trial(records, [&](const TrialRecord& record) { return record.array(name); });
}

Tally tally_of(const Records& records, const std::string& id) {
  return tally_of(records,
                  [&](const TrialRecord& record, Tally& sum) { sum.add(record.tally(id)); });
}

}  // namespace ranklab
