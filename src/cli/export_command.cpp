// `ranklab export RESULT.json`: scalars, series, trials or claims as CSV.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/export.hpp"
#include "report/result_json.hpp"

namespace ranklab {

int export_command(const std::vector<std::string>& words) {
  std::string what = exported_parts.front(), out = "-";
  const std::vector<Field> fields = {
      choice_field("what", what, exported_parts, "", "what a row is: a scalar, a point of a series, a trial's value, a claim"),
      text_field("out", out, "the CSV file; - is standard output"),
  };
  const Arguments arguments = parse_utility(words, fields);
  if (prints_help(arguments, "export RESULT.json [--what PART] [--out FILE.csv]", "A part of a result as tidy CSV.", fields))
    return 0;
  const std::string& path = the_result_file(arguments, "export");
  const nlohmann::json result = read_result(path);
  std::string csv;
  try {
    csv = export_csv(result, what);
  } catch (const Failure& error) {
    throw Failure(printable(path) + ": " + error.what());
  }
  if (out != "-") {
    write_file_atomically(out, csv);
  } else if (std::fwrite(csv.data(), 1, csv.size(), stdout) != csv.size()) {
    throw Failure("cannot write to standard output");
  }
  return 0;
}

}  // namespace ranklab
