// `random-features --study concentration`: from the second moment of a random vector to the stable
// rank of a sample. [Spectral] Lemma 2.1, Theorems 2.2 and 2.3, Lemma 2.5, Theorem 2.8, Lemmas 2.11
// and 2.12, Theorems B.1 and B.2. A file has one part of these: its law, its trial, its claims and
// its panel. Draws are independent, from streams that are named after them.
#include "experiments/random_features/concentration/concentration.hpp"

#include <algorithm>

#include "ensembles/random_features.hpp"
#include "experiments/random_features/random_features.hpp"

namespace ranklab::concentration {

// Flags -------------------------------------------------------------------------------------------

std::vector<Field> Config::flags() {
  return {
      size_field("draws", draws, 1, 10'000, "", "independent samples per trial and statement"),
      real_field("p0", p0, 1e-5, 0.05, "p0",
                 "probability of a large sample in Theorem 2.2; at most 0.05"),
      real_field("failure-probability", failure_probability, 0.01, 0.4, "c",
                 "constant of Theorem 2.2, which may fail with probability 2c"),
      size_field("bulk", bulk, 2, 10'000, "", "dimension of the small samples"),
      size_field("d", d, 2, 1'000, "d", "dimension of z in Theorem 2.3 and Appendix B"),
      size_list_field("n", n, 1, 10'000'000, "n", "sample sizes, ascending"),
      real_field("u", u, 1.0, 100.0, "u", "number u of Theorems 2.3, B.1 and B.2; at least 1"),
      real_field("epsilon", epsilon, 0.001, 0.9, "eps", "value of eps1 = eps2 in Lemma 2.5"),
      size_field("depth", depth, 1, 6, "l", "layers with quadratic activations"),
      size_field("width", width, 2, 10'000, "",
                 "rows of the quadratic layers, and columns of W in Lemma 2.12"),
      real_field("noise", noise, 0.0, 10.0, "s",
                 "standard deviation of the quadratic network's input around its mean"),
      size_field("vector", vector, 2, largest_size, "d", "dimension of x in Lemma 2.11"),
      size_field("k", k, 1, largest_size, "k", "rows of W in Lemma 2.12"),
      size_field("columns", columns, 1, largest_size, "n", "columns of A in Lemma 2.12"),
  };
}

void Config::check() const {
  if (n.size() < 2 || !std::ranges::is_sorted(n))
    throw UsageError("--n needs at least two sizes in ascending order");
}

Estimate Config::memory() const {
  // The parts follow each other, but with several threads the matrices of one part do not always
  // fit into what the part before has freed.
  return {.bytes =
              8.0 * (2.0 * real(bulk) * spike_sizes(*this).back() + 4.0 * real(d) * real(n.back()) +
                     (real(depth) + 3.0) * real(width) * real(layer_population) +
                     3.0 * real(k) * (real(width) + real(columns)))};
}

// What the parts share ----------------------------------------------------------------------------

arma::mat gaussian(const Trial& trial, const std::string& name, std::uint64_t rows,
                   std::uint64_t columns, double deviation) {
  return draw_gaussian<double>(trial, name.c_str(), rows, columns, deviation);
}

std::string numbered(const std::string& name, std::size_t i) {
  return say("{}/{}", name, i);
}

void BoundShares::add(std::size_t i, double left, double right) {
  share.add(i, left > right ? 1.0 : 0.0);
  quotient[i] = std::max(quotient[i], left / right);
}

std::vector<double> entry_of(const Records& records, const std::string& name, std::size_t i) {
  return per_trial(records, [&](const TrialRecord& record) { return record.array(name).at(i); });
}

double mean_of_entry(const Records& records, const std::string& name, std::size_t i) {
  return summarize(entry_of(records, name, i)).mean;
}

std::size_t worst_size(const Records& records, const std::string& name,
                       const std::vector<bool>& used) {
  std::size_t worst = used.size();
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    if (worst == used.size() ||
        mean_of_entry(records, name, i) > mean_of_entry(records, name, worst))
      worst = i;
  }
  return worst;
}

void judge_probability(const Config& c, const Statement& statement,
                       const std::vector<double>& shares, Region allowed, const std::string& detail,
                       Claims& claims, double candidates) {
  const double draws = static_cast<double>(c.draws),
               all = draws * static_cast<double>(shares.size());
  double failures = 0.0;
  for (const double share : shares) failures += std::round(std::clamp(share, 0.0, 1.0) * draws);
  claims.set_unit(Unit::draw);
  // A share of samples of one law cannot show a statement about all laws.
  claims.share(statement.kind == Kind::theorem ? asymptotic(statement, "samples of one law, ours")
                                               : statement,
               failures, all, allowed, detail, candidates);
  claims.set_unit(Unit::seed);
}

double needed_samples(double p0, double c) {
  return 8.0 * std::log(1.0 / c) / p0;
}

// From the parts to the result --------------------------------------------------------------------

Work Config::work() const {
  return each_trial([c = *this](Trial& trial) {
    TrialRecord record;
    measure_spike(c, trial, record);
    measure_laws(c, trial, record);
    measure_quadratic(c, trial, record);
    measure_gaussian_layer(c, trial, record);
    return record;
  });
}

void Config::derive(Numbers& out) const {
  derive_spike(*this, out);
  derive_laws(*this, out);
  derive_quadratic(*this, out);
  derive_gaussian_layer(out);
}

void Config::judge(const Records& records, Claims& claims) const {
  judge_spike(*this, records, claims);
  judge_laws(*this, records, claims);
  judge_quadratic(*this, records, claims);
  judge_gaussian_layer(*this, records, claims);
}

void Config::show(Display& out) const {
  show_spike(*this, out);
  show_laws(*this, out);
  show_quadratic(*this, out);
  show_gaussian_layer(out);
  out.note(
      "The bound (2.12) of Theorem 2.8 is above 177,147 at the first layer and above 1e16 at the "
      "third, so no matrix that fits in memory can exceed it. The run judges its proof and Theorem "
      "2.2 with the constants of the run's own inputs.");
}

}  // namespace ranklab::concentration

namespace ranklab {

std::unique_ptr<Study> make_concentration_study() {
  return std::make_unique<concentration::Config>();
}

}  // namespace ranklab
