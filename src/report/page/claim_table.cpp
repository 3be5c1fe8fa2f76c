#include "report/page/claim_table.hpp"

#include "core/text.hpp"
#include "report/figure/text.hpp"
#include "report/page/evidence.hpp"
#include "report/page/prose.hpp"
#include "report/page/text.hpp"

namespace ranklab {
namespace {

std::string words_of_kind(const Claim& claim) {
  switch (claim.kind) {
    case Kind::theorem:
      return claim.part == Part::proof ? "step of a proof" : "every finite case";
    case Kind::asymptotic:
      return "asymptotic, our slack: " + prose(claim.threshold);
    case Kind::printed_number:
      return "printed number";
    case Kind::figure:
      return "figure or text";
    case Kind::reading:
      return "our threshold: " + prose(claim.threshold);
    case Kind::beyond:
      break;
  }
  return "not in the paper";
}

std::string kind_html(const Claim& claim) {
  return words_of_kind(claim) +
         (claim.part == Part::proof && claim.kind != Kind::theorem ? ", in a proof" : "");
}

}  // namespace

std::string standing_html(const Claim& claim) {
  const auto words = [](Standing standing, const std::string& text) {
    const StandingWords& of = words_of(standing);
    return colored(of.name, of.symbol + (" " + text));
  };
  if (!claim.judged_in.empty())
    return words(Standing::not_applicable, "judged in " + escape_markup(claim.judged_in));
  const Standing standing = standing_of(claim);
  return words(standing, claim.shortened ? "undecided: short run" : standing_text(claim)) +
         (claim.holm_undecided && standing != Standing::undecided
              ? " <small>not after Holm&#39;s correction</small>"
              : "");
}

std::string claim_table_start(const std::string& caption) {
  return table_start(caption,
                     {"Verdict", "Statement", "Measured (mean \u00B1 99 % interval)", "Expected"},
                     "claims");
}

std::string claim_rows(const Claim& claim, const std::string& place) {
  const ShownEvidence evidence = evidence_of(claim);
  std::vector<std::string> fine;
  for (const std::string& part :
       {place, kind_html(claim), "<code>" + escape_markup(claim.id) + "</code>",
        claim.misprint_of.empty()
            ? ""
            : "corrected form of <code>" + escape_markup(claim.misprint_of) + "</code>",
        evidence.detail}) {
    if (!part.empty()) fine.push_back(part);
  }
  return "<tr><td>" + standing_html(claim) + "<td>" + prose(claim.statement) + "<td>" +
         evidence.measured + "<td>" + evidence.expected + "\n<tr class=fine><td colspan=4>" +
         joined(fine, " \u00B7 ") + "\n";
}

}  // namespace ranklab
