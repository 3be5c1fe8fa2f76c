#include "experiments/study.hpp"

namespace ranklab {

Result Study::report(const Records& records) const {
  Result result;
  result.title = title();
  Numbers numbers(result, records);
  derive(numbers);
  Claims claims;
  claims.set_units(records.size());
  judge(records, claims);
  result.claims = claims.take();
  Display display(result, records);
  show(display);
  display.drop_empty();
  return result;
}

std::vector<std::string> Study::names_of_some_trials() const {
  std::vector<std::string> names;
  for (const DeclaredQuantity& each : quantities()) {
    if (!each.always) names.push_back(each.quantity.name);
  }
  return names;
}

std::vector<DeclaredQuantity> Study::quantities() const {
  return Numbers::declared_by([this](Numbers& out) { derive(out); });
}

}  // namespace ranklab
