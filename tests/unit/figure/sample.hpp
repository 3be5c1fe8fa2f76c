// A small result document for tests of figures and pages.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace ranklab::testing {

inline nlohmann::json sample_series(const std::string& name, int points, double scale = 1.0) {
  nlohmann::json x = nlohmann::json::array(), mean = x, std = x;
  for (int i = 0; i < points; ++i) {
    x.push_back(i);
    mean.push_back(scale * std::exp(-0.01 * i));
    std.push_back(2 * scale * std::exp(-0.01 * i));
  }
  return {{"name", name}, {"x_name", "iteration"}, {"x", x}, {"mean", mean}, {"std", std}};
}

/// Two panels: one with a log y axis and two curves whose spread exceeds their mean, and one with
/// linear axes and a reference line.
inline nlohmann::json sample_result() {
  const nlohmann::json gap = {
      {"title", "Objective gap"},
      {"x", {{"label", "iteration"}, {"scale", "linear"}}},
      {"y", {{"label", "gap"}, {"scale", "log"}}},
      {"curves",
       {{{"series", "gd.gap"}, {"label", "GD"}, {"style", "line"}, {"color", 0}},
        {{"series", "specgd.gap"}, {"label", "SpecGD"}, {"style", "dashed"}, {"color", 1}}}},
      {"lines", nlohmann::json::array()}};
  const nlohmann::json rank = {
      {"title", "Nuclear rank"},
      {"x", {{"label", "iteration"}, {"scale", "linear"}}},
      {"y", {{"label", "nr"}, {"scale", "linear"}}},
      {"curves", {{{"series", "gd.gap"}, {"label", "GD"}, {"style", "points"}}}},
      {"lines", {{{"y", 0.5}, {"label", "st(A)"}}}}};
  return {{"schema", "ranklab.result/3"},
          {"command", "random-features"},
          {"study", "trajectory"},
          {"preset", "spectral-fig03"},
          {"title", "GD against SpecGD"},
          {"source", {{"paper", "[Spectral]"}, {"figure", "Figure 3"}}},
          {"config", {{"study", "trajectory"}, {"seed", 1}}},
          {"status", "complete"},
          {"trials", {{"requested", 10}, {"completed", 10}}},
          {"scalars",
           {{"stable_rank_A", {{"mean", 3.14159}, {"std", 0.5}, {"n", 10}}},
            {"nowhere", {{"mean", nullptr}, {"std", nullptr}, {"n", 0}}}}},
          {"series", {sample_series("gd.gap", 40), sample_series("specgd.gap", 40, 0.5)}},
          {"claims",
           {{{"id", "spectral/eq-1.5"},
             {"statement_id", "spectral/eq-1.5"},
             {"part", "statement"},
             {"kind", "theorem"},
             {"unit", "seed"},
             {"evidence", {{"type", "number"}, {"value", 12.34567}}},
             {"source", "Section 1.2"},
             {"statement", "nr >= st"},
             {"verdict", "holds"},
             {"measured", 12.34567},
             {"expected", {3.0, nullptr}},
             {"detail", ""}},
            {{"id", "spectral/fig-3"},
             {"statement_id", "spectral/fig-3"},
             {"part", "statement"},
             {"kind", "theorem"},
             {"source", "Figure 3"},
             {"statement", "ahead"},
             {"verdict", "fails"},
             {"measured", nullptr},
             {"expected", nullptr},
             {"detail", "behind"}}}},
          {"figure", {{"panels", {gap, rank}}}},
          {"environment", {{"version", "0.1.0"}, {"cpu", "a machine"}}},
          {"timing", {{"wall_s", 1.5}, {"cpu_s", 2.5}, {"trials_s", 2.0}}}};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// How often `part` occurs in `text`, without overlaps.
inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++found;
  return found;
}

}  // namespace ranklab::testing
