// `rank-collapse --study examples`: the two-token systems of [LambdaSkip] Propositions A.10.1
// (Sys-1), 4.3.1 and 4.3.2 (Sys-2), iterated by eq. (6) and compared with their exact forms.
//
//   Y(k+1) = D (M Y(k) + lambda Y(k)); D divides every row by its norm                      eq. (6)
//   Sys-1: M = [[1, 0], [2, 1]], Y(0) = I
//   Sys-2: M = [[1, 0], [y1.y2, 1]], Y(0) = [1, 0; alpha_0, beta_0], alpha_0^2 + beta_0^2 = 1
//
// In both systems M + lambda I is lower triangular, so row 1 remains a multiple of e1. With s_k =
// sign(1 + lambda)^k and x_k, the ratio of the entries of row 2,
//   Y(k) = s_k [ 1, 0 ; x_k/h_k, 1/h_k ],  h_k = sqrt(1 + x_k^2),
//   Sys-1: x_0 = 0, x_(k+1) = x_k + 2/(1 + lambda) sqrt(1 + x_k^2)
//   Sys-2: x_k = r^k alpha_0/beta_0, r = (2 + lambda)/(1 + lambda)
// Row 1 . row 2 = x_k/h_k, so mu(k)^2 = 1 - x_k/h_k. Y(k) tends to rank one if |x_k| -> infinity,
// but mu tends to 0 only if x_k > 0.
//
// In memory, tokens are columns. Every trial computes the same numbers, so the claims are judged
// from the first trial.
#include "experiments/rank_collapse/bounds/examples.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

#include "experiments/rank_collapse/rank_collapse.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/norms.hpp"

namespace ranklab::examples {

// Flags -------------------------------------------------------------------------------------------

std::vector<Field> Config::flags() {
  constexpr std::uint64_t most_layers = 100'000;
  constexpr double largest_lambda = 1e6;
  return {
      choice_field("system", system, {"sys1", "sys2"}, "",
                   "two-token system with LTI (Prop. A.10.1) or selective (Prop. 4.3.1) mixing"),
      real_list_field("lambda", lambda, -largest_lambda, largest_lambda, "lambda",
                      "strengths of the skip"),
      size_field("layers", layers, 2, most_layers, "K", "number of layers"),
      excluding_low(real_field("alpha0", alpha0, 0.0, 1.0, "alpha_0",
                               "sys2: initial row 2 is (alpha_0, sqrt(1 - alpha_0^2))")),
  };
}

void Config::check() const {
  if (!selective() && alpha0 != Config{}.alpha0) {
    throw UsageError(
        "--alpha0 is not allowed with --system sys1, which starts from the identity; allowed "
        "with: sys2");
  }
  std::set<std::string> names;
  for (const double each : lambda) {
    if (!names.insert(series_number(each)).second) {
      throw UsageError(
          "--lambda: two values have the same first six digits, which name the series; give "
          "values that differ in them");
    }
  }
}

Estimate Config::memory() const {
  const double states = static_cast<double>(lambda.size()) * static_cast<double>(layers + 1);
  return {.bytes = 5 * 8 * states + 200 * static_cast<double>(layers)};
}

// The systems and their forms ---------------------------------------------------------------------

TwoTokenSystem Config::system_at(double strength) const {
  if (!selective()) return {.lambda = strength};
  return {.selective = true,
          .lambda = strength,
          .alpha0 = alpha0,
          .beta0 = std::sqrt((1 - alpha0) * (1 + alpha0))};
}

std::vector<TwoTokenSystem> Config::systems() const {
  std::vector<TwoTokenSystem> all;
  for (const double each : lambda) all.push_back(system_at(each));
  return all;
}

namespace {

// A limit counts as reached if both of the last two layers are within this distance of it. There
// are two, because mu may alternate.
constexpr double limit_band = 0.01;

// Cosine and sine of the angle whose cotangent is x.
struct Direction {
  double cosine, sine;
};
Direction direction(double x) {
  if (std::abs(x) <= 1) return {x / std::hypot(1.0, x), 1 / std::hypot(1.0, x)};
  const double inverse = 1 / std::abs(x), length = std::hypot(1.0, inverse);
  return {std::copysign(1 / length, x), inverse / length};
}

}  // namespace

double TwoTokenSystem::shortest_row() const {
  const double first = std::abs(1 + lambda),
               second = std::hypot(selective ? (2 + lambda) * alpha0 : 2, (1 + lambda) * beta0);
  return std::min(first, second);
}

bool TwoTokenSystem::is_degenerate() const {
  constexpr double degenerate_norm = 1e-10;  // norm of a row below which normalize_rows gives up
  return shortest_row() < degenerate_norm;
}

bool TwoTokenSystem::starts_at_45_degrees() const {
  return std::abs(alpha0 - beta0) <= limit_band;
}

std::array<double, 4> TwoTokenForm::Y() const {
  const Direction second = direction(x);
  return {sign_first, 0.0, sign_second * second.cosine, sign_second * second.sine};
}

double TwoTokenForm::mu() const {
  const Direction second = direction(x);
  // 1 - cos, without cancellation.
  return std::sqrt(x > 0 ? second.sine * second.sine / (1 + second.cosine) : 1 - second.cosine);
}

std::vector<TwoTokenForm> exact_forms(const TwoTokenSystem& system, std::uint64_t layers) {
  std::vector<TwoTokenForm> forms;
  double sign = 1, x = system.alpha0 / system.beta0;
  for (std::uint64_t k = 0; k <= layers; ++k) {
    if (system.selective)
      x = std::pow(system.ratio(), static_cast<double>(k)) * system.alpha0 / system.beta0;
    forms.push_back({sign, sign, x});
    if (!system.selective) x += 2 / (1 + system.lambda) * std::hypot(1.0, x);
    if (1 + system.lambda < 0) sign = -sign;
  }
  return forms;
}

std::vector<TwoTokenForm> printed_forms(const TwoTokenSystem& system, std::uint64_t layers) {
  std::vector<TwoTokenForm> forms = exact_forms(system, layers);
  double root = 0;  // sqrt(alpha_k - 1)
  for (TwoTokenForm& form : forms) {
    form.sign_first = 1;
    if (system.selective) continue;
    form.sign_second = 1;
    form.x = root;
    // alpha_(k+1) = (1 + c^2) alpha_k + 2 c sqrt(alpha_k - 1) sqrt(alpha_k) equals 1 +
    // (sqrt(alpha_k - 1) + c sqrt(alpha_k))^2.
    root = std::abs(root + 2 / (1 + system.lambda) * std::hypot(1.0, root));
  }
  return forms;
}

namespace {

// What a trial records ----------------------------------------------------------------------------

// For each lambda: arrays over layers, and the number of rows that D set to zero.
Quantity at_lambda(double lambda, const Measure& quantity) {
  return At("lambda", lambda) / quantity;
}
constexpr Measure mu = {"mu", "mu(Y)", "distance of the two tokens from their mean"},
                  rank_one_residual = {"rank_one_residual", "1 - sigma_1(Y)^2/||Y||_F^2",
                                       "squared distance from rank one over the squared norm"},
                  mu_closed_form = {"mu_closed_form", "mu(Y)", "mu of the exact form"};
// Scalars over all lambdas: the number of rows that D set to zero, and the largest difference of
// an entry from the exact form. The first one also exists for each lambda.
constexpr Measure degenerate_rows = {"degenerate_rows", "", "rows that D set to zero"},
                  closed_form_error = {"closed_form_error", "",
                                       "largest difference of an entry of Y from the exact form"};

// Counted at every layer, for every lambda for which D is defined. A difference beyond rounding is
// a violation.
struct Forms {
  Inequality as_printed, exact;
};
Forms forms_of(bool selective) {
  const std::string statement = selective ? lambda_skip::prop_4_3_1 : lambda_skip::prop_A_10_1,
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

// [LambdaSkip] Proposition 4.3.2, about Sys-2. For every lambda except -1, mu^2 = 1 - x_k/sqrt(1 +
// x_k^2), where x_k = r^k alpha_0/beta_0 and r = (2 + lambda)/(1 + lambda). For alpha_0 = beta_0
// this is 1 - r^k/sqrt(1 + r^(2k)).
const Place prop_4_3_2 = {lambda_skip::prop_4_3_2, "/", "Proposition 4.3.2"},
            its_proof = {prop_4_3_2.statement_id, prop_4_3_2.prefix,
                         "Proposition 4.3.2, Appendix A.12", Part::proof};
const Inequality mu_as_printed =
    showing(prop_4_3_2.prefix + "mu",
            its_proof.counted("as-printed",
                              "mu = 1/(1 + r^(2k)) in Sys-2, with r = (2 + lambda)/(1 + lambda)"));
const Inequality mu_corrected = correcting(
    mu_as_printed, its_proof.counted("corrected",
                                     "mu^2 = 1 - r^k alpha_0/sqrt(r^(2k) alpha_0^2 + beta_0^2) in "
                                     "Sys-2, with r = (2 + lambda)/(1 + lambda)"));
const Inequality mu_decay = prop_4_3_2.counted(
    "decay",
    "mu(Y^(k))^2 <= C a^k mu(Y^(0))^2 in Sys-2 for lambda > -1, with a = ((1 + lambda)/(2 + "
    "lambda))^2 and C = (beta_0/alpha_0)^2 / (2 mu(Y^(0))^2), 1.71 for alpha_0 = beta_0");

// The cases of mu_as_printed at one lambda are also counted by its side of -1.
std::string at_side(double lambda) {
  return mu_as_printed.id + (lambda > -1 ? "/above" : "/below");
}

// A trial -----------------------------------------------------------------------------------------

// M' for [LambdaSkip] eq. (6): with one token per column, M Y + lambda Y becomes Y M' + lambda Y.
arma::mat mixing_transposed(bool selective, const arma::mat& Y) {
  const double below = selective ? arma::dot(Y.col(0), Y.col(1)) : 2;
  return {{1, below}, {0, 1}};
}

// Y with one token per column.
double largest_difference(const arma::mat& Y, const TwoTokenForm& form) {
  const std::array<double, 4> expected = form.Y();
  double largest = 0;
  for (arma::uword i = 0; i < 4; ++i) largest = std::max(largest, std::abs(Y[i] - expected[i]));
  return largest;
}

// The largest rounding error expected in an entry of Y(k). Every layer adds a few rounding errors
// of the terms of M Y + lambda Y, divided by the norm of its rows, and neither system amplifies a
// relative error of the ratio x_k.
double rounding_allowance(const TwoTokenSystem& system, std::uint64_t k) {
  return tolerance::closed_form<double> + 4 * tolerance::epsilon<double> * static_cast<double>(k) *
                                              (2 + std::abs(system.lambda)) / system.shortest_row();
}

// Counts one case at layer k. `deviation` is the difference between measured and expected value; it
// is a violation if it exceeds rounding. Does nothing if it is not finite.
void count_deviation(const TwoTokenSystem& system, std::uint64_t k, double deviation,
                     Tally& tally) {
  if (!std::isfinite(deviation)) return;
  tally.count(deviation > rounding_allowance(system, k), deviation);
}

// The trajectory of eq. (6) computed by the recursion. Entry k of an array is about Y(k).
struct TwoTokenPath {
  // As token_geometry defines them; the residual is undefined for a zero matrix.
  std::vector<double> mu, rank_one_residual;
  std::vector<double> mu_closed_form;  // mu of the exact form; undefined for a degenerate system
  // Tallies of the largest |entry of Y(k) - entry of the form| at each layer; empty for a
  // degenerate system.
  Tally exact, printed;
  std::uint64_t degenerate_rows = 0;  // rows that D set to zero
};

TwoTokenPath iterate(const TwoTokenSystem& system, std::uint64_t layers, const Trial& trial) {
  std::vector<TwoTokenForm> exact, printed;
  if (!system.is_degenerate()) {
    exact = exact_forms(system, layers);
    printed = printed_forms(system, layers);
  }
  TwoTokenPath path;
  State<double> state;
  state.Y = {{1, system.alpha0}, {0, system.beta0}};
  for (std::uint64_t k = 0; k <= layers; ++k) {
    if (k % 1024 == 0) trial.check_interrupt();
    if (k > 0) {
      state.Y = arma::mat(state.Y * mixing_transposed(system.selective, state.Y) +
                          system.lambda * state.Y);
      state.normalize(Norm::rows);
    }
    const TokenGeometry geometry = token_geometry(state.Y);
    path.mu.push_back(geometry.mu);
    path.rank_one_residual.push_back(geometry.rank_one_residual);
    path.mu_closed_form.push_back(exact.empty() ? undefined : exact[k].mu());
    if (exact.empty()) continue;
    count_deviation(system, k, largest_difference(state.Y, exact[k]), path.exact);
    count_deviation(system, k, largest_difference(state.Y, printed[k]), path.printed);
  }
  path.degenerate_rows = state.degenerate_rows;
  return path;
}

// Proposition 4.3.2. mu is a distance divided by sqrt 2, so its error is at most twice the error of
// an entry. Half of it is therefore compared with the allowance for entries.
void count_tightness(const TwoTokenSystem& system, const TwoTokenPath& path, TrialRecord& record) {
  Tally printed, corrected, decay;
  const auto count = [&](std::uint64_t k, double deviation, Tally& tally) {
    count_deviation(system, k, deviation, tally);
  };
  for (std::uint64_t k = 0; k < path.mu.size(); ++k) {
    const double power = static_cast<double>(k), measured = path.mu[k];
    count(k, std::abs(measured - 1 / (1 + std::pow(system.ratio(), 2 * power))) / 2, printed);
    count(k, std::abs(measured - path.mu_closed_form[k]) / 2, corrected);
    // 1 - 1/sqrt(1 + z) <= z/2 with z = x_k^(-2).
    const double bound =
        std::pow(1 / system.ratio(), power) * system.beta0 / (system.alpha0 * std::numbers::sqrt2);
    if (system.lambda > -1) count(k, std::max(0.0, measured - bound) / 2, decay);
  }
  if (system.starts_at_45_degrees()) {
    record.add(mu_as_printed.id, printed);
    record.add(at_side(system.lambda), printed);
  }
  record.add(mu_corrected.id, corrected);
  record.add(mu_decay.id, decay);
}

TrialRecord run_trial(const Config& c, const Trial& trial) {
  TrialRecord record;
  const Forms forms = forms_of(c.selective());
  double zeroed = 0, largest_error = 0;
  for (const TwoTokenSystem& system : c.systems()) {
    TwoTokenPath path = iterate(system, c.layers, trial);
    record.add(forms.exact.id, path.exact);
    record.add(forms.as_printed.id, path.printed);
    if (c.selective() && !system.is_degenerate()) count_tightness(system, path, record);
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

}  // namespace

Work Config::work() const {
  return each_trial([this](Trial& trial) { return run_trial(*this, trial); });
}

namespace {

// The limit of the two tokens ---------------------------------------------------------------------

// The last two layers of the run at one lambda.
struct Outcome {
  TwoTokenSystem system;
  double mu[2] = {0, 0};
  double rank_one_residual[2] = {0, 0};
  double degenerate_rows = 0.0;
  // True if |x_k| of the exact form grows or falls fast enough to reach its limit within the run.
  // Always false for Sys-2 at lambda = -3/2, because |x_k| is constant.
  bool settled = false;

  bool mu_tends_to(double limit) const {
    return std::abs(mu[0] - limit) <= limit_band && std::abs(mu[1] - limit) <= limit_band;
  }
  // Row 2 tends to plus or minus row 1, up to limit_band. Near the limit, 1 - sigma_1^2/||Y||_F^2
  // is a quarter of their squared distance.
  bool tends_to_rank_one() const {
    constexpr double band = limit_band * limit_band / 2;
    return rank_one_residual[0] <= band && rank_one_residual[1] <= band;
  }
};

// Uses a lower bound on the growth of |x_k| up to the second-to-last layer. mu is within limit_band
// of its limit if |x_k| is above 1/limit_band or, if |x_k| falls, below limit_band.
bool is_settled(const TwoTokenSystem& system, std::uint64_t layers) {
  if (system.is_degenerate()) return false;
  const double steps = static_cast<double>(layers) - 1;
  if (!system.selective) {
    const double c = 2 / std::abs(1 + system.lambda);
    return c * std::pow(1 + c, steps - 1) >= 1 / limit_band;
  }
  if (system.beta0 == 0) return true;  // row 2 is plus or minus row 1 from the start
  const double r = std::abs(system.ratio()), x = std::pow(r, steps) * system.alpha0 / system.beta0;
  return r > 1 ? x >= 1 / limit_band : r < 1 && x <= limit_band;
}

// One for each lambda.
std::vector<Outcome> outcomes_of(const Config& c, const TrialRecord& record) {
  std::vector<Outcome> outcomes;
  for (const TwoTokenSystem& system : c.systems()) {
    const auto& spread = record.array(at_lambda(system.lambda, mu));
    const auto& residual = record.array(at_lambda(system.lambda, rank_one_residual));
    const std::size_t last = c.layers, previous = last - 1;
    outcomes.push_back({system,
                        {spread.at(previous), spread.at(last)},
                        {residual.at(previous), residual.at(last)},
                        record.scalar(at_lambda(system.lambda, degenerate_rows)),
                        is_settled(system, c.layers)});
  }
  return outcomes;
}

// Claims about limits -----------------------------------------------------------------------------

// Whether an outcome agrees with a statement; no value if the statement is not about its lambda.
using Rule = std::function<std::optional<bool>(const Outcome&)>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// A rule for every lambda in the open interval (low, high).
Rule between(double low, double high, const std::function<bool(const Outcome&)>& agrees) {
  return [=](const Outcome& o) -> std::optional<bool> {
    if (!o.settled || !(low < o.system.lambda && o.system.lambda < high)) return std::nullopt;
    return agrees(o);
  };
}

bool tends_to_zero(const Outcome& o) {
  return o.mu_tends_to(0);
}

std::optional<bool> zero_row(const Outcome& o) {
  if (!o.system.is_degenerate()) return std::nullopt;
  return o.degenerate_rows > 0;
}

// Sys-2 with equal tokens, lambda below -2: a case is a violation if mu is 0 after 12 layers.
Tally equal_tokens() {
  Tally tally;
  for (const double lambda : {-3.0, -2.5}) {
    const TwoTokenSystem system{.selective = true, .lambda = lambda, .alpha0 = 1, .beta0 = 0};
    const TwoTokenForm last = exact_forms(system, 12).back();
    tally.count(last.sign_first == last.sign_second && last.mu() == 0);
  }
  return tally;
}

// The claims about one proposition, judged from the outcomes.
struct Proposition {
  std::string id, source;
  const std::vector<Outcome>& outcomes;
  Claims& claims;

  Statement printed(const std::string& part, const std::string& text) const {
    return Place{id, id + "/", source}(part, text);
  }
  Statement with_slip(const std::string& part, const std::string& text) const {
    return showing(id + "/sign", printed(part, text));
  }
  Statement corrected(const Statement& as_printed, const std::string& part,
                      const std::string& text) const {
    return correcting(as_printed, Place{id, id + "/", source + ", corrected"}(part, text));
  }
  Statement ours(const std::string& part, const std::string& text) const {
    return beyond(
        Statement{id, id + "/" + part, "not in the paper; by the exact form of Y(k)", text});
  }

  // Counts one case for each lambda, by the first rule that applies.
  void judge(const Statement& statement, const std::vector<Rule>& rules) const {
    Tally tally;
    std::vector<std::string> violating;
    for (const Outcome& outcome : outcomes) {
      std::optional<bool> agrees;
      for (const Rule& rule : rules) {
        if (!agrees) agrees = rule(outcome);
      }
      if (agrees) tally.count(!*agrees);
      if (agrees == false) violating.push_back(series_number(outcome.system.lambda));
    }
    const char* const no_case =
        "the statement covers no lambda of the run that reaches its limit within --layers";
    if (!claims.applies(statement, tally.cases == 0 ? no_case : "")) return;
    claims.never_violated(
        statement, tally,
        violating.empty() ? "one case per lambda" : "violated at lambda = " + joined(violating));
  }
};

// [LambdaSkip] Proposition A.10.1 excludes lambda = -1 and does not mention lambda = -2.
void judge_sys1(const std::vector<Outcome>& outcomes, Claims& claims) {
  const Proposition of{lambda_skip::prop_A_10_1, "Proposition A.10.1", outcomes, claims};
  const Statement whole = of.with_slip("as-printed",
                                       "mu tends to 0 in Sys-1 for every lambda > -2 except "
                                       "-1, and not for lambda < -2"),
                  above = of.with_slip("as-printed/collapse",
                                       "mu tends to 0 in Sys-1 for every lambda > -2 except -1"),
                  below = of.printed("as-printed/no-collapse",
                                     "mu does not tend to 0 in Sys-1 for any lambda < -2");
  const Rule collapse = between(-2, infinity, tends_to_zero);
  const Rule none = between(-infinity, -2, [](const Outcome& o) { return !o.mu_tends_to(0); });
  const Rule full_rank =
      between(-infinity, -2, [](const Outcome& o) { return !o.tends_to_rank_one(); });
  of.judge(whole, {collapse, none});
  of.judge(above, {collapse});
  of.judge(below, {none});
  of.judge(of.ours("no-collapse-below-minus-2",
                   "Y does not tend to rank one in Sys-1 for any lambda < -2"),
           {full_rank});

  const Rule parallel = between(-1, infinity, tends_to_zero);
  const Rule anti_parallel = between(-infinity, -1, [](const Outcome& o) {
    return o.tends_to_rank_one() && o.mu_tends_to(std::numbers::sqrt2);
  });
  of.judge(
      of.corrected(whole, "corrected",
                   "Y tends to rank one in Sys-1 for every lambda except -1: mu tends to 0 for "
                   "lambda > -1, and to sqrt 2 (anti-parallel rows) for lambda < -1; for lambda = "
                   "-1 a row becomes zero"),
      {parallel, anti_parallel, zero_row});
  of.judge(
      of.corrected(above, "corrected/parallel", "mu tends to 0 in Sys-1 for every lambda > -1"),
      {parallel});
  of.judge(of.corrected(whole, "corrected/anti-parallel",
                        "Y tends to rank one with anti-parallel rows, and mu to sqrt 2, in Sys-1 "
                        "for every lambda < -1"),
           {anti_parallel});
  of.judge(of.corrected(whole, "corrected/zero-row",
                        "A row becomes zero in Sys-1 for lambda = -1, so that D is undefined"),
           {zero_row});
}

// [LambdaSkip] Proposition 4.3.1 is stated for any alpha_0 > 0. For alpha_0 = 1 the tokens are
// equal from the start, and there is nothing that could collapse.
void judge_sys2(const std::vector<Outcome>& outcomes, Claims& claims) {
  const Proposition of{lambda_skip::prop_4_3_1, "Proposition 4.3.1", outcomes, claims};
  const auto different = claims.only_where(
      outcomes.front().system.beta0 == 0
          ? "the statement is about different tokens; --alpha0 1 starts with equal ones"
          : "");
  const Statement any_start = showing(
      of.id + "/conditions",
      of.printed("as-printed/any-start",
                 "mu does not tend to 0 in Sys-2 for lambda = -3 and -2.5 with alpha_0 = 1 and "
                 "beta_0 = 0, which the proposition allows"));
  const Statement whole = of.with_slip("as-printed",
                                       "mu tends to 0 in Sys-2 for every lambda > -3/2, and "
                                       "rank collapse is avoided for lambda < -3/2"),
                  above = of.with_slip("as-printed/collapse",
                                       "mu tends to 0 in Sys-2 for every lambda > -3/2"),
                  below = of.corrected(
                      any_start, "as-printed/no-collapse",
                      "mu does not tend to 0 and Y does not tend to rank one in Sys-2 for any "
                      "lambda < -3/2 if beta_0 is not 0");
  const Rule collapse = between(-1.5, infinity, tends_to_zero);
  const Rule none = between(-infinity, -1.5, [](const Outcome& o) {
    return !o.mu_tends_to(0) && !o.tends_to_rank_one();
  });
  of.judge(whole, {collapse, none});
  of.judge(above, {collapse});
  claims.never_violated(any_start, equal_tokens(),
                        "both rows change their sign at every layer and stay equal: mu = 0");
  of.judge(below, {none});
  of.judge(of.corrected(any_start, "corrected/zero-row",
                        "A row becomes zero in Sys-2 for lambda = -1, so that D is undefined"),
           {zero_row});

  const Rule parallel = between(-1, infinity, tends_to_zero);
  const Rule alternating = between(-1.5, -1, [](const Outcome& o) {
    const double low = std::min(o.mu[0], o.mu[1]), high = std::max(o.mu[0], o.mu[1]);
    return o.tends_to_rank_one() && low <= limit_band &&
           std::abs(high - std::numbers::sqrt2) <= limit_band;
  });
  const Rule orthogonal = between(
      -infinity, -1.5, [](const Outcome& o) { return !o.tends_to_rank_one() && o.mu_tends_to(1); });
  of.judge(of.corrected(whole, "corrected",
                        "In Sys-2, mu tends to 0 for lambda > -1; Y tends to rank one while mu "
                        "alternates between 0 and sqrt 2 for -3/2 < lambda < -1; the rows become "
                        "orthogonal and mu tends to 1 for lambda < -3/2"),
           {parallel, alternating, orthogonal});
  of.judge(
      of.corrected(above, "corrected/parallel", "mu tends to 0 in Sys-2 for every lambda > -1"),
      {parallel});
  of.judge(of.corrected(above, "corrected/alternating",
                        "Y tends to rank one and mu alternates between 0 and sqrt 2 in Sys-2 for "
                        "every lambda with -3/2 < lambda < -1"),
           {alternating});
  of.judge(
      of.ours("corrected/orthogonal",
              "Y does not tend to rank one and mu tends to 1 in Sys-2 for every lambda < -3/2"),
      {orthogonal});
}

// The other claims --------------------------------------------------------------------------------

// A tally over all layers and lambdas, with the largest number that it shows.
void judge_at_every_layer(const Inequality& statement, const std::string& what,
                          const TrialRecord& record, Claims& claims) {
  const Tally tally = record.tally(statement.id);
  claims.never_violated(
      statement, tally,
      say("largest {} {}, over all layers and every lambda for which D is defined", what,
          std::max(0.0, tally.largest)));
}

// Proposition 4.3.2: mu of Sys-2.
void judge_mu(const Config& c, const TrialRecord& record, Claims& claims) {
  if (claims.applies(mu_as_printed, c.systems().front().starts_at_45_degrees()
                                        ? ""
                                        : "the formula assumes alpha_0 = beta_0")) {
    const auto violations = [&](double lambda) {
      const Tally tally = record.tally(at_side(lambda));
      return say("{} of {}", count_text(tally.violations), count_text(tally.cases));
    };
    claims.never_violated(
        mu_as_printed, record.tally(mu_as_printed.id),
        say("violations for lambda > -1: {}, for lambda < -1: {}; at layer 0 the formula gives "
            "0.5, and mu is 0.541; at the other layers the two agree where mu is 0 or 1 to "
            "rounding",
            violations(0), violations(-2)));
  }
  judge_at_every_layer(mu_corrected, "half difference of mu", record, claims);
  const Tally decay = record.tally(mu_decay.id);
  claims.never_violated(mu_decay, decay,
                        say("largest excess of mu over its bound {}, over all layers",
                            2 * std::max(0.0, decay.largest)));
}

// Proposition 4.3.2: the rate of Sys-2 against eq. (7). mu(k)^2 = 1 - y_1.y_2 for unit rows.
void judge_rates(const Config& c, const TrialRecord& record, Claims& claims) {
  double best = -infinity, best_lambda = 0;
  bool any = false;
  Tally at_positive;
  const auto count_positive = [&](double lambda, double cosine) {
    at_positive.count(margin_of_eq_7(lambda, cosine) > 0);
  };
  for (const double lambda : c.lambda) {
    if (!(lambda > -1)) continue;
    double cosine = 0;
    for (const double spread : record.array(at_lambda(lambda, mu)))
      cosine = std::max(cosine, std::abs(1 - spread * spread));
    if (lambda >= 0) count_positive(lambda, cosine);
    any = any || lambda < highest_attained;
    const double margin = margin_of_eq_7(lambda, cosine);
    if (margin > best) best = margin, best_lambda = lambda;
  }
  const Statement attained = prop_4_3_2(
      "attained",
      "For some lambda of the run, the rate a = ((1 + lambda)/(2 + lambda))^2 of Sys-2 meets "
      "eq. (7): largest left-hand side of eq. (7)");
  if (claims.applies(attained, any ? "" : "no lambda of the run lies where eq. (7) is met"))
    claims.number(attained, best, positive(),
                  say("lambda^2 - a (S C_M + |lambda|)^2 at lambda = {}, the largest over lambda > "
                      "-1",
                      series_number(best_lambda)));
  // b of Theorem 4.1 with |lambda| for one layer: N = d = 2, S C_M = sqrt 2 sqrt 3, a = 0.04.
  constexpr double at = -0.75, a = 0.04;
  const double mix = std::sqrt(6.0), b = 8 / a * std::abs(at) * mix / margin_of_eq_7(at, 1);
  claims.number(
      beyond(Statement{prop_4_3_2.statement_id, prop_4_3_2.prefix + "vacuous", "not in the paper",
                       "At lambda = -0.75, where Sys-2 meets eq. (7), Theorem 4.1 promises "
                       "nothing: b with |lambda| for one layer, against mu^2 "
                       "<= N = 2"}),
      b, at_least(2), "S = sqrt 2, C_M = sqrt 3, a = 0.04");
  // In the limit y_1.y_2 = 1.
  for (const double lambda : {10.0, 100.0}) count_positive(lambda, 1);
  claims.never_violated(
      beyond(Statement{prop_4_3_2.statement_id, prop_4_3_2.prefix + "positive-lambda",
                       "not in the paper, which claims existence and orders",
                       "For no lambda >= 0 does the rate of Sys-2 meet eq. (7)"}),
      at_positive,
      "also at lambda = 10, where mu^2 shrinks by 0.840 per layer and eq. (7) allows less than "
      "0.645, and at 100: 0.980 and 0.953");
}

}  // namespace

// The propositions as printed and as corrected by the exact forms.
void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::none);
  const TrialRecord& record = records.front();
  const std::vector<Outcome> outcomes = outcomes_of(*this, record);
  selective() ? judge_sys2(outcomes, claims) : judge_sys1(outcomes, claims);
  const Forms forms = forms_of(selective());
  for (const Inequality& form : {forms.as_printed, forms.exact})
    judge_at_every_layer(form, "difference of an entry of Y(k)", record, claims);
  if (!selective()) return;
  judge_mu(*this, record, claims);
  judge_rates(*this, record, claims);
}

// The result --------------------------------------------------------------------------------------

namespace {

// Of the figure: the first layers, in which the limits become visible, and the last two layers
// against lambda.
constexpr Measure
    early_mu = {"early.mu", "mu(Y)", "in the first layers: distance of the tokens from their mean"},
    early_closed_form = {"early.mu_closed_form", "mu(Y)",
                         "in the first layers: mu of the exact form"},
    early_residual = {"early.rank_one_residual", "1 - sigma_1(Y)^2/||Y||_F^2",
                      "in the first layers: squared distance from rank one over the squared norm"},
    last_mu = {"final.mu", "mu(Y)", "after the last layer: distance of the tokens from their mean"},
    previous_mu = {"previous.mu", "mu(Y)",
                   "after the second-to-last layer: distance of the tokens from their mean"},
    last_residual = {"final.rank_one_residual", "1 - sigma_1(Y)^2/||Y||_F^2",
                     "after the last layer: squared distance from rank one over the squared norm"};

Quantity early(double lambda, const Measure& measure, const Measure& whole) {
  const Quantity of_run = at_lambda(lambda, whole);
  return {"early." + of_run.name, measure, of_run.at};
}

std::vector<double> layers_to(std::uint64_t last) {
  std::vector<double> layers;
  for (std::uint64_t k = 0; k <= last; ++k) layers.push_back(static_cast<double>(k));
  return layers;
}

}  // namespace

void Config::derive(Numbers& out) const {
  out.scalar(degenerate_rows);
  out.scalar(closed_form_error);
  for (const double each : lambda) {
    for (const Measure& measure : {mu, rank_one_residual, mu_closed_form})
      out.series(at_lambda(each, measure), "layer", layers_to(layers));
  }
  constexpr std::uint64_t drawn_layers = 12;
  for (const double each : lambda) {
    const auto add_early = [&](const Measure& measure, const Measure& whole, double noise) {
      out.series(early(each, measure, whole), "layer", layers_to(std::min(drawn_layers, layers)),
                 [&](const TrialRecord& record, std::size_t k) {
                   const double value = record.array(at_lambda(each, whole))[k];
                   return value < noise ? undefined : value;
                 });
    };
    add_early(early_mu, mu, -infinity);
    add_early(early_closed_form, mu_closed_form, -infinity);
    // Its rounding error is absolute.
    add_early(early_residual, rank_one_residual, tolerance::epsilon<double>);
  }
  std::vector<double> ascending = lambda;
  std::ranges::sort(ascending);
  const auto add_against_lambda = [&](const Measure& measure, const Measure& of, std::uint64_t k) {
    std::vector<std::vector<double>> values;
    if (!out.records().empty()) {  // all are equal
      values.emplace_back();
      for (const double each : ascending)
        values.back().push_back(out.records().front().array(at_lambda(each, of)).at(k));
    }
    out.series(measure, series_over_trials(measure, "lambda", ascending, values));
  };
  add_against_lambda(last_mu, mu, layers);
  add_against_lambda(previous_mu, mu, layers - 1);
  add_against_lambda(last_residual, rank_one_residual, layers);
}

namespace {

// At most two values of each range between the critical values of lambda, the smallest and the
// largest, in ascending order. The critical values are those of the printed propositions and of
// the corrected ones. Without lambdas for which D is undefined.
std::vector<double> representatives(const Config& c) {
  std::vector<double> ascending, chosen;
  for (const TwoTokenSystem& system : c.systems()) {
    if (!system.is_degenerate()) ascending.push_back(system.lambda);
  }
  std::sort(ascending.begin(), ascending.end());
  const double printed = c.selective() ? -1.5 : -2;
  for (const auto& [low, high] :
       {std::pair(-infinity, printed), {printed, -1.0}, {-1.0, infinity}}) {
    std::vector<double> inside;
    std::copy_if(ascending.begin(), ascending.end(), std::back_inserter(inside),
                 [from = low, to = high](double lambda) { return from < lambda && lambda < to; });
    if (inside.empty()) continue;
    chosen.push_back(inside.front());
    if (inside.size() > 1) chosen.push_back(inside.back());
  }
  return chosen;
}

void add_figure(const Config& c, Display& out) {
  const std::string residual_axis = "1 - sigma_1^2 / ||Y||_F^2 (0: rank one)",
                    mu_axis = "mu (0: equal rows)", lambda_axis = "lambda (strength of the skip)";
  PanelBuilder first = out.panel("First layers: mu (dots: iteration, lines: exact form)",
                                 {"number of layers"}, {mu_axis});
  PanelBuilder rank = out.panel("First layers: distance from rank one", {"number of layers"},
                                log_axis(residual_axis));
  int color = 0;
  for (const double lambda : representatives(c)) {
    const std::string label = "lambda = " + series_number(lambda);
    first.curve(early(lambda, early_closed_form, mu_closed_form), label, {LineStyle::line, color});
    first.curve(early(lambda, early_mu, mu), "", {LineStyle::points, color});
    rank.curve(early(lambda, early_residual, rank_one_residual), label, {LineStyle::line, color++});
  }
  // The open squares of the second-to-last layer leave the dots of the last layer visible.
  constexpr int open_square = 6;
  PanelBuilder last =
      out.panel(say("mu after {} layers, for every lambda", c.layers), {lambda_axis}, {mu_axis});
  last.curve(last_mu, "last layer", {LineStyle::points, 0})
      .curve(previous_mu, "second-to-last layer", {LineStyle::points, open_square})
      .line(std::numbers::sqrt2, "sqrt 2: opposite rows");
  if (c.selective()) last.line(1, "1: orthogonal rows");
  out.panel("Distance from rank one, for every lambda", {lambda_axis}, unit_axis(residual_axis))
      .curve(last_residual, "last layer", {LineStyle::points, 0});
}

// Notes that say for which lambdas the tokens collapse, and which measure detects it.
void add_notes(const Config& c, const std::vector<Outcome>& outcomes, Display& out) {
  const auto note = [&](const std::string& words, const auto& predicate) {
    std::vector<std::string> lambdas;
    for (const Outcome& outcome : outcomes) {
      if (predicate(outcome)) lambdas.push_back(series_number(outcome.system.lambda));
    }
    if (!lambdas.empty()) out.note(say("{}: lambda = {}.", words, joined(lambdas)));
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
  note(say("Critical, or no limit reached within {} layers", c.layers),
       [](const Outcome& o) { return !o.settled && !o.system.is_degenerate(); });
}

}  // namespace

std::string Config::title() const {
  return selective() ? "Sys-2, M = [[1, 0], [y1.y2, 1]], with lambda-skip connections"
                     : "Sys-1, M = [[1, 0], [2, 1]] and Y(0) = I, with lambda-skip connections";
}

void Config::show(Display& out) const {
  add_figure(*this, out);
  add_notes(*this, outcomes_of(*this, out.records().front()), out);
}

double margin_of_eq_7(double lambda, double largest_cosine) {
  const double root_a = (1 + lambda) / (2 + lambda),
               mix = std::sqrt(2 * (2 + largest_cosine * largest_cosine));
  return lambda * lambda - std::pow(root_a * (mix + std::abs(lambda)), 2);
}

}  // namespace ranklab::examples

namespace ranklab {

std::unique_ptr<Study> make_examples_study() {
  return std::make_unique<examples::Config>();
}

}  // namespace ranklab
