#include "cli/help.hpp"

#include <algorithm>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "core/machine.hpp"
#include "report/environment.hpp"

namespace ranklab {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// `text` in lines of at most 100 columns, the later ones indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  constexpr std::size_t columns = 100;
  std::string out;
  std::size_t column = indent;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::size_t length = end - start;
    if (column > indent && column + 1 + length > columns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(start, length);
    column += length;
    start = end + 1;
  }
  return out + "\n";
}

std::string flag_lines(const std::vector<Field>& fields) {
  constexpr std::size_t indent = 24;
  std::string out;
  for (const Field& field : fields) {
    std::string text = field.symbol.empty() ? "" : field.symbol + ": ";
    text += field.help + " (" + field.domain_text() + ")";
    const std::string value = field.value_text();
    if (!value.empty()) text += " [" + value + "]";
    const std::string head = "  --" + field.name;
    out += head.size() + 1 < indent ? padded(head, indent) : head + "\n" + std::string(indent, ' ');
    out += wrapped(text, indent);
  }
  return out;
}

}  // namespace

std::string program_help() {
  std::string out = "ranklab " + version_line() +
                    ": experiments on the geometry of deep networks\n\n"
                    "Usage: ranklab COMMAND [flags]\n\nExperiments:\n";
  for (const Experiment& experiment : experiments()) {
    out += "  " + padded(experiment.name, 20) + wrapped(experiment.summary, 22);
  }
  out += "\nAround them:\n";
  for (const Utility& utility : utilities()) {
    out += "  " + padded(utility.name + (utility.usage.empty() ? "" : " " + utility.usage), 24) + wrapped(utility.summary, 26);
  }
  out +=
      "\n`ranklab COMMAND --help` lists the flags of a command, `ranklab --version` says what it was built with.\n"
      "Exit codes: 0 done; 1 the run failed; 2 usage; 3 --strict and a claim fails; 130 interrupted, 143 terminated.\n";
  return out;
}

std::string experiment_help(const Experiment& experiment) {
  std::string out = "Usage: ranklab " + experiment.name + " [--study NAME] [--preset NAME] [flags]\n\n" +
                    wrapped(experiment.summary, 0) + "\nStudies:\n";
  std::vector<std::string> names;
  for (const StudyEntry& entry : experiment.studies) {
    names.push_back(entry.name);
    out += "  " + padded(entry.name, 20) + wrapped(entry.summary, 22);
  }
  for (const StudyEntry& entry : experiment.studies) {
    const std::unique_ptr<Study> study = entry.make();
    out += "\nFlags of --study " + entry.name + " (" + std::to_string(entry.default_trials) + " trials by default):\n" +
           flag_lines(study->fields());
  }
  CommonOptions options;
  options.study = names.front();
  options.threads = available_cores();
  std::vector<Field> common = config_fields(options, names), session = session_fields(options);
  // The default differs from study to study, and stands with each above.
  std::erase_if(common, [](const Field& field) { return field.name == "trials"; });
  if (!experiment.inquiries.empty()) out += "\nInstead of a run:\n";
  for (const Inquiry& inquiry : experiment.inquiries) {
    out += padded("  --" + inquiry.flag + " FILE", 24) + wrapped(inquiry.help, 24);
  }
  out += "\nFlags of every experiment:\n" + flag_lines(common);
  out += "  --trials              " + wrapped("independent repetitions (integer from 1 to 1000000) [the study's]", 24);
  out += flag_lines(session);
  out +=
      "\nLists are comma-separated. A flag overrides the config file, which overrides the preset, which overrides the default.\n"
      "The result goes to results/<preset or command-study>.json unless --out says otherwise.\n";
  return out;
}

bool prints_help(const Arguments& arguments, const std::string& usage, const std::string& summary,
                 const std::vector<Field>& fields) {
  if (!arguments.help) return false;
  const std::string flags = fields.empty() ? "" : "\nFlags:\n" + flag_lines(fields);
  std::fputs(("Usage: ranklab " + usage + "\n\n" + wrapped(summary, 0) + flags).c_str(), stdout);
  return true;
}

}  // namespace ranklab
