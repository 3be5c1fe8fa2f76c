// The numbers and sentences of the first screen, which the page shows in HTML and a README in
// Markdown.
#pragma once

#include <string>
#include <vector>

#include "report/page/entry.hpp"
#include "report/page/statements.hpp"

namespace ranklab {

/// The verdicts on the statements of one kind. A file from before claims had kinds counts as
/// "without a kind".
struct KindCounts {
  std::string kind;  // theorem, printed number, ...
  StandingCounts counts;
};

/// The kinds that have statements, in a fixed order.
std::vector<KindCounts> counts_by_kind(const std::vector<JudgedStatement>& statements);

/// A sentence about one result, with a small picture of a panel of its figure.
struct Finding {
  const Entry* entry = nullptr;
  std::string sentence;                   // plain text
  const nlohmann::json* claim = nullptr;  // the claim on which the sentence rests
  Standing standing = Standing::holds;
};

/// At most three per paper, in the order of the results: those whose preset has a finding and whose
/// run decides its claim. If the verdict is not the one that the sentence is about, the sentence is
/// the statement of the claim.
std::vector<Finding> findings_of(const std::vector<Entry>& entries,
                                 const std::vector<JudgedStatement>& statements);

/// True for a result of a paper that judges nothing: it makes files that other presets read.
bool is_input(const Entry& entry);

/// The words of the first screen.
inline constexpr const char* introduction =
    "Figures and statements of papers on the geometry of deep networks, computed again by one "
    "program, ranklab, on a CPU. Every statement is judged from the numbers of its own run: it "
    "holds, fails, is undecided (too few data) or not applicable (a hypothesis is not met). A "
    "misprint fails as printed and holds in its corrected form.";

}  // namespace ranklab
