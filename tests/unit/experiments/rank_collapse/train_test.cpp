// The verdicts of the study train, on records made by hand, and the names, settings and guesses that they rest on. Layers and
// models have their own tests; learning itself is tested end to end.
#include <doctest/doctest.h>

#include <map>

#include "experiments/rank_collapse/train/train.hpp"

namespace train_test {

using namespace ranklab;
using namespace ranklab::train;

namespace {

TrainConfig small_config() {
  TrainConfig config;
  config.layers = {2};
  config.dim = 32;
  config.batch = 64;
  config.length = 32;
  config.vocab = "64";
  config.steps = {"10"};
  config.lr = {"0.01"};
  config.ffn = {"64"};
  config.lambda = {"-2", "-1", "0", "1", "learned"};
  settle_by_task(config);
  return config;
}

/// What five trials of one curve say: accuracies, and mu of the last layer at start and end.
struct Told {
  std::vector<double> accuracy;
  double mu = 0.5;
};

std::vector<double> about(double accuracy) {
  return {accuracy, accuracy + 0.002, accuracy - 0.002, accuracy + 0.001, accuracy - 0.001};
}

class Judged {
 public:
  explicit Judged(const TrainConfig& config = small_config()) : plan_(plan_of(config)), task_(config) {
    for (const train::Curve& curve : plan_.curves) told_[curve.name] = {about(0.97)};
  }
  Told& operator[](const std::string& curve) {
    REQUIRE(told_.contains(curve));
    return told_.at(curve);
  }
  /// The verdict of a claim; the id without "lambda-skip/".
  Verdict operator()(const std::string& id) const {
    Records records(5);
    for (const auto& [curve, told] : told_) {
      for (std::size_t t = 0; t < records.size(); ++t) {
        records[t].set(curve + "." + final_accuracy, told.accuracy[t]);
        for (const char* when : {".start.", ".end."}) {
          records[t].set(curve + when + mu_normalized, {0.9, 0.8, told.mu * (1 + 0.001 * static_cast<double>(t))});
        }
      }
    }
    Claims claims;
    judge(plan_, task_, records, claims);
    for (const Claim& claim : claims.list()) {
      if (claim.id == "lambda-skip/" + id) return claim.verdict;
    }
    FAIL("no claim " << id);
    return Verdict::not_applicable;
  }

 private:
  Plan plan_;
  Task task_;
  std::map<std::string, Told> told_;
};

}  // namespace

TEST_CASE("without a skip a model guesses in every seed: one that learns is a counterexample, whatever the mean") {
  Judged judged;
  judged["attention,lambda=0"].accuracy = about(0.28);  // between 1 / D and the best guess by place
  CHECK(judged("fig-5/attention/lambda-0") == Verdict::holds);
  judged["attention,lambda=0"].accuracy = {0.28, 0.28, 0.28, 0.28, 0.9};
  CHECK(judged("fig-5/attention/lambda-0") == Verdict::fails);
  judged["attention,lambda=1"].accuracy = about(0.29);
  for (const char* id : {"lambda-0", "others-alike"}) {
    CHECK(judged(std::string("fig-5/attention/") + id) == Verdict::not_applicable);
  }
  CHECK(judged("table-1/attention/learned-no-worse") == Verdict::not_applicable);
  CHECK(judged("table-1/learned-better") == Verdict::not_applicable);
}

TEST_CASE("collapse of rank as the reason, both ways") {
  Judged judged;
  judged["attention,lambda=0"] = {about(0.28), 1e-5};
  CHECK(judged("fig-5/because-of-collapse") == Verdict::holds);
  CHECK(judged("fig-5/only-collapse") == Verdict::holds);
  judged["attention,lambda=0"].mu = 0.5;
  CHECK(judged("fig-5/because-of-collapse") == Verdict::not_applicable);
  CHECK(judged("fig-5/only-collapse") == Verdict::fails);
  judged["attention,lambda=0"] = {about(0.9), 1e-5};
  CHECK(judged("fig-5/because-of-collapse") == Verdict::fails);
  CHECK(judged("fig-5/only-collapse") == Verdict::not_applicable);
}

TEST_CASE("other lambdas, and a learned one") {
  Judged judged;
  CHECK(judged("fig-5/attention/others-alike") == Verdict::holds);
  judged["attention,lambda=-1"].accuracy = about(0.5);  // has the law of lambda = 1: says nothing of lambda
  CHECK(judged("fig-5/attention/others-alike") == Verdict::holds);
  judged["attention,lambda=-2"].accuracy = about(0.92);
  CHECK(judged("fig-5/attention/others-alike") == Verdict::fails);
  judged["attention,lambda=-2"].accuracy = {0.97, 0.97, 0.97, 0.97, 0.9};  // alike on average, but too few seeds to say so
  CHECK(judged("fig-5/attention/others-alike") == Verdict::not_applicable);
  CHECK(judged("table-1/attention/learned-no-worse") == Verdict::holds);
  judged["attention,lambda=learned"].accuracy = about(0.93);
  CHECK(judged("table-1/attention/learned-no-worse") == Verdict::fails);
  CHECK(judged("table-1/learned-better") == Verdict::fails);
  judged["attention,lambda=learned"].accuracy = {0.97, 0.97, 0.97, 0.97, 0.8};
  CHECK(judged("table-1/attention/learned-no-worse") == Verdict::not_applicable);
  judged["attention,lambda=learned"].accuracy = about(0.98);
  judged["attention,lambda=learned"].accuracy[0] = 0.984;  // paired differences with a spread
  CHECK(judged("table-1/learned-better") == Verdict::holds);
  judged["attention,lambda=1"].accuracy = {1, 1, 1, 1, 0.999};
  CHECK(judged("table-1/learned-better") == Verdict::not_applicable);
}

TEST_CASE("who solves recall") {
  TrainConfig config = small_config();
  config.model = {"attention", "mamba2", "linear-attention", "s4d"};
  Judged judged(config);
  CHECK(judged("table-1/attention/solves-recall") == Verdict::holds);
  judged["mamba2,lambda=1"].accuracy = about(0.85);
  CHECK(judged("table-1/mamba2/solves-recall") == Verdict::fails);
  judged["mamba2,lambda=1"].accuracy = {1, 1, 1, 1, 0.3};
  CHECK(judged("table-1/mamba2/solves-recall") == Verdict::fails);
  CHECK(judged("table-1/linear-attention/fails-at-recall") == Verdict::fails);
  judged["linear-attention,lambda=1"].accuracy = about(0.28);
  CHECK(judged("table-1/linear-attention/fails-at-recall") == Verdict::holds);
}

TEST_CASE("curves take what is said for all, for their model, or for their start") {
  TrainConfig config = small_config();
  config.model = {"attention", "mamba2"};
  config.init = {"fan", "small"};
  config.lambda = {"learned"};
  config.lambda_start = -0.5;
  config.steps = {"100", "mamba2:80"};
  config.lr = {"fan:0.1", "small:0.2"};
  config.norm = {"layer", "mamba2:rms"};
  const Plan plan = plan_of(config);
  REQUIRE(plan.curves.size() == 4);
  const train::Curve &first = plan.curves[0], &last = plan.curves[3];
  CHECK(first.name == "attention,lambda=learned,init=fan");
  CHECK(first.group == "attention,init=fan");
  CHECK(first.lambda == -0.5);
  CHECK(first.steps == 100);
  CHECK(first.warmup == 10);
  CHECK(first.lr == 0.1);
  CHECK(last.name == "mamba2,lambda=learned,init=small");
  CHECK(last.steps == 80);
  CHECK(last.lr == 0.2);
  CHECK(last.norm == Norm::rms);
  CHECK(plan.groups().size() == 4);
  CHECK(plan.learned(last) == &last);
  CHECK(plan.with_lambda(last, -0.5) == nullptr);
}

TEST_CASE("guesses at recall") {
  const Task task(small_config());
  CHECK(task.chance() == 0.25);
  // The law of the slots by another program, from 100,000 sequences: 0.3065.
  CHECK(task.best_guess() == doctest::Approx(0.3065).epsilon(0.01));
  CHECK(task.cases() == 2048);
}

}  // namespace train_test
