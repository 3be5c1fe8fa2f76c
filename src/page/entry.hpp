// A result on the page, and the ways in which other parts of the page refer to it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "figure/markup.hpp"
#include "judge/verdicts.hpp"
#include "result/result_file.hpp"

namespace ranklab {

/// A place on the page: letters, digits and some signs, the first a letter. Unless it has a =, an
/// attribute needs no quotes for it. Throws std::logic_error for any other name.
struct PageAnchor : Markup {
  explicit PageAnchor(const std::string& name);
};

struct Entry {
  const ResultFile* result = nullptr;
  std::string file_name;
  PageAnchor anchor;  // the preset's name if only one result has it, otherwise "result-<number>"
  std::size_t paper = 0;  // papers().size(): no paper
  /// The places of the claims that it shows: their ids, or after its anchor if another result that
  /// comes first or decides more has the id.
  std::map<const Claim*, PageAnchor> claims = {};
  /// The claims that do not apply to it, each with the index of the entry to which it applies.
  std::map<const Claim*, std::size_t> elsewhere = {};

  bool shows(const Claim& claim) const {
    return claim.judged_in.empty() && !elsewhere.contains(&claim);
  }
};

/// Sorted by paper and figure, then other sources by name. Results without a paper come last, in
/// the given order.
std::vector<Entry> entries_of(const std::vector<ResultFile>& results,
                              const std::vector<std::string>& file_names);

/// The results of all entries as judges of statements, in their order.
std::vector<Judge> judges_of(const std::vector<Entry>& entries);

/// The name of the preset; empty: none.
std::string preset_of(const ResultFile& result);

/// "[Spectral]", or "other results" for papers().size().
Markup name_of_paper(std::size_t paper);

/// "Figure 3", "Theorem 4.1", or the title if the result has no source.
Markup short_name(const ResultFile& result);

/// The preset's name, which distinguishes two results of one figure, otherwise the short name.
Markup link_name(const ResultFile& result);

/// A link to a place on the page.
Markup link_to(const PageAnchor& anchor, const Markup& html);

/// "12 trials"; "4 of 32 inputs" if the preset has 32; "3 of 12 trials" for an interrupted run.
Markup trials_html(const ResultFile& result);

/// The changes from the preset; empty if nothing was changed.
Markup changes_html(const ResultFile& result);

}  // namespace ranklab
