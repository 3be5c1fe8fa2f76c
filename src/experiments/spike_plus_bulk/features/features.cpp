// The study features: the sizes of a run, the sampled features, what a trial computes, what the
// claims have in common, and their order.
#include "experiments/spike_plus_bulk/features/features.hpp"

#include <algorithm>

#include "ensembles/feature_moments.hpp"

namespace ranklab::features {

// Sizes -------------------------------------------------------------------------------------------

std::vector<double> of_each(const std::vector<Size>& sizes, std::uint64_t Size::*number) {
  std::vector<double> numbers;
  for (const Size& size : sizes) numbers.push_back(real(size.*number));
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
    const double features = std::pow(real(each), wide_power);
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

bool Config::tall() const {
  const std::vector<Size> all = sizes();
  return std::all_of(all.begin(), all.end(), [](const Size& size) { return size.k > size.d; });
}

std::string Config::not_relu() const {
  return relu() ? "" : say("the statement is about relu; this run uses {}", activation);
}

// Samples -----------------------------------------------------------------------------------------

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
    Buffers& buffers = of_workers[worker];
    arma::mat &X = buffers.X, &A = buffers.A, &A_bar = buffers.A_bar, &product = buffers.product;
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
      .fill_normal({M.memptr(), M.n_elem}, 1.0 / std::sqrt(real(size.d)));
  return M;
}

// The trial ---------------------------------------------------------------------------------------

namespace {

TwoMaps sample_maps(const Config& c, const Size& size, const Trial& trial) {
  const Activation& activation = find_activation(c.activation);
  TwoMaps out;
  out.size = size;
  out.offset = c.offset;
  out.V = draw_weights(trial, size, "V", size.d);
  out.V_bar = draw_weights(trial, size, "V-bar", size.d);
  const FeatureSamples samples = sample_features(trial, size, activation, out.V, out.V_bar);
  trial.check_interrupt();
  out.Sigma = feature_cross_covariance(activation, out.V_bar, out.V);
  out.squared_error = unbiased_squared_error(samples.cross, out.Sigma);
  out.student = FeatureSamples::total(samples.student);
  out.cross = FeatureSamples::total(samples.cross);
  trial.check_interrupt();
  out.gram = symmetric_eigen(out.B());
  trial.check_interrupt();
  out.W_bar = draw_weights(trial, size, "W-bar", size.k);
  return out;
}

TrialRecord measure_size(const Config& c, const Size& size, const Trial& trial) {
  TrialRecord record;
  if (c.teacher()) {
    const TwoMaps maps = sample_maps(c, size, trial);
    measure_theorem_3_7(c, maps, trial, record);
    measure_theorem_3_9(maps, trial, record);
    measure_proof_3_7(maps, trial, record);
    measure_proof_3_9(maps, trial, record);
    measure_times(maps, trial, record);
  } else {
    const arma::mat V = draw_weights(trial, size, "V", size.d);
    const FeatureSamples samples =
        sample_features(trial, size, find_activation(c.activation), V, arma::mat());
    trial.check_interrupt();
    measure_gram(c, size, V, samples, trial, record);
  }
  return record;
}

}  // namespace

TrialRecord run_trial(const Config& c, const Trial& trial) {
  const std::vector<Size> sizes = c.sizes();
  std::vector<TrialRecord> parts(sizes.size());
  TrialRecord record;
  std::vector<double> costs = of_each(sizes, &Size::k);
  if (!c.teacher()) costs.push_back(1.0);  // phi comes last
  trial.for_each_piece(costs, [&](std::size_t i) {
    if (i == parts.size()) return measure_phi(c, trial, record);
    parts[i] = measure_size(c, sizes[i], trial);
  });
  for (std::size_t i = 0; i < parts.size(); ++i)
    record.insert(parts[i], sizes[i].place().text + ".");
  if (!c.teacher()) return record;
  const std::vector<Size> wide = c.wide();
  std::vector<TrialRecord> wide_parts(wide.size());
  trial.for_each_piece(of_each(wide, &Size::d),
                       [&](std::size_t i) { measure_wide(wide[i], trial, wide_parts[i]); });
  for (std::size_t i = 0; i < wide.size(); ++i)
    record.insert(wide_parts[i], wide[i].wide_place().text + ".");
  count_hadamard(trial, record);
  return record;
}

// What the claims have in common ------------------------------------------------------------------

std::string Config::why_no_rates() const {
  const std::vector<Size> all = sizes();
  if (all.size() < 3)
    return "--k has fewer than three sizes, so no exponent can be fitted with an error";
  if (all.front().d == all.back().d)
    return "--d is fixed; the statement is about a d that grows with k";
  std::vector<double> samples;  // n/d
  for (const Size& size : all) samples.push_back(real(size.n) / real(size.d));
  const auto [smallest, largest] = std::minmax_element(samples.begin(), samples.end());
  return *largest > 1.1 * *smallest ? "n is not proportional to d over the sizes of this run" : "";
}

namespace {

FeatureClaims claims_over(const Config& c, const std::vector<Size>& sizes,
                          At (Size::*place)() const, const std::string& no_exponents,
                          const Records& records, Claims& claims) {
  const std::string fit = say("exponent of d, fitted to each trial over {} sizes up to d = {}",
                              sizes.size(), sizes.back().d);
  return {{sizes_over_d(sizes, place), claims, records, no_exponents, fit, 3, slack_of_exponents},
          c,
          sizes};
}

}  // namespace

FeatureClaims over_sizes(const Config& c, const Records& records, Claims& claims) {
  return claims_over(c, c.sizes(), &Size::place, c.why_no_rates(), records, claims);
}

FeatureClaims over_wide_sizes(const Config& c, const Records& records, Claims& claims) {
  return claims_over(c, c.wide(), &Size::wide_place,
                     c.wide_d.size() < 3 ? "--wide-d has fewer than three sizes" : "", records,
                     claims);
}

Metric of_order(const std::vector<Size>& sizes, const Order& order) {
  return [sizes, value = order.at](const AtSize& at) { return value(sizes[at.i]); };
}

Sizes sizes_over_d(const std::vector<Size>& sizes, At (Size::*place)() const) {
  Sizes out{of_each(sizes, &Size::d), {}};
  for (const Size& size : sizes) out.places.push_back((size.*place)());
  return out;
}

void FeatureClaims::exponent(const Statement& statement, const Metric& metric, Region allowed,
                             const std::string& detail) const {
  Statement judged = statement;
  judged.text += " (the number is an exponent of d)";
  SizeClaims::exponent(judged, metric, allowed, detail);
}

void FeatureClaims::rate(const Statement& statement, const Metric& metric, Region allowed,
                         const std::string& more) const {
  exponent(statement, metric, allowed, say("measured {}{}", range(metric), more));
}

void FeatureClaims::rate(const Statement& statement, const Metric& metric, const Order& order,
                         Region allowed, const std::string& more) const {
  rate(statement, ratio(metric, of_order(order)), allowed, say(" times {}{}", order.formula, more));
}

void FeatureClaims::at_largest(const Statement& statement, const Measure& measure, Region allowed,
                               const std::string& threshold, const std::string& detail) const {
  constexpr std::uint64_t fewest_measured =
      64;  // features and samples from which constants are judged
  Statement judged = statement.kind == Kind::theorem ? asymptotic(statement, threshold) : statement;
  judged.text += " (the number is the measured coefficient)";
  const Size& size = sizes.back();
  const std::string unmet =
      std::min(size.k, size.n) < fewest_measured
          ? say("fewer than {} features or samples even at the largest size", fewest_measured)
          : "";
  if (!claims.applies(judged, unmet)) return;
  claims.mean(judged, scalars_of(records, size.place() / measure), allowed,
              say("{}; at k = {}, d = {}, n = {}", detail, size.k, size.d, size.n));
}

void FeatureClaims::constant(const Statement& statement, const Measure& measure, double expected,
                             double band, const std::string& detail) const {
  at_largest(statement, measure, within(expected, band * std::fabs(expected)),
             say("{} % in the coefficient", 100.0 * band), detail);
}

void Config::judge(const Records& records, Claims& claims) const {
  const FeatureClaims of_sizes = over_sizes(*this, records, claims);
  if (!teacher()) {
    judge_phi(of_sizes);
    judge_gram(of_sizes);
    return judge_rows(of_sizes);
  }
  judge_hadamard(records, claims);
  judge_definitions(of_sizes);
  const auto only_relu = claims.only_where(not_relu());
  judge_theorem_3_7(of_sizes);
  judge_theorem_3_9(of_sizes);
  judge_proof_3_7(of_sizes);
  {
    const auto only_tall = claims.only_where(
        tall() && !singular()
            ? ""
            : "the statement requires k > d and n >= C_0 d; this run has k <= d or n <= k");
    judge_proof_3_8(of_sizes);
    judge_proof_3_9(of_sizes);
  }
  judge_times(of_sizes);
}

}  // namespace ranklab::features
