#include "experiments/rank_collapse/bounds/chosen_skip.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/rank_collapse/stacked_model.hpp"
#include "nn/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

// A strict inequality needs a lambda above its threshold.
constexpr double margin = 1.01;
// Beyond this strength a layer only changes the sign of its input.
constexpr double strongest_skip = 1e12;

// A bare stack whose weights are drawn once for many runs.
struct DrawnStack {
  struct DrawnLayer {
    std::unique_ptr<BareBlock<double>> block;
    arma::mat C_V;
    ValueNorms values;
  };
  State<double> input;
  std::vector<DrawnLayer> layers;

  DrawnStack(const ModelSpec& spec, const Trial& trial) : input(draw_input<double>(spec, trial)) {
    for (std::uint64_t k = 0; k < spec.layers; ++k) {
      auto block = bare_block(spec, trial, k);
      const arma::mat C_V = block->value_matrix();
      layers.push_back({std::move(block), C_V, value_norms(C_V)});
    }
  }

  /// The norms of a layer at its input, and mu of the input.
  Layer at_input(const DrawnLayer& layer, const State<double>& state) const {
    return open_layer(state.Y, layer.block->mixing_matrix(state), layer.C_V, layer.values, 0.0,
                      state.Y);
  }

  /// Runs the layers with the lambda that lambda(layer) chooses from a layer at its input, and
  /// calls judge(layer) after each. True if all layers ran: none had a zero row or too large a
  /// lambda.
  template <class Lambda, class Judge>
  bool run(const Trial& trial, TrialRecord& record, const Lambda& lambda,
           const Judge& judge) const {
    State<double> state = input;
    for (const DrawnLayer& drawn : layers) {
      trial.check_interrupt();
      Layer layer = at_input(drawn, state);
      layer.lambda = lambda(layer);
      if (!(std::abs(layer.lambda) <= strongest_skip)) return false;
      drawn.block->forward(state, layer.lambda);
      if (state.degenerate_rows > 0) {
        add_degenerate_rows(record, state.degenerate_rows);
        return false;
      }
      layer.mu_next = token_spread(state.Y);
      judge(layer);
    }
    return true;
  }
};

// The largest |lambda_k| of a stack, and the one |lambda| that suffices for all layers.
struct Strengths {
  double largest = undefined, single = undefined;
};

// The stack with the smallest sufficient lambda_k at every layer, for the rates a in turn.
Strengths run_sufficient(const DrawnStack& stack, const std::vector<double>& a, double sign,
                         Condition condition, const Trial& trial, TrialRecord& record) {
  const double slack = tolerance::residual<double>, mu_0 = token_spread(stack.input.Y);
  const bool ours = condition == Condition::sharper;
  StackNorms suprema;
  double promised = square(mu_0), largest = 0, K = 0;
  const auto rate = [&] { return a[static_cast<std::size_t>(K) % a.size()]; };
  const bool finished = stack.run(
      trial, record,
      [&](const Layer& layer) {
        return sign * margin * own_lambda_for(rate(), layer.mu, layer.norms, condition);
      },
      [&](const Layer& layer) {
        const double next = square(layer.mu_next), rounding = slack * layer.norms.N;
        compare(record, ours ? own_lambda::layer_sharper : own_lambda::layer,
                rate() * square(layer.mu), next, rounding);
        promised *= rate();
        K += 1;
        compare(record, own_lambda::stack, promised, next, rounding * K);
        largest = std::max(largest, std::abs(layer.lambda));
        suprema.cover(layer.norms);
      });
  if (!finished || !ours || a.size() > 1) return {};
  const double single =
      margin * own_lambda_for(a.front(), mu_0 * std::pow(a.front(), K / 2), suprema, condition);
  compare(record, own_lambda::saves, largest, single, slack * single);
  return {largest, single <= strongest_skip ? single : undefined};
}

}  // namespace

double own_lambda_for(double a, double mu, const StackNorms& norms, Condition condition) {
  const double cross = condition == Condition::sharper ? norms.tau : norms.d * norms.mix();
  return lambda_for(a, norms.mix(), norms.N * cross / square(mu));
}

void judge_own_lambdas(const Config& config, const std::string& model, Sizes sizes,
                       const Trial& trial, TrialRecord& record) {
  const DrawnStack stack(stack_spec(config, model, sizes, "rows"), trial);
  std::vector<double> largest, single;
  for (const double sign : {1.0, -1.0}) {
    for (const double a : config.a) {
      run_sufficient(stack, {a}, sign, Condition::of_the_text, trial, record);
      const Strengths strengths =
          run_sufficient(stack, {a}, sign, Condition::sharper, trial, record);
      if (sign < 0) continue;
      largest.push_back(strengths.largest);
      single.push_back(strengths.single);
    }
    run_sufficient(stack, config.a, sign, Condition::sharper, trial, record);
  }
  if (!representative(config, sizes)) return;
  record.set(model + own_lambda::largest, largest);
  record.set(model + own_lambda::single, single);
}

// Remark 4.1 --------------------------------------------------------------------------------------

void judge_rates(double mix, TrialRecord& record) {
  if (!(mix > 0)) return;
  // With a = 1 the left-hand side is -2e-6 lambda^2. With the smaller rate the threshold is 5e5
  // mix.
  constexpr double below = 1 - 4e-6;
  const double lambda = 1e6 * mix;
  record.count(remark_4_1::below_1.id, condition_7(lambda, 1, mix));
  record.count(remark_4_1::below_1.id, !condition_7(lambda, below, mix));
}

void judge_remark(const StackEnd& end, double slack, TrialRecord& record) {
  using namespace remark_4_1;
  const double start = square(end.mu_0), last = square(end.mu_K),
               promised = std::pow(rate, end.K) * start;
  StackNorms of_remark = end.norms;
  of_remark.S = 1;
  if (condition_7(end.lambda, rate, of_remark.mix()) &&
      start >= hypothesis_printed(std::abs(end.lambda), rate, end.K, of_remark))
    compare(record, prevents, promised, last, slack * end.norms.N);
  if (condition_7(end.lambda, rate, end.norms.mix()) &&
      start >= hypothesis_corrected(end.lambda, rate, end.K, end.norms)) {
    compare(record, prevents_sharper, promised, last, slack * end.norms.N);
  }
}

namespace {

// One stack at one strength.
void run_mamba(const DrawnStack& stack, double lambda, const Trial& trial, TrialRecord& record) {
  StackEnd end;
  end.lambda = lambda;
  end.mu_0 = token_spread(stack.input.Y);
  const bool finished = stack.run(
      trial, record, [&](const Layer&) { return lambda; },
      [&](const Layer& layer) {
        end.norms.cover(layer.norms);
        end.K += 1;
        end.mu_K = layer.mu_next;
      });
  if (finished) judge_remark(end, tolerance::residual<double> * end.K, record);
}

// The tokens after all layers, at the largest |lambda| of Figure 2.
void record_figure_2(const DrawnStack& stack, TrialRecord& record) {
  using namespace remark_4_1;
  double mu = infinity, residual = infinity;
  for (const double sign : {1.0, -1.0}) {
    State<double> state = stack.input;
    for (const auto& layer : stack.layers) layer.block->forward(state, sign * largest_in_figure_2);
    const TokenGeometry geometry = token_geometry(state.Y);
    mu = std::min(mu, geometry.mu_normalized);
    residual = std::min(residual, geometry.rank_one_residual);
  }
  record.set(mu_at_5, mu);
  record.set(residual_at_5, residual);
}

}  // namespace

void judge_mamba(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record) {
  using namespace remark_4_1;
  for (const bool in_cone : {false, true}) {
    ModelSpec spec = stack_spec(config, "selective-ssm", sizes, "rows");
    spec.layers = layers;
    if (in_cone) spec.input = "cone";
    const DrawnStack stack(spec, trial);
    const double start = token_spread(stack.input.Y);
    StackNorms rest;  // the suprema of the norms for tokens that do not move
    for (const auto& layer : stack.layers) rest.cover(stack.at_input(layer, stack.input).norms);
    StackNorms of_remark = rest;
    of_remark.S = 1;
    const double last = start * std::pow(rate, static_cast<double>(layers) / 2),
                 by_remark = own_lambda_for(rate, last, of_remark, Condition::of_the_text),
                 by_ours = own_lambda_for(rate, last, rest, Condition::sharper);
    judge_rates(rest.mix(), record);
    for (const double strength : {by_remark, by_ours}) {
      for (const double sign : {1.0, -1.0})
        run_mamba(stack, sign * margin * strength, trial, record);
    }
    if (!representative(config, sizes) || in_cone) continue;
    record.set(S, rest.S);
    record.set(lambda_printed, threshold_7(rate, rest.C_M));
    record.set(lambda_corrected, by_ours);
    record_figure_2(stack, record);
  }
}

// Claims ------------------------------------------------------------------------------------------

namespace {

// By how much the one lambda exceeds the largest lambda_k at the i-th rate, over the models; empty
// if it is nowhere within range.
std::string factor_text(const Config& config, const Records& records, std::size_t i) {
  double low = infinity, high = 0;
  for (const std::string& model : config.models) {
    const auto factor = per_trial(records, [&](const TrialRecord& record) {
      return record.array(model + own_lambda::single)[i] /
             record.array(model + own_lambda::largest)[i];
    });
    low = std::fmin(low, summarize(factor).mean);  // fmin and fmax skip undefined values
    high = std::fmax(high, summarize(factor).mean);
  }
  if (high == 0) return "";
  return say(
      "at a = {}, b makes the one lambda {} to {} times as large as the largest lambda_k, at the "
      "last N and d",
      config.a[i], low, high);
}

}  // namespace

void judge_own_lambda_claims(const Config& config, const Records& records, Claims& claims) {
  using namespace own_lambda;
  const std::string unmet = "mu is 0 in every stack";
  judge_counted(layer, records, claims,
                "lambda_k 1 % above the smallest one of its layer, with each sign; with |lambda_k| "
                "as in the corrected Theorem 4.1; the text prints mu for mu^2, which is weaker",
                unmet);
  judge_counted(stack, records, claims,
                "one rate for all layers, and the rates of --a in turn; also under our weaker "
                "condition",
                unmet);
  judge_counted(layer_sharper, records, claims,
                "lambda_k 1 % above the smallest one of its layer, with each sign", unmet);
  judge_counted(saves, records, claims,
                clauses(factor_text(config, records, config.a.size() - 1),
                        factor_text(config, records, config.a.size() / 2)),
                unmet);
}

void judge_remark_claims(const Config& config, const Records& records, Claims& claims) {
  using namespace remark_4_1;
  const auto mean = [&](const char* name) { return summarize(scalars_of(records, name)).mean; };
  const double measured = mean(S), root_d = std::sqrt(static_cast<double>(config.dim.back()));
  claims.number(value_norm.as_printed, measured, within(1, 0),
                "||C_V||_F at the last d; the spectral norm of I is 1",
                tolerance::closed_form<double>);
  claims.number(value_norm.corrected, measured, within(root_d, 0), "||C_V||_F at the last d",
                tolerance::closed_form<double>);
  judge_counted(below_1, records, claims,
                "at |lambda| = 1e6 S C_M eq. (7) must fail with a = 1 and hold with a = 1 - 4e-6",
                "M is 0 in every stack");
  const std::string unmet = "no stack meets the condition on mu(Y^0)";
  judge_counted(prevents, records, claims,
                "lambda 1 % above the smallest one at which both conditions hold; the factor "
                "0.9999^64 is 0.9936",
                unmet);
  judge_counted(prevents_sharper, records, claims,
                say("lambda 1 % above the smallest one at which the condition on mu(Y^0) holds, at "
                    "the last N and d {}",
                    mean(lambda_corrected)),
                unmet);
  const double required = mean(lambda_printed);
  if (!claims.applies(in_figure_2,
                      required > much_larger
                          ? ""
                          : say("eq. (7) does not require a much larger |lambda| at the last N and "
                                "d: {}",
                                required)))
    return;
  claims.mean(in_figure_2, scalars_of(records, mu_at_5), at_least(least_mu),
              say("smaller value of the two signs, at the last N and d, where eq. (7) requires "
                  "|lambda| > {}; 1 - sigma_1^2/||Y||_F^2 is {}",
                  required, mean(residual_at_5)));
}

}  // namespace ranklab::bounds
