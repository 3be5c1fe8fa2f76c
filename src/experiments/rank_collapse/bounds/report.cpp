// Flags, memory and the result.
#include <algorithm>
#include <cmath>

#include "experiments/rank_collapse/bounds/attention.hpp"
#include "experiments/rank_collapse/bounds/state_space.hpp"
#include "experiments/rank_collapse/bounds/with_skip.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::bounds {

// Flags -------------------------------------------------------------------------------------------

namespace {

constexpr double largest_skip = 1e12;

std::vector<std::string> bare_models() {
  return models_that([](const ModelRow& row) { return row.bare; });
}

// The settings of a bare stack that the user can choose. The theorems fix the norm and the skip.
bool is_configurable(const std::string& name) {
  static const std::vector<std::string> names = {"layers",        "state", "vocabulary",
                                                 "share-weights", "input", "cone-width",
                                                 "weight-scale",  "decay"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Config::Config() {
  spec.layers = 16;
  spec.decay = 0.99;       // so that alpha^(2N) in the bound of Theorem 4.3 is not small at N = 32
  spec.cone_width = 0.25;  // tokens for Theorems A.2 and 4.3 are about 20 degrees apart
}

std::vector<Field> Config::flags() {
  std::vector<Field> list = {
      choice_list_field("model", models, bare_models(), "", "models to stack for Theorem 4.1"),
      size_list_field("tokens", tokens, 2, largest_size, "N", "tokens per sequence"),
      size_list_field("dim", dim, 1, largest_size, "d", "token width"),
      real_list_field("lambda", lambda, -largest_skip, largest_skip, "lambda",
                      "strengths of the skip for Theorem 4.1"),
      excluding_low(
          real_list_field("a", a, 0.0, 1.0, "a", "collapse rates for Theorem 4.1, below 1")),
  };
  for (Field& field : model_fields(spec, bare_models())) {
    if (!is_configurable(field.name)) continue;
    // The study runs several models, and tokens in a cone as well.
    if (field.name == "cone-width")
      field.applies = {};
    else if (field.applies)
      field.applies = [this, name = field.name, of_one = field.applies] {
        return of_one() || std::ranges::any_of(models, [&](const std::string& model) {
                 return model_row(model).has(name);
               });
      };
    list.push_back(std::move(field));
  }
  return list;
}

void Config::fill_defaults() {
  // All bare stacks have the same defaults for these settings.
  const ModelSpec resolved = stack_spec(*this, "attention", {tokens.front(), dim.front()}, "rows");
  spec.state = resolved.state;
  spec.vocabulary = resolved.vocabulary;
  spec.share_weights = resolved.share_weights;
  spec.input = resolved.input;
}

void Config::check() const {
  for (const double each : a) {
    if (each >= 1)
      throw UsageError("--a 1 is not allowed: eq. (7) requires a collapse rate below 1");
  }
}

Estimate Config::memory() const {
  const double skips = static_cast<double>(lambda.size());
  double largest = 0;
  for (const Sizes sizes : all_sizes(*this)) {
    const double N = static_cast<double>(sizes.tokens), d = static_cast<double>(sizes.dim);
    // The states of every skip; M, its copy and its decomposition; the same for the weights.
    largest = std::max(largest, 8 * ((skips + 12) * N * d + 8 * N * N + 8 * d * d));
  }
  return {.bytes = largest};
}

std::vector<double> Config::strengths() const {
  constexpr double per_decade = 10;
  std::vector<double> out;
  for (const double each : lambda) {
    if (each != 0) out.push_back(std::abs(each));
  }
  if (out.empty()) return {1};
  const auto [low, high] = std::ranges::minmax(out);
  const auto steps = static_cast<int>(per_decade * std::log10(high / low));
  for (int i = 1; i <= steps; ++i) out.push_back(low * std::pow(10.0, i / per_decade));
  std::ranges::sort(out);
  const auto same = [](double x, double y) { return y <= x * (1 + 1e-9); };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

Work Config::work() const {
  return each_trial([this](Trial& trial) { return run_trial(*this, trial); });
}

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::draw);
  judge_all({*this, records, claims});
}

// The result --------------------------------------------------------------------------------------

namespace {

// The number of violations of every counted statement, as the scalar "violations.<id>" with dots
// for slashes. Which statements are counted does not depend on the trials.
void add_violations(const Config& config, Numbers& out) {
  std::vector<std::string> ids;
  const Records none;
  Claims unused;
  judge_all({config, none, unused, &ids});
  for (const std::string& id : ids) {
    const auto counts = [&](const TrialRecord& record) { return record.has_tally(id); };
    std::string name = "violations." + id.substr(std::string("lambda-skip/").size());
    std::ranges::replace(name, '/', '.');
    Quantity violations = name;
    violations.meaning = "violations of the statement in a trial";
    out.sometimes(std::ranges::any_of(out.records(), counts), [&] {
      out.scalar(violations, per_trial(out.records(), [&](const TrialRecord& record) {
                   return record.tally(id).violations;
                 }));
    });
  }
}

void add_scalars(const Config& config, Numbers& out) {
  using namespace remark_4_1;
  out.scalar(degenerate_rows);
  for (const std::string& model : config.models) {
    for (const double a : config.a) {
      out.scalar(thm_4_1::lambda_needed(model, a));
      out.scalar(thm_4_1::lambda_needed_corrected(model, a));
    }
    out.scalar(thm_4_1::lambda_needed_turning(model));
  }
  for (const Measure& each : {S, lambda_printed, lambda_corrected, mu_at_5, residual_at_5})
    out.scalar(each);
  std::vector<Worst> numbers = {thm_4_2::slope,  thm_4_2::epsilon, thm_4_2::C,
                                thm_4_2::growth, thm_A_3::growth,  thm_A_3::log_constant};
  for (const LtiTheorem& theorem : {thm_A_7, thm_A_8}) {
    numbers.insert(numbers.end(),
                   {theorem.slope, theorem.normalized_ratio, theorem.rank_one_residual});
  }
  numbers.push_back(thm_A_10::growth);
  for (const Worst& number : numbers) out.scalar(number, worst_of(out.records(), number));
  for (const Measure& each : {thm_4_3::c, thm_4_3::lambda_min, thm_4_3::lambda_max})
    out.scalar(each);
}

void add_series(const Config& config, Numbers& out) {
  std::vector<double> decay;  // 1 - a
  for (const double a : config.a) decay.push_back(1 - a);
  const std::vector<double> states = layers_from(0, config.spec);
  for (const std::string& model : config.models) {
    for (const Measure& curve : {layer_lambda::largest, layer_lambda::single})
      out.series(At("model", model) / curve, "1 - a", decay);
    for (const double lambda : config.lambda)
      out.series(thm_4_1::mu(model, lambda), "layer", states);
    out.series(At("model", model) / thm_4_1::final_mu, "lambda", config.lambda);
    for (const Measure& bound : {thm_4_1::promised_as_printed, thm_4_1::promised_by_turning})
      out.series(At("model", model) / bound, "lambda", config.strengths());
  }
  for (const Measure& curve : {thm_4_2::log10_mu, thm_4_2::log10_bound})
    out.series(curve, "layer", states);
  // The trials whose stack meets the hypotheses.
  Records met;
  std::ranges::copy_if(out.records(), std::back_inserter(met),
                       [](const TrialRecord& record) { return record.has(thm_4_3::mu_curve); });
  for (const Measure& curve : {thm_4_3::mu_curve, thm_4_3::as_printed_curve,
                               thm_4_3::half_exponent_curve, thm_4_3::corrected_curve}) {
    out.sometimes(!met.empty(), [&] {
      out.series(curve, series_over_trials(curve, "layer", states, arrays_of(met, curve)));
    });
  }
  out.series(thm_A_3::log10_mu, "layer", states);
  for (const LtiTheorem& theorem : {thm_A_7, thm_A_8}) {
    for (const Measure& curve : {theorem.mu_curve, theorem.bound_curve, theorem.normalized_curve})
      out.series(curve, "layer", states);
  }
  for (const Measure& curve : {thm_4_2::growth_curve, thm_A_3::growth_curve}) {
    if (config.spec.layers > 1)  // a single layer has no two steps
      out.series(curve, "layer", layers_from(2, config.spec));
  }
  for (const Measure& curve : {thm_A_10::rate, thm_A_10::rate_as_printed, thm_A_10::rate_corrected})
    out.series(curve, "layer", layers_from(1, config.spec));
}

}  // namespace

void Config::derive(Numbers& out) const {
  add_scalars(*this, out);
  add_violations(*this, out);
  add_series(*this, out);
}

namespace {

void add_skip_panel(const Config& config, Display& out) {
  PanelBuilder panel = out.panel(
      say("Theorem 4.1: mu after {} and its lower bounds", plural(config.spec.layers, "layer")),
      log_axis("lambda > 0 (strength of the skip)"), unit_axis("mu / sqrt N (0: equal tokens)"));
  int color = 0;
  for (const std::string& model : config.models) {
    // The curves of softmax and of linear attention are the same but for a small difference.
    const LineStyle style =
        model == "linear-attention" ? LineStyle::dashed : LineStyle::line_points;
    panel.curve(At("model", model) / thm_4_1::final_mu, model_row(model).title, {style, color++});
  }
  const std::string& model = config.models.front();
  panel
      .curve(At("model", model) / thm_4_1::promised_by_turning,
             "our bound for " + model_row(model).title, {LineStyle::dashed, color})
      .curve(At("model", model) / thm_4_1::promised_as_printed,
             "bound as printed for " + model_row(model).title, {LineStyle::dotted, color + 1});
}

// Smaller values of mu are not drawn.
constexpr double smallest_mu = 1e-20;

void add_layer_lambda_panel(const Config& config, Display& out) {
  out.next_figure("Theorem 4.1 as a rule for the choice of lambda");
  PanelBuilder panel = out.panel(say("The lambda that guarantees mu^2 >= a^K mu(Y^0)^2 for {}",
                                     plural(config.spec.layers, "layer")),
                                 log_axis("1 - a (loss of mu^2 per layer)"),
                                 log_axis("lambda (strength of the skip)"));
  int color = 0;
  for (const std::string& model : {config.models.front(), config.models.back()}) {
    if (color > 0 && model == config.models.front()) break;  // the list has one model
    panel
        .curve(At("model", model) / layer_lambda::largest,
               "largest lambda_k, " + model_row(model).title, {LineStyle::line_points, color})
        .curve_if_measured(At("model", model) / layer_lambda::single,
                           "one lambda for all layers, " + model_row(model).title,
                           {LineStyle::dashed, color});
    ++color;
  }
}

void add_figure(const Config& config, Display& out) {
  const Axis layers = {"number of layers"},
             mu = with_floor(log_axis("mu (0: equal tokens)"), smallest_mu);
  add_skip_panel(config, out);
  out.panel("Attention without a skip: mu", layers,
            with_floor({"mu (0: equal tokens)", Scale::log10}, std::log10(smallest_mu)))
      .curve(thm_A_3::log10_mu, "no norm", {LineStyle::line_points, 0})
      .curve(thm_4_2::log10_mu, "normalized rows", {LineStyle::line_points, 1})
      .curve(thm_4_2::log10_bound, "bound for normalized rows (Theorem 4.2)",
             {LineStyle::dashed, 2});
  out.panel("Attention without a skip: steps of log mu", layers, {"step of log mu / previous step"})
      .curve_if_measured(thm_A_3::growth_curve, "no norm", {LineStyle::line, 0})
      .curve_if_measured(thm_4_2::growth_curve, "normalized rows", {LineStyle::dashed, 1})
      .line(3, "3: doubly exponential collapse")
      .line(1, "1: exponential collapse");
  out.panel(say("Theorem 4.3: selective SSM without a skip, N = {}", config.tokens.front()), layers,
            mu)
      .curve_if_measured(thm_4_3::mu_curve, "measured", {LineStyle::line, 0})
      .curve_if_measured(thm_4_3::corrected_curve, "corrected bound", {LineStyle::dashed, 1})
      .curve_if_measured(thm_4_3::half_exponent_curve, "printed bound with exponent K/2",
                         {LineStyle::dashed, 2})
      .curve_if_measured(thm_4_3::as_printed_curve, "bound as printed", {LineStyle::dotted, 3});
  out.next_figure("State-space models without skip and norm: Theorems A.7 and A.10");
  out.panel("Theorem A.7: LTI SSM, scaled to ||W||_F = 0.9", layers,
            with_floor(log_axis("mu, or mu / ||Y||_F"), smallest_mu))
      .curve(thm_A_7.mu_curve, "mu", {LineStyle::line, 0})
      .curve(thm_A_7.bound_curve, "bound on mu", {LineStyle::dashed, 1})
      .curve(thm_A_7.normalized_curve, "normalized mu, mu / ||Y||_F", {LineStyle::line, 2});
  out.panel("Theorem A.10: selective SSM", {"layer k"}, {"log10 mu / 3^k"})
      .curve(thm_A_10::rate, "measured", {LineStyle::line, 0})
      .curve(thm_A_10::rate_corrected, "corrected bound", {LineStyle::dashed, 1})
      .curve(thm_A_10::rate_as_printed, "bound as printed", {LineStyle::dotted, 2});
  add_layer_lambda_panel(config, out);
}

}  // namespace

void Config::show(Display& out) const {
  add_figure(*this, out);
  out.note(
      "S = ||C_V||_F and C_M = ||M||_F, as Section 4.1 defines them. The state-space models have "
      "C_V = I and therefore S = sqrt d; Remark 4.1 says S = 1.");
  out.note(
      "Our bound in the panel of Theorem 4.1 is mu(Y^K) >= mu(Y^0) - 2 K sqrt(N) sup "
      "sigma_max(C_V) ||M||_2 / |lambda|: with a strong skip, a layer can turn a token only a "
      "little. It is not in the paper. The bound as printed has the best a in (0, 1).");
  out.note(
      "The curves use the last values of --tokens and --dim. The curves of Theorem 4.3 use the "
      "first value of --tokens.");
}

}  // namespace ranklab::bounds

namespace ranklab {

std::unique_ptr<Study> make_bounds_study() {
  return std::make_unique<bounds::Config>();
}

}  // namespace ranklab
