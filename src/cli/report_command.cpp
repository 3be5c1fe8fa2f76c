// `ranklab report RESULT.json...`: one self-contained HTML page, or a gallery in Markdown.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/input_files.hpp"
#include "cli/output_names.hpp"
#include "cli/overwrite.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "page/page.hpp"
#include "result/same_run.hpp"

namespace ranklab {
namespace {

/// Throws UsageError if the page would replace one of the results, or a file that is no page, or if
/// its name is that of another kind of file.
void refuse_to_replace_a_result(const std::string& out, const std::vector<std::string>& results) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (is_one_of(out, results))
    throw UsageError("--out " + printable(out) + ": is one of the results; name another file");
  require_fitting_name("report", out);
  if (out == "-" || !fs::is_regular_file(out, error)) return;
  if (!out.ends_with(".html") && !out.ends_with(".htm") && !out.ends_with(".md"))
    throw UsageError("--out " + printable(out) +
                     ": exists and is not a page (.html or .md), so it is not replaced; name "
                     "another file");
}

struct ReportOptions {
  std::string out = "results/report.html";
  bool quiet = false;
};

int write_page(const std::vector<std::string>& given, const ReportOptions& options) {
  const auto& [out, quiet] = options;
  std::vector<ResultFile> results;
  std::vector<std::string> paths;
  std::size_t configs = 0;
  const auto add = [&](const std::string& path, ResultFile result) {
    paths.push_back(path);
    results.push_back(std::move(result));
  };
  for (const std::string& path : given) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      for (auto& [file, result] : results_in(path)) add(file, std::move(result));
    } else if (path.ends_with(".config.json")) {
      ++configs;  // `train --save` writes it next to the results, and results/*.json includes it
    } else {
      add(path, read_result(path));
    }
  }
  if (results.empty())
    throw UsageError(
        configs > 0 ? "report takes one or more result files; the config of saved weights is not a "
                      "result"
                    : printable_key(given[0]) + ": the folder has no result");
  refuse_to_replace_a_result(out, paths);
  const std::vector<std::string> repeated = drop_repeated_runs(results, paths);
  for (const std::string& line : repeated) {
    if (!quiet) std::fprintf(stderr, "%s\n", printable(line).c_str());
  }
  if (configs > 0 && !quiet) {
    std::fprintf(stderr, "skipped %s: the config of saved weights is not a result\n",
                 plural(configs, "file").c_str());
  }
  const std::string page = out.ends_with(".md") ? markdown_gallery(results, paths)
                                                : html_report(results, paths, repeated);
  if (out == "-") {
    std::fwrite(page.data(), 1, page.size(), stdout);
    return 0;
  }
  write_file_atomically(out, page);
  if (!quiet) std::fprintf(stderr, "%s\n", printable(out).c_str());
  return 0;
}

}  // namespace

Utility report_command() {
  const auto options = std::make_shared<ReportOptions>();
  return {
      .name = "report",
      .usage = "RESULT.json...",
      .summary = "write one self-contained HTML page: figures, claims, config, provenance",
      .takes = {1, any_number, "one or more result files, or folders of them"},
      .flags = {text_field("out", options->out,
                           "path of the page; - is standard output; .md writes findings and small "
                           "pictures for a README, with links to the pages of `ranklab papers`"),
                switch_field("quiet", options->quiet, "print only errors on standard error")},
      .run = [options](const Arguments& given) { return write_page(given.positional, *options); },
  };
}

}  // namespace ranklab
