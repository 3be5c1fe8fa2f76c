// Published weights: the model is recognized, and sizes and tensors are read in every spelling and
// type.
#include "nn/checkpoints/checkpoint.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/checkpoints/loaded_tensors.hpp"
#include "temporary_folder.hpp"
#include "tiny_checkpoint.hpp"

namespace checkpoint_test {

using namespace ranklab;

namespace {

const std::vector<std::string> models = {"mamba2", "bert", "albert", "gpt2"};
const std::string file_name = "model.safetensors", index_name = "model.safetensors.index.json";

struct Written {
  TinyCheckpoint tiny;
  std::shared_ptr<const Checkpoint> checkpoint;
};

Written written(const std::string& model, const Spelling& spelling, Dtype dtype,
                const TinySizes& sizes = {}, std::size_t shards = 1) {
  const TemporaryFolder folder;
  Written out{TinyCheckpoint(model, spelling, dtype, sizes), nullptr};
  const std::string path = folder / (shards > 1 ? index_name : file_name);
  if (shards > 1) {
    out.tiny.write_shards(path, shards);
  } else {
    out.tiny.write(path);
  }
  out.checkpoint = Checkpoint::open(path);
  return out;
}

// Resolves the spec as the command does: sizes from the file, then the config's heads, then the
// model's defaults.
ModelSpec spec_of(const Checkpoint& checkpoint, const TinySizes& sizes = {}) {
  ModelSpec spec;
  if (checkpoint.model() == "mamba2") spec.groups = sizes.groups;
  checkpoint.take_sizes(spec);
  spec.heads = sizes.heads;
  if (spec.model == "albert") spec.layers = sizes.layers;
  resolve_defaults(spec);
  return spec;
}

// Compares every entry that was read with the written one, bit by bit.
template <class T>
void require_equal(const arma::Mat<T>& read, const arma::mat& expected) {
  REQUIRE(read.n_rows == expected.n_rows);
  REQUIRE(read.n_cols == expected.n_cols);
  CHECK(arma::all(arma::vectorise(read == arma::conv_to<arma::Mat<T>>::from(expected))));
}

template <class T>
void require_equal_tensors(Written& file) {
  LoadedTensors<T> loaded(file.checkpoint, "");
  for (const TinyTensor& tensor : file.tiny.tensors()) {
    if (tensor.storage == TinyTensor::Storage::not_read) continue;
    CAPTURE(tensor.key);
    const arma::mat expected = tensor.expected();
    if (tensor.storage == TinyTensor::Storage::vector) {
      require_equal<T>(loaded.vector(tensor.name, expected.n_elem, EntryLaw::constant(0)),
                       expected);
    } else {
      require_equal<T>(
          loaded.matrix(tensor.name, expected.n_rows, expected.n_cols, EntryLaw::constant(0)),
          expected);
    }
  }
}

std::uint64_t model_entries(TinyCheckpoint& tiny) {
  std::uint64_t sum = 0;
  for (const TinyTensor& tensor : tiny.tensors()) {
    if (tensor.storage != TinyTensor::Storage::not_read) sum += tensor.entries.size();
  }
  return sum;
}

}  // namespace

TEST_CASE(
    "checkpoint: every model is read in every spelling and type, from one file and from shards") {
  for (const std::string& model : models) {
    for (const Spelling& spelling : spellings_of(model)) {
      for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
        for (const std::size_t shards : {std::size_t{1}, std::size_t{3}}) {
          CAPTURE(model);
          CAPTURE(spelling.prefix);
          CAPTURE(spelling.variant);
          CAPTURE(spelling.extras);
          CAPTURE(dtype_name(dtype));
          CAPTURE(shards);
          Written file = written(model, spelling, dtype, {}, shards);
          CHECK(file.checkpoint->model() == model);
          CHECK_NOTHROW(file.checkpoint->check(spec_of(*file.checkpoint)));
          require_equal_tensors<double>(file);
          require_equal_tensors<float>(file);
          CHECK(file.checkpoint->parameters() == model_entries(file.tiny));
          CHECK(file.checkpoint->dtypes() == dtype_name(dtype));
          CHECK(file.checkpoint->bytes() == model_entries(file.tiny) * dtype_bytes(dtype));
        }
      }
    }
  }
}

TEST_CASE(
    "checkpoint: a spec needs exactly the tensors in the files, each once, except for the last "
    "norm") {
  for (const std::string& model : models) {
    CAPTURE(model);
    Written file = written(model, {}, Dtype::f32);
    std::vector<std::string> needed, held;
    for (const PublishedTensor& tensor :
         model_row(file.checkpoint->model()).published->tensors(spec_of(*file.checkpoint)))
      needed.push_back(tensor.name);
    for (const TinyTensor& tensor : file.tiny.tensors()) {
      if (!tensor.name.starts_with("norm_f") && !tensor.name.starts_with("ln_f"))
        held.push_back(tensor.name);
    }
    std::sort(needed.begin(), needed.end());
    std::sort(held.begin(), held.end());
    CHECK(needed == held);
  }
}

TEST_CASE("checkpoint: whole wrapper prefixes may precede a name in any order and number") {
  CHECK(wrapper_length("h.0.attn.c_attn.weight") == 0);
  CHECK(wrapper_length("module.h.0.attn.c_attn.weight") == 7);
  CHECK(wrapper_length("module._orig_mod.base_model.model.module.wte.weight") == 41);
  CHECK(wrapper_length("base_model.wte.weight") == 0);
  CHECK(wrapper_length("my_module.wte.weight") == 0);
  CHECK(wrapper_length("transformer.module.wte.weight") == 0);
  CHECK(wrapper_length("module.") == 7);
  CHECK(wrapper_length("") == 0);
}

TEST_CASE("checkpoint: sizes are taken from the shapes") {
  const TinySizes sizes{.layers = 2,
                        .dim = 12,
                        .ffn = 14,
                        .heads = 4,
                        .state = 3,
                        .groups = 2,
                        .taps = 5,
                        .embedding = 7,
                        .vocabulary = 13,
                        .positions = 9};
  for (const std::string& model : models) {
    CAPTURE(model);
    const Written file = written(model, {}, Dtype::f16, sizes);
    const bool mamba2 = model == "mamba2", albert = model == "albert";
    ModelSpec spec;
    spec.groups = 2;
    spec.layers = 77;
    file.checkpoint->take_sizes(spec);
    CHECK(spec.model == model);
    CHECK(spec.dim == 12);
    CHECK(spec.vocabulary == 13);
    CHECK(spec.layers == (albert ? 77 : 2));
    CHECK(spec.share_weights == (albert ? "on" : model_default));
    CHECK(spec.embedding == (albert ? 7 : 0));
    CHECK(spec.ffn == (mamba2 ? 0 : 14));
    CHECK(spec.positions == (mamba2 ? 0 : 9));
    CHECK(spec.heads == (mamba2 ? 4 : 0));
    CHECK(spec.state == (mamba2 ? 3 : 0));
    CHECK(spec.taps == (mamba2 ? 5 : 4));
    CHECK(file.checkpoint->layers() == (albert ? 1 : 2));
    CHECK_NOTHROW(file.checkpoint->check(spec_of(*file.checkpoint, sizes)));
  }
}

TEST_CASE(
    "checkpoint: GPT-2's square projection is transposed because of its name, BERT's is not") {
  Written gpt2 = written("gpt2", {}, Dtype::f64);
  Written bert = written("bert", {}, Dtype::f64);
  // Row 1, column 4 of the stored matrix of width 6.
  const double of_gpt2 = gpt2.tiny.at("transformer.h.1.attn.c_proj.weight").entries[1 * 6 + 4];
  const double of_bert =
      bert.tiny.at("bert.encoder.layer.1.attention.self.query.weight").entries[1 * 6 + 4];
  CHECK(LoadedTensors<double>(gpt2.checkpoint, "layer1.")
            .matrix("attn.c_proj.weight", 6, 6, EntryLaw::constant(0))(1, 4) == of_gpt2);
  CHECK(LoadedTensors<double>(bert.checkpoint, "layer1.")
            .matrix("query.weight", 6, 6, EntryLaw::constant(0))(4, 1) == of_bert);
}

TEST_CASE_TEMPLATE(
    "checkpoint: embeddings of requested ids are read, also repeated, descending or consecutive "
    "ones",
    T, float, double) {
  for (const auto& example : std::map<std::string, std::string>{{"mamba2", "embedding"},
                                                                {"bert", "position.weight"},
                                                                {"albert", "word.weight"},
                                                                {"gpt2", "wpe.weight"}}) {
    const std::string &model = example.first, &name = example.second;
    CAPTURE(model);
    Written file = written(model, {}, Dtype::bf16);
    const arma::mat table = file.tiny.named(name).expected();
    const auto columns = [&](const std::vector<std::uint32_t>& ids) {
      return LoadedTensors<T>(file.checkpoint, "")
          .columns(name, table.n_rows, table.n_cols, ids, EntryLaw::constant(0));
    };
    for (const std::vector<std::uint32_t>& ids :
         {std::vector<std::uint32_t>{3, 3, 4, 5, 2, 1, 6, 0}, {0, 1, 2, 3, 4, 5, 6}, {6}, {}}) {
      arma::mat expected(table.n_rows, ids.size());
      for (arma::uword t = 0; t < ids.size(); ++t) expected.col(t) = table.col(ids[t]);
      require_equal<T>(columns(ids), expected);
    }
    CHECK_THROWS_AS(columns({0, static_cast<std::uint32_t>(table.n_cols)}), Failure);
    CHECK_THROWS_AS(columns({4294967295u, 0}), Failure);
  }
}

TEST_CASE("checkpoint: a run may use only the first layers, or one layer at all depths") {
  for (const std::string& model : models) {
    CAPTURE(model);
    const Written file = written(model, {}, Dtype::f32, {.layers = 12});
    ModelSpec spec = spec_of(*file.checkpoint);
    spec.layers = 2;
    CHECK_NOTHROW(file.checkpoint->check(spec));
    spec.layers = 100;
    spec.share_weights = "on";
    CHECK_NOTHROW(file.checkpoint->check(spec));
    for (const PublishedTensor& tensor : spec.row().published->tensors(spec)) {
      CHECK((!tensor.name.starts_with("layer") || tensor.name.starts_with("layer0.")));
    }
  }
}

TEST_CASE(
    "checkpoint: the last norm may be missing; types may differ, and the most common is listed "
    "first") {
  TinyCheckpoint tiny("mamba2", {}, Dtype::f16);
  tiny.remove("backbone.norm_f.weight");
  tiny.retype("backbone.layers.0.mixer.A_log", Dtype::f32);
  tiny.retype("backbone.layers.2.mixer.A_log", Dtype::f64);
  const TemporaryFolder folder;
  tiny.write(folder / file_name);
  const auto checkpoint = Checkpoint::open(folder / file_name);
  CHECK_NOTHROW(checkpoint->check(spec_of(*checkpoint)));
  CHECK(checkpoint->dtypes() == "F16, F64, F32");
  CHECK(checkpoint->bytes() == 2 * (model_entries(tiny) - 6) + 3 * 4 + 3 * 8);
}

}  // namespace checkpoint_test
