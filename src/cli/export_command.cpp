// `ranklab export RESULT.json...`: scalars, series, trials or claims as CSV.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/output_names.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "result/export.hpp"

namespace ranklab {
namespace {

/// Throws UsageError if the file exists with another first line.
void require_table_like(const std::string& csv, const std::string& path) {
  if (!std::filesystem::exists(path) || is_special_file(path)) return;
  std::ifstream file(path, std::ios::binary);
  std::string header;
  std::getline(file, header);
  if (header == csv.substr(0, csv.find('\n'))) return;
  throw UsageError("--out: " + printable(path) +
                   " exists and has other columns, so it is not replaced; pass --force to replace "
                   "it");
}

struct ExportOptions {
  std::string what = exported_parts.front(), out = "-";
  bool force = false;
};

int write_table(const std::vector<std::string>& paths, const ExportOptions& options) {
  const auto& [what, out, force] = options;
  require_fitting_name("export", out);
  std::vector<ResultFile> results;
  for (const std::string& path : paths) results.push_back(read_result(path));
  std::string csv;
  try {
    csv = paths.size() == 1 ? export_csv(results[0], what) : export_csv(results, paths, what);
  } catch (const Failure& error) {
    throw Failure(paths.size() == 1 ? printable(paths[0]) + ": " + error.what() : error.what());
  }
  if (out != "-") {
    if (!force) require_table_like(csv, out);
    write_file_atomically(out, csv);
  } else if (std::fwrite(csv.data(), 1, csv.size(), stdout) != csv.size()) {
    throw Failure("cannot write to standard output");
  }
  return 0;
}

}  // namespace

Utility export_command() {
  const auto options = std::make_shared<ExportOptions>();
  return {
      .name = "export",
      .usage = "RESULT.json...",
      .summary = "write scalars, series, trials, the curves of the figure or claims as tidy CSV",
      .details =
          "Several results give one table: each row begins with the file and the parameters "
          "that differ between the results.",
      .takes = {1, any_number, "one or more result files"},
      .flags =
          {choice_field(
               "what", options->what, exported_parts, "",
               "content of a row: a scalar, a point of a series, a trial's value, a "
               "point of a trial's curve, a point of the figure with its panel and curve, or a "
               "claim"),
           text_field("out", options->out, "path of the CSV file; - is standard output"),
           switch_field("force", options->force,
                        "replace an existing file that is not such a table")},
      .run = [options](const Arguments& given) { return write_table(given.positional, *options); },
  };
}

}  // namespace ranklab
