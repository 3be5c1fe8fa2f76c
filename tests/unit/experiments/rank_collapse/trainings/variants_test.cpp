// Verdicts that compare variants, on handmade records, and the runs, names and defaults behind
// them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "experiments/rank_collapse/trainings/train.hpp"
#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace variants_test {

using namespace ranklab;
using namespace ranklab::train;

namespace {

train::Config images_config() {
  train::Config config;
  config.task = "patches";
  config.variant = {"post", "pre", "de-escalated"};
  config.layers = {3, 6};
  config.lr_post = {0.001, 0.0005};
  config.train_size = config.test_size = 50;
  config.fill_defaults();
  return config;
}

/// The text in `folder` has four letters of equal frequency, so its entropy is ln 4.
train::Config text_config(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "abcd";
  write_file_atomically(folder / "text.txt", text);
  train::Config config;
  config.task = "text";
  config.text = folder / "text.txt";
  config.variant = {"post", "pre", "de-escalated"};
  config.mean = {"strict", "segment"};
  config.layers = {3};
  config.length = 4;
  config.fill_defaults();
  return config;
}

struct RunValues {
  double loss = 1, excess = 0, branch = 1, gradient_of_first = 1, last_cosine = 0.96;
};

class Judged {
 public:
  explicit Judged(const train::Config& config) : config_(config) {
    for (const train::Run& run : config_.runs()) values_[run.name()] = {};
  }
  RunValues& operator[](const std::string& run) {
    REQUIRE_MESSAGE(values_.contains(run), run);
    return values_.at(run);
  }
  /// The claims in the order in which they are judged.
  std::vector<Claim> claims() const {
    Records records(3);
    for (const train::Run& run : config_.runs()) {
      const RunValues& values = values_.at(run.name());
      for (std::size_t t = 0; t < records.size(); ++t) {
        const std::string prefix = run.name() + ".";
        const std::vector<double> blocks(run.layers, 1), representations(run.layers + 1, 0.97);
        records[t].set(prefix + std::string(final_train_loss),
                       values.loss + 0.0003 * static_cast<double>(t * t));
        records[t].set(prefix + std::string(diverged), std::isnan(values.loss));
        records[t].set(prefix + std::string(future_excess), values.excess);
        for (const std::string& moment : moments) {
          std::vector<double> branch(run.layers,
                                     values.branch * (1 + 0.001 * static_cast<double>(t))),
              gradients = blocks, cosines = representations;
          branch.front() = run.variant == "pre" ? 0.1 : 0.05;  // the first block does not count
          gradients.front() = values.gradient_of_first;
          cosines.back() = values.last_cosine;
          records[t].set(run.key(moment, branch_ratio), branch);
          records[t].set(run.key(moment, block_gradient), gradients);
          records[t].set(run.key(moment, token_similarity), representations);
          records[t].set(run.key(moment, cosine), cosines);
        }
      }
    }
    Claims claims;
    judge_variants({config_, records}, claims);
    return claims.list();
  }
  bool has(const std::string& id) const {
    const std::vector<Claim> all = claims();
    return std::any_of(all.begin(), all.end(),
                       [&](const Claim& claim) { return claim.id == "shallow/" + id; });
  }
  /// A claim and its verdict; the id omits "shallow/".
  Claim claim(const std::string& id) const {
    for (const Claim& claim : claims()) {
      if (claim.id == "shallow/" + id) return claim;
    }
    FAIL("no claim " << id);
    return {};
  }
  Verdict operator()(const std::string& id) const { return claim(id).verdict; }

 private:
  train::Config config_;
  std::map<std::string, RunValues> values_;
};

}  // namespace

TEST_CASE("images: the gap is judged at the same rate, at the best rate and against pre-norm") {
  Judged judged(images_config());
  const std::string post = "attention,post,L=3,lr=0.001", half = "attention,post,L=3,lr=0.0005";
  CHECK(judged("fig-6/L=3/gap") == Verdict::fails);
  judged[post].loss = 1.3;
  CHECK(judged("fig-6/L=3/gap") == Verdict::holds);
  CHECK(judged("fig-6/L=3/gap-at-best") == Verdict::fails);
  judged[half].loss = 1.2;
  CHECK(judged("fig-6/L=3/gap-at-best") == Verdict::holds);
  CHECK(judged("fig-6/L=3/gap-at-half-rate") == Verdict::holds);
  CHECK(judged("fig-6/L=3,lr=0.001/half-the-rate") == Verdict::holds);
  judged[half].loss = 1.4;
  CHECK(judged("fig-6/L=3,lr=0.001/half-the-rate") == Verdict::fails);
  judged["attention,pre,L=3"].loss = 1.01;
  CHECK(judged("fig-6/L=3/below-pre-norm") == Verdict::holds);
  judged["attention,pre,L=3"].loss = 0.99;
  CHECK(judged("fig-6/L=3/below-pre-norm") == Verdict::fails);
}

TEST_CASE("the gap is judged at the same rate, wherever that rate is in the list") {
  train::Config config = images_config();
  config.lr_post = {0.0005, 0.001};
  Judged judged(config);
  judged["attention,post,L=3,lr=0.001"].loss = 1.3;
  CHECK(judged("fig-6/L=3/gap") == Verdict::holds);
  CHECK(judged("fig-6/L=3/gap-at-best") == Verdict::fails);
}

TEST_CASE("losses are not compared if no variant is below guessing by a tenth of a nat") {
  Judged judged(images_config());
  const double guessing = std::log(10.0);
  const std::vector<std::string> curves = {"attention,post,L=3,lr=0.001",
                                           "attention,post,L=3,lr=0.0005", "attention,pre,L=3"};
  for (const std::string& curve : curves) judged[curve].loss = guessing + 0.3;
  const std::string name = "attention,de-escalated,L=3";
  judged[name].loss = guessing - 0.11;
  CHECK(judged("fig-6/L=3/gap") == Verdict::holds);
  CHECK(judged("fig-6/L=3,lr=0.001/half-the-rate") != Verdict::not_applicable);
  judged[name].loss = guessing - 0.09;
  for (const char* id : {"gap", "gap-at-half-rate", "gap-at-best", "below-pre-norm"})
    CHECK(judged("fig-6/L=3/" + std::string(id)) == Verdict::not_applicable);
  CHECK(judged("fig-6/L=3,lr=0.001/half-the-rate") == Verdict::not_applicable);
  CHECK(judged("fig-6/L=6/below-pre-norm") != Verdict::not_applicable);
}

TEST_CASE("claims are about Figure 6 from half of its depth on, with one start and no warm-up") {
  train::Config config = images_config();
  config.layers = {39, 40};
  config.warmup_post = {0, 20};
  const Judged judged(config);
  for (const char* id : {"gap-at-half-rate", "below-pre-norm"}) {
    CAPTURE(id);
    CHECK(judged.claim("fig-6/L=39/" + std::string(id)).kind == Kind::beyond);
    const Claim deep = judged.claim("fig-6/L=40/" + std::string(id));
    CHECK(deep.kind == (std::string(id) == "below-pre-norm" ? Kind::figure : Kind::reading));
    CHECK(deep.part == Part::statement);
    CHECK(deep.statement_id == "shallow/fig-6");
  }
  const Claim half = judged.claim("fig-6/L=40,lr=0.001,warmup=0/half-the-rate");
  CHECK(half.kind == Kind::figure);
  CHECK(half.part == Part::text);
  for (const char* id :
       {"L=39,lr=0.001,warmup=0/half-the-rate", "L=40,lr=0.001,warmup=20/half-the-rate", "L=40/gap",
        "L=40/gap-at-best", "L=40/similarities-together"}) {
    CAPTURE(id);
    CHECK(judged.claim("fig-6/" + std::string(id)).kind == Kind::beyond);
    CHECK(judged.claim("fig-6/" + std::string(id)).part == Part::ours);
  }
  CHECK(judged.claim("fig-6/L=40/similarities-together").statement_id == "shallow/fig-1");
  CHECK(judged.claim("fig-1-gradient/L=40/start").kind == Kind::beyond);

  config.init = {"alg1", "torch"};
  config.warmup_post = {};
  const Judged starts(config);
  CHECK(starts.claim("fig-6/L=40,init=alg1/gap").kind == Kind::beyond);
  const Claim share = starts.claim("sec-1.3/L=40,init=alg1/share-of-pre-norm/start");
  CHECK(share.kind == Kind::beyond);
  CHECK(share.statement_id == "shallow/sec-1.3");
}

TEST_CASE("claims are about Figure 7 from half of its depth on, as about Figure 6") {
  const TemporaryFolder folder;
  train::Config config = text_config(folder);
  const auto kind = [&](const std::string& init, std::uint64_t layers, const std::string& rest) {
    config.init = {init};
    config.layers = {layers};
    return Judged(config).claim("fig-7/L=" + std::to_string(layers) + rest).kind;
  };
  for (const char* id : {",mean=segment/gap", ",mean=segment/like-pre-norm", "/post-norm-fails",
                         ",mean=strict/gap", ",mean=strict/like-pre-norm"}) {
    CAPTURE(id);
    for (const char* init : {"normal", "alg1"}) {
      CHECK(kind(init, 30, id) == Kind::reading);
      CHECK(kind(init, 29, id) == Kind::beyond);
    }
  }
}

TEST_CASE("text: the mean over a segment shows later tokens, the mean over earlier ones does not") {
  const TemporaryFolder folder;
  train::Config config = text_config(folder);
  Judged judged(config);
  const std::string id = "sec-3.4/L=3/later-tokens/";
  for (const char* form : {"as-printed", "corrected"}) CHECK(judged(id + form) == Verdict::holds);
  judged["attention,de-escalated,L=3,mean=segment"].excess = 0.2;
  CHECK(judged(id + "as-printed") == Verdict::fails);
  CHECK(judged(id + "corrected") == Verdict::holds);
  CHECK(judged.claim(id + "as-printed").slip == "shallow/sec-3.4/later-tokens");
  CHECK(judged.claim(id + "as-printed").part == Part::definition);
  judged["attention,de-escalated,L=3,mean=strict"].excess = 0.2;
  CHECK(judged(id + "corrected") == Verdict::fails);
  config.mean = {"strict"};
  CHECK_FALSE(Judged(config).has(id + "corrected"));
}

TEST_CASE("removals: places are compared at the same tau, and a learned tau with its start") {
  train::Config config = images_config();
  config.lr_post = {};
  config.layers = {3};
  config.tau = 0.5;
  config.removal = {"end:0.5", "ffn:1", "ffn:0.5", "ffn:learned", "branch:1"};
  Judged judged(config);
  const std::string run = "attention,de-escalated,L=3,removal=", id = "sec-3.5/L=3,removal=";
  const Claim gap = judged.claim(id + "ffn:1/gap");
  CHECK(gap.kind == Kind::reading);
  CHECK(gap.statement_id == "shallow/sec-3.5");
  CHECK(judged.claim(id + "branch:1/gap").kind == Kind::reading);
  for (const char* ours : {"ffn:1/below-pre-norm", "branch:1/like-at-ffn", "ffn:0.5/like-at-end",
                           "ffn:learned/below-fixed"})
    CHECK(judged.claim(id + ours).kind == Kind::beyond);
  CHECK(judged(id + "ffn:1/gap") == Verdict::fails);
  judged[run + "ffn:1"].loss = 0.7;
  CHECK(judged(id + "ffn:1/gap") == Verdict::holds);
  CHECK(judged(id + "ffn:1/below-pre-norm") == Verdict::holds);
  CHECK_FALSE(judged.has(id + "ffn:1/like-at-end"));
  CHECK_FALSE(judged.has(id + "ffn:learned/like-at-end"));
  CHECK(judged(id + "ffn:0.5/like-at-end") == Verdict::holds);
  judged[run + "ffn:0.5"].loss = 0.8;
  CHECK(judged(id + "ffn:0.5/like-at-end") == Verdict::fails);
  CHECK(judged(id + "ffn:learned/below-fixed") == Verdict::fails);
  judged[run + "ffn:learned"].loss = 0.75;
  CHECK(judged(id + "ffn:learned/below-fixed") == Verdict::holds);
}

TEST_CASE("removals: each word sets a place and a tau; without words --at and --tau do") {
  train::Config config = images_config();
  config.variant = {"de-escalated"};
  config.layers = {3};
  config.tau = 0.25;
  config.at = "ffn";
  REQUIRE(config.runs().size() == 1);
  CHECK(config.runs()[0].removal.at == "ffn");
  CHECK(config.runs()[0].removal.tau == 0.25);
  config.removal = {"branch:learned", "end:1"};
  const std::vector<train::Run> runs = config.runs();
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].removal.at == "branch");
  CHECK(runs[0].removal.tau == 0.25);
  CHECK(runs[0].removal.learned);
  CHECK(runs[1].removal.at == "end");
  CHECK(runs[1].removal.tau == 1);
  CHECK_FALSE(runs[1].removal.learned);
  for (const char* word : {"end", "end:", "end:1.1", "end:-0.1", "middle:1", "ffn:learn"}) {
    config.removal = {word};
    CHECK_THROWS_AS(config.runs(), UsageError);
  }
}

TEST_CASE("the share of attention is compared over blocks from the second on, if starts differ") {
  train::Config config = images_config();
  config.lr_post = {};
  config.init = {"alg1", "torch"};
  Judged judged(config);
  const std::string of = "L=3,init=torch", id = "sec-1.3/" + of + "/share-of-";
  judged["attention,de-escalated," + of].branch = 1.1;
  CHECK(judged(id + "pre-norm/start") == Verdict::holds);
  CHECK(judged(id + "post-norm/end") == Verdict::holds);
  judged["attention,pre," + of].branch = 1.2;
  CHECK(judged(id + "pre-norm/start") == Verdict::fails);
  CHECK(judged(id + "post-norm/start") == Verdict::holds);
  judged["attention,post," + of].branch = 1.2;
  CHECK(judged(id + "post-norm/end") == Verdict::fails);
}

TEST_CASE("a run that diverged has the loss of guessing") {
  Judged judged(images_config());
  judged["attention,post,L=3,lr=0.001"].loss = std::nan("");
  CHECK(judged("fig-6/L=3/gap") == Verdict::holds);  // ln 10 is compared with 1
}

TEST_CASE("the gradients and the similarities are judged from their own numbers") {
  Judged judged(images_config());
  for (const auto& [of_first, verdict] : {std::pair(9.0, Verdict::holds),
                                          {11.0, Verdict::fails},
                                          {0.09, Verdict::fails},
                                          {0.0, Verdict::fails}}) {
    judged["attention,post,L=3,lr=0.001"].gradient_of_first = of_first;
    CHECK(judged("fig-1-gradient/L=3/start") == verdict);
    CHECK(judged("fig-1-gradient/L=3/eighth") == verdict);
  }
  CHECK(judged("fig-6/L=3/similarities-together") == Verdict::holds);
  judged["attention,post,L=3,lr=0.001"].last_cosine = 0.9;
  CHECK(judged("fig-6/L=3/similarities-together") == Verdict::fails);
}

TEST_CASE(
    "text: a model fails if it stays at the entropy, 0.1 nats count as equal, a leak makes claims "
    "void") {
  const TemporaryFolder folder;
  const train::Config config = text_config(folder);
  CHECK(Task(config).guessing_loss() == doctest::Approx(std::log(4.0)));
  Judged judged(config);
  CHECK(judged("fig-7/L=3/post-norm-fails") == Verdict::fails);
  judged["attention,post,L=3"].loss = std::log(4.0) - 0.04;
  CHECK(judged("fig-7/L=3/post-norm-fails") == Verdict::holds);
  CHECK(judged("fig-7/L=3,mean=strict/like-pre-norm") == Verdict::holds);
  judged["attention,de-escalated,L=3,mean=strict"].loss = 1.12;
  CHECK(judged("fig-7/L=3,mean=strict/like-pre-norm") == Verdict::fails);
  CHECK(judged("fig-7/L=3,mean=segment/gap") == Verdict::holds);
  judged["attention,de-escalated,L=3,mean=segment"].excess = 0.2;
  for (const char* id : {"gap", "like-pre-norm"}) {
    const Claim claim = judged.claim(std::string("fig-7/L=3,mean=segment/") + id);
    CHECK(claim.verdict == Verdict::not_applicable);
    CHECK(claim.detail.find("raises the loss by 0.2 nats") != std::string::npos);
  }
  CHECK(judged("fig-7/L=3,mean=strict/gap") == Verdict::holds);
}

TEST_CASE("the defaults of the tasks follow the two papers") {
  train::Config config = images_config();
  CHECK(config.init == std::vector<std::string>{"alg1"});
  CHECK(config.patch == 7);
  CHECK(config.readout == "class");
  CHECK(config.at == "end");
  CHECK(config.mean == std::vector<std::string>{"segment"});
  CHECK(config.schedule == "steps");
  CHECK(config.clip == 0);
  const std::vector<train::Run> runs = config.runs();
  CHECK(runs.front().warmup == 0);
  SequenceShape shape = shape_of(config, runs.front(), expected_shape(config));
  CHECK(shape.length == 17);
  CHECK(shape.inputs == 49);
  CHECK(shape.class_token);
  CHECK(shape.has_final_norm());
  CHECK_FALSE(shape.maps.output);
  CHECK(shape.post);
  CHECK_FALSE(shape.de_escalation);

  train::Config text;
  text.task = "text";
  text.variant = {"de-escalated"};
  text.layers = {2};
  text.init = {"torch"};
  text.fill_defaults();
  CHECK(text.vocab == "char");
  CHECK(text.weight_decay() == 0);
  shape = shape_of(text, text.runs().front(), expected_shape(text));
  CHECK(shape.relative);
  CHECK(shape.scaled_table);
  CHECK(shape.output_bias);
  CHECK_FALSE(shape.has_final_norm());
  CHECK(shape.maps.output);
  CHECK(shape.maps.output_bias);
  REQUIRE(shape.de_escalation);
  CHECK(shape.de_escalation->mean == MeanOver::strict);
  CHECK(shape.de_escalation->at == DeEscalation::At::feed_forward);
  CHECK(shape.de_escalation->length == 32);

  train::Config of_lambda;
  of_lambda.task = "text";
  of_lambda.fill_defaults();
  CHECK(of_lambda.positions == "learned");
  CHECK(of_lambda.schedule == "cosine");
  CHECK(of_lambda.clip == 1);
  CHECK(of_lambda.heads == 1);
}

TEST_CASE("runs vary over rates and warm-ups of post, and over means of de-escalated") {
  train::Config config = images_config();
  config.layers = {3};
  config.warmup_post = {0, 5};
  config.mean = {"segment", "prefix"};
  std::vector<std::string> names;
  for (const train::Run& run : config.runs()) names.push_back(run.name());
  CHECK(names == std::vector<std::string>{
                     "attention,post,L=3,lr=0.001,warmup=0", "attention,post,L=3,lr=0.001,warmup=5",
                     "attention,post,L=3,lr=0.0005,warmup=0",
                     "attention,post,L=3,lr=0.0005,warmup=5", "attention,pre,L=3",
                     "attention,de-escalated,L=3,mean=segment",
                     "attention,de-escalated,L=3,mean=prefix"});
  config.lr_post = {0.01};
  config.warmup_post = {};
  const std::vector<train::Run> runs = config.runs();
  CHECK(runs.front().name() == "attention,post,L=3");
  CHECK(runs.front().lr == 0.01);
  CHECK(runs[1].lr == 0.001);
}

}  // namespace variants_test
