#include "judge/judged_at.hpp"

#include "judging_lines.hpp"

namespace ranklab {

std::vector<std::string> judged_at(std::string_view statement_id) {
  std::vector<std::string> out;
  for (const auto& [id, place] : judging_lines) {
    if (statement_id == id) out.emplace_back(place);
  }
  return out;
}

std::vector<std::string> files_that_judge(std::string_view statement_id) {
  std::vector<std::string> out;
  for (const std::string& place : judged_at(statement_id)) {
    const std::string file = place.substr(0, place.rfind(':'));
    if (out.empty() || out.back() != file) out.push_back(file);
  }
  return out;
}

}  // namespace ranklab
