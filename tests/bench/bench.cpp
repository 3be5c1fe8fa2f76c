// Speed of the building blocks compared with the machine's limits, and of one step of Figure 3
// compared with the authors' method: n-sized gradients and a full singular value decomposition at
// each step, with the same BLAS on one thread. Prints `name value unit` lines; bench.py makes the
// table.

#include <algorithm>
#include <armadillo>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "core/random.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "linalg/blas.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/polar.hpp"
#include "linalg/spectra.hpp"
#include "models/random_features.hpp"
#include "nn/optimizers/steps.hpp"
#include "tiny_checkpoint.hpp"

namespace {

using namespace ranklab;

// Seconds per call in the fastest of several batches, as the machine may be busy.
double seconds_per_call(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  call();
  double best = 1e300;
  for (int batch = 0; batch < 7; ++batch) {
    const auto start = Clock::now();
    int calls = 0;
    std::chrono::duration<double> elapsed{};
    do {
      call();
      ++calls;
      elapsed = Clock::now() - start;
    } while (elapsed.count() < 0.05);
    best = std::min(best, elapsed.count() / calls);
  }
  return best;
}

void print(const std::string& name, double value, const char* unit) {
  std::printf("%s\t%.4g\t%s\n", name.c_str(), value, unit);
}

void random_numbers() {
  std::vector<double> values(100'000);
  Stream stream(1, 0, "X");
  const double normal = seconds_per_call([&] { stream.fill_normal(values); });
  const double copy = seconds_per_call([&] { std::fill(values.begin(), values.end(), 1.0); });
  print("normal draws", normal / static_cast<double>(values.size()) * 1e9, "ns each");
  print("filling memory, for comparison", copy / static_cast<double>(values.size()) * 1e9,
        "ns each");
}

void decompositions(arma::uword n) {
  const Streams trial(1, 0);
  const arma::mat G = draw_gaussian<double>(trial, "G", n, n, 1.0);
  arma::mat product;
  const std::string size = std::to_string(n) + " x " + std::to_string(n);
  const double gemm = seconds_per_call([&] { product = G * G; });
  const double svd = seconds_per_call([&] { thin_svd(G); });
  const double polar = seconds_per_call([&] { polar_factor(G); });
  const double values = seconds_per_call([&] { nuclear_rank(G); });
  print("matrix product " + size, 2e-9 * static_cast<double>(n * n * n) / gemm, "GFLOP/s");
  print("singular value decomposition " + size, svd * 1e3, "ms");
  print("polar factor " + size, polar * 1e3, "ms");
  print("polar factor against the SVD " + size, svd / polar, "times as fast");
  print("nuclear rank " + size, values * 1e3, "ms");
}

void figure_3_step() {
  const Streams trial(1, 0);
  const FeatureSizes sizes;
  const arma::mat A = draw_random_features<double>(trial, sizes, "relu", 0.14);
  const arma::mat W_sharp = draw_gaussian<double>(trial, "W_sharp", sizes.m, sizes.k, 0.1);
  const auto problem = regression_problem(A, W_sharp);
  const arma::mat Y = W_sharp * A, W = draw_gaussian<double>(trial, "W", sizes.m, sizes.k, 0.1);
  const arma::mat E = (W - W_sharp) * problem.basis;
  const double n = static_cast<double>(sizes.n);
  arma::mat next;
  const double ours = seconds_per_call([&] {
    const arma::mat G = problem.gradient(E);
    next = E + spectral_step(G, problem.L_op, -1.0).step;
  });
  const double theirs = seconds_per_call([&] {
    const arma::mat residual = W * A - Y, G = residual * A.t() / n;
    const Svd<double> svd = thin_svd(G);
    next = W - arma::accu(svd.s) / problem.L_op * (svd.U * svd.V.t());
  });
  print("Figure 3, one SpecGD step", ours * 1e3, "ms");
  print("Figure 3, the authors' way", theirs * 1e3, "ms");
  print("Figure 3, gain", theirs / ours, "times as fast");
}

// The linear maps of a layer of mamba2-130m, applied to one sequence of 128 tokens at a time,
// compared with a large square product.
void layer_products() {
  const Streams trial(1, 0);
  const auto rate = [&](arma::uword inputs, arma::uword outputs, arma::uword tokens) {
    const arma::fmat W = draw_gaussian<float>(trial, "W", inputs, outputs, 1.0),
                     X = draw_gaussian<float>(trial, "X", inputs, tokens, 1.0);
    arma::fmat product;
    return 2e-9 * static_cast<double>(inputs * outputs * tokens) /
           seconds_per_call([&] { product = W.t() * X; });
  };
  const double square = rate(2048, 2048, 2048), in = rate(768, 3352, 128),
               out = rate(1536, 768, 128);
  print("f32 matrix product 2048 x 2048", square, "GFLOP/s");
  print("f32 product of a layer, 768 to 3352, 128 tokens", in / square * 100, "% of it");
  print("f32 product of a layer, 1536 to 768, 128 tokens", out / square * 100, "% of it");
}

}  // namespace

// Input for timing `one-step-compare --study files`: a layer of 4096 x 4096 and 65536 samples in
// single precision.
void write_layer(const std::string& folder) {
  for (const auto& [name, columns] : {std::pair{"activation", 65536u}, {"gradient", 4096u}}) {
    arma::fmat A(4096, columns);
    arma::vec column(4096);
    Stream stream(1, 0, name);
    for (arma::uword j = 0; j < columns; ++j) {
      stream.fill_normal({column.memptr(), column.n_elem});
      A.col(j) = arma::conv_to<arma::fvec>::from(column);
    }
    write_npy(folder + "/" + name + ".npy", A);
  }
}

// Input for timing `rank-collapse --weights`: the sizes of mamba2-130m, or those of mamba2-2.7b
// with more layers and width.
void write_mamba2(const std::string& path, std::uint64_t layers, std::uint64_t dim) {
  TinySizes sizes;
  sizes.layers = layers;
  sizes.dim = dim;
  sizes.heads = 2 * dim / 64;
  sizes.state = 128;
  sizes.vocabulary = 50288;
  write_synthetic_mamba2(path, sizes, Dtype::f16);
}

// Given a folder, writes a large layer and weights there instead of measuring. Given a path, layers
// and width, writes weights of these sizes.
int main(int argc, char** argv) {
  if (argc == 4) {
    write_mamba2(argv[1], std::stoul(argv[2]), std::stoul(argv[3]));
    return 0;
  }
  if (argc > 1) {
    write_layer(argv[1]);
    write_mamba2(std::string(argv[1]) + "/mamba2.safetensors", 24, 768);
    return 0;
  }
  set_blas_threads(1);
  random_numbers();
  decompositions(100);
  decompositions(512);
  figure_3_step();
  layer_products();
  return 0;
}
