// The verdict on a statement of a paper, from all claims that judge it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "judge/catalog.hpp"
#include "result/result.hpp"
#include "result/standing.hpp"

namespace ranklab {

/// The verdict on a statement, by rule from its claims:
///  * false_as_printed: a claim shows a slip in the statement itself. A slip in a caption, a
///    definition or an assumption does not condemn what it is about;
///  * is_true: every decided claim about it holds, and the catalog has a proof;
///  * true_slip_in_proof: the same, and a claim shows a slip in its proof;
///  * no_violation: every decided claim about it holds, and all of them cover every finite case,
///    but the catalog has no proof;
///  * consistent: the same, but some are asymptotic, printed numbers or observations;
///  * not_seen: an asymptotic claim or an observation does not show at the sizes of the runs;
///  * undecided: too few data, or a violation for which the catalog has no derivation;
///  * not_judged: no claim, or the hypotheses are met in no run.
/// Claims about the statement itself decide. Without such claims, those about the text, the caption
/// and the definition do, and without these, those about the proof. What is not in the paper never
/// counts, nor does a claim that another preset judges. A claim that is undecided after Holm's
/// correction counts as undecided.
enum class StatementVerdict {
  is_true,
  true_slip_in_proof,
  false_as_printed,
  no_violation,
  consistent,
  not_seen,
  undecided,
  not_judged
};

/// The words for a verdict: its name for programs ("true-slip-in-proof"), its symbol, and the
/// standing of a claim whose color it has.
struct VerdictWords {
  const char *name, *symbol;
  Standing color;
};
const VerdictWords& words_of(StatementVerdict verdict);

/// A claim in one of several results.
struct Appearance {
  const Claim* claim = nullptr;
  std::size_t result = 0;
};

struct JudgedStatement {
  const PaperStatement* entry = nullptr;
  std::vector<Appearance> claims;  // all of the statement's, in the order of the results
  StatementVerdict verdict = StatementVerdict::not_judged;

  /// The verdict in words: "true", "false as printed: a missing condition", "seen: 4 of 6".
  std::string words() const;
  /// The gravest slip for which it is false as printed; none if it is not.
  std::optional<SlipClass> slip_class() const;
  /// The numbers behind it, with what they are numbers of; empty if no claim decides it.
  std::string evidence() const;
  /// The claim that shows the verdict best, or null.
  const Appearance* leading() const;
};

/// The statement, judged from the claims about it.
JudgedStatement judge_statement(const PaperStatement& entry, std::vector<Appearance> claims);

/// The evidence of a claim, what was expected, whose number that is, and why it is undecided:
/// "0.5, expected at least 1 (our threshold: ...)".
std::string evidence_in_words(const Claim& claim);

/// A result that judges statements; its claims must outlive the verdicts.
struct Judge {
  std::string name;  // of its preset or file
  const std::vector<Claim>* claims = nullptr;
};

/// Every statement of the paper, in its order, judged from the claims of several results. The
/// `result` of an appearance is an index into `judges`; claims are taken in the order of the
/// judges' names, so that evidence does not depend on the order in which results are given.
std::vector<JudgedStatement> judge_statements(const Paper& paper, const std::vector<Judge>& judges);

/// A group of verdicts in the order in which they are counted, with the words for it.
struct VerdictGroup {
  StatementVerdict verdict = StatementVerdict::not_judged;
  std::optional<SlipClass> slip_class = {};  // of those that are false as printed
  const char* words = "";
};
inline constexpr std::size_t verdict_groups = 10;
extern const std::array<VerdictGroup, verdict_groups> groups_of_verdicts;

/// How many numbered statements are in which group.
using VerdictCounts = std::array<std::size_t, verdict_groups>;
VerdictCounts count_numbered(const std::vector<JudgedStatement>& statements);

/// "typo or constant", "missing condition", "error".
const char* short_words_of(SlipClass how);
/// "constant", "condition", "error".
const char* name_of(SlipClass how);

/// A slip that makes a numbered statement false as printed.
struct FalseStatement {
  const PaperStatement* entry = nullptr;
  const Slip* slip = nullptr;
};
/// In the paper's order; a statement with two such slips is listed twice.
std::vector<FalseStatement> false_statements(const std::vector<JudgedStatement>& statements);

/// Throws std::logic_error if the claim names no statement of the catalog, or a slip that its
/// statement does not have.
void require_in_catalog(const Claim& claim);

}  // namespace ranklab
