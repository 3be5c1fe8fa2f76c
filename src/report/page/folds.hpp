// What a reader of one result may want to unfold: notes, tables, scalars, config and provenance.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// Notes and what was left out; unfolded in print too.
std::string notes_html(const nlohmann::json& result);

/// The result's own table, which is open where nothing else leads the reader.
std::string table_html(const nlohmann::json& result, bool open);

std::string scalars_html(const nlohmann::json& result);

/// With the commands that run it again.
std::string provenance_html(const nlohmann::json& result, const std::vector<std::string>& commands);

}  // namespace ranklab
