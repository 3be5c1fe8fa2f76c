// The papers, statement by statement: what each says, the verdict, the evidence.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/page/entry.hpp"
#include "report/page/markdown.hpp"
#include "report/verdicts.hpp"

namespace ranklab {

/// The statements of one paper, judged from the results of the page; `result` of an appearance is
/// the index of the entry.
struct PaperView {
  const Paper* paper = nullptr;
  std::vector<JudgedStatement> statements;
};

/// The papers with a statement that one of the results judges, in the order of the catalog.
std::vector<PaperView> views_of(const std::vector<Entry>& entries);

/// "spectral/thm-3.7": the anchor of a statement on a page.
PageAnchor anchor_of(const PaperStatement& statement);

/// The verdict as word, symbol and color.
Markup verdict_html(const JudgedStatement& statement);

/// How many numbered statements of each paper are true, false as printed, and so on. Empty if the
/// results judge no numbered statement.
Markup counts_html(const std::vector<PaperView>& views);
Markdown counts_markdown(const std::vector<PaperView>& views);

/// The statements that are false as printed, with the corrected form, in one list.
Markup false_statements_html(const std::vector<PaperView>& views);

/// "[Spectral] D. Davis, ...: title, arXiv:...".
Markup citation_html(const Paper& paper);

/// The table of each paper.
Markup views_html(const std::vector<PaperView>& views, const std::vector<Entry>& entries);

/// The same as Markdown, for `results/statements.md`. `page` is the path of the HTML
/// page as seen from there.
Markdown statements_markdown(const std::vector<PaperView>& views, const std::vector<Entry>& entries,
                             const std::string& page);

}  // namespace ranklab
