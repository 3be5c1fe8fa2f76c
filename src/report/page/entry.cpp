#include "report/page/entry.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <stdexcept>

#include "core/text.hpp"
#include "report/catalog.hpp"
#include "report/changes.hpp"
#include "report/figure/text.hpp"
#include "report/order.hpp"
#include "report/page/text.hpp"

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

PageAnchor::PageAnchor(const std::string& name) : Markup(escape_markup(name)) {
  if (!is_anchor(name)) throw std::logic_error("not an anchor: " + name);
}

std::vector<Entry> entries_of(const std::vector<ResultFile>& results,
                              const std::vector<std::string>& file_names) {
  std::map<std::string, int> uses;
  for (const ResultFile& result : results) ++uses[preset_of(result)];
  std::vector<Entry> out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string preset = preset_of(results[i]);
    const bool named = is_anchor(preset) && uses[preset] == 1 && !preset.starts_with("result-");
    out.push_back({&results[i], i < file_names.size() ? file_names[i] : "RESULT.json",
                   PageAnchor(named ? preset : "result-" + std::to_string(i + 1)),
                   paper_of(results[i].source ? results[i].source->paper : "")});
  }
  std::stable_sort(out.begin(), out.end(), comes_before);
  return out;
}

std::vector<const std::vector<Claim>*> claims_of(const std::vector<Entry>& entries) {
  std::vector<const std::vector<Claim>*> out;
  for (const Entry& entry : entries) out.push_back(&entry.result->claims);
  return out;
}

std::string preset_of(const ResultFile& result) {
  return result.preset.value_or("");
}

Markup name_of_paper(std::size_t paper) {
  return paper < papers().size() ? escape_markup(papers()[paper].key) : "other results";
}

Markup short_name(const ResultFile& result) {
  const Markup figure = escape_markup(figure_name(result));
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
