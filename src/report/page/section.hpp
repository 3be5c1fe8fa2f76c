// One result in the report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ranklab {

struct VerdictCounts {
  std::size_t holds = 0, fails = 0, not_applicable = 0, unknown = 0;
};

VerdictCounts count_verdicts(const nlohmann::json& result);

/// "[Spectral], Figure 3", escaped; a dash where the result has no source.
std::string source_html(const nlohmann::json& result);

/// "complete, 10 of 10 trials", escaped.
std::string status_html(const nlohmann::json& result);

/// The section, headed <h2>, with the id "result-<number>". Ids inside its figure start with "result-<number>-".
std::string section_html(const nlohmann::json& result, const std::string& file_name, std::size_t number);

}  // namespace ranklab
