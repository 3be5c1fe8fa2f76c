#include "experiments/ranks/ranks.hpp"

#include <filesystem>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/ranks/ranks.hpp"
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
  throw UsageError(
      flag + ": '" + printable_key(path) +
      "' is not allowed; allowed: a .npz or .safetensors file (pass a .npy file to --pair)");
}

class FilesStudy : public Study {
 public:
  std::vector<Field> flags() override {
    FilesConfig& c = config_;
    return {
        one_per_flag(text_list_field("pair", c.pair,
                                     "NAME,ACTIVATION_FILE,GRADIENT_FILE: .npy, .npz:key or "
                                     ".safetensors:key; one file name may be "
                                     "empty")),
        one_per_flag(text_list_field(
            "manifest", c.manifest,
            "JSON file: {\"step\", \"pairs\": [{\"name\", \"activation\" or \"second_moment\" with "
            "\"samples\", \"gradient\"}]}; paths are relative to it; one file per step")),
        text_field(
            "activations", c.activations,
            "archive of activations, paired by key with --gradients; alone: stable ranks only"),
        text_field("gradients", c.gradients, "archive of gradients; alone: nuclear ranks only"),
        one_per_flag(text_list_field(
            "from", c.from,
            "recording of ranklab.record() (a .safetensors file), or a folder of recordings "
            "step<N>.safetensors or step<N>.batch<B>.safetensors")),
        switch_field("transpose-activations", c.transpose_activations,
                     "read activations as n x k: one sample per row, as in PyTorch"),
        switch_field("transpose-gradients", c.transpose_gradients,
                     "read gradients as k x m, as in Conv1D of transformers"),
        switch_field("allow-repeats", c.allow_repeats,
                     "accept repeated samples (tokens, flags) instead of taking them for padding "
                     "that the loss ignores"),
        one_per_flag(text_list_field("include", c.include,
                                     "globs: measure only pairs with a matching name")),
        one_per_flag(
            text_list_field("exclude", c.exclude, "globs: skip pairs with a matching name")),
        one_per_flag(
            text_list_field("split", c.split,
                            "NAME=PARTS: cut the gradient's rows into NAME.1, NAME.2, ... (a fused "
                            "qkv); 3: equal parts; 32+8+8: in "
                            "proportion; 3@16: interleaved in 16 groups; NAME may be a glob")),
        one_per_flag(text_list_field("split-columns", c.split_columns,
                                     "NAME=PARTS: cut the gradient's columns and the matching rows "
                                     "of the activation (the heads of an "
                                     "output projection)")),
        one_per_flag(text_list_field("experts", c.experts,
                                     "globs: read 3-D tensors as stacks of matrices NAME.1, "
                                     "NAME.2, ...; needed if no activation tells "
                                     "them from convolutions")),
        size_field("heads", c.heads, 1, most_parts, "",
                   "number of heads to cut each part of the split layers into, NAME.1.1, NAME.1.2, "
                   "...; without --split, every layer"),
        one_per_flag(
            text_list_field("fail-if", c.fail_if,
                            "GLOB: ratio<X or GLOB: ratio>X: exit with status 3 if nr/st of a "
                            "matching layer satisfies the condition, or the layer is not judged")),
        text_field("weights-only", c.weights_only,
                   "archive, index.json of shards or folder of shards of weights: report stable, "
                   "nuclear and effective rank of each matrix, next to those of a random one"),
    };
  }

  void check() const override {
    using Texts = std::vector<std::string>;
    const FilesConfig& c = config_;
    for (const auto& [flag, texts] :
         {std::pair("--pair", c.pair), std::pair("--include", c.include),
          std::pair("--exclude", c.exclude), std::pair("--split", c.split),
          std::pair("--manifest", c.manifest), std::pair("--split-columns", c.split_columns),
          std::pair("--experts", c.experts), std::pair("--activations", Texts{c.activations}),
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
    for (const std::string& text : c.pair) parse_pair(c, text);
    splits_of(c);
    column_splits_of(c);
    const bool no_pairs = c.pair.empty() && c.manifest.empty() && c.activations.empty() &&
                          c.gradients.empty() && c.from.empty();
    if (!c.weights_only.empty()) {
      if (!no_pairs)
        throw UsageError(
            "--weights-only: not allowed with --pair, --manifest, --activations, --gradients or "
            "--from");
      if (!c.fail_if.empty())
        throw UsageError(
            "--weights-only: not allowed with --fail-if, because weights alone have no ratio");
    } else if (no_pairs) {
      throw UsageError(
          "ranks needs matrices: --from FILE|FOLDER, --pair "
          "NAME,ACTIVATION_FILE,GRADIENT_FILE, "
          "--manifest FILE.json, or "
          "--activations FILE --gradients FILE");
    }
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

  FilesConfig config_;
  mutable std::optional<Plan> plan_;
};

}  // namespace

}  // namespace ranks

std::unique_ptr<Study> make_files_study() {
  return std::make_unique<ranks::FilesStudy>();
}

const Experiment& ranks_experiment() {
  static const Experiment experiment = {
      "one-step-compare",
      "the ranks of your own matrices",
      {{"files", "your own activations and gradients, layer by layer", 1, make_files_study}}};
  return experiment;
}

}  // namespace ranklab
