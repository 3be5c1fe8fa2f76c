// Verdicts of the study gradient-rank on records with known power laws.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/result_parts.hpp"
#include "experiments/spike_plus_bulk/gradient_rank.hpp"

namespace gradient_rank_claims_test {

using namespace ranklab;

namespace {

constexpr std::uint64_t trials = 3;

doctest::Approx close(double expected, double tolerance) {
  return doctest::Approx(expected).scale(0).epsilon(tolerance);
}

// Records in which every quantity that a claim uses is a power of k; a small factor makes the
// trials differ.
Result judged(LabelModel model, const std::map<std::string, double>& exponents,
              const std::vector<std::uint64_t>& k, gradient_rank::Config config = {}) {
  config.model = model;
  config.k = k;
  config.steps = 4;
  config.sample_steps = {"0", "4"};
  Records records(trials);
  for (std::size_t i = 0; i < trials; ++i) {
    for (const gradient_rank::Size& size : config.sizes()) {
      for (const auto& [name, exponent] : exponents) {
        const double jitter = 1 + 0.001 * static_cast<double>(i);
        records[i].set(size.place() / name,
                       5 * jitter * std::pow(static_cast<double>(size.k), exponent));
      }
      records[i].set(size.place() / "nuclear_rank", std::vector<double>{1, 2});
    }
    records[i].set("closed_form_error", exponents.at("closed_form_error"));
    records[i].set("closed_form_tolerance", 0.5);
  }
  return config.report(records);
}

// Exponents as claimed by the paper.
std::map<std::string, double> as_claimed() {
  return {{"nuclear_rank_0", 0},
          {"nuclear_rank_1", 1},
          {"stable_rank_A", 0},
          {"condition_T", 0},
          {"condition_T_bound", 0.05},
          {"spike", 1},
          {"nuclear_rank_0_bound", 0.05},
          {"nuclear_rank_1_offset", 1},
          {"nuclear_rank_W", 1},
          {"B_norm", 1},
          {"bulk_smallest", 0},
          {"bulk_largest", 0},
          {"window_start", 0},
          {"window_end", 1},
          {"minimum_ratio", -1},
          {"cross_spike", 1},
          {"cross_bulk_largest", 0},
          {"cross_bulk_d", 0},
          {"closed_form_error", 0}};
}

}  // namespace

TEST_CASE("gradient-rank: verdicts follow from the numbers of the records") {
  const std::vector<std::uint64_t> k = {64, 16, 32};
  struct Case {
    LabelModel model;
    std::string quantity;
    double exponent;
    std::string claim;
  };
  const LabelModel both[] = {LabelModel::realizable, LabelModel::teacher};
  for (const LabelModel model : both) {
    const Result good = judged(model, as_claimed(), k);
    for (const Claim& claim : good.claims) {
      CAPTURE(claim.id);
      CAPTURE(claim.detail);
      const bool fails = claim.id == "spectral/eq-3.1/minimum" ||
                         claim.id == "spectral/section-3.2.2/nr-0-bound/as-printed";
      CHECK(claim.verdict == (fails ? Verdict::fails : Verdict::holds));
    }
    CHECK(find_scalar(good, "exponent_nuclear_rank_1")[1] == close(1.0, 1e-12));
    CHECK(find_scalar(good, "slope_nuclear_rank_1")[1] == close(5.005, 1e-12));
    CHECK(find_series(good, "nuclear_rank_1_fit").mean[2] == close(64 * 5.005, 1e-12));
  }
  const std::vector<Case> cases = {
      {both[0], "nuclear_rank_0", 0.4, "spectral/fig-15a/nr-0-bounded"},
      {both[0], "nuclear_rank_0", 0.2, "spectral/section-3.1.2/nr-0-bound"},
      {both[0], "nuclear_rank_0_bound", 0.4, "spectral/section-3.1.2/bound-constant"},
      {both[0], "nuclear_rank_1", 0.7, "spectral/fig-15a/nr-1-linear"},
      {both[1], "nuclear_rank_1", 1.3, "spectral/fig-15b/nr-1-linear"},
      {both[0], "stable_rank_A", 1.2, "spectral/fig-15a/eq-1.5-increasingly"},
      {both[0], "nuclear_rank_1", -0.1, "spectral/fig-14a/first-step"},
      {both[1], "nuclear_rank_1", -0.1, "spectral/fig-14b/stronger-with-k"},
      {both[1], "window_end", 0.1, "spectral/fig-14b/window"},
      {both[1], "window_end", 0.5, "spectral/fig-14b/window-grows"},
      {both[0], "spike", 0.5, "spectral/eq-3.2/assumption-E/spike"},
      {both[0], "bulk_smallest", -0.5, "spectral/eq-3.2/assumption-E/bulk"},
      {both[1], "cross_spike", 2.0, "spectral/eq-3.15/assumption-G/cross-spike"},
      {both[1], "cross_bulk_d", -0.5, "spectral/eq-3.15/assumption-G/cross-bulk"},
      {both[0], "condition_T", 0.4, "spectral/lemma-3.5/condition-bounded"},
      {both[0], "condition_T", 0.1, "spectral/lemma-3.5/explicit-bound"},
      {both[0], "nuclear_rank_1_offset", 0.5, "spectral/lemma-3.5/nr-1"},
      {both[0], "nuclear_rank_1_offset", -1.0, "spectral/lemma-3.5/elementary-observation"},
      {both[1], "nuclear_rank_1_offset", 0.5, "spectral/thm-3.9/nr-1-linear"},
      {both[1], "closed_form_error", 1.0, "spectral/lemma-3.10/closed-form"},
      {both[1], "minimum_ratio", -4.0, "spectral/eq-3.14/minimum"},
  };
  for (const Case& wrong : cases) {
    std::map<std::string, double> exponents = as_claimed();
    exponents[wrong.quantity] = wrong.exponent;
    CAPTURE(wrong.claim);
    CHECK(find_claim(judged(wrong.model, exponents, k), wrong.claim).verdict == Verdict::fails);
  }
}

TEST_CASE("gradient-rank: the bound of Section 3.2.2 needs ||W-bar v||, not ||W-bar u||") {
  const Result result = judged(LabelModel::teacher, as_claimed(), {16, 32, 64});
  const Claim &printed = find_claim(result, "spectral/section-3.2.2/nr-0-bound/as-printed"),
              &corrected = find_claim(result, "spectral/section-3.2.2/nr-0-bound");
  // W-bar B-bar = I - e_2 e_2' at k = 500; the bound is (2 k / (k - sqrt(k)))^2.
  CHECK(printed.measured == 499);
  CHECK(std::get<std::pair<double, double>>(printed.expected).second == close(4.383, 1e-3));
  CHECK(printed.slip == "spectral/section-3.2.2/spikes");
  CHECK(corrected.misprint_of == printed.id);
}

TEST_CASE("gradient-rank: exponents are asymptotic, with the slack of their region") {
  const Result realizable = judged(LabelModel::realizable, as_claimed(), {16, 32, 64}),
               teacher = judged(LabelModel::teacher, as_claimed(), {16, 32, 64});
  const auto is = [](const Result& result, const std::string& id, const std::string& statement,
                     Part part, Kind kind, const std::string& threshold) {
    CAPTURE(id);
    const Claim& claim = find_claim(result, "spectral/" + id);
    CHECK(claim.statement_id == "spectral/" + statement);
    CHECK(claim.part == part);
    CHECK(claim.kind == kind);
    CHECK(claim.threshold == threshold);
  };
  const std::string tenth = "0.1 in the exponent of k", quarter = "0.25 in the exponent of k";
  is(realizable, "lemma-3.5/nr-1", "lemma-3.5", Part::statement, Kind::asymptotic, tenth);
  is(realizable, "lemma-3.5/explicit-bound", "lemma-3.5", Part::statement, Kind::theorem, "");
  is(realizable, "section-3.1.2/bound-constant", "section-3.1.2/nr-0", Part::statement,
     Kind::asymptotic, quarter);
  is(realizable, "eq-3.2/assumption-E/bulk", "thm-3.4", Part::statement, Kind::asymptotic, quarter);
  is(realizable, "eq-3.1/minimum", "eq-3.1", Part::ours, Kind::beyond, "");
  is(realizable, "section-3.1.4/closed-form", "section-3.1.4/recursion", Part::statement,
     Kind::theorem, "");
  is(teacher, "thm-3.9/nr-1-linear", "thm-3.9", Part::statement, Kind::asymptotic, tenth);
  is(teacher, "eq-3.15/assumption-G/spike", "cor-3.8", Part::statement, Kind::asymptotic, tenth);
  is(teacher, "fig-14b/window", "section-3/window", Part::statement, Kind::asymptotic,
     "level d/4, length d");
  is(teacher, "fig-15b/eq-1.5-increasingly", "fig-15", Part::caption, Kind::figure, "");
  is(teacher, "eq-3.14/minimum", "eq-3.14", Part::ours, Kind::beyond, "");
}

TEST_CASE("gradient-rank: claims with an unmet hypothesis are not applicable and give the reason") {
  const Result two = judged(LabelModel::realizable, as_claimed(), {16, 32});
  CHECK(find_claim(two, "spectral/fig-15a/nr-1-linear").verdict == Verdict::not_applicable);
  CHECK(find_claim(two, "spectral/fig-15a/nr-1-linear").detail.find("three values of --k") !=
        std::string::npos);
  CHECK(find_claim(two, "spectral/fig-14a/first-step").verdict == Verdict::holds);
  const Result one = judged(LabelModel::teacher, as_claimed(), {16});
  CHECK(std::isnan(find_scalar(one, "slope_nuclear_rank_1")[0]));
  gradient_rank::Config config;
  config.activation = "tanh";
  const Result tanh = judged(LabelModel::teacher, as_claimed(), {16, 32, 64}, config);
  for (const char* id :
       {"spectral/fig-15b/nr-1-linear", "spectral/fig-14b/first-step", "spectral/fig-14b/window"}) {
    CHECK(find_claim(tanh, id).verdict == Verdict::not_applicable);
    CHECK(find_claim(tanh, id).detail.find("tanh") != std::string::npos);
  }
  config = {};
  config.c = 2;
  const Result slower = judged(LabelModel::realizable, as_claimed(), {16, 32, 64}, config);
  CHECK(find_claim(slower, "spectral/fig-15a/nr-1-linear").detail.find("--c 2") !=
        std::string::npos);
  CHECK(find_claim(slower, "spectral/lemma-3.5/condition-bounded").verdict == Verdict::holds);
  config = {};
  config.n_ratio = 1;
  const Result interpolated = judged(LabelModel::teacher, as_claimed(), {16, 32, 64}, config);
  CHECK(
      find_claim(interpolated, "spectral/eq-3.14/minimum").detail.find("interpolate the labels") !=
      std::string::npos);
}

}  // namespace gradient_rank_claims_test
