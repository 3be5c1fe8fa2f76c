#include "report/page/claim_list.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/page/evidence.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"
#include "report/papers.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

constexpr std::size_t lines_shown = 3;

// Fails first, then missed thresholds of ours, undecided, not applicable, and last holds.
std::vector<const Json*> ordered_claims(const Entry& entry) {
  std::vector<const Json*> out;
  const Json& claims = member(*entry.result, "claims");
  if (!claims.is_array()) return out;
  for (const Json& claim : claims) {
    if (belongs(claim, *entry.result)) out.push_back(&claim);
  }
  const auto rank = [](const Json* claim) {
    const Standing verdict = verdict_of(*claim);
    return verdict == Standing::fails            ? 0
           : verdict == Standing::missed         ? 1
           : verdict == Standing::undecided      ? 2
           : verdict == Standing::not_applicable ? 3
                                                 : 4;
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const Json* a, const Json* b) { return rank(a) < rank(b); });
  return out;
}

// The kind of statement, for claims that have one.
std::string kind_html(const Json& claim) {
  const std::string kind = plain(member(claim, "kind")),
                    threshold = plain(member(claim, "threshold"));
  const std::string words = kind == "theorem"          ? "theorem"
                            : kind == "printed-number" ? "printed number"
                            : kind == "figure"         ? "figure or text"
                            : kind == "reading"        ? "our threshold: " + prose(threshold)
                            : kind == "beyond"         ? "not in the paper"
                                                       : "";
  return words.empty() ? "" : " <small class=\"kind\">" + words + "</small>";
}

std::string claim_html(const Json& claim) {
  const std::string source = prose(plain(member(claim, "source")));
  const std::string evidence = evidence_of(claim).text();
  return "<li>" + verdict_html(claim) + kind_html(claim) + " <code>" +
         html_id(plain(member(claim, "id"))) + "</code>" +
         (source.empty() ? "" : " <small>" + source + "</small>") + "<br>" +
         prose(plain(member(claim, "statement"))) +
         (evidence.empty() ? "" : ".<br><span class=\"evidence\">" + evidence + "</span>") +
         "</li>\n";
}

std::string line_html(const Json& claim) {
  std::string id = plain(member(claim, "id"));
  for (const Paper& paper : papers) {
    if (id.starts_with(paper.ids)) id.erase(0, paper.ids.size());
  }
  const std::string measured = evidence_of(claim).measured;
  return "<li>" + verdict_html(claim) + " <code>" + html_id(id) + "</code>" +
         (measured.empty() ? "" : ": " + measured) + "</li>\n";
}

// Among the claims that hold, those about the figure come first.
std::string lines_html(const std::vector<const Json*>& claims) {
  std::vector<const Json*> chosen;
  const auto choose = [&](const auto& wanted) {
    for (const Json* claim : claims) {
      if (chosen.size() < lines_shown && wanted(*claim)) chosen.push_back(claim);
    }
  };
  const auto of_figure = [](const Json& claim) {
    return !figure_of_id(plain(member(claim, "id"))).empty();
  };
  choose([](const Json& claim) { return verdict_of(claim) == Standing::fails; });
  choose([](const Json& claim) { return verdict_of(claim) == Standing::missed; });
  choose(
      [&](const Json& claim) { return verdict_of(claim) == Standing::holds && of_figure(claim); });
  choose(
      [&](const Json& claim) { return verdict_of(claim) == Standing::holds && !of_figure(claim); });
  std::string out;
  for (const Json* claim : chosen) out += line_html(*claim);
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

std::string verdict_html(const Json& claim) {
  const std::string word = plain(member(claim, "verdict"));
  if (verdict_of(claim) == Standing::missed)
    return std::string("<span class=\"verdict missed\">\u25B3 ") +
           (member(claim, "kind") == "reading" ? "fails our threshold"
                                               : "fails (not in the paper)") +
           "</span>";
  if (word == "holds") return "<span class=\"verdict holds\">\u2713 holds</span>";
  if (word == "fails") return "<span class=\"verdict fails\">\u2717 fails</span>";
  if (const std::string other = plain(member(claim, "judged_in")); !other.empty())
    return "<span class=\"verdict not-applicable\">\u25CB judged in  " + html(other) + "</span>";
  if (member(claim, "shortened") == true)
    return "<span class=\"verdict undecided\">? undecided: short run</span>";
  if (verdict_of(claim) == Standing::undecided)
    return "<span class=\"verdict undecided\">? undecided</span>";
  if (word == "not-applicable")
    return "<span class=\"verdict not-applicable\">\u25CB not applicable</span>";
  return "<span class=\"verdict not-applicable\">\u25CB " +
         (word.empty() ? "no verdict" : html(word)) + "</span>";
}

std::string counts_html(const StandingCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t n, const char* kind, const char* sign, const std::string& one,
                       const std::string& many) {
    if (n == 0) return;
    parts.push_back("<span class=\"verdict " + std::string(kind) + "\">" + sign + " " +
                    std::to_string(n) + "</span> " + (n == 1 ? one : many));
  };
  add(counts.fails, "fails", "\u2717", "fails", "fail");
  add(counts.misprints, "fails", "\u2717", "misprint", "misprints");
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
  struct Place {
    std::size_t claims = 0;
    const Entry* entry = nullptr;
  };
  std::map<std::string, Place> places;
  const Json& claims = member(*entry.result, "claims");
  if (!claims.is_array()) return "";
  for (const Json& claim : claims) {
    if (belongs(claim, *entry.result)) continue;
    const std::string id = plain(member(claim, "id")), figure = figure_of_id(id),
                      preset = plain(member(claim, "judged_in"));
    Place& place = places[preset.empty() ? "Figure " + figure : preset];
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
  const std::vector<const Json*> claims = ordered_claims(entry);
  if (claims.empty()) return "<p>This run has no claims.</p>\n";
  std::string out = "<details" + std::string(entry.paper == papers.size() ? " open" : "") +
                    ">\n<summary>Claims: " + counts_html(count(statements_of({entry.result}))) +
                    "</summary>\n<ul class=\"claims\">\n";
  for (const Json* claim : claims) out += claim_html(*claim);
  return out + "</ul>\n</details>\n";
}

}  // namespace ranklab
