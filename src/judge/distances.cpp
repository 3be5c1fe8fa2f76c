#include "judge/distances.hpp"

#include <algorithm>
#include <cmath>

namespace ranklab {

void Distances::add(double estimate, double error, double expected, double rounding) {
  if (!std::isfinite(error) || !std::isfinite(expected)) return;
  const double distance = std::abs(estimate - expected);
  tally.count(!(distance <= allowed * error + rounding * expected),
              error > 0 ? distance / error : 0);
  width = std::max(width, error / expected);
}

void Distances::judge(const Statement& statement, const std::string& unmet,
                      const std::string& detail, Claims& claims) const {
  if (claims.applies(statement, tally.cases == 0 ? unmet : ""))
    claims.never_violated(statement, tally, detail, WorstCase::largest);
}

}  // namespace ranklab
