#include "page/claim_list.hpp"

#include <algorithm>
#include <map>

#include "core/text.hpp"
#include "figure/text.hpp"
#include "judge/catalog.hpp"
#include "page/claim_table.hpp"
#include "page/evidence.hpp"
#include "page/paper_view.hpp"
#include "page/prose.hpp"
#include "page/text.hpp"

namespace ranklab {
namespace {

constexpr std::size_t lines_shown = 3;

bool is_failure(const Claim& claim) {
  return standing_of(claim) < Standing::holds;
}

// Failures first; a corrected form follows its form as printed. Without the claims that another
// result shows.
std::vector<const Claim*> ordered_claims(const Entry& entry) {
  std::vector<const Claim*> printed, out;
  std::map<std::string, std::vector<const Claim*>> corrected;
  for (const Claim& claim : entry.result->claims) {
    if (!entry.shows(claim)) continue;
    const bool has_printed =
        !claim.misprint_of.empty() &&
        std::any_of(entry.result->claims.begin(), entry.result->claims.end(),
                    [&](const Claim& other) {
                      return other.id == claim.misprint_of && entry.shows(other);
                    });
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

Markup line_html(const Claim& claim) {
  const ShownEvidence evidence = evidence_of(claim);
  Markup measured = evidence.measured;
  if (!measured.empty() && !evidence.expected.empty() && evidence.expected != "none")
    measured += " (expected " + evidence.expected + ")";
  return "<li>" + standing_html(claim) + " " + prose(claim.statement) +
         (measured.empty() ? measured : ": <span class=\"evidence\">" + measured + "</span>") +
         "</li>\n";
}

const Entry* entry_of_preset(const std::string& preset, const std::vector<Entry>& all) {
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Entry& entry) { return entry.result->preset == preset; });
  return found == all.end() ? nullptr : &*found;
}

Markup rows_of(const Entry& entry, const Claim& claim) {
  const PaperStatement* statement = find_statement(claim.statement_id);
  const auto place = entry.claims.find(&claim);
  const Markup source = claim.kind == Kind::own ? Markup() : prose(claim.source);
  return claim_rows(claim, place == entry.claims.end() ? nullptr : &place->second,
                    statement == nullptr ? source : link_to(anchor_of(*statement), source));
}

}  // namespace

Markup counts_html(const ClaimCounts& counts) {
  std::vector<Markup> parts;
  for (std::size_t i = 0; i < standings; ++i) {
    const std::size_t n = counts.by_standing[i];
    const Standing standing = static_cast<Standing>(i);
    const StandingWords& of = words_of(standing);
    if (n == 0) continue;
    parts.push_back(colored(standing, escape_markup(of.symbol) + " " + Markup::number(n)) + " " +
                    escape_markup(n == 1 ? of.one : of.many));
  }
  return joined(parts);
}

// Among the claims that hold, those of the paper come first.
Markup claim_lines_html(const Entry& entry) {
  std::vector<const Claim*> chosen;
  const std::vector<const Claim*> claims = ordered_claims(entry);
  const auto choose = [&](const auto& wanted) {
    for (const Claim* claim : claims) {
      if (chosen.size() < lines_shown && wanted(*claim)) chosen.push_back(claim);
    }
  };
  const auto is_about_a_figure = [](const Claim& claim) {
    return !claim.figures.empty() && !is_beyond_the_paper(claim);
  };
  const auto holds = [](const Claim& claim) { return standing_of(claim) == Standing::holds; };
  choose(is_failure);
  choose([&](const Claim& claim) { return holds(claim) && is_about_a_figure(claim); });
  choose([&](const Claim& claim) { return holds(claim) && !is_about_a_figure(claim); });
  Markup out;
  for (const Claim* claim : chosen) out += line_html(*claim);
  return out.empty() ? out : "<ul class=\"lines\">\n" + out + "</ul>\n";
}

Markup elsewhere_html(const Entry& entry, const std::vector<Entry>& all) {
  std::map<std::string, std::size_t> presets;
  for (const Claim& claim : entry.result->claims) {
    if (!claim.judged_in.empty()) ++presets[claim.judged_in];
  }
  std::map<std::size_t, std::size_t> inapplicable;
  for (const auto& [claim, result] : entry.elsewhere) ++inapplicable[result];
  Markup out;
  for (const auto& [preset, claims] : presets) {
    const Entry* other = entry_of_preset(preset, all);
    const Markup name = escape_markup(preset);
    out += " " + escape_markup(plural(claims, "further claim")) +
           (claims == 1 ? Markup(" is") : " are") + " judged in " +
           (other == nullptr ? name : link_to(other->anchor, name)) + ".";
  }
  std::vector<Markup> links;
  for (const auto& [result, claims] : inapplicable)
    links.push_back(escape_markup(plural(claims, "claim")) + " judged in " +
                    link_to(all[result].anchor, link_name(*all[result].result)));
  return links.empty() ? out : out + " Not applicable here: " + joined(links) + ".";
}

Markup claims_html(const Entry& entry, const std::vector<Entry>& all) {
  if (entry.result->claims.empty()) return "<p>This run has no claims.</p>\n";
  const ClaimCounts counts = count(entry.result->claims);
  Markup of_papers, own;
  for (const Claim* claim : ordered_claims(entry))
    (claim->kind == Kind::own ? own : of_papers) += rows_of(entry, *claim);
  const auto table = [](bool is_open, const Markup& summary, const Markup& caption,
                        const Markup& rows) {
    if (rows.empty()) return Markup();
    return "<details" + (is_open ? Markup(" open") : "") + ">\n<summary>" + summary +
           "</summary>\n" + claim_table_start(caption) + rows + "</table>\n</details>\n";
  };
  return table(all.size() == 1,
               "Own statements: " + Markup::number(counts.own_holding) + " of " +
                   Markup::number(counts.own) +
                   (counts.own_holding == 1 ? Markup(" holds") : " hold"),
               "Own statements", own) +
         table(entry.paper == papers().size(), "Claims: " + counts_html(counts),
               "Claims of this run", of_papers);
}

}  // namespace ranklab
