// Parts of a result by name, for tests; a missing one fails the test.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/result.hpp"

inline const ranklab::Series& find_series(const ranklab::Result& result, const std::string& name) {
  const auto found = std::find_if(result.series.begin(), result.series.end(), [&](const auto& s) { return s.name == name; });
  CAPTURE(name);
  REQUIRE(found != result.series.end());
  return *found;
}

inline const std::vector<double>& find_scalar(const ranklab::Result& result, const std::string& name) {
  const auto found = std::find_if(result.scalars.begin(), result.scalars.end(), [&](const auto& s) { return s.name == name; });
  CAPTURE(name);
  REQUIRE(found != result.scalars.end());
  return found->per_trial;
}

inline const ranklab::Claim& find_claim(const ranklab::Result& result, const std::string& id) {
  const auto found = std::find_if(result.claims.begin(), result.claims.end(), [&](const auto& c) { return c.id == id; });
  CAPTURE(id);
  REQUIRE(found != result.claims.end());
  return *found;
}
