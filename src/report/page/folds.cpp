#include "report/page/folds.hpp"

#include <iterator>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/figure/text.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"

namespace ranklab {
namespace {

// The values in the order of their names.
using Values = nlohmann::json;

std::string value_text(const Values& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Values::error_handler_t::replace);
}

// One line per value.
std::string lines_of(const std::string& heading, const Values& object) {
  if (object.empty()) return "";
  std::string out = "<h4>" + heading + "</h4>\n<pre>";
  for (const auto& [key, value] : object.items())
    out += escape_markup(key) + " " + escape_markup(value_text(value)) + "\n";
  return out + "</pre>\n";
}

std::string fold(const std::string& summary, const std::string& content,
                 const std::string& attributes = "") {
  return "<details" + attributes + ">\n<summary>" + summary + "</summary>\n" + content +
         "</details>\n";
}

}  // namespace

std::string notes_html(const ResultFile& result) {
  std::string list, summary;
  if (!result.notes.empty()) summary = counted(result.notes.size(), "note");
  for (const std::string& note : result.notes) list += "<li>" + prose(note) + "</li>\n";
  if (!result.skipped.empty())
    summary += (summary.empty() ? "" : ", ") + std::to_string(result.skipped.size()) + " left out";
  for (const Skipped& item : result.skipped)
    list += "<li>Left out: <code>" + escape_markup(item.name) +
            "</code>: " + escape_markup(item.reason) + "</li>\n";
  return list.empty() ? "" : fold(summary, "<ul>\n" + list + "</ul>\n", " class=\"notes\"");
}

std::string table_html(const ResultFile& result, bool open) {
  const Table& table = result.table;
  if (table.columns.empty()) return "";
  std::vector<std::string> names;
  for (const std::string& column : table.columns) names.push_back(escape_markup(column));
  std::string out = table_start("Findings", names, "cards");
  for (const std::vector<std::string>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < names.size(); ++i) out += cell(names[i], escape_markup(row[i]));
    out += "</tr>\n";
  }
  return fold(table.summary.empty() ? "Table" : escape_markup(table.summary),
              out + "</tbody></table>\n", open ? " open" : "");
}

std::string provenance_html(const ResultFile& result, const std::vector<std::string>& commands,
                            const ResultFile* first, const std::string& first_link) {
  const std::string again =
      "<pre><code>" + escape_markup(joined(commands, "\n")) + "</code></pre>\n";
  const std::string study = "<p>Command <code>" + escape_markup(result.command) +
                            "</code>, study <code>" + escape_markup(result.study) +
                            "</code>.</p>\n";
  Values environment = result.environment;
  std::string heading = "Environment";
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
