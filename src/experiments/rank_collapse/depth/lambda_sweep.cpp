// `rank-collapse --study lambda-sweep`: the last layer against the strength of the skip
// ([LambdaSkip] Figure 2), and the smallest strength that keeps the tokens apart through all
// layers, compared with the strength that Theorem 4.1 requires (lambda_sweep.hpp).
//
// A trial first runs the strengths of the grid. For each sign it then runs further strengths
// between the largest that collapses and the smallest that does not.
#include "experiments/rank_collapse/depth/lambda_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "experiments/kit.hpp"
#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "nn/blocks/bare_block.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::lambda_sweep {
namespace {

// Flags -------------------------------------------------------------------------------------------

struct Config : DepthConfig {
  std::vector<double> lambda = {-5,   -4,  -3,   -2.5, -2,  -1.5, -1,  -0.75, -0.5, -0.25, 0,
                                0.25, 0.5, 0.75, 1,    1.5, 2,    2.5, 3,     4,    5};
  // Tokens are kept apart if mu_normalized and rank_one_residual exceed this at every layer.
  double threshold = 0.1;
  // Further strengths per sign, between the largest that collapses and the smallest that does not.
  std::uint64_t refine = 9;

  std::vector<Field> flags() override;
  void check() const override { models(); }
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override {
    return "The last layer against the strength of the skip, " + model.model;
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  /// The curves of the figure: --model and --also.
  std::vector<StackedModel> models() const { return stacked_models(model, also); }
};

std::vector<Field> Config::flags() {
  return all_fields(
      {{precision_field(precision)},
       model_fields(model),
       file_fields(model),
       {real_list_field("lambda", lambda, -1e12, 1e12, "lambda", "strengths of the skip"),
        also_field(also),
        real_field(
            "threshold", threshold, 0.0, 1.0, "",
            "tokens are kept apart if mu_normalized and rank_one_residual exceed it at every "
            "layer"),
        size_field("refine", refine, 0, 1000, "",
                   "number of further strengths per sign, between the largest that collapses and "
                   "the smallest that does not")}});
}

Estimate Config::memory() const {
  std::vector<DepthGroup> groups;
  for (const StackedModel& each : models())
    groups.push_back({each.spec, std::vector<DepthPath>(lambda.size() + 2 * refine)});
  return depth_cost(groups);
}

Config in_order(Config config) {
  std::sort(config.lambda.begin(), config.lambda.end());
  return config;
}

// What a trial records of each model ----------------------------------

// Arrays over the ascending lambda: a measure at the last layer, and its smallest value over the
// layers 1 to K.
constexpr Measure
    final_mu = {"final.mu_normalized", "mu(Y)/||Y||_F",
                "after the last layer: distance of the tokens from their mean over their norm"},
    final_residual = {"final.rank_one_residual", "1 - sigma_1(Y)^2/||Y||_F^2",
                      "after the last layer: squared distance from rank one over the squared norm"},
    final_cosine = {"final.cosine_similarity", "t_cos(Y)",
                    "after the last layer: mean cosine over pairs of tokens"},
    least_mu = {"least.mu_normalized", "mu(Y)/||Y||_F",
                "smallest over the layers: distance of the tokens from their mean over their norm"},
    least_residual = {"least.rank_one_residual", "1 - sigma_1(Y)^2/||Y||_F^2",
                      "smallest over the layers: squared distance from rank one over the squared "
                      "norm"},
    least_cosine = {"least.cosine_similarity", "t_cos(Y)",
                    "smallest over the layers: mean cosine over pairs of tokens"};
constexpr struct {
  Measure of, last, least;
} swept_measures[] = {{measure::mu_normalized, final_mu, least_mu},
                      {measure::rank_one_residual, final_residual, least_residual},
                      {measure::cosine_similarity, final_cosine, least_cosine}};

struct Sign {
  int of_lambda;
  // The smallest strength such that it and all larger ones keep the tokens apart; NaN if the
  // largest one does not.
  Measure smallest_lambda;
  // log10 of the strength that Theorem 4.1 requires over the smallest one; NaN if the smallest one
  // is 0 or NaN.
  Measure orders_of_magnitude;
};
constexpr Sign signs[] = {
    {1,
     {"smallest_lambda_positive", "|lambda|",
      "smallest lambda > 0 from which on the tokens are kept apart at every layer"},
     {"orders_of_magnitude_positive", "",
      "log10 of the lambda that Theorem 4.1 requires over the smallest lambda > 0"}},
    {-1,
     {"smallest_lambda_negative", "|lambda|",
      "smallest |lambda| of lambda < 0 from which on the tokens are kept apart at every layer"},
     {"orders_of_magnitude_negative", "",
      "log10 of the lambda that Theorem 4.1 requires over the smallest |lambda| of lambda < 0"}}};

// Only for a stack of Theorem 4.1 (is_of_theorem): its norms (see SkipTheorem), the rate a for
// which the theorem guarantees the threshold at the last layer, and the strengths that its
// condition and its hypothesis require at this rate.
constexpr Measure theorem_S = {"S", "S", "largest Frobenius norm of C_V over the layers"},
                  theorem_C_M = {"C_M", "C_M",
                                 "largest Frobenius norm of the mixing matrix over the layers"},
                  theorem_rate = {"theorem_rate", "a",
                                  "collapse rate for which Theorem 4.1 guarantees the threshold"},
                  theorem_condition = {"theorem_condition", "|lambda|",
                                       "strength that eq. (7) requires at this rate"},
                  theorem_lambda = {"theorem_lambda", "|lambda|",
                                    "strength that Theorem 4.1 requires at this rate"};

// Over the grids of all models: `degenerate_rows`, and the number of curves that overflowed.
constexpr Measure diverged = diverged_curves;

// The trial ---------------------------------------------------------------------------------------

// With more tokens the mixing matrix is not formed, and the norms of Theorem 4.1 are not recorded.
constexpr std::uint64_t most_mixing_tokens = 2048;

// A bare stack whose norms are recorded.
bool is_of_theorem(const ModelSpec& spec) {
  return spec.row().bare && spec.norm == "rows" && spec.tokens <= most_mixing_tokens;
}

// The curves are named by their index: "0", "1", ...
At curve_at(std::size_t index) {
  return {"curve", index, std::to_string(index)};
}
std::vector<DepthPath> curves_of(const std::vector<double>& lambda) {
  std::vector<DepthPath> curves;
  for (const double strength : lambda) curves.push_back({curve_at(curves.size()), {strength}});
  return curves;
}

// The values of one curve, one for each layer.
const std::vector<double>& by_layer(const TrialRecord& curves, std::size_t curve,
                                    const Measure& what) {
  return curves.array(curve_at(curve) / what);
}

double least_after_input(const std::vector<double>& by_layer) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k < by_layer.size(); ++k) {
    if (std::isnan(by_layer[k])) return undefined;
    least = std::min(least, by_layer[k]);
  }
  return least;
}

// Whether each curve keeps its tokens apart at every layer. An undefined measure counts as
// collapsed.
std::vector<bool> kept(const TrialRecord& curves, std::size_t count, double threshold) {
  std::vector<bool> out;
  for (std::size_t c = 0; c < count; ++c) {
    out.push_back(least_after_input(by_layer(curves, c, measure::mu_normalized)) > threshold &&
                  least_after_input(by_layer(curves, c, measure::rank_one_residual)) > threshold);
  }
  return out;
}

void record_grid(const TrialRecord& grid, std::size_t strengths, const At& model,
                 TrialRecord& record) {
  for (const auto& each : swept_measures) {
    std::vector<double> last, least;
    for (std::size_t i = 0; i < strengths; ++i) {
      last.push_back(by_layer(grid, i, each.of).back());
      least.push_back(least_after_input(by_layer(grid, i, each.of)));
    }
    record.set(model / each.last, last);
    record.set(model / each.least, least);
  }
  double degenerate = 0, overflowed = 0;
  for (std::size_t i = 0; i < strengths; ++i) {
    degenerate += grid.scalar(curve_at(i) / degenerate_rows);
    if (grid.scalar(curve_at(i) / overflow_layer) > 0) overflowed += 1;
  }
  record.set(degenerate_rows, record.scalar(degenerate_rows) + degenerate);
  record.set(diverged, record.scalar(diverged) + overflowed);
}

// The grid of one trial of a bare stack. Records the quantities of Theorem 4.1.
template <class T>
TrialRecord observed_grid(const Config& c, const ModelSpec& spec, const At& model,
                          const Trial& trial, TrialRecord& record) {
  // The suprema over the layers, for each curve.
  std::vector<double> S(c.lambda.size(), 0.0), C_M = S;
  const DepthObserver<T> observe = [&](std::size_t i, const Block<T>& block,
                                       const State<T>& state) {
    const auto& bare = dynamic_cast<const BareBlock<T>&>(block);
    S[i] = std::max(S[i], static_cast<double>(arma::norm(bare.value_matrix(), "fro")));
    C_M[i] = std::max(C_M[i], static_cast<double>(arma::norm(bare.mixing_matrix(state), "fro")));
  };
  TrialRecord grid = run_observed<T>({spec, curves_of(c.lambda)}, trial, observe);
  const double mu = by_layer(grid, 0, measure::mu).front(), N = static_cast<double>(spec.tokens);
  const SkipTheorem theorem{
      *std::max_element(S.begin(), S.end()), *std::max_element(C_M.begin(), C_M.end()), N,
      static_cast<double>(spec.dim),         static_cast<double>(spec.layers),          mu * mu};
  // With unit rows ||Y||_F^2 = N, so normalized mu at the threshold means mu^2 = threshold^2 N.
  const double a = theorem.collapse_rate(c.threshold * c.threshold * N);
  record.set(model / theorem_S, theorem.S);
  record.set(model / theorem_C_M, theorem.C_M);
  record.set(model / theorem_rate, a);
  record.set(model / theorem_condition, theorem.condition_threshold(a));
  record.set(model / theorem_lambda, theorem.hypothesis_threshold(a));
  return grid;
}

Records run_grids(const Config& c, const ModelSpec& spec, const At& model,
                  const std::vector<Trial>& trials, Records& records) {
  if (!is_of_theorem(spec))
    return run_groups({{spec, curves_of(c.lambda)}}, trials, c.single_precision());
  Records grids;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    grids.push_back(c.single_precision()
                        ? observed_grid<float>(c, spec, model, trials[t], records[t])
                        : observed_grid<double>(c, spec, model, trials[t], records[t]));
  }
  return grids;
}

// The smallest sufficient strength of one sign on the grid, and the strengths below it that the
// refinement still has to try.
struct Search {
  const Sign* sign;
  double smallest;
  std::vector<double> between;
};

std::vector<Search> searches(const Config& c, const TrialRecord& grid) {
  const std::vector<bool> on_grid = kept(grid, c.lambda.size(), c.threshold);
  std::vector<Search> out;
  for (const Sign& sign : signs) {
    const SkipBracket bracket = skip_bracket(c.lambda, on_grid, sign.of_lambda);
    out.push_back({&sign, bracket.keeps, points_inside(bracket, c.refine)});
  }
  return out;
}

// Both signs run in one pass through the layers.
std::vector<DepthPath> curves_between(const std::vector<Search>& of_trial) {
  std::vector<double> lambda;
  for (const Search& search : of_trial) {
    for (const double strength : search.between)
      lambda.push_back(search.sign->of_lambda * strength);
  }
  return curves_of(lambda);
}

void record_search(const std::vector<Search>& of_trial, const std::vector<bool>& finer,
                   const At& model, TrialRecord& record) {
  std::size_t first = 0;
  for (const Search& search : of_trial) {
    double smallest = search.smallest;
    for (std::size_t i = search.between.size(); i-- > 0 && finer[first + i];)
      smallest = search.between[i];
    first += search.between.size();
    record.set(model / search.sign->smallest_lambda, smallest);
    if (!record.has(model / theorem_lambda)) continue;
    const double required = record.scalar(model / theorem_lambda);
    record.set(model / search.sign->orders_of_magnitude,
               smallest > 0 ? std::log10(required / smallest) : undefined);
  }
}

void record_model(const Config& c, const ModelSpec& spec, const At& model,
                  const std::vector<Trial>& trials, Records& records) {
  const Records grids = run_grids(c, spec, model, trials, records);
  std::vector<std::vector<Search>> refinements;
  std::vector<std::vector<DepthPath>> between;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    record_grid(grids[t], c.lambda.size(), model, records[t]);
    refinements.push_back(searches(c, grids[t]));
    between.push_back(curves_between(refinements.back()));
  }
  Records finer(trials.size());
  const bool nothing_to_refine = std::all_of(between.begin(), between.end(),
                                             [](const auto& curves) { return curves.empty(); });
  if (!nothing_to_refine) run_curves(spec, between, trials, c.single_precision(), finer);
  for (std::size_t t = 0; t < trials.size(); ++t) {
    record_search(refinements[t], kept(finer[t], between[t].size(), c.threshold), model,
                  records[t]);
  }
}

Work Config::work() const {
  const auto run = [c = in_order(*this), all = models()](std::uint64_t training,
                                                         const std::vector<Trial>& trials) {
    Records records(trials.size());
    for (TrialRecord& record : records) {
      record.set(degenerate_rows, 0.0);
      record.set(diverged, 0.0);
    }
    for (const StackedModel& each : all)
      record_model(c, each.training(training), each.at, trials, records);
    return records;
  };
  return depth_work(model, {}, run);  // a record has no curves over the layers
}

// Claims: Figure 2 of [LambdaSkip], and its Section 5.1 about eq. (7) -----------------------------

constexpr double infinity = std::numeric_limits<double>::infinity();
// Our thresholds for "little variation" and for statistical equality; the paper gives no number.
constexpr double little_variation = 0.1, equal_within = 0.05, rounding = 1e-10;

// Figure 2 shows Mamba-2 and ALBERT.
bool is_in_figure_2(const ModelSpec& spec) {
  return spec.model == "mamba2" || spec.model == "albert";
}

Place figure_2_of(const StackedModel& model) {
  Place place = in_figure(lambda_skip::fig_2, say("lambda-skip/fig-2/{}/", model.label),
                          "Section 5.1, Figure 2");
  if (is_in_figure_2(model.spec)) return place;
  place.source = "not in the paper, whose Figure 2 shows Mamba-2 and ALBERT";
  return beyond(place);
}

// The model's name in sentences: "attention with C_V = I".
std::string words_of(const ModelSpec& spec) {
  const std::string title = model_row(spec.model).title;
  if (spec.value_weights == "identity") return title + " with C_V = I";
  return title + (spec.row().bare ? " with C_V = W_V" : "");
}

// Normalized mu at the last layer in each trial, over the ascending lambda.
struct Sweep {
  const std::vector<double>& lambda;
  std::vector<std::vector<double>> final_mu;
  std::string in_model;  // " in Mamba-2", the end of the statements

  /// value(mu) of every trial; undefined if the state overflowed for a lambda with used(lambda).
  std::vector<double> per_trial(
      const std::function<bool(double lambda)>& used,
      const std::function<double(const std::vector<double>& mu)>& value) const {
    std::vector<double> out;
    for (const std::vector<double>& mu : final_mu) {
      bool overflowed = false;
      for (std::size_t i = 0; i < mu.size(); ++i)
        overflowed |= used(lambda[i]) && std::isnan(mu[i]);
      out.push_back(overflowed ? undefined : value(mu));
    }
    return out;
  }
  /// The trials in which the state overflowed, for each lambda with used(lambda).
  std::vector<Divergence> overflows(const std::function<bool(double lambda)>& used) const {
    std::vector<Divergence> out;
    for (std::size_t i = 0; i < lambda.size(); ++i) {
      if (!used(lambda[i])) continue;
      out.push_back({"lambda=" + series_number(lambda[i]), {}});
      for (const std::vector<double>& mu : final_mu)
        out.back().in_trial.push_back(std::isnan(mu[i]));
    }
    return out;
  }
};

// "A very low value" near lambda = 0.
void judge_low(const Config& c, const ModelSpec& spec, const Sweep& sweep, const Place& figure_2,
               Claims& claims) {
  const Statement low =
      figure_2("low-at-0",
               say("mu at the last layer is very low at lambda = 0{}: mu/||Y||_F", sweep.in_model));
  const auto zero = std::find(sweep.lambda.begin(), sweep.lambda.end(), 0.0);
  if (zero == sweep.lambda.end())
    return claims.not_applicable(low, "lambda = 0 is not in the list");
  const auto at_zero = static_cast<std::size_t>(zero - sweep.lambda.begin());
  const auto used = [](double lambda) { return lambda == 0; };
  // A shallow model can contradict no statement about what happens over the depth.
  const auto depth = claims.only_where(spec.checkpoint != nullptr ? too_shallow(spec) : "",
                                       Claims::Unmet::verdict_alone);
  const auto runs = claims.about(sweep.overflows(used));
  claims.mean(low.kind == Kind::beyond ? low : reading(low, say("mu/||Y||_F of {}", c.threshold)),
              sweep.per_trial(used, [&](const std::vector<double>& mu) { return mu[at_zero]; }),
              at_most(c.threshold),
              say("{}, {}", plural(spec.layers, "layer"),
                  spec.checkpoint != nullptr ? "trained here" : "random weights"));
}

void judge_dip(const Sweep& sweep, const Place& figure_2, bool single_precision, Claims& claims) {
  const Statement dip = figure_2(
      "dip-at-0", say("mu at the last layer is lower at lambda = 0 than at any abs(lambda) >= 1{}: "
                      "difference of mu/||Y||_F",
                      sweep.in_model));
  const auto zero = std::find(sweep.lambda.begin(), sweep.lambda.end(), 0.0);
  if (zero == sweep.lambda.end())
    return claims.not_applicable(dip, "lambda = 0 is not in the list");
  if (std::none_of(sweep.lambda.begin(), sweep.lambda.end(),
                   [](double lambda) { return std::abs(lambda) >= 1; }))
    return claims.not_applicable(dip, "no abs(lambda) of at least 1 is in the list");
  const auto at_zero = static_cast<std::size_t>(zero - sweep.lambda.begin());
  const auto used = [](double lambda) { return lambda == 0 || std::abs(lambda) >= 1; };
  const auto lead = sweep.per_trial(used, [&](const std::vector<double>& mu) {
    double least = infinity;
    for (std::size_t i = 0; i < mu.size(); ++i) {
      if (std::abs(sweep.lambda[i]) >= 1) least = std::min(least, mu[i]);
    }
    return least - mu[at_zero];
  });
  const double margin = single_precision ? single_precision_floor : rounding;
  const Spread leads = spread_of(lead);
  const bool resolved =
      !single_precision || std::max(std::abs(leads.smallest), std::abs(leads.largest)) >= margin;
  const auto precision = claims.only_where(
      resolved ? "" : "single precision does not resolve the difference; use --precision f64",
      Claims::Unmet::verdict_alone);
  const auto runs = claims.about(sweep.overflows(used), true);
  claims.mean(
      dip, lead, at_least(margin),
      say("smallest normalized mu at abs(lambda) >= 1 minus normalized mu at 0; at least {}, "
          "so that rounding does not count",
          margin));
}

struct MirrorPair {
  std::size_t negative, positive;
};

std::vector<MirrorPair> mirror_pairs(const std::vector<double>& lambda) {
  std::vector<MirrorPair> pairs;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    if (lambda[i] <= 0) continue;
    const auto mirror = std::find(lambda.begin(), lambda.end(), -lambda[i]);
    if (mirror != lambda.end())
      pairs.push_back({static_cast<std::size_t>(mirror - lambda.begin()), i});
  }
  return pairs;
}

void judge_asymmetry(const Sweep& sweep, const ModelSpec& spec, const Place& figure_2,
                     Claims& claims) {
  const Statement as_printed = figure_2(
      "asymmetry/as-printed",
      say("mu at the last layer is higher for negative than for positive lambda{}: difference of "
          "mu/||Y||_F",
          sweep.in_model));
  const std::vector<MirrorPair> pairs = mirror_pairs(sweep.lambda);
  if (pairs.empty())
    return claims.not_applicable(as_printed, "no pair of lambda and -lambda in the list");
  const auto used = [&](double lambda) {
    return std::ranges::any_of(pairs, [&](const MirrorPair& pair) {
      return lambda == sweep.lambda[pair.negative] || lambda == sweep.lambda[pair.positive];
    });
  };
  const auto runs = claims.about(sweep.overflows(used), true);
  const auto lead = sweep.per_trial(used, [&](const std::vector<double>& mu) {
    double sum = 0;
    for (const MirrorPair& pair : pairs) sum += mu[pair.negative] - mu[pair.positive];
    return sum / static_cast<double>(pairs.size());
  });
  const std::string detail =
      "normalized mu at -lambda minus normalized mu at lambda, mean over all pairs lambda > 0";
  claims.mean(as_printed, lead, positive(), detail);

  // If the rest of the block is odd, flipping the sign of a weight of mean zero turns lambda into
  // -lambda, up to the sign of the whole state.
  const auto explained = [&](const std::string& relation, const std::string& condition) {
    return beyond(
        Statement{figure_2.statement_id, figure_2.prefix + "asymmetry/corrected",
                  "not in the paper; for random weights",
                  say("mu at the last layer is {}{}, if {}", relation, sweep.in_model, condition)});
  };
  const std::string equal = "statistically equal for lambda and -lambda",
                    random_weight = "the mixing has a random weight of mean zero";
  if (spec.has_mlp() || spec.checkpoint != nullptr) {
    claims.not_applicable(
        explained(equal, random_weight),
        say("hypothesis not met: {}",
            spec.has_mlp() ? "the feed-forward net is not odd" : "the weights are trained"));
  } else if (spec.value_weights != "identity") {
    claims.equivalent(explained(equal, random_weight), lead, equal_within, detail);
  } else {
    claims.mean(explained("higher for negative than for positive lambda",
                          "C_V = I and all entries of the mixing matrix have the same sign"),
                lead, at_least(equal_within), detail);
  }
}

void judge_flatness(const Sweep& sweep, const Place& figure_2, Claims& claims) {
  const double outer = std::max(std::abs(sweep.lambda.front()), std::abs(sweep.lambda.back())) / 2;
  const auto used = [&](double lambda) { return std::abs(lambda) >= outer && lambda != 0; };
  const auto range = sweep.per_trial(used, [&](const std::vector<double>& mu) {
    double widest = undefined;  // the larger range of the two signs
    for (const Sign& sign : signs) {
      double low = infinity, high = -infinity, values = 0;
      for (std::size_t i = 0; i < mu.size(); ++i) {
        if (std::abs(sweep.lambda[i]) < outer || sign.of_lambda * sweep.lambda[i] <= 0) continue;
        low = std::min(low, mu[i]);
        high = std::max(high, mu[i]);
        values += 1;
      }
      if (values > 1) widest = std::fmax(widest, high - low);
    }
    return widest;
  });
  const Statement flat = figure_2(
      "flat-at-large-lambda",
      say("mu at the last layer varies little for large abs(lambda){}: range of mu/||Y||_F",
          sweep.in_model));
  const auto runs = claims.about(sweep.overflows(used), true);
  claims.mean(
      flat.kind == Kind::beyond ? flat : reading(flat, say("a range of {}", little_variation)),
      range, at_most(little_variation),
      say("range of normalized mu over abs(lambda) >= {}, the larger of the two signs", outer));
}

// Section 5.1 calls eq. (7) conservative for ALBERT and Mamba-2, which are not of the form of eq.
// (6). Stacks of eq. (6) are ours.
Statement conservative_for(const StackedModel& model) {
  return beyond(Statement{lambda_skip::section_5_1_conservative,
                          "lambda-skip/thm-4.1/conservative/" + model.label,
                          "not in the paper, which speaks of ALBERT and Mamba-2",
                          say("The condition of Theorem 4.1 is conservative: a much smaller "
                              "abs(lambda) keeps the tokens "
                              "apart in {}: log10 of the ratio of the two",
                              words_of(model.spec))});
}

// By how many orders of magnitude eq. (7) requires more than the smallest measured strength of
// either sign.
void judge_condition(const Config& c, const StackedModel& model, const Records& records,
                     Claims& claims) {
  if (!is_of_theorem(model.spec)) return;
  const Statement conservative = conservative_for(model);
  const std::vector<double> most = per_trial(records, [&](const TrialRecord& record) {
    double orders = undefined;  // fmax skips undefined values
    for (const Sign& sign : signs) {
      const double smallest = record.scalar(model.at / sign.smallest_lambda);
      if (smallest > 0)
        orders =
            std::fmax(orders, std::log10(record.scalar(model.at / theorem_condition) / smallest));
    }
    return orders;
  });
  claims.mean(
      conservative, most, at_least(1),
      say("the abs(lambda) that eq. (7) requires over the smallest measured abs(lambda) that "
          "keeps mu/||Y||_F and the rank-one residual above {} at every layer, larger of "
          "the two signs; at least a factor of 10; the rate a guarantees {} at the last "
          "layer; the condition on mu(Y^(0)) requires more",
          c.threshold, c.threshold));
}

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(independent_unit(model));
  const Config c = in_order(*this);
  for (const StackedModel& each : models()) {
    const Place figure_2 = figure_2_of(each);
    const Sweep sweep{c.lambda, arrays_of(records, each.at / final_mu),
                      " in " + words_of(each.spec)};
    judge_low(c, each.spec, sweep, figure_2, claims);
    judge_dip(sweep, figure_2, single_precision(), claims);
    judge_asymmetry(sweep, each.spec, figure_2, claims);
    judge_flatness(sweep, figure_2, claims);
    judge_condition(c, each, records, claims);
  }
}

// The result --------------------------------------------------------------------------------------

using Models = std::vector<StackedModel>;

void add_scalars(const Models& models, Numbers& out) {
  for (const StackedModel& model : models) {
    for (const Sign& sign : signs) out.scalar(model.at / sign.smallest_lambda);
    if (!is_of_theorem(model.spec)) continue;
    for (const Measure& each :
         {theorem_S, theorem_C_M, theorem_rate, theorem_condition, theorem_lambda})
      out.scalar(model.at / each);
    for (const Sign& sign : signs) out.scalar(model.at / sign.orders_of_magnitude);
  }
  out.scalar(degenerate_rows);
  out.scalar(diverged);
}

// The curves that overflowed: their last layer is undefined.
void add_divergences(const Config& c, const Models& models, Numbers& out) {
  for (const StackedModel& model : models) {
    const Quantity last = model.at / final_mu;
    for (std::size_t i = 0; i < c.lambda.size(); ++i) {
      out.diverged((model.at / At("lambda", c.lambda[i])).text,
                   per_trial(out.records(), [&](const TrialRecord& record) {
                     return record.scalar(diverged) > 0 && std::isnan(record.array(last)[i]) ? 1.0
                                                                                             : 0.0;
                   }));
    }
  }
}

std::string threshold_note(const StackedModel& model, double threshold, const Records& records) {
  const auto text = [&](const Sign& sign) {
    const Summary summary = summarize(scalars_of(records, model.at / sign.smallest_lambda));
    return summary.n == 0 ? "none of the list" : short_number(summary.mean);
  };
  return say(
      "{}: smallest abs(lambda) that keeps mu_normalized and rank_one_residual above {} at all {} "
      "layers: {} (lambda > 0), {} (lambda < 0).",
      model.label, threshold, model.spec.layers, text(signs[0]), text(signs[1]));
}

// The model's label; says that W_V is random if the same model with another C_V is in the list.
std::string curve_label(const Models& models, const ModelSpec& spec) {
  const bool another = std::any_of(models.begin(), models.end(), [&](const StackedModel& other) {
    return other.spec.model == spec.model && other.spec.value_weights != spec.value_weights;
  });
  const bool random = spec.value_weights == "gaussian";
  return figure_label(spec) + (another && random ? ", random W_V" : "");
}

void add_panel(const Config& c, const Models& models, const Measure& last, const std::string& title,
               Axis axis, Display& out) {
  constexpr std::size_t most_markers = 12;
  const LineStyle style =
      c.lambda.size() <= most_markers ? LineStyle::line_points : LineStyle::line;
  const BandKind band = band_of_trials(c.model, out.records().size());
  PanelBuilder panel = out.panel(title, {"lambda (strength of the skip)"}, std::move(axis));
  for (const StackedModel& model : models) {
    panel.curve(model.at / last, curve_label(models, model.spec), {.style = style, .band = band});
  }
  panel.line(c.threshold, threshold_label(c.threshold));
}

void Config::derive(Numbers& out) const {
  const Config c = in_order(*this);
  const Models all = models();
  add_scalars(all, out);
  add_divergences(c, all, out);
  for (const StackedModel& each : all) {
    for (const auto& swept : swept_measures) out.series(each.at / swept.last, "lambda", c.lambda);
    for (const auto& swept : swept_measures) out.series(each.at / swept.least, "lambda", c.lambda);
  }
}

void Config::show(Display& out) const {
  const Models all = models();
  for (std::string& note : file_notes(model)) out.note(std::move(note));
  for (const StackedModel& each : all) out.note(threshold_note(each, threshold, out.records()));
  add_panel(*this, all, final_mu, "Normalized mu after the last layer", normalized_mu_axis(), out);
  const std::string further = "Distance from rank one after the last layer";
  out.next_figure(further);
  add_panel(*this, all, final_residual, further, rank_one_residual_axis(), out);
  std::vector<Quantity> of_mu;
  for (const StackedModel& each : all)
    of_mu.insert(of_mu.end(), {each.at / final_mu, each.at / least_mu});
  note_rounding(of_mu, single_precision(), out);
}

}  // namespace

SkipBracket skip_bracket(const std::vector<double>& lambda, const std::vector<bool>& kept,
                         int sign) {
  std::vector<std::pair<double, bool>> strengths;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    if (sign * lambda[i] >= 0) strengths.emplace_back(std::abs(lambda[i]), kept[i]);
  }
  std::sort(strengths.begin(), strengths.end());
  SkipBracket bracket{undefined, undefined};
  // From the largest strength down, while the tokens are kept apart.
  for (std::size_t i = strengths.size(); i-- > 0;) {
    if (!strengths[i].second) {
      bracket.fails = strengths[i].first;
      break;
    }
    bracket.keeps = strengths[i].first;
  }
  return bracket;
}

std::vector<double> points_inside(const SkipBracket& bracket, std::size_t points) {
  std::vector<double> strengths;
  if (std::isnan(bracket.fails) || std::isnan(bracket.keeps)) return strengths;
  const double step = (bracket.keeps - bracket.fails) / static_cast<double>(points + 1);
  for (std::size_t i = 1; i <= points; ++i)
    strengths.push_back(bracket.fails + step * static_cast<double>(i));
  return strengths;
}

double SkipTheorem::collapse_rate(double least) const {
  const double a = std::pow(least / mu_squared, 1 / layers);
  return a > 0 && a < 1 ? a : undefined;
}

double SkipTheorem::condition_threshold(double a) const {
  return (a + std::sqrt(a)) * S * C_M / (1 - a);
}

double SkipTheorem::hypothesis_threshold(double a) const {
  // mu^2 >= b is equivalent to A lambda^2 - B lambda - C >= 0.
  const double mixing = S * C_M, guaranteed = mu_squared * std::pow(a, layers);
  const double A = guaranteed * (1 - a),
               B = 2 * guaranteed * a * mixing + 2 * tokens * dim * mixing,
               C = guaranteed * a * mixing * mixing;
  return (B + std::sqrt(B * B + 4 * A * C)) / (2 * A);
}

}  // namespace ranklab::lambda_sweep

namespace ranklab {

std::unique_ptr<Study> make_lambda_sweep_study() {
  return std::make_unique<lambda_sweep::Config>();
}

}  // namespace ranklab
