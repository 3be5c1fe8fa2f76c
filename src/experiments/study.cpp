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

std::vector<DeclaredQuantity> Study::quantities() const {
  return Numbers::declared_by([this](Numbers& out) { derive(out); });
}

}  // namespace ranklab
