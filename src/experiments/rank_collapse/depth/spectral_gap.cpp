// `rank-collapse --study spectral-gap`: |lambda_2| of random stochastic matrices and of attention
// matrices before training ([Shallow] Section 2.5).
//
//   P = A with its rows divided by their sums; the entries of A (n, n) are independent
//   P = softmax over rows of (X W_q)(X W_k)' / sqrt(d)                                      eq. (2)
//
// X (n, d): N(0, 1); W_q, W_k (d, d): uniform on (-1, 1)/sqrt(d). A trial draws all matrices anew.
// In memory the tokens are columns, and P is P'.
//
// Why |lambda_2| of softmax attention is about sqrt(1/n + 1/d)/3: the entries of W_q and W_k have
// variance 1/(3 d), so those of B = W_q W_k' have variance 1/(9 d). The scores X B X'/sqrt(d) of
// normal tokens X (n, d) are small, so P = 1 1'/n + Pi_2 X B X'/(n sqrt(d)) up to second order. Its
// second eigenvalue is therefore that of B (X'X/n)/sqrt(d). For large n and d, the spectral radius
// of a product of an independent B and S is sqrt(||S||_F^2 / (9 d)), and ||X'X/n||_F^2 = d (1 +
// d/n).
#include "experiments/rank_collapse/depth/spectral_gap.hpp"

#include <algorithm>
#include <numbers>

#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/token_escalation.hpp"
#include "nn/blocks/attention.hpp"

namespace ranklab::spectral_gap {

// Flags -------------------------------------------------------------------------------------------

std::vector<Field> Config::flags() {
  return {
      size_list_field("tokens", tokens, 2, largest_size, "n", "number of rows of the matrices"),
      size_list_field("dim", dim, 1, largest_size, "d",
                      "number of features of the tokens that attend, one curve per value"),
  };
}

Estimate Config::memory() const {
  double largest = 0;
  for (const std::uint64_t rows : tokens) {
    for (const std::uint64_t features : dim) {
      const double n = static_cast<double>(rows), d = static_cast<double>(features);
      largest = std::max(largest, 8 * (3 * n * n + 3 * n * d + 2 * d * d));
    }
  }
  return {.bytes = largest};
}

// The matrices ------------------------------------------------------------------------------------

namespace {

double root(std::uint64_t n) {
  return std::sqrt(static_cast<double>(n));
}

}  // namespace

const std::array<Law, 3> laws = {{
    {"uniform", 1 / std::sqrt(3.0), EntryLaw::uniform(0, 1)},
    {"exponential", 1, EntryLaw::uniform(0, 1).mapped([](double u) { return -std::log(u); })},
    {"lognormal", std::sqrt(std::numbers::e - 1),
     EntryLaw::normal(1).mapped([](double z) { return std::exp(z); })},
}};

arma::mat markov_matrix(const Law& law, std::uint64_t n, const Streams& streams) {
  arma::mat P =
      DrawnTensors<double>(streams, law.name + "/").matrix(say("n={}", n), n, n, law.entry);
  P.each_row() /= arma::sum(P, 0);
  return P;
}

arma::mat attention(std::uint64_t n, std::uint64_t d, const Streams& streams) {
  const double scale = 1 / root(d);
  DrawnTensors<double> tensors(streams, say("n={},d={}/", n, d));
  const arma::mat X = tensors.matrix("X", d, n, EntryLaw::normal(1)),
                  W_q = tensors.matrix("W_q", d, d, EntryLaw::uniform(-scale, scale)),
                  W_k = tensors.matrix("W_k", d, d, EntryLaw::uniform(-scale, scale));
  return attention_matrix<double>(W_q.t() * X, W_k.t() * X, scale);
}

double predicted_second_eigenvalue(std::uint64_t n, std::uint64_t d) {
  return std::sqrt(1 / static_cast<double>(n) + 1 / static_cast<double>(d)) / 3;
}

// A trial -----------------------------------------------------------------------------------------

namespace {

constexpr Measure second = {"lambda_2", "|lambda_2|",
                            "second largest modulus of an eigenvalue of the stochastic matrix"},
                  limit = {"lambda_2.limit", "|lambda_2|",
                           "what |lambda_2| tends to as the matrix grows"};

}  // namespace

Quantity array_of(const Law& law) {
  return {"lambda_2." + law.name, second, At("law", law.name)};
}
Quantity array_of(std::uint64_t d) {
  return {say("lambda_2.d={}", d), second, At("d", d)};
}

namespace {

Config in_order(Config config) {
  std::ranges::sort(config.tokens);
  std::ranges::sort(config.dim);
  return config;
}

TrialRecord run_trial(const Config& c, const Trial& trial) {
  TrialRecord record;
  const auto over_tokens = [&](const auto& matrix) {
    std::vector<double> values;
    for (const std::uint64_t n : c.tokens) {
      trial.check_interrupt();
      values.push_back(second_eigenvalue(matrix(n)));
    }
    return values;
  };
  for (const Law& law : laws) {
    record.set(array_of(law),
               over_tokens([&](std::uint64_t n) { return markov_matrix(law, n, trial); }));
  }
  for (const std::uint64_t d : c.dim)
    record.set(array_of(d), over_tokens([&](std::uint64_t n) { return attention(n, d, trial); }));
  return record;
}

}  // namespace

Work Config::work() const {
  return each_trial([c = in_order(*this)](Trial& trial) { return run_trial(c, trial); });
}

// Claims ------------------------------------------------------------------------------------------

namespace {

// Our margins: for an exponent, for a ratio to its limit, and for "large" gaps.
constexpr double exponent_margin = 0.1, ratio_margin = 0.2, largest_eigenvalue = 0.5;

const Place section = {shallow::sec_2_5, "/", "Section 2.5"};

// How |lambda_2| falls with n.
void judge_order(const Config& c, const Records& records, const Statement& statement,
                 const std::string& array, Region allowed, Claims& claims) {
  const std::vector<double> n(c.tokens.begin(), c.tokens.end());
  if (!claims.applies(statement, n.size() < 3 ? "a fit requires three numbers of tokens" : ""))
    return;
  claims.mean(statement,
              slopes_over(
                  records, n,
                  [&](const TrialRecord& record, std::size_t i) { return record.array(array)[i]; },
                  fit_power),
              allowed);
}

void judge_laws(const Config& c, const Records& records, Claims& claims) {
  const std::uint64_t most_tokens = c.tokens.back();
  for (const Law& law : laws) {
    judge_order(c, records,
                asymptotic(section(law.name + "/order",
                                   say("|lambda_2| of a random stochastic matrix (independent {} "
                                       "entries, rows divided by their sums) is O(1/sqrt(n)): "
                                       "exponent of n in |lambda_2|",
                                       law.name)),
                           say("{} in the exponent, ours", exponent_margin)),
                array_of(law), at_most(-0.5 + exponent_margin), claims);
    claims.mean(
        beyond(section(law.name + "/limit",
                       say("|lambda_2| is near its limit for large n, which is the standard "
                           "deviation of an entry divided by its mean and by sqrt(n), for "
                           "independent {} entries: |lambda_2| divided by the limit at n = {}",
                           law.name, most_tokens))),
        per_trial(records,
                  [&](const TrialRecord& record) {
                    return record.array(array_of(law)).back() * root(most_tokens) / law.variation;
                  }),
        within(1, ratio_margin));
  }
}

void judge_attention(const Config& c, const Records& records, Claims& claims) {
  claims.mean(
      reading(section("attention/large",
                      "Softmax attention matrices with random weights have large spectral gaps: "
                      "the largest |lambda_2| over n and d"),
              say("|lambda_2| of {}, ours", largest_eigenvalue)),
      per_trial(records,
                [&](const TrialRecord& record) {
                  double largest = 0;
                  for (const std::uint64_t d : c.dim)
                    largest = std::max(largest, std::ranges::max(record.array(array_of(d))));
                  return largest;
                }),
      at_most(largest_eigenvalue));
  for (const std::uint64_t d : c.dim) {
    judge_order(c, records,
                beyond(section(say("d={}/order", d),
                               say("|lambda_2| of softmax attention falls like 1/sqrt(n) too, at "
                                   "d = {}: exponent of n in |lambda_2|",
                                   d))),
                array_of(d), within(-0.5, exponent_margin), claims);
  }
  // The farthest n for each d, by the mean over trials.
  for (const std::uint64_t d : c.dim) {
    std::vector<double> farthest;
    std::uint64_t where = 0;
    double distance = -1;
    for (std::size_t i = 0; i < c.tokens.size(); ++i) {
      std::vector<double> ratios = per_trial(records, [&](const TrialRecord& record) {
        return record.array(array_of(d))[i] / predicted_second_eigenvalue(c.tokens[i], d);
      });
      const double away = std::abs(summarize(ratios).mean - 1);
      if (away > distance) {
        distance = away;
        where = c.tokens[i];
        farthest = std::move(ratios);
      }
    }
    claims.mean(beyond(section(say("d={}/limit", d),
                               say("|lambda_2| of softmax attention before training is sqrt(1/n + "
                                   "1/d)/3 (within {} %) at every n, so it does not fall below "
                                   "1/(3 sqrt(d)): |lambda_2| divided by that value at d = {} and "
                                   "the n where it is farthest from 1",
                                   100 * ratio_margin, d))),
                farthest, within(1, ratio_margin), say("at n = {}", where),
                static_cast<double>(c.tokens.size()));
  }
}

}  // namespace

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::draw);
  const Config c = in_order(*this);
  judge_laws(c, records, claims);
  judge_attention(c, records, claims);
}

// The result --------------------------------------------------------------------------------------

namespace {

Quantity limit_of(const Quantity& array) {
  return {array.name + ".limit", limit, array.at};
}

}  // namespace

void Config::derive(Numbers& out) const {
  const Config c = in_order(*this);
  // This study normalizes no state, but every study of the command has this scalar.
  out.scalar(token_escalation::degenerate_rows, std::vector<double>(out.records().size(), 0.0));
  const std::vector<double> n(c.tokens.begin(), c.tokens.end());
  for (const Law& law : laws) out.series(array_of(law), "n", n);
  for (const std::uint64_t d : c.dim) out.series(array_of(d), "n", n);
  const auto add_limit = [&](const Quantity& array, const auto& limit_at) {
    std::vector<double> limits;
    for (const std::uint64_t rows : c.tokens) limits.push_back(limit_at(rows));
    out.series_of_points(limit_of(array), "n", n, limits);
  };
  for (const Law& law : laws)
    add_limit(array_of(law), [&](std::uint64_t rows) { return law.variation / root(rows); });
  for (const std::uint64_t d : c.dim) {
    add_limit(array_of(d),
              [&](std::uint64_t rows) { return predicted_second_eigenvalue(rows, d); });
  }
}

void Config::show(Display& out) const {
  const Axis x = log_axis("n (number of tokens)"), y = log_axis("|lambda_2|");
  // |lambda_2| and its limit.
  const auto draw = [](PanelBuilder& panel, const Quantity& array, const std::string& label,
                       int color) {
    panel.curve(array.name, label, {.style = LineStyle::line_points, .color = color})
        .curve(limit_of(array), label + ", limit", {.style = LineStyle::dashed, .color = color});
  };
  PanelBuilder random = out.panel("Independent entries, rows divided by their sums", x, y);
  int color = 0;
  for (const Law& law : laws) draw(random, array_of(law), law.name, color++);
  PanelBuilder attentions = out.panel("Softmax attention with random weights", x, y);
  color = 0;
  for (const std::uint64_t d : in_order(*this).dim)
    draw(attentions, array_of(d), say("d = {}", d), color++);
  out.note(
      "Limits: on the left, the standard deviation of an entry divided by its mean and "
      "by sqrt(n); on the right, sqrt(1/n + 1/d)/3.");
  out.note(
      "Tokens are normal, and W_q and W_k are uniform on (-1, 1)/sqrt(d). Bands are standard "
      "deviations over draws.");
}

}  // namespace ranklab::spectral_gap

namespace ranklab {

std::unique_ptr<Study> make_spectral_gap_study() {
  return std::make_unique<spectral_gap::Config>();
}

}  // namespace ranklab
