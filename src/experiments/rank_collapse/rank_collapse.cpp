#include "experiments/rank_collapse/rank_collapse.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>

#include "core/machine.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "linalg/blas.hpp"
#include "linalg/similarity.hpp"
#include "nn/checkpoints/checkpoint.hpp"

namespace ranklab {
namespace {

// --describe FILE ---------------------------------------------------------------------------------

constexpr std::uint64_t sequence = 128;  // tokens per sequence for the estimates

// Seconds of one core for a sequence and one lambda: the measured time to read and run the first
// block, times the number of blocks.
template <class T>
double seconds_per_sequence(const ModelSpec& spec) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  set_blas_threads(1);
  reserve_blas_buffers(1);
  const Trial trial(1, 0, 0);
  const State<T> input = draw_input<T>(spec, trial);
  double reading = std::numeric_limits<double>::infinity(), running = reading;
  // The fastest of a few repeats, because the first one starts the library and fills the file
  // cache of the system.
  for (int repeat = 0; repeat < 3; ++repeat) {
    auto start = Clock::now();
    const std::unique_ptr<Block<T>> block =
        make_block<T>(spec, *tensors_of_layer<T>(spec, trial, 0));
    reading = std::min(reading, since(start));
    State<T> state = input;
    start = Clock::now();
    block->forward(state, 1.0);
    token_geometry(state.Y);
    running = std::min(running, since(start));
  }
  const double reads = spec.shares_weights() ? 1 : static_cast<double>(spec.layers);
  return static_cast<double>(spec.layers) * running +
         reads * reading / static_cast<double>(trials_per_batch(spec));
}

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string bytes_text(double bytes) {
  return bytes < 1e9 ? formatted("%.0f MB", std::max(1.0, bytes / 1e6))
                     : formatted("%.2f GB", bytes / 1e9);
}

std::string line(const std::string& name, const std::string& text) {
  return "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + text + "\n";
}

std::string sizes_text(const ModelSpec& spec) {
  const auto number = [](std::uint64_t n) { return grouped_count(static_cast<double>(n)); };
  std::string text = say("{} blocks{}, dim {}", number(spec.layers),
                         spec.shares_weights() ? " with shared weights" : "", number(spec.dim));
  const ModelRow& row = spec.row();
  if (row.has("mlp")) {
    text += ", ffn " + number(spec.ffn);
  } else {
    text += say(", {} heads of {}, state {}", number(spec.heads),
                number(row.expand * spec.dim / spec.heads), number(spec.state));
  }
  if (row.has_positions) text += ", " + number(spec.positions) + " positions";
  if (row.embeds_narrowly) text += ", embedding " + number(spec.embedding);
  return text + ", vocabulary " + number(spec.vocabulary);
}

// Two layers, one sequence and its working memory, in one precision.
std::string memory_text(const Estimate& cost, double bytes_per_number) {
  return bytes_text((cost.shared_bytes + cost.bytes) * bytes_per_number / 8) + " in " +
         (bytes_per_number == 8 ? "f64" : "f32");
}

// Describes published weights and the cost of running them, as lines for a terminal: the model, its
// sizes, its parameters and their type, the memory of a run, the operations per token, and the
// seconds per sequence on this machine, estimated from one timed block. Throws Failure for a file
// that Checkpoint cannot open.
std::string describe_weights(const std::string& path) {
  ModelSpec spec;
  spec.weights = path;
  spec.ignore_tensors = {"*"};
  adopt_files(spec);
  const bool knows_heads = spec.heads > 0, knows_layers = !spec.row().published->one_layer;
  if (!knows_layers) spec.layers = 12;
  resolve_defaults(spec);
  spec.checkpoint->check(spec);
  const Checkpoint& weights = *spec.checkpoint;

  DepthGroup one{spec, {DepthPath{{}, {1.0}}}};
  one.spec.tokens = spec.row().has_positions ? std::min(sequence, spec.positions) : sequence;
  const Estimate cost = depth_cost({one});
  const double flops = static_cast<double>(spec.layers) * flops_per_block(one.spec) /
                       static_cast<double>(one.spec.tokens);
  const double cores = static_cast<double>(available_cores());
  std::string out = printable(path) + ": " + weights.model() + "\n";
  out += line("sizes", sizes_text(spec));
  if (spec.row().has("ssm-groups"))
    out += line("groups", "1 (assumed; --model-config or --ssm-groups N changes it)");
  if (!weights.unknown().empty())
    out += line("unused", listed(weights.unknown()) + "; a run requires --ignore-tensors for them");
  out += line("parameters",
              say("{} in {}, {}", grouped_count(static_cast<double>(weights.parameters())),
                  weights.dtypes(), bytes_text(static_cast<double>(weights.bytes()))));
  out += line("memory", say("{}, {}, in addition to the file cache of the system",
                            memory_text(cost, 4), memory_text(cost, 8)));
  out += line("work", formatted("%.3g", flops / 1e9) + " GFLOP per token" +
                          (knows_layers ? "" : " at 12 blocks"));
  for (const bool single : {true, false}) {
    const double seconds =
        (single ? seconds_per_sequence<float>(one.spec) : seconds_per_sequence<double>(one.spec)) /
        cores;
    out += line(single ? "time" : "",
                say("about {} s in {} for a sequence of {} tokens and one lambda, on {} {} "
                    "(estimated from one block)",
                    formatted("%.2g", seconds), single ? "f32" : "f64", one.spec.tokens,
                    formatted("%.0f", cores), cores == 1 ? "core" : "cores"));
  }
  out +=
      line("to run",
           say("ranklab rank-collapse --model {} --weights {}{} --tokens-file IDS --precision f32",
               weights.model(), printable(path), knows_heads ? "" : " --model-config config.json"));
  return out;
}

}  // namespace

// The studies -------------------------------------------------------------------------------------

Experiment rank_collapse_experiment() {
  return {
      "rank-collapse",
      "token representations over depth: lambda-skip connections, token similarity escalation",
      {
          {"layers",
           "token geometry after every layer ([LambdaSkip] Figure 1; [Shallow] Figures 1, 4, 5)", 8,
           make_layers_study},
          {"lambda-sweep",
           "last layer for each skip strength, and the smallest strength that prevents collapse "
           "([LambdaSkip] Figure 2)",
           8, make_lambda_sweep_study},
          {"ablation",
           "effect of removing the gate, the skip and the norm ([LambdaSkip] Figures 3, 4)", 8,
           make_ablation_study},
          {"escalation",
           "token similarity over depth, and the effect of each step of a Transformer block "
           "([Shallow] Figure 2)",
           50, make_escalation_study},
          {"escalation-rate",
           "expected escalation if only W is redrawn, compared with its estimates ([Shallow] "
           "Figure 3)",
           1000, make_escalation_rate_study},
          {"eta",
           "how closely xi_1/xi_2 follows the ratio of expectations, E[xi_1]/E[xi_2] ([Shallow] "
           "Figure 8)",
           50, make_eta_study},
          {"escalation-lemmas",
           "the lemmas behind the expected escalation, and doubly stochastic attention ([Shallow] "
           "Lemmas A.2 to A.5, Proposition 2.5, Corollary 2.7)",
           4000, make_escalation_lemmas_study},
          {"spectral-gap",
           "second eigenvalues of random stochastic matrices and of attention before training "
           "([Shallow] Section 2.5)",
           40, make_spectral_gap_study},
          {"bounds",
           "theorems about mu, checked on random stacks ([LambdaSkip] Theorems 4.1 to 4.3, A.2 to "
           "A.10)",
           8, make_bounds_study},
          {"examples",
           "two-token systems, iterated and compared with exact forms ([LambdaSkip] Propositions "
           "A.10.1, 4.3.1, 4.3.2)",
           1, make_examples_study},
          {"train",
           "effect of lambda, and of removing the mean token, on learning: recall, images, text "
           "([LambdaSkip] Table 1, Figure 5; [Shallow] Figures 6, 7)",
           5, make_train_study},
      },
      {{"describe",
        "describe published weights (.safetensors, or the index.json of shards) and estimate the "
        "cost of running them",
        describe_weights}}};
}

}  // namespace ranklab
