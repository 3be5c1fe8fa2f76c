// Speed of the building blocks compared with the machine's limits, and of one step of Figure 3
// compared with the authors' method: n-sized gradients and a full singular value decomposition at
// each step, with the same BLAS on one thread. Prints `name value unit` lines for bench.py; the
// names of the limits start with "limit". Times are CPU times.

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <utility>

#include "core/random.hpp"
#include "ensembles/random_features.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/stored_bytes.hpp"
#include "linalg/blas.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/polar.hpp"
#include "linalg/spectra.hpp"
#include "nn/gpt.hpp"
#include "nn/optimizers/newton_schulz.hpp"
#include "nn/optimizers/steps.hpp"
#include "nn/tensors_to_write.hpp"
#include "nn/trainer.hpp"
#include "tiny_checkpoint.hpp"

namespace {

using namespace ranklab;

// CPU seconds of this process, which has one thread.
double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// CPU seconds per call in the fastest of several batches, as the machine may be busy.
double seconds_per_call(const std::function<void()>& call) {
  call();
  double best = 1e300;
  for (int batch = 0; batch < 7; ++batch) {
    const double start = cpu_seconds();
    double elapsed = 0;
    int calls = 0;
    do {
      call();
      ++calls;
      elapsed = cpu_seconds() - start;
    } while (elapsed < 0.05);
    best = std::min(best, elapsed / calls);
  }
  return best;
}

void print(const std::string& name, double value, const char* unit) {
  std::printf("%s\t%.4g\t%s\n", name.c_str(), value, unit);
}

// What the machine does at most, on one thread: products, LAPACK's singular values (8/3 n^3
// operations), and a[i] = b[i] + 3 c[i] over arrays that do not fit into the caches.
void limits() {
  const Streams trial(1, 0);
  const arma::mat G = draw_gaussian<double>(trial, "G", 1024, 1024, 1.0),
                  small = draw_gaussian<double>(trial, "G", 512, 512, 1.0);
  const arma::fmat F = draw_gaussian<float>(trial, "G", 2048, 2048, 1.0);
  const auto rate = [](double operations, double seconds) { return 1e-9 * operations / seconds; };
  arma::mat product;
  arma::fmat single;
  print("limit dgemm", rate(2 * std::pow(1024.0, 3), seconds_per_call([&] { product = G * G; })),
        "GFLOP/s");
  print("limit sgemm", rate(2 * std::pow(2048.0, 3), seconds_per_call([&] { single = F * F; })),
        "GFLOP/s");
  print("limit svd",
        rate(8.0 / 3 * std::pow(512.0, 3), seconds_per_call([&] { singular_values(small); })),
        "GFLOP/s");
  std::vector<double> a(std::size_t{1} << 23), b(a.size(), 1.0), c(a.size(), 2.0);
  const double triad = seconds_per_call([&] {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] + 3 * c[i];
  });
  print("limit bandwidth", rate(24.0 * static_cast<double>(a.size()), triad), "GB/s");
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
  const arma::mat A = draw_random_features(trial, sizes, "relu", 0.14);
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
  const arma::fmat G(256, 1024, arma::fill::randn);
  print("Newton-Schulz, f32, 256 x 1024", seconds_per_call([&] { newton_schulz(G); }) * 1e3, "ms");
  const double square = rate(2048, 2048, 2048), in = rate(768, 3352, 128),
               out = rate(1536, 768, 128);
  print("f32 matrix product 2048 x 2048", square, "GFLOP/s");
  print("f32 product of a layer, 768 to 3352, 128 tokens", in / square * 100, "% of it");
  print("f32 product of a layer, 1536 to 768, 128 tokens", out / square * 100, "% of it");
}

}  // namespace

// Input for timing `ranks` and, as .npy, its peer: the archives
// <folder>/activation<side>.safetensors of a matrix side x samples and gradient<side>.safetensors,
// side x side, in single precision. The archives called pair-... have it twice.
void write_layer(const std::string& folder, arma::uword side, arma::uword samples) {
  for (const auto& [name, columns] :
       {std::pair{"activation", samples}, std::pair{"gradient", side}}) {
    arma::fmat A(side, columns);
    arma::vec column(side);
    Stream stream(1, 0, name);
    for (arma::uword j = 0; j < columns; ++j) {
      stream.fill_normal({column.memptr(), column.n_elem});
      A.col(j) = arma::conv_to<arma::fvec>::from(column);
    }
    const std::string stem = folder + "/" + name + std::to_string(side);
    write_file_atomically(
        stem + ".npy", npy("<f4", "(" + std::to_string(side) + ", " + std::to_string(columns) + ")",
                           bytes_of<float>(A.st())));
    write_safetensors(stem + ".safetensors", {tensor<float>("layer", A)});
    const std::string pair = folder + "/pair-" + name + std::to_string(side) + ".safetensors";
    write_safetensors(pair, {tensor<float>("first", A), tensor<float>("second", A)});
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

// CPU seconds of a training step with Adam of the size of GPT-2 with 124 million parameters, but
// with an untied head and without gains and biases, on 4 sequences of 64 tokens: the median after
// two steps of warm-up.
void gpt2_step(std::size_t steps) {
  SequenceShape shape = gpt_shape(find_activation("gelu"), Norm::layer, true, false);
  shape.vocabulary = 50257;
  shape.layers = shape.heads = 12;
  shape.dim = 768;
  shape.hidden = 4 * 768;
  shape.length = 64;
  const Streams streams(1, 0);
  SequenceModel<float> model(shape, gpt_initial_weights("gpt2", shape, streams));
  std::vector<Trainer<float>::Trained> trained;
  for (const auto& weight : gpt_weights(model))
    trained.push_back({{weight.parameter}, {.rule = Rule::adam}, 1e-3});
  Trainer<float> trainer(model, trained);
  Stream stream = streams.stream("batches");
  std::vector<std::uint32_t> text(4096);  // random, because the time does not depend on the tokens
  for (std::uint32_t& id : text)
    id = static_cast<std::uint32_t>(stream.uniform() * static_cast<double>(shape.vocabulary));
  std::vector<double> seconds;
  for (std::size_t t = 0; t < steps + 2; ++t) {
    const double start = cpu_seconds();
    trainer.gradients(next_token_batch<float>(draw_windows(text, 4, shape.length, stream)),
                      [](const auto&...) {});
    trainer.step(1.0);
    if (t >= 2) seconds.push_back(cpu_seconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf(R"({"seconds": %.6g, "scalars": {}, "series": {}})"
              "\n",
              seconds.at(steps / 2));
}

// Without arguments, measures. `layer FOLDER SIDE SAMPLES` and `mamba2 PATH LAYERS WIDTH` write
// inputs instead; `gpt2 STEPS` prints a report like those of tests/peers.
int main(int argc, char** argv) {
  if (argc == 5) {
    const std::string what = argv[1], path = argv[2];
    const auto first = std::stoul(argv[3]), second = std::stoul(argv[4]);
    if (what == "layer") write_layer(path, first, second);
    if (what == "mamba2") write_mamba2(path, first, second);
    return 0;
  }
  set_blas_threads(1);
  if (argc == 3 && argv[1] == std::string("gpt2")) {
    gpt2_step(std::stoul(argv[2]));
    return 0;
  }
  limits();
  random_numbers();
  decompositions(100);
  decompositions(512);
  figure_3_step();
  layer_products();
  return 0;
}
