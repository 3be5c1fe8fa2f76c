#include "report/page/claim_list.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/page/claim_table.hpp"
#include "report/page/evidence.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"
#include "report/papers.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

constexpr std::size_t lines_shown = 3;

// A claim with the verdict on its statement: a misprint if it fails as printed and its corrected
// form holds.
struct ShownClaim {
  const Json* claim = nullptr;
  Standing standing = Standing::holds;
};

int rank(Standing standing) {
  switch (standing) {
    case Standing::fails:
      return 0;
    case Standing::misprint:
      return 1;
    case Standing::missed:
      return 2;
    case Standing::holds:
      return 3;
    case Standing::undecided:
      return 4;
    case Standing::not_applicable:
      break;
  }
  return 5;
}

// Failures first; a corrected form follows its misprint.
std::vector<ShownClaim> ordered_claims(const Entry& entry) {
  std::vector<ShownClaim> out;
  std::vector<JudgedStatement> statements = statements_of({entry.result});
  std::stable_sort(statements.begin(), statements.end(), [](const auto& a, const auto& b) {
    return rank(a.standing()) < rank(b.standing());
  });
  for (const JudgedStatement& statement : statements) {
    const bool is_misprint = statement.standing() == Standing::misprint;
    for (const Appearance& form : statement.as_printed) {
      const Standing own = verdict_of(*form.claim);
      const bool fails = own == Standing::fails || own == Standing::missed;
      out.push_back({form.claim, is_misprint && fails ? Standing::misprint : own});
    }
    for (const Appearance& form : statement.corrected)
      out.push_back({form.claim, verdict_of(*form.claim)});
  }
  return out;
}

std::string line_html(const ShownClaim& shown) {
  const ShownEvidence evidence = evidence_of(*shown.claim);
  std::string measured = evidence.measured;
  if (!measured.empty() && !evidence.expected.empty() && evidence.expected != "none")
    measured += " (expected " + evidence.expected + ")";
  return "<li>" + standing_html(shown.standing) + " " +
         prose(plain(member(*shown.claim, "statement"))) +
         (measured.empty() ? "" : ": <span class=\"evidence\">" + measured + "</span>") + "</li>\n";
}

// Among the claims that hold, those about the figure come first.
std::string lines_html(const std::vector<ShownClaim>& claims) {
  std::vector<const ShownClaim*> chosen;
  const auto choose = [&](const auto& wanted) {
    for (const ShownClaim& claim : claims) {
      if (chosen.size() < lines_shown && wanted(claim)) chosen.push_back(&claim);
    }
  };
  const auto of_figure = [](const ShownClaim& shown) {
    return !figure_of_id(plain(member(*shown.claim, "id"))).empty();
  };
  for (const Standing failure : {Standing::fails, Standing::misprint, Standing::missed})
    choose([&](const ShownClaim& shown) { return shown.standing == failure; });
  choose([&](const ShownClaim& shown) {
    return shown.standing == Standing::holds && of_figure(shown);
  });
  choose([&](const ShownClaim& shown) {
    return shown.standing == Standing::holds && !of_figure(shown);
  });
  std::string out;
  for (const ShownClaim* claim : chosen) out += line_html(*claim);
  return out.empty() ? "" : "<ul class=\"lines\">\n" + out + "</ul>\n";
}

const Entry* entry_of_figure(const std::string& id, const std::string& figure,
                             const std::vector<Entry>& all) {
  for (const Entry& entry : all) {
    const std::string source = plain(member(member(*entry.result, "source"), "figure"));
    const bool is_own = figure_of_source(source) == figure ||
                        (source.starts_with("Figures ") && names_figure(source, figure));
    if (is_own && entry.paper < papers.size() && id.starts_with(papers[entry.paper].ids))
      return &entry;
  }
  return nullptr;
}

const Entry* entry_of_preset(const std::string& preset, const std::vector<Entry>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Entry& entry) {
    return member(*entry.result, "preset") == preset;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::string counts_html(const StandingCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t n, const char* kind, const char* sign, const std::string& one,
                       const std::string& many) {
    if (n == 0) return;
    parts.push_back("<span class=\"verdict " + std::string(kind) + "\">" + sign + " " +
                    std::to_string(n) + "</span> " + (n == 1 ? one : many));
  };
  add(counts.fails, "fails", "\u2717", "fails", "fail");
  add(counts.misprints, "misprint", "\u270E", "misprint", "misprints");
  add(counts.missed, "missed", "\u25B3", "of ours fails", "of ours fail");
  add(counts.holds, "holds", "\u2713", "holds", "hold");
  add(counts.undecided, "undecided", "?", "undecided", "undecided");
  add(counts.not_applicable, "not-applicable", "\u25CB", "not applicable", "not applicable");
  return joined(parts);
}

std::string claim_lines_html(const Entry& entry) {
  return lines_html(ordered_claims(entry));
}

std::string elsewhere_html(const Entry& entry, const std::vector<Entry>& all) {
  struct Elsewhere {
    std::size_t claims = 0;
    const Entry* entry = nullptr;
  };
  std::map<std::string, Elsewhere> places;
  const Json& claims = member(*entry.result, "claims");
  if (!claims.is_array()) return "";
  for (const Json& claim : claims) {
    if (belongs(claim, *entry.result)) continue;
    const std::string id = plain(member(claim, "id")), figure = figure_of_id(id),
                      preset = plain(member(claim, "judged_in"));
    Elsewhere& place = places[preset.empty() ? "Figure " + figure : preset];
    ++place.claims;
    place.entry = preset.empty() ? entry_of_figure(id, figure, all) : entry_of_preset(preset, all);
  }
  std::string out;
  for (const auto& [name, place] : places) {
    out += " " + counted(place.claims, "further claim") + (place.claims == 1 ? " is" : " are") +
           (place.entry == nullptr ? " about " + name + " and only in the result file"
                                   : " judged in " + link_to(*place.entry, name)) +
           ".";
  }
  return out;
}

std::string claims_html(const Entry& entry) {
  const std::vector<ShownClaim> claims = ordered_claims(entry);
  if (claims.empty()) return "<p>This run has no claims.</p>\n";
  std::string out = "<details" + std::string(entry.paper == papers.size() ? " open" : "") +
                    ">\n<summary>Claims: " + counts_html(count(statements_of({entry.result}))) +
                    "</summary>\n" + claim_table_start("Claims of this run");
  for (const ShownClaim& shown : claims)
    out += claim_rows(*shown.claim, shown.standing, prose(plain(member(*shown.claim, "source"))));
  return out + "</tbody></table>\n</details>\n";
}

}  // namespace ranklab
