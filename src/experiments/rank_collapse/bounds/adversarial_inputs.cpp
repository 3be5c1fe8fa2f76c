#include "experiments/rank_collapse/bounds/adversarial_inputs.hpp"

#include <cmath>
#include <iterator>
#include <optional>

#include "experiments/rank_collapse/bounds/attention.hpp"
#include "experiments/rank_collapse/bounds/state_space.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "linalg/decompositions.hpp"
#include "nn/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

// The final tokens of the adversarial inputs differ by this share of their size.
constexpr double difference = 1e-3;
// The sizes of an input that are tried for attention; LTI stacks are compared at the last one.
constexpr double input_sizes[] = {1e-2, 1e-4, 1e-6, 1e-8};

double log_normalized_mu(const State<double>& state) {
  return log_mu(state) - log_norm(state);
}

ModelSpec pure_spec(const Config& config, const std::string& model, Sizes sizes) {
  ModelSpec spec = stack_spec(config, model, sizes, "none");
  spec.layers = adversarial::layers;
  return spec;
}

using Blocks = std::vector<std::unique_ptr<BareBlock<double>>>;

Blocks blocks_of(const ModelSpec& spec, const Trial& trial) {
  Blocks blocks;
  for (std::uint64_t k = 0; k < spec.layers; ++k) blocks.push_back(bare_block(spec, trial, k));
  return blocks;
}

Collapse run(const Blocks& blocks, State<double> state) {
  const double before = log_normalized_mu(state);
  for (const auto& block : blocks) block->forward(state, 0.0);
  return {before, state.Y.is_finite() ? log_normalized_mu(state) : undefined};
}

State<double> state_of(const arma::mat& Y) {
  State<double> state{Y, 0.0, 0};
  state.rescale();
  return state;
}

void judge_lti_stack(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record) {
  const ModelSpec spec = pure_spec(config, "lti-ssm", sizes);
  const Blocks blocks = blocks_of(spec, trial);
  State<double> input = draw_input<double>(spec, trial);
  // Tokens that differ little: one direction, and a small multiple of the drawn tokens.
  arma::mat tokens = difference * input.Y;
  tokens.each_col() += arma::vec(tokens.n_rows, arma::fill::ones);
  for (std::size_t k = blocks.size(); k-- > 0;)
    tokens = lti_preimage(blocks[k]->mixing_matrix(input), tokens);
  if (tokens.is_finite()) judge_lti_input(run(blocks, state_of(tokens)), record);
  const double after = run(blocks, input).after;
  State<double> scaled = input;
  scaled.Y *= std::end(input_sizes)[-1];
  compare(record, adversarial::lti_size, std::abs(run(blocks, scaled).after - after), 0,
          tolerance::residual<double> * static_cast<double>(spec.layers * sizes.tokens));
}

// Whether some size of the drawn input makes the tokens collapse; nullopt if they are not spread.
std::optional<bool> attention_collapses(const ModelSpec& spec, const Trial& trial) {
  const auto normalized = [](const SplitState& state) {
    const double log_shared =
        std::log(static_cast<double>(state.rest.n_cols)) / 2 + std::log(arma::norm(state.shared));
    // log sqrt(e^(2 a) + e^(2 b)) = a + log1p(e^(2 (b - a))) / 2
    return state.log_mu() - log_shared -
           std::log1p(std::exp(2 * (state.log_mu() - log_shared))) / 2;
  };
  for (const double size : input_sizes) {
    SplitState state(draw_input<double>(spec, trial).Y);
    const double before = normalized(state);
    if (!(before >= std::log(spread_input))) return std::nullopt;
    state.shared *= size;
    state.log2_scale += std::log2(size);
    for (std::uint64_t k = 0; k < spec.layers; ++k) split_layer(spec, trial, k, state);
    // Tokens that are equal to the last digit have log mu = -infinity.
    if (Collapse{before, normalized(state)}.occurs()) return true;
  }
  return false;
}

// Multiples of the direction v whose |v'S v| is largest.
Collapse selective_collapse(ModelSpec spec, const Trial& trial) {
  spec.share_weights = "on";
  DrawnTensors<double> tensors = block_tensors<double>(spec, trial, 0);
  const arma::mat S = w_bc(spec, tensors);
  const SymmetricEigen eigen = symmetric_eigen((S + S.t()) / 2);
  const arma::uword largest = arma::index_max(arma::abs(eigen.w));
  arma::vec y(spec.tokens, arma::fill::ones);
  y(0) += difference;
  for (std::uint64_t k = 0; k < spec.layers; ++k)
    y = selective_preimage(eigen.w(largest), spec.decay, y);
  return run(blocks_of(spec, trial), state_of(eigen.Q.col(largest) * y.t()));
}

}  // namespace

arma::mat lti_preimage(const arma::mat& W, const arma::mat& Z) {
  arma::mat Y(arma::size(Z));
  for (arma::uword i = 0; i < Z.n_cols; ++i) {
    arma::vec rest = Z.col(i);
    for (arma::uword j = 0; j < i; ++j) rest -= W(i, j) * Y.col(j);
    Y.col(i) = rest / W(i, i);
  }
  return Y;
}

arma::vec selective_preimage(double s, double alpha, const arma::vec& z) {
  arma::vec y(z.n_elem);
  double h = 0;
  for (arma::uword i = 0; i < z.n_elem; ++i) {
    // The only real root of y^3 + h y = c, h >= 0.
    const double c = z(i) / s, unit = std::sqrt(h / 3);
    y(i) =
        h > 0 ? 2 * unit * std::sinh(std::asinh(c / (2 * unit * unit * unit)) / 3) : std::cbrt(c);
    h = alpha * (h + square(y(i)));
  }
  return y;
}

bool Collapse::occurs() const {
  return before >= std::log(spread_input) && after - before < std::log(vanished);
}

void judge_lti_input(const Collapse& collapse, TrialRecord& record) {
  if (collapse.defined()) record.count(adversarial::lti_as_printed.id, collapse.occurs());
}

void judge_adversarial_inputs(const Config& config, Sizes sizes, const Trial& trial,
                              TrialRecord& record) {
  using namespace adversarial;
  judge_lti_stack(config, sizes, trial, record);
  for (const double factor : thm_A_10::weight_factors) {
    trial.check_interrupt();
    ModelSpec spec = pure_spec(config, "attention", sizes);
    spec.weight_scale *= factor;
    const std::optional<bool> collapses = attention_collapses(spec, trial);
    if (collapses) record.count(attention.id, !*collapses);
    spec = pure_spec(config, "selective-ssm", sizes);
    spec.weight_scale *= factor;
    const Collapse collapse = selective_collapse(spec, trial);
    if (collapse.defined()) record.count(selective.id, !collapse.occurs());
  }
}

void judge_adversarial_claims(const StackClaims& stacks) {
  using namespace adversarial;
  stacks.counted(
      lti_as_printed,
      "at every size: W is triangular and invertible if its diagonal is not 0, so the "
      "input W^-1 ... W^-1 Z, found by substitution, ends as the nearly equal tokens Z; "
      "one case for each stack of four layers; in the other stacks rounding hides Z or "
      "the input is not spread; worked example: W = ((1, 0), (2, 1)) takes the tokens 1, "
      "-1 to 1, 1",
      "mu is 0 in every stack");
  stacks.counted(lti_size,
                 "the input times 1e-8; M does not depend on the input, so Y and mu scale alike");
  stacks.counted(attention,
                 "drawn tokens times 1e-2 to 1e-8, weights times 0.1 to 100: small tokens have "
                 "nearly equal logits",
                 "tokens that do not differ much in every stack");
  stacks.counted(
      selective,
      "multiples of one direction, found token by token, weights times 0.1 to 100: the "
      "input has rank one from the start, with tokens of different lengths, and only mu / "
      "||Y||_F falls; the size of an input changes mu, but not mu / ||Y||_F",
      "mu is 0 in every stack");
}

}  // namespace ranklab::bounds
