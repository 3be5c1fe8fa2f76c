#include "report/page/claim_table.hpp"

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "report/figure/text.hpp"
#include "report/page/evidence.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

std::string verdict_words(const char* kind, const std::string& words) {
  return "<span class=\"verdict " + std::string(kind) + "\">" + words + "</span>";
}

std::string kind_words(const Json& claim) {
  const std::string kind = plain(member(claim, "kind"));
  return kind == "theorem"          ? "theorem"
         : kind == "printed-number" ? "printed number"
         : kind == "figure"         ? "figure or text"
         : kind == "reading"        ? "our threshold: " + prose(plain(member(claim, "threshold")))
         : kind == "beyond"         ? "not in the paper"
                                    : "";
}

std::string verdict_html(const Json& claim, Standing standing) {
  if (const std::string other = plain(member(claim, "judged_in")); !other.empty())
    return verdict_words("not-applicable", "\u25CB judged in " + html(other));
  if (member(claim, "shortened") == true)
    return verdict_words("undecided", "? undecided: short run");
  const std::string word = plain(member(claim, "verdict"));
  const bool is_known = word == "holds" || word == "fails" || word == "not-applicable";
  if (!is_known)
    return verdict_words("not-applicable", "\u25CB " + (word.empty() ? "no verdict" : html(word)));
  return standing_html(standing);
}

}  // namespace

const char* symbol_of(Standing standing) {
  switch (standing) {
    case Standing::holds:
      return "\u2713";
    case Standing::misprint:
      return "\u270E";
    case Standing::fails:
      return "\u2717";
    case Standing::missed:
      return "\u25B3";
    case Standing::undecided:
      return "?";
    case Standing::not_applicable:
      break;
  }
  return "\u25CB";
}

std::string standing_html(Standing standing) {
  const auto words = [&](const char* kind, const char* word) {
    return verdict_words(kind, std::string(symbol_of(standing)) + " " + word);
  };
  switch (standing) {
    case Standing::holds:
      return words("holds", "holds");
    case Standing::misprint:
      return words("misprint", "misprint");
    case Standing::fails:
      return words("fails", "fails");
    case Standing::missed:
      return words("missed", "ours fails");
    case Standing::undecided:
      return words("undecided", "undecided");
    case Standing::not_applicable:
      break;
  }
  return words("not-applicable", "not applicable");
}

std::string claim_table_start(const std::string& caption) {
  return table_start(caption,
                     {"Verdict", "Statement", "Measured (mean \u00B1 99 % interval)", "Expected"},
                     "claims");
}

std::string claim_rows(const Json& claim, Standing standing, const std::string& place) {
  const ShownEvidence evidence = evidence_of(claim);
  const std::string corrects = plain(member(claim, "misprint_of"));
  std::vector<std::string> fine;
  for (const std::string& part :
       {place, kind_words(claim), "<code>" + html(member(claim, "id")) + "</code>",
        corrects.empty() ? "" : "corrected form of <code>" + escape_markup(corrects) + "</code>",
        evidence.detail}) {
    if (!part.empty()) fine.push_back(part);
  }
  return "<tr><td>" + verdict_html(claim, standing) + "<td>" +
         prose(plain(member(claim, "statement"))) + "<td>" + evidence.measured + "<td>" +
         evidence.expected + "\n<tr class=\"fine\"><td colspan=\"4\">" + joined(fine, " \u00B7 ") +
         "\n";
}

}  // namespace ranklab
