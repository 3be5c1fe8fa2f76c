// Result files for tests: the JSON that a test writes, on top of a complete one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "result/result_file.hpp"

namespace ranklab::testing {

/// A result file with every member that a reader wants.
inline nlohmann::json complete_document() {
  return result_json(ResultFile());
}

/// The document with what it lacks: members of the file and of each claim.
inline nlohmann::json completed(const nlohmann::json& document) {
  nlohmann::json out = complete_document();
  out.update(document);
  ResultFile file;
  file.claims.emplace_back();
  const nlohmann::json initial = result_json(file);
  if (!out.contains("claims") || !out["claims"].is_array()) return out;
  for (nlohmann::json& entry : out["claims"]) {
    nlohmann::json whole = initial["claims"][0];
    whole.update(entry);
    entry = whole;
  }
  return out;
}

/// The typed result of a document that may lack members.
inline ResultFile typed(const nlohmann::json& document) {
  return result_from(completed(document), "sample");
}

inline std::vector<ResultFile> typed(const std::vector<nlohmann::json>& documents) {
  std::vector<ResultFile> out;
  for (const nlohmann::json& document : documents) out.push_back(typed(document));
  return out;
}

}  // namespace ranklab::testing
