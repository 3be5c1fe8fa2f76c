// Invalid published weights: each error is one line that names the tensor.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "core/error.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/checkpoints/loaded_tensors.hpp"
#include "temporary_folder.hpp"
#include "tiny_checkpoint.hpp"

namespace checkpoint_errors_test {

using namespace ranklab;

namespace {

// The error message of `use` for the file without the folder's name, or "" if it does not throw.
std::string complaint(TinyCheckpoint& tiny, const std::function<void(const Checkpoint&)>& use) {
  const TemporaryFolder folder;
  tiny.write(folder / "w.safetensors");
  try {
    use(*Checkpoint::open(folder / "w.safetensors"));
  } catch (const Failure& failure) {
    std::string message = failure.what();
    const std::string path = folder.path() + "/";
    for (std::size_t at = message.find(path); at != std::string::npos; at = message.find(path))
      message.erase(at, path.size());
    CHECK(message.find('\n') == std::string::npos);
    return message;
  }
  return "";
}

// Takes the sizes and then checks the file, as a run does.
void take_and_check(const Checkpoint& checkpoint) {
  ModelSpec spec;
  checkpoint.take_sizes(spec);
  if (spec.model != "mamba2") spec.heads = 1;  // cannot be inferred from the shapes
  resolve_defaults(spec);
  checkpoint.check(spec);
}

std::string error_after(const std::string& model,
                        const std::function<void(TinyCheckpoint&)>& damage) {
  TinyCheckpoint tiny(model, {}, Dtype::f32);
  damage(tiny);
  return complaint(tiny, take_and_check);
}

std::string error_without(const std::string& model, const std::string& key) {
  return error_after(model, [&](TinyCheckpoint& tiny) { tiny.remove(key); });
}
std::string error_with_shape(const std::string& model, const std::string& key,
                             const std::vector<std::uint64_t>& shape) {
  return error_after(model, [&](TinyCheckpoint& tiny) { tiny.reshape(key, shape); });
}
std::string error_with_extra(const std::string& model, const std::string& key,
                             Dtype dtype = Dtype::f32) {
  return error_after(model, [&](TinyCheckpoint& tiny) { tiny.add(key, {2, 3}, dtype); });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("checkpoint: a missing tensor is named with the part that needs it") {
  CHECK(error_without("bert", "bert.encoder.layer.2.attention.self.key.bias") ==
        "w.safetensors: tensor 'bert.encoder.layer.2.attention.self.key.bias' is missing; the file "
        "holds bert, whose layer 2 needs "
        "it");
  CHECK(error_without("bert", "bert.embeddings.LayerNorm.weight") ==
        "w.safetensors: tensor 'bert.embeddings.LayerNorm.weight' (or "
        "bert.embeddings.LayerNorm.gamma) is missing; the file holds "
        "bert, whose embedding needs it");
  CHECK(error_without("gpt2", "transformer.wpe.weight") ==
        "w.safetensors: tensor 'transformer.wpe.weight' is missing; the file holds gpt2, whose "
        "embedding needs it");
}

TEST_CASE("checkpoint: the undamaged files of these tests are accepted") {
  for (const std::string model : {"mamba2", "bert", "albert", "gpt2"})
    CHECK(error_after(model, [](TinyCheckpoint&) {}).empty());
}

TEST_CASE("checkpoint: a file without any one tensor is refused, except for the last norm") {
  for (const std::string model : {"mamba2", "bert", "albert", "gpt2"}) {
    for (const TinyTensor& tensor : tiny_layout(model, {}, {})) {
      CAPTURE(tensor.key);
      const std::string error = error_without(model, tensor.key);
      const bool last_norm = tensor.name == "norm_f.weight" || tensor.name.starts_with("ln_f.");
      CHECK(error.empty() == last_norm);
      if (!last_norm) CHECK(has(error, "tensor '" + tensor.key + "' "));
    }
  }
}

TEST_CASE("checkpoint: any tensor with a wrong shape is named with both shapes") {
  for (const std::string model : {"mamba2", "bert", "albert", "gpt2"}) {
    for (const TinyTensor& tensor : tiny_layout(model, {}, {})) {
      for (std::size_t axis = 0; axis <= tensor.shape.size(); ++axis) {
        std::vector<std::uint64_t> shape = tensor.shape;
        if (axis == shape.size()) {
          shape.push_back(1);
        } else {
          ++shape[axis];
        }
        CAPTURE(tensor.key);
        CAPTURE(axis);
        // A table may have any number of rows. If a size was taken from this axis, a different
        // tensor does not fit.
        const bool rows_of_table =
            axis == 0 && (tensor.name == "embedding" || tensor.name == "position.weight" ||
                          tensor.name == "word.weight" || tensor.name == "type.weight" ||
                          tensor.name.starts_with("w"));
        const std::string error = error_with_shape(model, tensor.key, shape);
        CHECK(error.empty() == rows_of_table);
        CHECK((rows_of_table || (has(error, "w.safetensors: tensor '") && has(error, "expected"))));
      }
    }
  }
  CHECK(error_with_shape("gpt2", "transformer.h.0.attn.c_attn.weight", {18, 6}) ==
        "w.safetensors: tensor 'transformer.h.0.attn.c_attn.weight' is 18 x 6, expected 6 x 18");
  CHECK(error_with_shape("mamba2", "backbone.norm_f.weight", {7}) ==
        "w.safetensors: tensor 'backbone.norm_f.weight' is 7, expected 6");
  CHECK(error_with_shape("bert", "bert.embeddings.token_type_embeddings.weight", {1, 5}) ==
        "w.safetensors: tensor 'bert.embeddings.token_type_embeddings.weight' is 1 x 5, expected 1 "
        "x 6");
}

TEST_CASE("checkpoint: impossible sizes are refused") {
  CHECK(error_with_shape("bert", "bert.embeddings.word_embeddings.weight", {0, 6}) ==
        "w.safetensors: tensor 'bert.embeddings.word_embeddings.weight' is 0 x 6, expected 2 axes, "
        "all nonempty");
  CHECK(error_with_shape("gpt2", "transformer.wte.weight", {1u << 31, 0}) ==
        "w.safetensors: tensor 'transformer.wte.weight' is 2147483648 x 0, expected 2 axes, all "
        "nonempty");
  CHECK(error_with_shape("mamba2", "backbone.layers.0.mixer.dt_bias", {5}) ==
        "w.safetensors: tensor 'backbone.layers.0.mixer.dt_bias' has 5 heads, which do not "
        "divide the 12 channels");
  CHECK(error_with_shape("mamba2", "backbone.layers.0.mixer.conv1d.weight", {21, 1, 4}) ==
        "w.safetensors: tensor 'backbone.layers.0.mixer.conv1d.weight' has 21 channels, expected "
        "12 + 2 n for n states (groups: 1)");
  CHECK(has(error_with_shape("mamba2", "backbone.layers.0.mixer.conv1d.weight", {12, 1, 4}),
            "has 12 channels, expected 12 + 2 n"));
  CHECK(error_with_shape("mamba2", "backbone.layers.0.mixer.norm.weight", {}) ==
        "w.safetensors: tensor 'backbone.layers.0.mixer.norm.weight' is scalar, expected 1 axis, "
        "all nonempty");
}

TEST_CASE("checkpoint: a layer that is missing between others or requested by a run is refused") {
  const std::string gap = error_after("gpt2", [](TinyCheckpoint& tiny) {
    for (const TinyTensor& tensor : tiny_layout("gpt2", {}, {})) {
      if (tensor.name.starts_with("layer1.")) tiny.remove(tensor.key);
    }
  });
  CHECK(gap ==
        "w.safetensors: tensor 'transformer.h.1.ln_1.weight' is missing; the file holds gpt2, "
        "whose layer 1 needs it");
  CHECK(has(error_with_extra("gpt2", "transformer.h.18446744073709551615.x"),
            "tensor 'transformer.h.3.ln_1.weight' is missing"));
  CHECK(has(error_with_extra("gpt2", "transformer.h.99999999999999999999.x"),
            "'transformer.h.99999999999999999999.x' is not a tensor of gpt2"));
  CHECK(has(error_with_extra("gpt2", "transformer.h.03.ln_1.weight"),
            "'transformer.h.03.ln_1.weight' is not a tensor of gpt2"));

  TinyCheckpoint late("bert", {}, Dtype::f32);
  late.add("bert.encoder.layer.4.output.dense.bias", {6}, Dtype::f32);
  CHECK(has(complaint(late,
                      [](const Checkpoint& checkpoint) {
                        ModelSpec spec;
                        checkpoint.take_sizes(spec);
                      }),
            "'bert.encoder.layer.3.attention.self.query.weight' is missing"));

  TinyCheckpoint tiny("mamba2", {}, Dtype::f32);
  const std::string beyond = complaint(tiny, [](const Checkpoint& checkpoint) {
    ModelSpec spec;
    checkpoint.take_sizes(spec);
    spec.layers = 1'000'000'000'000;  // fails at once, without listing all of them
    resolve_defaults(spec);
    checkpoint.check(spec);
  });
  CHECK(beyond ==
        "w.safetensors: tensor 'backbone.layers.3.norm.weight' is missing; the file holds mamba2, "
        "whose layer 3 needs it");
}

TEST_CASE("checkpoint: a tensor of the model must have a floating-point type") {
  CHECK(error_after("albert",
                    [](TinyCheckpoint& tiny) {
                      tiny.retype("albert.embeddings.LayerNorm.bias", Dtype::i32);
                    }) ==
        "w.safetensors: tensor 'albert.embeddings.LayerNorm.bias' is of type I32, expected F64, "
        "F32, F16 or BF16");
  CHECK(has(error_after("mamba2",
                        [](TinyCheckpoint& tiny) {
                          tiny.retype("backbone.embedding.weight", Dtype::boolean);
                        }),
            "'backbone.embedding.weight' is of type BOOL"));
}

TEST_CASE(
    "checkpoint: an unknown tensor is refused, one that hidden states do not need is ignored") {
  CHECK(
      error_with_extra("bert", "bert.encoder.layer.0.attention.self.distance_embedding.weight") ==
      "w.safetensors: tensor 'bert.encoder.layer.0.attention.self.distance_embedding.weight' is "
      "not a tensor of bert; also allowed: cls.*, bert.pooler.*, integer tensors, and tensors that "
      "--ignore-tensors GLOB names");
  CHECK(has(error_with_extra("gpt2", "transformer.h.1.attn.q_proj.bias"),
            "also allowed: lm_head.weight, transformer.h.*.attn.bias, transf"));
  CHECK(has(error_with_extra("mamba2", "backbone.layers.0.mixer.in_proj.bias"),
            "'backbone.layers.0.mixer.in_proj.bias' is not a tensor of"));
  CHECK(has(
      error_with_extra("albert", "albert.encoder.albert_layer_groups.1.albert_layers.0.ffn.bias"),
      "groups.1.albert_layers.0.ffn"));
  CHECK(has(error_with_extra("bert", "evil\n\x1b[31m"), "tensor 'evil\\"));
  // The other spelling of a tensor that is present.
  CHECK(has(error_with_extra("bert", "bert.embeddings.LayerNorm.gamma"),
            "'bert.embeddings.LayerNorm.gamma' is not a tensor of bert"));
  CHECK(has(error_with_extra("gpt2", "wte.weight"), "'wte.weight' is not a tensor of gpt2"));
  CHECK(has(error_with_extra("gpt2", "transformer.h.0.mlp.attn.bias"),
            "'transformer.h.0.mlp.attn.bias' is not a tensor of gpt2"));
  CHECK(has(error_with_extra("gpt2", "transformer.h"), "'transformer.h' is not a tensor of"));
  CHECK(error_with_extra("gpt2", "transformer.h.2.attn.bias").empty());
  CHECK(error_with_extra("bert", "bert.embeddings.position_ids", Dtype::i64).empty());
  CHECK(error_with_extra("bert", "anything", Dtype::boolean).empty());
}

TEST_CASE("checkpoint: a file of another model or of no model is refused") {
  TinyCheckpoint bert("bert", {}, Dtype::f32);
  CHECK(complaint(bert, [](const Checkpoint& checkpoint) {
          ModelSpec spec;
          spec.model = "gpt2";
          resolve_defaults(spec);
          checkpoint.check(spec);
        }) == "w.safetensors: holds bert, not gpt2");
  CHECK(complaint(bert, [](const Checkpoint& checkpoint) {
          checkpoint.find("layer3.query.weight");
        }) == "w.safetensors: holds bert, layers 0 to 2, but no 'layer3.query.weight'");

  const std::string looked_for =
      "w.safetensors: not the weights of a supported model; supported: mamba2 "
      "([backbone.]layers.0.mixer.dt_bias), "
      "bert ([bert.]encoder.layer.0.attention.self.query.weight), albert "
      "([albert.]encoder.embedding_hidden_mapping_in.weight), "
      "gpt2 ([transformer.]h.0.attn.c_attn.weight); the file has ";
  TinyCheckpoint other("none", {}, Dtype::f32);
  CHECK(complaint(other, take_and_check) == looked_for + "no tensor");
  for (const char* key : {"a\tb", "backbone.layers.0.mixer.x_proj.weight", "c", "d", "e", "f"})
    other.add(key, {1}, Dtype::f32);
  CHECK(complaint(other, take_and_check) ==
        looked_for + "a\\x09b, backbone.layers.0.mixer.x_proj.weight, c, d and 2 more");
}

TEST_CASE("checkpoint: a model is recognized by its tensors even if some are missing") {
  CHECK(has(error_without("mamba2", "backbone.layers.0.mixer.dt_bias"),
            "tensor 'backbone.layers.0.mixer.dt_bias' is missing"));
  CHECK(has(error_without("albert", "albert.encoder.embedding_hidden_mapping_in.weight"),
            "hidden_mapping_in.weight' is missing"));
}

TEST_CASE("checkpoint: a file that is truncated anywhere is refused") {
  const TemporaryFolder folder;
  const std::string whole = folder / "whole.safetensors", cut = folder / "cut.safetensors";
  TinyCheckpoint("albert", {}, Dtype::f16).write(whole);
  std::ifstream in(whole, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t length = 0; length < bytes.size(); length += 97) {
    std::ofstream(cut, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(length));
    CHECK_THROWS_AS(Checkpoint::open(cut), Failure);
  }
}

TEST_CASE_TEMPLATE(
    "checkpoint: a block that requests another shape and non-finite entries are refused", T, float,
    double) {
  TinyCheckpoint tiny("mamba2", {}, Dtype::f64);
  tiny.at("backbone.layers.0.mixer.D").entries[1] = 1e300;
  const EntryLaw start = EntryLaw::constant(0);
  const auto complaint_about = [&](auto use) {
    return complaint(tiny, [&](const Checkpoint& checkpoint) {
      LoadedTensors<T> tensors(Checkpoint::open(checkpoint.path()), "layer0.");
      use(tensors);
    });
  };
  CHECK(complaint_about([&](auto& tensors) {
          tensors.matrix("mixer.out_proj.weight", 6, 12, start);
        }) == "w.safetensors:backbone.layers.0.mixer.out_proj.weight: is 6 x 12, expected 12 x 6");
  CHECK(complaint_about(
            [&](auto& tensors) { tensors.matrix("mixer.conv1d.weight", 20, 4, start); }) ==
        "w.safetensors:backbone.layers.0.mixer.conv1d.weight: is 20 x 1 x 4, expected 4 x 20");
  CHECK(complaint_about([&](auto& tensors) { tensors.vector("mixer.D", 4, start); }) ==
        "w.safetensors:backbone.layers.0.mixer.D: is 3, expected 4");
  CHECK(complaint_about([&](auto& tensors) { tensors.matrix("mixer.D", 3, 1, start); }) ==
        "w.safetensors:backbone.layers.0.mixer.D: is 3, expected 1 x 3");
  CHECK(complaint_about([&](auto& tensors) { tensors.vector("mixer.E", 4, start); }) ==
        "w.safetensors: holds mamba2, layers 0 to 2, but no 'layer0.mixer.E'");
  CHECK(complaint_about([&](auto& tensors) { tensors.vector("mixer.D", 3, start); }) ==
        (sizeof(T) == sizeof(double) ? ""
                                     : "w.safetensors:backbone.layers.0.mixer.D: 1 of its entries "
                                       "are infinite or NaN in single precision"));
}

}  // namespace checkpoint_errors_test
