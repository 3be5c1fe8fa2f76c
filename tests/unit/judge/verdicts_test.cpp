#include "judge/verdicts.hpp"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

#include "core/undefined.hpp"
#include "judge/catalog.hpp"

namespace verdicts_test {

using namespace ranklab;

namespace {

Slip slip(const std::string& id, const std::string& where, const std::string& type) {
  Slip out;
  out.id = id;
  out.where = where;
  out.type = type;
  return out;
}

// A theorem that is proved, and in which everything can be wrong that can be.
const PaperStatement theorem = [] {
  PaperStatement out;
  out.id = "paper/thm-1";
  out.type = "theorem";
  out.slips = {slip("constant", "statement", "constant"), slip("missing", "statement", "condition"),
               slip("false", "statement", "error"),       slip("step", "proof", "error"),
               slip("caption", "caption", "constant"),    slip("law", "definition", "error")};
  out.proof = {"identity"};
  return out;
}();
const PaperStatement unproved = [] {
  PaperStatement out = theorem;
  out.proof.clear();
  return out;
}();

Claim claim(Kind kind, Part part, Verdict verdict, const std::string& slip = "") {
  Claim out;
  out.id = "paper/thm-1/a";
  out.statement = "the bound";
  out.statement_id = theorem.id;
  out.kind = kind;
  out.part = part;
  out.verdict = verdict;
  out.slip = slip;
  return out;
}
Claim undecided(Kind kind, Part part) {
  Claim out = claim(kind, part, Verdict::not_applicable);
  out.undecided = true;
  return out;
}
Claim elsewhere(Claim claim) {
  claim.judged_in = "other";
  return claim;
}
Claim correcting(Claim claim) {
  claim.misprint_of = "paper/thm-1/other";
  return claim;
}

JudgedStatement judged(const std::vector<Claim>& claims, const PaperStatement& entry = theorem) {
  std::vector<Appearance> appearances;
  for (const Claim& each : claims) appearances.push_back({&each, 0});
  return judge_statement(entry, std::move(appearances));
}

std::string verdict(const std::vector<Claim>& claims, const PaperStatement& entry = theorem) {
  return words_of(judged(claims, entry).verdict).name;
}

constexpr auto holds = Verdict::holds, fails = Verdict::fails, open = Verdict::not_applicable;

}  // namespace

TEST_CASE("a statement is true if every claim about it holds and the catalog has its proof") {
  const Claim holding = claim(Kind::theorem, Part::statement, holds);
  CHECK(verdict({holding}) == "true");
  CHECK(verdict({holding, claim(Kind::printed_number, Part::statement, holds)}) == "true");
  CHECK(verdict({holding, claim(Kind::theorem, Part::statement, open)}) == "true");
  CHECK(verdict({claim(Kind::theorem, Part::statement, open)}) == "not-judged");
  CHECK(verdict({}) == "not-judged");
  // Without a proof a count says only what was counted.
  CHECK(verdict({holding}, unproved) == "no-violation");
  CHECK(judged({holding}, unproved).words() == "no violation found");
  CHECK(judged({holding, claim(Kind::theorem, Part::proof, fails, "step")}, unproved).words() ==
        "no violation found; slip in the proof");
  CHECK(verdict({holding, claim(Kind::asymptotic, Part::statement, holds)}, unproved) ==
        "consistent");
  CHECK(verdict({holding, claim(Kind::asymptotic, Part::statement, holds)}) == "true");
}

TEST_CASE("only a slip in the statement itself makes it false, and only if it shows") {
  const Claim holding = claim(Kind::theorem, Part::statement, holds);
  const auto shows = [](const char* slip, Part part, Verdict found, Kind kind = Kind::theorem) {
    return claim(kind, part, found, slip);
  };
  CHECK(verdict({holding, shows("false", Part::statement, fails)}) == "false-as-printed");
  CHECK(verdict({holding, shows("false", Part::statement, holds)}) == "true");
  CHECK(verdict({shows("false", Part::statement, open)}) == "not-judged");
  CHECK(verdict({shows("false", Part::statement, fails, Kind::asymptotic)}) == "false-as-printed");
  CHECK(verdict({holding, shows("step", Part::proof, fails)}) == "true-slip-in-proof");
  CHECK(verdict({shows("step", Part::proof, fails)}) == "not-judged");
  CHECK(judged({claim(Kind::asymptotic, Part::statement, holds), shows("step", Part::proof, fails)},
               unproved)
            .words() == "consistent at the sizes run; slip in the proof");
  CHECK(judged({shows("constant", Part::statement, fails)}).words() ==
        "false as printed: a typo or a wrong constant");
  CHECK(judged({shows("constant", Part::statement, fails), shows("false", Part::statement, fails)})
            .words() == "false as printed: an error");
  CHECK(judged({shows("false", Part::statement, fails)}).words() == "false as printed: an error");
  CHECK(
      judged({shows("constant", Part::statement, fails), shows("missing", Part::statement, fails)})
          .words() == "false as printed: a missing condition");
  CHECK(judged({shows("missing", Part::statement, fails)}).slip_class() == SlipClass::condition);
  CHECK(
      judged({claim(Kind::figure, Part::statement, holds), shows("caption", Part::caption, fails)},
             unproved)
          .words() == "seen: 1 of 1 observation; slip in the caption");
  CHECK(verdict({shows("caption", Part::caption, fails)}) == "not-judged");
  CHECK(judged({shows("law", Part::definition, fails)}).words() == "slip in the definition");
  CHECK(judged({holding, shows("law", Part::definition, fails)}).words() ==
        "true; slip in the definition");
  // A slip that the catalog does not have is no accusation.
  CHECK(verdict({holding, shows("unknown", Part::statement, fails)}) == "true");
}

TEST_CASE("a violation without a derivation accuses nobody") {
  const Claim violated = claim(Kind::theorem, Part::statement, fails);
  CHECK(standing_of(violated) == Standing::fails);
  CHECK(verdict({violated}) == "undecided");
  CHECK(verdict({claim(Kind::theorem, Part::statement, holds), violated}) == "undecided");
}

TEST_CASE("what does not show at the sizes of a run is not seen, and refutes nothing") {
  for (const Kind kind : {Kind::asymptotic, Kind::figure, Kind::reading, Kind::printed_number}) {
    CHECK(standing_of(claim(kind, Part::statement, fails)) == Standing::not_seen);
    CHECK(verdict({claim(kind, Part::statement, fails)}) == "not-seen");
    CHECK(verdict({claim(kind, Part::statement, holds), claim(kind, Part::statement, fails)}) ==
          "not-seen");
    CHECK(verdict({claim(kind, Part::statement, holds)}, unproved) == "consistent");
    CHECK(verdict({claim(kind, Part::statement, holds), undecided(kind, Part::statement)}) ==
          "undecided");
  }
  CHECK(judged({claim(Kind::figure, Part::statement, holds),
                claim(Kind::reading, Part::statement, fails),
                undecided(Kind::figure, Part::statement)})
            .words() == "seen in part: 1 of 3 observations, 1 undecided");
  CHECK(judged(
            {claim(Kind::figure, Part::statement, holds), undecided(Kind::figure, Part::statement)})
            .words() == "undecided in part: 1 of 2 observations seen");
  CHECK(judged({claim(Kind::figure, Part::statement, holds)}, unproved).words() ==
        "seen: 1 of 1 observation");
}

TEST_CASE("a slip of notation needs no claim and condemns nothing") {
  PaperStatement entry = unproved;
  entry.slips = {slip("index", "statement", "notation")};
  const Claim holding = claim(Kind::asymptotic, Part::statement, holds);
  CHECK(judged({holding}, entry).words() == "consistent at the sizes run; slip of notation");
  CHECK(judged({}, entry).words() == "not judged");
  entry.slips[0].where = "caption";
  CHECK(judged({claim(Kind::figure, Part::statement, holds)}, entry).words() ==
        "seen: 1 of 1 observation; slip in the caption");
}

TEST_CASE(
    "claims about the statement decide before those about its text, and those before a proof") {
  const Claim text = claim(Kind::reading, Part::text, fails),
              proof = claim(Kind::asymptotic, Part::proof, fails);
  CHECK(verdict({claim(Kind::theorem, Part::statement, holds), text, proof}) == "true");
  CHECK(verdict({text, claim(Kind::asymptotic, Part::proof, holds)}) == "not-seen");
  CHECK(verdict({proof}) == "not-seen");
  CHECK(verdict({claim(Kind::theorem, Part::statement, open), text}) == "not-seen");
}

TEST_CASE("what the paper does not say, corrected forms and claims judged elsewhere never count") {
  const Claim holding = claim(Kind::theorem, Part::statement, holds);
  for (const Claim& other :
       {claim(Kind::beyond, Part::ours, fails), undecided(Kind::beyond, Part::ours),
        elsewhere(claim(Kind::theorem, Part::statement, fails, "false")),
        correcting(claim(Kind::theorem, Part::statement, fails)),
        correcting(claim(Kind::asymptotic, Part::statement, holds))}) {
    CHECK(verdict({holding, other}) == "true");
    CHECK(verdict({other}) == "not-judged");
  }
  CHECK(standing_of(claim(Kind::beyond, Part::ours, fails)) == Standing::ours);
  CHECK(standing_text(claim(Kind::beyond, Part::ours, fails)) == "does not hold");
}

TEST_CASE("a claim that Holm's correction leaves undecided decides nothing about its statement") {
  for (const Verdict found : {holds, fails}) {
    Claim corrected = claim(Kind::figure, Part::statement, found);
    corrected.holm_undecided = true;
    CHECK(verdict({corrected}) == "undecided");
    CHECK(verdict({claim(Kind::figure, Part::statement, holds), corrected}) == "undecided");
  }
}

TEST_CASE("numbered statements that are false are listed with each slip in the statement") {
  const Claim wrong = claim(Kind::theorem, Part::statement, fails, "false");
  const std::vector<JudgedStatement> statements = {judge_statement(theorem, {{&wrong, 0}}),
                                                   judge_statement(theorem, {})};
  std::vector<std::string> slips;
  for (const FalseStatement& each : false_statements(statements)) slips.push_back(each.slip->id);
  CHECK(slips == std::vector<std::string>{"constant", "missing", "false"});
  const VerdictCounts counts = count_numbered(statements);
  CHECK(counts[6] == 1);  // false as printed: an error
  CHECK(counts[9] == 1);  // not judged
}

TEST_CASE("the order and the ids of claims change no verdict") {
  std::vector<Claim> claims = {claim(Kind::theorem, Part::statement, holds),
                               claim(Kind::theorem, Part::proof, fails, "step"),
                               claim(Kind::beyond, Part::ours, fails)};
  for (const char* id : {"spectral/fig-99999999999999999999999/x", "a/as-printed", "<b>/corrected",
                         "shallow/fig-2 to 99999999999999999999", ""}) {
    for (Claim& each : claims) each.id = id;
    CHECK(verdict(claims) == "true-slip-in-proof");
    CHECK(verdict({claims.rbegin(), claims.rend()}) == "true-slip-in-proof");
  }
}

TEST_CASE(
    "claims are counted once: a corrected form with its printed form, a slip with its copies") {
  std::vector<Claim> claims = {claim(Kind::theorem, Part::statement, fails, "false"),
                               claim(Kind::theorem, Part::statement, fails, "false"),
                               claim(Kind::theorem, Part::statement, holds),
                               claim(Kind::asymptotic, Part::statement, fails),
                               elsewhere(claim(Kind::theorem, Part::statement, open)),
                               undecided(Kind::figure, Part::statement)};
  for (std::size_t i = 0; i < claims.size(); ++i) claims[i].id = std::to_string(i);
  claims[2].misprint_of = "1";
  const ClaimCounts counts = count(claims);
  CHECK(counts.of(Standing::slip) == 1);
  CHECK(counts.of(Standing::holds) == 0);
  CHECK(counts.of(Standing::not_seen) == 1);
  CHECK(counts.elsewhere == 1);
  CHECK(counts.of(Standing::undecided) == 1);
  CHECK(counts_text(counts) == "1 slip, 1 not seen, 1 undecided, 1 judged in another preset");
  CHECK(counts_text({}) == "no claims");
  claims[2].misprint_of = "lost";  // without its printed form it counts itself
  CHECK(count(claims).of(Standing::holds) == 1);
}

TEST_CASE("the evidence of a statement is a count of its cases, or the numbers of a claim") {
  Claim first = claim(Kind::theorem, Part::statement, holds), second = first;
  first.evidence = CountEvidence{0, 12000, undefined};
  second.evidence = CountEvidence{0, 12, undefined};
  CHECK(judged({first, second}).evidence() == "0 violations in 12,012 cases");
  Claim wrong = claim(Kind::theorem, Part::statement, fails, "false"), right = second;
  wrong.id = "printed";
  wrong.evidence = NumberEvidence{2};
  wrong.expected = std::pair(0.5, 1.0);
  right.misprint_of = "printed";
  CHECK(judged({first, wrong, right}).evidence() ==
        "the bound: 2, expected 0.5 to 1; corrected: 0 violations in 12 cases");
  wrong.holm_undecided = true;
  CHECK(judged({wrong}).evidence() ==
        "the bound: 2, expected 0.5 to 1, not after Holm's correction");
}

TEST_CASE(
    "the evidence is about the statement, not a step of its proof, and about an error first") {
  const auto showing = [](Part part, const char* slip, double found) {
    Claim out = claim(Kind::theorem, part, fails, slip);
    out.evidence = NumberEvidence{found};
    return out;
  };
  const Claim step = showing(Part::proof, "constant", 1),
              typo = showing(Part::statement, "constant", 2),
              error = showing(Part::statement, "false", 3);
  CHECK(judged({step, typo}).evidence() == "the bound: 2");
  CHECK(judged({step, typo, error}).evidence() == "the bound: 3");
  CHECK(judged({step}).evidence() == "the bound: 1");
}

TEST_CASE(
    "the catalog: ids are unique and belong to their paper; a slip belongs to its statement") {
  std::set<std::string> ids, slips;
  for (const Paper& paper : papers()) {
    for (const PaperStatement& statement : paper.statements) {
      CHECK_MESSAGE(ids.insert(statement.id).second, statement.id);
      CHECK_MESSAGE(statement.id.starts_with(paper.anchor + "/"), statement.id);
      CHECK(find_statement(statement.id) == &statement);
      CHECK(paper_of_statement(statement.id) == paper.name);
      for (const Slip& slip : statement.slips) {
        CHECK_MESSAGE(slips.insert(slip.id).second, slip.id);
        CHECK_MESSAGE((slip.derivation.size() >= 3 || slip.is_notation()), slip.id);
        CHECK(statement.slip(slip.id) == &slip);
      }
    }
  }
  CHECK(find_statement("spectral/thm-99") == nullptr);
  CHECK(paper_of_statement("") == "");
  CHECK_THROWS_AS(require_in_catalog(claim(Kind::theorem, Part::statement, holds)),
                  std::logic_error);
}

}  // namespace verdicts_test
