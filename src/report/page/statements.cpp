#include "report/page/statements.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/page/text.hpp"
#include "report/papers.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// "14a" for "14 (a)", "14a/x" and "14a"; "2" for "2-step3"; "4" for "4-variants"; empty if the text
// does not start with a number.
std::string leading_number(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string out(text.substr(0, end));
  text.remove_prefix(end);
  if (out.empty()) return out;
  if (text.starts_with(" (") && text.size() > 3 && is_letter(text[2]) && text[3] == ')')
    return out + text[2];
  if (!text.empty() && is_letter(text[0]) && (text.size() == 1 || !is_letter(text[1])))
    out += text[0];
  return out;
}

std::string after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at == std::string_view::npos ? "" : leading_number(text.substr(at + word.size()));
}

// Figure 18 and its part (a) count as the same figure; parts (a) and (b) do not.
bool same_figure(const std::string& a, const std::string& b) {
  if (a == b) return true;
  return a.size() > b.size() ? a.starts_with(b) && !is_digit(a[b.size()])
                             : b.starts_with(a) && !is_digit(b[a.size()]);
}

struct PrintedForm {
  std::string printed;  // the id of the claim as printed; may be the id of the claim itself
  bool corrects = false;
};

// In files from before claims named the misprint that they correct, the ids of a pair end in
// "/as-printed" and "/corrected".
PrintedForm form_in_old_file(const std::string& id) {
  constexpr std::string_view printed = "/as-printed", corrected = "/corrected";
  const std::size_t at = id.find(corrected), end = at + corrected.size();
  if (at == std::string::npos || (end < id.size() && id[end] != '/')) return {id};
  return {id.substr(0, at) + std::string(printed), true};
}

PrintedForm form_of(const Json& claim) {
  const std::string id = plain(member(claim, "id")), printed = plain(member(claim, "misprint_of"));
  if (!printed.empty()) return {printed, true};
  return member(claim, "kind").is_null() ? form_in_old_file(id) : PrintedForm{id};
}

void shortest_first(std::vector<Appearance>& forms) {
  std::stable_sort(forms.begin(), forms.end(), [](const Appearance& a, const Appearance& b) {
    return plain(member(*a.claim, "id")).size() < plain(member(*b.claim, "id")).size();
  });
}

// Several appearances: fails if one fails, else holds if one holds, else undecided if one is.
Standing worst(const std::vector<Appearance>& forms) {
  Standing out = Standing::not_applicable;
  for (const Appearance& form : forms) {
    const Standing verdict = verdict_of(*form.claim);
    if (verdict == Standing::fails || verdict == Standing::missed) return verdict;
    out = std::min(out, verdict);  // in the order holds, undecided, not_applicable
  }
  return out;
}

}  // namespace

std::string figure_of_source(std::string_view figure) {
  return after(figure, "Figure ");
}

std::string figure_of_id(std::string_view id) {
  return after(id, "/fig-");
}

bool names_figure(std::string_view source, const std::string& figure) {
  constexpr std::string_view several = "Figures ";
  const std::size_t at = source.find(several);
  if (at == std::string_view::npos) {
    const std::string own = figure_of_source(source);
    return !own.empty() && same_figure(figure, own);
  }
  std::string_view rest = source.substr(at + several.size());
  const auto number_of = [](const std::string& text) { return std::stoul(text); };
  std::string first;  // the start of a range with "to"
  while (true) {
    const std::string number = leading_number(rest);
    if (number.empty()) return false;
    if (same_figure(figure, number)) return true;
    if (!first.empty() && number_of(first) < number_of(figure) &&
        number_of(figure) < number_of(number))
      return true;
    rest.remove_prefix(number.size());
    first.clear();
    if (rest.starts_with(", ")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(" to ")) {
      first = number;
      rest.remove_prefix(4);
    } else if (rest.starts_with(" and ")) {
      rest.remove_prefix(5);
    } else {
      return false;
    }
  }
}

bool belongs(const Json& claim, const Json& result) {
  if (!member(claim, "judged_in").is_null()) return false;
  const Json& source = member(result, "source");
  const std::string named = figure_of_id(plain(member(claim, "id"))),
                    figure = plain(member(source, "figure"));
  if (named.empty() || figure.empty()) return true;
  const std::size_t paper = paper_of(plain(member(source, "paper")));
  if (paper == papers.size()) return true;
  return plain(member(claim, "id")).starts_with(papers[paper].ids) && names_figure(figure, named);
}

Standing verdict_of(const Json& claim) {
  const std::string verdict = plain(member(claim, "verdict"));
  if (verdict == "holds") return Standing::holds;
  if (verdict != "fails")
    return shown_verdict(claim) == "undecided" ? Standing::undecided : Standing::not_applicable;
  const std::string kind = plain(member(claim, "kind"));
  return kind == "reading" || kind == "beyond" ? Standing::missed : Standing::fails;
}

Standing JudgedStatement::standing() const {
  const auto fails = [](Standing standing) {
    return standing == Standing::fails || standing == Standing::missed;
  };
  const Standing printed = worst(as_printed), right = worst(corrected);
  if (fails(printed) && right == Standing::holds) return Standing::misprint;
  return fails(right) ? right : printed;
}

std::vector<JudgedStatement> statements_of(const std::vector<const Json*>& results) {
  std::vector<JudgedStatement> out;
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Json& claims = member(*results[i], "claims");
    if (!claims.is_array()) continue;
    for (const Json& claim : claims) {
      if (!belongs(claim, *results[i])) continue;
      const PrintedForm form = form_of(claim);
      const auto [at, is_new] = index.try_emplace(form.printed, out.size());
      if (is_new) out.push_back({form.printed, {}, {}});
      JudgedStatement& statement = out[at->second];
      (form.corrects ? statement.corrected : statement.as_printed).push_back({&claim, i});
    }
  }
  for (JudgedStatement& statement : out) {
    if (statement.as_printed.empty()) std::swap(statement.as_printed, statement.corrected);
    shortest_first(statement.as_printed);
    shortest_first(statement.corrected);
  }
  return out;
}

void StandingCounts::add(Standing standing) {
  ++(standing == Standing::holds       ? holds
     : standing == Standing::misprint  ? misprints
     : standing == Standing::fails     ? fails
     : standing == Standing::missed    ? missed
     : standing == Standing::undecided ? undecided
                                       : not_applicable);
}

StandingCounts count(const std::vector<JudgedStatement>& statements) {
  StandingCounts out;
  for (const JudgedStatement& statement : statements) out.add(statement.standing());
  return out;
}

}  // namespace ranklab
