// The study mlp inside: the methods that it compares, what a trial records and counts of each, and the way from records to the
// result.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/one_step_compare/mlp/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::mlp {

inline constexpr std::size_t hidden_layers = 3, layers = hidden_layers + 1;

/// How the layers between the first hidden and the output step; these two always take Euclidean steps.
enum class InnerStep { euclidean, spectral, muon };

inline constexpr char gd[] = "gd", specgd[] = "specgd", muon[] = "muon";

struct Method {
  std::string name;   // of its series: gd, specgd, muon, specgd_equal_lr
  std::string label;  // GD
  InnerStep inner = InnerStep::euclidean;
  double lr = 0;  // of Euclidean and spectral steps
};

/// What follows from the config, for every trial alike.
struct Plan {
  MlpConfig config;
  std::vector<Method> methods;  // GD, then those of --optimizer in its order, then SpecGD with GD's learning rate where asked for
  std::vector<double> iterations;  // at which ranks are measured: multiples of record_every, and the last

  /// All but GD.
  std::span<const Method> rivals() const { return std::span(methods).subspan(1); }
  bool runs(const std::string& method) const;
};
Plan plan_of(const MlpConfig& config);

/// A loss beyond this multiple of its start counts as divergence, as does one that is not finite. Losses that passed ten times
/// their start were never seen to come back: they square, or worse, from step to step.
inline constexpr double divergence_factor = 1000.0;

// What a trial records, by the names of scalars and series; what comes after a divergence is NaN -------------------------------

/// "gd.loss", "gd.W2.ratio"; layers count from 1.
struct OfMethod {
  const char* what;
  std::string operator()(const std::string& method) const { return method + "." + what; }
};
struct OfLayer {
  const char *layers, *what;
  std::string operator()(const std::string& method, std::size_t l) const {
    return method + "." + layers + std::to_string(l) + "." + what;
  }
};
inline constexpr OfMethod loss_name{"loss"}, final_loss_name{"final_loss"}, diverged_name{"diverged"},
    diverged_at_name{"diverged_at"};                                // of the first iteration whose loss is none
inline constexpr OfLayer stable_rank_name{"layer", "stable_rank"},  // st(A_l)
    nuclear_rank_name{"W", "nuclear_rank"},                         // nr(G_l), the gradient of W_l
    ratio_name{"W", "ratio"},                                       // nr(G_l) / st(A_(l-1)), the two sides of eq. (1.8)
    condition_share_name{"W", "condition_share"};                   // of the recorded iterations, where that is at least 1
inline constexpr char stable_rank_X[] = "X.stable_rank";
/// What the ranks could reach: the rank of A_l ("A") or of the gradient of W_l ("W") at the start.
inline std::string rank_name(const std::string& matrix, std::size_t l) {
  return matrix + std::to_string(l) + ".rank";
}

/// The initial phase, "when the nuclear rank of the gradient is large": the recorded iterations from the first on at which, along
/// GD, nr(G_l) >= 2 st(A_(l-1)) for l = 2 and 3. There [Spectral] Section 1.2 promises that a spectral step is the better one.
/// This is the last of them, NaN where already the first does not qualify.
inline constexpr char initial_phase_end[] = "initial_phase_end";
/// log10 of the method's loss over GD's there, and at the last iteration.
inline constexpr OfMethod early_ratio_name{"early_log10_loss_ratio"}, final_ratio_name{"final_log10_loss_ratio"};

// Statements whose cases the trials count; those about means stand where they are judged --------------------------------------

inline Statement condition(const Method& method, std::size_t layer) {
  const std::string l = std::to_string(layer), input = layer == 1 ? "X" : "A_" + std::to_string(layer - 1);
  return {"spectral/eq-1.8/" + method.name + "/W" + l, "Section 1.2.1, eq. (1.8)",
          "along " + method.label + " the nuclear rank of the gradient of W_" + l + " is at least the stable rank of " + input +
              ", at every iteration",
          Kind::figure};
}

/// Figure 1: small against what? The text says "relative to the input dimension"; below this part of it.
inline constexpr double small_part = 0.1;
inline Statement small_stable_rank(const Method& method) {
  return reading(
      Statement{"spectral/fig-1/stable-rank-small/" + method.name,
                "Section 1.1, Figure 1",
                "along " + method.label + " the stable ranks of the post-activations stay below a tenth of the input dimension",
                Kind::figure,
                {"Figure 1"}},
      "a tenth of d");
}

// The printed maximum is half of what the shapes allow, and less than the ranks that the matrices have: a rank bounds the stable
// and nuclear rank, and a matrix with equal singular values attains it.
inline const Misprint largest_stable_rank =
    Place{"spectral/fig-1/", "Figure 1, caption", Kind::printed_number, {"Figure 1"}}.misprint(
        "maximum", "the largest possible stable rank of the post-activations is 256",
        "the largest possible stable rank is 4 d = n = 512, and the post-activations have ranks beyond 256");
inline const Misprint largest_nuclear_rank =
    Place{"spectral/fig-4/", "Figure 4, caption", Kind::printed_number, {"Figure 4"}}.misprint(
        "maximum", "the largest possible nuclear rank is 128 at layer 1 and 256 at layers 2 and 3",
        "the largest possible nuclear rank is 128 at layer 1 and 512 at layers 2 and 3, where the gradients have ranks beyond 256");

// From a trial to the result --------------------------------------------------------------------------------------------------

/// Every method from the same weights, on the same samples. Trial 0 writes the files of config.dump. Throws Failure where that
/// fails.
TrialRecord run_trial(const Plan& plan, bool single_precision, const Trial& trial);

/// Adds what follows from a trial's series and ranks: the numbers above, and the statements' cases.
void count_cases(const Plan& plan, TrialRecord& record);

void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

/// Where the list of the dumped pairs stands in `folder`.
std::string manifest_path(const std::string& folder);

}  // namespace ranklab::mlp
