#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/spike_plus_bulk/features/measure.hpp"

namespace ranklab::features {
namespace {

using std::numbers::pi;

PairSums empty_sums(arma::uword rows, arma::uword columns) {
  return {0.0, arma::vec(rows, arma::fill::zeros), arma::vec(columns, arma::fill::zeros),
          arma::mat(rows, columns, arma::fill::zeros)};
}

arma::vec row_sums(const arma::mat& A) {
  arma::vec sums(A.n_rows, arma::fill::zeros);
  for (arma::uword j = 0; j < A.n_cols; ++j) {
    for (arma::uword i = 0; i < A.n_rows; ++i) sums(i) += A(i, j);
  }
  return sums;
}

// 2 pi Cov(sigma(g), sigma(t g + sqrt(1 - t^2) h)) and its standard error, from the same g and h at
// every t.
void measure_phi(const Plan& plan, const Trial& trial, TrialRecord& record) {
  const Activation& activation = find_activation(plan.config.activation);
  arma::vec g(plan.config.phi_samples), h(plan.config.phi_samples);
  trial.stream("phi.g").fill_normal({g.memptr(), g.n_elem});
  trial.stream("phi.h").fill_normal({h.memptr(), h.n_elem});
  arma::vec a = g;
  apply(activation, a);
  a -= arma::mean(a);
  const double n = static_cast<double>(plan.config.phi_samples);
  std::vector<double> estimates, errors;
  for (const double t : plan.phi_at) {
    trial.check_interrupt();
    arma::vec b = t * g + std::sqrt((1.0 - t) * (1.0 + t)) * h;
    apply(activation, b);
    const arma::vec product = a % (b - arma::mean(b));
    estimates.push_back(2.0 * pi * arma::accu(product) / (n - 1.0));
    errors.push_back(2.0 * pi * arma::stddev(product) / std::sqrt(n));
  }
  record.set(phi_monte_carlo, estimates);
  record.set(phi_standard_error, errors);
}

}  // namespace

PairSums& PairSums::operator+=(const PairSums& other) {
  n += other.n;
  left += other.left;
  right += other.right;
  product += other.product;
  return *this;
}

PairSums FeatureSamples::total(const std::array<PairSums, 2>& halves) {
  PairSums sums = halves[0];
  sums += halves[1];
  return sums;
}

double unbiased_squared_error(const std::array<PairSums, 2>& halves, const arma::mat& C) {
  const arma::mat first = halves[0].covariance() - C, second = halves[1].covariance() - C;
  return arma::dot(first, second) / arma::dot(C, C);
}

arma::vec row_norms(const arma::mat& V) {
  return arma::sqrt(arma::sum(arma::square(V), 1));
}

FeatureSamples sample_features(const Trial& trial, const Size& size, const Activation& activation,
                               const arma::mat& V, const arma::mat& V_bar) {
  FeatureSamples samples;
  struct Block {
    std::size_t half;
    std::uint64_t columns;
  };
  std::vector<Block> blocks;
  for (std::size_t half = 0; half < 2; ++half) {
    samples.student[half] = empty_sums(V.n_rows, V.n_rows);
    samples.cross[half] = empty_sums(V_bar.n_rows, V.n_rows);
    const std::uint64_t end = half == 0 ? size.n / 2 : size.n - size.n / 2;
    for (std::uint64_t start = 0; start < end; start += block_columns)
      blocks.push_back({half, std::min(block_columns, end - start)});
  }
  Stream stream = trial.stream(size.stream("X"));
  struct Buffers {
    arma::mat X, A, A_bar, product;
  };
  std::vector<Buffers> of_workers(blocks.size());
  trial.run_in_turn(blocks.size(), [&](std::size_t i, std::size_t worker, Turns& turns) {
    Buffers& own = of_workers[worker];
    arma::mat &X = own.X, &A = own.A, &A_bar = own.A_bar, &product = own.product;
    const auto add_in_turn = [&](PairSums& sums, const arma::vec& left, const arma::vec& right) {
      turns.take([&] {
        sums.left += left;
        sums.right += right;
        sums.product += product;
        sums.n += static_cast<double>(A.n_cols);
      });
    };
    turns.take([&] {
      trial.check_interrupt();
      X.set_size(size.d, blocks[i].columns);
      stream.fill_normal({X.memptr(), X.n_elem});
    });
    A = V * X;
    apply(activation, A);
    const arma::vec sum = row_sums(A);
    product = A * A.t();
    add_in_turn(samples.student[blocks[i].half], sum, sum);
    if (V_bar.is_empty()) return;
    A_bar = V_bar * X;
    apply(activation, A_bar);
    product = A_bar * A.t();
    add_in_turn(samples.cross[blocks[i].half], row_sums(A_bar), sum);
  });
  return samples;
}

arma::mat draw_weights(const Trial& trial, const Size& size, const char* name,
                       std::uint64_t columns) {
  arma::mat M(size.k, columns);
  trial.stream(size.stream(name))
      .fill_normal({M.memptr(), M.n_elem}, 1.0 / std::sqrt(static_cast<double>(size.d)));
  return M;
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  const Activation& activation = find_activation(plan.config.activation);
  std::vector<TrialRecord> parts(plan.sizes.size());
  TrialRecord record;
  std::vector<double> costs = plan.k;
  if (!plan.teacher()) costs.push_back(1.0);  // phi comes last
  trial.for_each_part(costs, [&](std::size_t i) {
    if (i == parts.size()) return measure_phi(plan, trial, record);
    const Size& size = plan.sizes[i];
    const arma::mat V = draw_weights(trial, size, "V", size.d);
    const arma::mat V_bar =
        plan.teacher() ? draw_weights(trial, size, "V-bar", size.d) : arma::mat();
    const FeatureSamples samples = sample_features(trial, size, activation, V, V_bar);
    trial.check_interrupt();
    if (plan.teacher()) {
      measure_cross_gram(plan, size, V, V_bar, samples, trial, parts[i]);
      measure_proof(size, V, V_bar, samples, trial, parts[i]);
      measure_step(size, plan.config.offset, samples, trial, parts[i]);
      measure_times(size, plan.config.offset, samples, trial, parts[i]);
    } else {
      measure_gram(plan, size, V, samples, trial, parts[i]);
    }
  });
  for (std::size_t i = 0; i < parts.size(); ++i) record.insert(parts[i], plan.sizes[i].prefix());
  if (!plan.teacher()) return record;
  std::vector<TrialRecord> wide(plan.wide.size());
  trial.for_each_part(plan.wide_d,
                      [&](std::size_t i) { measure_wide(plan.wide[i], trial, wide[i]); });
  for (std::size_t i = 0; i < wide.size(); ++i) record.insert(wide[i], plan.wide[i].wide_prefix());
  count_hadamard(trial, record);
  return record;
}

}  // namespace ranklab::features
