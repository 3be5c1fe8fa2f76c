#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/tolerances.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/redrawn.hpp"
#include "experiments/result_parts.hpp"

namespace layers_test {

using namespace ranklab;

namespace {

const FlagValues tiny = {{"layers", "6"}, {"tokens", "8"}, {"dim", "12"}, {"state", "4"}};

Result run_layers(FlagValues flags, std::uint64_t trials = 2) {
  flags.insert(flags.begin(), tiny.begin(), tiny.end());
  return run_configured(make_layers_study(), flags, trials);
}

}  // namespace

TEST_CASE("in single precision, numbers are nearly the same, and a note says what rounding hides") {
  const Result full = run_layers({{"lambda", "0,2"}}),
               single = run_layers({{"lambda", "0,2"}, {"precision", "f32"}});
  const std::vector<double>&mu = find_series(full, "lambda=2.mu_normalized").mean,
        &rounded = find_series(single, "lambda=2.mu_normalized").mean;
  CHECK(rounded != mu);
  for (std::size_t k = 0; k < mu.size(); ++k)
    CHECK(rounded[k] == doctest::Approx(mu[k]).scale(0).epsilon(tolerance::trajectory<float>));
  const auto has_note = [](const Result& result) {
    return std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
      return note.starts_with("In single precision, normalized mu below");
    });
  };
  CHECK(has_note(single));
  CHECK_FALSE(has_note(full));
}

TEST_CASE("every lambda has all measures from the input to the last layer") {
  const Result result = run_layers({{"lambda", "-2,0,0.5"}});
  for (const std::string lambda : {"-2", "0", "0.5"}) {
    for (const std::string measure :
         {"mu", "mu_normalized", "token_similarity", "cosine_similarity", "rank_one_residual",
          "stable_rank", "effective_rank", "norm", "log10_norm"}) {
      const Series& series = find_series(result, "lambda=" + lambda + "." + measure);
      CHECK(series.x == std::vector<double>{0, 1, 2, 3, 4, 5, 6});
    }
    // The rows have norm 1, so ||Y||_F^2 = N.
    for (const double norm : find_series(result, "lambda=" + lambda + ".norm").mean) {
      CHECK(norm == doctest::Approx(std::sqrt(8.0)).epsilon(tolerance::closed_form<double>));
    }
  }
  CHECK(find_scalar(result, "degenerate_rows") == std::vector<double>{0, 0});
}

TEST_CASE(
    "attention without a skip collapses to equal tokens, and a strong skip preserves the input") {
  const Result result = run_layers({{"layers", "12"}, {"lambda", "0,1,1e6"}}, 4);
  CHECK(find_claim(result, "lambda-skip/fig-1/attention/large-lambda-keeps").verdict ==
        Verdict::holds);
  // mu_normalized of unit tokens changes by O(N / lambda) per layer.
  const Series& kept = find_series(result, "lambda=1e+06.mu_normalized");
  CHECK(kept.mean.back() == doctest::Approx(kept.mean.front()).epsilon(1e-3));
  CHECK(find_series(result, "lambda=0.mu_normalized").mean.back() < 1e-3);
}

TEST_CASE("de-escalation names its curves by tau, and measures before and after the operation") {
  const Result result = run_layers({{"model", "post-norm"}, {"tau", "0.5,1"}}, 3);
  const Series& similarity = find_series(result, "tau=1.token_similarity");
  for (std::size_t k = 1; k < similarity.mean.size(); ++k) {  // the input is not de-escalated
    CHECK(std::abs(similarity.mean[k]) < tolerance::residual<double>);
  }
  CHECK(find_series(result, "tau=1.before.token_similarity").mean.back() > 0.01);
  CHECK(find_claim(result, "shallow/fig-5-tau-1/after").verdict == Verdict::holds);
  CHECK(std::none_of(result.series.begin(), result.series.end(),
                     [](const Series& s) { return s.name.starts_with("lambda="); }));
}

TEST_CASE("the claim of Figure 5 is judged by the measured diversity, not by the value of tau") {
  // At tau = 0.1 and after few blocks the tokens of a Gaussian input are still apart, so 'around 0'
  // is wrong.
  const Result result =
      run_layers({{"model", "post-norm"}, {"layers", "1"}, {"dim", "64"}, {"tau", "0.1"}}, 4);
  CHECK(find_claim(result, "shallow/fig-5-tau-0.1/after").verdict == Verdict::fails);
}

TEST_CASE("pre-norm: the stream grows, and the input of the branch keeps its norm") {
  const Result result =
      run_layers({{"model", "pre-norm"}, {"also", "post-norm"}, {"layers", "10"}}, 32);
  CHECK(find_claim(result, "shallow/fig-4-norm-grows").verdict == Verdict::holds);
  CHECK(find_claim(result, "shallow/fig-4-normed-constant").verdict == Verdict::holds);
  const Series& normed = find_series(result, "lambda=1.branch_input_norm");
  CHECK(normed.x.front() == 1);
  // Layer normalization gives every token the norm sqrt(d): ||LN X||_F^2 = N d, up to epsilon.
  for (const double norm : normed.mean)
    CHECK(norm == doctest::Approx(std::sqrt(8.0 * 12.0)).epsilon(1e-4));
  find_series(result, "post-norm.lambda=1.token_similarity");
}

TEST_CASE("a further model has no curve if its depth does not fit the strengths per layer") {
  const FlagValues per_layer = {{"layers", "2"}, {"lambda-per-layer", "1,2"}};
  FlagValues also_pre_norm = per_layer, also_post_norm = per_layer;
  also_pre_norm.push_back({"also", "pre-norm:3"});
  also_post_norm.insert(also_post_norm.end(), {{"model", "pre-norm"}, {"also", "post-norm:3"}});
  for (const Claim& claim : run_layers(also_pre_norm).claims)
    CHECK_FALSE(claim.id.starts_with("shallow/"));
  const Result result = run_layers(also_post_norm, 3);
  CHECK(find_claim(result, "shallow/fig-4-slower").verdict == Verdict::not_applicable);
  CHECK(find_claim(result, "shallow/fig-4-normed-constant").verdict == Verdict::holds);
}

TEST_CASE("encoders: the two similarities are related as for tokens of equal norm") {
  const Result result = run_layers({{"model", "bert"}}, 3);
  const Series &t_sim = find_series(result, "lambda=1.token_similarity"),
               &t_cos = find_series(result, "lambda=1.cosine_similarity");
  // After a block every token has the norm sqrt(d), so t_sim = (1 + (N - 1) t_cos) / N.
  for (std::size_t k = 1; k < t_sim.mean.size(); ++k) {
    CHECK(
        t_sim.mean[k] ==
        doctest::Approx((1 + 7 * t_cos.mean[k]) / 8).epsilon(1e3 * tolerance::closed_form<double>));
  }
  // After few blocks of a small width the similarity is far from one.
  CHECK(find_claim(result, "shallow/fig-1-token-similarity/bert").verdict == Verdict::fails);
}

TEST_CASE("--dropout adds a curve for each encoder and does not change the others") {
  const FlagValues models = {{"model", "bert"}, {"also", "albert"}};
  FlagValues dropping = models;
  dropping.push_back({"dropout", "0.3"});
  const Result plain = run_layers(models), both = run_layers(dropping);
  for (const Series& series : plain.series)
    CHECK(find_series(both, series.name).mean == series.mean);
  CHECK(both.series.size() == 2 * plain.series.size());
  for (const std::string prefix : {"", "albert."}) {
    const Series &with = find_series(both, prefix + "dropout=0.3.token_similarity"),
                 &without = find_series(both, prefix + "lambda=1.token_similarity");
    CHECK(with.x == without.x);
    CHECK(with.mean.front() <
          without.mean.front());  // dropout also sets entries of the embedding to zero
    CHECK(with.mean.back() < without.mean.back());
  }
  REQUIRE(both.figure.panels.size() == 2);
  for (const Panel& panel : both.figure.panels) {
    REQUIRE(panel.curves.size() == 4);
    CHECK(panel.curves[1].label == "BERT, dropout 0.3");
    CHECK(panel.curves[1].style == LineStyle::dashed);
    CHECK(panel.curves[2].style == LineStyle::line);
  }
}

TEST_CASE("the models are small multiples of normalized mu, and of the distance from rank one") {
  const FlagValues flags = {
      {"model", "attention"}, {"also", "selective-ssm"}, {"lambda", "-5,0,5"}};
  const Result result = run_layers(flags, 6);
  REQUIRE(result.more_figures.size() == 1);
  const std::vector<std::string> lambdas = {"lambda=5", "lambda=0", "lambda=-5"};
  for (const auto& [figure, measure] : {std::pair(&result.figure, ".mu_normalized"),
                                        {&result.more_figures.front(), ".rank_one_residual"}}) {
    CHECK(figure->columns == 2);
    REQUIRE(figure->panels.size() == 2);
    CHECK(figure->panels[0].title == "softmax attention");
    CHECK(figure->panels[1].title == "selective SSM");
    CHECK(!figure->panels[0].group.empty());
    CHECK(figure->panels[0].group == figure->panels[1].group);
    for (const Panel& panel : figure->panels) {
      REQUIRE(panel.curves.size() == lambdas.size());
      // From the largest lambda down, so that the dashes of -5 lie on the line of 5.
      CHECK(panel.curves[0].label == "lambda = 5");
      CHECK(panel.curves[2].label == "lambda = -5");
      CHECK(panel.curves[2].style == LineStyle::dashed);
      for (const Curve& curve : panel.curves) CHECK(curve.band == BandKind::interval);
      REQUIRE(panel.lines.size() == 1);
      CHECK(panel.lines.front().label == "threshold 0.1");
    }
    for (std::size_t i = 0; i < lambdas.size(); ++i) {
      CHECK(figure->panels[0].curves[i].series == lambdas[i] + measure);
      CHECK(figure->panels[1].curves[i].series == "selective-ssm." + lambdas[i] + measure);
    }
  }
  // Few trials are shown one by one.
  CHECK(run_layers(flags, 2).figure.panels[0].curves[0].band == BandKind::trials);
}

TEST_CASE("de-escalation: each key names tau and the moment, and the paper's level has a label") {
  const FlagValues post_norm = {{"model", "post-norm"}, {"tau", "0.5,1"}};
  const Result result = run_layers(post_norm);
  REQUIRE(result.figure.panels.size() == 1);
  CHECK(result.more_figures.empty());
  const Panel& panel = result.figure.panels.front();
  REQUIRE(panel.curves.size() == 4);
  CHECK(panel.curves[0].label == "tau = 0.5, after de-escalation");
  CHECK(panel.curves[1].label == "tau = 0.5, before de-escalation");
  CHECK(panel.curves[3].label == "tau = 1, before de-escalation");
  REQUIRE(panel.lines.size() == 1);
  CHECK(panel.lines.front().y == 0.5);
  CHECK(!panel.lines.front().label.empty());
  const Result without = run_layers({{"model", "post-norm"}, {"tau", "1"}});
  CHECK(without.figure.panels.front().lines.empty());
}

TEST_CASE("curves that overflow are counted and named") {
  const Result result =
      run_layers({{"model", "pre-norm"}, {"norm", "none"}, {"lambda", "1,1e12"}, {"layers", "40"}});
  CHECK(result.diverged);
  CHECK(find_scalar(result, "diverged") == std::vector<double>{1, 1});
  CHECK(std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
    return note.find("lambda=1e+12 (layer ") != std::string::npos;
  }));
  CHECK(std::isnan(find_series(result, "lambda=1e+12.mu_normalized").mean.back()));
  // What becomes of the tokens at this strength is unknown.
  const Result alone = run_layers(
      {{"model", "pre-norm"}, {"norm", "none"}, {"lambda", "1e12"}, {"layers", "40"}}, 3);
  const Claim& rises = find_claim(alone, "shallow/fig-4-similarity-rises");
  CHECK(rises.undecided);
  CHECK(
      rises.detail.ends_with("lambda=1e+12 diverged in 3 of 3 trials; judged over the 0 trials "
                             "with a value"));
}

TEST_CASE("a collapse that mu does not detect is named in a note") {
  // M has entries of both signs, so without a skip the tokens become equal only up to their signs.
  const Result result =
      run_layers({{"model", "selective-ssm"}, {"lambda", "0"}, {"layers", "60"}}, 4);
  CHECK(std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
    return note.find("a collapse that mu does not detect) for lambda=0;") != std::string::npos;
  }));
}

TEST_CASE("flags that do not fit together are refused by name") {
  const auto refused = [](const FlagValues& flags, const std::string& needle) {
    const std::string message = refusal(make_layers_study(), flags);
    CAPTURE(message);
    CHECK(message.find(needle) != std::string::npos);
  };
  refused({{"lambda-per-layer", "1,2"}, {"layers", "3"}}, "--lambda-per-layer: 2 values");
  refused({{"tau", "0.5"}, {"lambda", "1,2"}}, "with --tau");
  refused({{"also", "berd"}}, "did you mean 'bert'?");
  refused({{"also", "bert:x"}}, "--also: 'bert:x'");
  refused({{"also", "bert:3x"}}, "LAYERSxDIM");
  refused({{"also", "bert:3x64y"}}, "LAYERSxDIM");
  refused({{"also", "bert:3x1000001"}}, "1000000");
  refused({{"also", "attention"}}, "it is the model of --model");
  refused({{"model", "bert"}, {"also", "gpt2"}, {"dropout", "0.1"}},
          "--dropout is not allowed with the model gpt2");
  refused({{"model", "bert"}, {"tau", "1"}, {"dropout", "0.1"}},
          "--dropout is not allowed with --tau");
  refused({{"model", "bert"}, {"dropout", "1"}}, "--dropout");
  refused({{"also", "bert,bert:3"}}, "twice");
  refused({{"tokens", "1"}}, "--tokens 1");
  refused({{"model", "post-norm"}, {"dim", "10"}, {"heads", "4"}},
          "--heads 4 does not divide --dim 10");
}

namespace {

// The verdicts of claims for given curves, by claim id.
class Drawn {
 public:
  explicit Drawn(const std::string& model, const FlagValues& flags = {}) : flags_(tiny) {
    flags_.insert(flags_.end(), {{"layers", "2"}, {"model", model}, {"lambda", "1"}});
    flags_.insert(flags_.end(), flags.begin(), flags.end());
  }
  Drawn& curve(const std::string& name, std::vector<double> values) {
    drawing_.push_back({name, std::move(values)});
    return *this;
  }
  Claim claim(const std::string& id) const {
    return find_claim(run_redrawn(make_layers_study(), flags_, drawing_), id);
  }
  Verdict verdict(const std::string& id) const { return claim(id).verdict; }

 private:
  FlagValues flags_;
  Drawing drawing_;
};

}  // namespace

TEST_CASE(
    "verdicts about [LambdaSkip] Figure 1 for given curves: the worst small and the worst largest "
    "lambda count") {
  const auto judged = [](double at_0, double at_1, double at_2, double at_5, double at_minus_5) {
    Drawn drawn("attention", {{"layers", "32"}, {"lambda", "0,1,2,5,-5"}});
    const double last[] = {at_0, at_1, at_2, at_5, at_minus_5};
    const char* names[] = {"0", "1", "2", "5", "-5"};
    for (std::size_t i = 0; i < 5; ++i) {
      for (const char* what : {".mu_normalized", ".rank_one_residual"})
        drawn.curve(std::string("lambda=") + names[i] + what, {0.9, last[i]});
    }
    return drawn;
  };
  const std::string id = "lambda-skip/fig-1/attention/";
  const Drawn as_printed = judged(0, 0.01, 0.3, 0.8, 0.9),
              reversed = judged(0.9, 0.8, 0.5, 0.01, 0);
  for (const char* claim : {"small-lambda-collapses", "lambda-1-collapses", "large-lambda-keeps",
                            "residual-order", "mu-order"}) {
    CAPTURE(claim);
    CHECK(as_printed.verdict(id + claim) == Verdict::holds);
    CHECK(reversed.verdict(id + claim) == Verdict::fails);
  }
  // One of the values is enough to make the claim fail.
  CHECK(judged(0, 0.5, 0.3, 0.8, 0.9).verdict(id + "small-lambda-collapses") == Verdict::fails);
  CHECK(judged(0.5, 0.01, 0.3, 0.8, 0.9).verdict(id + "small-lambda-collapses") == Verdict::fails);
  CHECK(judged(0, 0.01, 0.3, 0.01, 0.9).verdict(id + "large-lambda-keeps") == Verdict::fails);
  CHECK(judged(0, 0.01, 0.01, 0.8, 0.9).verdict(id + "large-lambda-keeps") ==
        Verdict::holds);  // lambda = 2 is neither small nor the largest
}

TEST_CASE("[LambdaSkip] Figure 1 is only judged for models without their gate") {
  for (const std::string gating : {"on", "off"}) {
    const Verdict verdict = Drawn("mamba2", {{"layers", "32"}, {"gating", gating}})
                                .curve("lambda=1.mu_normalized", {0.9, 0.0})
                                .verdict("lambda-skip/fig-1/mamba2/lambda-1-collapses");
    CHECK(verdict == (gating == "on" ? Verdict::not_applicable : Verdict::holds));
  }
}

TEST_CASE("[LambdaSkip] Figure 1 shows Mamba-2; claims about other models are ours") {
  const auto claim_of = [](const std::string& model, const FlagValues& flags) {
    return Drawn(model, flags)
        .curve("lambda=1.mu_normalized", {0.9, 0.0})
        .claim("lambda-skip/fig-1/" + model + "/lambda-1-collapses");
  };
  const Claim shown = claim_of("mamba2", {{"layers", "32"}, {"gating", "off"}}),
              other = claim_of("attention", {{"layers", "32"}});
  CHECK(shown.statement_id == "lambda-skip/fig-1");
  CHECK(shown.kind == Kind::reading);
  CHECK(shown.detail.ends_with("32 untrained layers; the figure shows 64 trained ones"));
  CHECK(other.statement_id == "lambda-skip/fig-1");
  CHECK(other.kind == Kind::beyond);
  CHECK(other.part == Part::ours);
  CHECK(other.threshold.empty());
}

TEST_CASE("[LambdaSkip] Figure 1: after too few layers, missing collapse is not judged") {
  Drawn drawn("mamba2", {{"layers", "31"}, {"gating", "off"}});
  drawn.curve("lambda=1.mu_normalized", {0.9, 0.5});
  CHECK(drawn.verdict("lambda-skip/fig-1/mamba2/lambda-1-collapses") == Verdict::not_applicable);
  CHECK(drawn.verdict("lambda-skip/fig-1/mamba2/large-lambda-keeps") ==
        Verdict::not_applicable);  // no large lambda was run
}

TEST_CASE("verdicts about [Shallow] Figure 1 for given curves") {
  const auto judged = [](const std::string& claim, const std::vector<double>& t_sim,
                         const std::vector<double>& t_cos) {
    return Drawn("bert")
        .curve("lambda=1.token_similarity", t_sim)
        .curve("lambda=1.cosine_similarity", t_cos)
        .verdict("shallow/fig-1-" + claim + "/bert");
  };
  CHECK(judged("token-similarity", {0, 0.5, 1}, {0, 0.5, 1}) == Verdict::holds);
  CHECK(judged("token-similarity", {0, 0.5, 0.6}, {0, 0.5, 1}) == Verdict::fails);
  CHECK(judged("cosine-similarity", {0, 0.5, 1}, {0, 0.5, 0.6}) == Verdict::fails);
  CHECK(judged("same-curve", {0, 0.5, 1}, {0, 0.49, 1}) == Verdict::holds);
  CHECK(judged("same-curve", {0, 0.9, 1}, {0, 0.1, 1}) == Verdict::fails);
}

TEST_CASE("[Shallow] Figure 1 with dropout is judged by its own curve") {
  const auto judged = [](const std::string& claim, double without, double with) {
    Drawn drawn("bert", {{"dropout", "0.1"}});
    for (const auto& [curve, last] : {std::pair("lambda=1", without), {"dropout=0.1", with}}) {
      for (const std::string similarity : {".token_similarity", ".cosine_similarity"})
        drawn.curve(curve + similarity, {0, 0.5, last});
    }
    return drawn.verdict("shallow/fig-1-" + claim);
  };
  for (const std::string similarity : {"token-similarity/bert", "cosine-similarity/bert"}) {
    CHECK(judged(similarity, 1, 0.6) == Verdict::holds);
    CHECK(judged(similarity + "/dropout", 1, 0.6) == Verdict::fails);
    CHECK(judged(similarity + "/dropout", 0.6, 1) == Verdict::holds);
  }
  CHECK(judged("same-curve/bert/dropout", 1, 1) == Verdict::holds);
  // The figure has no dropout.
  const Result both = run_layers({{"model", "bert"}, {"dropout", "0.1"}});
  for (const char* claim : {"token-similarity", "cosine-similarity", "same-curve"}) {
    const std::string id = "shallow/fig-1-" + std::string(claim) + "/bert";
    CHECK(find_claim(both, id).kind == Kind::reading);
    CHECK(find_claim(both, id + "/dropout").kind == Kind::beyond);
    CHECK(find_claim(both, id + "/dropout").threshold.empty());
  }
}

TEST_CASE("verdicts about [Shallow] Figure 4 for given curves") {
  const auto judged = [](const std::string& claim, const std::vector<double>& t_sim,
                         const std::vector<double>& norm, const std::vector<double>& normed,
                         const std::vector<double>& post_norm) {
    return Drawn("pre-norm", {{"also", "post-norm"}})
        .curve("lambda=1.token_similarity", t_sim)
        .curve("lambda=1.norm", norm)
        .curve("lambda=1.branch_input_norm", normed)
        .curve("post-norm.lambda=1.token_similarity", post_norm)
        .verdict("shallow/fig-4-" + claim);
  };
  const std::vector<double> rising = {0.1, 0.2, 0.3}, steep = {0.1, 0.6, 0.9},
                            falling = {0.3, 0.2, 0.1}, flat = {5, 5};
  for (const std::string claim : {"similarity-rises", "norm-grows", "normed-constant", "slower"}) {
    CAPTURE(claim);
    CHECK(judged(claim, rising, {1, 2, 3}, flat, steep) == Verdict::holds);
    CHECK(judged(claim, falling, {3, 2, 1}, {5, 7}, {0.1, 0.1, 0.05}) == Verdict::fails);
  }
}

TEST_CASE(
    "[Shallow] Section 3.1: attention's role is its input over the residual, not its output") {
  const auto judged = [](const std::string& part, const std::vector<double>& norm,
                         const std::vector<double>& input, const std::vector<double>& output) {
    return Drawn("pre-norm")
        .curve("lambda=1.norm", norm)
        .curve("lambda=1.branch_input_norm", input)
        .curve("lambda=1.branch_output_norm", output)
        .claim("shallow/sec-3.1/" + part);
  };
  const std::vector<double> grows = {1, 2, 4};
  CHECK(judged("input", grows, {5, 5}, {1, 3}).verdict == Verdict::holds);
  CHECK(judged("input", grows, {5, 11}, {1, 1}).verdict == Verdict::fails);
  CHECK(judged("output", grows, {5, 5}, {1, 3}).verdict == Verdict::fails);
  CHECK(judged("output", grows, {5, 11}, {1, 1}).verdict == Verdict::holds);
  CHECK(judged("input", grows, {5, 5}, {1, 1}).kind == Kind::asymptotic);
  CHECK(judged("output", grows, {5, 5}, {1, 1}).kind == Kind::beyond);
}

TEST_CASE("verdicts about [Shallow] Figure 5 for given curves, before and after the operation") {
  const auto judged = [](const std::string& tau, double before, double after,
                         const std::string& when) {
    return Drawn("post-norm", {{"tau", tau}})
        .curve("tau=" + tau + ".before.token_diversity", {0.9, before})
        .curve("tau=" + tau + ".token_diversity", {0.9, after})
        .verdict("shallow/fig-5-tau-" + tau + "/" + when);
  };
  struct Level {
    const char* tau;
    double around, away;
  };
  for (const Level& level : {Level{"0.1", 0.05, 0.3}, {"0.5", 0.45, 0.3}, {"1", 0.95, 0.8}}) {
    CAPTURE(level.tau);
    CHECK(judged(level.tau, level.around, level.away, "before") == Verdict::holds);
    CHECK(judged(level.tau, level.around, level.away, "after") == Verdict::fails);
    CHECK(judged(level.tau, level.away, level.around, "before") == Verdict::fails);
    CHECK(judged(level.tau, level.away, level.around, "after") == Verdict::holds);
  }
  const auto claim_of = [](const std::string& tau, const std::string& variance) {
    return Drawn("post-norm", {{"tau", tau}, {"weight-variance", variance}})
        .claim("shallow/fig-5-tau-" + tau + "/after");
  };
  CHECK(claim_of("0.5", "1/d").kind == Kind::reading);
  CHECK(claim_of("0.5", "1/d").threshold == "within 0.1, ours");
  CHECK(Drawn("post-norm", {{"tau", "0.5"}}).claim("shallow/fig-5-tau-0.5/before").kind ==
        Kind::beyond);
  CHECK(claim_of("0.5", "h/d").detail.find("the entries of W have variance h/d") !=
        std::string::npos);
  CHECK(claim_of("1", "1/d").detail.find("variance") == std::string::npos);
}

}  // namespace layers_test
