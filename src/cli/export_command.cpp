// `ranklab export RESULT.json...`: scalars, series, trials or claims as CSV.

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/export.hpp"

namespace ranklab {

namespace {

/// Throws UsageError if the file exists with another first line.
void require_table_like(const std::string& csv, const std::string& path) {
  if (!std::filesystem::exists(path)) return;
  std::ifstream file(path, std::ios::binary);
  std::string header;
  std::getline(file, header);
  if (header == csv.substr(0, csv.find('\n'))) return;
  throw UsageError("--out: " + printable(path) +
                   " exists and has other columns, so it is not replaced; pass --force to replace "
                   "it");
}

}  // namespace

int export_command(const std::vector<std::string>& words) {
  std::string what = exported_parts.front(), out = "-";
  bool force = false;
  const std::vector<Field> fields = {
      choice_field("what", what, exported_parts, "",
                   "content of a row: a scalar, a point of a series, a trial's value, a claim, or "
                   "a step of a layer that `advise` has judged"),
      text_field("out", out, "path of the CSV file; - is standard output"),
      switch_field("force", force, "replace an existing file that is not such a table"),
  };
  const Arguments arguments = parse_utility(words, fields);
  if (prints_help(arguments, "export RESULT.json... [--what PART] [--out FILE.csv] [--force]",
                  "Writes one part of a result as tidy CSV. Several results give one table: each "
                  "row begins with the file and the parameters that differ between the results.",
                  fields))
    return 0;
  const std::vector<std::string>& paths = arguments.positional;
  if (paths.empty()) throw UsageError("export takes one or more result files, none given");
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

}  // namespace ranklab
