#include "report/page/entry.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/catalog.hpp"
#include "report/changes.hpp"
#include "report/claim_json.hpp"
#include "report/figure/text.hpp"
#include "report/order.hpp"
#include "report/page/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

std::string paper_key(const Json& result) {
  return plain(member(member(result, "source"), "paper"));
}

std::string figure_name(const Json& result) {
  return plain(member(member(result, "source"), "figure"));
}

bool comes_before(const Entry& a, const Entry& b) {
  if (a.paper != b.paper) return a.paper < b.paper;
  if (a.paper == papers().size()) return false;
  const std::string x = figure_name(*a.result), y = figure_name(*b.result);
  return x == y ? natural_less(a.anchor, b.anchor) : figure_less(x, y);
}

// Names come from files. A name with a character that could end an attribute or a selector is not
// an anchor.
bool is_anchor(const std::string& name) {
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' ||
                  c == '.';
         });
}

}  // namespace

std::vector<Entry> entries_of(const std::vector<Json>& results,
                              const std::vector<std::string>& file_names) {
  std::map<std::string, int> uses;
  for (const Json& result : results) ++uses[plain(member(result, "preset"))];
  std::vector<Entry> out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string preset = plain(member(results[i], "preset"));
    const bool named = is_anchor(preset) && uses[preset] == 1 && !preset.starts_with("result-");
    out.push_back({&results[i], claims_from(results[i]),
                   i < file_names.size() ? file_names[i] : "RESULT.json",
                   named ? preset : "result-" + std::to_string(i + 1),
                   paper_of(paper_key(results[i]))});
  }
  std::stable_sort(out.begin(), out.end(), comes_before);
  return out;
}

std::vector<const std::vector<Claim>*> claims_of(const std::vector<Entry>& entries) {
  std::vector<const std::vector<Claim>*> out;
  for (const Entry& entry : entries) out.push_back(&entry.claims);
  return out;
}

std::string name_of_paper(std::size_t paper) {
  return paper < papers().size() ? papers()[paper].key : "other results";
}

std::string short_name(const Json& result) {
  std::string figure = html(member(member(result, "source"), "figure"));
  if (!figure.empty()) return figure;
  const std::string title = html(member(result, "title"));
  return title.empty() ? "untitled" : title;
}

std::string link_name(const Json& result) {
  const std::string preset = html(member(result, "preset"));
  return preset.empty() ? short_name(result) : preset;
}

std::string link_to(const Entry& entry, const std::string& html) {
  return "<a href=\"#" + entry.anchor + "\">" + html + "</a>";
}

std::string changes_html(const Json& result) {
  return escape_markup(changes_text(result));
}

std::string trials_html(const Json& result) {
  const Json &trials = member(result, "trials"), &completed = member(trials, "completed"),
             &requested = member(trials, "requested");
  const Json of_preset = completed == requested ? trials_of_preset(result) : Json(),
             &all = of_preset.is_null() ? requested : of_preset;
  const std::string unit =
      member(trials, "unit").is_string() ? html(member(trials, "unit")) : "trial";
  const std::string plural = completed == 1 && all == 1 ? "" : "s";
  return html_number(completed) + (completed == all ? " " : " of " + html_number(all) + " ") +
         unit + plural;
}

}  // namespace ranklab
