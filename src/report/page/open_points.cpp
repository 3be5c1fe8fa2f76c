#include "report/page/open_points.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/text.hpp"
#include "report/page/claim_table.hpp"
#include "report/page/evidence.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"
#include "report/papers.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// The appearance that decides the verdict; among several, the first one with the shortest id.
const Appearance& deciding(const std::vector<Appearance>& forms) {
  for (const Standing standing :
       {Standing::fails, Standing::missed, Standing::holds, Standing::undecided}) {
    for (const Appearance& form : forms) {
      if (verdict_of(*form.claim) == standing) return form;
    }
  }
  return forms.front();
}

// "fails in Figure 11, holds in Figure 3", if results disagree.
std::string places_html(const std::vector<Appearance>& forms, const std::vector<Entry>& entries) {
  std::vector<std::pair<std::size_t, Standing>> places;
  for (const Appearance& form : forms) {
    const auto known = std::find_if(places.begin(), places.end(),
                                    [&](const auto& place) { return place.first == form.result; });
    const Standing verdict = verdict_of(*form.claim);
    if (known == places.end()) {
      places.emplace_back(form.result, verdict);
    } else if (verdict == Standing::fails || verdict == Standing::missed) {
      known->second = verdict;
    }
  }
  std::vector<std::string> links;
  for (const auto& [result, verdict] : places) {
    const char* word = verdict == Standing::holds            ? "holds in "
                       : verdict == Standing::undecided      ? "undecided in "
                       : verdict == Standing::not_applicable ? "not applicable in "
                                                             : "fails in ";
    links.push_back(word + link_to(entries[result], link_name(*entries[result].result)));
  }
  const bool disagree = std::any_of(places.begin(), places.end(),
                                    [&](const auto& at) { return at.second != places[0].second; });
  return disagree ? "<br><small>" + joined(links) + "</small>" : "";
}

std::string id_html(const std::string& id) {
  return "<code>" + html_id(id) + "</code>";
}

std::string paper_row(std::size_t paper) {
  return "<tr class=\"paper\"><th scope=\"colgroup\" colspan=\"4\">" + name_of_paper(paper) +
         "</th></tr>\n";
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// Statements of one result about one place of the paper share a row if they differ in a few words,
// such as the number of a layer.
bool are_similar(const JudgedStatement& a, const JudgedStatement& b) {
  const Appearance &x = deciding(a.as_printed), &y = deciding(b.as_printed);
  if (x.result != y.result || member(*x.claim, "source") != member(*y.claim, "source"))
    return false;
  const auto words = words_of(plain(member(*x.claim, "statement"))),
             others = words_of(plain(member(*y.claim, "statement")));
  if (words.size() != others.size()) return false;
  std::size_t different = 0;
  for (std::size_t i = 0; i < words.size(); ++i) different += words[i] != others[i];
  return different <= 3 && 2 * different < words.size();
}

using Group = std::vector<const JudgedStatement*>;

std::vector<Group> grouped_by_similarity(const Group& chosen) {
  std::vector<Group> out;
  for (const JudgedStatement* statement : chosen) {
    const auto known = std::find_if(out.begin(), out.end(), [&](const Group& group) {
      return are_similar(*group.front(), *statement);
    });
    if (known != out.end())
      known->push_back(statement);
    else
      out.push_back({statement});
  }
  return out;
}

// The place in the paper, as a link to the result that judges it.
std::string where_html(const JudgedStatement& statement, const std::vector<Entry>& entries) {
  const Appearance& form = deciding(statement.as_printed);
  return link_to(entries[form.result], prose(plain(member(*form.claim, "source")))) +
         places_html(statement.as_printed, entries);
}

// "Similarly", then the ids of the other statements with their measured values.
std::string similar_html(const Group& group) {
  if (group.size() == 1) return "";
  std::vector<std::string> others;
  for (std::size_t i = 1; i < group.size(); ++i) {
    const std::string id = group[i]->id.substr(group[i]->id.find('/') + 1);
    others.push_back(id_html(id) + " " +
                     evidence_of(*deciding(group[i]->as_printed).claim).measured);
  }
  return "<tr class=\"fine\"><td colspan=\"4\">Similarly " + joined(others) + "\n";
}

// Of a pair, the corrected form follows the form as printed.
std::string rows_of(const Group& group, const std::vector<Entry>& entries) {
  const JudgedStatement& first = *group.front();
  const Appearance& printed = deciding(first.as_printed);
  const Standing own = verdict_of(*printed.claim), all = first.standing();
  std::string out =
      claim_rows(*printed.claim, all == Standing::misprint ? all : own, where_html(first, entries));
  if (!first.corrected.empty()) {
    const Appearance& corrected = deciding(first.corrected);
    out += claim_rows(*corrected.claim, verdict_of(*corrected.claim), "");
  }
  return out + similar_html(group);
}

std::size_t paper_of(const JudgedStatement& statement, const std::vector<Entry>& entries) {
  return entries[statement.as_printed.front().result].paper;
}

std::string rows_html(const Group& chosen, const std::vector<Entry>& entries) {
  std::string out;
  std::size_t paper = papers.size() + 1;
  for (const Group& group : grouped_by_similarity(chosen)) {
    const std::size_t own = paper_of(*group.front(), entries);
    if (own != paper) out += paper_row(own);
    paper = own;
    out += rows_of(group, entries);
  }
  return out;
}

// A table of statements in a fold.
std::string fold_html(const Group& chosen, const std::vector<Entry>& entries,
                      const std::string& summary, const std::string& caption,
                      const std::string& attributes = "") {
  if (chosen.empty()) return "";
  return "<details" + attributes + ">\n<summary>" + summary + "</summary>\n" +
         claim_table_start(caption) + rows_html(chosen, entries) + "</tbody></table>\n</details>\n";
}

// One fold per paper. In print the failures are unfolded.
std::string failures_html(const Group& failures, const std::vector<Entry>& entries) {
  std::string out;
  for (std::size_t paper = 0; paper <= papers.size(); ++paper) {
    Group own;
    std::copy_if(
        failures.begin(), failures.end(), std::back_inserter(own),
        [&](const JudgedStatement* statement) { return paper_of(*statement, entries) == paper; });
    out += fold_html(own, entries,
                     counted(own.size(), "other statement") + " of " + name_of_paper(paper) +
                         " that fail" + (own.size() == 1 ? "s" : "") + ", and why",
                     "Statements that fail", " class=\"printed\"");
  }
  return out;
}

template <typename Wanted>
Group where(const std::vector<JudgedStatement>& statements, const Wanted& wanted) {
  Group out;
  for (const JudgedStatement& statement : statements) {
    if (wanted(statement)) out.push_back(&statement);
  }
  return out;
}

}  // namespace

std::string open_points_html(const std::vector<JudgedStatement>& statements,
                             const std::vector<Entry>& entries) {
  const auto is_pair = [](const JudgedStatement& s) { return !s.corrected.empty(); };
  const auto misprints = where(statements, [&](const JudgedStatement& s) {
    return is_pair(s) && s.standing() != Standing::holds;
  });
  const auto harmless = where(statements, [&](const JudgedStatement& s) {
    return is_pair(s) && s.standing() == Standing::holds;
  });
  const auto single = [&](Standing standing) {
    return where(statements, [&, standing](const JudgedStatement& s) {
      return !is_pair(s) && s.standing() == standing;
    });
  };
  const auto failures = single(Standing::fails), missed = single(Standing::missed),
             undecided = single(Standing::undecided),
             not_applicable = single(Standing::not_applicable);
  std::string out;
  if (!misprints.empty())
    out += claim_table_start("Misprints: statements that fail as printed and hold corrected") +
           rows_html(misprints, entries) + "</tbody></table>\n";
  out += failures_html(failures, entries);
  const auto are = [](std::size_t n, const std::string& words) {
    return counted(n, "statement") + (n == 1 ? " that is " : " that are ") + words + ", and why";
  };
  out += fold_html(missed, entries,
                   counted(missed.size(), "statement") +
                       " of ours (a threshold that no paper prints, or a statement that is not in "
                       "the papers) that " +
                       (missed.size() == 1 ? "fails" : "fail"),
                   "Statements of ours that fail");
  out += fold_html(harmless, entries,
                   counted(harmless.size(), "statement") + " that hold" +
                       (harmless.size() == 1 ? "s" : "") +
                       " as printed and in a corrected or sharper form",
                   "Hold in both forms");
  out +=
      fold_html(undecided, entries, are(undecided.size(), "undecided"), "Undecided: too few data");
  out += fold_html(not_applicable, entries, are(not_applicable.size(), "not applicable"),
                   "Not applicable: a hypothesis is not met");
  return out.empty() ? ""
                     : "<h2 id=\"open-points\">Misprints, failures, undecided and not applicable "
                       "statements</h2>\n" +
                           out;
}

}  // namespace ranklab
