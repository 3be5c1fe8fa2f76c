// Published weights: their model, its sizes, and its tensors under the internal names that blocks
// use, for every published spelling.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensors/weights_file.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {

/// The length of the prefixes that DistributedDataParallel (`module.`), torch.compile
/// (`_orig_mod.`) and PEFT (`base_model.model.`) add to the names of a model's tensors, in any
/// order and number.
std::size_t wrapper_length(std::string_view key);

class Checkpoint final : public PublishedShapes {
 public:
  /// Opens the file (or the index of shards) and recognizes the model by the names of its tensors,
  /// without wrapper prefixes. Throws a Failure that names the file if two tensors have the same
  /// name, or if the model is unknown; the message then lists the expected tensors and some of the
  /// file's tensors.
  static std::shared_ptr<const Checkpoint> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::string& model() const { return row_.name; }
  /// Number of consecutive layers in the file; 1 for a model with one shared layer.
  std::uint64_t layers() const { return layers_; }
  /// Sets the model and the sizes that tensor shapes determine. Shapes do not determine the depth
  /// of albert, the heads of bert, albert and gpt2, or the groups of mamba2; spec.groups is used as
  /// it is. Sets shared weights for a model of one layer. Throws a Failure that names a tensor if
  /// it is missing or has the wrong shape.
  void take_sizes(ModelSpec& spec) const;
  std::uint64_t size_of(const std::string& name, std::size_t axes, std::size_t axis) const override;
  [[noreturn]] void refuse(const std::string& name, const std::string& why) const override;
  /// Checks the tensors against those of a resolved spec, which may have fewer layers than the
  /// file. Throws a Failure that names the first tensor that is missing, has another shape or type,
  /// or is unknown. Ignores heads, poolers, masks and buffers of integers, which no hidden state
  /// needs, and unknown tensors that match one of the spec's `ignore_tensors`; the norm after the
  /// last block may be missing. Throws UsageError if one of these globs matches no tensor.
  void check(const ModelSpec& spec) const;
  /// The keys of tensors that are neither the model's nor ignored without a glob, in file order.
  std::vector<std::string> unknown() const;

  /// The tensor with this internal name and its storage order. Throws Failure if the file does not
  /// have it or its entries are not floating-point numbers. Safe to call from several threads.
  struct Found {
    StoredTensor tensor;
    bool inputs_first;
  };
  Found find(const std::string& name) const;

  /// Number of entries in the tensors of the model: those of every layer in the file and the norm
  /// after the last, without ignored tensors. Like the next two, throws Failure as find does.
  std::uint64_t parameters() const;
  /// "F16", or "F16, F32" if several types occur, the one with the most bytes first.
  std::string dtypes() const;
  /// Bytes of these tensors in the file.
  std::uint64_t bytes() const;

 private:
  // Where a tensor of the model is.
  struct Location {
    std::string key;
    bool inputs_first;
  };

  // `wrappers` are those in the file; `wrapper` is that of the tensor by which the model was
  // recognized.
  Checkpoint(WeightsFile file, const ModelRow& row, const std::set<std::string>& wrappers,
             std::string wrapper, std::string prefix);

  void count_layers();
  std::map<Dtype, std::uint64_t> bytes_by_type() const;
  StoredTensor floating(const std::string& key) const;
  // Each throws Failure.
  void require_layers(std::uint64_t wanted) const;
  void check_tensor(const PublishedTensor& wanted) const;
  void check_unknown(const std::vector<std::string>& globs) const;
  [[noreturn]] void refuse_unknown(const std::string& key) const;
  bool is_ignored(const std::string& name) const;  // `name` has no wrappers
  [[noreturn]] void refuse_key(const std::string& key, const std::string& why) const;
  [[noreturn]] void refuse_missing(const PublishedTensor& wanted) const;

  WeightsFile file_;
  const ModelRow& row_;
  const PublishedLayout& layout_;
  std::string wrapper_, prefix_;            // prefixes of the names of the blocks' tensors
  std::uint64_t layers_ = 1;                // layers 0 ... layers_ - 1 have tensors in the file
  std::uint64_t last_layer_ = 0;            // largest layer index of any tensor
  std::map<std::string, Location> places_;  // by internal name
};

}  // namespace ranklab
