// Tests find parts of a result by name here; the test fails if a part is missing.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "result/result.hpp"

inline const ranklab::Series& find_series(const ranklab::Result& result, std::string_view name) {
  const auto found = std::find_if(result.series.begin(), result.series.end(),
                                  [&](const auto& s) { return s.name == name; });
  CAPTURE(std::string(name));
  REQUIRE(found != result.series.end());
  return *found;
}

inline const std::vector<double>& find_scalar(const ranklab::Result& result,
                                              std::string_view name) {
  const auto found = std::find_if(result.scalars.begin(), result.scalars.end(),
                                  [&](const auto& s) { return s.name == name; });
  CAPTURE(std::string(name));
  REQUIRE(found != result.scalars.end());
  return found->per_trial;
}

inline std::vector<std::string> titles_of(const ranklab::Figure& figure) {
  std::vector<std::string> titles;
  for (const ranklab::Panel& panel : figure.panels) titles.push_back(panel.title);
  return titles;
}

inline std::vector<std::string> labels_of(const ranklab::Panel& panel) {
  std::vector<std::string> labels;
  for (const ranklab::Curve& curve : panel.curves) labels.push_back(curve.label);
  return labels;
}

inline const ranklab::Claim& find_claim(const ranklab::Result& result, std::string_view id) {
  const auto found = std::find_if(result.claims.begin(), result.claims.end(),
                                  [&](const auto& c) { return c.id == id; });
  CAPTURE(std::string(id));
  REQUIRE(found != result.claims.end());
  return *found;
}
