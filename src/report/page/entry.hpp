// A result on the page, and how other parts of the page point to it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

struct Entry {
  const nlohmann::json* result = nullptr;
  std::string file_name;
  std::string picture;    // SVG; empty: to be drawn
  std::string anchor;     // the preset's name, where one result alone has it, or "result-<number>"
  std::size_t paper = 0;  // papers.size(): of none
};

/// By paper, then by figure, then what is no figure by its name; results of no paper last, in their order.
std::vector<Entry> entries_of(const std::vector<nlohmann::json>& results, const std::vector<std::string>& file_names,
                              const std::vector<std::string>& pictures);

/// "Figure 3", "Theorem 4.1", or the title where the result has no source; escaped.
std::string short_name(const nlohmann::json& result);

/// The preset's name, which tells two results of one figure apart, or else the short name.
std::string link_name(const nlohmann::json& result);

/// A link to the result's section.
std::string link_to(const Entry& entry, const std::string& html);

/// "12 trials", "4 of 32 inputs" where the preset has 32, "3 of 12 trials" of a run that was interrupted. Escaped.
std::string trials_html(const nlohmann::json& result);

/// Escaped; empty where nothing was changed.
std::string changes_html(const nlohmann::json& result);

}  // namespace ranklab
