// `ranklab report RESULT.json...`: one self-contained HTML page, or a gallery in Markdown.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/page/page.hpp"
#include "report/result_json.hpp"

namespace ranklab {

int report_command(const std::vector<std::string>& words) {
  std::string out = "results/report.html";
  bool quiet = false;
  const std::vector<Field> fields = {
      text_field("out", out, "the page; - is standard output; a name in .md: a gallery for a README"),
      switch_field("quiet", quiet, "nothing on standard error but errors"),
  };
  const Arguments arguments = parse_utility(words, fields);
  const std::string summary =
      "Makes one self-contained HTML page of results: figures, claims with their verdicts, config and provenance.";
  if (prints_help(arguments, "report RESULT.json... [--out PAGE.html]", summary, fields)) return 0;
  if (arguments.positional.empty()) throw UsageError("report takes one result file or more, none given");
  std::vector<nlohmann::json> results;
  std::vector<std::string> paths;
  for (const auto& path : arguments.positional) {
    // `train --save` writes it next to the results, so that results/*.json names it too.
    if (path.ends_with(".config.json")) {
      if (!quiet) std::fprintf(stderr, "%s: the config of saved weights, not a result; left out\n", printable(path).c_str());
      continue;
    }
    results.push_back(read_result(path));
    paths.push_back(path);
  }
  if (results.empty()) throw UsageError("report takes one result file or more, none given");
  const std::string page = out.ends_with(".md") ? markdown_gallery(results, paths) : html_report(results, paths);
  if (out == "-") {
    std::fwrite(page.data(), 1, page.size(), stdout);
    return 0;
  }
  write_file_atomically(out, page);
  if (!quiet) std::fprintf(stderr, "%s\n", printable(out).c_str());
  return 0;
}

}  // namespace ranklab
