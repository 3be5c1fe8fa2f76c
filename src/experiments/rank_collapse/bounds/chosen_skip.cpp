#include "experiments/rank_collapse/bounds/chosen_skip.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "core/statistics.hpp"
#include "core/tolerances.hpp"
#include "experiments/rank_collapse/stack_source.hpp"
#include "nn/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

// A strict inequality needs a lambda above its threshold.
constexpr double margin = 1.01;
// Beyond this strength a layer only changes the sign of its input.
constexpr double strongest_skip = 1e12;

// A bare stack whose weights are drawn once for many runs.
template <class T>
struct DrawnStack {
  struct DrawnLayer {
    std::unique_ptr<BareBlock<T>> block;
    arma::mat C_V;
    ValueNorms values;
  };
  State<T> input;
  std::vector<DrawnLayer> layers;

  DrawnStack(const ModelSpec& spec, const Trial& trial) : input(draw_input<T>(spec, trial)) {
    for (std::uint64_t k = 0; k < spec.layers; ++k) {
      DrawnTensors<T> tensors = block_tensors<T>(spec, trial, k);
      auto block = make_block_of<BareBlock>(spec, tensors);
      const arma::mat C_V = exact(block->value_matrix());
      layers.push_back({std::move(block), C_V, value_norms(C_V)});
    }
  }

  /// The norms of a layer at its input, and mu of the input.
  Layer at_input(const DrawnLayer& layer, const State<T>& state) const {
    const arma::mat Y = exact(state.Y);
    return open_layer(Y, exact(layer.block->mixing_matrix(state)), layer.C_V, layer.values, 0.0, Y);
  }

  /// Runs the layers with the lambda that lambda(layer) chooses from a layer at its input, and
  /// calls judge(layer) after each. True if all layers ran: none had a zero row or too large a
  /// lambda.
  template <class Lambda, class Judge>
  bool run(const Trial& trial, TrialRecord& record, const Lambda& lambda,
           const Judge& judge) const {
    State<T> state = input;
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
template <class T>
Strengths run_sufficient(const DrawnStack<T>& stack, const std::vector<double>& a, double sign,
                         const Trial& trial, TrialRecord& record) {
  const double slack = tolerance::residual<T>, mu_0 = token_spread(stack.input.Y);
  StackNorms suprema;
  double promised = square(mu_0), largest = 0, K = 0;
  const auto rate = [&] { return a[static_cast<std::size_t>(K) % a.size()]; };
  const bool finished = stack.run(
      trial, record,
      [&](const Layer& layer) {
        return sign * margin * own_lambda_for(rate(), layer.mu, layer.norms);
      },
      [&](const Layer& layer) {
        const double next = square(layer.mu_next), rounding = slack * layer.norms.N;
        compare(record, own_lambda::layer.corrected, rate() * square(layer.mu), next, rounding);
        promised *= rate();
        K += 1;
        compare(record, own_lambda::stack, promised, next, rounding * K);
        largest = std::max(largest, std::abs(layer.lambda));
        suprema.cover(layer.norms);
      });
  if (!finished || a.size() > 1) return {};
  const double single =
      margin * own_lambda_for(a.front(), mu_0 * std::pow(a.front(), K / 2), suprema);
  compare(record, own_lambda::saves, largest, single, slack * single);
  return {largest, single <= strongest_skip ? single : undefined};
}

// The stack with lambda_k at the threshold of eq. (7).
template <class T>
void run_thresholds(const DrawnStack<T>& stack, double a, double sign, const Trial& trial,
                    TrialRecord& record) {
  const double slack = tolerance::residual<T>;
  stack.run(
      trial, record,
      [&](const Layer& layer) { return sign * margin * threshold_7(a, layer.norms.mix()); },
      [&](const Layer& layer) {
        compare(record, own_lambda::layer.as_printed, a * layer.mu, layer.mu_next,
                slack * std::sqrt(layer.norms.N));
      });
}

}  // namespace

double own_lambda_for(double a, double mu, const StackNorms& norms) {
  return lambda_for(a, norms.mix(), norms.N * norms.tau / square(mu));
}

template <class T>
void judge_own_lambdas(const BoundsConfig& config, const std::string& model, Sizes sizes,
                       const Trial& trial, TrialRecord& record) {
  const DrawnStack<T> stack(stack_spec(config, model, sizes, "rows"), trial);
  std::vector<double> largest, single;
  for (const double sign : {1.0, -1.0}) {
    for (const double a : config.a) {
      run_thresholds(stack, a, sign, trial, record);
      const Strengths strengths = run_sufficient(stack, {a}, sign, trial, record);
      if (sign < 0) continue;
      largest.push_back(strengths.largest);
      single.push_back(strengths.single);
    }
    run_sufficient(stack, config.a, sign, trial, record);
  }
  if (!representative(config, sizes)) return;
  record.set(model + own_lambda::largest, largest);
  record.set(model + own_lambda::single, single);
}

template void judge_own_lambdas<float>(const BoundsConfig&, const std::string&, Sizes, const Trial&,
                                       TrialRecord&);
template void judge_own_lambdas<double>(const BoundsConfig&, const std::string&, Sizes,
                                        const Trial&, TrialRecord&);

// Remark 4.1 --------------------------------------------------------------------------------------

void judge_remark(const StackEnd& end, double slack, TrialRecord& record) {
  using namespace remark_4_1;
  const double start = square(end.mu_0), last = square(end.mu_K),
               promised = std::pow(rate, end.K) * start;
  if (condition_7(end.lambda, rate, end.norms.C_M))
    compare(record, prevents.as_printed, promised, last, slack * end.norms.N);
  if (condition_7(end.lambda, rate, end.norms.mix()) &&
      start >= hypothesis_corrected(end.lambda, rate, end.K, end.norms)) {
    compare(record, prevents.corrected, promised, last, slack * end.norms.N);
  }
}

namespace {

// One stack at one strength.
template <class T>
void run_mamba(const DrawnStack<T>& stack, double lambda, const Trial& trial, TrialRecord& record) {
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
  if (finished) judge_remark(end, tolerance::residual<T> * end.K, record);
}

}  // namespace

template <class T>
void judge_mamba(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record) {
  using namespace remark_4_1;
  for (const bool in_cone : {false, true}) {
    ModelSpec spec = stack_spec(config, "selective-ssm", sizes, "rows");
    spec.layers = layers;
    if (in_cone) spec.input = "cone";
    const DrawnStack<T> stack(spec, trial);
    const double mu = token_spread(stack.input.Y);
    StackNorms rest;  // the suprema of the norms for tokens that do not move
    for (const auto& layer : stack.layers) rest.cover(stack.at_input(layer, stack.input).norms);
    const double K = static_cast<double>(layers),
                 root_d = std::sqrt(static_cast<double>(sizes.dim)),
                 by_7 = threshold_7(rate, rest.C_M),
                 by_hypothesis = own_lambda_for(rate, mu * std::pow(rate, K / 2), rest);
    const double slack = tolerance::residual<T>;
    compare(record, value_norm.as_printed, std::abs(rest.S - 1), 0, slack);
    compare(record, value_norm.corrected, std::abs(rest.S - root_d), 0, slack * root_d);
    compare(record, in_figure_2, by_7, largest_in_figure_2, 0);
    for (const double strength : {by_7, by_hypothesis}) {
      compare(record, below_1, margin_7(strength, 1.0, rest.mix()), 0, slack * square(strength));
      for (const double sign : {1.0, -1.0})
        run_mamba(stack, sign * margin * strength, trial, record);
    }
    if (!representative(config, sizes) || in_cone) continue;
    record.set(lambda_printed, by_7);
    record.set(lambda_corrected, by_hypothesis);
  }
}

template void judge_mamba<float>(const BoundsConfig&, Sizes, const Trial&, TrialRecord&);
template void judge_mamba<double>(const BoundsConfig&, Sizes, const Trial&, TrialRecord&);

void judge_last_token(double N, double slack, TrialRecord& record) {
  using namespace remark_4_1;
  double angle = std::numbers::pi / 4;
  const auto mu = [&] { return std::sqrt((1 - 1 / N) * 2 * (1 - std::cos(angle))); };
  StackEnd end;
  end.K = static_cast<double>(layers);
  end.mu_0 = mu();
  // Row N of M is sin(angle) (1, ..., 1, cos(angle)), which is longest at the first layer.
  const double norm = std::sin(angle) * std::sqrt(N - 1 + square(std::cos(angle)));
  end.norms = {N, 2, std::numbers::sqrt2, norm, norm, norm};
  end.lambda = margin * threshold_7(rate, norm);
  for (std::uint64_t k = 0; k < layers; ++k) {
    const double sine = std::sin(angle), cosine = std::cos(angle);
    angle = std::atan2(sine * sine * cosine + end.lambda * sine,
                       sine * (N - 1 + cosine * cosine) + end.lambda * cosine);
  }
  end.mu_K = mu();
  judge_remark(end, slack, record);
}

// Claims ------------------------------------------------------------------------------------------

namespace {

// By how much the one lambda exceeds the largest lambda_k at the i-th rate, over the models; empty
// if it is nowhere within range.
std::string factor_text(const BoundsConfig& config, const Records& records, std::size_t i) {
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
  return "at a = " + short_number(config.a[i]) + ", b makes the one lambda " + short_number(low) +
         " to " + short_number(high) +
         " times as large as the largest lambda_k, at the last N and d";
}

}  // namespace

void judge_own_lambda_claims(const BoundsConfig& config, const Records& records, Claims& claims) {
  using namespace own_lambda;
  judge_counted(layer.as_printed, records, claims,
                "lambda_k 1 % above the threshold of its layer; the text adapts only eq. (7) and "
                "prints mu for mu^2; worked example: Sys-1 at lambda = -0.9, a = 0.04");
  judge_counted(layer.corrected, records, claims,
                "lambda_k 1 % above the smallest one of its layer, with each sign",
                "mu is 0 in every stack");
  judge_counted(stack, records, claims, "one rate for all layers, and the rates of --a in turn",
                "mu is 0 in every stack");
  judge_counted(saves, records, claims,
                clauses(factor_text(config, records, config.a.size() - 1),
                        factor_text(config, records, config.a.size() / 2)),
                "mu is 0 in every stack");
}

void judge_remark_claims(const Records& records, Claims& claims) {
  using namespace remark_4_1;
  const auto needed = [&](const char* name) {
    return short_number(summarize(scalars_of(records, name)).mean);
  };
  judge_counted(value_norm.as_printed, records, claims,
                "S = sup ||C_V||_F by its definition in Section 4.1; the spectral norm of I is 1; "
                "the remark's c is not defined");
  judge_counted(value_norm.corrected, records, claims);
  judge_counted(below_1, records, claims, "in no model, because S C_M > 0");
  judge_counted(prevents.as_printed, records, claims,
                "lambda 1 % above the threshold of eq. (7), at the last N and d " +
                    needed(lambda_printed) +
                    "; eq. (7) does not contain mu(Y^0); worked example: of 16 tokens only the "
                    "last one differs, and only it attends to the others");
  judge_counted(prevents.corrected, records, claims,
                "lambda 1 % above the smallest one at which the condition on mu(Y^0) holds, at the "
                "last N and d " +
                    needed(lambda_corrected) + "; the factor 0.9999^64 is 0.9936",
                "no stack meets the condition on mu(Y^0)");
  judge_counted(in_figure_2, records, claims,
                "the remark says 'see e.g. Figure 2', but eq. (7) requires |lambda| > 20,000 C_M; "
                "at |lambda| <= 5 the theorem guarantees nothing");
}

}  // namespace ranklab::bounds
