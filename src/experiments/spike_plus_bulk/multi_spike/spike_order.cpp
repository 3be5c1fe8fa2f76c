// The counterexample to Theorem 3.6, Theorem 3.11, Corollary 3.12 and Remarks 1 and 2 as printed.
// Their proofs need ||B|| of order d^u, but Assumptions F and H bound the spikes from above only.
//
//   B = one spike d^a + bulk evenly spread over [1, 2], u = 1, W# = W-bar = I, m = k = d
//   T = B (I - eta B)^t, eta = 1/(c ||B||): the gradient at W_t, up to its sign
//
// With a = l < 1 the bulk decays over d^l steps instead of d; with a = 1 it does not.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fits.hpp"
#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"

namespace ranklab::multi_spike {
namespace {

// A statement: nr(grad L(W_t)) is at least of order d^power at the iteration t.
struct Printed {
  const char* statement_id;
  const char* slip;
  const char* source;
  double low, c, power;  // l; of the step; of d
  double (*iteration)(double d);
  const char *t, *level;  // in words
  const char* why;        // what the statement says of W# = I or W-bar = I
};

constexpr double d_steps(double d) {
  return d;
}
constexpr double sixteen_d_steps(double d) {
  return 16 * d;
}
double d_log_d_steps(double d) {
  return std::floor(d * std::log(d));
}

constexpr double quarter = 0.75;  // 1 - eps with eps = 1/4
const char *const both_estimates = "for weights I, which the quotient of the two estimates bounds",
                  *const gaussian =
                      "for weights I (for Gaussian weights nr is at most 4 times as large in the "
                      "limit)";

std::vector<Printed> printed_statements(const Config& config) {
  if (config.teacher())
    return {{spectral::thm_3_11, spectral::thm_3_11_spike_order, "Theorem 3.11", 0.5, 1, 1, d_steps,
             "d", "d", both_estimates},
            {spectral::cor_3_12, spectral::cor_3_12_spike_order, "Corollary 3.12", 0.6, 2, 1,
             sixteen_d_steps, "16 d", "d", gaussian},
            {spectral::remark_2, spectral::remark_2_spike_order, "Remark 2", 0.6, 2, quarter,
             d_log_d_steps, "d log d", "d^(3/4)", gaussian}};
  return {{spectral::thm_3_6, spectral::thm_3_6_spike_order, "Theorem 3.6, eq. (3.11)", 0.5, 1, 1,
           d_steps, "d", "d", both_estimates},
          {spectral::remark_1, spectral::remark_1_spike_order, "Remark 1", 0.5, 1, quarter,
           d_log_d_steps, "d log d", "d^(3/4)", gaussian}};
}

// nr(T) / d^power at the sizes 64 to 512.
std::vector<double> over_level(const Printed& of, double spike) {
  std::vector<double> out;
  for (const double d : sizes_of_example) {
    const double nr = nuclear_rank_of_example(d, std::pow(d, spike), of.c, of.iteration(d));
    out.push_back(nr / std::pow(d, of.power));
  }
  return out;
}

std::string words_of(const std::vector<double>& numbers) {
  std::vector<std::string> words;
  for (const double number : numbers) words.push_back(short_number(number));
  return joined(words);
}

}  // namespace

double nuclear_rank_of_example(double d, double spike, double c, double t) {
  std::vector<double> logs;  // of the diagonal of T
  const double top = 1 + spike;
  for (double i = 0; i < d; ++i) {
    const double lambda = i == 0 ? top : 1 + i / (d - 1);
    logs.push_back(std::log(lambda) + t * std::log1p(-lambda / (c * top)));
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0, squares = 0;
  for (const double log : logs) {
    const double s = std::exp(log - largest);
    sum += s, squares += s * s;
  }
  return sum * sum / squares;
}

void judge_spike_order(const Config& config, Claims& claims) {
  constexpr double slack = 0.1;
  for (const Printed& of : printed_statements(config)) {
    const Misprint order = Place{of.statement_id, "/", of.source}.misprint(
        of.slip, "spike-order",
        say("Exponent of d in nr(grad L(W_t))/{} at t = {} {}: one spike d^{} (u = 1), bulk "
            "evenly spread over [1, 2], eta = 1/({}||B||)",
            of.level, of.t, of.why, of.low, of.c == 1 ? "" : say("{} ", of.c)),
        say("Exponent of d in nr(grad L(W_t))/{} at t = {} for weights I, with one spike d, of "
            "order d^u",
            of.level, of.t));
    const auto judge = [&](const Statement& statement, double spike) {
      const std::vector<double> numbers = over_level(of, spike);
      claims.number(asymptotic(statement, say("{} in the exponent of d, ours", slack)),
                    fit_power(sizes_of_example, numbers).slope, at_least(-slack),
                    say("nr/{} at d = 64, 128, 256, 512: {}", of.level, words_of(numbers)));
    };
    judge(order.as_printed, of.low);
    judge(order.corrected, 1);
  }
}

}  // namespace ranklab::multi_spike
