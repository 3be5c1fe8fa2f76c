// In every study, a claim agrees with its count. If the trials count the cases of a statement, the
// claim holds without violations, fails with at least one, and is not applicable without cases.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "cli/commands.hpp"
#include "cli/presets.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/result_parts.hpp"
#include "judge/verdicts.hpp"
#include "result/changes.hpp"

namespace verdict_test {

using namespace ranklab;

namespace {

// Studies at a tiny size; in `mlp` no run diverges. `fewest_changed`: how many claims of the toy
// change their verdict, at least, when one array is broken, or those of one quantity at all places.
// The other claims depend on worked examples, on numbers that no trial draws, or on several
// quantities at once.
struct Toy {
  std::string study;
  std::size_t fewest_changed;
  FlagValues flags;
};
const std::vector<Toy> toys = {
    {"random-features trajectory",
     7,
     {{"m", "4"}, {"k", "5"}, {"d", "4"}, {"n", "12"}, {"steps", "6"}, {"restart-every", "3"}}},
    {"random-features stable-rank",
     14,
     {{"k", "16"}, {"d", "8"}, {"n", "32"}, {"epsilon", "0.5"}, {"depth", "2"}, {"tokens", "64"}}},
    {"random-features concentration",
     25,
     {{"draws", "50"},
      {"p0", "0.05"},
      {"bulk", "40"},
      {"d", "3"},
      {"n", "1024,2048"},
      {"depth", "2"},
      {"width", "8"},
      {"vector", "512"},
      {"columns", "4"}}},
    {"spiked-model gradient-rank", 13, {{"k", "8,12,16"}, {"steps", "6"}}},
    {"spiked-model features", 12, {{"k", "8,16,24"}, {"phi-samples", "256"}}},
    {"spiked-model multi-spike", 9, {{"d", "16,20,24"}}},
    {"teacher-student gradient-rank", 12, {{"k", "8,12,16"}, {"steps", "6"}}},
    {"teacher-student features", 70, {{"k", "8,16,24"}}},
    {"teacher-student multi-spike", 7, {{"d", "16,20,24"}}},
    {"rank-collapse layers",
     11,
     {{"model", "mamba2"},
      {"also", "bert,pre-norm,post-norm"},
      {"lambda", "0,1,5"},
      {"gating", "off"},
      {"layers", "3"},
      {"tokens", "6"},
      {"dim", "8"},
      {"heads", "2"}}},
    {"rank-collapse layers",
     5,
     {{"model", "bert"},
      {"dropout", "0.1"},
      {"gradients", "on"},
      {"layers", "3"},
      {"tokens", "6"},
      {"dim", "8"},
      {"heads", "2"}}},
    {"rank-collapse layers",
     4,
     {{"model", "post-norm"},
      {"tau", "0.1,0.5,1"},
      {"layers", "3"},
      {"tokens", "6"},
      {"dim", "8"},
      {"heads", "2"}}},
    {"rank-collapse lambda-sweep", 5, {{"layers", "3"}, {"tokens", "6"}, {"dim", "8"}}},
    {"rank-collapse ablation", 6, {{"layers", "3"}, {"tokens", "6"}, {"dim", "8"}}},
    {"rank-collapse escalation",
     6,
     {{"layers", "3"}, {"tokens", "6"}, {"dim", "8"}, {"heads", "2"}}},
    {"rank-collapse escalation-rate",
     8,
     {{"layers", "3"}, {"tokens", "6"}, {"dim", "8"}, {"heads", "2"}}},
    {"rank-collapse eta", 6, {{"tokens", "8"}, {"dim", "4,8"}}},
    {"rank-collapse escalation-lemmas",
     13,
     {{"tokens", "6"}, {"dim", "8,16"}, {"t", "0.25,1"}, {"alpha", "1,1.5"}}},
    {"rank-collapse spectral-gap", 2, {{"tokens", "8,32,128"}, {"dim", "4,64"}}},
    {"rank-collapse bounds",
     48,
     {{"tokens", "2,4"}, {"dim", "2,4"}, {"layers", "3"}, {"lambda", "-10,0,10,1e6"}}},
    {"rank-collapse examples", 9, {{"layers", "8"}}},
    {"rank-collapse train",
     3,
     {{"dim", "16"}, {"batch", "4"}, {"steps", "4"}, {"lambda", "0,1,learned"}}},
    {"rank-collapse train",
     4,
     {{"task", "patches"},
      {"variant", "post,pre,de-escalated"},
      {"layers", "2"},
      {"dim", "8"},
      {"batch", "4"},
      {"steps", "2"},
      {"train-size", "40"},
      {"test-size", "10"}}},
    {"one-step-compare regression", 19, {{"m-high", "8"}, {"k-high", "8"}, {"n-high", "12"}}},
    {"one-step-compare mlp",
     12,
     {{"d", "4"},
      {"width", "6"},
      {"n", "12"},
      {"steps", "3"},
      {"lr-gd", "0.01"},
      {"lr-spec", "0.01"}}},
    {"one-step-compare mlp-init",
     9,
     {{"activation", "swiglu"}, {"also", "relu2"}, {"d", "4"}, {"width", "6"}, {"n", "8,16,64"}}},
    {"one-step-compare curvature",
     10,
     {{"d", "16"},
      {"width", "24"},
      {"classes", "3"},
      {"n", "64"},
      {"layers", "3"},
      {"steps", "3"},
      {"measure-steps", "0,3"},
      {"directions", "1"}}},
    {"one-step-compare gpt",
     29,
     {{"optimizer", "muon,adam"},
      {"one-step", "on"},
      {"vocab", "char"},
      {"layers", "1"},
      {"dim", "8"},
      {"heads", "2"},
      {"context", "8"},
      {"batch", "2"},
      {"steps", "40"}}},
    {"one-step-compare transformer-init",
     18,
     {{"d", "48"}, {"n", "12"}, {"layers", "2"}, {"delta", "0.24"}}}};

// Of the presets of a study that has no row above: their config with their "toy". One of its claims
// turns, at least.
std::vector<Toy> toys_of_presets(const Experiment& experiment, const std::string& study) {
  std::vector<Toy> out;
  for (const std::string& name : preset_names()) {
    const Preset preset = read_preset(name);
    if (preset.command != experiment.name || preset.toy.is_null() ||
        preset.config.value("study", experiment.studies.front().name) != study)
      continue;
    nlohmann::ordered_json config = preset.config;
    config.update(preset.toy);
    Toy& toy = out.emplace_back(Toy{experiment.name + " " + study, 1, {}});
    for (const auto& [key, value] : config.items()) {
      if (key != "study" && key != "trials" && key != "seed")
        toy.flags.emplace_back(key, flag_text(value));
    }
  }
  return out;
}

// Calls use(toy, study) for the toys of every study.
void for_each_toy(const std::function<void(const Toy&, const Study&)>& use) {
  for (const Experiment& experiment : experiments()) {
    for (const StudyEntry& entry : experiment.studies) {
      const std::string name = experiment.name + " " + entry.name;
      if (const char* only = std::getenv("RANKLAB_STUDY"); only != nullptr && name != only)
        continue;
      CAPTURE(name);
      std::vector<Toy> of_study;
      std::ranges::copy_if(toys, std::back_inserter(of_study),
                           [&](const Toy& toy) { return toy.study == name; });
      if (of_study.empty()) of_study = toys_of_presets(experiment, entry.name);
      CHECK_MESSAGE(!of_study.empty(),
                    "a preset of the study needs \"toy\": {FLAG: VALUE}, with which it runs in a "
                    "moment");
      for (const Toy& toy : of_study) use(toy, *configured(entry.make(), toy.flags));
    }
  }
}

std::vector<Claim> claims_of(const Study& study, const Records& records) {
  Claims claims;
  study.judge(records, claims);
  return claims.take();
}

// Ways to break an array of a trial: change all of its numbers, or one of them.
using Breakage = std::function<void(std::vector<double>&)>;
const std::vector<Breakage> breakages = {
    [](auto& numbers) {
      std::transform(numbers.begin(), numbers.end(), numbers.begin(), std::negate<>());
    },
    [](auto& numbers) { std::fill(numbers.begin(), numbers.end(), 0.0); },   // ties
    [](auto& numbers) { std::fill(numbers.begin(), numbers.end(), -1.0); },  // no tie
    [](auto& numbers) {
      std::transform(numbers.begin(), numbers.end(), numbers.begin(),
                     [](double x) { return 1e4 * x; });
    },
    [](auto& numbers) { std::iota(numbers.rbegin(), numbers.rend(), 1.0); },
    [](auto& numbers) { numbers.back() *= -1e4; },
    [](auto& numbers) { std::iota(numbers.begin(), numbers.end(), 1.0); },
};
// Ways to break a tally, which holds cases, violations and a range: no case violates the statement,
// or every case does.
const std::vector<Breakage> breakages_of_tallies = {[](auto& numbers) { numbers[1] = 0; },
                                                    [](auto& numbers) { numbers[1] = numbers[0]; }};

constexpr std::uint64_t trials = 3;

std::set<std::string> tallied(const Records& records) {
  std::set<std::string> ids;
  for (const TrialRecord& record : records) {
    for (const auto& [name, numbers] : record.arrays()) {
      if (name.starts_with("tally/")) ids.insert(name.substr(6));
    }
  }
  return ids;
}

// The records as if each trial had counted `cases` of the statement, and trial 0 `violations`.
Records with_tally(Records records, const std::string& id, double cases, double violations) {
  for (TrialRecord& record : records) {
    record.set("tally/" + id, std::vector<double>{cases, violations, 1.0, 1.0});
    violations = 0;
  }
  return records;
}

void check_tallies(const Study& study) {
  const Records records = records_of(study, trials);
  std::set<std::string> claimed;
  for (const Claim& claim : claims_of(study, records)) claimed.insert(claim.id);
  for (const std::string& id : tallied(records)) {
    if (!claimed.contains(id)) continue;  // it is a part of another count
    CAPTURE(id);
    const auto judged = [&](double cases, double violations) {
      const auto claims = claims_of(study, with_tally(records, id, cases, violations));
      return *std::ranges::find(claims, id, &Claim::id);
    };
    const Claim without = judged(3, 0), with = judged(3, 1);
    if (with.verdict == Verdict::not_applicable) {  // the tiny study does not meet the hypothesis
      CHECK(without.verdict == Verdict::not_applicable);
      continue;
    }
    CHECK(with.verdict == Verdict::fails);
    CHECK(with.measured == without.measured + 1);
    CHECK(without.verdict == (without.measured == 0 ? Verdict::holds : Verdict::fails));
    if (without.measured != 0) continue;
    // Worked examples count as cases too, but confirm only what covers every finite case.
    const Claim none = judged(0, 0);
    const bool exampled = none.detail.find("violations in worked examples: ") != std::string::npos;
    CHECK(none.verdict ==
          (exampled && none.kind == Kind::theorem ? Verdict::holds : Verdict::not_applicable));
  }
}

}  // namespace

TEST_CASE("every claim of every study has the fields that its kind implies") {
  for_each_toy([](const Toy&, const Study& study) {
    const std::vector<Claim> claims = claims_of(study, records_of(study, trials));
    std::set<std::string> ids;
    for (const Claim& claim : claims) ids.insert(claim.id);
    for (const Claim& claim : claims) {
      CAPTURE(claim.id);
      CHECK((claim.kind == Kind::reading || claim.kind == Kind::asymptotic) ==
            !claim.threshold.empty());
      CHECK_NOTHROW(require_in_catalog(claim));
      CHECK((claim.misprint_of.empty() || ids.contains(claim.misprint_of)));
      if (claim.verdict != Verdict::not_applicable)
        CHECK(!std::holds_alternative<std::monostate>(claim.evidence));
    }
  });
}

// The verdicts (holds or fails) of each claim as the arrays of a run are broken.
std::map<std::string, std::set<Verdict>> verdicts_when_broken(const Study& study) {
  const Records measured = records_of(study, trials);
  std::map<std::string, std::set<Verdict>> verdicts;
  const auto judge = [&](const Records& records) {
    for (const Claim& claim : claims_of(study, records)) {
      if (claim.verdict != Verdict::not_applicable) verdicts[claim.id].insert(claim.verdict);
    }
  };
  judge(measured);
  // Each array alone, and those of a quantity at all places together.
  std::map<std::string, std::set<std::string>> broken_together;
  for (const auto& [array, values] : measured.front().arrays()) {
    if (values.empty()) continue;
    broken_together[array] = {array};
    if (!array.starts_with("tally/"))
      broken_together["all " + array.substr(array.rfind('.') + 1)].insert(array);
  }
  for (const auto& [name, arrays] : broken_together) {
    if (name.starts_with("all ") && arrays.size() == 1) continue;
    for (const Breakage& breakage : name.starts_with("tally/") ? breakages_of_tallies : breakages) {
      Records records = measured;
      for (TrialRecord& record : records) {
        for (const std::string& array : arrays) {
          std::vector<double> numbers = record.array(array);
          breakage(numbers);
          record.set(array, numbers);
        }
      }
      judge(records);
    }
  }
  return verdicts;
}

TEST_CASE("in every study, breaking the arrays changes the verdicts of the claims") {
  for_each_toy([](const Toy& toy, const Study& study) {
    std::size_t changed = 0;
    std::string unchanged;
    for (const auto& [id, seen] : verdicts_when_broken(study)) {
      if (seen.size() == 2) ++changed;
      if (seen.size() < 2) unchanged += " " + id;
    }
    CAPTURE(unchanged);
    CHECK(changed >= toy.fewest_changed);
  });
}

TEST_CASE("in every study, the verdict of a claim follows from its count") {
  for_each_toy([](const Toy&, const Study& study) { check_tallies(study); });
}

// The quantities that a statement of one's own can be about, with the points of the curves.
std::map<std::string, std::vector<double>> quantities_in(const Result& result) {
  std::map<std::string, std::vector<double>> out;
  for (const Scalar& scalar : result.scalars) out[scalar.name] = {};
  for (const Series& series : result.series) {
    if (!series.trials.empty()) out[series.name] = series.x;
  }
  return out;
}

TEST_CASE("in every study, a single trial has the quantities of the run, except those declared") {
  for_each_toy([](const Toy&, const Study& study) {
    const Records records = records_of(study, trials);
    const auto of_all = quantities_in(study.report(records));
    std::vector<std::string> declared;
    for (const DeclaredQuantity& each : study.quantities()) {
      if (!each.always) declared.push_back(each.quantity.name);
    }
    for (const TrialRecord& record : records) {
      const auto of_one = quantities_in(study.report({record}));
      for (const auto& quantity : of_all) {
        const std::string& name = quantity.first;
        const std::vector<double>& x = quantity.second;
        CAPTURE(name);
        const auto found = of_one.find(name);
        const bool has_points = found != of_one.end() && std::ranges::includes(found->second, x);
        CHECK((has_points || std::ranges::any_of(declared, [&](const std::string& part) {
                 return name.find(part) != std::string::npos;
               })));
      }
    }
  });
}

TEST_CASE(
    "every study declares the quantities of its results: where, over what, and their meaning") {
  for_each_toy([](const Toy&, const Study& study) {
    using Key = std::pair<std::string, bool>;  // the name, and whether it is a series
    std::map<Key, DeclaredQuantity> declared;
    for (const DeclaredQuantity& each : study.quantities()) {
      CAPTURE(each.quantity.name);
      CHECK(std::string(each.quantity.meaning) != "");
      CHECK(declared.emplace(Key{each.quantity.name, !each.x_name.empty()}, each).second);
    }
    std::set<Key> measured;
    const auto check = [&](const auto& of, const std::string& x_name) -> const auto& {
      CAPTURE(of.name);
      const Key key{of.name, !x_name.empty()};
      measured.insert(key);
      REQUIRE(declared.contains(key));
      const DeclaredQuantity& as = declared.at(key);
      CHECK(as.quantity.kind == of.quantity);
      CHECK(as.quantity.at.coordinates == of.at);
      return as;
    };
    const Result result = study.report(records_of(study, trials));
    for (const Scalar& scalar : result.scalars) check(scalar, "");
    for (const Series& series : result.series) {
      const std::vector<double>& x = check(series, series.x_name).x;
      CHECK((x.empty() || std::ranges::includes(x, series.x)));
    }
    for (const auto& entry : declared) {
      const DeclaredQuantity& each = entry.second;
      CAPTURE(each.quantity.name);
      CHECK((!each.always || measured.contains(entry.first)));
    }
  });
}

}  // namespace verdict_test
