// [Spectral] Theorem 2.2, which holds with constant probability, for the law
//
//   z = e_1 / sqrt(p0) with probability p0, otherwise sqrt(energy/bulk) (0, g),   g ~ N(0, I_bulk)
//
// Then ||M||_op = 1, u_* = e_1 and c_0 = 1/p0 satisfy (2.2), and p0 c_0 = 1 is the largest value
// that any law allows.
//
//   st(Z_n) <= 2 / (p0 c_0 c) er(M)                                                       eq. (2.3)
#include <algorithm>

#include "experiments/random_features/concentration/concentration.hpp"
#include "linalg/decompositions.hpp"

namespace ranklab::concentration {
namespace {

constexpr double energy = 0.1;

double effective_rank_of_law(double p0) {
  return 1.0 + (1.0 - p0) * energy;
}

// The right side of (2.3).
double bound_of(const Config& c) {
  return 2.0 / c.failure_probability * effective_rank_of_law(c.p0);
}

// n as Theorem 2.2 prints it.
double printed_samples(double p0, double c) {
  return std::log(1.0 / (2.0 * c)) / (8.0 * p0);
}

// A trial -----------------------------------------------------------------------------------------

// Positions in spike_sizes: n as printed, and half of log(1/(2c))/p0. The last n is the corrected
// one.
constexpr std::size_t at_printed = 0, at_half = 2;

// Arrays over spike_sizes.
constexpr Measure
    share_above = {"spike.share_above", "", "share of draws with st(Z_n) above the bound (2.3)"},
    share_above_moment = {"spike.share_above_moment", "",
                          "share of draws with st(M_n) above the bound, which the theorem prints"},
    share_trace = {"spike.share_trace", "", "share of draws with tr(M_n) above tr(M)/c"},
    share_few = {"spike.share_few", "", "share of draws with fewer than p0 n/2 large samples"},
    mean_rank = {"spike.stable_rank", "st(Z_n)", "stable rank of the sample, mean over draws"};
// Of the result.
constexpr Measure
    above_printed = {"spike.share_above_printed", "",
                     "share of draws with st(Z_n) above the bound, at n as the theorem prints it"},
    above_needed = {"spike.share_above_needed", "",
                    "share of draws with st(Z_n) above the bound, at n as its proof needs it"},
    no_large_sample = {"spike.no_large_sample", "(1 - p0)^n",
                       "probability that no sample is large"};

// One sample of n columns from the law: how many are large, and the spectrum of the others.
struct SpikeSample {
  double n, large;       // columns
  double trace = 0.0;    // of M_n
  double op_norm = 0.0;  // of M_n
  double square = 0.0;   // ||M_n||_F^2
};

SpikeSample draw_sample(const Config& c, std::uint64_t n, const Trial& trial,
                        const std::string& name) {
  std::vector<double> uniform(n);
  Stream stream = trial.stream(name + "/large");
  stream.fill_uniform(uniform);
  const auto large = static_cast<std::uint64_t>(
      std::ranges::count_if(uniform, [&](double v) { return v < c.p0; }));
  SpikeSample sample{static_cast<double>(n), static_cast<double>(large)};
  // M_n is block diagonal: u_* is orthogonal to the small columns.
  const double top = sample.large / c.p0 / sample.n;
  sample.trace = sample.op_norm = top;
  sample.square = top * top;
  if (large == n) return sample;
  const double deviation = std::sqrt(energy / static_cast<double>(c.bulk));
  const arma::mat B = gaussian(trial, name + "/small", c.bulk, n - large, deviation);
  const arma::mat gram =
      B.n_rows <= B.n_cols ? arma::mat(B * B.t() / sample.n) : arma::mat(B.t() * B / sample.n);
  sample.trace += arma::trace(gram);
  sample.square += arma::accu(arma::square(gram));
  sample.op_norm = std::max(sample.op_norm, symmetric_eigenvalues(gram).max());
  return sample;
}

// Claims ------------------------------------------------------------------------------------------

const std::string holds_if =
    "Share of samples in which st(Z_n) > 2/(p0 c0 c) er(M): at most 2c, if n >= ";
const Misprint theorem_2_2 =
    Place{spectral::thm_2_2, "spectral/", "Theorem 2.2, eq. (2.3)"}.misprint(
        spectral::thm_2_2_sample_size, "thm-2.2", holds_if + "log(1/(2c))/(8 p0)",
        holds_if + "8 log(1/c)/p0");
const Place proof_of_2_2{spectral::thm_2_2, "/", "Theorem 2.2, proof", Part::proof};
const Misprint union_bound = proof_of_2_2.misprint(
    spectral::thm_2_2_sample_size, "union-bound",
    "c + exp(-p0 n/8) <= 2c at n = log(1/(2c))/(8 p0), so that the proof's two events fail with "
    "probability at most 2c",
    "c + exp(-p0 n/8) <= 2c at n = 8 log(1/c)/p0");
const Statement trace_markov =
                    proof_of_2_2("trace", "tr(M_n) > tr(M)/c with probability at most c"),
                chernoff = proof_of_2_2("chernoff",
                                        "Fewer than p0 n/2 of n samples are large with "
                                        "probability at most exp(-p0 n/8)");
const Statement necessary =
    beyond(Statement{spectral::thm_2_2, "spectral/thm-2.2/necessary", "Theorem 2.2",
                     "n must be of order log(1/(2c))/p0, eight times the printed n: at half of "
                     "this (2.3) fails with probability above 2c"});

// The Chernoff step, for probabilities and sizes around those of the theorem.
Tally count_chernoff() {
  Tally tally;
  for (const double p : {0.001, 0.01, 0.1, 0.3, 0.6, 0.9}) {
    for (const double expected : {0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0, 80.0}) {
      const auto n = static_cast<std::uint64_t>(std::ceil(expected / p));
      const double threshold = 0.5 * p * static_cast<double>(n);
      // Fewer than the threshold: at most the largest integer below it.
      const double excess = log_binomial_lower_tail(n, p, std::ceil(threshold) - 1.0) +
                            p * static_cast<double>(n) / 8.0;
      tally.count(excess > 0.0, std::exp(excess));
    }
  }
  return tally;
}

}  // namespace

void judge_spike(const Config& config, const Records& records, Claims& claims) {
  const double c = config.failure_probability, p0 = config.p0;
  const std::vector<double> sizes = spike_sizes(config);
  const auto judge_share = [&](const Statement& statement, std::size_t at) {
    judge_probability(config, statement, entry_of(records, share_above, at), at_most(2.0 * c),
                      say("st(Z_n) above the bound {} at n = {}; no sample is large with "
                          "probability {}; st(M_n), which the theorem prints, is above the bound "
                          "in a share of {}",
                          bound_of(config), count_text(sizes[at]), std::pow(1.0 - p0, sizes[at]),
                          mean_of_entry(records, share_above_moment, at)),
                      claims);
  };
  judge_share(theorem_2_2.as_printed, at_printed);
  judge_share(theorem_2_2.corrected, sizes.size() - 1);
  judge_probability(config, necessary, entry_of(records, share_above, at_half), at_least(2.0 * c),
                    say("st(Z_n) above the bound at n = {}", count_text(sizes[at_half])), claims);
  const auto failure = [&](double n) { return (c + std::exp(-p0 * n / 8.0)) / (2.0 * c); };
  const std::string quotient = say("(c + exp(-p0 n/8))/(2c), at c = {}", c);
  claims.number(union_bound.as_printed, failure(printed_samples(p0, c)), at_most(1.0), quotient);
  claims.number(union_bound.corrected, failure(needed_samples(p0, c)), at_most(1.0), quotient,
                1e-12);
  const std::size_t worst = worst_size(records, share_trace, std::vector<bool>(sizes.size(), true));
  judge_probability(
      config, trace_markov, entry_of(records, share_trace, worst), at_most(c),
      say("tr(M_n) > tr(M)/c at n = {}, where it is largest", count_text(sizes[worst])), claims,
      static_cast<double>(sizes.size()));
  const Tally steps = count_chernoff();
  claims.never_violated(chernoff, steps,
                        say("binomial probabilities by summation, p0 from 0.001 to 0.9 and p0 n "
                            "from 0.5 to 80; largest quotient of both sides {}",
                            steps.largest),
                        WorstCase::largest);
}

// The trial, and the result -----------------------------------------------------------------------

std::vector<double> spike_sizes(const Config& config) {
  const double c = config.failure_probability, scale = std::log(1.0 / (2.0 * c)) / config.p0;
  std::vector<double> n = {std::ceil(printed_samples(config.p0, c))};
  for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) n.push_back(std::ceil(factor * scale));
  n.push_back(std::ceil(needed_samples(config.p0, c)));
  return n;
}

void measure_spike(const Config& c, const Trial& trial, TrialRecord& record) {
  const double bound = bound_of(c), er = effective_rank_of_law(c.p0);
  const std::vector<double> sizes = spike_sizes(c);
  Means above(sizes.size(), c.draws), above_moment = above, trace = above, few = above,
                                      rank = above;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::uint64_t draw = 0; draw < c.draws; ++draw) {
      trial.check_interrupt();
      const SpikeSample sample = draw_sample(c, static_cast<std::uint64_t>(sizes[i]), trial,
                                             numbered(numbered("spike", i), draw));
      const double st = sample.trace / sample.op_norm;
      rank.add(i, st);
      above.add(i, st > bound ? 1.0 : 0.0);
      above_moment.add(i, sample.square > bound * sample.op_norm * sample.op_norm ? 1.0 : 0.0);
      trace.add(i, sample.trace > er / c.failure_probability ? 1.0 : 0.0);
      few.add(i, sample.large < 0.5 * c.p0 * sample.n ? 1.0 : 0.0);
    }
  }
  record.set(share_above, above.values());
  record.set(share_above_moment, above_moment.values());
  record.set(share_trace, trace.values());
  record.set(share_few, few.values());
  record.set(mean_rank, rank.values());
}

void derive_spike(const Config& c, Numbers& out) {
  const std::vector<double> sizes = spike_sizes(c);
  out.scalar(above_printed, entry_of(out.records(), share_above, at_printed));
  out.scalar(above_needed, entry_of(out.records(), share_above, sizes.size() - 1));
  for (const Measure& each : {share_above, share_above_moment, share_trace, share_few, mean_rank})
    out.series(each, "n", sizes);
  std::vector<double> none;
  for (const double n : sizes) none.push_back(std::pow(1.0 - c.p0, n));
  out.series_of_points(no_large_sample, "n", sizes, none);
}

void show_spike(const Config& c, Display& out) {
  const std::vector<double> sizes = spike_sizes(c);
  out.panel("Theorem 2.2: samples above the bound", log_axis("samples n"),
            unit_axis("share of samples"))
      .curve(share_above, "st(Z_n) above the bound (2.3)",
             {.style = LineStyle::line_points, .band = BandKind::interval})
      .curve(no_large_sample, "no large sample, (1 - p0)^n", {LineStyle::dotted})
      .line(2.0 * c.failure_probability, "allowed, 2c")
      .band(sizes[at_printed], sizes[at_printed] * 1.15, "n as printed", 2)
      .band(sizes.back() / 1.15, sizes.back(), "n as the proof needs it", 3);
}

}  // namespace ranklab::concentration
