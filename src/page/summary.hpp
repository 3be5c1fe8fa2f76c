// The numbers and sentences of the first screen, which the page shows in HTML and a README in
// Markdown.
#pragma once

#include <string>
#include <vector>

#include "page/entry.hpp"
#include "result/standing.hpp"

namespace ranklab {

/// A sentence about one result, with a small picture of a panel of its figure.
struct Finding {
  const Entry* entry = nullptr;
  std::string sentence;          // plain text
  const Claim* claim = nullptr;  // the claim on which the sentence rests
  // The sentence is what was found, and not the claim, whose verdict it would contradict.
  bool is_ours = false;
};

/// At most three per paper, in the order of the results: those whose preset has a finding and whose
/// run decides its claim. If the verdict is not the one that the sentence is about, the sentence is
/// the statement of the claim.
std::vector<Finding> findings_of(const std::vector<Entry>& entries);

/// True for a result of a paper that judges nothing: it makes files that other presets read.
bool is_input(const Entry& entry);

/// The words of the first screen.
inline constexpr char introduction[] =
    "Figures and statements about the geometry of deep networks, judged from computed numbers. "
    "\u2713 <b>true</b>: proved, and never violated. \u2248 <b>consistent</b> or <b>seen</b> at "
    "the "
    "sizes run. \u2717 <b>false as printed</b>: a typo, a missing condition or an error, derived "
    "by "
    "hand. \u25B3 <b>not seen</b>, or only in part. ? <b>undecided</b>: too few data. \u25CB "
    "<b>not "
    "judged</b>, or a slip.";

}  // namespace ranklab
