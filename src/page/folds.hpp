// The folded parts of a result: notes, tables, config and provenance.
#pragma once

#include <string>
#include <vector>

#include "figure/markup.hpp"
#include "result/result_file.hpp"

namespace ranklab {

/// Notes and the list of left-out items; unfolded in print too.
Markup notes_html(const ResultFile& result);

/// The result's table; `open` unfolds it, for results that belong to no paper.
Markup table_html(const ResultFile& result, bool open);

/// The config, environment and timing, with the commands that repeat the run. Of the environment,
/// only what differs from that of `first`, another result of the page to which `first_link` links;
/// null: everything.
Markup provenance_html(const ResultFile& result, const std::vector<std::string>& commands,
                       const ResultFile* first, const Markup& first_link);

}  // namespace ranklab
