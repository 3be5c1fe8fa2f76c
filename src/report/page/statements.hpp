// What several results say of a paper's statements, each statement once: a misprinted form and its corrected one are one statement.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// "14a" of "Figure 14 (a)" and of "spectral/fig-14a/...", "2" of "shallow/fig-2-step3"; empty where no figure is named.
std::string figure_of_source(std::string_view figure);
std::string figure_of_id(std::string_view id);

/// Whether "Figures 2, 5 to 10" or "Figure 14 (a)" names the figure, "7" or "14a"; a part and its whole are one figure.
bool names_figure(std::string_view source, const std::string& figure);

/// False if another preset judges the claim: its `judged_in` says so, or its id names another figure than the result's.
bool belongs(const nlohmann::json& claim, const nlohmann::json& result);

/// A claim in one of the results.
struct Appearance {
  const nlohmann::json* claim = nullptr;
  std::size_t result = 0;
};

/// missed: a threshold of ours, or a statement that is not the paper's, fails.
enum class Standing { holds, misprint, fails, missed, not_applicable };

struct JudgedStatement {
  std::string id;                      // of the form as printed
  std::vector<Appearance> as_printed;  // or the only form; those with the shortest id come first
  std::vector<Appearance> corrected;   // empty: no corrected form is judged

  /// Fails where it fails in any result; a misprint fails as printed and holds corrected.
  Standing standing() const;
};

/// The statements of the claims that belong to their results, in the order of the results.
std::vector<JudgedStatement> statements_of(const std::vector<const nlohmann::json*>& results);

struct StandingCounts {
  std::size_t holds = 0, misprints = 0, fails = 0, missed = 0, not_applicable = 0;

  void add(Standing standing);
  std::size_t total() const { return holds + misprints + fails + missed + not_applicable; }
};

StandingCounts count(const std::vector<JudgedStatement>& statements);

/// A claim's verdict; anything but "holds" and "fails" is not applicable, and a reading that fails is missed.
Standing verdict_of(const nlohmann::json& claim);

}  // namespace ranklab
