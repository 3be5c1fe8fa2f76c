#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "experiments/rank_collapse/examples/examples.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace examples {
namespace {

// A trial -----------------------------------------------------------------------------------------

// Proposition 4.3.2. mu is a distance divided by sqrt 2, so its error is at most twice the error of
// an entry. Half of it is therefore compared with the allowance for entries.
void count_tightness(const Plan& plan, const TwoTokenSystem& system, const TwoTokenPath& path,
                     TrialRecord& record) {
  using namespace prop_4_3_2;
  Tally printed, corrected, decay;
  const auto count = [&](std::uint64_t k, double deviation, Tally& tally) {
    count_deviation(system, k, deviation, tally);
  };
  for (std::uint64_t k = 0; k <= plan.layers; ++k) {
    const double power = static_cast<double>(k), measured = path.mu[k];
    count(k, std::abs(measured - 1 / (1 + std::pow(system.ratio(), 2 * power))) / 2, printed);
    count(k, std::abs(measured - path.mu_closed_form[k]) / 2, corrected);
    // 1 - 1/sqrt(1 + z) <= z/2 with z = x_k^(-2).
    const double bound =
        std::pow(1 / system.ratio(), power) * plan.beta0 / (plan.alpha0 * std::numbers::sqrt2);
    if (system.lambda > -1) count(k, std::max(0.0, measured - bound) / 2, decay);
  }
  if (plan.starts_at_45_degrees()) {
    record.add(mu_as_printed.id, printed);
    record.add(at_side(system.lambda), printed);
  }
  record.add(mu_corrected.id, corrected);
  record.add(mu_decay.id, decay);
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  TrialRecord record;
  const Forms forms = forms_of(plan.selective);
  double zeroed = 0, largest_error = 0;
  for (const TwoTokenSystem& system : plan.systems) {
    TwoTokenPath path = iterate(system, plan.layers, trial);
    record.add(forms.exact.id, path.exact);
    record.add(forms.as_printed.id, path.printed);
    if (plan.selective && !system.is_degenerate()) count_tightness(plan, system, path, record);
    largest_error = std::max(largest_error, path.exact.largest);
    zeroed += static_cast<double>(path.degenerate_rows);
    record.set(at_lambda(system.lambda, degenerate_rows),
               static_cast<double>(path.degenerate_rows));
    record.set(at_lambda(system.lambda, mu), std::move(path.mu));
    record.set(at_lambda(system.lambda, rank_one_residual), std::move(path.rank_one_residual));
    record.set(at_lambda(system.lambda, mu_closed_form), std::move(path.mu_closed_form));
  }
  record.set(degenerate_rows, zeroed);
  record.set(closed_form_error, largest_error);
  return record;
}

// The result --------------------------------------------------------------------------------------

constexpr std::uint64_t drawn_layers = 12;

std::string early(double lambda, const char* quantity) {
  return "early." + at_lambda(lambda, quantity);
}

// The series of the figure: the first layers, in which the limits become visible, and the last two
// layers against lambda.
void add_drawn_series(const Plan& plan, std::vector<Outcome> outcomes, ResultBuilder& out) {
  std::vector<double> layers;
  for (std::uint64_t k = 0; k <= std::min(drawn_layers, plan.layers); ++k)
    layers.push_back(static_cast<double>(k));
  for (const TwoTokenSystem& system : plan.systems) {
    for (const char* name : {mu, mu_closed_form, rank_one_residual}) {
      out.series(early(system.lambda, name), "layer", layers,
                 [&](const TrialRecord& record, std::size_t k) {
                   const double value = record.array(at_lambda(system.lambda, name))[k];
                   // The residual has an absolute rounding error; smaller values are noise.
                   return name == rank_one_residual && value < tolerance::epsilon<double>
                              ? undefined
                              : value;
                 });
    }
  }
  std::sort(outcomes.begin(), outcomes.end(),
            [](const auto& a, const auto& b) { return a.system.lambda < b.system.lambda; });
  std::vector<double> lambda, last, previous, residual;
  for (const Outcome& outcome : outcomes) {
    lambda.push_back(outcome.system.lambda);
    last.push_back(outcome.mu[1]);
    previous.push_back(outcome.mu[0]);
    residual.push_back(outcome.rank_one_residual[1]);
  }
  out.series(series_over_trials("final.mu", "lambda", lambda, {last}));
  out.series(series_over_trials("previous.mu", "lambda", lambda, {previous}));
  out.series(series_over_trials("final.rank_one_residual", "lambda", lambda, {residual}));
}

// At most two values of each range between the critical values of lambda, the smallest and the
// largest, in ascending order. The critical values are those of the printed propositions and of
// the corrected ones.
std::vector<TwoTokenSystem> representatives(const Plan& plan) {
  std::vector<TwoTokenSystem> ascending = plan.systems, chosen;
  std::erase_if(ascending, [](const TwoTokenSystem& system) { return system.is_degenerate(); });
  std::sort(ascending.begin(), ascending.end(),
            [](const auto& a, const auto& b) { return a.lambda < b.lambda; });
  const double all = std::numeric_limits<double>::infinity(), printed = plan.selective ? -1.5 : -2;
  for (const auto& [low, high] : {std::pair(-all, printed), {printed, -1.0}, {-1.0, all}}) {
    std::vector<TwoTokenSystem> inside;
    std::copy_if(ascending.begin(), ascending.end(), std::back_inserter(inside),
                 [&, from = low, to = high](const TwoTokenSystem& system) {
                   return from < system.lambda && system.lambda < to;
                 });
    if (inside.empty()) continue;
    chosen.push_back(inside.front());
    if (inside.size() > 1) chosen.push_back(inside.back());
  }
  return chosen;
}

void add_figure(const Plan& plan, ResultBuilder& out) {
  const std::string residual_axis = "1 - sigma_1^2 / ||Y||_F^2 (0: rank one)",
                    mu_axis = "mu (0: equal rows)", lambda_axis = "lambda (strength of the skip)";
  PanelBuilder first = out.panel("First layers: mu (dots: iteration, lines: exact form)",
                                 {"number of layers"}, {mu_axis});
  int color = 0;
  const std::vector<TwoTokenSystem> shown = representatives(plan);
  for (const TwoTokenSystem& system : shown) {
    first.curve(early(system.lambda, mu_closed_form), "lambda = " + series_number(system.lambda),
                {LineStyle::line, color});
    first.curve(early(system.lambda, mu), "", {LineStyle::points, color++});
  }
  PanelBuilder rank = out.panel("First layers: distance from rank one", {"number of layers"},
                                log_axis(residual_axis));
  color = 0;
  for (const TwoTokenSystem& system : shown) {
    rank.curve(early(system.lambda, rank_one_residual), "lambda = " + series_number(system.lambda),
               {LineStyle::line, color++});
  }
  // The open squares of the second-to-last layer leave the dots of the last layer visible.
  constexpr int open_square = 6;
  PanelBuilder last =
      out.panel("mu after " + std::to_string(plan.layers) + " layers, for every lambda",
                {lambda_axis}, {mu_axis});
  last.curve("final.mu", "last layer", {LineStyle::points, 0})
      .curve("previous.mu", "second-to-last layer", {LineStyle::points, open_square})
      .line(std::numbers::sqrt2, "sqrt 2: opposite rows");
  if (plan.selective) last.line(1, "1: orthogonal rows");
  out.panel("Distance from rank one, for every lambda", {lambda_axis}, unit_axis(residual_axis))
      .curve("final.rank_one_residual", "last layer", {LineStyle::points, 0});
}

// Notes that say for which lambdas the tokens collapse, and which measure detects it.
void add_notes(const Plan& plan, const std::vector<Outcome>& outcomes, ResultBuilder& out) {
  const auto note = [&](const std::string& words, const auto& predicate) {
    const std::string lambdas = lambdas_where(outcomes, predicate);
    if (!lambdas.empty()) out.note(words + ": lambda = " + lambdas + ".");
  };
  const auto undetected_by_mu = [](const Outcome& o) {
    return o.settled && o.tends_to_rank_one() && !o.mu_tends_to(0);
  };
  note("Collapse in the sense of mu, which tends to 0",
       [](const Outcome& o) { return o.settled && o.mu_tends_to(0); });
  note(
      "Rank one with anti-parallel rows (mu tends to sqrt 2; only rank_one_residual detects this "
      "collapse)",
      [&](const Outcome& o) { return undetected_by_mu(o) && o.mu_tends_to(std::numbers::sqrt2); });
  note(
      "Rank one with rows that are parallel at one layer and anti-parallel at the next (mu "
      "alternates; only rank_one_residual detects this collapse)",
      [&](const Outcome& o) { return undetected_by_mu(o) && !o.mu_tends_to(std::numbers::sqrt2); });
  note("No collapse, neither by mu nor by rank_one_residual",
       [](const Outcome& o) { return o.settled && !o.tends_to_rank_one() && !o.mu_tends_to(0); });
  note("A row becomes zero (D is undefined for it; here it stays zero)",
       [](const Outcome& o) { return o.system.is_degenerate(); });
  note("Critical, or no limit reached within " + std::to_string(plan.layers) + " layers",
       [](const Outcome& o) { return !o.settled && !o.system.is_degenerate(); });
}

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out(plan.selective
                        ? "Sys-2, M = [[1, 0], [y1.y2, 1]], with lambda-skip connections"
                        : "Sys-1, M = [[1, 0], [2, 1]] and Y(0) = I, with lambda-skip connections",
                    records);
  out.claims().set_unit(Unit::none);
  out.scalars({degenerate_rows, closed_form_error});
  for (const TwoTokenSystem& system : plan.systems) {
    for (const char* name : {mu, rank_one_residual, mu_closed_form})
      out.series(at_lambda(system.lambda, name), "layer");
  }
  const std::vector<Outcome> outcomes = outcomes_of(plan, records.front());
  judge(plan, records.front(), out.claims());
  add_drawn_series(plan, outcomes, out);
  add_figure(plan, out);
  add_notes(plan, outcomes, out);
  return out.take();
}

}  // namespace

Plan::Plan(const ExamplesConfig& config)
    : selective(config.system == "sys2"), layers(config.layers) {
  for (const double lambda : config.lambda) systems.push_back(two_token_system(config, lambda));
  alpha0 = systems.front().alpha0;
  beta0 = systems.front().beta0;
}

std::string lambda_label(double lambda) {
  return "lambda=" + series_number(lambda);
}

std::string at_lambda(double lambda, const std::string& quantity) {
  return lambda_label(lambda) + "." + quantity;
}

Forms forms_of(bool selective) {
  const std::string statement = selective ? "lambda-skip/prop-4.3.1" : "lambda-skip/prop-A.10.1",
                    source =
                        selective ? "Appendix A.11, the form of Y(k)" : "Appendix A.10, eq. (13)";
  const Place proof = {statement, statement + "/", source, Part::proof};
  const Inequality printed = showing(
      statement + "/sign",
      proof.counted("form-as-printed",
                    "Y(k) has the printed form, with row 1 equal to (1, 0) at every layer"));
  return {printed,
          correcting(printed, proof.counted("closed-form",
                                            "Y(k) equals the exact form, with the sign (sign(1 + "
                                            "lambda))^k, up to rounding at every layer"))};
}

}  // namespace examples

namespace {

constexpr std::uint64_t most_layers = 100'000;
constexpr double largest_lambda = 1e6;

class ExamplesStudy : public Study {
 public:
  std::vector<Field> fields() override {
    ExamplesConfig& c = config_;
    return {
        choice_field("system", c.system, {"sys1", "sys2"}, "",
                     "two-token system with LTI (Prop. A.10.1) or selective (Prop. 4.3.1) mixing"),
        real_list_field("lambda", c.lambda, -largest_lambda, largest_lambda, "lambda",
                        "strengths of the skip"),
        size_field("layers", c.layers, 2, most_layers, "K", "number of layers"),
        excluding_low(real_field("alpha0", c.alpha0, 0.0, 1.0, "alpha_0",
                                 "sys2: initial row 2 is (alpha_0, sqrt(1 - alpha_0^2))")),
    };
  }

  void validate() const override {
    if (config_.system != "sys2" && config_.alpha0 != ExamplesConfig{}.alpha0) {
      throw UsageError(
          "--alpha0 is not allowed with --system sys1, which starts from the identity; allowed "
          "with: sys2");
    }
    std::map<std::string, double> names;
    for (const double lambda : config_.lambda) {
      if (!names.emplace(examples::lambda_label(lambda), lambda).second) {
        throw UsageError(
            "--lambda: two values have the same first six digits, which name the series; give "
            "values that differ in them");
      }
    }
  }

  Estimate estimate() const override {
    const double states =
        static_cast<double>(config_.lambda.size()) * static_cast<double>(config_.layers + 1);
    return {.bytes = 5 * 8 * states + 200 * static_cast<double>(config_.layers)};
  }

  Work work() const override {
    return each_trial([plan = examples::Plan(config_)](Trial& trial) {
      return examples::run_trial(plan, trial);
    });
  }
  Result report(const Records& records) const override {
    return examples::report(examples::Plan(config_), records);
  }

 private:
  ExamplesConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_examples_study() {
  return std::make_unique<ExamplesStudy>();
}

}  // namespace ranklab
