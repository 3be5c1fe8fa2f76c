#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/fits.hpp"
#include "core/undefined.hpp"
#include "experiments/one_step_compare/mlp_init/config.hpp"
#include "linalg/spectra.hpp"
#include "models/random_features.hpp"
#include "nn/mlp.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace {

constexpr std::size_t hidden_layers = 3;

/// The network with one of the activations of a run.
struct Net {
  std::string activation;
  std::string prefix;  // of its series and streams: empty for the first, "relu2." for others

  bool is_gated() const { return find_activation(activation).gated; }
  std::string layer(std::size_t l) const { return prefix + "layer" + std::to_string(l); }
  std::string stable_rank(std::size_t l) const {
    return layer(l) + ".stable_rank";
  }  // st(A_l), over n
};
constexpr char stable_rank_X[] = "X.stable_rank";

struct Plan {
  MlpInitConfig config;
  std::vector<Net> nets;
  std::vector<std::uint64_t> n;  // ascending
  std::vector<double> sizes;     // n as floating-point numbers

  explicit Plan(const MlpInitConfig& given)
      : config(given), nets{{given.activation, ""}}, n(given.n) {
    for (const std::string& name : config.also) nets.push_back({name, name + "."});
    std::sort(n.begin(), n.end());
    sizes.assign(n.begin(), n.end());
  }
};

// A trial: the same weights at every n, as in the paper's figure ----------------------------------

/// st(X) and then st(A_1), ..., st(A_3) of each network at its initial weights, for n samples that
/// are independent of those of any other n.
std::vector<double> stable_ranks(const MlpInitConfig& config, const std::vector<Mlp<double>>& nets,
                                 std::uint64_t n, const Trial& trial) {
  const arma::mat X =
      draw_gaussian<double>(trial, ("X/n=" + std::to_string(n)).c_str(), config.d, n, 1.0);
  std::vector<double> out = {stable_rank(X)};
  MlpPass<double> pass;
  for (const Mlp<double>& net : nets) {
    trial.check_interrupt();
    net.forward(X, pass);
    for (const arma::mat& A : pass.A) {
      trial.check_interrupt();
      out.push_back(stable_rank(A));
    }
  }
  return out;
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  const MlpInitConfig& config = plan.config;
  std::vector<Mlp<double>> nets;
  for (const Net& net : plan.nets) {
    nets.push_back(Mlp<double>::draw(trial, config.d, config.width, hidden_layers,
                                     find_activation(net.activation), net.prefix));
  }
  std::vector<std::vector<double>> at_n(plan.n.size());
  // The largest n comes first, so that threads finish at about the same time.
  trial.for_each_part(at_n.size(), [&](std::size_t part) {
    const std::size_t i = at_n.size() - 1 - part;
    at_n[i] = stable_ranks(config, nets, plan.n[i], trial);
  });
  TrialRecord record;
  const auto store = [&](const std::string& name, std::size_t entry) {
    std::vector<double> values;
    for (const auto& ranks : at_n) values.push_back(ranks[entry]);
    record.set(name, std::move(values));
  };
  store(stable_rank_X, 0);
  for (std::size_t net = 0; net < nets.size(); ++net) {
    for (std::size_t l = 1; l <= hidden_layers; ++l)
      store(plan.nets[net].stable_rank(l), net * hidden_layers + l);
  }
  return record;
}

// From the records to the result ------------------------------------------------------------------

// "Grows" and "essentially constant" are judged by the exponent e of a power law n^e. A stable rank
// that grows by less than a tenth when n doubles (e = 0.14) counts as constant.
constexpr double constant_margin = 0.14;
constexpr std::size_t fewest_n = 3;  // values of n for a fit

/// The exponent of st(A_l) as a power of n, one for each trial; NaN if there are fewer than
/// fewest_n values of n.
std::vector<double> exponents(const Plan& plan, const Records& records, const std::string& ranks) {
  return per_trial(records, [&](const TrialRecord& record) {
    return plan.sizes.size() < fewest_n ? undefined
                                        : fit_power(plan.sizes, record.array(ranks)).slope;
  });
}

/// st(A_l) at the largest n over the width, its largest possible value there.
std::vector<double> shares_of_width(const Plan& plan, const Records& records,
                                    const std::string& ranks) {
  const double largest = std::min(static_cast<double>(plan.config.width), plan.sizes.back());
  return per_trial(records,
                   [&](const TrialRecord& record) { return record.array(ranks).back() / largest; });
}

std::string growth_text(const Plan& plan, const Records& records, const std::string& ranks) {
  const auto mean_at = [&](std::size_t i) {
    const Summary of_trials = summarize(
        per_trial(records, [&](const TrialRecord& record) { return record.array(ranks)[i]; }));
    return short_number(of_trials.mean) + " at n = " + short_number(plan.sizes[i]);
  };
  return "exponent of n; mean stable rank " + mean_at(0) + ", " + mean_at(plan.sizes.size() - 1);
}

void judge(const Plan& plan, const Records& records, const Net& net, std::size_t layer,
           Claims& claims) {
  const std::string l = std::to_string(layer), ranks = net.stable_rank(layer);
  const Place figure_17{"spectral/fig-17", "spectral/fig-17/" + net.activation + "/layer" + l,
                        "Figure 17",       Part::caption,
                        Kind::figure,      {"Figure 17"}};
  const bool gated = net.activation == "swiglu", squared = net.activation == "relu2";
  if (!gated && !squared) return;  // the paper makes no statement about others
  const std::string margin = short_number(constant_margin);
  const Statement observed =
      gated ? figure_17("/grows", "With SwiGLU, the stable rank of layer " + l +
                                      " at initialization grows with the batch size n: its "
                                      "exponent of n is at least " +
                                      margin)
            : figure_17("/constant", "With squared ReLU, the stable rank of layer " + l +
                                         " at initialization is essentially constant in the batch "
                                         "size n: its exponent of n is at most " +
                                         margin);
  const Statement growth = reading(observed, "an exponent of " + margin);
  if (claims.applies(growth,
                     plan.sizes.size() < fewest_n ? "needs at least three values of --n" : "")) {
    claims.mean(growth, exponents(plan, records, ranks),
                gated ? at_least(constant_margin) : at_most(constant_margin),
                growth_text(plan, records, ranks));
  }
  if (!gated) return;
  // The caption says that the ranks grow toward their ambient dimension. Half of it is ours.
  const double width = static_cast<double>(plan.config.width), largest_n = plan.sizes.back();
  const auto figure_size =
      claims.only_where(largest_n < 8 * width ? "the largest --n is below 8 times the width" : "");
  claims.mean(
      beyond(figure_17(
          "/ambient-dimension",
          "With SwiGLU, the stable rank of layer " + l +
              " at initialization is at least half of the width at the largest batch size")),
      shares_of_width(plan, records, ranks), at_least(0.5),
      "stable rank over the width " + std::to_string(plan.config.width) +
          " at n = " + short_number(largest_n));
}

std::string title_of(const std::string& activation) {
  return activation == "swiglu" ? "SwiGLU" : activation == "relu2" ? "Squared ReLU" : activation;
}

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("Stable ranks of post-activations at initialization over the batch size",
                    records);
  for (const Net& net : plan.nets) {
    for (std::size_t l = 1; l <= hidden_layers; ++l) {
      const std::string ranks = net.stable_rank(l);
      out.series(ranks, "n", plan.sizes);
      out.scalar(net.layer(l) + ".exponent", exponents(plan, records, ranks));
      out.scalar(net.layer(l) + ".share_of_width", shares_of_width(plan, records, ranks));
      judge(plan, records, net, l, out.claims());
    }
  }
  out.series(stable_rank_X, "n", plan.sizes);
  for (const Net& net : plan.nets) {
    PanelBuilder panel = out.panel(title_of(net.activation) + ": stable rank at initialization",
                                   log_axis("batch size n"), rank_axis("stable rank"));
    panel.group("activations");
    for (std::size_t l = 1; l <= hidden_layers; ++l) {
      panel.curve(net.stable_rank(l), "layer " + std::to_string(l),
                  {.style = LineStyle::line_points,
                   .color = static_cast<int>(l - 1),
                   .band = BandKind::interval});
    }
    panel.curve(stable_rank_X, "input X",
                {.style = LineStyle::dotted, .color = 3, .band = BandKind::interval});
  }
  return out.take();
}

class MlpInitStudy : public Study {
 public:
  std::vector<Field> fields() override {
    constexpr std::uint64_t largest = 100'000;
    MlpInitConfig& c = config_;
    return {
        choice_field("activation", c.activation, activation_names(), "sigma",
                     "activation of the three hidden layers; swiglu is gated"),
        or_empty(choice_list_field("also", c.also, activation_names(), "",
                                   "extra activations to draw for contrast")),
        size_field("d", c.d, 1, largest, "d", "input dimension"),
        size_field("width", c.width, 0, largest, "4d", "units of each hidden layer; 0: 4 d"),
        size_list_field("n", c.n, 1, 10'000'000, "n", "batch sizes: numbers of samples"),
    };
  }

  void resolve_defaults() override {
    if (config_.width == 0) config_.width = 4 * config_.d;
  }

  void validate() const override {
    if (std::find(config_.also.begin(), config_.also.end(), config_.activation) !=
        config_.also.end()) {
      throw UsageError("--also: '" + config_.activation +
                       "' is not allowed; allowed: activations other than that of --activation");
    }
  }

  Estimate estimate() const override {
    const Plan plan(config_);
    const double d = static_cast<double>(config_.d), h = static_cast<double>(config_.width);
    Estimate cost;
    for (const Net& net : plan.nets) {
      const double rows = net.is_gated() ? 2 * h : h, weights = rows * (d + 2 * h) + h;
      cost.bytes += 8 * weights;
    }
    cost.bytes += 8 * plan.sizes.back() * (d + 12 * h);
    return cost;
  }

  Work work() const override {
    return each_trial([plan = Plan(config_)](Trial& trial) { return run_trial(plan, trial); });
  }
  Result report(const Records& records) const override {
    return ranklab::report(Plan(config_), records);
  }

 private:
  MlpInitConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_mlp_init_study() {
  return std::make_unique<MlpInitStudy>();
}

}  // namespace ranklab
