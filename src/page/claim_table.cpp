#include "page/claim_table.hpp"

#include "core/text.hpp"
#include "figure/text.hpp"
#include "page/evidence.hpp"
#include "page/prose.hpp"
#include "page/text.hpp"

namespace ranklab {
namespace {

Markup words_of_kind(const Claim& claim) {
  switch (claim.kind) {
    case Kind::theorem:
      return claim.part == Part::proof ? Markup("step of a proof") : "every finite case";
    case Kind::asymptotic:
      return "asymptotic, " + prose(threshold_text(claim));
    case Kind::printed_number:
      return "printed number";
    case Kind::figure:
      return "figure or text";
    case Kind::reading:
      return prose(threshold_text(claim));
    case Kind::own:
      return Markup("<code>") + escape_markup(claim.formula) + "</code>";
    case Kind::beyond:
      break;
  }
  return "not in the paper";
}

Markup kind_html(const Claim& claim) {
  return words_of_kind(claim) +
         (claim.part == Part::proof && claim.kind != Kind::theorem ? Markup(", in a proof") : "");
}

// The id of the form as printed, without the parts at its start that the claim's id has too.
std::string printed_form(const Claim& claim) {
  const std::string& printed = claim.misprint_of;
  const auto differs = std::ranges::mismatch(printed, claim.id).in1;
  const std::size_t slash = std::string(printed.begin(), differs).rfind('/');
  return slash == std::string::npos ? printed : printed.substr(slash + 1);
}

}  // namespace

Markup standing_html(const Claim& claim) {
  const auto words = [](Standing standing, const std::string& text) {
    return colored(standing, escape_markup(words_of(standing).symbol + (" " + text)));
  };
  if (!claim.judged_in.empty())
    return words(Standing::not_applicable, "judged in " + claim.judged_in);
  const Standing standing = standing_of(claim);
  return words(standing, claim.shortened ? "undecided: short run" : standing_text(claim)) +
         (claim.holm_undecided && standing != Standing::undecided
              ? Markup(" <small>not after Holm&#39;s correction</small>")
              : "");
}

Markup claim_table_start(const Markup& caption) {
  return table_start(caption,
                     {"Verdict", "Statement", "Measured (mean \u00B1 99 % interval)", "Expected"},
                     "claims");
}

Markup claim_rows(const Claim& claim, const PageAnchor* anchor, const Markup& source) {
  const ShownEvidence evidence = evidence_of(claim);
  std::vector<Markup> fine;
  for (const Markup& part :
       {source, kind_html(claim), "<code>" + escape_markup(claim.id) + "</code>",
        claim.misprint_of.empty()
            ? ""
            : "corrected form of <code>" + escape_markup(printed_form(claim)) + "</code>",
        evidence.detail}) {
    if (!part.empty()) fine.push_back(part);
  }
  return "<tbody" + (anchor == nullptr ? Markup() : " id=\"" + *anchor + "\"") + "><tr><td>" +
         standing_html(claim) + "<td>" + prose(claim.statement) + "<td>" + evidence.measured +
         "<td>" + evidence.expected + "\n<tr><td colspan=4>" + joined(fine, " \u00B7 ") + "\n";
}

}  // namespace ranklab
