// The study features: the sizes of a run, the sampled features, and what a trial computes.
#include <algorithm>

#include "experiments/spike_plus_bulk/features/features.hpp"

namespace ranklab::features {

std::vector<double> of_each(const std::vector<Size>& sizes, std::uint64_t Size::*number) {
  std::vector<double> numbers;
  for (const Size& size : sizes) numbers.push_back(static_cast<double>(size.*number));
  return numbers;
}

std::vector<Size> Config::sizes() const {
  std::vector<Size> all;
  for (const std::uint64_t each : k) {
    all.push_back({each, d == 0 ? each / 2 : d, n == 0 ? std::max<std::uint64_t>(2 * each, 4) : n});
  }
  std::sort(all.begin(), all.end(), [](const Size& a, const Size& b) { return a.k < b.k; });
  return all;
}

std::vector<Size> Config::wide() const {
  std::vector<Size> all;
  for (const std::uint64_t each : wide_d) {
    const double features = std::pow(static_cast<double>(each), wide_power);
    all.push_back({static_cast<std::uint64_t>(std::lround(features)), each, 0});
  }
  std::sort(all.begin(), all.end(), [](const Size& a, const Size& b) { return a.d < b.d; });
  return all;
}

std::vector<double> Config::phi_at() const {
  std::vector<double> points(phi_points);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(points.size() - 1);
  return points;
}

bool Config::singular() const {
  const std::vector<Size> all = sizes();
  return std::any_of(all.begin(), all.end(), [](const Size& size) { return size.n <= size.k; });
}

namespace {

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

TrialRecord run_trial(const Config& c, const Trial& trial) {
  const Activation& activation = find_activation(c.activation);
  const std::vector<Size> sizes = c.sizes();
  std::vector<TrialRecord> parts(sizes.size());
  TrialRecord record;
  std::vector<double> costs = of_each(sizes, &Size::k);
  if (!c.teacher()) costs.push_back(1.0);  // phi comes last
  trial.for_each_part(costs, [&](std::size_t i) {
    if (i == parts.size()) return measure_phi(c, trial, record);
    const Size& size = sizes[i];
    const arma::mat V = draw_weights(trial, size, "V", size.d);
    const arma::mat V_bar = c.teacher() ? draw_weights(trial, size, "V-bar", size.d) : arma::mat();
    const FeatureSamples samples = sample_features(trial, size, activation, V, V_bar);
    trial.check_interrupt();
    if (c.teacher()) {
      measure_cross_gram(c, size, V, V_bar, samples, trial, parts[i]);
      measure_proof(size, V, V_bar, samples, trial, parts[i]);
      measure_step(size, c.offset, samples, trial, parts[i]);
      measure_times(size, c.offset, samples, trial, parts[i]);
    } else {
      measure_gram(c, size, V, samples, trial, parts[i]);
    }
  });
  for (std::size_t i = 0; i < parts.size(); ++i) record.insert(parts[i], sizes[i].prefix());
  if (!c.teacher()) return record;
  const std::vector<Size> wide = c.wide();
  std::vector<TrialRecord> wide_parts(wide.size());
  trial.for_each_part(of_each(wide, &Size::d),
                      [&](std::size_t i) { measure_wide(wide[i], trial, wide_parts[i]); });
  for (std::size_t i = 0; i < wide.size(); ++i) record.insert(wide_parts[i], wide[i].wide_prefix());
  count_hadamard(trial, record);
  return record;
}

}  // namespace ranklab::features
