// Internal header of the study concentration: the laws of z, what a trial records, the closed forms
// and the claims.
#pragma once

#include <armadillo>
#include <functional>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/random_features/concentration/config.hpp"
#include "models/activations.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::concentration {

// Closed forms (closed_forms.cpp) -----------------------------------------------------------------

/// log P(X <= at_most) for a binomial X with n trials of probability p, 0 < p < 1, by summation;
/// -infinity if at_most < 0.
double log_binomial_lower_tail(std::uint64_t n, double p, double at_most);

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

/// The Clopper-Pearson interval of a probability from `failures` in `draws` independent draws.
MeanEvidence binomial_interval(double failures, double draws, double level);

/// A number L with E exp(|Y| / L) <= 2, so ||Y||_psi1 <= L, for a centered Y with this standard
/// deviation and log E exp(t Y) = log_mgf(t), infinite if it does not exist.
double sub_exponential_parameter(const std::function<double(double)>& log_mgf, double deviation);

/// The psi_2 norm of N(0, 1): E exp(g^2 / K^2) = (1 - 2/K^2)^(-1/2) = 2 at K^2 = 8/3. Every
/// centered Y with E exp(t Y) <= exp(t^2 / 2), such as a 1-Lipschitz function of Gaussian vectors
/// minus its mean, has at most this norm.
inline constexpr double gaussian_psi_2 = 1.6329931618554521;

// The law of Theorem 2.2 --------------------------------------------------------------------------

/// z = e_1 / sqrt(p0) with probability p0, otherwise sqrt(energy/bulk) (0, g), g ~ N(0, I_bulk).
/// Then ||M||_op = 1, u_* = e_1 and c_0 = 1/p0 satisfy (2.2), and p0 c_0 = 1 is the largest value
/// that any law allows.
struct SpikeLaw {
  double p0;
  std::uint64_t bulk;
  static constexpr double energy = 0.1;

  double effective_rank() const { return 1.0 + (1.0 - p0) * energy; }
  /// The right side of (2.3), 2 / (p0 c_0 c) er(M).
  double bound(double c) const { return 2.0 / c * effective_rank(); }
};

/// n as Theorem 2.2 prints it, log(1/(2c)) / (8 p0), and as its proof needs it: exp(-p0 n/8) <= c
/// if n >= 8 log(1/c) / p0.
double printed_samples(double p0, double c);
double needed_samples(double p0, double c);

// The laws of Theorem 2.3 and Appendix B ----------------------------------------------------------

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

// Plan and records --------------------------------------------------------------------------------

struct Plan {
  explicit Plan(const ConcentrationConfig& given);

  ConcentrationConfig config;
  SpikeLaw spike;
  std::vector<double> spike_n;  // printed, ..., needed; ascending
  std::vector<Law> laws;
  std::vector<double> n;                 // config.n
  std::vector<std::string> activations;  // of Lemma 2.12, beyond ReLU
  double perturbation_epsilon = 0.45;    // of Lemma 2.11
};

/// Positions in spike_n: the smallest n of the printed theorem, half of log(1/(2c))/p0, and the
/// corrected n.
inline constexpr std::size_t at_printed = 0, at_half = 2;

// Theorem 2.2, arrays over spike_n. Shares of a trial's draws: with st(Z_n) above the bound; with
// st(M_n) above it, which the theorem prints; with tr(M_n) > tr(M) / c; with fewer than p0 n/2
// large samples.
inline constexpr char spike_above[] = "spike.share_above",
                      spike_above_moment[] = "spike.share_above_moment",
                      spike_trace[] = "spike.share_trace", spike_few[] = "spike.share_few",
                      spike_rank[] = "spike.stable_rank";

// The laws, arrays over n, after the law's name: the mean of |st(Z_n) - er(M)| / er(M); the shares
// of draws that exceed a bound; the largest quotient of both sides.
inline constexpr char rank_error[] = ".rank_error", noise_above[] = ".noise.share_above";
struct Bounded {
  std::string array;
  Place place;
  std::string text;
  double tail;  // factor of exp(-u) in the failure probability
};
inline const Bounded theorem_2_3{".rank",
                                 {"spectral/thm-2.3", "spectral/thm-2.3/", "Theorem 2.3"},
                                 "|st(Z_n) - er(M)| / er(M) <= C K^4 sqrt((er(M) + u)/n)",
                                 5.0},
    theorem_B_1{".trace",
                {"spectral/thm-B.1", "spectral/thm-B.1/", "Theorem B.1, eq. (B.2)"},
                "|tr(M_n) - tr(M)| <= C K^2 tr(M) (sqrt(u/n) + u/n)",
                4.0},
    theorem_B_2{".moment",
                {"spectral/thm-B.2", "spectral/thm-B.2/", "Theorem B.2"},
                "||M_n - M||_op <= C K^4 (sqrt((er(M) + u)/n) + (er(M) + u)/n) ||M||_op",
                4.0};
inline const auto share_above = [](const Bounded& bounded) { return bounded.array + ".share"; };
inline const auto largest_quotient = [](const Bounded& bounded) {
  return bounded.array + ".quotient";
};
inline const Misprint split_of_moment =
    Place{"spectral/thm-B.2", "spectral/thm-B.2/", "Theorem B.2, proof", Part::proof}.misprint(
        "spectral/thm-B.2/split", "split", "M_n - Sigma = z-bar mu' + mu z-bar' + Sigma_n - Sigma",
        "M_n - M = z-bar mu' + mu z-bar' + Sigma_n - Sigma");

// Theorem 2.8, arrays over layers: p0 of (2.2) with c_0 = 1/2 and u_* the top eigenvector, lowered
// by three standard errors; er(M); the mean of st(A_l), and the share of draws above (2.3).
inline constexpr char layer_p0[] = "layer.p0", layer_effective_rank[] = "layer.effective_rank",
                      layer_rank[] = "layer.stable_rank", layer_above[] = "layer.share_above";
inline constexpr double layer_c0 = 0.5;
inline constexpr std::uint64_t layer_samples = 256, layer_population = 8192;

// Lemma 2.11: the share of draws outside the interval, for each ||x||^2 / (sigma^2 d). Lemma 2.12:
// the share of draws below the bound, and the smallest quotient of both sides.
inline const std::vector<double> perturbation_norms = {0.25, 1.0, 4.0};
inline constexpr char perturbation_outside[] = "perturbation.share_outside";
inline const auto block_below = [](const std::string& sigma) { return sigma + ".share_below"; };
inline const auto block_quotient = [](const std::string& sigma) { return sigma + ".quotient"; };
inline constexpr double block_tau = 1.0;  // tau_sigma of Assumption B
/// The epsilon at which (2.16) with c1 = p/2 allows a failure probability of a tenth: 2n exp(-p
/// eps^2 k/2) = 1/10. The lemma needs epsilon < 1.
double block_epsilon(double p, std::uint64_t k, std::uint64_t columns);

TrialRecord run_trial(const Plan& plan, const Trial& trial);

// Claims ------------------------------------------------------------------------------------------

/// Judges a probability from the shares of all trials, which have `draws` draws each, by its
/// binomial interval. If the shares were chosen among several `candidates` because of their mean,
/// the interval is wider (Bonferroni).
void judge_probability(const Statement& statement, const std::vector<double>& shares,
                       Region allowed, const std::string& detail, const Plan& plan, Claims& claims,
                       double candidates = 1.0);

/// Theorem 2.2 and its proof; Lemmas 2.1 and 2.5, Theorems 2.3, B.1 and B.2 (claims.cpp).
void judge_constant_probability(const Plan& plan, const Records& records, Claims& claims);
void judge_high_probability(const Plan& plan, const Records& records, Claims& claims);

/// Theorem 2.8, Lemmas 2.11 and 2.12 (layer_claims.cpp).
void judge_quadratic_layers(const Plan& plan, const Records& records, Claims& claims);
void judge_blocks(const Plan& plan, const Records& records, Claims& claims);

}  // namespace ranklab::concentration
