#include "experiments/rank_collapse/describe.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <type_traits>

#include "experiments/rank_collapse/depth_run.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "io/atomic_file.hpp"
#include "linalg/blas.hpp"
#include "models/checkpoint.hpp"
#include "report/environment.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t sequence = 128;  // tokens, for what depends on them

// Multiplications and additions per second of one core, in products of the size of a layer's.
template <class T>
double product_rate(std::uint64_t dim) {
  set_blas_threads(1);
  const arma::uword d = std::clamp<arma::uword>(dim, 256, 2048);
  const arma::Mat<T> W(d, d, arma::fill::ones), X(d, sequence, arma::fill::ones);
  arma::Mat<T> Y = W.t() * X;  // the first product starts the library
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    Y = W.t() * X;
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * static_cast<double>(d) * static_cast<double>(d) * static_cast<double>(sequence) / best;
}

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string bytes_text(double bytes) {
  return bytes < 1e9 ? formatted("%.0f MB", std::max(1.0, bytes / 1e6)) : formatted("%.2f GB", bytes / 1e9);
}

std::string line(const std::string& name, const std::string& text) {
  return "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + text + "\n";
}

std::string sizes_text(const ModelSpec& spec) {
  const auto number = [](std::uint64_t n) { return grouped_digits(n); };
  std::string text =
      number(spec.layers) + " blocks" + (spec.shares_weights() ? " of the same weights" : "") + ", dim " + number(spec.dim);
  if (spec.model == "mamba2") {
    text += ", " + number(spec.heads) + " heads of " + number(2 * spec.dim / spec.heads) + ", state " + number(spec.state);
  } else {
    text += ", ffn " + number(spec.ffn) + ", " + number(spec.positions) + " positions";
  }
  if (spec.model == "albert") text += ", embedding " + number(spec.embedding);
  return text + ", vocabulary " + number(spec.vocabulary);
}

// Two layers at once as T, one sequence and what it is worked with.
std::string memory_text(const Estimate& cost, double bytes_per_number) {
  return bytes_text((cost.shared_bytes + cost.bytes) * bytes_per_number / 8) + " in " + (bytes_per_number == 8 ? "f64" : "f32");
}

}  // namespace

std::string describe_weights(const std::string& path) {
  ModelSpec spec;
  spec.weights = path;
  adopt_files(spec);
  const bool knows_heads = spec.heads > 0, knows_layers = spec.model != "albert";
  if (!knows_layers) spec.layers = 12;
  settle(spec);
  spec.checkpoint->check(spec);
  const Checkpoint& weights = *spec.checkpoint;

  DepthGroup one{spec, {DepthCurve{"", {1.0}, {}}}};
  one.spec.tokens = sequence;
  const Estimate cost = depth_cost({one});
  const double K = static_cast<double>(spec.layers), flops = K * flops_per_block(one.spec) / static_cast<double>(sequence);
  const double cores = static_cast<double>(available_cores());
  std::string out = printable(path) + ": " + weights.model() + "\n";
  out += line("sizes", sizes_text(spec));
  out += line("parameters", grouped_digits(weights.parameters()) + " in " + weights.dtypes() + ", " +
                                bytes_text(static_cast<double>(weights.bytes())));
  out += line("memory", memory_text(cost, 4) + ", " + memory_text(cost, 8) + ", beside the file's pages in the system's cache");
  out += line("work", formatted("%.3g", flops / 1e9) + " GFLOP per token" + (knows_layers ? "" : " at 12 blocks"));
  for (const bool single : {true, false}) {
    const double rate = single ? product_rate<float>(spec.dim) : product_rate<double>(spec.dim);
    const double seconds = cost.flops / (rate * cores);
    out += line(single ? "time" : "", "about " + formatted("%.2g", seconds) + " s in " + (single ? "f32" : "f64") +
                                          " for each sequence of " + std::to_string(sequence) + " tokens and each lambda (" +
                                          formatted("%.0f", cores) + (cores == 1 ? " core" : " cores") + " at " +
                                          formatted("%.0f", rate / 1e9) + " GFLOP/s, measured)");
  }
  out += line("to run", "ranklab rank-collapse --model " + weights.model() + " --weights " + printable(path) +
                            (knows_heads ? "" : " --model-config config.json") + " --tokens-file IDS --precision f32");
  return out;
}

}  // namespace ranklab
