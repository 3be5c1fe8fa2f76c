// A model of GPT-2's architecture is saved and loaded like published weights, and gives the same
// logits.
#include "nn/saved_weights.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/tolerances.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/tensor_file.hpp"
#include "nn/blocks/model_config.hpp"
#include "nn/blocks/stack.hpp"
#include "nn/checkpoints/loaded_tensors.hpp"
#include "nn/gpt.hpp"
#include "temporary_folder.hpp"

namespace saved_weights_test {

using namespace ranklab;

namespace {

const Streams trial(2, 0);

SequenceShape gpt2_shape(Norm norm = Norm::layer) {
  SequenceShape shape = gpt_shape(find_activation("gelu"), norm, true, false);
  shape.vocabulary = 23, shape.layers = 3, shape.dim = 12, shape.heads = 3, shape.length = 7;
  shape.hidden = 48;
  return shape;
}

InitialWeights gauss(const SequenceShape& shape) {
  return gpt_initial_weights("gauss", shape, trial);
}

}  // namespace

TEST_CASE_TEMPLATE("saved in GPT-2's layout, the blocks of rank-collapse give the same logits", T,
                   float, double) {
  const TemporaryFolder folder;
  // Small weights would hide the effect of attention, so the weights are Gaussian.
  SequenceModel<T> model(gpt2_shape(), gauss(gpt2_shape()));
  save_weights(model, folder / "model.safetensors");

  const auto checkpoint = Checkpoint::open(folder / "model.safetensors");
  CHECK(checkpoint->model() == "gpt2");
  CHECK(checkpoint->layers() == 3);
  ModelSpec spec;
  spec.model = "gpt2";
  spec.heads = 3;
  spec.layers = 3;
  checkpoint->take_sizes(spec);
  spec.activation = "gelu";
  spec.tokens = 7;
  resolve_defaults(spec);
  spec.norm_epsilon = 1e-5;
  checkpoint->check(spec);

  SequenceBatch<T> batch;
  for (std::uint32_t n = 0; n < 14; ++n)
    batch.ids.push_back((n * n + 5) % 23), batch.targets.push_back(0);
  model.forward(batch);
  for (const std::size_t first : {0u, 7u}) {
    const std::vector<std::uint32_t> ids(
        batch.ids.begin() + static_cast<std::ptrdiff_t>(first),
        batch.ids.begin() + static_cast<std::ptrdiff_t>(first) + 7);
    LoadedTensors<T> tables(checkpoint, "");
    State<T> state{embed_tokens<T>(spec, tables, ids)};
    for (std::uint64_t l = 0; l < 3; ++l) {
      LoadedTensors<T> tensors(checkpoint, "layer" + std::to_string(l) + ".");
      make_block<T>(spec, tensors)->forward(state, 1.0);
    }
    state.unscale();
    layer_norm(state.Y, 1e-5);
    const arma::Mat<T> logits = model.head()->W * state.Y;
    const arma::Mat<T> trained = model.logits().cols(first, first + 6);
    CHECK(arma::abs(trained).max() > 0.5);
    CHECK(arma::abs(logits - trained).max() <= (std::is_same_v<T, float> ? 1e-5 : 1e-12));
  }
  // As in the published layout, the file also contains the head and the norms.
  const auto stored = TensorFile::open(folder / "model.safetensors");
  for (const char* key :
       {"lm_head.weight", "transformer.ln_f.weight", "transformer.h.2.attn.c_attn.bias"})
    CHECK(stored.has(key));
  const auto config = nlohmann::json::parse(read_file(folder / "model.config.json"));
  CHECK(config.at("n_head") == 3);
  CHECK(config.at("activation_function") == "gelu");
}

TEST_CASE("the head is stored with one token per row") {
  const TemporaryFolder folder;
  const SequenceModel<double> model(gpt2_shape(), gauss(gpt2_shape()));
  save_weights(model, folder / "model.safetensors");
  const StoredTensor head = TensorFile::open(folder / "model.safetensors").tensor("lm_head.weight");
  const arma::mat& W = model.head()->W;
  CHECK(head.shape() == std::vector<std::uint64_t>{23, 12});
  CHECK(head.values().at(1 * 12 + 5) == W(1, 5));
}

TEST_CASE(
    "other architectures are saved under their parameter names, with one token per row in tables") {
  const TemporaryFolder folder;
  const SequenceShape shape = gpt2_shape(Norm::rms);
  const SequenceModel<double> model(shape, gauss(shape));
  save_weights(model, folder / "model.safetensors");
  const TensorFile file = TensorFile::open(folder / "model.safetensors");
  CHECK(file.keys().size() == model.parameters().size());
  CHECK(file.tensor("embedding").shape() == std::vector<std::uint64_t>{23, 12});
  CHECK(file.tensor("layer1.W1").shape() == std::vector<std::uint64_t>{48, 12});
  CHECK(file.tensor("layer1.W1").values().at(12 * 7 + 3) == gpt_layer(model, 1).W1.W(7, 3));
}

TEST_CASE("a trained model with biases is saved with all of them, if its activation is GPT-2's") {
  const TemporaryFolder folder;
  SequenceShape shape;
  shape.dim = 8, shape.hidden = 12, shape.heads = 2, shape.length = 5, shape.vocabulary = 7;
  shape.layers = 1;
  shape.maps.output_bias = true;
  shape.activation = &find_activation("gelu");
  const SequenceModel<double> model(shape, InitialWeights(Initialization::torch, trial));
  save_weights(model, folder / "model.safetensors");
  const TensorFile file = TensorFile::open(folder / "model.safetensors");
  const std::string layer = "transformer.h.0.";
  for (const auto& each : {std::pair{"attn.c_proj.bias", "mixer.bo"},
                           {"mlp.c_fc.bias", "b1"},
                           {"mlp.c_proj.bias", "b2"},
                           {"ln_1.weight", "norm1.gain"},
                           {"ln_2.bias", "norm2.bias"}}) {
    const std::string key = each.first, name = each.second;
    CAPTURE(key);
    const arma::mat& stored = model.parameter("layer0." + name).W;
    CHECK(file.tensor(layer + key).values().at(3) == stored(3));
  }
  CHECK_FALSE(file.has("lm_head.weight"));  // it is the table of the embedding
  CHECK(nlohmann::json::parse(read_file(folder / "model.config.json")).at("tie_word_embeddings") ==
        true);

  shape.activation = &find_activation("relu");
  save_weights(SequenceModel<double>(shape, InitialWeights(Initialization::torch, trial)),
               folder / "relu.safetensors");
  CHECK(TensorFile::open(folder / "relu.safetensors").has("layer0.mixer.Wo"));
}

}  // namespace saved_weights_test
