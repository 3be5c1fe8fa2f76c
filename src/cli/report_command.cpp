// `ranklab report RESULT.json...`: one self-contained HTML page, or a gallery in Markdown.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/page/page.hpp"

namespace ranklab {
namespace {

/// Throws UsageError if the page would replace one of the results, or a file that is no page.
void refuse_to_replace_a_result(const std::string& out, const std::vector<std::string>& results) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (out == "-" || !fs::is_regular_file(out, error)) return;
  const bool is_input = std::any_of(results.begin(), results.end(), [&](const std::string& result) {
    return fs::equivalent(out, result, error);
  });
  if (is_input)
    throw UsageError("--out " + printable(out) + ": is one of the results; name another file");
  if (!out.ends_with(".html") && !out.ends_with(".htm") && !out.ends_with(".md"))
    throw UsageError("--out " + printable(out) +
                     ": exists and is not a page (.html or .md), so it is not replaced; name "
                     "another file");
}

}  // namespace

int report_command(const std::vector<std::string>& words) {
  std::string out = "results/report.html";
  bool quiet = false;
  const std::vector<Field> fields = {
      text_field("out", out,
                 "path of the page; - is standard output; .md writes the overview of the page for "
                 "a README"),
      switch_field("quiet", quiet, "print only errors on standard error"),
  };
  const Arguments arguments = parse_utility(words, fields);
  const std::string summary =
      "Writes one self-contained HTML page of results: figures, claims with their verdicts, config "
      "and provenance.";
  if (prints_help(arguments, "report RESULT.json... [--out PAGE.html]", summary, fields)) return 0;
  if (arguments.positional.empty())
    throw UsageError("report takes one or more result files, none given");
  refuse_to_replace_a_result(out, arguments.positional);
  std::vector<ResultFile> results;
  // `train --save` writes a config file next to the results, and results/*.json includes it.
  const auto is_config = [](const std::string& path) { return path.ends_with(".config.json"); };
  std::vector<std::string> paths;
  std::remove_copy_if(arguments.positional.begin(), arguments.positional.end(),
                      std::back_inserter(paths), is_config);
  if (paths.empty())
    throw UsageError(
        "report takes one or more result files; the config of saved weights is not a result");
  for (const auto& path : paths) results.push_back(read_result(path));
  const std::size_t left_out = arguments.positional.size() - paths.size();
  if (left_out > 0 && !quiet) {
    std::fprintf(stderr, "skipped %s: the config of saved weights is not a result\n",
                 counted(left_out, "file").c_str());
  }
  const std::string page =
      out.ends_with(".md") ? markdown_gallery(results, paths) : html_report(results, paths);
  if (out == "-") {
    std::fwrite(page.data(), 1, page.size(), stdout);
    return 0;
  }
  write_file_atomically(out, page);
  if (!quiet) std::fprintf(stderr, "%s\n", printable(out).c_str());
  return 0;
}

}  // namespace ranklab
