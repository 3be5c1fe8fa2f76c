// config.json of the four families: which settings are read, and which are refused by name.
#include "nn/blocks/model_config.hpp"

#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <vector>

#include "io/complaint.hpp"

namespace model_config_test {

using namespace ranklab;

namespace {

ModelConfig config_of(const std::string& json) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "config.json", json);
  return read_model_config(folder / "config.json");
}

std::string complaint(const std::string& json) {
  return complaint_of("config.json", json, read_model_config);
}

// A config with this model type and one more entry.
std::string with(const std::string& type, const std::string& entry) {
  return R"({"model_type":")" + type + "\"," + entry + "}";
}

// A config of state-spaces: entries of ssm_cfg, and one entry outside it.
std::string state_spaces(const std::string& ssm, const std::string& entry = R"("d_model":8)") {
  return R"({"ssm_cfg":{"layer":"Mamba2")" + ssm + "}," + entry + "}";
}

}  // namespace

TEST_CASE("model config: a BERT config is read") {
  const ModelConfig config = config_of(R"({
    "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": false,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
    "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert", "num_attention_heads": 12,
    "num_hidden_layers": 11, "pad_token_id": 0, "position_embedding_type": "absolute", "type_vocab_size": 2, "use_cache": true,
    "vocab_size": 30522, "pruned_heads": {}, "is_decoder": false, "classifier_dropout": null})");
  CHECK(config.path.ends_with("/config.json"));
  CHECK(config.model == "bert");
  CHECK(config.layers == 11);
  CHECK(config.dim == 768);
  CHECK(config.heads == 12);
  CHECK(config.ffn == 3072);
  CHECK(!config.embedding);
  CHECK(config.vocabulary == 30522);
  CHECK(config.positions == 512);
  CHECK(config.norm_epsilon == 1e-12);
  CHECK(config.activation == "gelu");
  CHECK(config.heads->key == "num_attention_heads");
  for (const auto& missing :
       {config.state, config.groups, config.taps, config.head_width, config.expand})
    CHECK(!missing);
}

TEST_CASE("model config: an ALBERT config is read") {
  const ModelConfig config = config_of(R"({
    "architectures": ["AlbertForMaskedLM"], "down_scale_factor": 1, "embedding_size": 128, "gap_size": 0, "hidden_act": "gelu_new",
    "hidden_size": 768, "inner_group_num": 1, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "model_type": "albert", "net_structure_type": 0, "num_attention_heads": 12, "num_hidden_groups": 1, "num_hidden_layers": 12,
    "num_memory_blocks": 0, "type_vocab_size": 2, "vocab_size": 30000})");
  CHECK(config.model == "albert");
  CHECK(config.embedding == 128);
  CHECK(config.layers == 12);
  CHECK(config.activation == "gelu-tanh");
  CHECK(config.vocabulary == 30000);
}

TEST_CASE("model config: a GPT-2 config is read with its own keys and the common ones") {
  const ModelConfig config = config_of(R"({
    "activation_function": "gelu_new", "attn_pdrop": 0.1, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024,
    "n_embd": 768, "n_head": 12, "n_layer": 24, "n_positions": 1023, "n_inner": null, "reorder_and_upcast_attn": true,
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257})");
  CHECK(config.model == "gpt2");
  CHECK(config.layers == 24);
  CHECK(config.dim == 768);
  CHECK(config.heads == 12);
  CHECK(!config.ffn);
  CHECK(config.positions == 1023);
  CHECK(config.norm_epsilon == 1e-5);
  CHECK(config.activation == "gelu-tanh");
  const ModelConfig common =
      config_of(R"({"model_type": "gpt2", "hidden_size": 8, "num_attention_heads": 2, "n_head": 2,
    "num_hidden_layers": 3, "max_position_embeddings": 9, "n_inner": 17})");
  CHECK(common.dim == 8);
  CHECK(common.heads == 2);
  CHECK(common.layers == 3);
  CHECK(common.positions == 9);
  CHECK(common.ffn == 17);
  CHECK(!common.norm_epsilon);
}

TEST_CASE(
    "model config: a Mamba-2 config of transformers is read, with three spellings of infinity") {
  for (const char* limit :
       {"[0.0, Infinity]", "[0,Infinity\n]", R"([0.0, {"__float__": "Infinity"}])", "null"}) {
    const ModelConfig config = config_of(
        R"({"model_type": "mamba2", "hidden_size": 768, "num_hidden_layers": 24, "num_heads": 24,
      "head_dim": 64, "state_size": 128, "n_groups": 2, "expand": 3, "conv_kernel": 5, "vocab_size": 50288, "intermediate_size": 2304,
      "layer_norm_epsilon": 1e-05, "hidden_act": "silu", "use_bias": false, "use_conv_bias": true, "rms_norm": true,
      "norm_before_gate": true, "residual_in_fp32": true, "tie_word_embeddings": true, "time_step_limit": )" +
        std::string(limit) + R"(, "chunk_size": 256, "time_step_rank": "auto"})");
    CHECK(config.model == "mamba2");
    CHECK(config.layers == 24);
    CHECK(config.dim == 768);
    CHECK(config.heads == 24);
    CHECK(!config.ffn);
    CHECK(config.head_width == 64);
    CHECK(config.state == 128);
    CHECK(config.groups == 2);
    CHECK(config.expand == 3);
    CHECK(config.taps == 5);
    CHECK(config.vocabulary == 50288);
    CHECK(config.norm_epsilon == 1e-5);
    CHECK(config.activation == "silu");
  }
}

TEST_CASE("model config: a Mamba-2 config of state-spaces is read") {
  const ModelConfig published =
      config_of(R"({"d_model": 2560, "d_intermediate": 0, "n_layer": 64, "vocab_size": 50277,
    "ssm_cfg": {"layer": "Mamba2"}, "attn_layer_idx": [], "attn_cfg": {}, "rms_norm": true, "residual_in_fp32": true,
    "fused_add_norm": true, "pad_vocab_size_multiple": 16, "tie_embeddings": true})");
  CHECK(published.model == "mamba2");
  CHECK(published.dim == 2560);
  CHECK(published.layers == 64);
  CHECK(published.vocabulary == 50277);
  for (const auto& missing :
       {published.heads, published.state, published.groups, published.taps, published.head_width})
    CHECK(!missing);
  const ModelConfig full = config_of(state_spaces(
      R"(,"d_state":16,"headdim":4,"ngroups":2,"expand":3,"d_conv":5,"chunk_size":64,"d_ssm":null,"dt_limit":[0.0,Infinity])"));
  CHECK(full.state == 16);
  CHECK(full.state->key == "ssm_cfg.d_state");
  CHECK(full.head_width == 4);
  CHECK(full.groups == 2);
  CHECK(full.expand == 3);
  CHECK(full.taps == 5);
}

TEST_CASE("model config: other models and every spelling of Mamba-1 are refused") {
  CHECK(complaint(R"({"model_type":"llama"})") ==
        "config.json: model_type is 'llama', which is not supported; allowed: mamba2, bert, "
        "albert, gpt2");
  CHECK(complaint(R"({"model_type":"mamba"})") ==
        "config.json: model_type is 'mamba', which is not supported (it is Mamba-1); allowed: "
        "mamba2, bert, albert, gpt2");
  CHECK(complaint(R"({"model_type":"a\nb"})")
            .starts_with("config.json: model_type is 'a\\x0ab', which"));
  CHECK(complaint(R"({"model_type":3})") == "config.json: model_type is 3; it must be text");
  CHECK(complaint(R"({"hidden_size":3})") ==
        "config.json: model_type is missing, and there is no ssm_cfg of a Mamba-2 model; allowed: "
        "mamba2, "
        "bert, albert, gpt2");
  const std::string not_built = "Mamba-1 layers are not supported; allowed: \"Mamba2\"";
  for (const char* text :
       {R"({"d_model":8})", R"({"d_model":8,"ssm_cfg":{}})", R"({"ssm_cfg":{"d_state":16}})"})
    CHECK(complaint(text) ==
          "config.json: ssm_cfg.layer is not given, which means Mamba1; " + not_built);
  CHECK(complaint(R"({"ssm_cfg":{"layer":"Mamba1"}})") ==
        "config.json: ssm_cfg.layer is Mamba1; " + not_built);
  CHECK(complaint(R"({"ssm_cfg":{"layer":"Mamba3"}})") ==
        "config.json: ssm_cfg.layer is \"Mamba3\", which is not supported; allowed: \"Mamba2\"");
  CHECK(complaint(R"({"ssm_cfg":[]})") == "config.json: ssm_cfg is []; it must be an object");
}

TEST_CASE("model config: settings that change the equations are refused by name") {
  const auto refused = [](const std::string& json, const std::string& key, const std::string& said,
                          const std::string& allowed) {
    CHECK(complaint(json) ==
          "config.json: " + key + " is " + said + ", which is not supported; allowed: " + allowed);
  };
  struct Setting {
    const char *model, *key, *other, *built;
  };
  for (const auto& [model, key, other, built] : std::vector<Setting>{
           {"bert", "position_embedding_type", "\"relative_key\"", "\"absolute\""},
           {"albert", "position_embedding_type", "\"relative_key_query\"", "\"absolute\""},
           {"bert", "is_decoder", "true", "false"},
           {"bert", "add_cross_attention", "true", "false"},
           {"albert", "num_hidden_groups", "2", "1"},
           {"albert", "inner_group_num", "2", "1"},
           {"gpt2", "scale_attn_weights", "false", "true"},
           {"gpt2", "scale_attn_by_inverse_layer_idx", "true", "false"},
           {"gpt2", "add_cross_attention", "true", "false"},
           {"mamba2", "hidden_act", "\"relu\"", "\"silu\""},
           {"mamba2", "use_bias", "true", "false"},
           {"mamba2", "use_conv_bias", "false", "true"},
           {"mamba2", "rms_norm", "false", "true"},
           {"mamba2", "time_step_limit", "[0.0,100.0]", "[0.0, Infinity]"},
           {"mamba2", "time_step_limit", "[0.001,1e+308]", "[0.0, Infinity]"},
           {"mamba2", "time_step_limit", "[0.0,{\"__float__\":\"NaN\"}]", "[0.0, Infinity]"},
           {"mamba2", "time_step_limit", "[0.0]", "[0.0, Infinity]"},
           {"mamba2", "time_step_limit", "1.0", "[0.0, Infinity]"},
           {"bert", "pruned_heads", "{\"1\":[2]}", "an empty list"}}) {
    const std::string quoted = "\"" + std::string(key) + "\":";
    refused(with(model, quoted + other), key, other, built);
    CHECK(complaint(with(model, quoted + "null")) == "read");
    if (built[0] != 'a') CHECK(complaint(with(model, quoted + built)) == "read");
  }
  refused(state_spaces("", R"("d_intermediate":1536)"), "d_intermediate", "1536", "0");
  refused(state_spaces("", R"("attn_layer_idx":[9,18])"), "attn_layer_idx", "[9,18]",
          "an empty list");
  refused(state_spaces("", R"("rms_norm":false)"), "rms_norm", "false", "true");
  for (const auto& [key, other, built] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"norm_before_gate", "true", "false"},
           {"rmsnorm", "false", "true"},
           {"D_has_hdim", "true", "false"},
           {"bias", "true", "false"},
           {"conv_bias", "false", "true"},
           {"dt_limit", "[0.0,0.5]", "[0.0, Infinity]"}}) {
    refused(state_spaces(",\"" + key + "\":" + other), "ssm_cfg." + key, other, built);
    CHECK(complaint(state_spaces(",\"" + key + "\":" + built)) == "read");
  }
  CHECK(complaint(state_spaces(R"(,"d_ssm":8)")) ==
        "config.json: ssm_cfg.d_ssm is given, which is not supported; allowed: null");
}

TEST_CASE("model config: activations are read by name") {
  const auto of = [](const std::string& name) {
    return *config_of(with("bert", R"("hidden_act":")" + name + "\"")).activation;
  };
  CHECK(of("gelu") == "gelu");
  CHECK(of("gelu_new") == "gelu-tanh");
  CHECK(of("gelu_pytorch_tanh") == "gelu-tanh");
  CHECK(of("relu") == "relu");
  for (const char* name : {"silu", "tanh", "GELU", ""}) {
    CHECK(complaint(with("gpt2", R"("activation_function":")" + std::string(name) + "\"")) ==
          "config.json: activation_function is '" + std::string(name) +
              "', which is not supported; allowed: gelu, gelu_new, gelu_pytorch_tanh, relu");
  }
  CHECK(complaint(with("bert", R"("hidden_act":{"a":1})")) ==
        R"(config.json: hidden_act is {"a":1}; it must be text)");
}

TEST_CASE("model config: numbers must be integers or epsilons within bounds") {
  for (const char* wrong :
       {"0", "-1", "12.0", "1000001", "18446744073709551616", "\"12\"", "true", "[12]"}) {
    const std::string message = complaint(with("bert", R"("hidden_size":)" + std::string(wrong)));
    CHECK(message.starts_with("config.json: hidden_size is "));
    CHECK(message.ends_with("; it must be an integer from 1 to 1000000"));
  }
  CHECK(config_of(with("bert", R"("hidden_size":1000000)")).dim == 1000000);
  for (const char* wrong :
       {"0", "-1e-5", "1", "1e308", "Infinity", "-Infinity", "\"1e-5\"", "false"}) {
    const std::string message =
        complaint(with("bert", R"("layer_norm_eps":)" + std::string(wrong)));
    CHECK(message.starts_with("config.json: layer_norm_eps is "));
    CHECK(message.ends_with("; it must be a number above 0 and below 1"));
  }
  CHECK(complaint(with("gpt2", R"("n_embd":768,"hidden_size":1024)")) ==
        "config.json: hidden_size is 1024, and n_embd 768; both name the same size");
  CHECK(complaint(state_spaces(R"(,"d_state":0)")) ==
        "config.json: ssm_cfg.d_state is 0; it must be an integer from 1 to 1000000");
}

TEST_CASE("model config: Infinity is read only outside strings, and JSON is strict otherwise") {
  CHECK(complaint(R"({"model_type":"Infinity"})")
            .starts_with("config.json: model_type is 'Infinity', which"));
  CHECK(complaint(R"({"model_type":"\" Infinity "})")
            .starts_with("config.json: model_type is '\" Infinity ', which"));
  for (const char* wrong :
       {"Infinityx", "xInfinity", "1.5Infinity", "NaN", "infinity", "1e-Infinity"})
    CHECK(complaint(R"({"x":)" + std::string(wrong) + "}")
              .starts_with("config.json: not valid JSON, at byte "));
  CHECK(complaint(R"({"x":1e999})") == "config.json: a number is larger than any double");
  CHECK(complaint(R"({"model_type":"bert","model_type":"gpt2"})") ==
        "config.json: the key 'model_type' occurs twice in one object");
  CHECK(complaint(R"({"a":{"x":1,"b":[{"x":2}],"x":3}})") ==
        "config.json: the key 'x' occurs twice in one object");
  CHECK(complaint(with("bert", R"("a":{"x":1},"b":{"x":1})")) == "read");
  CHECK(complaint("{\"a\":" + std::string(1'000'000, '[')) ==
        "config.json: more than 64 nested lists and objects");
  CHECK(complaint(R"({"model_type":"bert"} {})") ==
        "config.json: not valid JSON, at byte 23 (unexpected '{'; expected end of input)");
  CHECK(complaint("{\"a\":\"\xff\"}").starts_with("config.json: not valid JSON, at byte "));
  for (const char* other : {"[]", "3", "null"})
    CHECK(complaint(other) == "config.json: a config must be a JSON object");
  CHECK(complaint("") == "cannot read config.json: it is empty");
  CHECK(complaint(std::string((1 << 26) + 1, ' ')) ==
        "config.json: 67108865 bytes are implausible for this file; at most 67108864 are read");
}

}  // namespace model_config_test
