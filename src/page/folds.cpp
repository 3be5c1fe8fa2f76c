#include "page/folds.hpp"

#include <iterator>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "figure/text.hpp"
#include "page/prose.hpp"
#include "page/text.hpp"

namespace ranklab {
namespace {

// The values in the order of their names.
using Values = nlohmann::json;

std::string value_text(const Values& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Values::error_handler_t::replace);
}

// One line per value.
Markup lines_of(const Markup& heading, const Values& object) {
  if (object.empty()) return "";
  Markup out = "<h4>" + heading + "</h4>\n<pre>";
  for (const auto& [key, value] : object.items())
    out += escape_markup(key) + " " + escape_markup(value_text(value)) + "\n";
  return out + "</pre>\n";
}

Markup fold(const Markup& summary, const Markup& content, const Markup& attributes = "") {
  return "<details" + attributes + ">\n<summary>" + summary + "</summary>\n" + content +
         "</details>\n";
}

}  // namespace

Markup notes_html(const ResultFile& result) {
  Markup list, summary;
  if (!result.notes.empty()) summary = escape_markup(plural(result.notes.size(), "note"));
  for (const std::string& note : result.notes) list += "<li>" + prose(note) + "</li>\n";
  if (!result.skipped.empty())
    summary +=
        (summary.empty() ? Markup() : ", ") + Markup::number(result.skipped.size()) + " left out";
  for (const Skipped& item : result.skipped)
    list += "<li>Left out: <code>" + escape_markup(item.name) +
            "</code>: " + escape_markup(item.reason) + "</li>\n";
  return list.empty() ? list : fold(summary, "<ul>\n" + list + "</ul>\n", " class=\"notes\"");
}

Markup table_html(const ResultFile& result, bool open) {
  const Table& table = result.table;
  if (table.columns.empty()) return "";
  std::vector<Markup> names;
  for (const std::string& column : table.columns) names.push_back(escape_markup(column));
  Markup out = table_start("Findings", names, "cards") + "<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < names.size(); ++i) out += cell(names[i], escape_markup(row[i]));
    out += "</tr>\n";
  }
  return fold(table.summary.empty() ? "Table" : escape_markup(table.summary),
              out + "</tbody></table>\n", open ? Markup(" open") : "");
}

Markup provenance_html(const ResultFile& result, const std::vector<std::string>& commands,
                       const ResultFile* first, const Markup& first_link) {
  const Markup again = "<pre><code>" + escape_markup(joined(commands, "\n")) + "</code></pre>\n";
  const Markup study = "<p>Command <code>" + escape_markup(result.command) +
                       "</code>, study <code>" + escape_markup(result.study) + "</code>.</p>\n";
  Values environment = result.environment;
  Markup heading = "Environment";
  if (first != nullptr) {
    const Values other = first->environment;
    heading += " (otherwise as for " + first_link + ")";
    for (auto each = environment.begin(); each != environment.end();)
      each = other.value(each.key(), Values()) == *each ? environment.erase(each) : std::next(each);
  }
  const Values timing = {{"cpu_s", result.timing.cpu},
                         {"trials_s", result.timing.trials},
                         {"wall_s", result.timing.wall}};
  return fold("Config", again + study + lines_of("Config", result.config) +
                            lines_of(heading, environment) + lines_of("Timing (seconds)", timing));
}

}  // namespace ranklab
