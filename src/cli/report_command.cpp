// `ranklab report RESULT.json...`: one self-contained HTML page, or a gallery in Markdown.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cli/commands.hpp"
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

struct ReportOptions {
  std::string out = "results/report.html";
  bool quiet = false;
};

// A folder stands for the .json files in it, sorted by name.
std::vector<std::string> with_files_of_folders(const std::vector<std::string>& given) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const std::string& path : given) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      out.push_back(path);
      continue;
    }
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path, error)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
    if (files.empty()) throw Failure(printable(path) + ": the folder has no .json file");
    std::sort(files.begin(), files.end());
    out.insert(out.end(), files.begin(), files.end());
  }
  return out;
}

int write_page(const std::vector<std::string>& paths_given, const ReportOptions& options) {
  const auto& [out, quiet] = options;
  const std::vector<std::string> given = with_files_of_folders(paths_given);
  refuse_to_replace_a_result(out, given);
  std::vector<ResultFile> results;
  // `train --save` writes a config file next to the results, and results/*.json includes it.
  const auto is_config = [](const std::string& path) { return path.ends_with(".config.json"); };
  std::vector<std::string> paths;
  std::remove_copy_if(given.begin(), given.end(), std::back_inserter(paths), is_config);
  if (paths.empty())
    throw UsageError(
        "report takes one or more result files; the config of saved weights is not a result");
  for (const auto& path : paths) results.push_back(read_result(path));
  const std::size_t left_out = given.size() - paths.size();
  if (left_out > 0 && !quiet) {
    std::fprintf(stderr, "skipped %s: the config of saved weights is not a result\n",
                 plural(left_out, "file").c_str());
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

}  // namespace

Utility report_command() {
  const auto options = std::make_shared<ReportOptions>();
  return {
      .name = "report",
      .usage = "RESULT.json...",
      .summary = "write one self-contained HTML page: figures, claims, config, provenance",
      .takes = {1, any_number, "one or more result files, or folders of them"},
      .flags = {text_field("out", options->out,
                           "path of the page; - is standard output; .md writes the overview of the "
                           "page for a README"),
                switch_field("quiet", options->quiet, "print only errors on standard error")},
      .run = [options](const Arguments& given) { return write_page(given.positional, *options); },
  };
}

}  // namespace ranklab
