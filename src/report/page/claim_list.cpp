#include "report/page/claim_list.hpp"

#include <algorithm>
#include <map>

#include "core/text.hpp"
#include "report/catalog.hpp"
#include "report/figure/text.hpp"
#include "report/page/claim_table.hpp"
#include "report/page/evidence.hpp"
#include "report/page/paper_view.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"

namespace ranklab {
namespace {

constexpr std::size_t lines_shown = 3;

bool is_failure(const Claim& claim) {
  return standing_of(claim) < Standing::holds;
}

// Failures first; a corrected form follows its form as printed. Without the claims that are judged
// in another preset.
std::vector<const Claim*> ordered_claims(const Entry& entry) {
  std::vector<const Claim*> printed, out;
  std::map<std::string, std::vector<const Claim*>> corrected;
  for (const Claim& claim : entry.result->claims) {
    if (!claim.judged_in.empty()) continue;
    const bool has_printed =
        !claim.misprint_of.empty() &&
        std::any_of(entry.result->claims.begin(), entry.result->claims.end(),
                    [&](const Claim& other) { return other.id == claim.misprint_of; });
    if (has_printed) {
      corrected[claim.misprint_of].push_back(&claim);
    } else {
      printed.push_back(&claim);
    }
  }
  std::stable_sort(printed.begin(), printed.end(), [](const Claim* a, const Claim* b) {
    return standing_of(*a) < standing_of(*b);
  });
  for (const Claim* claim : printed) {
    out.push_back(claim);
    const std::vector<const Claim*>& forms = corrected[claim->id];
    out.insert(out.end(), forms.begin(), forms.end());
  }
  return out;
}

std::string line_html(const Claim& claim) {
  const ShownEvidence evidence = evidence_of(claim);
  std::string measured = evidence.measured;
  if (!measured.empty() && !evidence.expected.empty() && evidence.expected != "none")
    measured += " (expected " + evidence.expected + ")";
  return "<li>" + standing_html(claim) + " " + prose(claim.statement) +
         (measured.empty() ? "" : ": <span class=\"evidence\">" + measured + "</span>") + "</li>\n";
}

const Entry* entry_of_preset(const std::string& preset, const std::vector<Entry>& all) {
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Entry& entry) { return entry.result->preset == preset; });
  return found == all.end() ? nullptr : &*found;
}

std::string place_html(const Claim& claim) {
  const PaperStatement* statement = find_statement(claim.statement_id);
  const std::string source = prose(claim.source);
  return statement == nullptr ? source
                              : "<a href=#" + anchor_of(*statement) + ">" + source + "</a>";
}

}  // namespace

std::string counts_html(const ClaimCounts& counts) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < standings; ++i) {
    const std::size_t n = counts.by_standing[i];
    const StandingWords& of = words_of(static_cast<Standing>(i));
    if (n == 0) continue;
    parts.push_back(colored(of.name, of.symbol + (" " + std::to_string(n))) + " " +
                    (n == 1 ? of.one : of.many));
  }
  return joined(parts);
}

// Among the claims that hold, those of the paper come first.
std::string claim_lines_html(const Entry& entry) {
  std::vector<const Claim*> chosen;
  const std::vector<const Claim*> claims = ordered_claims(entry);
  const auto choose = [&](const auto& wanted) {
    for (const Claim* claim : claims) {
      if (chosen.size() < lines_shown && wanted(*claim)) chosen.push_back(claim);
    }
  };
  const auto is_about_a_figure = [](const Claim& claim) {
    return !claim.figures.empty() && claim.part != Part::ours;
  };
  const auto holds = [](const Claim& claim) { return standing_of(claim) == Standing::holds; };
  choose(is_failure);
  choose([&](const Claim& claim) { return holds(claim) && is_about_a_figure(claim); });
  choose([&](const Claim& claim) { return holds(claim) && !is_about_a_figure(claim); });
  std::string out;
  for (const Claim* claim : chosen) out += line_html(*claim);
  return out.empty() ? "" : "<ul class=\"lines\">\n" + out + "</ul>\n";
}

std::string elsewhere_html(const Entry& entry, const std::vector<Entry>& all) {
  std::map<std::string, std::size_t> presets;
  for (const Claim& claim : entry.result->claims) {
    if (!claim.judged_in.empty()) ++presets[claim.judged_in];
  }
  std::string out;
  for (const auto& [preset, claims] : presets) {
    const Entry* other = entry_of_preset(preset, all);
    const std::string name = escape_markup(preset);
    out += " " + counted(claims, "further claim") + (claims == 1 ? " is" : " are") + " judged in " +
           (other == nullptr ? name : link_to(*other, name)) + ".";
  }
  return out;
}

std::string claims_html(const Entry& entry) {
  if (entry.result->claims.empty()) return "<p>This run has no claims.</p>\n";
  std::string out = "<details" + std::string(entry.paper == papers().size() ? " open" : "") +
                    ">\n<summary>Claims: " + counts_html(count(entry.result->claims)) +
                    "</summary>\n" + claim_table_start("Claims of this run");
  for (const Claim* claim : ordered_claims(entry)) out += claim_rows(*claim, place_html(*claim));
  return out + "</tbody></table>\n</details>\n";
}

}  // namespace ranklab
