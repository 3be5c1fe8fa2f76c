#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/text.hpp"
#include "experiments/rank_collapse/spectral_gap/spectral_gap.hpp"
#include "experiments/rank_collapse/token_escalation/measures.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/tensors.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace spectral_gap {
namespace {

double root(std::uint64_t n) {
  return std::sqrt(static_cast<double>(n));
}

std::vector<double> sizes_of(const Plan& plan) {
  return {plan.tokens.begin(), plan.tokens.end()};
}

// Claims ------------------------------------------------------------------------------------------

// Our margins: for an exponent, for a ratio to its limit, and for "large" gaps.
constexpr double exponent_margin = 0.1, ratio_margin = 0.2, largest_eigenvalue = 0.5;

const Place section = {"shallow/sec-2.5", "shallow/sec-2.5/", "Section 2.5"};

// How |lambda_2| falls with n.
void judge_order(const Plan& plan, const Records& records, const Statement& statement,
                 const std::string& array, Region allowed, Claims& claims) {
  const std::vector<double> n = sizes_of(plan);
  if (!claims.applies(statement, n.size() < 3 ? "a fit requires three numbers of tokens" : ""))
    return;
  claims.mean(statement,
              slopes_over(
                  records, n,
                  [&](const TrialRecord& record, std::size_t i) { return record.array(array)[i]; },
                  fit_power),
              allowed, "exponent of |lambda_2| in n");
}

void judge_laws(const Plan& plan, const Records& records, Claims& claims) {
  const std::size_t last = plan.tokens.size() - 1;
  for (const Law law : laws) {
    const std::string entries = "independent " + name_of(law) + " entries";
    judge_order(plan, records,
                asymptotic(section(name_of(law) + "/order",
                                   "|lambda_2| of a random stochastic matrix is O(1/sqrt(n)): " +
                                       entries + ", rows divided by their sums"),
                           short_number(exponent_margin) + " in the exponent of n"),
                array_of(law), at_most(-0.5 + exponent_margin), claims);
    claims.mean(beyond(section(name_of(law) + "/limit",
                               "|lambda_2| is near its limit for large n, which is the standard "
                               "deviation of an entry divided by its mean and by sqrt(n): " +
                                   entries)),
                per_trial(records,
                          [&](const TrialRecord& record) {
                            return record.array(array_of(law))[last] * root(plan.tokens[last]) /
                                   variation(law);
                          }),
                within(1, ratio_margin),
                "|lambda_2| divided by the limit at n = " + std::to_string(plan.tokens[last]));
  }
}

void judge_attention(const Plan& plan, const Records& records, Claims& claims) {
  claims.mean(reading(section("attention/large",
                              "Attention matrices with random weights have large spectral gaps: "
                              "|lambda_2| is at most " +
                                  short_number(largest_eigenvalue) + " at every n and d"),
                      "|lambda_2| of " + short_number(largest_eigenvalue)),
              per_trial(records,
                        [&](const TrialRecord& record) {
                          double largest = 0;
                          for (const std::uint64_t d : plan.dim) {
                            for (const double value : record.array(array_of(d)))
                              largest = std::max(largest, value);
                          }
                          return largest;
                        }),
              at_most(largest_eigenvalue), "largest |lambda_2| over n and d");
  for (const std::uint64_t d : plan.dim) {
    judge_order(
        plan, records,
        beyond(section("d=" + std::to_string(d) + "/order",
                       "|lambda_2| of softmax attention falls like 1/sqrt(n) too, at a fixed d "
                       "(exponent -0.5 +- " +
                           short_number(exponent_margin) + ")")),
        array_of(d), within(-0.5, exponent_margin), claims);
  }
  // The farthest n for each d, by the mean over trials.
  for (const std::uint64_t d : plan.dim) {
    std::vector<double> farthest;
    std::uint64_t where = 0;
    double distance = -1;
    for (std::size_t i = 0; i < plan.tokens.size(); ++i) {
      std::vector<double> ratios = per_trial(records, [&](const TrialRecord& record) {
        return record.array(array_of(d))[i] / predicted_second_eigenvalue(plan.tokens[i], d);
      });
      double sum = 0;
      for (const double ratio : ratios) sum += ratio;
      const double away = std::abs(sum / static_cast<double>(ratios.size()) - 1);
      if (away > distance) {
        distance = away;
        where = plan.tokens[i];
        farthest = std::move(ratios);
      }
    }
    claims.mean(beyond(section("d=" + std::to_string(d) + "/limit",
                               "|lambda_2| of softmax attention before training is sqrt(1/n + "
                               "1/d)/3 (within " +
                                   short_number(100 * ratio_margin) +
                                   " %) at every n, so it does not fall below 1/(3 sqrt(d))")),
                farthest, within(1, ratio_margin),
                "|lambda_2| divided by that value, farthest from 1 at n = " + std::to_string(where),
                static_cast<double>(plan.tokens.size()));
  }
}

// The result --------------------------------------------------------------------------------------

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("Spectral gaps of stochastic matrices", records);
  out.claims().set_unit(Unit::draw);
  // This study normalizes no state, but every study of the command has this scalar.
  out.scalar("degenerate_rows", std::vector<double>(records.size(), 0.0));
  const std::vector<double> n = sizes_of(plan);
  for (const Law law : laws) out.series(array_of(law), "n", n);
  for (const std::uint64_t d : plan.dim) out.series(array_of(d), "n", n);
  judge(plan, records, out.claims());

  const auto add_limit = [&](PanelBuilder& panel, const std::string& name, const std::string& of,
                             int color, const auto& limit) {
    std::vector<double> y;
    for (const std::uint64_t tokens : plan.tokens) y.push_back(limit(tokens));
    out.series_of_points(name, "n", n, y);
    panel.curve(name, of + ", limit", {.style = LineStyle::dashed, .color = color});
  };
  const Axis x = log_axis("n (number of tokens)"), y = log_axis("|lambda_2|");
  PanelBuilder random = out.panel("Independent entries, rows divided by their sums", x, y);
  int color = 0;
  for (const Law law : laws) {
    random.curve(array_of(law), name_of(law), {.style = LineStyle::line_points, .color = color});
    add_limit(random, array_of(law) + ".limit", name_of(law), color++,
              [&](std::uint64_t tokens) { return variation(law) / root(tokens); });
  }
  PanelBuilder attentions = out.panel("Softmax attention with random weights", x, y);
  color = 0;
  for (const std::uint64_t d : plan.dim) {
    attentions.curve(array_of(d), "d = " + std::to_string(d),
                     {.style = LineStyle::line_points, .color = color});
    add_limit(attentions, array_of(d) + ".limit", "d = " + std::to_string(d), color++,
              [&](std::uint64_t tokens) { return predicted_second_eigenvalue(tokens, d); });
  }
  out.note(
      "Limits: on the left, the standard deviation of an entry divided by its mean and "
      "by sqrt(n); on the right, sqrt(1/n + 1/d)/3.");
  out.note(
      "Tokens are normal, and W_q and W_k are uniform on (-1, 1)/sqrt(d). Bands are standard "
      "deviations over draws.");
  return out.take();
}

}  // namespace

std::string name_of(Law law) {
  switch (law) {
    case Law::uniform:
      return "uniform";
    case Law::exponential:
      return "exponential";
    case Law::lognormal:
      return "lognormal";
  }
  throw std::logic_error("unknown law");
}

double variation(Law law) {
  switch (law) {
    case Law::uniform:
      return 1 / std::sqrt(3.0);
    case Law::exponential:
      return 1;
    case Law::lognormal:
      return std::sqrt(std::numbers::e - 1);
  }
  throw std::logic_error("unknown law");
}

arma::mat markov_matrix(Law law, std::uint64_t n, const Streams& streams) {
  const auto start = [&] {
    switch (law) {
      case Law::uniform:
        return Start::uniform(0, 1);
      case Law::exponential:
        return Start::uniform(0, 1).mapped([](double u) { return -std::log(u); });
      case Law::lognormal:
        return Start::normal(1).mapped([](double z) { return std::exp(z); });
    }
    throw std::logic_error("unknown law");
  }();
  arma::mat P = DrawnTensors<double>(streams, name_of(law) + "/")
                    .matrix("n=" + std::to_string(n), n, n, start);
  P.each_row() /= arma::sum(P, 0);
  return P;
}

arma::mat attention(std::uint64_t n, std::uint64_t d, const Streams& streams) {
  const double scale = 1 / root(d);
  DrawnTensors<double> tensors(streams, "n=" + std::to_string(n) + ",d=" + std::to_string(d) + "/");
  const arma::mat X = tensors.matrix("X", d, n, Start::normal(1)),
                  W_q = tensors.matrix("W_q", d, d, Start::uniform(-scale, scale)),
                  W_k = tensors.matrix("W_k", d, d, Start::uniform(-scale, scale));
  return attention_matrix<double>(W_q.t() * X, W_k.t() * X, scale);
}

double predicted_second_eigenvalue(std::uint64_t n, std::uint64_t d) {
  return std::sqrt(1 / static_cast<double>(n) + 1 / static_cast<double>(d)) / 3;
}

Plan::Plan(const SpectralGapConfig& config) : tokens(config.tokens), dim(config.dim) {
  std::ranges::sort(tokens);
  std::ranges::sort(dim);
}

std::string array_of(Law law) {
  return "lambda_2." + name_of(law);
}
std::string array_of(std::uint64_t d) {
  return "lambda_2.d=" + std::to_string(d);
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  TrialRecord record;
  const auto over_tokens = [&](const auto& matrix) {
    std::vector<double> values;
    for (const std::uint64_t n : plan.tokens) {
      trial.check_interrupt();
      values.push_back(second_eigenvalue(matrix(n)));
    }
    return values;
  };
  for (const Law law : laws) {
    record.set(array_of(law),
               over_tokens([&](std::uint64_t n) { return markov_matrix(law, n, trial); }));
  }
  for (const std::uint64_t d : plan.dim) {
    record.set(array_of(d), over_tokens([&](std::uint64_t n) { return attention(n, d, trial); }));
  }
  return record;
}

void judge(const Plan& plan, const Records& records, Claims& claims) {
  judge_laws(plan, records, claims);
  judge_attention(plan, records, claims);
}

}  // namespace spectral_gap

namespace {

class SpectralGapStudy : public Study {
 public:
  std::vector<Field> fields() override {
    SpectralGapConfig& c = config_;
    return {
        size_list_field("tokens", c.tokens, 2, largest_size, "n", "number of rows of the matrices"),
        size_list_field("dim", c.dim, 1, largest_size, "d",
                        "number of features of the tokens that attend, one curve per value"),
    };
  }

  Estimate estimate() const override {
    double largest = 0;
    for (const std::uint64_t tokens : config_.tokens) {
      for (const std::uint64_t dim : config_.dim) {
        const double n = static_cast<double>(tokens), d = static_cast<double>(dim);
        largest = std::max(largest, 8 * (3 * n * n + 3 * n * d + 2 * d * d));
      }
    }
    return {.bytes = largest};
  }

  Work work() const override {
    return each_trial([plan = spectral_gap::Plan(config_)](Trial& trial) {
      return spectral_gap::run_trial(plan, trial);
    });
  }
  Result report(const Records& records) const override {
    return spectral_gap::report(spectral_gap::Plan(config_), records);
  }

 private:
  SpectralGapConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_spectral_gap_study() {
  return std::make_unique<SpectralGapStudy>();
}

}  // namespace ranklab
