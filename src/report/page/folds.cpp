#include "report/page/folds.hpp"

#include <iterator>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/figure/text.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

std::string object_table(const std::string& caption, const Json& object) {
  if (!object.is_object() || object.empty()) return "";
  std::string out = table_start(caption, {"Name", "Value"}, "compact");
  for (const auto& [key, value] : object.items()) {
    const std::string shown = value.is_null() ? "<span title=\"undefined\">\u2013</span>"
                                              : "<code>" + html(value) + "</code>";
    out += "<tr><td>" + escape_markup(key) + "<td>" + shown + "\n";
  }
  return out + "</tbody></table>\n";
}

bool is_filled_list(const Json& value) {
  return value.is_array() && !value.empty();
}

std::string fold(const std::string& summary, const std::string& content,
                 const std::string& attributes = "") {
  return "<details" + attributes + ">\n<summary>" + summary + "</summary>\n" + content +
         "</details>\n";
}

}  // namespace

std::string notes_html(const Json& result) {
  const Json &notes = member(result, "notes"), &skipped = member(result, "skipped");
  std::string list, summary;
  if (is_filled_list(notes)) {
    summary = counted(notes.size(), "note");
    for (const Json& note : notes) list += "<li>" + prose(plain(note)) + "</li>\n";
  }
  if (is_filled_list(skipped)) {
    summary += (summary.empty() ? "" : ", ") + std::to_string(skipped.size()) + " left out";
    for (const Json& item : skipped)
      list += "<li>Left out: <code>" + html_id(plain(member(item, "name"))) +
              "</code>: " + html(member(item, "reason")) + "</li>\n";
  }
  return list.empty() ? "" : fold(summary, "<ul>\n" + list + "</ul>\n", " class=\"notes\"");
}

std::string table_html(const Json& result, bool open) {
  const Json &columns = member(member(result, "table"), "columns"),
             &rows = member(member(result, "table"), "rows");
  if (!is_filled_list(columns) || !rows.is_array()) return "";
  std::vector<std::string> names;
  for (const Json& column : columns) names.push_back(html(column));
  std::string out = table_start("Findings", names, "cards");
  for (const Json& row : rows) {
    if (!row.is_array() || row.size() != names.size()) continue;
    out += "<tr>";
    for (std::size_t i = 0; i < names.size(); ++i) out += cell(names[i], html(row[i]));
    out += "</tr>\n";
  }
  const std::string summary = html(member(member(result, "table"), "summary"));
  return fold(summary.empty() ? "Table" : summary, out + "</tbody></table>\n", open ? " open" : "");
}

// Thousands of rows: end tags that HTML leaves to the reader are left out.
std::string scalars_html(const Json& result) {
  const Json& scalars = member(result, "scalars");
  if (!scalars.is_object() || scalars.empty()) return "";
  const Json& unit = member(member(result, "trials"), "unit");
  const std::string over = unit.is_string() ? html(unit) + "s" : "trials";
  std::string out =
      "<table class=\"compact\"><thead><tr><th scope=\"col\">Name<th scope=\"col\">Mean \u00B1 "
      "standard "
      "deviation over " +
      over + "<th scope=\"col\">n</thead><tbody>\n";
  for (const auto& [name, value] : scalars.items()) {
    out += "<tr><td>" + escape_markup(name) + "<td>" + html_number(member(value, "mean")) +
           (member(value, "std") == 0 ? "" : " \u00B1 " + html_number(member(value, "std"))) +
           "<td>" + html_number(member(value, "n")) + "\n";
  }
  return fold(counted(scalars.size(), "scalar"), out + "</tbody></table>\n");
}

std::string provenance_html(const Json& result, const std::vector<std::string>& commands,
                            const Json* first, const std::string& first_link) {
  const std::string again =
      "<pre><code>" + escape_markup(joined(commands, "\n")) + "</code></pre>\n";
  const std::string study = "<p>Command <code>" + html(member(result, "command")) +
                            "</code>, study <code>" + html(member(result, "study")) +
                            "</code>.</p>\n";
  Json environment = member(result, "environment");
  std::string caption = "Environment";
  if (first != nullptr && environment.is_object()) {
    const Json& other = member(*first, "environment");
    caption += " (otherwise as for " + first_link + ")";
    for (auto each = environment.begin(); each != environment.end();)
      each = member(other, each.key().c_str()) == *each ? environment.erase(each) : std::next(each);
  }
  return fold("Config", again + study + object_table("Config", member(result, "config")) +
                            object_table(caption, environment) +
                            object_table("Timing (seconds)", member(result, "timing")));
}

}  // namespace ranklab
