// Published weights: which model they are of, its sizes, and its tensors under the names that blocks ask for, in every spelling in
// which they are published.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensors/weights_file.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {

/// The length of what DistributedDataParallel (`module.`), torch.compile (`_orig_mod.`) and PEFT (`base_model.model.`) put before
/// the names of a model's tensors, in any order and number.
std::size_t wrapper_length(std::string_view key);

class Checkpoint final : public PublishedShapes {
 public:
  /// Opens the file (or the index of shards) and recognises the model by the names of its tensors, without their wrappers. Throws
  /// Failure that names the file, for two tensors of one name, and for an unknown model what was looked for and what some of the
  /// file's tensors are called.
  static std::shared_ptr<const Checkpoint> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::string& model() const { return row_.name; }
  /// Consecutive layers in the file; the one of a model that has no more counts as 1.
  std::uint64_t layers() const { return layers_; }
  /// The sizes that the shapes show (albert does not show its layers; bert, albert and gpt2 not their heads; mamba2 not its
  /// groups, for which `groups` is taken as it stands), and the model; the weights of a model of one layer become shared. Throws
  /// Failure that names a tensor that is missing or has no such shape.
  void take_sizes(ModelSpec& spec) const;
  std::uint64_t size_of(const std::string& name, std::size_t axes, std::size_t axis) const override;
  [[noreturn]] void refuse(const std::string& name, const std::string& why) const override;
  /// Holds the tensors against those of a settled spec, which may have fewer layers than the file. Throws Failure that names the
  /// first that is missing, of another shape or type, or unknown. Heads, poolers, masks and buffers of integers, which no hidden
  /// state needs, are passed over, and so are unknown tensors that one of the spec's `ignore_tensors` matches; the norm after the
  /// last block may be missing. Throws UsageError for one of those globs that matches no tensor at all.
  void check(const ModelSpec& spec) const;
  /// The keys of the unknown tensors, in the order of the file: neither the model's nor passed over without a glob.
  std::vector<std::string> unknown() const;

  /// The tensor that blocks know by this name, and how it lies. Throws Failure where the file has none, or one whose entries
  /// are not floating-point numbers. Safe from several threads.
  struct Found {
    StoredTensor tensor;
    bool inputs_first;
  };
  Found find(const std::string& name) const;

  /// Numbers in the tensors of the model: those of every layer in the file and the norm after the last, without what check
  /// passes over. Like the next two, throws Failure as find does.
  std::uint64_t parameters() const;
  /// "F16", or "F16, F32" where several types occur, the one with the most bytes first.
  std::string dtypes() const;
  /// Bytes of these tensors in the file.
  std::uint64_t bytes() const;

 private:
  // Where a tensor of the model is.
  struct Place {
    std::string key;
    bool inputs_first;
  };

  // `wrappers` are those in the file, `wrapper` that of the tensor by which the model was recognised.
  Checkpoint(WeightsFile file, const ModelRow& row, const std::set<std::string>& wrappers, std::string wrapper, std::string prefix);

  void count_layers();
  std::map<Dtype, std::uint64_t> bytes_by_type() const;
  StoredTensor floating(const std::string& key) const;
  // Each throws Failure.
  void require_layers(std::uint64_t wanted) const;
  void check_tensor(const PublishedTensor& wanted) const;
  void check_unknown(const std::vector<std::string>& globs) const;
  [[noreturn]] void refuse_unknown(const std::string& key) const;
  bool is_passed_over(const std::string& name) const;  // without wrappers
  [[noreturn]] void refuse_key(const std::string& key, const std::string& why) const;
  [[noreturn]] void refuse_missing(const PublishedTensor& wanted) const;

  WeightsFile file_;
  const ModelRow& row_;
  const PublishedLayout& layout_;
  std::string wrapper_, prefix_;               // what stands before the names of blocks' tensors
  std::uint64_t layers_ = 1, last_layer_ = 0;  // 0 ... layers_ - 1 have tensors in the file; the largest index of any
  std::map<std::string, Place> places_;        // by internal name
};

}  // namespace ranklab
