// `one-step-compare --study mlp`: trains a four-layer network without biases on y = x_1 x_2 x_3
// with full-batch gradient descent (GD), SpecGD (spectral steps on layers 2 and 3, Euclidean steps
// on layers 1 and 4) and optionally Muon, all from the same weights. It measures the two sides of
// condition (1.8) in each layer ([Spectral] Figures 1, 4 and 18). Here: the flags, the methods,
// what a trial records of each, the statements that it counts, and the functions from a trial to
// the result.
#pragma once

#include <limits>
#include <optional>

#include "core/track.hpp"
#include "experiments/kit.hpp"

namespace ranklab::mlp {

inline constexpr std::size_t hidden_layers = 3, layers = hidden_layers + 1;

/// The step of layers 2 and 3. Layers 1 and 4 always take Euclidean steps.
enum class InnerStep { euclidean, spectral, muon };

inline constexpr char gd[] = "gd", specgd[] = "specgd", muon[] = "muon";

struct Method {
  std::string name;   // prefix of its series: gd, specgd, muon, specgd_equal_lr
  std::string label;  // GD
  InnerStep inner = InnerStep::euclidean;
  double lr = 0;            // factor on Euclidean and spectral steps
  bool in_figures = false;  // the paper's figures show it
  std::string legend = label;
};

struct Config : Study {
  std::string precision = "f64";
  std::string activation =
      "relu2";                // sigma; swiglu is gated: its hidden weights have twice as many rows
  std::uint64_t d = 128;      // input dimension, at least 3
  std::uint64_t width = 0;    // h, units of each hidden layer; 0: 4 d
  std::uint64_t n = 512;      // samples; each step uses all of them
  std::uint64_t steps = 400;  // T
  double lr_gd = 0.081;       // factor on GD's steps 1 / L_F
  double lr_spec = 0.1;       // factor on all of SpecGD's steps, including layers 1 and 4
  std::vector<std::string> optimizer = {"specgd"};  // compared with GD
  double lr_muon =
      0.02;  // Muon's learning rate on layers 2 and 3; layers 1 and 4 step as in SpecGD
  double momentum = 0.95;          // Muon's beta
  bool equal_lr = false;           // also run SpecGD with lr_gd
  std::uint64_t record_every = 1;  // steps between two measurements of the ranks
  std::vector<std::string> panels = {"loss", "stable-rank", "nuclear-rank",
                                     "ratio"};  // panels of the figure, in this order
  std::string dump;  // folder for trial 0's last activations and gradients; empty: none

  std::vector<Field> flags() override;
  void fill_defaults() override;
  void check() const override;
  Estimate memory() const override;
  std::vector<Output> outputs(std::uint64_t trial) const override;
  Work work() const override;

  std::string title() const override {
    return "A four-layer network trained on x1 x2 x3: losses and ranks of each method";
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  bool single_precision() const { return precision == "f32"; }
  /// GD, then those of --optimizer in its order, then with --equal-lr SpecGD with GD's learning
  /// rate.
  std::vector<Method> methods() const;
  /// All methods except GD.
  std::vector<Method> rivals() const;
  /// The method of this name, if the run has it.
  std::optional<Method> method(const std::string& name) const;
  /// The iterations at which ranks are measured: multiples of record_every, and the last.
  std::vector<double> iterations() const;
};

/// A loss above this multiple of the initial loss counts as divergence, as does a loss or gradient
/// that is not finite. No observed loss returned after it exceeded ten times the initial loss: from
/// there each step at least squares it.
inline constexpr double divergence_factor = 1000.0;

// Names of the scalars and series of a trial ------------------------------------------------------

/// "gd.loss" and "gd.W2.ratio"; layers count from 1.
struct MethodName {
  Measure what;
  Quantity operator()(const std::string& method) const { return At("method", method) / what; }
};
struct LayerName {
  const char* layers;
  Measure what;
  Quantity operator()(const std::string& method, std::size_t l) const {
    return At("method", method) / At("layer", l, say("{}{}", layers, l)) / what;
  }
};
inline constexpr MethodName loss_name{{"loss", "", "mean squared error"}},
    final_loss_name{{"final_loss", "", "mean squared error after the last step"}},
    diverged_name{{"diverged", "", "1 if the method diverged, else 0"}},
    diverged_at_name{{"diverged_at", "", "first iteration at which it counts as diverged"}};
inline constexpr LayerName stable_rank_name{
    "layer", {"stable_rank", "st(A)", "stable rank of the post-activations"}},
    nuclear_rank_name{"W", {"nuclear_rank", "nr(G)", "nuclear rank of the gradient of W"}},
    // The ratio of the two sides of eq. (1.8).
    ratio_name{"W", {"ratio", "nr(G) / st(A)", "nuclear rank over the stable rank of the input"}},
    condition_share_name{
        "W",
        {"condition_share", "", "share of the recorded iterations with a ratio of at least 1"}};
inline constexpr Measure stable_rank_X = {"X.stable_rank", "st(X)", "stable rank of the input"},
                         rank = {"rank", "", "rank of a matrix at the initial weights"};
/// The rank of A_l ("A") or of the gradient of W_l ("W") at the initial weights, which bounds its
/// stable or nuclear rank.
inline Quantity rank_name(const std::string& matrix, std::size_t l) {
  return At("matrix", matrix, say("{}{}", matrix, l)) / At("layer", l, "") / rank;
}

/// The initial phase, "when the nuclear rank of the gradient is large", consists of the recorded
/// iterations before the first at which GD violates nr(G_l) >= 2 st(A_(l-1)) for l = 2 or 3.
/// [Spectral] Section 1.2 guarantees that a spectral step is at least as good there. This is the
/// last iteration of the phase, NaN if the phase is empty.
inline constexpr Measure initial_phase_end = {"initial_phase_end", "t",
                                              "last iteration of the initial phase of GD"};
/// log10 of the method's loss over GD's at the end of GD's initial phase, and at the last
/// iteration; infinite if one of them diverged.
inline constexpr MethodName early_ratio_name{
    {"early_log10_loss_ratio", "",
     "log10 of the loss over GD's, at the end of GD's initial phase"}},
    final_ratio_name{{"final_log10_loss_ratio", "", "log10 of the final loss over GD's"}};

/// What a trial records of a method; values after a divergence are NaN. And all of a trial.
std::vector<Column> columns_of(const Config& config, const Method& method);
std::vector<Column> columns_of(const Config& config);

/// The loss at iteration t, infinite if the method has diverged: in a comparison, the trial counts
/// for the other method. The ratio of two infinite losses is undefined.
inline double loss_at(const TrialRecord& record, const std::string& method, std::size_t t) {
  const double loss = record.array(loss_name(method)).at(t);
  return std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss;
}

// Statements whose cases the trials count ---------------------------------------------------------

/// (1.8) is a criterion for a spectral step. The paper does not say that it is met at every
/// iteration, and it exempts X, so that the count is ours.
inline Statement condition(const Method& method, std::size_t layer) {
  return beyond(Statement{
      spectral::eq_1_8, say("spectral/eq-1.8/{}/W{}", method.name, layer),
      "Section 1.2.1, eq. (1.8)",
      say("The nuclear rank of the gradient of W_{} is at least the stable rank of {} at every "
          "recorded iteration of {}",
          layer, layer == 1 ? "X" : say("A_{}", layer - 1), method.label)});
}

/// What a figure shows of GD and SpecGD. The same statement about another method is ours. With a
/// threshold of ours, it is a reading.
inline Statement shown_of(const Method& method, const Statement& statement,
                          const std::string& threshold = {}) {
  if (!method.in_figures) return beyond(statement);
  return threshold.empty() ? statement : reading(statement, threshold);
}

/// Figure 1: stable ranks count as "small relative to the input dimension" below this fraction of
/// it.
inline constexpr double small_part = 0.1;
inline Statement small_stable_rank(const Method& method) {
  return shown_of(method,
                  Statement{spectral::fig_1, "spectral/fig-1/stable-rank-small/" + method.name,
                            "Section 1.1, Figure 1",
                            say("The stable ranks of the post-activations are below a tenth of the "
                                "input dimension at every recorded iteration of {}",
                                method.label),
                            Part::text, Kind::figure},
                  "a tenth of d, ours; the paper says \"small\"");
}

// The printed maximum is half of what the shapes allow, and less than the ranks of the matrices. A
// rank bounds the stable and nuclear rank, and a matrix with equal nonzero singular values attains
// it.
inline const Misprint largest_stable_rank =
    Place{spectral::fig_1, "/", "Figure 1, caption", Part::caption, Kind::printed_number}.misprint(
        spectral::fig_1_maximum, "maximum",
        "The largest possible stable rank of the post-activations is 256",
        "The largest possible stable rank of the post-activations is 4 d = n = 512, and their "
        "ranks are above 256");
inline const Misprint largest_nuclear_rank =
    Place{spectral::fig_4, "/", "Figure 4, caption", Part::caption, Kind::printed_number}.misprint(
        spectral::fig_4_maximum, "maximum",
        "The largest possible nuclear rank of the gradients is 128 at layer 1 and 256 at "
        "layers 2 and 3",
        "The largest possible nuclear rank of the gradients is 128 at layer 1 and 512 at "
        "layers 2 and 3, and the ranks of the gradients at layers 2 and 3 are above "
        "256");

// From a trial to the result ----------------------------------------------------------------------

/// Runs every method from the same weights, on the same samples. Trial 0 writes the files of
/// config.dump. Throws Failure if that fails.
TrialRecord run_trial(const Config& config, const Trial& trial);

/// Adds what follows from a trial's series and ranks: the scalars of the phase and of condition
/// (1.8), and the cases of the statements.
void count_cases(const Config& config, TrialRecord& record);

/// The archives of a dump in `folder`: activations, gradients.
std::vector<std::string> dump_files(const std::string& folder);

}  // namespace ranklab::mlp
