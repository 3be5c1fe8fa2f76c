// One trial: independent draws for every statement, from streams that are named after them.
#include <algorithm>
#include <cmath>

#include "experiments/random_features/concentration/concentration.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "models/random_features.hpp"

namespace ranklab::concentration {
namespace {

arma::mat gaussian(const Trial& trial, const std::string& name, std::uint64_t rows,
                   std::uint64_t columns, double deviation = 1.0) {
  return draw_gaussian<double>(trial, name.c_str(), rows, columns, deviation);
}

std::string numbered(const std::string& name, std::size_t i) {
  return name + "/" + std::to_string(i);
}

// Means over the draws of a trial, for each of several sizes.
class Means {
 public:
  Means(std::size_t sizes, std::uint64_t draws)
      : sum_(sizes, 0.0), draws_(static_cast<double>(draws)) {}
  void add(std::size_t i, double value) { sum_[i] += value / draws_; }
  const std::vector<double>& values() const { return sum_; }

 private:
  std::vector<double> sum_;
  double draws_;
};

// Theorem 2.2 -------------------------------------------------------------------------------------

// One sample of n columns from the law: how many are large, and the spectrum of the others.
struct SpikeSample {
  double n, large;       // columns
  double trace = 0.0;    // of M_n
  double op_norm = 0.0;  // of M_n
  double square = 0.0;   // ||M_n||_F^2
};

SpikeSample draw_spike_sample(const SpikeLaw& law, std::uint64_t n, const Trial& trial,
                              const std::string& name) {
  std::vector<double> uniform(n);
  Stream stream = trial.stream(name + "/large");
  stream.fill_uniform(uniform);
  const auto large = static_cast<std::uint64_t>(
      std::ranges::count_if(uniform, [&](double v) { return v < law.p0; }));
  SpikeSample sample{static_cast<double>(n), static_cast<double>(large)};
  // M_n is block diagonal: u_* is orthogonal to the small columns.
  const double top = sample.large / law.p0 / sample.n;
  sample.trace = sample.op_norm = top;
  sample.square = top * top;
  if (large == n) return sample;
  const double deviation = std::sqrt(SpikeLaw::energy / static_cast<double>(law.bulk));
  const arma::mat B = gaussian(trial, name + "/small", law.bulk, n - large, deviation);
  const arma::mat gram =
      B.n_rows <= B.n_cols ? arma::mat(B * B.t() / sample.n) : arma::mat(B.t() * B / sample.n);
  sample.trace += arma::trace(gram);
  sample.square += arma::accu(arma::square(gram));
  sample.op_norm = std::max(sample.op_norm, symmetric_eigenvalues(gram).max());
  return sample;
}

void measure_spike(const Plan& plan, const Trial& trial, TrialRecord& record) {
  const double c = plan.config.failure_probability, bound = plan.spike.bound(c);
  const std::size_t sizes = plan.spike_n.size();
  const std::uint64_t draws = plan.config.draws;
  Means above(sizes, draws), above_moment(sizes, draws), trace(sizes, draws), few(sizes, draws),
      rank(sizes, draws);
  for (std::size_t i = 0; i < sizes; ++i) {
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
      trial.check_interrupt();
      const SpikeSample sample =
          draw_spike_sample(plan.spike, static_cast<std::uint64_t>(plan.spike_n[i]), trial,
                            numbered(numbered("spike", i), draw));
      const double st = sample.trace / sample.op_norm;
      rank.add(i, st);
      above.add(i, st > bound ? 1.0 : 0.0);
      above_moment.add(i, sample.square > bound * sample.op_norm * sample.op_norm ? 1.0 : 0.0);
      trace.add(i, sample.trace > plan.spike.effective_rank() / c ? 1.0 : 0.0);
      few.add(i, sample.large < 0.5 * plan.spike.p0 * sample.n ? 1.0 : 0.0);
    }
  }
  record.set(spike_above, above.values());
  record.set(spike_above_moment, above_moment.values());
  record.set(spike_trace, trace.values());
  record.set(spike_few, few.values());
  record.set(spike_rank, rank.values());
}

// Lemmas 2.1 and 2.5, Theorems 2.3, B.1 and B.2 ---------------------------------------------------

// One path: the first n columns, for ascending n.
class Path {
 public:
  Path(const Law& law, const arma::mat& Z)
      : law_(law),
        Z_(Z),
        sum_(Z.n_rows, Z.n_rows, arma::fill::zeros),
        total_(Z.n_rows, arma::fill::zeros) {}

  void extend_to(std::uint64_t n) {
    const arma::mat block = Z_.cols(used_, n - 1);
    sum_ += block * block.t();
    total_ += arma::sum(block, 1);
    used_ = n;
  }
  arma::mat moment() const { return sum_ / static_cast<double>(used_); }
  arma::vec mean() const { return total_ / static_cast<double>(used_); }

  // The relative differences between both sides of M_n - Sigma = ... as printed and of M_n - M =
  // ..., where Sigma_n has the centered samples.
  std::pair<double, double> split_errors() const {
    arma::mat centered = Z_.cols(0, used_ - 1);
    centered.each_col() -= law_.mean;
    const arma::mat Sigma = law_.M - law_.mean * law_.mean.t();
    const arma::mat Sigma_n = centered * centered.t() / static_cast<double>(used_);
    const arma::vec shift = mean() - law_.mean;
    const arma::mat right = shift * law_.mean.t() + law_.mean * shift.t() + Sigma_n - Sigma;
    const double scale = operator_norm(law_.M);
    return {operator_norm(moment() - Sigma - right) / scale,
            operator_norm(moment() - law_.M - right) / scale};
  }

 private:
  const Law& law_;
  const arma::mat& Z_;
  arma::uword used_ = 0;
  arma::mat sum_;
  arma::vec total_;
};

// The shares of draws in which one bound is exceeded, and the largest quotient, per size.
struct BoundShares {
  BoundShares(std::size_t sizes, std::uint64_t draws) : share(sizes, draws), quotient(sizes, 0.0) {}
  void add(std::size_t i, double left, double right) {
    share.add(i, left > right ? 1.0 : 0.0);
    quotient[i] = std::max(quotient[i], left / right);
  }
  void set(const std::string& law, const Bounded& bounded, TrialRecord& record) const {
    record.set(law + share_above(bounded), share.values());
    record.set(law + largest_quotient(bounded), quotient);
  }
  Means share;
  std::vector<double> quotient;
};

void measure_law(const Plan& plan, const Law& law, const Trial& trial, TrialRecord& record) {
  constexpr double identity_tolerance = 1e-10;
  const ConcentrationConfig& config = plan.config;
  const std::size_t sizes = config.n.size();
  const double er = law.effective_rank(), trace = arma::trace(law.M), op_norm = trace / er,
               K2 = law.K * law.K, u = config.u;
  const double noise = trace / arma::dot(law.mean, law.mean),
               noise_bound = (1.0 + config.epsilon) / std::pow(1.0 - config.epsilon, 2) * noise;
  Means error(sizes, config.draws), noise_share(sizes, config.draws);
  BoundShares rank(sizes, config.draws), of_trace(sizes, config.draws),
      of_moment(sizes, config.draws);
  for (std::uint64_t draw = 0; draw < config.draws; ++draw) {
    arma::mat Z = gaussian(trial, numbered("law/" + law.name, draw), config.d, config.n.back());
    law.from_gaussian(Z);
    Path path(law, Z);
    for (std::size_t i = 0; i < sizes; ++i) {
      trial.check_interrupt();
      path.extend_to(config.n[i]);
      const arma::mat M_n = path.moment();
      const double n = plan.n[i], trace_n = arma::trace(M_n),
                   rank_error_now = std::fabs(stable_rank_from_gram(M_n) - er) / er;
      const double deviation = std::sqrt((er + u) / n), root = std::sqrt(u / n);
      error.add(i, rank_error_now);
      rank.add(i, rank_error_now, K2 * K2 * deviation);
      of_trace.add(i, std::fabs(trace_n - trace), K2 * trace * (root + root * root));
      of_moment.add(i, operator_norm(M_n - law.M),
                    K2 * K2 * (deviation + deviation * deviation) * op_norm);
      const arma::vec mean = path.mean();
      noise_share.add(i, trace_n / arma::dot(mean, mean) > noise_bound ? 1.0 : 0.0);
    }
    const auto [printed, corrected] = path.split_errors();
    record.count(split_of_moment.as_printed.id, printed > identity_tolerance, printed);
    record.count(split_of_moment.corrected.id, corrected > identity_tolerance, corrected);
  }
  record.set(law.name + rank_error, error.values());
  record.set(law.name + noise_above, noise_share.values());
  rank.set(law.name, theorem_2_3, record);
  of_trace.set(law.name, theorem_B_1, record);
  of_moment.set(law.name, theorem_B_2, record);
}

// Theorem 2.8 -------------------------------------------------------------------------------------

// A_l = (W_l A_(l-1))^2 for inputs N(1, noise^2 I); each row of W has mean square norm 1.
class QuadraticNetwork {
 public:
  QuadraticNetwork(const ConcentrationConfig& config, const Trial& trial) : config_(config) {
    for (std::uint64_t layer = 1; layer <= config.depth; ++layer) {
      W_.push_back(gaussian(trial, numbered("quadratic/W", layer), config.width, config.width,
                            1.0 / std::sqrt(static_cast<double>(config.width))));
    }
  }
  /// A_1, ..., A_depth for n inputs from the stream `name`, each divided by a power of two so that
  /// it does not overflow: the scale of A_l changes neither the stable rank nor (2.2).
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
  const ConcentrationConfig& config_;
  std::vector<arma::mat> W_;
};

void measure_quadratic(const Plan& plan, const Trial& trial, TrialRecord& record) {
  const ConcentrationConfig& config = plan.config;
  const QuadraticNetwork network(config, trial);
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
  Means rank(config.depth, config.draws), above(config.depth, config.draws);
  for (std::uint64_t draw = 0; draw < config.draws; ++draw) {
    trial.check_interrupt();
    const auto A = network.layers(trial, numbered("quadratic/draw", draw), layer_samples);
    for (std::size_t l = 0; l < config.depth; ++l) {
      const double st = stable_rank(A[l]);
      rank.add(l, st);
      above.add(l, st > 2.0 / (p0[l] * layer_c0 * config.failure_probability) * er[l] ? 1.0 : 0.0);
    }
  }
  record.set(layer_p0, p0);
  record.set(layer_effective_rank, er);
  record.set(layer_rank, rank.values());
  record.set(layer_above, above.values());
}

// Lemmas 2.11 and 2.12 ----------------------------------------------------------------------------

void measure_perturbation(const Plan& plan, const Trial& trial, TrialRecord& record) {
  const double epsilon = plan.perturbation_epsilon;
  Means outside(perturbation_norms.size(), plan.config.draws);
  for (std::uint64_t draw = 0; draw < plan.config.draws; ++draw) {
    const arma::vec g = gaussian(trial, numbered("perturbation/g", draw), plan.config.vector, 1);
    for (std::size_t i = 0; i < perturbation_norms.size(); ++i) {
      // The law of g is invariant under rotation, so x may have equal entries.
      const arma::vec x(g.n_elem, arma::fill::value(std::sqrt(perturbation_norms[i])));
      const double apart = arma::dot(x, x) + arma::dot(g, g), sum = arma::dot(x + g, x + g);
      outside.add(i, std::fabs(sum - apart) > epsilon * apart ? 1.0 : 0.0);
    }
  }
  record.set(perturbation_outside, outside.values());
}

void measure_block(const Plan& plan, const Trial& trial, TrialRecord& record) {
  const ConcentrationConfig& config = plan.config;
  const double k = static_cast<double>(config.k), d = static_cast<double>(config.width);
  for (const std::string& name : plan.activations) {
    const Activation& activation = find_activation(name);
    const double p = small_ball_probability(activation, block_tau),
                 epsilon = block_epsilon(p, config.k, config.columns),
                 c_sigma = 0.5 * block_tau * block_tau * p;
    BoundShares below(1, config.draws);
    for (std::uint64_t draw = 0; draw < config.draws; ++draw) {
      trial.check_interrupt();
      // The columns have norm sqrt(d) and a common part.
      arma::mat A = gaussian(trial, numbered("block/A", draw), config.width, config.columns);
      A += 1.0;
      A = std::sqrt(d) * arma::normalise(A);
      arma::mat B =
          gaussian(trial, numbered("block/W", draw), config.k, config.width, 1.0 / std::sqrt(d)) *
          A;
      apply(activation, B);
      below.add(0, (1.0 - epsilon) * c_sigma * k / d * arma::accu(arma::square(A)),
                arma::accu(arma::square(B)));
    }
    record.set(block_below(name), below.share.values());
    record.set(block_quotient(name), below.quotient);
  }
}

}  // namespace

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  TrialRecord record;
  measure_spike(plan, trial, record);
  for (const Law& law : plan.laws) measure_law(plan, law, trial, record);
  measure_quadratic(plan, trial, record);
  measure_perturbation(plan, trial, record);
  measure_block(plan, trial, record);
  return record;
}

}  // namespace ranklab::concentration
