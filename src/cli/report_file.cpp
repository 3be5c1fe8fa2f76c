#include "cli/report_file.hpp"

#include <nlohmann/json.hpp>

#include "cli/presets.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "result/result_json.hpp"

namespace ranklab {

OwnReport report_for(const ResultFile& result, const std::string& path) {
  const std::string label = "--with " + printable(path);
  const nlohmann::json document = read_written_json(path);
  if (member(document, "report").is_null())
    throw UsageError(label + ": has no \"report\"; experiments/your-experiment.md shows one");
  const bool is_report_alone = document.size() == 1;
  if (is_report_alone) return own_report_in(document, label);
  const Preset preset = preset_from(document, label);
  if (preset.command != result.command)
    throw UsageError(label + ": is for " + printable_key(preset.command) + ", the result is of " +
                     printable_key(result.command));
  return preset.report;
}

}  // namespace ranklab
