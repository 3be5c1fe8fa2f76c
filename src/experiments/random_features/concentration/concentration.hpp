// The study concentration: its parts, what they share, and the closed forms, which the tests check.
//
// z is a random vector with second moment M = E zz' and mean mu; Z_n has n independent copies of z
// in its columns, and M_n = Z_n Z_n' / n. st(Z_n) = er(M_n) = tr(M_n) / ||M_n||_op.
#pragma once

#include <armadillo>
#include <functional>

#include "ensembles/activations.hpp"
#include "experiments/kit.hpp"

namespace ranklab::concentration {

struct Config : Study {
  std::uint64_t draws = 20;  // independent samples per trial, for every statement and size
  // Theorem 2.2
  double p0 = 0.001, failure_probability = 0.25;  // c; the bound may fail with probability 2c
  std::uint64_t bulk = 128;
  // Lemmas 2.1 and 2.5, Theorems 2.3, B.1 and B.2
  std::uint64_t d = 8;
  std::vector<std::uint64_t> n = {1024, 4096, 16384, 65536};  // ascending
  double u = 4.0, epsilon = 0.1;
  // Theorem 2.8
  std::uint64_t depth = 5, width = 64;  // width: also the columns of W of Lemma 2.12
  double noise = 0.1;
  // Lemmas 2.11 and 2.12
  std::uint64_t vector = 1024, k = 512, columns = 32;

  std::vector<Field> flags() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override {
    return "From the second moment to the stable rank of a sample";
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  std::vector<double> sizes() const { return {n.begin(), n.end()}; }
};

// The parts: what a trial records, and the numbers, claims and panel of the result ----------------

/// Theorem 2.2 (spike.cpp).
void measure_spike(const Config& c, const Trial& trial, TrialRecord& record);
void derive_spike(const Config& c, Numbers& out);
void judge_spike(const Config& c, const Records& records, Claims& claims);
void show_spike(const Config& c, Display& out);

/// Lemmas 2.1 and 2.5, Theorems 2.3, B.1 and B.2 (laws.cpp).
void measure_laws(const Config& c, const Trial& trial, TrialRecord& record);
void derive_laws(const Config& c, Numbers& out);
void judge_laws(const Config& c, const Records& records, Claims& claims);
void show_laws(const Config& c, Display& out);

/// Theorem 2.8 (quadratic.cpp), with this many inputs for M.
void measure_quadratic(const Config& c, const Trial& trial, TrialRecord& record);
void derive_quadratic(const Config& c, Numbers& out);
void judge_quadratic(const Config& c, const Records& records, Claims& claims);
void show_quadratic(const Config& c, Display& out);
inline constexpr std::uint64_t layer_population = 8192;

/// Lemmas 2.11 and 2.12 (gaussian_layer.cpp).
void measure_gaussian_layer(const Config& c, const Trial& trial, TrialRecord& record);
void derive_gaussian_layer(Numbers& out);
void judge_gaussian_layer(const Config& c, const Records& records, Claims& claims);
void show_gaussian_layer(Display& out);

// What the parts share (concentration.cpp) --------------------------------------------------------

/// N(0, deviation^2) entries, from the trial's stream `name`.
arma::mat gaussian(const Trial& trial, const std::string& name, std::uint64_t rows,
                   std::uint64_t columns, double deviation = 1.0);

/// "name/i", a stream.
std::string numbered(const std::string& name, std::size_t i);

/// Means over the draws of a trial, for each of several sizes.
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

/// The share of a trial's draws with left > right, and the largest left / right, for each size.
struct BoundShares {
  BoundShares(std::size_t sizes, std::uint64_t draws) : share(sizes, draws), quotient(sizes, 0.0) {}
  void add(std::size_t i, double left, double right);

  Means share;
  std::vector<double> quotient;
};

/// Entry i of the array of every trial.
std::vector<double> entry_of(const Records& records, const std::string& name, std::size_t i);
double mean_of_entry(const Records& records, const std::string& name, std::size_t i);
/// The size at which the array's mean is largest, among those with used[i].
std::size_t worst_size(const Records& records, const std::string& name,
                       const std::vector<bool>& used);

/// Judges a probability from the shares of all trials, which have c.draws draws each, by its
/// binomial interval. If the shares were chosen among several `candidates` because of their mean,
/// the interval is wider (Bonferroni).
void judge_probability(const Config& c, const Statement& statement,
                       const std::vector<double>& shares, Region allowed, const std::string& detail,
                       Claims& claims, double candidates = 1.0);

/// The n that the proof of Theorem 2.2 needs: exp(-p0 n/8) <= c if n >= 8 log(1/c) / p0.
double needed_samples(double p0, double c);

// Closed forms (closed_forms.cpp) -----------------------------------------------------------------

/// log P(chi^2 <= degrees (1 - shortfall)), 0 < shortfall < 1, by the power series of the
/// incomplete gamma function.
double log_chi_squared_lower_tail(double degrees, double shortfall);

/// log P(| chi^2 / degrees - 1 | > excess), 0 < excess < 1.
double log_chi_squared_deviation(double degrees, double excess);

/// P(|u_1| > epsilon) for u uniform on the unit sphere of R^d, d >= 2, 0 <= epsilon < 1.
double cap_probability(double d, double epsilon);

/// P(|sigma(g)| >= tau), g ~ N(0, 1), tau > 0. |sigma| must not decrease with |t| on either side of
/// 0 where it exceeds tau.
double small_ball_probability(const Activation& activation, double tau);

/// log E |g|^p for an even p, g ~ N(mean, 1).
double log_even_moment(std::uint64_t p, double mean = 0.0);

/// A number L with E exp(|Y| / L) <= 2, so ||Y||_psi1 <= L, for a centered Y with this standard
/// deviation and log E exp(t Y) = log_mgf(t), infinite if it does not exist.
double sub_exponential_parameter(const std::function<double(double)>& log_mgf, double deviation);

// For the tests -----------------------------------------------------------------------------------

/// The sample sizes of Theorem 2.2, ascending: as printed, 1/4 to 4 times log(1/(2c))/p0, and as
/// its proof needs it.
std::vector<double> spike_sizes(const Config& c);

/// A law of z in Theorem 2.3 and Appendix B.
struct Law {
  std::string name, text;  // in names, and for people
  arma::vec mean;          // mu (d)
  arma::mat M;             // E zz' (d, d)
  double K = 0.0;          // ||<z - mu, u>||_psi2 <= K sqrt(<Mu, u>), (2.5) and (B.1)
  double K_norm = 0.0;     // ||<z - mu, u>||_psi2 <= K_norm ||u||, Lemma 2.5
  double L = 0.0;          // || ||z||^2 - E||z||^2 ||_psi1 <= L, Lemma 2.5
  void (*from_gaussian)(arma::mat& G) = nullptr;  // standard Gaussian columns to columns of z

  double effective_rank() const;
};

/// z = g; z = 1 + g with a mean of norm sqrt(d); z = max(0, g). g ~ N(0, I_d).
std::vector<Law> make_laws(std::uint64_t d);

/// The epsilon at which (2.16) with c1 = p/2 allows a failure probability of a tenth: 2n exp(-p
/// eps^2 k/2) = 1/10. The lemma needs epsilon < 1.
double block_epsilon(double p, std::uint64_t k, std::uint64_t columns);

}  // namespace ranklab::concentration
