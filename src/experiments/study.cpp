#include "experiments/study.hpp"

#include <set>
#include <stdexcept>

namespace ranklab {
namespace {

void require_unique(const std::vector<Claim>& claims) {
  std::set<std::string> ids;
  for (const Claim& claim : claims) {
    if (!ids.insert(claim.id).second) throw std::logic_error("two claims have the id " + claim.id);
  }
}

}  // namespace

Result Study::report(const Records& records) const {
  Result result;
  result.title = title();
  Numbers numbers(result, records);
  derive(numbers);
  Claims claims;
  claims.set_units(records.size());
  judge(records, claims);
  result.claims = claims.take();
  require_unique(result.claims);
  Display display(result, records);
  show(display);
  display.drop_empty();
  return result;
}

std::vector<DeclaredQuantity> Study::quantities() const {
  return Numbers::declared_by([this](Numbers& out) { derive(out); });
}

}  // namespace ranklab
