// The statements of the papers, each once, judged over several results. A misprinted form and its
// corrected form are one statement.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// "14a" for "Figure 14 (a)" and for "spectral/fig-14a/...", "2" for "shallow/fig-2-step3"; empty
/// if the text names no figure.
std::string figure_of_source(std::string_view figure);
std::string figure_of_id(std::string_view id);

/// Whether "Figures 2, 5 to 10" or "Figure 14 (a)" names the figure, "7" or "14a"; a part and its
/// whole are one figure.
bool names_figure(std::string_view source, const std::string& figure);

/// False if another preset judges the claim: if `judged_in` names one, or if the id names a figure
/// that the result does not show.
bool belongs(const nlohmann::json& claim, const nlohmann::json& result);

/// A claim in one of the results.
struct Appearance {
  const nlohmann::json* claim = nullptr;
  std::size_t result = 0;
};

/// The verdict on a statement. missed: a reading fails our threshold, or a statement that is not in
/// the papers fails. undecided: too few data. not_applicable: a hypothesis of the statement is not
/// met.
enum class Standing { holds, misprint, fails, missed, undecided, not_applicable };

struct JudgedStatement {
  std::string id;                      // of the form as printed
  std::vector<Appearance> as_printed;  // or the only form; those with the shortest id come first
  std::vector<Appearance> corrected;   // empty: no corrected form is judged

  /// Fails if it fails in any result. A misprint fails as printed and holds in its corrected form.
  Standing standing() const;
};

/// The statements of the claims that belong to their results, in the order of the results.
std::vector<JudgedStatement> statements_of(const std::vector<const nlohmann::json*>& results);

struct StandingCounts {
  std::size_t holds = 0, misprints = 0, fails = 0, missed = 0, undecided = 0, not_applicable = 0;

  void add(Standing standing);
  std::size_t total() const {
    return holds + misprints + fails + missed + undecided + not_applicable;
  }
};

StandingCounts count(const std::vector<JudgedStatement>& statements);

/// The verdict on one claim. A reading that fails is missed; a verdict other than "holds" and
/// "fails" is undecided or not applicable.
Standing verdict_of(const nlohmann::json& claim);

}  // namespace ranklab
