// The papers, statement by statement: what each says, the verdict, the evidence.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge/verdicts.hpp"
#include "page/entry.hpp"
#include "page/markdown.hpp"

namespace ranklab {

/// The statements of one paper, judged from the results of the page; `result` of an appearance is
/// the index of the entry.
struct PaperView {
  const Paper* paper = nullptr;
  std::vector<JudgedStatement> statements;
};

/// The papers that one of the results is about, in the order of the catalog, with all statements.
std::vector<PaperView> surveys_of(const std::vector<Entry>& entries);

/// The same for a page that need not survey a paper: of a paper of which several presets have no
/// result, it shows only the statements that are judged.
std::vector<PaperView> views_of(const std::vector<Entry>& entries);

/// "spectral/thm-3.7": the anchor of a statement on a page.
PageAnchor anchor_of(const PaperStatement& statement);

/// What a statement uses and what uses it, among the statements of the view, in their order.
struct Neighbors {
  std::vector<const JudgedStatement*> uses, users;
};
Neighbors neighbors_of(const JudgedStatement& statement, const PaperView& view);

/// Why a statement has no verdict; empty if it has one.
std::string reason_of(const JudgedStatement& statement);

/// "In the proof: The proof prints ...".
std::string sentence_of(const Slip& slip);

/// The results that judge a statement, with the number of claims in each.
std::map<std::size_t, std::size_t> results_of(const JudgedStatement& statement);

/// " (3 claims)"; one claim is not counted.
template <class Text>
Text claims_in_brackets(std::size_t claims) {
  return claims > 1 ? " (" + Text::number(claims) + " claims)" : Text();
}

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

}  // namespace ranklab
