// `ranklab papers [PAPER] [STATEMENT]`: what each paper says, statement by statement, with the
// published verdict, or that of a folder of results.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.hpp"
#include "cli/input_files.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "judge/judged_at.hpp"
#include "judge/published.hpp"
#include "judge/verdicts.hpp"
#include "page/page.hpp"
#include "result/environment.hpp"
#include "result/result_json.hpp"
#include "result/same_run.hpp"

namespace ranklab {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

// The results whose claims judge the statements.
struct Judges {
  std::vector<ResultFile> results;
  std::vector<std::string> files;  // empty: the published results, which are in no file

  bool is_published() const { return files.empty() && !results.empty(); }
  std::vector<JudgedStatement> judge(const Paper& paper) const {
    std::vector<Judge> judges;
    for (std::size_t i = 0; i < results.size(); ++i)
      judges.push_back({preset(i), &results[i].claims});
    return judge_statements(paper, judges);
  }
  std::string preset(std::size_t result) const {
    const std::optional<std::string>& name = results[result].preset;
    return name ? printable_key(*name) : printable(files[result]);
  }
};

Judges published() {
  Judges out{published_results(), {}};
  if (out.results.empty())
    std::fprintf(stderr,
                 "ranklab: this program was built without published verdicts, so nothing is "
                 "judged; --results names a folder of results\n");
  return out;
}

Judges read_folder(const std::string& folder) {
  Judges out;
  for (auto& [path, result] : results_in(folder)) {
    out.files.push_back(path);
    out.results.push_back(std::move(result));
  }
  if (out.results.empty())
    throw UsageError("papers: no results in " + printable_key(folder) +
                     "; --results names a folder of results");
  for (const std::string& line : drop_repeated_runs(out.results, out.files))
    std::fprintf(stderr, "ranklab: %s\n", printable(line).c_str());
  return out;
}

const Paper& paper_named(const std::string& word) {
  std::vector<std::string> names;
  for (const Paper& paper : papers()) names.push_back(paper.anchor);
  const std::string name = completed(word, names);
  for (const Paper& paper : papers()) {
    if (is_named(paper, name)) return paper;
  }
  const bool is_statement = std::ranges::any_of(papers(), [&](const Paper& paper) {
    return std::ranges::any_of(paper.statements, [&](const PaperStatement& statement) {
      return statement.name == in_full(word);
    });
  });
  throw UsageError("papers: unknown paper '" + printable_key(word) + "'" +
                   (is_statement ? "; the paper comes first, as in `ranklab papers " +
                                       papers()[0].anchor + " \"" + word + "\"`"
                                 : did_you_mean(word, names, "; allowed: " + joined(names))));
}

// By its name or id, or the beginning of one, or by the id of a claim about it.
const JudgedStatement& statement_named(const std::string& word, const Paper& paper,
                                       const std::vector<JudgedStatement>& statements) {
  std::vector<std::string> names, ids;
  for (const JudgedStatement& statement : statements) {
    names.push_back(statement.entry->name);
    ids.push_back(statement.entry->id.substr(statement.entry->id.find('/') + 1));
  }
  const std::string as_name = in_full(word), name = completed(as_name, names),
                    id = completed(word, ids);
  for (const std::string& wanted : {word, name, id}) {
    std::vector<std::string> named;
    const JudgedStatement* first = nullptr;
    for (const JudgedStatement& statement : statements) {
      if (!is_named(*statement.entry, wanted)) continue;
      if (first == nullptr) first = &statement;
      named.push_back(statement.entry->name);
      if (statement.entry->name == as_name) return statement;
    }
    if (named.size() == 1) return *first;
    if (named.size() > 1)
      throw UsageError("papers: '" + printable_key(word) + "' names " +
                       plural(named.size(), "statement") + ": " + joined(named, "; "));
  }
  std::vector<const JudgedStatement*> holding;  // "eq. (1.5)" of "Section 1.2, eq. (1.5) and ..."
  for (const JudgedStatement& statement : statements) {
    if (word.size() > 2 && statement.entry->name.find(as_name) != std::string::npos)
      holding.push_back(&statement);
  }
  if (holding.size() == 1) return *holding.front();
  for (const JudgedStatement* each : holding) {  // "3.7"
    const std::size_t blank = each->entry->name.find(' ');
    if (each->entry->name.substr(blank + 1) == word) return *each;
  }
  for (const JudgedStatement& statement : statements) {  // the id of a claim
    for (const Appearance& each : statement.claims) {
      if (each.claim->id == word || each.claim->id == paper.anchor + "/" + word) return statement;
    }
  }
  std::string hint = several_begin(as_name, names);
  if (hint.empty()) hint = several_begin(word, ids);
  if (hint.empty() && holding.size() > 1 && holding.size() <= 6) {
    std::vector<std::string> with_it;
    for (const JudgedStatement* each : holding) with_it.push_back(each->entry->name);
    hint = "; names with it: " + joined(with_it, "; ");
  }
  if (hint.empty())
    hint = did_you_mean(word, names, "; `ranklab papers " + paper.anchor + "` lists them");
  throw UsageError("papers: " + paper.key + " has no statement '" + printable_key(word) + "'" +
                   hint);
}

OrderedJson slip_json(const Slip& slip) {
  return {{"id", slip.id},
          {"says", slip.says},
          {"where", slip.where},
          {"type", slip.type},
          {"consequence", name_of(slip.consequence)},
          {"place", slip.place},
          {"printed", slip.printed},
          {"corrected", slip.corrected},
          {"derivation", slip.derivation},
          {"answer", slip.answer.empty() ? OrderedJson() : OrderedJson(slip.answer)}};
}

OrderedJson statement_json(const JudgedStatement& statement, const Judges& judges) {
  const PaperStatement& entry = *statement.entry;
  OrderedJson claims = OrderedJson::array(), presets = OrderedJson::array();
  for (const auto& [claim, result] : statement.claims) {
    if (!claim->judged_in.empty()) continue;
    if (std::find(claims.begin(), claims.end(), claim->id) == claims.end())
      claims.push_back(claim->id);
    const std::string preset = judges.preset(result);
    if (std::find(presets.begin(), presets.end(), preset) == presets.end())
      presets.push_back(preset);
  }
  OrderedJson out = {{"id", entry.id},
                     {"name", entry.name},
                     {"section", entry.section},
                     {"type", entry.type},
                     {"says", entry.says},
                     {"hypotheses", entry.hypotheses},
                     {"verdict", words_of(statement.verdict).name},
                     {"class", OrderedJson()},
                     {"words", statement.words()},
                     {"evidence", statement.evidence()},
                     {"claims", claims},
                     {"presets", presets},
                     {"judged_at", judged_at(entry.id)}};
  if (const std::optional<SlipClass> how = statement.slip_class()) out["class"] = name_of(*how);
  for (std::size_t i = 0; i < entry.slips.size(); ++i) {
    if (i == 0) out["slip"] = slip_json(entry.slips[i]);
    if (i > 0) out["more_slips"].push_back(slip_json(entry.slips[i]));
  }
  if (!entry.not_judged.empty()) out["not_judged"] = entry.not_judged;
  if (!entry.scale.empty()) out["scale"] = entry.scale;
  if (!entry.shows.empty())
    out["figure"] = {{"shows", entry.shows}, {"seen", entry.seen}, {"differs", entry.differs}};
  if (!entry.proof.empty()) out["proof"] = entry.proof;
  if (!entry.uses.empty()) out["uses"] = entry.uses;
  for (const PaperStatement* user : users_of(entry)) out["used_by"].push_back(user->id);
  if (!entry.in_later.empty()) out["in_later"] = entry.in_later;
  return out;
}

OrderedJson later_json(const Paper& paper) {
  OrderedJson out = OrderedJson::array();
  for (const LaterVersion& each : paper.later)
    out.push_back({{"version", each.version}, {"date", each.date}, {"read", each.read}});
  return out;
}

OrderedJson paper_json(const Paper& paper, const std::vector<JudgedStatement>& statements,
                       const Judges& judges) {
  OrderedJson list = OrderedJson::array();
  for (const JudgedStatement& statement : statements)
    list.push_back(statement_json(statement, judges));
  return {{"paper", paper.name},
          {"title", paper.title},
          {"version", paper.version},
          {"later", later_json(paper)},
          {"statements", list}};
}

class Printer {
 public:
  void line(const std::string& text, std::size_t indent = 0) const {
    std::printf(
        "%s%s", std::string(indent, ' ').c_str(),
        wrapped(printable(text), indent, columns_ > indent ? columns_ - indent : columns_).c_str());
  }
  std::size_t columns() const { return columns_; }

 private:
  std::size_t columns_ = columns_of(STDOUT_FILENO, page_columns);
};

std::string heading_of(const Slip& slip) {
  return (slip.is_notation() ? "Notation" : "Slip") +
         (slip.where == "statement" ? std::string() : " in the " + slip.where) + " (" +
         words_of(slip.consequence) + "): ";
}

// Cut between words, not inside a number.
std::string shortened_at_blank(const std::string& text, std::size_t columns) {
  const std::string cut = shortened(text, columns);
  return cut == text ? text : cut.substr(0, cut.rfind(' ')) + " \u2026";
}

void print_slip(const Slip& slip, const Printer& print) {
  print.line(heading_of(slip) + slip.says);
  for (const std::string& line : slip.derivation) print.line(line, 4);
  if (!slip.answer.empty()) print.line("The authors: " + slip.answer, 4);
}

std::string names_of(const std::vector<const PaperStatement*>& statements) {
  std::vector<std::string> names;
  for (const PaperStatement* each : statements) names.push_back(each->name);
  return joined(names, "; ");
}

// "Uses" and "Used by", with the verdicts of what it uses that is false as printed.
void print_uses(const PaperStatement& entry, const Printer& print) {
  std::vector<const PaperStatement*> used;
  for (const std::string& id : entry.uses) used.push_back(find_statement(id));
  if (!used.empty()) print.line("Uses: " + names_of(used));
  if (const auto users = users_of(entry); !users.empty()) print.line("Used by: " + names_of(users));
}

// The version that was read, and that a later one exists.
void print_versions(const Paper& paper, const Printer& print) {
  if (const std::string versions = versions_read(paper); !versions.empty())
    print.line("Versions: " + versions + ".", 4);
}

// Everything about one statement.
void print_statement(const Paper& paper, const JudgedStatement& statement, const Judges& judges) {
  const PaperStatement& entry = *statement.entry;
  const Printer print;
  print.line(paper.key + " " + entry.name + ", Section " + entry.section + " (" + paper.version +
             ")");
  print.line("Says: " + entry.says);
  if (!entry.hypotheses.empty()) print.line("Hypotheses: " + entry.hypotheses);
  print.line("Verdict: " + statement.words() +
             (statement.evidence().empty() ? "" : " (" + statement.evidence() + ")"));
  if (!entry.not_judged.empty()) print.line("Why: " + entry.not_judged);
  if (entry.not_judged.empty() && statement.claims.empty() && !judges.files.empty())
    print.line("Why: none of these results judges it" +
               (entry.pictures.empty()
                    ? std::string()
                    : "; `ranklab run " + entry.pictures.front() + "` makes one that does"));
  if (!entry.scale.empty()) print.line("Scale: " + entry.scale);
  if (!entry.shows.empty()) {
    print.line("The paper shows: " + entry.shows);
    print.line("Seen here: " + entry.seen);
    if (!entry.differs.empty()) print.line("Why they differ: " + entry.differs);
  }
  for (std::size_t i = 0; i < entry.proof.size(); ++i)
    print.line((i == 0 ? "Why it is true: " : "") + entry.proof[i], i == 0 ? 0 : 4);
  print_uses(entry, print);
  if (const auto lines = judged_at(entry.id); !lines.empty())
    print.line("In the code: " + joined(lines));
  print_versions(paper, print);
  for (const Slip& slip : entry.slips) print_slip(slip, print);
  for (const auto& [claim, result] : statement.claims) {
    if (!claim->judged_in.empty() || standing_of(*claim) == Standing::not_applicable) continue;
    print.line(std::string(words_of(standing_of(*claim)).symbol) + " " + standing_text(*claim) +
                   ": " + claim->statement + " [" +
                   clauses(evidence_in_words(*claim),
                           claim->undecided ? "" : shortened_at_blank(claim->detail, 200)) +
                   "; " + claim->id + " in " + judges.preset(result) + "]",
               2);
  }
}

void print_paper(const Paper& paper, const std::vector<JudgedStatement>& statements) {
  const Printer print;
  print.line(paper.key + " " + paper.authors + ", " + paper.title + ", " + paper.version);
  print_versions(paper, print);
  for (const JudgedStatement& statement : statements) {
    const PaperStatement& entry = *statement.entry;
    print.line(entry.name + ": " + statement.words() +
               (statement.evidence().empty() ? "" : " (" + statement.evidence() + ")"));
    print.line(entry.says, 4);
    for (const Slip& slip : entry.slips) print.line(heading_of(slip) + slip.says, 4);
  }
}

// How many numbered statements have which verdict, and those that are false.
void print_counts(const Paper& paper, const std::vector<JudgedStatement>& statements) {
  const Printer print;
  const VerdictCounts counts = count_numbered(statements);
  std::vector<std::string> words;
  std::size_t all = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    if (counts[i] > 0)
      words.push_back(std::to_string(counts[i]) + " " + groups_of_verdicts[i].words);
  }
  print.line(paper.key + " " + paper.title + ", " + paper.version + ": of " +
             plural(all, "numbered statement") + ", " + joined(words, "; "));
  for (const auto& [entry, slip] : false_statements(statements))
    print.line(entry->name + " (" + short_words_of(slip->how()) + "): " + slip->says, 4);
  print_versions(paper, print);
}

// The slips alone, those with the gravest consequence first: what the authors would mend.
void print_errata(const Paper& paper) {
  const Printer print;
  print.line(paper.key + " " + paper.title + ", " + paper.version + ": errata");
  print_versions(paper, print);
  for (std::size_t i = consequences; i-- > 0;) {
    bool first = true;
    for (const PaperStatement& entry : paper.statements) {
      for (const Slip& slip : entry.slips) {
        if (static_cast<std::size_t>(slip.consequence) != i) continue;
        if (first) print.line(capitalized(words_of(slip.consequence)) + ":");
        first = false;
        const bool names_entry = slip.place.find(entry.name) != std::string::npos;
        print.line((names_entry ? "" : entry.name + ": ") + slip.place, 2);
        print.line("printed: " + slip.printed, 4);
        print.line("correct: " + slip.corrected, 4);
        if (!slip.answer.empty()) print.line("the authors: " + slip.answer, 4);
      }
    }
  }
}

OrderedJson errata_json(const Paper& paper) {
  OrderedJson slips = OrderedJson::array();
  for (const PaperStatement& entry : paper.statements) {
    for (const Slip& slip : entry.slips) {
      slips.push_back({{"statement_id", entry.id}, {"name", entry.name}});
      slips.back().update(slip_json(slip));
    }
  }
  return {{"paper", paper.name},
          {"title", paper.title},
          {"version", paper.version},
          {"later", later_json(paper)},
          {"slips", slips}};
}

// The page of a paper, or the index of all.
void write_page(const std::string& out, const Paper* paper, const Judges& judges) {
  const fs::path folder = fs::absolute(out).parent_path();
  std::vector<std::string> files;  // as seen from the page
  for (const std::string& file : judges.files)
    files.push_back(fs::absolute(file).lexically_normal().lexically_relative(folder).string());
  write_file_atomically(out, paper == nullptr ? markdown_statements(judges.results, files)
                                              : markdown_paper(*paper, judges.results, files));
  std::fprintf(stderr, "%s\n", printable(out).c_str());
}

struct PapersOptions {
  bool as_json = false, errata = false;
  std::string folder, out;
};

// Below verdicts that were published with the program.
void print_if_published(const Judges& judges) {
  if (!judges.is_published()) return;
  Printer().line("Published verdicts of ranklab " + version_line() +
                 "; --results DIR judges by results of yours.");
}

void show_statement(const Paper& paper, const std::string& name, const Judges& judges,
                    bool as_json) {
  const std::vector<JudgedStatement> statements = judges.judge(paper);
  const JudgedStatement& statement = statement_named(name, paper, statements);
  if (as_json) {
    std::fputs(printed_json(statement_json(statement, judges)).c_str(), stdout);
  } else {
    print_statement(paper, statement, judges);
    print_if_published(judges);
  }
}

int show_papers(std::vector<std::string> named, const PapersOptions& options) {
  const auto& [as_json, errata, folder, out] = options;
  if (named.size() == 1 && find_statement(named[0]) != nullptr)  // lambda-skip/thm-4.1
    named = {named[0].substr(0, named[0].find('/')), named[0]};
  const Paper* paper = named.empty() ? nullptr : &paper_named(named[0]);
  if (errata) {
    if (named.size() != 1 || !out.empty())
      throw UsageError("--errata lists the slips of one paper: `ranklab papers PAPER --errata`");
    if (as_json) std::fputs(printed_json(errata_json(*paper)).c_str(), stdout);
    if (!as_json) print_errata(*paper);
    return 0;
  }
  if (!out.empty() && !out.ends_with(".md"))
    throw UsageError("--out " + printable(out) + ": must end in .md");
  if (!out.empty() && named.size() > 1)
    throw UsageError("--out writes the page of a paper or of all; it takes no statement");
  if (!out.empty()) {  // the page shows pictures, which are next to the results
    write_page(out, paper, read_folder(folder.empty() ? "results/reference" : folder));
    return 0;
  }
  const Judges judges = folder.empty() ? published() : read_folder(folder);
  if (named.size() > 1) {
    show_statement(*paper, joined({named.begin() + 1, named.end()}, " "), judges, as_json);
    return 0;
  }
  OrderedJson all = OrderedJson::array();
  for (const Paper& each : papers()) {
    if (paper != nullptr && &each != paper) continue;
    const std::vector<JudgedStatement> statements = judges.judge(each);
    if (as_json) {
      all.push_back(paper_json(each, statements, judges));
    } else if (paper != nullptr) {
      print_paper(each, statements);
    } else {
      print_counts(each, statements);
    }
  }
  if (as_json) std::fputs(printed_json(paper == nullptr ? all : all[0]).c_str(), stdout);
  if (!as_json) print_if_published(judges);
  return 0;
}

}  // namespace

Utility papers_command() {
  const auto options = std::make_shared<PapersOptions>();
  return {
      .name = "papers",
      .usage = "[PAPER] [STATEMENT]",
      .summary = "show what each paper says, statement by statement, with its verdict",
      .details =
          "Lists the statements of a paper if one is named, and shows a named statement in "
          "full: `ranklab papers spectral Theorem 3.7`. The beginning of a name is enough, if no "
          "other one begins so. The verdicts are those published with this "
          "program, unless --results names results. With --out, a paper's page has every "
          "statement with its verdict, evidence and pictures; without a paper, the page lists the "
          "verdicts and links to the pages of the papers next to it, such as spectral.md. "
          "results/verdicts.md says what the verdicts of --json are called in other collections.",
      .takes = {0, any_number},
      .flags = {switch_field("json", options->as_json,
                             "print the statements with verdict, claims and presets as JSON"),
                switch_field("errata", options->errata,
                             "list only what is wrong as printed in PAPER, by consequence, with "
                             "the place, the printed and the corrected form"),
                text_field("results", options->folder,
                           "folder of the results that judge the statements (not given: the "
                           "published verdicts; for --out, results/reference)"),
                text_field(
                    "out", options->out,
                    "write the page of the paper, or of all papers, as Markdown into this file")},
      .run = [options](const Arguments& given) { return show_papers(given.positional, *options); },
  };
}

}  // namespace ranklab
