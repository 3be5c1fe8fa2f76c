#include "ranks/ranks.hpp"

#include <filesystem>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "ranks/ranks.hpp"
#include "run/once_per_run.hpp"

namespace ranklab {
namespace ranks {
namespace {

// The result file stores the flags as text.
void require_printable(const std::string& flag, const std::string& text) {
  if (printable(text) != text) {
    throw UsageError(
        flag + ": '" + printable_key(text) +
        "' is not allowed; allowed: UTF-8 without control characters; rename the file");
  }
}

void require_archive(const std::string& flag, const std::string& path) {
  if (path.empty() || path.ends_with(".npz") || path.ends_with(".safetensors")) return;
  throw UsageError(flag + ": '" + printable_key(path) +
                   "' is not allowed; allowed: a .npz or .safetensors file");
}

class RanksStudy : public Study {
 public:
  std::vector<Field> flags() override {
    RanksConfig& c = config_;
    return {
        text_field("activations", c.activations,
                   "archive of activations (k x n), paired by key with --gradients"),
        text_field("gradients", c.gradients, "archive of gradients (m x k)"),
        one_per_flag(text_list_field(
            "from", c.from,
            "recording of ranklab.record() (a .safetensors file), or a folder of recordings "
            "step<N>.safetensors or step<N>.batch<B>.safetensors")),
        one_per_flag(text_list_field("include", c.include,
                                     "globs: measure only matrices with a matching name")),
        one_per_flag(
            text_list_field("exclude", c.exclude, "globs: skip matrices with a matching name")),
        one_per_flag(
            text_list_field("split", c.split,
                            "NAME=PARTS: cut the rows of a gradient or weight into NAME.1, NAME.2, "
                            "... (a fused qkv); 3: equal parts; 32+8+8: in "
                            "proportion; 3@16: interleaved in 16 groups; NAME may be a glob")),
        size_field("heads", c.heads, 1, most_parts, "",
                   "number of heads to cut each part of the split layers into, NAME.1.1, NAME.1.2, "
                   "...; without --split, every layer. Cuts rows: an output map has its heads in "
                   "columns"),
        one_per_flag(
            text_list_field("fail-if", c.fail_if,
                            "GLOB: ratio<X or GLOB: ratio>X: exit with status 3 if nr/st of a "
                            "matching layer satisfies the condition at any step, or the layer is "
                            "not judged")),
        text_field("weights-only", c.weights_only,
                   "archive, index.json of shards or folder of shards of weights: report stable, "
                   "nuclear and effective rank of each matrix, next to those of a random one"),
    };
  }

  void check() const override {
    using Texts = std::vector<std::string>;
    const RanksConfig& c = config_;
    for (const auto& [flag, texts] :
         {std::pair("--include", c.include), std::pair("--exclude", c.exclude),
          std::pair("--split", c.split), std::pair("--activations", Texts{c.activations}),
          std::pair("--gradients", Texts{c.gradients}), std::pair("--from", c.from),
          std::pair("--fail-if", c.fail_if), std::pair("--weights-only", Texts{c.weights_only})}) {
      for (const std::string& text : texts) require_printable(flag, text);
    }
    require_archive("--activations", c.activations);
    require_archive("--gradients", c.gradients);
    std::error_code error;
    if (!c.weights_only.ends_with(".json") && !std::filesystem::is_directory(c.weights_only, error))
      require_archive("--weights-only", c.weights_only);
    gates_of(c);
    splits_of(c);
    if (c.activations.empty() != c.gradients.empty())
      throw UsageError(
          "--activations, --gradients: one without the other is not allowed; an archive alone is "
          "read as weights");
    const int sources = (c.activations.empty() ? 0 : 1) + (c.from.empty() ? 0 : 1) +
                        (c.weights_only.empty() ? 0 : 1);
    if (sources != 1)
      throw UsageError(
          "ranks needs one source of matrices: recordings (--from FILE|FOLDER), --activations FILE "
          "--gradients FILE, or --weights-only FILE|FOLDER" +
          std::string(sources > 1 ? ", not several" : ""));
    if (!c.weights_only.empty() && !c.fail_if.empty())
      throw UsageError(
          "--weights-only: not allowed with --fail-if, because weights alone have no ratio");
  }

  // The first call that reads the files: errors in them are reported before anything is written.
  Estimate memory() const override { return estimate_of(plan()); }

  Work work() const override {
    // Further trials would repeat the first.
    const auto measured = std::make_shared<OncePerRun<TrialRecord>>();
    return each_trial([measured, &planned = plan()](Trial& trial) {
      return measured->get([&] {
        TrialRecord record = run_trial(planned, trial);
        const Rows all = rows_of(planned, record);
        if (all.rows.empty()) throw Failure(no_layer_left_message(all.skipped));
        return record;
      });
    });
  }

  std::string title() const override {
    return is_of_weights(plan()) ? "Spectra of weights" : "Ranks of activations and gradients";
  }
  void derive(Numbers& out) const override { ranks::derive(plan(), out); }
  void judge(const Records& records, Claims& claims) const override {
    ranks::judge(plan(), records, claims);
  }
  void show(Display& out) const override { ranks::show(plan(), gates_of(config_), out); }

 private:
  const Plan& plan() const {
    if (!plan_) {
      plan_ = plan_of(config_);
      require_layers(gates_of(config_), *plan_);
    }
    return *plan_;
  }

  RanksConfig config_;
  mutable std::optional<Plan> plan_;
};

}  // namespace

}  // namespace ranks

std::unique_ptr<Study> make_ranks_study() {
  return std::make_unique<ranks::RanksStudy>();
}

const Experiment& ranks_experiment() {
  static const Experiment experiment = {
      "ranks",
      "the ranks of your own matrices",
      {{"files", "your own activations, gradients and weights, layer by layer", 1,
        make_ranks_study}}};
  return experiment;
}

}  // namespace ranklab
