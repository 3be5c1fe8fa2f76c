#include "cli/report_file.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/presets.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "result/result_json.hpp"

namespace ranklab {

namespace {

Preset preset_in(const std::string& name_or_path, const nlohmann::json& document,
                 const std::string& label) {
  if (document.is_null()) return read_preset(name_or_path);
  if (member(document, "report").is_null())
    throw UsageError(label + ": has no \"report\"; experiments/your-experiment.md shows one");
  return preset_from(document, label);
}

}  // namespace

OwnReport report_for(const ResultFile& result, const std::string& name_or_path) {
  const std::string label = "--with " + printable(name_or_path);
  std::error_code error;
  nlohmann::json document;  // null: a preset by its name
  if (!is_preset(name_or_path) || std::filesystem::exists(name_or_path, error))
    document = read_written_json(name_or_path, "--with: ");
  const bool is_report_alone = document.size() == 1 && document.contains("report");
  if (is_report_alone) return own_report_in(document, label);
  const Preset preset = preset_in(name_or_path, document, label);
  if (preset.command != result.command)
    throw UsageError(label + ": is for " + printable_key(preset.command) + ", the result is of " +
                     printable_key(result.command));
  return preset.report;
}

}  // namespace ranklab
