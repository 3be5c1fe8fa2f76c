// Blocks built from a checkpoint equal the blocks whose tensors were written to it, bit for bit.
#include <doctest/doctest.h>

#include "experiments/rank_collapse/stacked_model.hpp"
#include "gaussian.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/checkpoints/checkpoint.hpp"
#include "temporary_folder.hpp"
#include "tiny_checkpoint.hpp"

namespace checkpoint_blocks_test {

using namespace ranklab;

namespace {

constexpr TinySizes sizes{
    .layers = 2, .dim = 12, .ffn = 20, .heads = 3, .state = 5, .embedding = 5, .vocabulary = 40};

ModelSpec spec_of(const std::string& model) {
  return tiny_spec(model, sizes, 9);
}

const Trial trial(3, 1, 0);

// Writes each tensor that a block requests to a checkpoint, under the same name with a prefix.
template <class T>
class WritingTensors final : public Tensors<T> {
 public:
  WritingTensors(DrawnTensors<T> drawn, TinyCheckpoint& tiny, std::string prefix)
      : drawn_(std::move(drawn)), tiny_(tiny), prefix_(std::move(prefix)) {}

  arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols,
                      const EntryLaw& start) override {
    return keep(name, drawn_.matrix(name, rows, cols, start));
  }
  arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols,
                       const std::vector<std::uint32_t>& ids, const EntryLaw& start) override {
    return drawn_.columns(name, rows, cols, ids, start);
  }
  arma::Col<T> vector(const std::string& name, arma::uword size, const EntryLaw& start) override {
    return keep(name, drawn_.vector(name, size, start));
  }
  std::size_t kept() const { return kept_; }

 private:
  template <class Entries>
  Entries keep(const std::string& name, const Entries& W) {
    tiny_.named(prefix_ + name).set(arma::conv_to<arma::mat>::from(arma::Mat<T>(W)));
    ++kept_;
    return W;
  }

  DrawnTensors<T> drawn_;
  TinyCheckpoint& tiny_;
  std::string prefix_;
  std::size_t kept_ = 0;
};

template <class T>
arma::Mat<T> output(const Block<T>& block, const ModelSpec& spec, double lambda) {
  State<T> state;
  state.Y = arma::conv_to<arma::Mat<T>>::from(gaussian(spec.dim, spec.tokens, "X"));
  block.forward(state, lambda);
  return state.Y;
}

}  // namespace

TEST_CASE_TEMPLATE("checkpoint: loaded blocks equal the drawn blocks that were written", T, float,
                   double) {
  for (const std::string model : {"mamba2", "bert", "albert", "gpt2"}) {
    CAPTURE(model);
    ModelSpec spec = spec_of(model);
    TinyCheckpoint tiny(model, {}, Dtype::f64, sizes);
    std::vector<std::unique_ptr<Block<T>>> drawn;
    for (std::uint64_t layer = 0; layer < (model == "albert" ? 1 : spec.layers); ++layer) {
      WritingTensors<T> tensors(block_tensors<T>(spec, trial, layer), tiny,
                                "layer" + std::to_string(layer) + ".");
      drawn.push_back(make_block<T>(spec, tensors));
      CHECK(tensors.kept() == (model == "mamba2" ? 9 : model == "gpt2" ? 12 : 16));
    }
    const TemporaryFolder folder;
    tiny.write(folder / "w.safetensors");
    const auto checkpoint = Checkpoint::open(folder / "w.safetensors");
    CHECK_NOTHROW(checkpoint->check(spec));
    spec.checkpoint = checkpoint;
    for (std::size_t layer = 0; layer < drawn.size(); ++layer) {
      const auto loaded = make_block<T>(spec, *tensors_of_layer<T>(spec, trial, layer));
      for (const double lambda : {1.0, -0.6}) {
        CHECK(arma::all(
            arma::vectorise(output(*loaded, spec, lambda) == output(*drawn[layer], spec, lambda))));
      }
    }
  }
}

}  // namespace checkpoint_blocks_test
