#include "page/entry.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "core/text.hpp"
#include "figure/text.hpp"
#include "judge/catalog.hpp"
#include "page/text.hpp"
#include "result/changes.hpp"
#include "result/order.hpp"
#include "result/standing.hpp"

namespace ranklab {
namespace {

std::string figure_name(const ResultFile& result) {
  return result.source ? result.source->figure : "";
}

bool comes_before(const Entry& a, const Entry& b) {
  if (a.paper != b.paper) return a.paper < b.paper;
  if (a.paper == papers().size()) return false;
  const std::string x = figure_name(*a.result), y = figure_name(*b.result);
  return x == y ? natural_less(a.anchor.text(), b.anchor.text()) : figure_less(x, y);
}

// Names come from files. A name with a character that could end an attribute is not an anchor.
bool is_anchor(const std::string& name, std::string_view signs) {
  return !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || is_digit(c) || signs.find(c) != std::string_view::npos;
  });
}

constexpr std::string_view preset_signs = "-.", all_signs = "-./_+,:=";

// A / in it tells the id of a claim from those of results and of the page's own parts.
bool names_a_place(const std::string& id) {
  return is_anchor(id, all_signs) && id.find('/') != std::string::npos;
}

// A claim with the id in one of the entries: of a decided one if there is one, else of an undecided
// one.
struct Leader {
  const Claim* claim = nullptr;
  std::size_t entry = 0;
  Standing standing = Standing::not_applicable;
};

std::map<std::string, Leader> leaders_of(const std::vector<Entry>& entries) {
  std::map<std::string, Leader> out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const Claim& claim : entries[i].result->claims) {
      if (!claim.judged_in.empty()) continue;
      const Standing standing = std::max(Standing::holds, standing_of(claim));
      Leader& leader = out[claim.id];
      if (leader.claim == nullptr || standing < leader.standing) leader = {&claim, i, standing};
    }
  }
  return out;
}

void place_claims(std::vector<Entry>& entries) {
  const std::map<std::string, Leader> leaders = leaders_of(entries);
  std::set<std::string> taken;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = entries[i];
    for (const Claim& claim : entry.result->claims) {
      if (!claim.judged_in.empty()) continue;
      const Leader& leader = leaders.at(claim.id);
      if (leader.entry != i && leader.standing < standing_of(claim) &&
          standing_of(claim) == Standing::not_applicable) {
        entry.elsewhere.emplace(&claim, leader.entry);
        continue;
      }
      const bool leads = leader.claim == &claim && find_statement(claim.id) == nullptr;
      const std::string place = leads ? claim.id : entry.anchor.text() + "/" + claim.id;
      if (names_a_place(claim.id) && find_statement(place) == nullptr && taken.insert(place).second)
        entry.claims.emplace(&claim, PageAnchor(place));
    }
  }
}

}  // namespace

PageAnchor::PageAnchor(const std::string& name) : Markup(escape_markup(name)) {
  if (!is_anchor(name, all_signs)) throw std::logic_error("not an anchor: " + name);
}

std::vector<Entry> entries_of(const std::vector<ResultFile>& results,
                              const std::vector<std::string>& file_names) {
  std::map<std::string, int> uses;
  for (const ResultFile& result : results) ++uses[preset_of(result)];
  std::vector<Entry> out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string preset = preset_of(results[i]);
    const bool named =
        is_anchor(preset, preset_signs) && uses[preset] == 1 && !preset.starts_with("result-");
    out.push_back({&results[i], i < file_names.size() ? file_names[i] : "RESULT.json",
                   PageAnchor(named ? preset : "result-" + std::to_string(i + 1)),
                   paper_of(results[i].source ? results[i].source->paper : "")});
  }
  std::stable_sort(out.begin(), out.end(), comes_before);
  place_claims(out);
  return out;
}

std::vector<Judge> judges_of(const std::vector<Entry>& entries) {
  std::vector<Judge> out;
  for (const Entry& entry : entries)
    out.push_back({entry.result->preset.value_or(entry.file_name), &entry.result->claims});
  return out;
}

std::string preset_of(const ResultFile& result) {
  return result.preset.value_or("");
}

Markup name_of_paper(std::size_t paper) {
  return paper < papers().size() ? escape_markup(papers()[paper].key) : "other results";
}

Markup short_name(const ResultFile& result) {
  Markup figure = escape_markup(figure_name(result));
  if (!figure.empty()) return figure;
  return result.title.empty() ? "untitled" : escape_markup(result.title);
}

Markup link_name(const ResultFile& result) {
  const Markup preset = escape_markup(preset_of(result));
  return preset.empty() ? short_name(result) : preset;
}

Markup link_to(const PageAnchor& anchor, const Markup& html) {
  return "<a href=#" + anchor + ">" + html + "</a>";
}

Markup changes_html(const ResultFile& result) {
  return escape_markup(changes_text(result));
}

Markup trials_html(const ResultFile& result) {
  const std::uint64_t completed = result.trials.completed, requested = result.trials.requested,
                      all = completed == requested ? trials_of_preset(result) : requested;
  return Markup::number(completed) + (completed == all ? " " : " of " + Markup::number(all) + " ") +
         escape_markup(result.trial_unit()) + (completed == 1 && all == 1 ? Markup() : "s");
}

}  // namespace ranklab
