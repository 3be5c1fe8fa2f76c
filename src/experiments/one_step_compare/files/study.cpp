#include "experiments/one_step_compare/files/config.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/one_step_compare/files/measure.hpp"
#include "experiments/one_step_compare/files/plan.hpp"
#include "experiments/one_step_compare/files/report.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/tensor_file.hpp"
#include "run/once_per_run.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t most_parts = 1'000'000;

// The result file holds the flags as text.
void require_printable(const std::string& flag, const std::string& text) {
  if (printable(text) != text) {
    throw UsageError(flag + ": '" + printable(text) +
                     "' is not allowed: control characters and bytes that are not UTF-8; rename the file");
  }
}

void require_archive(const std::string& flag, const std::string& path) {
  if (path.empty() || path.ends_with(".npz") || path.ends_with(".safetensors")) return;
  throw UsageError(flag + ": '" + path + "' is not allowed; allowed: a .npz or .safetensors file (a .npy goes into --pair)");
}

// Layers one after another; where an activation cannot be used, its gradients are not looked at.
TrialRecord measure_all(const FilesPlan& plan, const Trial& trial) {
  TrialRecord record;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const PlannedPair& pair = plan.pairs[p];
    if (pair.has_activation()) {
      const ActivationRank rank = measure_activation(open_tensor(pair.source.activation), trial);
      record_activation(record, p, rank);
      if (std::isnan(rank.stable_rank)) continue;
    }
    if (!pair.has_gradient()) continue;
    const StoredTensor gradient = open_tensor(pair.source.gradient);
    for (std::size_t l = 0; l < pair.layers.size(); ++l) {
      record_gradient(record, p, l, measure_gradient(gradient, pair.layers[l].first_row, pair.layers[l].m, trial));
    }
  }
  return record;
}

class FilesStudy : public Study {
 public:
  std::vector<Field> fields() override {
    FilesConfig& c = config_;
    return {
        one_per_flag(text_list_field("pair", c.pair,
                                     "NAME,ACTIVATION_FILE,GRADIENT_FILE: .npy, .npz:key or .safetensors:key; one of the files may "
                                     "be left empty")),
        text_field("manifest", c.manifest,
                   "JSON file: {\"pairs\": [{\"name\", \"activation\", \"gradient\"}]}, paths relative to it"),
        text_field("activations", c.activations, "archive of activations, paired by key with --gradients; alone: their st"),
        text_field("gradients", c.gradients, "archive of gradients; alone: their nr"),
        switch_field("transpose-activations", c.transpose_activations, "activations are n x k: a sample is a row, as in PyTorch"),
        one_per_flag(text_list_field("include", c.include, "globs: only pairs whose name one of them matches")),
        one_per_flag(text_list_field("exclude", c.exclude, "globs: no pair whose name one of them matches")),
        one_per_flag(text_list_field("split", c.split,
                                     "NAME=PARTS: cut the gradient's rows into equal parts NAME.1, NAME.2, ... (a fused qkv)")),
        size_field("heads", c.heads, 1, most_parts, "",
                   "cut every part of the split layers into heads, NAME.1.1, NAME.1.2, ...; without --split, every layer"),
    };
  }

  void validate() const override {
    for (const auto& [flag, texts] : {std::pair("--pair", config_.pair), std::pair("--include", config_.include),
                                      std::pair("--exclude", config_.exclude), std::pair("--split", config_.split)}) {
      for (const std::string& text : texts) require_printable(flag, text);
    }
    for (const auto& [flag, text] : {std::pair("--manifest", config_.manifest), std::pair("--activations", config_.activations),
                                     std::pair("--gradients", config_.gradients)}) {
      require_printable(flag, text);
    }
    require_archive("--activations", config_.activations);
    require_archive("--gradients", config_.gradients);
    for (const std::string& text : config_.pair) parse_pair(text, false);
    split_counts(config_);
    if (config_.pair.empty() && config_.manifest.empty() && config_.activations.empty() && config_.gradients.empty()) {
      throw UsageError(
          "--study files needs matrices: --pair NAME,ACTIVATION_FILE,GRADIENT_FILE, --manifest FILE.json, or --activations FILE "
          "--gradients FILE");
    }
  }

  // The first to look into the files: what is wrong with them is said before anything is written.
  Estimate estimate() const override { return estimate_files(plan()); }

  Result run(Runner& runner) const override {
    const FilesPlan& planned = plan();
    OncePerRun<TrialRecord> measured;  // further trials would repeat it
    const auto records = runner.run([&](Trial& trial) { return measured.get([&] { return measure_all(planned, trial); }); });
    return files_result(planned, records);
  }

 private:
  const FilesPlan& plan() const {
    if (!plan_) plan_ = plan_files(config_);
    return *plan_;
  }

  FilesConfig config_;
  mutable std::optional<FilesPlan> plan_;
};

}  // namespace

std::vector<std::string> comma_separated(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t comma = std::min(text.find(',', start), text.size());
      if (comma > start) parts.push_back(text.substr(start, comma - start));
      start = comma + 1;
    }
  }
  return parts;
}

std::vector<std::pair<std::string, std::uint64_t>> split_counts(const FilesConfig& config) {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for (const std::string& text : comma_separated(config.split)) {
    const std::size_t equals = text.rfind('=');
    std::uint64_t parts = 0;
    const char* const end = text.data() + text.size();
    const char* const digits = equals == std::string::npos ? end : text.data() + equals + 1;
    const auto [stop, error] = std::from_chars(digits, end, parts);
    if (equals == 0 || error != std::errc() || stop != end || parts < 1 || parts > most_parts) {
      throw UsageError("--split: '" + text + "' is not allowed; allowed: NAME=PARTS, parts from 1 to " +
                       std::to_string(most_parts));
    }
    const std::string name = text.substr(0, equals);
    for (const auto& [other, count] : out) {
      if (other == name) throw UsageError("--split: '" + name + "' stands twice");
    }
    out.emplace_back(name, parts);
  }
  return out;
}

std::unique_ptr<Study> make_files_study() {
  return std::make_unique<FilesStudy>();
}

}  // namespace ranklab
