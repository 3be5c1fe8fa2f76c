#include "report/page/section.hpp"

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "report/figure/gnuplot.hpp"
#include "report/figure/svg.hpp"
#include "report/page/text.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// Word, symbol and colour: each is enough alone.
std::string verdict_html(const Json& verdict) {
  const std::string word = plain(verdict);
  if (word == "holds") return "<span class=\"verdict holds\">\u2713 holds</span>";
  if (word == "fails") return "<span class=\"verdict fails\">\u2717 fails</span>";
  if (word == "not-applicable") return "<span class=\"verdict open\">\u25CB not applicable</span>";
  return "<span class=\"verdict open\">? " + (word.empty() ? "no verdict" : escape_markup(word)) + "</span>";
}

std::string claims_html(const Json& result) {
  const Json& claims = member(result, "claims");
  if (!claims.is_array() || claims.empty()) return "<h3>Claims</h3>\n<p>This run judges no claims.</p>\n";
  std::string out = "<h3>Claims</h3>\n" + table_start("What the paper says, and what this run measured",
                                                      {"Verdict", "Claim", "Statement", "Measured", "Expected", "Detail"}, "cards");
  for (const Json& claim : claims) {
    const std::string source = html(member(claim, "source"));
    out += "<tr>" + cell("Verdict", verdict_html(member(claim, "verdict"))) + "<th scope=\"row\"><code>" +
           html(member(claim, "id")) + "</code>" + (source.empty() ? "" : "<br><small>" + source + "</small>") + "</th>" +
           cell("Statement", html(member(claim, "statement"))) +
           cell("Measured", html_number(member(claim, "measured")), "number") +
           cell("Expected", html_expected(member(claim, "expected")), "number") + cell("Detail", html(member(claim, "detail"))) +
           "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string scalars_html(const Json& result) {
  const Json& scalars = member(result, "scalars");
  if (!scalars.is_object() || scalars.empty()) return "";
  std::string out =
      "<h3>Scalars</h3>\n" + table_start("Mean and standard deviation over trials", {"Name", "Mean", "\u00B1 std", "n"}, "compact");
  for (const auto& [name, value] : scalars.items()) {
    out += "<tr><th scope=\"row\"><code>" + escape_markup(name) + "</code></th>" +
           cell("Mean", html_number(member(value, "mean")), "number") +
           cell("Std", "\u00B1 " + html_number(member(value, "std")), "number") +
           cell("n", html_number(member(value, "n")), "number") + "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string table_html(const Json& result) {
  const Json &columns = member(member(result, "table"), "columns"), &rows = member(member(result, "table"), "rows");
  if (!columns.is_array() || columns.empty() || !rows.is_array()) return "";
  std::vector<std::string> names;
  for (const Json& column : columns) names.push_back(html(column));
  std::string out = "<h3>Table</h3>\n" + table_start("What was found, one row each", names, "cards");
  for (const Json& row : rows) {
    if (!row.is_array() || row.size() != names.size()) continue;
    out += "<tr>";
    for (std::size_t i = 0; i < names.size(); ++i) out += cell(names[i], html(row[i]));
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string notes_html(const Json& result) {
  std::string out;
  const Json &notes = member(result, "notes"), &skipped = member(result, "skipped");
  if (notes.is_array() && !notes.empty()) {
    out += "<h3>Notes</h3>\n<ul>\n";
    for (const Json& note : notes) out += "<li>" + html(note) + "</li>\n";
    out += "</ul>\n";
  }
  if (skipped.is_array() && !skipped.empty()) {
    out += "<h3>Left out</h3>\n<ul>\n";
    for (const Json& item : skipped)
      out += "<li><code>" + html(member(item, "name")) + "</code>: " + html(member(item, "reason")) + "</li>\n";
    out += "</ul>\n";
  }
  return out;
}

std::string details_html(const std::string& summary, const Json& object) {
  if (!object.is_object() || object.empty()) return "";
  std::string out = "<details>\n<summary>" + summary + "</summary>\n" + table_start(summary, {"Name", "Value"}, "compact");
  for (const auto& [key, value] : object.items()) {
    const std::string shown = value.is_null() ? "<span title=\"undefined\">\u2013</span>" : "<code>" + html(value) + "</code>";
    out += "<tr><th scope=\"row\">" + escape_markup(key) + "</th>" + cell("Value", shown) + "</tr>\n";
  }
  return out + "</tbody></table>\n</details>\n";
}

std::string figure_html(const Json& result, const std::string& prefix) {
  std::string out = "<h3>Figure</h3>\n";
  try {
    const std::string svg = draw_svg(result);
    // Wide figures scroll on narrow screens; a region that scrolls must be reachable by keyboard.
    return out + "<div class=\"figure\" role=\"region\" aria-label=\"Figure\" tabindex=\"0\">\n" +
           prefix_svg_ids(svg.substr(svg.find("<svg")), prefix) + "</div>\n";
  } catch (const Failure& failure) {
    return out + "<p>Not drawn: " + escape_markup(failure.what()) + ".</p>\n";
  }
}

std::string commands_html(const Json& result, const std::string& file_name) {
  const std::string command = "ranklab " + shell_word(plain(member(result, "command"))) + " --config " + shell_word(file_name);
  std::string out = "<pre><code>" + escape_markup(command);
  const std::string preset = plain(member(result, "preset"));
  if (!preset.empty()) out += "\n" + escape_markup("make " + shell_word(preset));
  return out + "</code></pre>";
}

std::string warning_html(const Json& result) {
  const std::string status = plain(member(result, "status"));
  if (status == "complete") return "";
  std::string meaning = "This is not the status of a finished run.";
  if (status == "interrupted") meaning = "The run was stopped; everything below is from the trials finished until then.";
  if (status == "diverged")
    meaning = "Some trials reached values that are not finite; what follows them is left out of every mean.";
  return "<p class=\"warning\"><strong>\u26A0 Status: " + (status.empty() ? "none" : escape_markup(status)) + ".</strong> " +
         meaning + "</p>\n";
}

}  // namespace

VerdictCounts count_verdicts(const Json& result) {
  VerdictCounts counts;
  const Json& claims = member(result, "claims");
  if (!claims.is_array()) return counts;
  for (const Json& claim : claims) {
    const std::string verdict = plain(member(claim, "verdict"));
    ++(verdict == "holds"            ? counts.holds
       : verdict == "fails"          ? counts.fails
       : verdict == "not-applicable" ? counts.not_applicable
                                     : counts.unknown);
  }
  return counts;
}

std::string source_html(const Json& result) {
  const Json& source = member(result, "source");
  const std::string paper = html(member(source, "paper")), figure = html(member(source, "figure"));
  if (paper.empty() && figure.empty()) return "<span title=\"no source\">\u2013</span>";
  return paper + (paper.empty() || figure.empty() ? "" : ", ") + figure;
}

std::string status_html(const Json& result) {
  const Json& trials = member(result, "trials");
  return html(member(result, "status")) + ", " + html_number(member(trials, "completed")) + " of " +
         html_number(member(trials, "requested")) + " trials";
}

std::string section_html(const Json& result, const std::string& file_name, std::size_t number) {
  const std::string id = "result-" + std::to_string(number);
  std::string out = "<section id=\"" + id + "\" aria-labelledby=\"" + id + "-heading\">\n<h2 id=\"" + id + "-heading\">" +
                    html(member(result, "title")) + "</h2>\n";
  out += warning_html(result);
  out += "<dl>\n<dt>Source</dt><dd>" + source_html(result) + "</dd>\n<dt>Study</dt><dd>" + html(member(result, "command")) + ", " +
         html(member(result, "study")) + "</dd>\n<dt>Status</dt><dd>" + status_html(result) + "</dd>\n<dt>Repeat it</dt><dd>" +
         commands_html(result, file_name) + "</dd>\n</dl>\n";
  out += figure_html(result, id + "-") + table_html(result) + claims_html(result) + scalars_html(result) + notes_html(result);
  out += "<h3>Config and provenance</h3>\n" + details_html("Config", member(result, "config")) +
         details_html("Environment", member(result, "environment"));
  out += details_html("Timing, in seconds", member(result, "timing"));
  return out + "<p class=\"back\"><a href=\"#overview\">Back to the overview</a></p>\n</section>\n";
}

}  // namespace ranklab
