#include "result/standing.hpp"

#include <set>

#include "core/text.hpp"

namespace ranklab {

const StandingWords& words_of(Standing standing) {
  static constexpr std::array<StandingWords, standings> list = {{
      {"fails", "\u2717", "fails", "fail"},
      {"slip", "\u270E", "slip", "slips"},
      {"not-seen", "\u25B3", "not seen", "not seen"},
      {"ours", "\u25B3", "beyond the paper does not hold", "beyond the paper do not hold"},
      {"holds", "\u2713", "holds", "hold"},
      {"undecided", "?", "undecided", "undecided"},
      {"not-applicable", "\u25CB", "not applicable", "not applicable"},
  }};
  return list[static_cast<std::size_t>(standing)];
}

bool is_beyond_the_paper(const Claim& claim) {
  return claim.kind == Kind::beyond || claim.kind == Kind::own;
}

Standing standing_of(const Claim& claim) {
  if (claim.verdict == Verdict::holds) return Standing::holds;
  if (claim.verdict != Verdict::fails)
    return claim.undecided || claim.shortened ? Standing::undecided : Standing::not_applicable;
  if (is_beyond_the_paper(claim)) return Standing::ours;
  if (!claim.slip.empty()) return Standing::slip;
  return claim.kind == Kind::theorem ? Standing::fails : Standing::not_seen;
}

std::string standing_text(const Claim& claim) {
  const Standing standing = standing_of(claim);
  if (standing == Standing::ours) return "does not hold";
  if (standing == Standing::holds && claim.kind == Kind::asymptotic) return "consistent";
  return words_of(standing).one;
}

std::string threshold_text(const Claim& claim) {
  const bool names_ours = claim.threshold.find("ours") != std::string::npos;
  return (names_ours ? "threshold: " : "our threshold: ") + claim.threshold;
}

ClaimCounts count(const std::vector<Claim>& claims) {
  ClaimCounts out;
  std::set<std::string> ids, slips;
  for (const Claim& claim : claims) ids.insert(claim.id);
  for (const Claim& claim : claims) {
    const bool has_printed = !claim.misprint_of.empty() && ids.contains(claim.misprint_of);
    const Standing standing = standing_of(claim);
    if (claim.kind == Kind::own) {
      ++out.own;
      out.own_holding += claim.verdict == Verdict::holds && !claim.holm_undecided;
    } else if (!claim.judged_in.empty()) {
      ++out.elsewhere;
    } else if (!has_printed && (standing != Standing::slip || slips.insert(claim.slip).second)) {
      ++out.by_standing[static_cast<std::size_t>(standing)];
    }
  }
  return out;
}

std::string counts_text(const ClaimCounts& counts) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < standings; ++i) {
    const std::size_t n = counts.by_standing[i];
    const StandingWords& of = words_of(static_cast<Standing>(i));
    if (n > 0) words.push_back(std::to_string(n) + " " + (n == 1 ? of.one : of.many));
  }
  if (counts.elsewhere > 0)
    words.push_back(std::to_string(counts.elsewhere) + " judged in another preset");
  if (counts.own > 0)
    words.push_back(say("{} of {} of your own {}", counts.own_holding, counts.own,
                        counts.own_holding == 1 ? "holds" : "hold"));
  return words.empty() ? "no claims" : joined(words);
}

}  // namespace ranklab
