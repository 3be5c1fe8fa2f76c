// Results for readers: one self-contained HTML page without external resources, and pages in
// Markdown. The same results give the same bytes.
#pragma once

#include <string>
#include <vector>

#include "judge/catalog.hpp"
#include "result/result_file.hpp"

namespace ranklab {

/// The page. `file_names` are the paths of the results, in the same order; a path appears in the
/// command that repeats a run if no preset describes the run. `notes` are about the list of
/// results. A figure that cannot be drawn is shown as such; it never stops the page.
std::string html_report(const std::vector<ResultFile>& results,
                        const std::vector<std::string>& file_names,
                        const std::vector<std::string>& notes = {});

/// An overview for a README: findings and small pictures, as HTML that Markdown allows. Each
/// picture is expected next to its result, as .svg instead of .json. Links lead to the pages of the
/// papers.
std::string markdown_gallery(const std::vector<ResultFile>& results,
                             const std::vector<std::string>& file_names);

/// The page of a paper, results/spectral.md: its statements with verdict, evidence and pictures.
std::string markdown_paper(const Paper& paper, const std::vector<ResultFile>& results,
                           const std::vector<std::string>& file_names);

/// The index, results/statements.md: every statement with its verdict, and a link to its place on
/// the page of its paper.
std::string markdown_statements(const std::vector<ResultFile>& results,
                                const std::vector<std::string>& file_names);

}  // namespace ranklab
