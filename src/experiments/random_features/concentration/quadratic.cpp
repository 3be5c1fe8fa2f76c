// [Spectral] Theorem 2.8, whose bound no matrix in memory can exceed: the statements of its proof
// for a network with one input, and (2.3) at every layer with the constants of the run's own
// inputs.
//
//   A_l = (W_l A_(l-1))^2, entry by entry, A_0 ~ N(1, noise^2)
//
// W_l (width, width): N(0, 1/width), so that each row has mean square norm 1; A_l (width, n).
#include <algorithm>

#include "experiments/random_features/concentration/concentration.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::concentration {

namespace {

// A trial -----------------------------------------------------------------------------------------

// Arrays over layers.
constexpr Measure
    layer_p0 = {"layer.p0", "p0",
                "p0 of (2.2) for c0 = 1/2 and the top eigenvector, lowered by 3 standard errors"},
    layer_effective_rank = {"layer.effective_rank", "er(M)",
                            "effective rank of the second moment of the layer's outputs"},
    layer_rank = {"layer.stable_rank", "st(A_l)", "stable rank of the layer, mean over draws"},
    layer_above = {"layer.share_above", "", "share of draws with st(A_l) above the bound (2.3)"},
    layer_bound = {"layer.bound", "", "bound (2.3) with p0 and er(M) of the trial"};
constexpr double layer_c0 = 0.5;
constexpr std::uint64_t layer_samples = 256;

// The right side of (2.3).
double bound_2_3(double p0, double c, double effective_rank) {
  return 2.0 / (p0 * layer_c0 * c) * effective_rank;
}

class QuadraticNetwork {
 public:
  QuadraticNetwork(const Config& config, const Trial& trial) : config_(config) {
    for (std::uint64_t layer = 1; layer <= config.depth; ++layer) {
      W_.push_back(gaussian(trial, numbered("quadratic/W", layer), config.width, config.width,
                            1.0 / std::sqrt(static_cast<double>(config.width))));
    }
  }
  // A_1, ..., A_depth for n inputs from the stream `name`, each divided by a power of two so that
  // it does not overflow: the scale of A_l changes neither the stable rank nor (2.2).
  std::vector<arma::mat> layers(const Trial& trial, const std::string& name,
                                std::uint64_t n) const {
    arma::mat A = 1.0 + gaussian(trial, name, config_.width, n, config_.noise);
    std::vector<arma::mat> out;
    for (const arma::mat& W : W_) {
      A = arma::square(W * A);
      int exponent = 0;
      std::frexp(A.max(), &exponent);
      A *= std::ldexp(1.0, -exponent);
      out.push_back(A);
    }
    return out;
  }

 private:
  const Config& config_;
  std::vector<arma::mat> W_;
};

// Claims ------------------------------------------------------------------------------------------

constexpr std::uint64_t deepest = 6;  // layers of the exact statements: degree 64
const double log_3 = std::log(3.0);

const Place proof_of_2_8{spectral::thm_2_8, "/", "Theorem 2.8, proof", Part::proof};
const std::string ratio_text = "E z_i^2/(E z_i)^2 = ";
const Misprint moment_ratio = proof_of_2_8.misprint(
    spectral::thm_2_8_moment_ratio, "moment-ratio",
    ratio_text + "E g^4/(E g)^2 <= 3^(2^l) for z_i = g^2 and g of degree 2^(l-1)",
    ratio_text + "E g^4/(E g^2)^2 <= 3^(2^l) for z_i = g^2 and g of degree 2^(l-1)");
const Statement hypercontractive = {spectral::thm_2_8, "spectral/eq-2.13",
                                    "Theorem 2.8, proof, eq. (2.13)",
                                    "E g^4 <= 3^(2p) (E g^2)^2 for g of degree p", Part::proof},
                small_ball = proof_of_2_8("small-ball",
                                          "<z, u_*>^2 >= ||M||/3 with probability at least (4/9) "
                                          "3^(-2^(l+1)) after l quadratic layers");
const Statement every_n = beyond(Statement{
    spectral::thm_2_8, "spectral/thm-2.8/every-n", "Theorem 2.8, eq. (2.12)",
    "Theorem 2.8 needs no hypothesis on n: with fewer samples than its proof needs, st(A_l) <= n "
    "is below the bound (2.12)"});

// Means of the input; its standard deviation is 1.
constexpr double input_means[] = {0.0, 0.5, 1.0, 2.0, 4.0};

// g(x) = x^p for p = 1, 2, 4, ...: what a quadratic network with one input computes.
void judge_moments(Claims& claims) {
  Tally fourth, printed, corrected, ball;
  for (std::uint64_t l = 0; l <= deepest; ++l) {
    const std::uint64_t p = std::uint64_t{1} << l;
    const double degree = static_cast<double>(p);
    for (const double mean : input_means) {
      const double log_fourth = log_even_moment(4 * p, mean),
                   log_second = log_even_moment(2 * p, mean);
      const double excess = log_fourth - 2.0 * log_second - 2.0 * degree * log_3;
      fourth.count(excess > 1e-12, std::exp(excess));
      // z_i = g^2 is the output of layer l + 1. E g is an even moment of x for p >= 2, and its mean
      // for p = 1.
      corrected.count(excess > 1e-12, std::exp(excess));
      const double log_mean = p == 1 ? std::log(mean) : log_even_moment(p, mean);
      const double log_printed = log_fourth - 2.0 * log_mean - 2.0 * degree * log_3;
      printed.count(log_printed > 1e-12);
    }
    // <z, u_*> = x^p of layer l >= 1 with mean 0: |x| >= (E x^(2p)/3)^(1/(2p)).
    if (l == 0) continue;
    const double threshold = std::exp((log_even_moment(2 * p) - log_3) / (2.0 * degree));
    const double allowed = std::log(4.0 / 9.0) - 2.0 * degree * log_3;
    const double quotient = std::exp(allowed) / std::erfc(threshold / std::sqrt(2.0));
    ball.count(quotient > 1.0, quotient);
  }
  const std::string law = "g = x^p, p = 1 to 64, x Gaussian with means 0 to 4 and variance 1; ";
  const auto largest = [](const Tally& tally) {
    return say("largest quotient of both sides {}", tally.largest);
  };
  claims.never_violated(hypercontractive, fourth, law + largest(fourth), WorstCase::largest);
  claims.never_violated(moment_ratio.as_printed, printed,
                        law + "the printed denominator is not homogeneous in g");
  claims.never_violated(moment_ratio.corrected, corrected, law + largest(corrected),
                        WorstCase::largest);
  claims.never_violated(small_ball, ball,
                        "z = x^(2^l), l = 1 to 6, x standard Gaussian; " + largest(ball),
                        WorstCase::largest);
}

// The proof of Theorem 2.8 takes c_0 = 1/3, so Theorem 2.2 needs n >= 18 * 3^(2^(l+1)) log(1/c).
void judge_every_n(Claims& claims) {
  Tally tally;
  for (std::uint64_t l = 1; l <= deepest; ++l) {
    const double power = std::exp2(static_cast<double>(l));
    for (const double c : {1e-9, 1e-6, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.499}) {
      const double log_bound = std::log(27.0 / (2.0 * c)) + 4.0 * power * log_3;
      const double log_needed = std::log(18.0 * std::log(1.0 / c)) + 2.0 * power * log_3;
      tally.count(log_needed > log_bound, std::exp(log_needed - log_bound));
    }
  }
  claims.never_violated(every_n, tally,
                        say("layers 1 to 6 and c from 1e-9 to 0.499; largest quotient of the n "
                            "that the proof needs and the bound {}",
                            tally.largest),
                        WorstCase::largest);
}

// The largest st(A_l) in a sample.
double largest_rank(const Config& c) {
  return static_cast<double>(std::min(c.width, layer_samples));
}

// (2.3) at one layer, with the p0, c_0 and er(M) of the run's own inputs.
void judge_layer(const Config& config, std::size_t l, const Records& records, Claims& claims) {
  const Statement statement = asymptotic(
      Statement{spectral::thm_2_8, say("spectral/thm-2.2/quadratic/layer-{}", l + 1),
                "Theorem 2.2, as in the proof of Theorem 2.8",
                say("Share of draws in which st(A_l) exceeds 2/(p0 c0 c) er(M), quadratic "
                    "activations, layer {}: at most 2c, with p0, c0 and er(M) of the inputs' law",
                    l + 1),
                Part::proof},
      "one law of inputs, ours");
  const double c = config.failure_probability, n = static_cast<double>(layer_samples),
               p0 = std::ranges::min(entry_of(records, layer_p0, l));
  const std::string too_few =
      p0 > 0.0 && n >= needed_samples(p0, c)
          ? ""
          : say("at n = {} the theorem needs p0 >= {}; here p0 is at least {}", layer_samples,
                8.0 * std::log(1.0 / c) / n, p0);
  if (!claims.applies(statement, too_few)) return;
  const double bound =
      bound_2_3(p0, c, std::ranges::max(entry_of(records, layer_effective_rank, l)));
  judge_probability(
      config, statement, entry_of(records, layer_above, l), at_most(2.0 * c),
      say("samples of n = {} above the bound; p0 at least {}, bound at most {}, {} the largest "
          "possible rank {}; mean st(A_l) {}; p0 and er(M) from {} other inputs",
          layer_samples, p0, bound, bound < largest_rank(config) ? "below" : "not below",
          count_text(largest_rank(config)), mean_of_entry(records, layer_rank, l),
          layer_population),
      claims);
}

}  // namespace

// The trial, and the result -----------------------------------------------------------------------

void measure_quadratic(const Config& c, const Trial& trial, TrialRecord& record) {
  const QuadraticNetwork network(c, trial);
  std::vector<double> p0, er;
  const double samples = static_cast<double>(layer_population);
  for (const arma::mat& A : network.layers(trial, "quadratic/population", layer_population)) {
    const SymmetricEigen M = symmetric_eigen(A * A.t() / samples);
    const double op_norm = M.w.max();
    const arma::rowvec along = M.Q.tail_cols(1).t() * A;
    const double share =
        static_cast<double>(arma::accu(arma::square(along) >= layer_c0 * op_norm)) / samples;
    p0.push_back(share - 3.0 * std::sqrt(share * (1.0 - share) / samples));
    er.push_back(arma::accu(M.w) / op_norm);
  }
  Means rank(c.depth, c.draws), above(c.depth, c.draws);
  for (std::uint64_t draw = 0; draw < c.draws; ++draw) {
    trial.check_interrupt();
    const auto A = network.layers(trial, numbered("quadratic/draw", draw), layer_samples);
    for (std::size_t l = 0; l < c.depth; ++l) {
      const double st = stable_rank(A[l]);
      rank.add(l, st);
      above.add(l, st > bound_2_3(p0[l], c.failure_probability, er[l]) ? 1.0 : 0.0);
    }
  }
  record.set(layer_p0, p0);
  record.set(layer_effective_rank, er);
  record.set(layer_rank, rank.values());
  record.set(layer_above, above.values());
}

void derive_quadratic(const Config& c, Numbers& out) {
  std::vector<double> layers;
  for (std::uint64_t l = 1; l <= c.depth; ++l) layers.push_back(static_cast<double>(l));
  for (const Measure& each : {layer_p0, layer_effective_rank, layer_rank, layer_above})
    out.series(each, "layer", layers);
  // From the constants of each trial.
  out.series(layer_bound, "layer", layers, [&](const TrialRecord& record, std::size_t l) {
    return bound_2_3(record.array(layer_p0).at(l), c.failure_probability,
                     record.array(layer_effective_rank).at(l));
  });
}

void judge_quadratic(const Config& c, const Records& records, Claims& claims) {
  judge_moments(claims);
  judge_every_n(claims);
  for (std::size_t l = 0; l < c.depth; ++l) judge_layer(c, l, records, claims);
}

void show_quadratic(const Config& c, Display& out) {
  out.panel("Quadratic layers, inputs N(1, s^2 I)", {"layer"}, rank_axis("stable rank"))
      .curve(layer_rank, "st(A_l), measured",
             {.style = LineStyle::line_points, .band = BandKind::interval})
      .curve(layer_bound, "bound (2.3) with the law's own constants",
             {.style = LineStyle::line_points, .band = BandKind::interval})
      .line(largest_rank(c), "largest possible rank");
}

}  // namespace ranklab::concentration
