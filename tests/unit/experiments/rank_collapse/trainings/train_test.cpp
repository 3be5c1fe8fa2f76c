// Verdicts of the study train on handmade records, and the names, settings and guessing rates
// behind them. Layers and models have their own tests; learning itself has an end-to-end test.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <variant>

#include "experiments/rank_collapse/trainings/train.hpp"

namespace train_test {

using namespace ranklab;
using namespace ranklab::train;

namespace {

train::Config small_config() {
  train::Config config;
  config.layers = {2};
  config.dim = 32;
  config.batch = 64;
  config.length = 32;
  config.vocab = "64";
  config.steps = {"10"};
  config.lr = {"0.01"};
  config.ffn = {"64"};
  config.lambda = {"-2", "-1", "0", "1", "learned"};
  config.fill_defaults();
  return config;
}

/// The values of one run in five trials: accuracies, and mu of the last layer at start and end.
struct RunValues {
  std::vector<double> accuracy;
  double mu = 0.5;
};

std::vector<double> about(double accuracy) {
  return {accuracy, accuracy + 0.002, accuracy - 0.002, accuracy + 0.001, accuracy - 0.001};
}

class Judged {
 public:
  explicit Judged(const train::Config& config = small_config()) : config_(config) {
    for (const train::Run& run : config_.runs()) values_[run.name()] = {about(0.97)};
  }
  RunValues& operator[](const std::string& run) {
    REQUIRE(values_.contains(run));
    return values_.at(run);
  }
  /// The verdict of a claim; the id omits "lambda-skip/".
  Verdict operator()(const std::string& id) const { return claim(id).verdict; }
  bool has(const std::string& id) const { return !claims_with(id).empty(); }
  Claim claim(const std::string& id) const {
    const std::vector<Claim> found = claims_with(id);
    CAPTURE(id);
    REQUIRE(found.size() == 1);
    return found.front();
  }

 private:
  std::vector<Claim> claims_with(const std::string& id) const {
    Records records(5);
    for (const auto& [run, values] : values_) {
      for (std::size_t t = 0; t < records.size(); ++t) {
        records[t].set(run + ".final_accuracy", values.accuracy[t]);
        records[t].set(run + ".diverged", std::isnan(values.accuracy[t]));
        for (const char* when : {".start.", ".end."}) {
          records[t].set(run + when + "mu_normalized",
                         {0.9, 0.8, values.mu * (1 + 0.001 * static_cast<double>(t))});
        }
      }
    }
    Claims claims;
    config_.judge(records, claims);
    std::vector<Claim> found;
    for (const Claim& each : claims.list()) {
      if (each.id == "lambda-skip/" + id) found.push_back(each);
    }
    return found;
  }

  train::Config config_;
  std::map<std::string, RunValues> values_;
};

}  // namespace

TEST_CASE(
    "without a skip a model must guess on average: seeds that learn leave it undecided or refute "
    "it") {
  Judged judged;
  judged["attention,lambda=0"].accuracy =
      about(0.28);  // between 1 / D and the best guess from the position
  CHECK(judged("fig-5/attention/lambda-0") == Verdict::holds);
  judged["attention,lambda=0"].accuracy = {0.28, 0.28, 0.28, 0.28, 0.9};
  CHECK(judged.claim("fig-5/attention/lambda-0").undecided);
  CHECK(judged.claim("fig-5/attention/lambda-0").detail.starts_with("4 of 5 runs only guess"));
  judged["attention,lambda=0"].accuracy = {0.8, 0.85, 0.9, 0.8, 0.9};
  CHECK(judged("fig-5/attention/lambda-0") == Verdict::fails);
  judged["attention,lambda=1"].accuracy = about(0.29);
  for (const char* id : {"lambda-0", "others-alike"}) {
    CHECK(judged(std::string("fig-5/attention/") + id) == Verdict::not_applicable);
  }
  CHECK(judged("table-1/attention/learned-no-worse") == Verdict::not_applicable);
  CHECK(judged("table-1/learned-better") == Verdict::not_applicable);
}

TEST_CASE("collapse is a cause of the failure if every collapsed run only guesses") {
  Judged judged;
  judged["attention,lambda=0"] = {about(0.28), 1e-5};
  const std::string cause = "fig-5/because-of-collapse/other-models";  // recall, two layers
  CHECK(judged(cause) == Verdict::holds);
  judged["attention,lambda=0"].mu = 0.5;
  CHECK(judged(cause) == Verdict::not_applicable);
  judged["attention,lambda=0"] = {about(0.9), 1e-5};
  CHECK(judged(cause) == Verdict::fails);
}

TEST_CASE(
    "only attention with eight layers on images, and the mixers of Table 1, are the paper's") {
  train::Config images;
  images.task = "pixels";
  images.model = {"attention", "s4d"};
  images.layers = {2, 8};
  images.lambda = {"0", "1", "2", "learned"};
  images.fill_defaults();
  Judged judged(images);
  const auto is_ours = [&](const std::string& id) { return judged.claim(id).part == Part::ours; };
  for (const std::string group : {"attention,L=2", "attention,L=8", "s4d,L=2", "s4d,L=8"}) {
    CAPTURE(group);
    CHECK(is_ours("fig-5/" + group + "/lambda-0") == (group != "attention,L=8"));
    CHECK(is_ours("fig-5/" + group + "/others-alike") == (group != "attention,L=8"));
    CHECK(is_ours("table-1/" + group + "/learned-no-worse") == (group != "attention,L=2"));
  }
  CHECK(judged.claim("fig-5/attention,L=8/others-alike").threshold == "4.33 points");
  CHECK(judged.claim("fig-5/attention,L=2/others-alike").threshold.empty());
  CHECK(is_ours("fig-5/because-of-collapse/other-models"));
  CHECK_FALSE(is_ours("fig-5/because-of-collapse"));
  // Collapsed tokens of each kind of model count for their own claim.
  judged["attention,lambda=0,L=8"] = {about(0.1), 1e-5};
  judged["s4d,lambda=0,L=8"] = {about(0.9), 1e-5};
  CHECK(judged("fig-5/because-of-collapse") == Verdict::holds);
  CHECK(judged("fig-5/because-of-collapse/other-models") == Verdict::fails);
  // Only the mixers of Table 1 can show that a learned lambda is better.
  for (const char* run : {"s4d,lambda=learned,L=2", "attention,lambda=learned,L=8"})
    judged[run].accuracy = about(0.99);
  judged["attention,lambda=learned,L=2"].accuracy = about(0.9);
  CHECK(judged("table-1/learned-better") == Verdict::fails);
  images.model = {"s4d"};
  CHECK_FALSE(Judged(images).has("table-1/learned-better"));
  CHECK_FALSE(Judged(images).has("fig-5/because-of-collapse"));
}

TEST_CASE("two comparisons with lambda = 1 are decided as one claim") {
  train::Config config = small_config();
  config.lambda = {"-2", "1", "2"};
  Judged judged(config);
  const std::string id = "fig-5/attention/others-alike";
  const std::vector<double> one = judged["attention,lambda=1"].accuracy;
  const auto shifted = [&](double mean, double spread) {
    std::vector<double> out = one;
    for (std::size_t t = 0; t < out.size(); ++t)
      out[t] += mean + spread * (static_cast<double>(t) - 2) / std::sqrt(2.5);
    return out;
  };
  // Student's quantiles with 4 degrees: 4.604 for 99 %, 5.598 for 99.5 %; over sqrt 5: 2.059 and
  // 2.503. The second comparison has no spread.
  judged["attention,lambda=2"].accuracy = shifted(0.001, 0);
  judged["attention,lambda=-2"].accuracy = shifted(0.0202, 0.011);  // 0.0202 + 0.0226 < 0.0433
  CHECK(judged(id) == Verdict::holds);
  CHECK(std::get<EquivalenceEvidence>(judged.claim(id).evidence).level ==
        doctest::Approx(0.99).epsilon(1e-12));
  judged["attention,lambda=-2"].accuracy = shifted(0.0212, 0.011);  // 0.0212 + 0.0226 > 0.0433
  CHECK(judged.claim(id).undecided);
  judged["attention,lambda=-2"].accuracy = shifted(-0.068, 0.011);  // -0.0453 at 99 %, -0.0405
  CHECK(judged(id) == Verdict::not_applicable);
  CHECK(judged.claim(id).undecided);
  judged["attention,lambda=-2"].accuracy = shifted(-0.072, 0.011);  // -0.0445 at 99.5 %
  CHECK(judged(id) == Verdict::fails);
  const auto evidence = std::get<EquivalenceEvidence>(judged.claim(id).evidence);
  CHECK(evidence.level == doctest::Approx(0.995).epsilon(1e-12));
  CHECK(evidence.mean == doctest::Approx(-0.072).epsilon(1e-9));
}

TEST_CASE("nonzero lambdas are compared with each other, and with a learned lambda") {
  Judged judged;
  CHECK(judged("fig-5/attention/others-alike") == Verdict::holds);
  judged["attention,lambda=-1"].accuracy = about(0.5);
  CHECK(judged("fig-5/attention/others-alike") == Verdict::fails);
  judged["attention,lambda=-1"].accuracy = judged["attention,lambda=1"].accuracy;
  judged["attention,lambda=-2"].accuracy = about(0.92);
  CHECK(judged("fig-5/attention/others-alike") == Verdict::fails);
  judged["attention,lambda=-2"].accuracy = {
      0.97, 0.97, 0.97, 0.97, 0.9};  // equal on average, but the seeds are too few to decide
  CHECK(judged("fig-5/attention/others-alike") == Verdict::not_applicable);
  CHECK(judged("table-1/attention/learned-no-worse") == Verdict::holds);
  judged["attention,lambda=learned"].accuracy = about(0.93);
  CHECK(judged("table-1/attention/learned-no-worse") == Verdict::fails);
  CHECK(judged("table-1/learned-better") == Verdict::fails);
  judged["attention,lambda=learned"].accuracy = {0.97, 0.97, 0.97, 0.97, 0.8};
  CHECK(judged("table-1/attention/learned-no-worse") == Verdict::not_applicable);
  judged["attention,lambda=learned"].accuracy = about(0.98);
  judged["attention,lambda=learned"].accuracy[0] = 0.984;  // the paired differences vary
  CHECK(judged("table-1/learned-better") == Verdict::holds);
  judged["attention,lambda=1"].accuracy = {1, 1, 1, 1, 0.999};
  CHECK(judged("table-1/learned-better") == Verdict::not_applicable);
}

TEST_CASE("a model solves recall if its mean accuracy is high") {
  train::Config config = small_config();
  config.model = {"attention", "mamba2", "mamba1", "linear-attention", "s4d"};
  Judged judged(config);
  CHECK(judged("table-1/attention/solves-recall") == Verdict::holds);
  CHECK(judged("table-1/mamba1/learns-to-recall") == Verdict::holds);
  judged["mamba1,lambda=1"].accuracy = {1, 1, 0.9, 1, 1};
  CHECK(judged("table-1/mamba1/learns-to-recall") == Verdict::holds);
  judged["mamba1,lambda=1"].accuracy = {1, 0.29, 0.29, 1, 1};
  CHECK(judged.claim("table-1/mamba1/learns-to-recall").undecided);
  judged["mamba2,lambda=1"].accuracy = about(0.85);
  CHECK(judged("table-1/mamba2/solves-recall") == Verdict::fails);
  judged["mamba2,lambda=1"].accuracy = {1, 1, 1, 1, 0.3};
  CHECK(judged.claim("table-1/mamba2/solves-recall").undecided);
  CHECK(judged.claim("table-1/mamba2/solves-recall").detail.starts_with("in 4 of 5 runs"));
  CHECK(judged("table-1/linear-attention/fails-at-recall") == Verdict::fails);
  judged["linear-attention,lambda=1"].accuracy = about(0.28);
  CHECK(judged("table-1/linear-attention/fails-at-recall") == Verdict::holds);
}

TEST_CASE("a run that diverged has the accuracy of guessing, and failing needs runs that finish") {
  train::Config config = small_config();
  config.model = {"attention", "linear-attention"};
  Judged judged(config);
  judged["attention,lambda=1"].accuracy = {1, 1, 1, 1, NAN};
  CHECK(judged.claim("table-1/attention/solves-recall").undecided);  // the mean is 0.85
  judged["linear-attention,lambda=1"].accuracy = {0.28, 0.28, 0.28, 0.28, NAN};
  CHECK(judged.claim("table-1/linear-attention/fails-at-recall").measured ==
        doctest::Approx((4 * 0.28 + 0.25) / 5));
  CHECK(judged.claim("table-1/linear-attention/fails-at-recall")
            .detail.ends_with("diverged in 1 of 5 trials, which count as guessing"));
  judged["linear-attention,lambda=1"].accuracy = {0.28, 0.28, NAN, NAN, NAN};
  CHECK(judged("table-1/linear-attention/fails-at-recall") == Verdict::not_applicable);
  // The other lambdas keep 97 %, so that guessing in one of five runs is no spread of 4.33 points.
  Judged fixed;
  CHECK(fixed("fig-5/attention/others-alike") == Verdict::holds);
  fixed["attention,lambda=-2"].accuracy[4] = NAN;
  CHECK(fixed("fig-5/attention/others-alike") != Verdict::holds);
}

TEST_CASE("runs take the setting for all, for their model or for their start") {
  train::Config config = small_config();
  config.model = {"attention", "mamba2"};
  config.init = {"fan", "small"};
  config.lambda = {"learned"};
  config.lambda_start = -0.5;
  config.steps = {"100", "mamba2:80"};
  config.lr = {"fan:0.1", "small:0.2"};
  config.norm = {"layer", "mamba2:rms"};
  const Records none;
  const Trained all{config, none};
  REQUIRE(all.runs.size() == 4);
  const train::Run &first = all.runs[0], &last = all.runs[3];
  CHECK(first.name() == "attention,lambda=learned,init=fan");
  CHECK(first.group() == "attention,init=fan");
  CHECK(first.skip.lambda == -0.5);
  CHECK(first.steps == 100);
  CHECK(first.warmup == 10);
  CHECK(first.lr == 0.1);
  CHECK(last.name() == "mamba2,lambda=learned,init=small");
  CHECK(last.steps == 80);
  CHECK(last.lr == 0.2);
  CHECK(last.norm == Norm::rms);
  const std::vector<Group> groups = all.groups();
  CHECK(groups.size() == 4);
  CHECK(learned(groups.back()) == &last);
  CHECK(with_lambda(groups.back(), -0.5) == nullptr);
}

TEST_CASE("chance and the best guess at recall are right") {
  const Task task(small_config());
  CHECK(task.chance() == 0.25);
  // 0.3065 comes from another program, as a mean over 100,000 sequences.
  CHECK(task.best_guess() == doctest::Approx(0.3065).epsilon(0.01));
  CHECK(task.cases() == 2048);
}

}  // namespace train_test
