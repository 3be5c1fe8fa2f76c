// Verdicts of the study mlp on handmade records with known verdicts.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "core/tolerances.hpp"
#include "experiments/one_step_compare/mlp/mlp.hpp"
#include "experiments/result_parts.hpp"

namespace mlp_claims_test {

using namespace ranklab;

namespace {

mlp::Config config(const std::string& activation = "relu2", std::uint64_t n = 512) {
  mlp::Config out;
  out.activation = activation;
  out.width = 512;
  out.n = n;
  out.steps = 2;
  return out;
}

// GD and SpecGD unless told otherwise, and three iterations. All layers have the same values, so a
// test only changes the values that it is about.
TrialRecord record(const std::function<void(TrialRecord&)>& change = {},
                   const mlp::Config& of = config()) {
  TrialRecord out;
  for (const mlp::Method& each : of.methods()) {
    const std::string& method = each.name;
    for (std::size_t l = 1; l <= 3; ++l) {
      out.set(mlp::stable_rank_name(method, l), {5, 5, 5});
      out.set(mlp::nuclear_rank_name(method, l), {15, 10, 5});
      out.set(mlp::ratio_name(method, l), {3, 2, 1});
    }
    out.set(mlp::loss_name(method), {1, 0.6, 0.4});
    for (const auto& name_of : {mlp::diverged_name, mlp::final_loss_name})
      out.set(name_of(method), 0.0);
    out.set(mlp::diverged_at_name(method), std::nan(""));
  }
  for (std::size_t l = 1; l <= 3; ++l) {
    out.set(mlp::rank_name("A", l), 512);
    out.set(mlp::rank_name("W", l), l == 1 ? 128 : 512);
  }
  out.set(mlp::stable_rank_X, 50);
  if (change) change(out);
  mlp::count_cases(of, out);
  return out;
}

/// With these losses over the iterations.
TrialRecord losses(const std::vector<double>& gd, const std::vector<double>& specgd) {
  return record([&](TrialRecord& r) {
    r.set("gd.loss", gd);
    r.set("specgd.loss", specgd);
  });
}

/// Three trials that differ in the second loss of SpecGD.
Records three_with_losses(const std::vector<double>& gd, std::vector<double> specgd) {
  Records out;
  for (int t = 0; t < 3; ++t, specgd[1] += 0.0001) out.push_back(losses(gd, specgd));
  return out;
}

Verdict verdict(const mlp::Config& of, const Records& records, const std::string& id) {
  return find_claim(of.report(records), id).verdict;
}

}  // namespace

TEST_CASE("condition (1.8) is counted layer by layer") {
  const auto bad = record([](TrialRecord& r) { r.set("specgd.W3.ratio", {3, 0.9, std::nan("")}); });
  const Records records = {record(), bad, record()};
  const Result result = config().report(records);
  CHECK(find_claim(result, "spectral/eq-1.8/specgd/W2").verdict == Verdict::holds);
  const Claim& claim = find_claim(result, "spectral/eq-1.8/specgd/W3");
  CHECK(claim.verdict == Verdict::fails);
  CHECK(claim.measured == 1.0);
  CHECK(evidence_text(claim) == "1 violation in 8 cases, in 1 of 3 trainings");
  CHECK(claim.detail == "smallest nr/st 0.9, violated between iterations 1 and 1");
  CHECK(find_scalar(result, "specgd.W3.condition_share") == std::vector<double>{1, 0.5, 1});
}

TEST_CASE(
    "the initial phase ends when the nuclear rank of a layer falls below twice the stable rank") {
  const auto phase_end = [](const std::function<void(TrialRecord&)>& change) {
    return find_scalar(config().report({record(change)}), "initial_phase_end").at(0);
  };
  CHECK(phase_end({}) == 1.0);
  CHECK(std::isnan(phase_end([](TrialRecord& r) { r.set("gd.W3.ratio", {1.9, 3, 3}); })));
  CHECK(phase_end([](TrialRecord& r) {
          r.set("gd.W2.ratio", {2, 2, 2});
          r.set("gd.W3.ratio", {4, 3, 2});
          r.set("gd.W1.ratio", {0, 0, 0});
        }) == 2.0);
}

TEST_CASE("Figure 4: being faster at first and being ahead at the end are judged separately") {
  const std::string early = "spectral/fig-4/faster-at-first/specgd",
                    end = "spectral/fig-4/ahead-at-the-end/specgd";
  const std::vector<double> of_gd = {1, 0.6, 0.4};
  const Records fast = three_with_losses(of_gd, {1, 0.3, 0.9}),
                slow = three_with_losses(of_gd, {1, 0.8, 0.1});
  CHECK(verdict(config(), fast, early) == Verdict::holds);
  CHECK(verdict(config(), fast, end) == Verdict::fails);
  CHECK(verdict(config(), slow, early) == Verdict::fails);
  CHECK(verdict(config(), slow, end) == Verdict::holds);
  const Result result = config().report(slow);
  CHECK(find_scalar(result, "specgd.early_log10_loss_ratio").at(0) ==
        doctest::Approx(std::log10(0.8 / 0.6)).epsilon(tolerance::closed_form<double>));
  CHECK(verdict(config(), {record(), record(), record()},
                "spectral/fig-4/nuclear-rank-large-at-first/W2") == Verdict::holds);
}

TEST_CASE(
    "Figure 4: steps to a tenth of the loss are compared in trials in which both methods reach "
    "it; GD never does if it diverges first") {
  const std::string id = "spectral/fig-4/first-to-a-tenth/specgd";
  const std::vector<double> quick = {5, 0.5, 0.4}, slow = {5, 0.6, 0.5}, never = {5, 4, 3};
  const auto first = losses(slow, quick), second = losses(quick, slow), open = losses(quick, never);
  CHECK(verdict(config(), {first, first, first, open}, id) == Verdict::holds);
  CHECK(verdict(config(), {second, second, second, open}, id) == Verdict::fails);
  const Claim claim = find_claim(config().report({first, second, open}), id);
  CHECK(claim.detail.find("fewer steps in 1 of the 2 trials in which both reach a tenth, of 3") !=
        std::string::npos);
  const std::vector<double> at_once = {5, NAN, NAN};
  const auto lost = losses(at_once, {5, 1, 0.5}), later = losses({5, 0.5, NAN}, slow),
             unknown = losses(at_once, {5, 4, 3});  // SpecGD has not yet reached a tenth
  CHECK(verdict(config(), {second, second, second}, id) == Verdict::fails);
  CHECK(find_claim(config().report({second, second, second, lost}), id).undecided);
  CHECK(verdict(config(), {second, second, later}, id) == Verdict::fails);  // it reached a tenth
  CHECK(verdict(config(), {lost, lost, lost}, id) == Verdict::holds);
  CHECK(verdict(config(), {unknown, unknown, unknown}, id) == Verdict::not_applicable);
}

TEST_CASE("Figure 1: the stable rank must be below a tenth of the input dimension") {
  const std::string id = "spectral/fig-1/stable-rank-small/gd";
  CHECK(verdict(config(), {record(), record(), record()}, id) == Verdict::holds);
  CHECK(verdict(config(), {record(), record()}, id) == Verdict::not_applicable);
  CHECK(verdict(config(), {record([](TrialRecord& r) {
                  r.set("gd.layer2.stable_rank", {5, 12.9, 5});
                })},
                id) == Verdict::fails);
}

TEST_CASE("what Figures 1 and 4 show of GD and SpecGD is ours about other methods, as is (1.8)") {
  mlp::Config of = config();
  of.optimizer = {"specgd", "muon"};
  of.equal_lr = true;
  const Result result = of.report({record({}, of), record({}, of), record({}, of)});
  const auto check = [&](const std::string& id, const std::string& statement, Kind kind,
                         Part part) {
    CAPTURE(id);
    const Claim& claim = find_claim(result, "spectral/" + id);
    CHECK(claim.statement_id == "spectral/" + statement);
    CHECK(claim.kind == kind);
    CHECK(claim.part == part);
  };
  check("fig-1/stable-rank-small/gd", "fig-1", Kind::reading, Part::text);
  check("fig-1/stable-rank-small/specgd", "fig-1", Kind::reading, Part::text);
  check("fig-4/nuclear-rank-large-at-first/W2", "fig-4", Kind::reading, Part::caption);
  check("fig-4/faster-at-first/specgd", "fig-4", Kind::figure, Part::caption);
  check("fig-4/first-to-a-tenth/specgd", "fig-4", Kind::reading, Part::caption);
  check("fig-4/ahead-at-the-end/specgd", "fig-4", Kind::figure, Part::text);
  for (const std::string method : {"muon", "specgd_equal_lr"}) {
    check("fig-1/stable-rank-small/" + method, "fig-1", Kind::beyond, Part::ours);
    for (const std::string id : {"faster-at-first/", "first-to-a-tenth/", "ahead-at-the-end/"})
      check("fig-4/" + id + method, "fig-4", Kind::beyond, Part::ours);
  }
  for (const std::string method : {"gd", "specgd", "muon", "specgd_equal_lr"}) {
    for (const char* layer : {"/W1", "/W2", "/W3"})
      check("eq-1.8/" + method + layer, "eq-1.8", Kind::beyond, Part::ours);
  }
  for (const std::string figure : {"fig-1", "fig-4"}) {
    const std::string id = figure + "/maximum";
    check(id + "/as-printed", figure, Kind::printed_number, Part::caption);
    check(id + "/corrected", figure, Kind::printed_number, Part::caption);
    CHECK(find_claim(result, "spectral/" + id + "/as-printed").slip == "spectral/" + id);
    CHECK(find_claim(result, "spectral/" + id + "/corrected").slip.empty());
  }
}

TEST_CASE("a figure is only judged for its own activation") {
  for (const std::string activation : {"relu2", "swiglu", "gelu"}) {
    bool has_4 = false, has_18 = false;
    for (const Claim& claim : config(activation).report({record(), record()}).claims) {
      has_4 |= claim.id.starts_with("spectral/fig-4/");
      has_18 |= claim.id.starts_with("spectral/fig-18");
    }
    CHECK(has_4 == (activation == "relu2"));
    CHECK(has_18 == (activation == "swiglu"));
  }
}

TEST_CASE("only a larger rank refutes the printed maximum of the ranks") {
  for (const std::string figure : {"spectral/fig-1", "spectral/fig-4"}) {
    CHECK(verdict(config(), {record()}, figure + "/maximum/as-printed") == Verdict::fails);
    CHECK(verdict(config(), {record(), record(), record()}, figure + "/maximum/corrected") ==
          Verdict::holds);
    const auto low = record([](TrialRecord& r) {
      for (const char* name : {"A1.rank", "A2.rank", "A3.rank", "W2.rank", "W3.rank"})
        r.set(name, 256);
    });
    CHECK(verdict(config(), {low, low, low}, figure + "/maximum/as-printed") == Verdict::holds);
    CHECK(verdict(config(), {low}, figure + "/maximum/corrected") == Verdict::fails);
    CHECK(verdict(config("relu2", 256), {low}, figure + "/maximum/as-printed") ==
          Verdict::not_applicable);
  }
}

TEST_CASE(
    "Figure 18: there is an early advantage with the small batch and none with the large one") {
  const std::string small = "spectral/fig-18a/early-advantage",
                    large = "spectral/fig-18b/no-early-advantage",
                    same = "spectral/fig-18b/coincide";
  const mlp::Config few = config("swiglu", 512), many = config("swiglu", 8196);
  const Records ahead = three_with_losses({1, 0.9, 0.1}, {1, 0.5, 0.1});
  CHECK(verdict(few, ahead, small) == Verdict::holds);
  CHECK(verdict(few, ahead, large) == Verdict::not_applicable);
  CHECK(verdict(many, ahead, small) == Verdict::not_applicable);
  CHECK(verdict(many, ahead, large) == Verdict::fails);
  const Records alike = three_with_losses({1, 0.7, 0.1}, {1, 0.71, 0.1});
  CHECK(verdict(many, alike, large) == Verdict::holds);
  CHECK(verdict(many, alike, same) == Verdict::holds);
  CHECK(verdict(few, alike, small) == Verdict::fails);
  const Records apart = three_with_losses({1, 0.7, 0.1}, {1, 0.7, 0.9});
  CHECK(verdict(many, apart, same) == Verdict::fails);
  // If SpecGD diverges in every trial, it is behind; no distance within a factor is known.
  const auto lost = losses({1, 0.7, 0.1}, {1, std::nan(""), std::nan("")});
  CHECK(find_claim(many.report({lost, lost, lost}), large).undecided);
  CHECK(find_claim(many.report({lost, lost, lost}), same).undecided);
  CHECK(verdict(few, {lost, lost, lost}, small) == Verdict::fails);
  CHECK(verdict(few, {record(), record(), record()}, "spectral/fig-18/layer1-keeps-its-rank/gd") ==
        Verdict::holds);
  const Claim third = find_claim(few.report({record(), record(), record()}),
                                 "spectral/fig-18/layer3-drops-to-3/specgd");
  CHECK(third.verdict == Verdict::fails);
  CHECK(third.kind == Kind::reading);
  CHECK(third.threshold == "from 2 to 4, ours");
  for (const std::string& id : {small, large, same})
    CHECK(find_claim(few.report(ahead), id).statement_id == "spectral/fig-18");
}

namespace {

// GD is ahead by `log_ratio` at the end, or diverges before iteration 1.
TrialRecord compared(double log_ratio, bool gd_diverges, const mlp::Config& of = config()) {
  return record(
      [&](TrialRecord& r) {
        r.set("specgd.loss", {1, 0.9, 0.4 * std::pow(10, log_ratio)});
        if (!gd_diverges) return;
        r.set("gd.loss", {1, NAN, NAN});
        r.set("gd.diverged", 1.0);
        r.set("gd.diverged_at", 1.0);
        for (std::size_t l = 1; l <= 3; ++l) {
          r.set(mlp::stable_rank_name(mlp::gd, l), {5, NAN, NAN});
          r.set(mlp::nuclear_rank_name(mlp::gd, l), {15, NAN, NAN});
          r.set(mlp::ratio_name(mlp::gd, l), {3, NAN, NAN});
        }
      },
      of);
}

}  // namespace

TEST_CASE("a trial in which GD diverges is not one in which SpecGD is behind") {
  const std::string end = "spectral/fig-4/ahead-at-the-end/specgd";
  const Records finished = {compared(0.1, false), compared(0.11, false), compared(0.12, false)};
  CHECK(verdict(config(), finished, end) == Verdict::fails);
  Records records = finished;
  records.push_back(compared(0.1, true));
  const Claim claim = find_claim(config().report(records), end);
  CHECK(claim.verdict == Verdict::not_applicable);
  CHECK(claim.undecided);
  CHECK(evidence_text(claim) == "3 violations in 4 cases");
  CHECK(claim.detail.ends_with("; GD diverged in 1 of 4 trials"));
  // SpecGD is ahead in the other trials too.
  records = {compared(-0.1, false), compared(-0.11, false), compared(0.1, true)};
  CHECK(verdict(config(), records, end) == Verdict::holds);
}

TEST_CASE("a rank at the end of GD is not judged from a minority of the trials") {
  const mlp::Config few = config("swiglu", 512);
  const auto keeps = [&](std::size_t finished, std::size_t lost) {
    Records records(finished, compared(0.1, false, few));
    records.resize(finished + lost, compared(0.1, true, few));
    return find_claim(few.report(records), "spectral/fig-18/layer1-keeps-its-rank/gd");
  };
  CHECK(keeps(3, 0).verdict == Verdict::holds);
  CHECK(keeps(3, 2).verdict == Verdict::holds);
  CHECK(keeps(3, 2).detail.ends_with(
      "GD diverged in 2 of 5 trials; judged over the 3 trials with a value"));
  CHECK(keeps(3, 13).verdict == Verdict::not_applicable);
  CHECK(keeps(3, 13).undecided);
  // Condition (1.8) is counted until the divergence.
  const Claim criterion =
      find_claim(config().report({compared(0, true), compared(0, true), compared(0, false)}),
                 "spectral/eq-1.8/gd/W2");
  CHECK(criterion.undecided);
  CHECK(evidence_text(criterion) == "0 violations in 5 cases");
}

}  // namespace mlp_claims_test
