// The verdict on one claim as a reader sees it, and the counts of a run.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace ranklab {

/// What a claim says in its run, in the order in which claims are listed. fails: a statement for
/// every finite case has a violation. slip: the form as printed of something that the catalog calls
/// wrong, and it fails. not_seen: an asymptotic statement, a figure, a printed number or a reading
/// does not show at this scale. ours: a statement that is not in the paper, and it fails.
/// undecided: too few data.
enum class Standing { fails, slip, not_seen, ours, holds, undecided, not_applicable };
inline constexpr std::size_t standings = 7;

/// The words for a standing: its name in style sheets, its symbol, and the words for one claim and
/// for several.
struct StandingWords {
  const char *name, *symbol, *one, *many;
};
const StandingWords& words_of(Standing standing);

bool is_beyond_the_paper(const Claim& claim);
Standing standing_of(const Claim& claim);
/// "holds", "consistent" (an asymptotic claim that holds), "slip", "fails", "not seen", "does not
/// hold" (beyond the paper), "undecided", "not applicable".
std::string standing_text(const Claim& claim);

/// "our threshold: 0.1 nats"; "threshold: 0.1 nats, ours" for words that say it themselves.
std::string threshold_text(const Claim& claim);

/// How many claims of a run have which standing. A corrected form counts with its form as printed,
/// and several claims that show one slip count once. Claims that another preset judges are counted
/// apart.
struct ClaimCounts {
  std::array<std::size_t, standings> by_standing{};
  std::size_t elsewhere = 0;
  std::size_t own = 0, own_holding = 0;  // statements of one's own, which count in no standing

  std::size_t of(Standing standing) const {
    return by_standing[static_cast<std::size_t>(standing)];
  }
};
ClaimCounts count(const std::vector<Claim>& claims);
/// "1 slip, 2 not seen, 7 hold, 1 of 2 of your own holds"; "no claims" for an empty list.
std::string counts_text(const ClaimCounts& counts);

}  // namespace ranklab
