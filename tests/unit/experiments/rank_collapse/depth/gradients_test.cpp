#include "experiments/rank_collapse/depth/depth.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "experiments/redrawn.hpp"
#include "experiments/result_parts.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/checkpoints/loaded_tensors.hpp"
#include "temporary_folder.hpp"
#include "tiny_checkpoint.hpp"

namespace gradients_test {

using namespace ranklab;

namespace {

constexpr TinySizes sizes{
    .layers = 3, .dim = 8, .ffn = 6, .heads = 2, .embedding = 4, .vocabulary = 11, .positions = 5};

ModelSpec spec_of(const std::string& model) {
  return tiny_spec(model, sizes, 5);
}

const Trial trial(3, 1, 0);

const std::vector<double>& gradient_norms(const TrialRecord& record, std::string_view model) {
  return record.array(std::string(model) + ".gradient_norm");
}

TrialRecord run_one(const ModelSpec& spec, bool single_precision = false) {
  return run_with_gradients({{spec, {{At("lambda", 1), {1}}}}}, {trial}, single_precision).front();
}

// The tensors of a block, with entries that a test can change.
class Changeable final : public Tensors<double> {
 public:
  explicit Changeable(std::unique_ptr<Tensors<double>> tensors) : tensors_(std::move(tensors)) {}

  arma::mat matrix(const std::string& name, arma::uword rows, arma::uword cols,
                   const EntryLaw& start) override {
    if (!known.contains(name)) known[name] = tensors_->matrix(name, rows, cols, start);
    return known[name];
  }
  arma::mat columns(const std::string&, arma::uword, arma::uword, const std::vector<std::uint32_t>&,
                    const EntryLaw&) override {
    throw std::logic_error("a block has no table");
  }
  arma::vec vector(const std::string& name, arma::uword size, const EntryLaw& start) override {
    if (!known.contains(name)) known[name] = tensors_->vector(name, size, start);
    return known[name];
  }

  std::map<std::string, arma::mat> known;

 private:
  std::unique_ptr<Tensors<double>> tensors_;
};

// The loss computed with the blocks of nn/blocks; each block has its own tensors.
class Loss {
 public:
  explicit Loss(const ModelSpec& spec) : spec_(spec), input_(draw_input<double>(spec, trial)) {
    std::unique_ptr<Tensors<double>> tensors = std::make_unique<DrawnTensors<double>>(trial, "");
    if (spec.checkpoint) tensors = std::make_unique<LoadedTensors<double>>(spec.checkpoint, "");
    const bool narrow = spec.model == "albert";
    const EntryLaw start = EntryLaw::normal(0.02);
    std::vector<std::uint32_t> ids;
    for (std::uint32_t id = 0; id < spec.vocabulary; ++id) ids.push_back(id);
    table_ = tensors->columns("word.weight", narrow ? spec.embedding : spec.dim, spec.vocabulary,
                              ids, start);
    if (narrow)
      table_ = tensors->matrix("embedding_map.weight", spec.embedding, spec.dim, start).t() *
               table_;  // the shape is (d, V)
    Stream stream = trial.stream("targets");
    std::vector<double> draws(input_.Y.n_cols);
    stream.fill_uniform(draws);
    for (const double u : draws)
      targets_.push_back(static_cast<arma::uword>(u * static_cast<double>(spec.vocabulary)));
    for (std::uint64_t l = 0; l < spec.layers; ++l) {
      tensors_.emplace_back(tensors_of_layer<double>(spec, trial, l));
      blocks_.push_back(make_block<double>(spec, tensors_.back()));
    }
  }

  // By central differences in every entry of the tensors of the block.
  double gradient_norm(std::uint64_t layer) {
    const double step = std::cbrt(tolerance::epsilon<double>);
    double sum = 0;
    for (auto& [name, W] : tensors_[layer].known) {
      for (double& entry : W) {
        const double at = entry;
        entry = at + step;
        const double above = with_changed(layer);
        entry = at - step;
        const double difference = (above - with_changed(layer)) / (2 * step);
        entry = at;
        sum += difference * difference;
      }
    }
    with_changed(layer);
    return std::sqrt(sum);
  }

 private:
  double with_changed(std::uint64_t layer) {
    blocks_[layer] = make_block<double>(spec_, tensors_[layer]);
    State<double> state = input_;
    for (const auto& block : blocks_) block->forward(state, 1.0);
    double loss = 0;
    for (arma::uword t = 0; t < targets_.size(); ++t) {
      double sum = 0;
      for (arma::uword v = 0; v < table_.n_cols; ++v)
        sum += std::exp(arma::dot(table_.col(v), state.Y.col(t)));
      loss += std::log(sum) - arma::dot(table_.col(targets_[t]), state.Y.col(t));
    }
    return loss / static_cast<double>(targets_.size());
  }

  ModelSpec spec_;
  State<double> input_;
  arma::mat table_;
  std::vector<arma::uword> targets_;
  std::vector<Changeable> tensors_;
  std::vector<std::unique_ptr<Block<double>>> blocks_;
};

void check_by_differences(const ModelSpec& spec) {
  const TrialRecord record = run_one(spec);
  const std::vector<double>& norms = gradient_norms(record, spec.model);
  REQUIRE(norms.size() == spec.layers);
  Loss loss(spec);
  for (std::uint64_t l = 0; l < spec.layers; ++l) {
    const double expected = loss.gradient_norm(l);
    CAPTURE(l);
    CAPTURE(expected);
    CHECK(expected > 1e5 * tolerance::central_difference);
    CHECK(std::abs(norms[l] - expected) <= tolerance::central_difference * std::max(1.0, expected));
  }
}

}  // namespace

TEST_CASE("gradient norms of drawn blocks equal central differences of the loss") {
  for (const std::string model : {"bert", "albert"}) {
    CAPTURE(model);
    ModelSpec spec = spec_of(model);
    spec.weight_scale = 25;  // gives entries of about 1/2, so that every tensor matters
    check_by_differences(spec);
  }
}

TEST_CASE(
    "gradient norms of published blocks, with arbitrary biases and gains, equal central "
    "differences") {
  const TemporaryFolder folder;
  for (const std::string model : {"bert", "albert"}) {
    CAPTURE(model);
    ModelSpec spec = spec_of(model);
    TinyCheckpoint(model, {}, Dtype::f64, sizes).write(folder / "w.safetensors");
    spec.checkpoint = Checkpoint::open(folder / "w.safetensors");
    check_by_differences(spec);
    // A sequence may have fewer tokens than the others.
    spec.sequences = std::make_shared<TokenSequences>(TokenSequences{{1}, {3, 0, 10}});
    check_by_differences(spec);
  }
}

TEST_CASE("single precision gives nearly the same gradient norms") {
  for (const std::string model : {"bert", "albert"}) {
    const ModelSpec spec = spec_of(model);
    const TrialRecord in_double = run_one(spec), in_single = run_one(spec, true);
    for (std::uint64_t l = 0; l < spec.layers; ++l) {
      CHECK(gradient_norms(in_single, model)[l] ==
            doctest::Approx(gradient_norms(in_double, model)[l])
                .epsilon(tolerance::trajectory<float>));
    }
  }
}

TEST_CASE("recording gradients does not change the other measures") {
  const std::vector<DepthGroup> groups = {
      {spec_of("bert"), {{At("lambda", 1), {1}}, {At("dropout", 0.5), {1}, {}, 0.5}}},
      {spec_of("albert"), {{At("model", "albert") / At("lambda", 1), {1}}}}};
  const std::string norms = gradient_norms_of(groups.front().spec);
  const DepthGroup plain = {spec_of("bert"), {{At("lambda", 1), {1}}}};
  const TrialRecord record = run_with_gradients(groups, {trial}, false).front();
  const TrialRecord walked = run_groups(groups, {trial}, false).front();
  for (const auto& [name, values] : walked.arrays()) CHECK(record.array(name) == values);
  CHECK(record.arrays().size() == walked.arrays().size() + 2);
  CHECK(record.array(norms) == run_with_gradients({plain}, {trial}, false).front().array(norms));
}

TEST_CASE("if a state is not finite, every gradient norm is undefined") {
  ModelSpec spec = spec_of("bert");
  const TemporaryFolder folder;
  for (const std::string layer : {"layer0", "layer2"}) {
    TinyCheckpoint tiny("bert", {}, Dtype::f64, sizes);
    tiny.named(layer + ".ffn_output.weight")
        .set(arma::mat(sizes.ffn, sizes.dim, arma::fill::value(1e308)));
    tiny.write(folder / (layer + ".safetensors"));
    spec.checkpoint = Checkpoint::open(folder / (layer + ".safetensors"));
    const TrialRecord record = run_one(spec);
    REQUIRE(gradient_norms(record, "bert").size() == 3);
    for (const double norm : gradient_norms(record, "bert")) CHECK(std::isnan(norm));
  }
}

TEST_CASE("the estimate includes the backward pass") {
  const std::vector<DepthGroup> groups = {{spec_of("bert"), {{At("lambda", 1), {1}}}}};
  const Estimate down = depth_cost(groups), both = cost_with_gradients(groups);
  CHECK(both.bytes > down.bytes + 8 * 3 * 5 * 8);
}

namespace {

const FlagValues tiny = {{"model", "bert"},   {"also", "albert"},  {"layers", "3"},
                         {"tokens", "5"},     {"dim", "8"},        {"lambda", "1"},
                         {"gradients", "on"}, {"vocabulary", "11"}};

FlagValues tiny_with(const FlagValues& more) {
  FlagValues flags = tiny;
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

}  // namespace

TEST_CASE("with --gradients, the third panel of Figure 1 has a curve for each model") {
  const Result result = run_configured(make_layers_study(), tiny, 3);
  for (const std::string series : {"bert.gradient_norm", "albert.gradient_norm"}) {
    CHECK(find_series(result, series).x == std::vector<double>{1, 2, 3});
  }
  // Every trial is one case of the claim.
  CHECK(find_scalar(result, "bert.gradient_ratio").size() == 3);
  const Claim& of_bert = find_claim(result, "shallow/fig-1-gradient/bert");
  CHECK(std::get<CountEvidence>(of_bert.evidence).cases == 3);
  CHECK(std::get<CountEvidence>(of_bert.evidence).violations == 0);
  CHECK(of_bert.kind == Kind::reading);
  CHECK(find_claim(result, "shallow/fig-1-gradient/albert").kind == Kind::beyond);
  REQUIRE(result.figure.panels.size() == 3);
  const Panel& panel = result.figure.panels.back();
  REQUIRE(panel.curves.size() == 2);
  CHECK(panel.curves[0].label == "BERT");
  CHECK(panel.curves[1].label == "ALBERT, part of one block");
  CHECK(panel.curves[1].band == BandKind::trials);
  CHECK(panel.y.scale == Scale::log);
  const Result without = run_configured(make_layers_study(), tiny_with({{"gradients", "off"}}), 2);
  CHECK(without.figure.panels.size() == 2);
  for (const Claim& claim : without.claims) CHECK(claim.id.find("gradient") == std::string::npos);
  CHECK(without.series.size() + 2 == result.series.size());
}

TEST_CASE("verdicts about the gradients of [Shallow] Figure 1 for given curves") {
  const auto judged = [](const std::string& id, const std::vector<double>& norms) {
    const Drawing drawing = {{"bert.gradient_norm", norms}, {"albert.gradient_norm", norms}};
    return find_claim(run_redrawn(make_layers_study(), tiny, drawing),
                      "shallow/fig-1-gradient" + id)
        .verdict;
  };
  for (const std::string model : {"bert", "albert"}) {
    CHECK(judged("/" + model, {3, 9.9, 1}) == Verdict::holds);
    CHECK(judged("/" + model, {3, 10.1, 1}) == Verdict::fails);
    CHECK(judged("/" + model, {1, 3, 10.1}) == Verdict::fails);
    CHECK(judged("/" + model, {1, 0, 1}) == Verdict::fails);
    CHECK(judged("/" + model, {1, NAN, 1}) == Verdict::not_applicable);
  }
  CHECK(judged("-level/bert", {3, 2, 3.9}) == Verdict::holds);
  CHECK(judged("-level/bert", {3, 2, 4.1}) == Verdict::fails);
}

TEST_CASE("--gradients is refused by name for settings without gradients") {
  const auto refused = [](const FlagValues& flags, const std::string& conflict) {
    const std::string message = refusal(make_layers_study(), tiny_with(flags));
    CAPTURE(message);
    CHECK(message.starts_with("--gradients: on is not allowed with " + conflict + "; allowed: "));
  };
  refused({{"also", "post-norm"}}, "the model post-norm");
  refused({{"model", "gpt2"}}, "the model gpt2");
  refused({{"input", "gaussian"}}, "--input gaussian");
  refused({{"norm", "none"}}, "--norm none");
  refused({{"mlp", "off"}}, "--mlp off");
  refused({{"lambda", "0,1"}}, "these strengths of the skip");
  refused({{"lambda", "2"}}, "these strengths of the skip");
  refused({{"lambda-per-layer", "1,1,1"}}, "these strengths of the skip");
  refused({{"tau", "0.5"}}, "--tau");
  CHECK(refusal(make_layers_study(), tiny).empty());
}

}  // namespace gradients_test
