#include "judge/verdicts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/text.hpp"

namespace ranklab {
namespace {

bool is_observation(const Claim& claim) {
  return claim.kind == Kind::figure || claim.kind == Kind::reading;
}

const Slip* slip_of(const PaperStatement& entry, const Claim& claim) {
  return claim.slip.empty() ? nullptr : entry.slip(claim.slip);
}

// The claims that may decide: of the paper, judged here, not corrected forms.
std::vector<const Claim*> deciding(const JudgedStatement& statement) {
  std::vector<const Claim*> out;
  for (const auto& [claim, result] : statement.claims) {
    if (!is_beyond_the_paper(*claim) && claim->misprint_of.empty() && claim->judged_in.empty())
      out.push_back(claim);
  }
  return out;
}

// What the claim adds to the verdict on its statement.
Standing weight_of(const Claim& claim) {
  return claim.holm_undecided ? Standing::undecided : standing_of(claim);
}

bool shows(const Claim& claim, const Slip* slip) {
  return slip != nullptr && claim.verdict == Verdict::fails;
}

// Those about the statement itself. Without such claims, those about the words around it, and
// without these, those about its proof. A claim that is not applicable does not count, nor one
// that only shows a slip outside of the statement.
std::vector<const Claim*> primary(const PaperStatement& entry,
                                  const std::vector<const Claim*>& claims) {
  const auto with = [&](const std::vector<Part>& parts) {
    std::vector<const Claim*> out;
    std::copy_if(claims.begin(), claims.end(), std::back_inserter(out), [&](const Claim* claim) {
      const Slip* slip = slip_of(entry, *claim);
      return std::find(parts.begin(), parts.end(), claim->part) != parts.end() &&
             standing_of(*claim) != Standing::not_applicable &&
             !(shows(*claim, slip) && !slip->in_statement());
    });
    return out;
  };
  for (const std::vector<Part>& parts : {std::vector<Part>{Part::statement},
                                         {Part::text, Part::caption, Part::definition},
                                         {Part::proof}}) {
    std::vector<const Claim*> out = with(parts);
    if (!out.empty()) return out;
  }
  return {};
}

StatementVerdict verdict_on(const JudgedStatement& statement) {
  const PaperStatement& entry = *statement.entry;
  const std::vector<const Claim*> claims = deciding(statement),
                                  primary_claims = primary(entry, claims);
  bool slip_in_proof = false;
  for (const Claim* claim : claims) {
    const Slip* slip = slip_of(entry, *claim);
    if (!shows(*claim, slip)) continue;
    if (slip->in_statement()) return StatementVerdict::false_as_printed;
    slip_in_proof = slip_in_proof || slip->where == "proof";
  }
  const auto any = [&](Standing standing) {
    return std::any_of(primary_claims.begin(), primary_claims.end(),
                       [&](const Claim* claim) { return weight_of(*claim) == standing; });
  };
  const auto is_exact = [](const Claim* claim) { return claim->kind == Kind::theorem; };
  if (any(Standing::not_seen)) return StatementVerdict::not_seen;
  if (any(Standing::fails) || any(Standing::undecided)) return StatementVerdict::undecided;
  std::vector<const Claim*> holding;
  std::copy_if(primary_claims.begin(), primary_claims.end(), std::back_inserter(holding),
               [](const Claim* claim) { return claim->verdict == Verdict::holds; });
  // A statement of which only the slip in the proof was looked at was not judged.
  if (holding.empty()) return StatementVerdict::not_judged;
  if (!entry.proof.empty())
    return slip_in_proof ? StatementVerdict::true_slip_in_proof : StatementVerdict::is_true;
  return std::all_of(holding.begin(), holding.end(), is_exact) ? StatementVerdict::no_violation
                                                               : StatementVerdict::consistent;
}

// Where slips are that do not make the statement false: "slip in the caption", "slip in the proof".
std::vector<std::string> slips_outside(const JudgedStatement& statement) {
  const std::vector<const Claim*> claims = deciding(statement);
  const auto is_shown = [&](const Slip& slip) {
    return std::any_of(claims.begin(), claims.end(), [&](const Claim* claim) {
      return claim->slip == slip.id && claim->verdict == Verdict::fails;
    });
  };
  std::vector<std::string> out;
  for (const char* where : {"statement", "caption", "definition", "proof"}) {
    const bool any = std::ranges::any_of(statement.entry->slips, [&](const Slip& slip) {
      return slip.where == where && !slip.in_statement() &&
             (slip.is_notation() ? !claims.empty() && where != std::string("proof")
                                 : is_shown(slip));
    });
    if (any)
      out.push_back(where == std::string("statement") ? std::string("slip of notation")
                                                      : std::string("slip in the ") + where);
  }
  return out;
}

// "seen: 4 of 6 observations, 1 undecided"
std::string observations_text(const std::vector<const Claim*>& claims) {
  std::size_t seen = 0, not_seen = 0, undecided = 0;
  for (const Claim* claim : claims) {
    const Standing standing = weight_of(*claim);
    seen += standing == Standing::holds ? 1 : 0;
    not_seen += standing == Standing::not_seen || standing == Standing::fails ? 1 : 0;
    undecided += standing == Standing::undecided ? 1 : 0;
  }
  const std::string of =
      std::to_string(seen) + " of " + plural(seen + not_seen + undecided, "observation");
  if (seen + not_seen == 0) return "undecided";
  if (not_seen == 0) return (undecided > 0 ? "undecided in part: " + of + " seen" : "seen: " + of);
  return (seen == 0 ? "not seen: " : "seen in part: ") + of +
         (undecided > 0 ? ", " + std::to_string(undecided) + " undecided" : "");
}

}  // namespace

const VerdictWords& words_of(StatementVerdict verdict) {
  static constexpr std::array<VerdictWords, 8> list = {{
      {"true", "\u2713", Standing::holds},
      {"true-slip-in-proof", "\u2713", Standing::holds},
      {"false-as-printed", "\u2717", Standing::fails},
      {"no-violation", "\u2248", Standing::holds},
      {"consistent", "\u2248", Standing::holds},
      {"not-seen", "\u25B3", Standing::not_seen},
      {"undecided", "?", Standing::undecided},
      {"not-judged", "\u25CB", Standing::undecided},
  }};
  return list[static_cast<std::size_t>(verdict)];
}

std::optional<SlipClass> JudgedStatement::slip_class() const {
  std::optional<SlipClass> out;
  if (verdict != StatementVerdict::false_as_printed) return out;
  for (const Claim* claim : deciding(*this)) {
    const Slip* slip = slip_of(*entry, *claim);
    if (shows(*claim, slip) && slip->in_statement() && (!out || slip->how() > *out))
      out = slip->how();
  }
  return out;
}

const char* short_words_of(SlipClass how) {
  constexpr std::array<const char*, 3> words = {"typo or constant", "missing condition", "error"};
  return words[static_cast<std::size_t>(how)];
}

const char* name_of(SlipClass how) {
  constexpr std::array<const char*, 3> names = {"constant", "condition", "error"};
  return names[static_cast<std::size_t>(how)];
}

std::string JudgedStatement::words() const {
  const std::vector<const Claim*> primary_claims = primary(*entry, deciding(*this));
  const bool observed = !primary_claims.empty() &&
                        std::all_of(primary_claims.begin(), primary_claims.end(),
                                    [](const Claim* claim) { return is_observation(*claim); });
  const std::vector<std::string> outside = slips_outside(*this);
  const std::string slips = outside.empty() ? "" : "; " + joined(outside, "; ");
  switch (verdict) {
    case StatementVerdict::is_true:
    case StatementVerdict::true_slip_in_proof:
      return "true" + slips;
    case StatementVerdict::false_as_printed:
      return std::ranges::find_if(groups_of_verdicts,
                                  [how = slip_class()](const VerdictGroup& group) {
                                    return group.slip_class && group.slip_class == how;
                                  })
          ->words;
    case StatementVerdict::no_violation:
      return "no violation found" + slips;
    case StatementVerdict::consistent:
      return (observed ? observations_text(primary_claims) : "consistent at the sizes run") + slips;
    case StatementVerdict::not_seen:
      return (observed ? observations_text(primary_claims) : "not seen at the sizes run") + slips;
    case StatementVerdict::undecided:
      return (observed ? observations_text(primary_claims) : "undecided") + slips;
    case StatementVerdict::not_judged:
      break;
  }
  return outside.empty() ? "not judged" : joined(outside, "; ");
}

const Appearance* JudgedStatement::leading() const {
  const auto first = [&](const std::function<bool(const Claim&)>& wanted) -> const Appearance* {
    const auto found = std::find_if(claims.begin(), claims.end(), [&](const Appearance& each) {
      return each.claim->judged_in.empty() && wanted(*each.claim);
    });
    return found == claims.end() ? nullptr : &*found;
  };
  const std::vector<const Claim*> primary_claims = primary(*entry, deciding(*this));
  const auto is_primary = [&](const Claim& claim) {
    return std::find(primary_claims.begin(), primary_claims.end(), &claim) != primary_claims.end();
  };
  // The slip in the statement that a failing claim shows. A claim about a step of the proof can
  // show it: the claim about the statement comes first. Of several slips the gravest decides, and
  // comes first.
  const std::optional<SlipClass> how = slip_class();
  const auto shown_slip = [&](const Claim& claim) -> const Slip* {
    const Slip* slip = slip_of(*entry, claim);
    return how && shows(claim, slip) && slip->in_statement() ? slip : nullptr;
  };
  const std::array<std::function<bool(const Claim&)>, 8> order = {
      [&](const Claim& claim) {
        const Slip* slip = shown_slip(claim);
        return slip != nullptr && claim.part == Part::statement && slip->how() == *how;
      },
      [&](const Claim& claim) {
        return shown_slip(claim) != nullptr && claim.part == Part::statement;
      },
      [&](const Claim& claim) { return shown_slip(claim) != nullptr; },
      [&](const Claim& claim) { return is_primary(claim) && weight_of(claim) == Standing::fails; },
      [&](const Claim& claim) {
        return is_primary(claim) && weight_of(claim) == Standing::not_seen;
      },
      [&](const Claim& claim) {
        return is_primary(claim) && weight_of(claim) == Standing::undecided;
      },
      is_primary,
      [&](const Claim& claim) { return shows(claim, slip_of(*entry, claim)); }};
  for (const auto& wanted : order) {
    if (const Appearance* found = first(wanted)) return found;
  }
  return first([](const Claim&) { return true; });
}

namespace {

// The low end of positive().
constexpr double positive_low = std::numeric_limits<double>::min();

// "expected 0.1592", "expected at most 2"; empty for counts and if any value is allowed.
std::string expected_text(const Claim& claim) {
  const auto* region = std::get_if<std::pair<double, double>>(&claim.expected);
  const auto* count = std::get_if<CountEvidence>(&claim.evidence);
  if (region == nullptr || (count != nullptr && !count->value)) return "";
  const auto [low, high] = *region;
  if (std::isfinite(low) && std::isfinite(high))
    return "expected " + (low == high ? short_number(low) : range_text(low, high));
  if (std::isfinite(high)) return "expected at most " + short_number(high);
  if (low == positive_low) return "expected above 0";
  return std::isfinite(low) ? "expected at least " + short_number(low) : "";
}

// The evidence, what was expected, and whose number that is.
std::string with_expected(const Claim& claim) {
  const std::string evidence = evidence_text(claim), expected = expected_text(claim);
  const bool ours = !claim.threshold.empty() && claim.kind != Kind::printed_number;
  return evidence + (evidence.empty() || expected.empty() ? "" : ", " + expected) +
         (ours ? " (" + threshold_text(claim) + ")" : "");
}

// Of an undecided claim, why it is; the interval beside it may lie inside the region.
std::string why_undecided(const Claim& claim) {
  if (claim.holm_undecided) return ", not after Holm's correction";
  return claim.undecided && !claim.detail.empty() ? "; undecided: " + claim.detail : "";
}

}  // namespace

std::string evidence_in_words(const Claim& claim) {
  return with_expected(claim) + why_undecided(claim);
}

std::string JudgedStatement::evidence() const {
  const std::vector<const Claim*> primary_claims = primary(*entry, deciding(*this));
  const bool all_hold =
      !primary_claims.empty() &&
      std::all_of(primary_claims.begin(), primary_claims.end(),
                  [](const Claim* claim) { return weight_of(*claim) == Standing::holds; });
  double cases = 0;
  for (const Claim* claim : primary_claims) {
    const auto* tally = std::get_if<CountEvidence>(&claim->evidence);
    if (tally != nullptr && !tally->value) cases += tally->cases;
  }
  if (all_hold && cases > 0 && verdict != StatementVerdict::false_as_printed)
    return "0 violations in " + grouped_count(cases) + (cases == 1 ? " case" : " cases");
  const Appearance* best = leading();
  const bool is_silent = verdict == StatementVerdict::not_judged && slips_outside(*this).empty();
  if (best == nullptr || is_silent) return "";
  const std::string found = evidence_in_words(*best->claim);
  std::string out = best->claim->statement + (found.empty() ? "" : ": " + found);
  for (const auto& [claim, result] : claims) {
    if (claim->misprint_of != best->claim->id) continue;
    const std::string corrected = with_expected(*claim);
    if (!corrected.empty()) return out + "; corrected: " + corrected;
  }
  return out;
}

JudgedStatement judge_statement(const PaperStatement& entry, std::vector<Appearance> claims) {
  JudgedStatement out{&entry, std::move(claims)};
  out.verdict = verdict_on(out);
  return out;
}

std::vector<JudgedStatement> judge_statements(const Paper& paper,
                                              const std::vector<Judge>& judges) {
  std::vector<std::vector<Appearance>> of(paper.statements.size());
  std::vector<std::size_t> order(judges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return judges[i].name; });
  for (const std::size_t result : order) {
    for (const Claim& claim : *judges[result].claims) {
      const CatalogPlace* place = find_place(claim.statement_id);
      if (place != nullptr && &papers()[place->paper] == &paper)
        of[place->statement].push_back({&claim, result});
    }
  }
  std::vector<JudgedStatement> out;
  for (std::size_t i = 0; i < of.size(); ++i)
    out.push_back(judge_statement(paper.statements[i], std::move(of[i])));
  return out;
}

const std::array<VerdictGroup, verdict_groups> groups_of_verdicts = {{
    {StatementVerdict::is_true, {}, "true"},
    {StatementVerdict::true_slip_in_proof, {}, "true, slip in the proof"},
    {StatementVerdict::no_violation, {}, "no violation found"},
    {StatementVerdict::consistent, {}, "consistent at the sizes run"},
    {StatementVerdict::false_as_printed, SlipClass::constant,
     "false as printed: a typo or a wrong constant"},
    {StatementVerdict::false_as_printed, SlipClass::condition,
     "false as printed: a missing condition"},
    {StatementVerdict::false_as_printed, SlipClass::error, "false as printed: an error"},
    {StatementVerdict::not_seen, {}, "not seen"},
    {StatementVerdict::undecided, {}, "undecided"},
    {StatementVerdict::not_judged, {}, "not judged"},
}};

VerdictCounts count_numbered(const std::vector<JudgedStatement>& statements) {
  VerdictCounts out{};
  for (const JudgedStatement& statement : statements) {
    if (!statement.entry->is_numbered()) continue;
    for (std::size_t i = 0; i < verdict_groups; ++i) {
      const VerdictGroup& group = groups_of_verdicts[i];
      if (group.verdict == statement.verdict && group.slip_class == statement.slip_class())
        ++out[i];
    }
  }
  return out;
}

std::vector<FalseStatement> false_statements(const std::vector<JudgedStatement>& statements) {
  std::vector<FalseStatement> out;
  for (const JudgedStatement& statement : statements) {
    const PaperStatement& entry = *statement.entry;
    if (statement.verdict != StatementVerdict::false_as_printed || !entry.is_numbered()) continue;
    for (const Slip& slip : entry.slips) {
      if (slip.in_statement()) out.push_back({&entry, &slip});
    }
  }
  return out;
}

void require_in_catalog(const Claim& claim) {
  const PaperStatement* entry = find_statement(claim.statement_id);
  if (entry == nullptr)
    throw std::logic_error("the claim " + claim.id + " names no statement of the catalog: '" +
                           claim.statement_id + "'");
  if (!claim.slip.empty() && entry->slip(claim.slip) == nullptr)
    throw std::logic_error("the claim " + claim.id + " names a slip that " + entry->id +
                           " does not have: '" + claim.slip + "'");
}

}  // namespace ranklab
