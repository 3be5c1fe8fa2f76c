// The model's batches, names and weights. For its forward pass and gradients see
// sequence_forward_test.cpp and sequence_gradients_test.cpp.
#include "nn/sequence_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "nn/layers/mixer_checks.hpp"
#include "nn/sequence_models.hpp"

namespace sequence_model_test {

using namespace sequence_models;
using mixer_checks::relative;

namespace {

std::string joined(const std::vector<Parameter<double>*>& parameters, bool decaying = false) {
  std::string names;
  for (const Parameter<double>* parameter : parameters) {
    if (parameter->decays || !decaying) names += parameter->name + " ";
  }
  return names;
}

}  // namespace

TEST_CASE("parameters have the right names and order for every switch") {
  SequenceShape shape = classes_shape(MixerKind::attention);
  shape.layers = 1;
  shape.learns_lambda = true;
  shape.lambda = -1;
  shape.lambda_rate = 0.1;
  SequenceModel<double> model(shape, initial.of("model"));
  const std::string mixer =
      "model.layer0.mixer.Wq model.layer0.mixer.Wk model.layer0.mixer.Wv model.layer0.mixer.Wo ";
  const std::string block = "model.layer0.norm1.gain model.layer0.norm1.bias " + mixer +
                            "model.layer0.lambda model.layer0.norm2.gain model.layer0.norm2.bias "
                            "model.layer0.W1 model.layer0.b1 "
                            "model.layer0.W2 model.layer0.b2 ";
  CHECK(joined(model.parameters()) ==
        "model.embedding model.embedding.bias model.positions " + block +
            "model.norm.gain model.norm.bias model.head model.head.bias ");
  CHECK(joined(model.block_parameters(0)) == block);
  CHECK(joined(model.mixer_parameters(0)) == mixer);
  CHECK(joined(model.parameters(), true) ==
        "model.embedding model.positions " + mixer + "model.layer0.W1 model.layer0.W2 model.head ");
  CHECK(model.lambda(0) == -1.0);
  for (const Parameter<double>* parameter : model.parameters()) {
    CHECK(parameter->rate == (parameter->name == "model.layer0.lambda" ? 0.1 : 1.0));
  }
  CHECK_THROWS_AS(model.parameter("model.layer0.W3"), std::logic_error);

  shape = shape_of(MixerKind::s4d);
  shape.layers = 1;
  shape.norm = Norm::rms;
  shape.post = true;
  shape.hidden = 0;
  SequenceModel<double> bare(shape, initial);
  CHECK(joined(bare.parameters()) ==
        "embedding layer0.norm1.gain layer0.mixer.C layer0.mixer.log_dt layer0.mixer.log_A_real "
        "layer0.mixer.A_imag layer0.mixer.D "
        "layer0.mixer.Wo layer0.mixer.bo ");
  CHECK(joined(bare.parameters(), true) == "embedding layer0.mixer.Wo ");
}

TEST_CASE(
    "weights follow their laws: positions are scaled like the numbers, or like the table for ids") {
  for (const Initialization law : {Initialization::fan, Initialization::small}) {
    for (const bool classes : {false, true}) {
      SequenceShape shape =
          classes ? classes_shape(MixerKind::attention) : shape_of(MixerKind::attention);
      shape.dim = 64;
      shape.hidden = 50;
      shape.length = 40;
      shape.inputs = classes ? 9 : 0;
      shape.vocabulary = 30;
      shape.layers = 1;
      const SequenceModel<double> model(shape, InitialWeights(law, trial));
      const auto check = [&](const std::string& name, arma::uword rows, arma::uword columns,
                             double by_fan) {
        CAPTURE(name);
        const arma::mat& W = model.parameter(name).W;
        const double deviation = law == Initialization::fan ? by_fan : 0.02,
                     n = static_cast<double>(W.n_elem);
        CHECK(arma::size(W) == arma::SizeMat(rows, columns));
        CHECK(std::fabs(arma::accu(W % W) / (n * deviation * deviation) - 1) <=
              tolerance::standard_errors * std::sqrt(2 / n));
      };
      check("embedding", 64, classes ? 9 : 30, classes ? 1 / 3.0 : 1 / 8.0);
      check("positions", 64, 40, classes ? 1 : 1 / 8.0);
      for (const char* map : {"Wq", "Wk", "Wv", "Wo"})
        check(std::string("layer0.mixer.") + map, 64, 64, 1 / 8.0);
      check("layer0.W1", 50, 64, 1 / 8.0);
      check("layer0.W2", 64, 50, 1 / std::sqrt(50.0));
      if (classes) check("head", 4, 64, 1 / 8.0);
      for (const Parameter<double>* parameter : model.parameters()) {
        if (parameter->decays) continue;
        CAPTURE(parameter->name);
        CHECK(arma::all(arma::vectorise(parameter->W) ==
                        (parameter->name.ends_with("gain") ? 1.0 : 0.0)));
      }
    }
  }
}

TEST_CASE("the weights of a single-precision model give the same logits in double precision") {
  for (const MixerKind mixer : mixers) {
    for (const bool classes : {false, true}) {
      CAPTURE(static_cast<int>(mixer));
      CAPTURE(classes);
      SequenceShape shape = classes ? classes_shape(mixer) : shape_of(mixer);
      shape.learns_lambda = true;
      SequenceModel<float> narrow(shape, initial);
      perturb(narrow);
      SequenceModel<double> wide(shape, initial), copy(shape, initial);
      wide.copy_weights(narrow);
      copy.copy_weights(wide);
      CHECK(static_cast<float>(wide.lambda(1)) == narrow.parameter("layer1.lambda").W(0));
      const SequenceBatch<double> batch = batch_of(shape);
      const arma::mat expected = logits(wide, batch);
      CHECK(arma::approx_equal(logits(copy, batch), expected, "absdiff", 0.0));
      CHECK(relative(logits(narrow, batch_of<float>(shape)), expected) <=
            tolerance::residual<float>);
      CHECK(std::fabs(pass(narrow, batch_of<float>(shape)) - pass(wide, batch)) <=
            tolerance::residual<float>);
      for (std::size_t i = 0; i < wide.parameters().size(); ++i) {
        CAPTURE(wide.parameters()[i]->name);
        CHECK(relative(narrow.parameters()[i]->G, wide.parameters()[i]->G) <=
              10 * tolerance::residual<float>);
      }
    }
  }
}

TEST_CASE("the same seed gives bitwise equal losses, another seed different ones") {
  const Streams other(18, 0);
  for (const MixerKind mixer : mixers) {
    CAPTURE(static_cast<int>(mixer));
    const SequenceShape shape = shape_of(mixer);
    SequenceModel<double> first(shape, initial), second(shape, initial),
        third(shape, InitialWeights(Initialization::fan, other));
    const std::vector<double> losses = train(first);
    CHECK(losses == train(second));
    CHECK(losses.front() != train(third).front());
  }
}

TEST_CASE("the operation count is two per token and weight of a map, and two per pair of tokens") {
  for (const MixerKind kind : mixers) {
    for (const bool classes : {false, true}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(classes);
      SequenceShape shape = classes ? classes_shape(kind) : shape_of(kind);
      shape.dim = 16;  // one head of Mamba-2
      const SequenceModel<double> model(shape, initial);
      double maps = 0, all = 0;
      for (const Parameter<double>* parameter : model.parameters()) {
        const std::string& name = parameter->name;
        const double size = static_cast<double>(parameter->W.n_elem);
        all += size;
        if (parameter->decays && name.starts_with("layer") && !name.ends_with("conv.weight"))
          maps += size;
        if (classes && name == "embedding") maps += size;
      }
      // Per token: scores and values of attention, S and M of Mamba-2, half a square per channel of
      // S4D, for each of 5 tokens; 32 x 16 states of Mamba-1.
      const double among = kind == MixerKind::mamba1   ? 12 * 32 * 16
                           : kind == MixerKind::mamba2 ? 5 * (32 + 16)
                           : kind == MixerKind::s4d    ? 5 * 8
                                                       : 5 * 32;
      const double outputs = classes ? 4 : 7;
      // In each of two attention layers, Wk'Wq and Wo Wv are one map each. After the last mixer,
      // only 6 of 15 tokens continue.
      if (kind == MixerKind::attention) maps -= 2 * 2 * 16 * 16;
      const double left_out = classes ? 0 : 9 * 2 * 16 * static_cast<double>(shape.hidden);
      CHECK(sequence_flops(shape, 15, 6) ==
            2 * (15 * (maps + 2 * among) - left_out + 6 * 16 * outputs));
      // Weights, gradients and two moments, within a factor of two; the stored activations grow
      // with the tokens.
      const double fixed = sequence_numbers(shape, 0, 0),
                   token = sequence_numbers(shape, 1, 0) - fixed;
      CHECK(fixed >= 4 * all / 2);
      CHECK(fixed <= 4 * all * 2);
      CHECK(token > 2 * 2 * 16.0);  // the input and output of each mixer
      CHECK(sequence_numbers(shape, 15, 6) == fixed + 15 * token + 6 * 2 * (outputs + 16));
    }
  }
}

}  // namespace sequence_model_test
