// `ranklab man`: the man page, in the language of man(7).

#include <cstdio>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "result/environment.hpp"

namespace ranklab {
namespace {

// Escapes backslashes, and dots and quotes at the start of a line, because they start requests.
// Escapes hyphens, which roff would print as dashes, and lets a list of words break after a bar or
// a comma.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    out += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
    if (c == '|' || c == ',') out += "\\:";
  }
  return out;
}

std::string entry(const std::string& head, const std::string& text) {
  return ".TP\n.B " + roff(head) + "\n" + roff(text) + "\n";
}

std::string flag_entries(const std::vector<FlagHelp>& flags) {
  std::string out;
  for (const FlagHelp& flag : flags) out += entry(flag.spelling, flag.text);
  return out;
}

std::string experiment_section(const Experiment& experiment) {
  std::string out = ".SS " + roff(experiment.name) + "\n" + roff(experiment.summary) + "\n";
  for (const Inquiry& inquiry : experiment.inquiries)
    out += entry("--" + inquiry.flag + " FILE", inquiry.help);
  for (const StudyEntry& study : experiment.studies) {
    out += ".PP\n.B \\-\\-study " + roff(study.name) + "\n\\(em " + roff(study.summary) +
           "\n.RS\n" + flag_entries(flag_help(study.make()->flags())) + ".RE\n";
  }
  return out;
}

std::string man_page() {
  std::string out = ".TH RANKLAB 1 \"\" \"ranklab " + roff(version_line()) +
                    "\" \"User Commands\"\n.ad l\n"
                    ".SH NAME\nranklab \\- experiments on the geometry of deep networks\n"
                    ".SH SYNOPSIS\n.B ranklab\n.I COMMAND\n[flags]\n"
                    ".SH COMMANDS\n";
  for (const Experiment& experiment : experiments())
    out += entry(experiment.name, experiment.summary);
  for (const Utility& utility : utilities()) {
    out += entry(usage_of(utility), description_of(utility));
    if (!utility.flags.empty()) out += ".RS\n" + flag_entries(flag_help(utility.flags)) + ".RE\n";
  }
  out += ".SH FLAGS OF EVERY EXPERIMENT\n" + flag_entries(common_flags(experiments().front()));
  out += ".PP\n" +
         roff(
             "Lists are comma-separated. A flag overrides the config file, which overrides the "
             "preset, which overrides the default.") +
         "\n.SH STUDIES\n";
  for (const Experiment& experiment : experiments()) out += experiment_section(experiment);
  out +=
      ".SH EXIT STATUS\n" + entry("0", "success") + entry("1", "the run failed") +
      entry("2", "usage error") +
      entry("3",
            "a claim fails under --strict, or contradicts the published verdict under --expect") +
      entry("130, 143", "interrupted or terminated; finished trials are saved");
  out += ".SH ENVIRONMENT\n" + entry("NO_COLOR", "no colors on a terminal") +
         entry("OPENBLAS_CORETYPE", "kernel of OpenBLAS; overrides the automatic choice");
  return out + ".SH FILES\n" +
         entry("PREFIX/share/ranklab/experiments",
               "presets; a folder experiments in the working directory takes precedence");
}

}  // namespace

Utility man_command() {
  return {.name = "man",
          .summary = "print the man page",
          .details = "To read it: `ranklab man | man -l -`.",
          .run = [](const Arguments&) {
            std::fputs(man_page().c_str(), stdout);
            return 0;
          }};
}

}  // namespace ranklab
