// `one-step-compare --study mlp-init`: stable ranks of the post-activations of the network of the
// study mlp at initialization, over the number of samples ([Spectral] Figure 17).
//
//   A_0 = X,  A_l = sigma(W_l A_(l-1)) for l = 1, 2, 3,  st(A_l) = ||A_l||_F^2 / ||A_l||_op^2
//   if gated: A_l = SiLU(W_l A_(l-1)) o (V_l A_(l-1))
//
// X (d, n): N(0, 1), samples in columns; A_l (h, n); W_l and V_l (h, rows of A_(l-1)): uniform on
// +-1/sqrt(their columns). A trial has the same weights at every n, as in the paper's figure, and
// draws an X for each n.
#include <algorithm>

#include "core/fits.hpp"
#include "ensembles/random_features.hpp"
#include "experiments/kit.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "linalg/spectra.hpp"
#include "nn/mlp.hpp"

namespace ranklab::mlp_init {
namespace {

constexpr std::size_t hidden_layers = 3;

// The network with one of the activations of a run.
struct Net {
  std::string activation;
  bool is_first;

  /// "layer1.stable_rank" of the first network, "relu2.layer1.stable_rank" of others.
  Quantity at(std::size_t layer, const Measure& measure) const {
    const At network("activation", activation, is_first ? "" : activation);
    return network / At("layer", layer, say("layer{}", layer)) / measure;
  }
};

// Flags -------------------------------------------------------------------------------------------

struct Config : Study {
  std::string activation = "swiglu";
  std::vector<std::string> also = {"relu2"};
  std::uint64_t d = 128, width = 0;  // width: h; 0: 4 d
  std::vector<std::uint64_t> n = {128, 256, 512, 1024, 2048, 4096, 8192};

  std::vector<Field> flags() override;
  void fill_defaults() override {
    if (width == 0) width = 4 * d;
  }
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override {
    return "Stable ranks of post-activations at initialization over the batch size";
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  std::vector<Net> nets() const;
  std::vector<double> sizes() const { return {n.begin(), n.end()}; }
};

std::vector<Field> Config::flags() {
  return {
      choice_field("activation", activation, activation_names(), "sigma",
                   "activation of the three hidden layers; swiglu is gated"),
      or_empty(choice_list_field("also", also, activation_names(), "",
                                 "extra activations to draw for contrast")),
      size_field("d", d, 1, largest_size, "d", "input dimension"),
      size_field("width", width, 0, largest_size, "4d", "units of each hidden layer; 0: 4 d"),
      size_list_field("n", n, 1, 10'000'000, "n", "batch sizes: numbers of samples"),
  };
}

void Config::check() const {
  if (std::find(also.begin(), also.end(), activation) != also.end()) {
    throw UsageError(
        say("--also: '{}' is not allowed; allowed: activations other than that of --activation",
            activation));
  }
}

Estimate Config::memory() const {
  const double inputs = static_cast<double>(d), h = static_cast<double>(width),
               largest_n = static_cast<double>(*std::max_element(n.begin(), n.end()));
  Estimate cost;
  for (const Net& net : nets()) {
    const double rows = find_activation(net.activation).gated ? 2 * h : h;
    cost.bytes += 8 * (rows * (inputs + 2 * h) + h);
  }
  cost.bytes += 8 * largest_n * (inputs + 12 * h);
  return cost;
}

std::vector<Net> Config::nets() const {
  std::vector<Net> out = {{activation, true}};
  for (const std::string& name : also) out.push_back({name, false});
  return out;
}

Config in_order(Config config) {
  std::sort(config.n.begin(), config.n.end());
  return config;
}

// A trial: arrays over n --------------------------------------------------------------------------

constexpr Measure stable_rank_X = {"X.stable_rank", "st(X)", "stable rank of the input"},
                  stable_rank_A = {"stable_rank", "st(A_l)", "stable rank of the layer's outputs"};
// Of the result.
constexpr Measure exponent = {"exponent", "", "exponent of the batch size n in st(A_l)"},
                  share_of_width = {"share_of_width", "st(A_l) / min(h, n)",
                                    "stable rank at the largest n over its largest possible value"};

// st(X) and then st(A_1), ..., st(A_3) of each network at its initial weights.
std::vector<double> stable_ranks(std::uint64_t d, const std::vector<Mlp<double>>& nets,
                                 std::uint64_t n, const Trial& trial) {
  const arma::mat X = draw_gaussian<double>(trial, say("X/n={}", n).c_str(), d, n, 1.0);
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

TrialRecord draw_and_measure(const Config& c, const Trial& trial) {
  const std::vector<Net> nets = c.nets();
  std::vector<Mlp<double>> drawn;
  for (const Net& net : nets) {
    drawn.push_back(Mlp<double>::draw(trial, c.d, c.width, hidden_layers,
                                      find_activation(net.activation),
                                      net.is_first ? "" : net.activation + "."));
  }
  std::vector<std::vector<double>> at_n(c.n.size());
  // The largest n comes first, so that threads finish at about the same time.
  trial.for_each_piece(at_n.size(), [&](std::size_t part) {
    const std::size_t i = at_n.size() - 1 - part;
    at_n[i] = stable_ranks(c.d, drawn, c.n[i], trial);
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
      store(nets[net].at(l, stable_rank_A), net * hidden_layers + l);
  }
  return record;
}

// Claims ------------------------------------------------------------------------------------------

// "Grows" and "essentially constant" are judged by the exponent e of a power law n^e. A stable rank
// that grows by less than a tenth when n doubles (e = 0.14) counts as constant.
constexpr double constant_margin = 0.14;
constexpr std::size_t fewest_n = 3;  // values of n for a fit

// What the claims and scalars need of st(A_l).
struct Growth {
  const Config& c;
  const Records& records;
  Quantity ranks;

  // The exponent of n, one for each trial; NaN if there are fewer than fewest_n values of n.
  std::vector<double> exponents() const {
    return slopes_over(
        records, c.sizes(),
        [&](const TrialRecord& record, std::size_t i) { return record.array(ranks)[i]; }, fit_power,
        fewest_n);
  }
  // st(A_l) at the largest n over the width, its largest possible value there.
  std::vector<double> shares_of_width() const {
    const double largest = static_cast<double>(std::min(c.width, c.n.back()));
    return per_trial(
        records, [&](const TrialRecord& record) { return record.array(ranks).back() / largest; });
  }
  double mean_at(std::size_t i) const {
    return summarize(per_trial(records,
                               [&](const TrialRecord& record) { return record.array(ranks)[i]; }))
        .mean;
  }
};

void judge_growth(const Growth& ranks, const std::string& activation, std::size_t layer,
                  Claims& claims) {
  const bool gated = activation == "swiglu", squared = activation == "relu2";
  if (!gated && !squared) return;  // the paper makes no statement about others
  const Config& c = ranks.c;
  const Place figure_17{spectral::fig_17, say("spectral/fig-17/{}/layer{}", activation, layer),
                        "Figure 17", Part::caption, Kind::figure};
  const Statement observed =
      gated ? figure_17("/grows",
                        say("With SwiGLU, the stable rank of layer {} at initialization grows with "
                            "the batch size n: its exponent of n is at least {}",
                            layer, constant_margin))
            : figure_17("/constant",
                        say("With squared ReLU, the stable rank of layer {} at initialization is "
                            "essentially constant in the batch size n: its exponent of n is at "
                            "most {}",
                            layer, constant_margin));
  const Statement growth = reading(observed, say("an exponent of {}", constant_margin));
  const double smallest_n = c.sizes().front(), largest_n = c.sizes().back();
  if (claims.applies(growth, c.n.size() < fewest_n ? "needs at least three values of --n" : "")) {
    claims.mean(growth, ranks.exponents(),
                gated ? at_least(constant_margin) : at_most(constant_margin),
                say("exponent of n; mean stable rank {} at n = {}, {} at n = {}", ranks.mean_at(0),
                    smallest_n, ranks.mean_at(c.n.size() - 1), largest_n));
  }
  if (!gated) return;
  // The caption says that the ranks grow toward their ambient dimension. Half of it is ours.
  const auto figure_size = claims.only_where(
      c.n.back() < 8 * c.width ? "the largest --n is below 8 times the width" : "");
  claims.mean(beyond(figure_17("/ambient-dimension",
                               say("With SwiGLU, the stable rank of layer {} at initialization is "
                                   "at least half of the width at the largest batch size",
                                   layer))),
              ranks.shares_of_width(), at_least(0.5),
              say("stable rank over the width {} at n = {}", c.width, largest_n));
}

// The result --------------------------------------------------------------------------------------

std::string title_of(const std::string& activation) {
  return activation == "swiglu" ? "SwiGLU" : activation == "relu2" ? "Squared ReLU" : activation;
}

void add_panel(const Net& net, Display& out) {
  PanelBuilder panel = out.panel(title_of(net.activation) + ": stable rank at initialization",
                                 log_axis("batch size n"), rank_axis("stable rank"));
  panel.group("activations");
  for (std::size_t l = 1; l <= hidden_layers; ++l) {
    panel.curve(net.at(l, stable_rank_A), say("layer {}", l),
                {.style = LineStyle::line_points,
                 .color = static_cast<int>(l - 1),
                 .band = BandKind::interval});
  }
  panel.curve(stable_rank_X, "input X",
              {.style = LineStyle::dotted, .color = 3, .band = BandKind::interval});
}

void Config::derive(Numbers& out) const {
  const Config c = in_order(*this);
  for (const Net& net : nets()) {
    for (std::size_t l = 1; l <= hidden_layers; ++l) {
      const Growth growth{c, out.records(), net.at(l, stable_rank_A)};
      out.series(growth.ranks, "n", c.sizes());
      out.scalar(net.at(l, exponent), growth.exponents());
      out.scalar(net.at(l, share_of_width), growth.shares_of_width());
    }
  }
  out.series(stable_rank_X, "n", c.sizes());
}

void Config::judge(const Records& records, Claims& claims) const {
  const Config c = in_order(*this);
  for (const Net& net : nets()) {
    for (std::size_t l = 1; l <= hidden_layers; ++l)
      judge_growth({c, records, net.at(l, stable_rank_A)}, net.activation, l, claims);
  }
}

void Config::show(Display& out) const {
  for (const Net& net : nets()) add_panel(net, out);
}

Work Config::work() const {
  return each_trial([c = in_order(*this)](Trial& trial) { return draw_and_measure(c, trial); });
}

}  // namespace
}  // namespace ranklab::mlp_init

namespace ranklab {

std::unique_ptr<Study> make_mlp_init_study() {
  return std::make_unique<mlp_init::Config>();
}

}  // namespace ranklab
