#include "judge/published.hpp"

#include <nlohmann/json.hpp>

#include "io/json_file.hpp"
#include "published_results.hpp"  // the files of results/reference as text

namespace ranklab {

const std::vector<ResultFile>& published_results() {
  static const std::vector<ResultFile> results = [] {
    std::string text;
    for (const char* piece : published_results_json) text += piece;
    std::vector<ResultFile> out;
    for (const nlohmann::json& document : parse_json(text, "the published results"))
      out.push_back(result_from(document, "a published result"));
    return out;
  }();
  return results;
}

const ResultFile* published_result(const std::string& preset) {
  for (const ResultFile& result : published_results()) {
    if (result.preset == preset) return &result;
  }
  return nullptr;
}

}  // namespace ranklab
