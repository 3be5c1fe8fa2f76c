// The pages of the papers in Markdown: a table of the figures; each statement in the paper's order
// with its verdict, its evidence and its pictures; and the index of all statements.

#include <algorithm>

#include "core/text.hpp"
#include "figure/text.hpp"
#include "judge/catalog.hpp"
#include "judge/judged_at.hpp"
#include "judge/references.hpp"
#include "page/claim_table.hpp"
#include "page/entry.hpp"
#include "page/markdown.hpp"
#include "page/page.hpp"
#include "page/paper_view.hpp"
#include "page/prose.hpp"
#include "page/summary.hpp"
#include "page/text.hpp"
#include "result/changes.hpp"

namespace ranklab {
namespace {

// Words of the catalog, in which `...` is code.
Markdown catalog_words(const std::string& words) {
  std::string out = markdown(prose(words)).text();
  for (std::size_t at = out.find("&#96;"); at != std::string::npos; at = out.find("&#96;"))
    out.replace(at, 5, "`");
  return Markdown::trusted(out);
}

Markdown anchor(const PageAnchor& place) {
  return "<a id=\"" + on_one_line(place) + "\"></a>";
}

Markdown verdict_markdown(const JudgedStatement& statement) {
  return on_one_line(escape_markup(words_of(statement.verdict).symbol)) + " **" +
         markdown(prose(statement.words())) + "**";
}

Markdown citation_markdown(const Paper& paper) {
  return on_one_line(escape_markup(paper.authors)) + ", " +
         on_one_line(escape_markup(paper.title)) + ", [" +
         on_one_line(escape_markup(paper.version)) + "](https://arxiv.org/abs/" +
         link_target(paper.number()) + ")";
}

// The numbers behind a verdict, the scale, and the results that judge it.
Markdown evidence_markdown(const JudgedStatement& statement, const std::vector<Entry>& entries) {
  std::vector<Markdown> parts, results;
  if (!statement.evidence().empty()) parts.push_back(markdown(prose(statement.evidence())));
  if (!statement.entry->scale.empty()) parts.push_back(catalog_words(statement.entry->scale));
  for (const auto& [result, claims] : results_of(statement))
    results.push_back("[" + markdown(link_name(*entries[result].result)) + "](" +
                      place_target(entries[result]) + ")" + claims_in_brackets<Markdown>(claims));
  if (!results.empty()) parts.push_back(joined(results));
  return joined(parts, "; ");
}

Markdown image(const Markdown& name, const Markdown& target) {
  return "<a href=\"" + target + "\"><img src=\"" + target + "\" alt=\"" + name + "\"></a>";
}

// The further pictures, folded.
Markdown more_pictures(const Entry& entry) {
  const std::vector<Figure>& more = entry.result->more_figures;
  std::vector<Markdown> titles;
  Markdown images;
  for (std::size_t i = 0; i < more.size(); ++i) {
    titles.push_back(markdown(escape_markup(more[i].title)));
    images += "\n" + image(titles.back(), picture_target(entry, i + 1)) + "\n";
  }
  return more.empty() ? ""
                      : "\n<details><summary>More: " + joined(titles, "; ") + "</summary>\n" +
                            images + "\n</details>\n";
}

// The picture of a result, what makes it, what to see, and how its claims are judged.
Markdown picture_markdown(const Entry& entry) {
  const ResultFile& result = *entry.result;
  std::vector<Markup> facts = {trials_html(result),
                               html_duration(result.timing.cpu) + " of CPU time",
                               escape_markup(changes_text(result))};
  std::erase(facts, Markup());
  const Markdown maker = result.preset ? "`make " + markdown(link_name(result)) + "` " : "";
  return "\n" + anchor(entry.anchor) + image(markdown(short_name(result)), picture_target(entry)) +
         "\n\n" + maker + "(" + markdown(joined(facts)) +
         "): " + markdown(escape_markup(result.title)) + "\n\n" +
         markdown(prose(without_references(result.see))) + "\n" + more_pictures(entry);
}

Markdown folded(const Markdown& summary, const std::vector<Markdown>& lines) {
  Markdown out = "\n<details><summary>" + summary + "</summary>\n\n";
  for (const Markdown& line : lines) out += "* " + line + "\n";
  return out + "\n</details>\n";
}

// The slips, one to a line; those of notation share a line.
Markdown slips_markdown(const PaperStatement& entry) {
  Markdown out;
  std::vector<Markdown> notation;
  for (const Slip& slip : entry.slips) {
    if (slip.is_notation()) {
      notation.push_back(catalog_words(sentence_of(slip)));
      continue;
    }
    out += "* *Slip, " + on_one_line(escape_markup(words_of(slip.consequence))) + ".* " +
           catalog_words(sentence_of(slip)) +
           (slip.answer.empty() ? Markdown() : " *The authors:* " + catalog_words(slip.answer)) +
           "\n";
  }
  if (!notation.empty()) out += "* *Notation.* " + joined(notation, " ") + "\n";
  return out.empty() ? out : "\n" + out;
}

Markdown proof_markdown(const PaperStatement& entry) {
  if (entry.proof.empty()) return {};
  std::vector<Markdown> lines;
  for (const std::string& line : entry.proof) lines.push_back(catalog_words(line));
  return folded("Why it is true", lines);
}

Markdown link_to_statement(const JudgedStatement& statement) {
  return on_one_line(escape_markup(words_of(statement.verdict).symbol)) + " [" +
         catalog_words(statement.entry->name) + "](#" + on_one_line(anchor_of(*statement.entry)) +
         ")";
}

// "Uses ✗ [Theorem 2.2](...). Used by ...".
Markdown uses_markdown(const JudgedStatement& statement, const PaperView& view) {
  const auto links = [](const std::vector<const JudgedStatement*>& statements) {
    std::vector<Markdown> out;
    for (const JudgedStatement* each : statements) out.push_back(link_to_statement(*each));
    return joined(out);
  };
  const auto [uses, users] = neighbors_of(statement, view);
  Markdown out;
  if (!uses.empty()) out += "\nUses " + links(uses) + ".";
  if (!users.empty()) out += (uses.empty() ? "\n" : " ") + ("Used by " + links(users) + ".");
  return out.empty() ? out : out + "\n";
}

Markdown claim_markdown(const Claim& claim, const Entry& judge) {
  const std::string found = evidence_in_words(claim);
  return on_one_line(
             escape_markup(words_of(standing_of(claim)).symbol + (" " + standing_text(claim)))) +
         ": " + markdown(prose(claim.statement)) +
         (found.empty() ? Markdown() : ": " + markdown(prose(found))) + " (" +
         markdown(link_name(*judge.result)) + ")";
}

// "In the code: [trajectory.cpp](...)". A page names no lines, because each edit moves them.
Markdown code_behind(const PaperStatement& entry) {
  std::vector<Markdown> links;
  for (const std::string& file : files_that_judge(entry.id))
    links.push_back("[" + on_one_line(escape_markup(file.substr(file.rfind('/') + 1))) + "](" +
                    link_target("../" + file) + ")");
  return links.empty() ? Markdown() : "In the code: " + joined(links);
}

// What decides the verdict, the code that does so, and apart from it what is not in the paper.
Markdown claims_markdown(const JudgedStatement& statement, const std::vector<Entry>& entries) {
  std::vector<Markdown> of_paper, ours;
  for (const auto& [claim, result] : statement.claims) {
    if (!claim->judged_in.empty() || standing_of(*claim) == Standing::not_applicable) continue;
    (is_beyond_the_paper(*claim) ? ours : of_paper)
        .push_back(claim_markdown(*claim, entries[result]));
  }
  const auto fold = [](std::vector<Markdown> lines, const Markdown& what, const Markdown& end) {
    if (lines.empty()) return Markdown();
    const Markdown summary =
        Markdown::number(lines.size()) + " " + what + (lines.size() == 1 ? Markdown() : "s");
    if (!end.empty()) lines.push_back(end);
    return folded(summary, lines);
  };
  const Markdown code = code_behind(*statement.entry);
  return fold(of_paper, "claim", code) +
         fold(ours, "further finding", of_paper.empty() ? code : Markdown());
}

// Figure | what the paper shows | what is seen here | why they differ.
Markdown figures_markdown(const PaperView& view) {
  Markdown rows;
  for (const JudgedStatement& statement : view.statements) {
    const PaperStatement& entry = *statement.entry;
    if (entry.shows.empty()) continue;
    rows += table_row({link_to_statement(statement), catalog_words(entry.shows),
                       catalog_words(entry.seen),
                       entry.differs.empty() ? Markdown() : catalog_words(entry.differs)});
  }
  return rows.empty() ? rows
                      : "\n| | what the paper shows | what is seen here | why they differ "
                        "|\n|---|---|---|---|\n" +
                            rows;
}

// The code that the authors published, what is taken from it, and what it does.
Markdown code_markdown(const Paper& paper) {
  if (!paper.code) return {};
  const AuthorsCode& code = *paper.code;
  Markdown out = "\n**The authors' code.** [" + catalog_words(code.repository) +
                 "](https://github.com/" + link_target(code.repository) + "/tree/" +
                 link_target(code.commit) + "), commit " + catalog_words(code.commit) + " of " +
                 catalog_words(code.date) + "; " + catalog_words(code.says) + "\n\n";
  for (const std::string& taken : code.taken) out += "* " + catalog_words(taken) + "\n";
  if (code.runs.empty()) return out;
  out += "\n| figure | published code, seed | what it does |\n|---|---|---|\n";
  for (const AuthorsCode::Run& run : code.runs)
    out +=
        table_row({catalog_words(run.figure), catalog_words(run.seed), catalog_words(run.found)});
  return out;
}

Markdown versions_markdown(const Paper& paper) {
  const std::string versions = versions_read(paper);
  return versions.empty() ? Markdown()
                          : "\n**Version.** " + catalog_words(capitalized(versions)) +
                                ": what is said here need not hold for it.\n";
}

Markdown statement_markdown(const JudgedStatement& statement, const PaperView& view,
                            const std::vector<Entry>& entries) {
  const PaperStatement& entry = *statement.entry;
  Markdown out = "\n## " + anchor(anchor_of(entry)) + catalog_words(entry.name) + "\n\n" +
                 catalog_words(entry.says);
  if (!entry.hypotheses.empty()) out += " *Hypotheses:* " + catalog_words(entry.hypotheses);
  out += "\n\n" + verdict_markdown(statement);
  const std::string reason = reason_of(statement);
  if (!reason.empty())
    out += ". " + (entry.not_judged.empty() ? markdown(prose(reason)) : catalog_words(reason));
  if (const Markdown evidence = evidence_markdown(statement, entries); !evidence.empty())
    out += (reason.empty()          ? Markdown(": ")
            : reason.ends_with('.') ? Markdown(" ")
                                    : "; ") +
           evidence;
  return out + "\n" + slips_markdown(entry) + uses_markdown(statement, view) +
         proof_markdown(entry) + claims_markdown(statement, entries);
}

Markdown heading_markdown(const Paper& paper) {
  const auto numbered = std::ranges::find_if(paper.statements, &PaperStatement::is_numbered);
  const PaperStatement& example =
      numbered == paper.statements.end() ? paper.statements.front() : *numbered;
  const Markdown words = on_one_line(escape_markup(paper.anchor)) + " \"" +
                         on_one_line(escape_markup(example.name)) + "\"";
  return "# " + on_one_line(escape_markup(paper.key)) + ", statement by statement\n\n" +
         citation_markdown(paper) +
         ".\n[README.md](README.md) explains the verdicts, and [statements.md](statements.md) "
         "lists "
         "them. `ranklab papers " +
         words +
         "` prints a statement with the derivation of its slips and the lines of the code that "
         "judge it. `ranklab papers " +
         on_one_line(escape_markup(paper.anchor)) + " --errata` lists the slips alone.\n" +
         versions_markdown(paper);
}

}  // namespace

std::string markdown_paper(const Paper& paper, const std::vector<ResultFile>& results,
                           const std::vector<std::string>& file_names) {
  const std::vector<Entry> all = entries_of(results, file_names);
  const std::vector<PaperView> views = surveys_of(all);
  const auto view = std::ranges::find(views, &paper, &PaperView::paper);
  std::vector<const Entry*> pending;  // whose pictures are not yet on the page
  for (const Entry& entry : all) {
    if (entry.paper == paper_of(paper.key) && !is_input(entry)) pending.push_back(&entry);
  }
  Markdown out = heading_markdown(paper);
  if (view != views.end()) {
    out += figures_markdown(*view) + code_markdown(paper);
    for (const JudgedStatement& statement : view->statements) {
      out += statement_markdown(statement, *view, all);
      for (const std::string& preset : statement.entry->pictures) {
        for (const Entry* entry : pending)
          if (preset_of(*entry->result) == preset) out += picture_markdown(*entry);
        std::erase_if(pending,
                      [&](const Entry* entry) { return preset_of(*entry->result) == preset; });
      }
    }
  }
  if (!pending.empty()) out += "\n## Further results\n";
  for (const Entry* entry : pending) out += picture_markdown(*entry);
  return out.text();
}

std::string markdown_statements(const std::vector<ResultFile>& results,
                                const std::vector<std::string>& file_names) {
  const std::vector<Entry> entries = entries_of(results, file_names);
  const std::vector<PaperView> views = surveys_of(entries);
  Markdown out = "# What the papers say, and what was found\n\n" + Markdown(introduction) +
                 " The rule is in [README.md](README.md).\n\n" + counts_markdown(views);
  for (const PaperView& view : views) {
    const Paper& paper = *view.paper;
    const Markdown page = link_target(paper.anchor + ".md");
    out += "\n## " + on_one_line(escape_markup(paper.key)) + "\n\n" + citation_markdown(paper) +
           ": [what each statement says](" + page + ")\n" + versions_markdown(paper) +
           "\n| statement | verdict |\n|---|---|\n";
    for (const JudgedStatement& statement : view.statements)
      out += table_row({"[" + catalog_words(statement.entry->name) + "](" + page + "#" +
                            on_one_line(anchor_of(*statement.entry)) + ")",
                        verdict_markdown(statement)});
  }
  return out.text();
}

}  // namespace ranklab
