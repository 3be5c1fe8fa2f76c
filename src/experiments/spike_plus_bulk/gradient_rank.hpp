// For the tests of the study gradient-rank.
#pragma once

#include "experiments/kit.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"

namespace ranklab::gradient_rank {

/// The shapes at one k: X (d, n); V, V-bar (k, d); A, A-bar (k, n); W (m, k).
struct Size {
  std::uint64_t m, k, d, n;
  At place() const { return {"k", k, say("k{}", k)}; }
  /// A number at this k: "k64.nuclear_rank".
  Quantity at(const Measure& measure) const { return place() / measure; }
};

struct Config : Study {
  Config(LabelModel of = LabelModel::realizable) : model(of) {}

  LabelModel model;
  std::string activation = "relu";  // sigma; swiglu is gated and draws a second V
  std::vector<std::uint64_t> k = {64, 128, 256, 512};  // features
  double d_ratio = 0.5;        // d / k, input dimension over features; d is rounded
  double n_ratio = 2.0;        // n / k, samples over features; n is rounded
  std::uint64_t m = 0;         // rows of W; 0: m = k
  std::uint64_t steps = 1024;  // T, the last iteration
  std::vector<std::string> sample_steps = {
      "all"};      // iterations to record, from 0 to T; or the one word "all"
  double c = 1.0;  // eta = 1 / (c ||B||); below 1/2 gradient descent diverges

  std::vector<Field> flags() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override;
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  bool teacher() const { return model == LabelModel::teacher; }
  /// By k, ascending. Throws a UsageError that names the flags if d or n would round to 0.
  std::vector<Size> sizes() const;
  std::vector<double> sorted_k() const;
  bool samples_all() const;
  /// The iterations to record, ascending. Throws a UsageError if --sample-steps is neither "all"
  /// nor a list of different integers from 0 to --steps.
  std::vector<std::uint64_t> sampled() const;
};

}  // namespace ranklab::gradient_rank
