// The settings of a stacked model: the defaults of each model, refused settings, and the sizes of
// published models.
#include "nn/blocks/model_spec.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "core/error.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/checkpoints/unread_checkpoint.hpp"

namespace model_spec_test {

using namespace ranklab;

namespace {

ModelSpec named(const std::string& model) {
  ModelSpec spec;
  spec.model = model;
  return spec;
}

ModelSpec settled(
    const std::string& model, const std::function<void(ModelSpec&)>& change = [](ModelSpec&) {}) {
  ModelSpec spec = named(model);
  change(spec);
  resolve_defaults(spec);
  return spec;
}

std::string refusal(const std::string& model, const std::function<void(ModelSpec&)>& change) {
  try {
    settled(model, change);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// All fields as one string, to compare two specs.
std::string text(const ModelSpec& s) {
  std::string out;
  for (const std::string& word :
       {s.model, s.norm, s.gating, s.mlp, s.share_weights, s.input, s.weight_variance,
        s.value_weights, s.lambda_at, s.skip_at, s.skip_input, s.norm_off, s.activation}) {
    out += word + " ";
  }
  for (const std::uint64_t size : {s.layers, s.tokens, s.dim, s.heads, s.ffn, s.state, s.embedding,
                                   s.vocabulary, s.positions, s.groups, s.taps}) {
    out += std::to_string(size) + " ";
  }
  for (const double x : {s.cone_width, s.alpha, s.weight_scale, s.decay, s.zipf, s.norm_epsilon}) {
    out += std::to_string(x) + " ";
  }
  return out;
}

struct Expected {
  std::string model;
  std::uint64_t heads, ffn, state, vocabulary;  // at d = 256
  std::string norm, gating, mlp, share_weights, input;
  std::uint64_t positions = 512;
  std::string activation = "relu";
  double norm_epsilon = 1e-5;
};

const std::vector<Expected>& expected_values() {
  static const std::vector<Expected> table = {
      {"attention", 1, 512, 64, 1000, "rows", "off", "off", "off", "gaussian"},
      {"linear-attention", 1, 512, 64, 1000, "rows", "off", "off", "off", "gaussian"},
      {"lti-ssm", 1, 512, 64, 1000, "rows", "off", "off", "off", "gaussian"},
      {"selective-ssm", 1, 512, 64, 1000, "rows", "off", "off", "off", "gaussian"},
      {"s4d", 1, 512, 64, 1000, "layer", "off", "off", "off", "gaussian"},
      {"mamba2", 8, 512, 128, 50288, "rms", "on", "off", "off",
       "tokens"},  // 2 d channels in heads of 64
      {"mamba1", 1, 512, 16, 50280, "rms", "on", "off", "off", "tokens"},
      {"post-norm", 4, 512, 64, 1000, "layer", "off", "on", "off", "gaussian"},
      {"pre-norm", 4, 512, 64, 1000, "layer", "off", "on", "off", "gaussian"},
      {"bert", 4, 1024, 64, 30522, "layer", "off", "on", "off", "tokens", 512, "gelu", 1e-12},
      {"albert", 4, 1024, 64, 30000, "layer", "off", "on", "on", "tokens", 512, "gelu-tanh", 1e-12},
      {"gpt2", 4, 1024, 64, 50257, "layer", "off", "on", "off", "tokens", 1024, "gelu-tanh"},
  };
  return table;
}

bool has(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "model spec: every model gets its own defaults, and resolving them again changes nothing") {
  CHECK(expected_values().size() == model_names().size());
  for (const Expected& expected : expected_values()) {
    CAPTURE(expected.model);
    ModelSpec spec = settled(expected.model);
    CHECK(spec.heads == expected.heads);
    CHECK(spec.ffn == expected.ffn);
    CHECK(spec.state == expected.state);
    CHECK(spec.vocabulary == expected.vocabulary);
    CHECK(spec.embedding == 128);
    CHECK(spec.norm == expected.norm);
    CHECK(spec.gating == expected.gating);
    CHECK(spec.mlp == expected.mlp);
    CHECK(spec.share_weights == expected.share_weights);
    CHECK(spec.input == expected.input);
    CHECK(spec.positions == expected.positions);
    CHECK(spec.activation == expected.activation);
    CHECK(spec.norm_epsilon == expected.norm_epsilon);
    CHECK(spec.groups == 1);
    CHECK(spec.taps == 4);
    CHECK(spec.zipf == 0);
    CHECK(spec.has_gate() == (expected.gating == "on"));
    CHECK(spec.has_mlp() == (expected.mlp == "on"));
    CHECK(spec.shares_weights() == (expected.model == "albert"));
    const std::string once = text(spec);
    resolve_defaults(spec);
    CHECK(text(spec) == once);
  }
}

TEST_CASE("model spec: given values are kept") {
  const ModelSpec spec = settled("bert", [](ModelSpec& s) {
    s.dim = 96;
    s.heads = 3;
    s.ffn = 100;
    s.vocabulary = 77;
    s.norm = "none";
    s.mlp = "off";
    s.share_weights = "on";
    s.input = "gaussian";
  });
  CHECK(spec.heads == 3);
  CHECK(spec.ffn == 100);
  CHECK(spec.vocabulary == 77);
  CHECK(spec.norm == "none");
  CHECK_FALSE(spec.has_mlp());
  CHECK(spec.shares_weights());
  CHECK(spec.input == "gaussian");
  CHECK(spec.embedding == 96);  // at most d
  CHECK(settled("albert", [](ModelSpec& s) { s.embedding = 300; }).embedding == 300);
}

TEST_CASE("model spec: heads have 64 channels, or a number that divides the width") {
  const auto heads = [](const std::string& model, std::uint64_t dim) {
    return settled(model, [&](ModelSpec& s) { s.dim = dim; }).heads;
  };
  CHECK(heads("bert", 768) == 12);
  CHECK(heads("post-norm", 512) == 8);
  CHECK(heads("mamba2", 768) == 24);
  CHECK(heads("pre-norm", 96) == 3);   // gcd(64, 96) = 32
  CHECK(heads("post-norm", 7) == 7);   // gcd(64, 7) = 1
  CHECK(heads("post-norm", 32) == 1);  // narrower than a head
}

TEST_CASE(
    "model spec: a switch that a model lacks is refused with its flag and the models that have "
    "it") {
  struct Switch {
    std::string flag;
    std::function<void(ModelSpec&)> set;
    std::vector<std::string> models;
  };
  const std::vector<Switch> switches = {
      {"--gating", [](ModelSpec& s) { s.gating = "on"; }, {"mamba2", "mamba1"}},
      {"--mlp",
       [](ModelSpec& s) { s.mlp = "on"; },
       {"post-norm", "pre-norm", "bert", "albert", "gpt2"}},
      {"--alpha", [](ModelSpec& s) { s.alpha = 0.5; }, {"post-norm", "pre-norm"}},
      {"--weight-variance",
       [](ModelSpec& s) { s.weight_variance = "h/d"; },
       {"post-norm", "pre-norm"}},
      {"--decay", [](ModelSpec& s) { s.decay = 0.5; }, {"selective-ssm"}},
      {"--lambda-at", [](ModelSpec& s) { s.lambda_at = "both"; }, {"bert", "albert", "gpt2"}},
      {"--skip-at", [](ModelSpec& s) { s.skip_at = "mixer"; }, {"mamba2"}},
      {"--skip-input", [](ModelSpec& s) { s.skip_input = "normed"; }, {"mamba2"}},
      {"--norm-off", [](ModelSpec& s) { s.norm_off = "inner"; }, {"mamba2"}},
      {"--heads",
       [](ModelSpec& s) { s.heads = 2; },
       {"post-norm", "pre-norm", "bert", "albert", "gpt2", "mamba2"}},
  };
  for (const Switch& each : switches) {
    for (const std::string& model : model_names()) {
      CAPTURE(each.flag);
      CAPTURE(model);
      const bool allowed =
          std::find(each.models.begin(), each.models.end(), model) != each.models.end();
      const std::string message = refusal(model, each.set);
      CHECK(message.empty() == allowed);
      if (allowed) continue;
      CHECK(message.starts_with(each.flag));
      CHECK(has(message, "--model " + model));
      CHECK(has(message, "allowed with: "));
      for (const std::string& other : each.models) CHECK(has(message, other));
    }
  }
  // Off is allowed for every model.
  for (const std::string& model : model_names()) {
    CHECK(refusal(model, [](ModelSpec& s) { s.gating = s.mlp = s.share_weights = "off"; }).empty());
  }
}

TEST_CASE("model spec: norms that a model lacks and sizes that do not fit are refused") {
  for (const std::string& model : model_names()) {
    for (const std::string norm : {"rows", "layer", "rms", "none"}) {
      CAPTURE(model);
      CAPTURE(norm);
      const bool mamba = model.starts_with("mamba"),
                 layer_alone = model.ends_with("bert") || model == "gpt2";
      const bool allowed = norm == "none" || (!mamba && !layer_alone) || (mamba && norm == "rms") ||
                           (layer_alone && norm == "layer");
      const std::string message = refusal(model, [&](ModelSpec& s) { s.norm = norm; });
      CHECK(message.empty() == allowed);
      if (!allowed)
        CHECK(message.starts_with("--norm " + norm + " is not allowed with --model " + model));
    }
    const std::string lonely = refusal(model, [](ModelSpec& s) { s.tokens = 1; });
    CHECK(lonely.starts_with("--tokens 1 is not allowed"));
    CHECK(refusal(model, [](ModelSpec& s) { s.tokens = 2; }).empty());
  }
  CHECK(refusal("post-norm", [](ModelSpec& s) { s.heads = 3; }) ==
        "--heads 3 does not divide --dim 256");
  CHECK(refusal("mamba2", [](ModelSpec& s) { s.heads = 3; }) ==
        "--heads 3 does not divide 2 --dim = 512");
  CHECK(refusal("mamba2", [](ModelSpec& s) { s.heads = 512; }).empty());
  CHECK(refusal("s4d", [](ModelSpec& s) {
          s.state = 5;
        }).starts_with("--state 5 is not allowed with --model s4d"));
  CHECK(refusal("lti-ssm", [](ModelSpec& s) { s.state = 5; }).empty());
}

TEST_CASE("model spec: token ids require --input tokens") {
  const auto from_file = [](ModelSpec& s) { s.tokens_file = "ids.npy"; };
  const auto zipf = [](ModelSpec& s) { s.zipf = 1.1; };
  for (const std::string& model : model_names()) {
    CAPTURE(model);
    const auto with = [&](const std::string& input, const std::function<void(ModelSpec&)>& change) {
      return refusal(model, [&](ModelSpec& s) {
        s.input = input;
        change(s);
      });
    };
    CHECK(with("tokens", from_file).empty());
    CHECK(with("tokens", zipf).empty());
    for (const std::string input : {"gaussian", "cone"}) {
      CHECK(with(input, from_file) == "--tokens-file is not allowed with --input " + input +
                                          "; allowed with: --input tokens");
      CHECK(with(input, zipf) ==
            "--zipf is not allowed with --input " + input + "; allowed with: --input tokens");
    }
    const auto both = [&](ModelSpec& s) { from_file(s), zipf(s); };
    CHECK(with("tokens", both) ==
          "--zipf is not allowed with --tokens-file, which gives the token ids");
    // The model's default input decides if none is given.
    const bool tokens = settled(model).input == "tokens";
    CHECK(refusal(model, from_file).empty() == tokens);
    CHECK(refusal(model, zipf).empty() == tokens);
  }
}

TEST_CASE("model spec: settings that contradict published weights are refused") {
  for (const std::string model : {"mamba2", "bert", "albert", "gpt2"}) {
    CAPTURE(model);
    const auto loaded = [&](const std::function<void(ModelSpec&)>& change) {
      return refusal(model, [&](ModelSpec& s) {
        s.checkpoint = unread_checkpoint();
        change(s);
      });
    };
    CHECK(loaded([](ModelSpec&) {}).empty());
    CHECK(loaded([](ModelSpec& s) {
            s.weight_scale = 2;
          }).starts_with("--weight-scale is not allowed with --weights"));
    CHECK(refusal(model, [](ModelSpec& s) { s.weight_scale = 2; }).empty());
    for (const std::string input : {"gaussian", "cone"})
      CHECK(loaded([&](ModelSpec& s) { s.input = input; }).empty());
    const std::string unshared = loaded([](ModelSpec& s) { s.share_weights = "off"; });
    CHECK(unshared.empty() == (model != "albert"));
    if (model == "albert")
      CHECK(unshared.starts_with("--share-weights off is not allowed with --weights of albert"));
  }
}

TEST_CASE("model spec: invalid groups, taps and activations are refused") {
  const auto groups = [](std::uint64_t g) {
    return refusal("mamba2", [g](ModelSpec& s) { s.groups = g; });
  };
  for (const std::uint64_t g : {1u, 2u, 4u, 8u}) CHECK(groups(g).empty());  // of 8 heads
  CHECK(groups(3) == "--ssm-groups 3 does not divide the 8 heads of mamba2");
  CHECK(groups(0).empty());  // the default
  CHECK_FALSE(groups(16).empty());
  CHECK(has(refusal("bert", [](ModelSpec& s) { s.groups = 2; }),
            "--ssm-groups 2 is not allowed with --model bert; allowed with: mamba2"));
  CHECK(refusal("mamba2", [](ModelSpec& s) { s.taps = 0; }) ==
        "the convolution of mamba2 needs at least one tap");
  CHECK(refusal("mamba2", [](ModelSpec& s) { s.taps = 2; }).empty());
  CHECK(has(refusal("gpt2", [](ModelSpec& s) { s.activation = "silu"; }), "activation 'silu'"));
  CHECK(refusal("gpt2", [](ModelSpec& s) { s.activation = "relu"; }).empty());
}

TEST_CASE("model spec: given sequences determine the number of tokens") {
  const auto sequences =
      std::make_shared<TokenSequences>(TokenSequences{{1, 2, 3}, {1, 2, 3, 4, 5}, {1, 2}});
  CHECK(settled("gpt2", [&](ModelSpec& s) { s.sequences = sequences; }).tokens == 5);
  CHECK(settled("gpt2", [&](ModelSpec& s) { s.sequences = sequences, s.tokens = 4; }).tokens == 4);
}

TEST_CASE("model spec: the cost of a block grows with every relevant size") {
  for (const std::string& model : model_names()) {
    CAPTURE(model);
    const auto flops = [&](std::uint64_t tokens, std::uint64_t dim) {
      return flops_per_block(settled(model, [&](ModelSpec& s) {
        s.tokens = tokens;
        s.dim = dim;
      }));
    };
    CHECK(flops(64, 128) > 0);
    CHECK(flops(128, 128) >= 1.9 * flops(64, 128));
    CHECK(flops(64, 256) >= 1.5 * flops(64, 128));
  }
  // N^2 d for softmax attention, N d^2 for linear attention, at sizes for which these terms
  // dominate.
  const auto growth = [](const std::string& model, std::uint64_t tokens) {
    const auto at = [&](std::uint64_t N) {
      return flops_per_block(settled(model, [&](ModelSpec& s) { s.tokens = N, s.dim = 64; }));
    };
    return at(2 * tokens) / at(tokens);
  };
  CHECK(growth("attention", 100'000) > 3.9);
  CHECK(growth("linear-attention", 100'000) < 2.1);
}

}  // namespace model_spec_test
