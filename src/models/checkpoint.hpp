// Published weights of mamba2, bert, albert and gpt2: which model they are of, its sizes, and its tensors under the names that
// blocks ask for, in every spelling in which they are published.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/weights_file.hpp"
#include "models/model_spec.hpp"
#include "models/tensors.hpp"

namespace ranklab {

/// A tensor that a model of given sizes must have.
struct PublishedTensor {
  std::string name;                  // as blocks ask for it: "layer3.mixer.D", "layer0.query.weight", "word.weight"
  std::vector<std::string> keys;     // its spellings in files, without the prefix of the whole model
  std::vector<std::uint64_t> shape;  // as stored
  bool inputs_first = false;         // a linear map stored (in, out); otherwise (out, in)
};

/// All of a settled spec's; the tensors of shared blocks once, under `layer0.`.
std::vector<PublishedTensor> published_tensors(const ModelSpec& spec);

class Checkpoint {
 public:
  /// Opens the file (or the index of shards) and recognises the model by the names of its tensors. Throws Failure that names the
  /// file, and for an unknown model what was looked for.
  static std::shared_ptr<const Checkpoint> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  /// "mamba2", "bert", "albert" or "gpt2".
  const std::string& model() const { return model_; }
  /// The sizes that the shapes show (albert does not show its layers; bert, albert and gpt2 not their heads; mamba2 not its
  /// groups, for which `groups` is taken as it stands). Throws Failure that names a tensor that is missing or has no such shape.
  void take_sizes(ModelSpec& spec) const;
  /// Holds the tensors against those of a settled spec. Throws Failure that names the first that is missing, of another shape or
  /// type, or unknown. Heads, poolers, masks and buffers of ids, which no hidden state needs, are passed over.
  void check(const ModelSpec& spec) const;

  /// The tensor that blocks know by this name, and how it lies. Throws Failure.
  struct Found {
    StoredTensor tensor;
    bool inputs_first;
  };
  Found find(const std::string& name) const;

  /// Numbers in the tensors of the model, without what check passes over.
  std::uint64_t parameters() const;
  /// "F16", or "F16, F32" where several types occur, of the model's tensors.
  std::string dtypes() const;
  /// Bytes of the model's tensors in the file.
  std::uint64_t bytes() const;

 private:
  Checkpoint(WeightsFile file, std::string model, std::string prefix);

  WeightsFile file_;
  std::string model_, prefix_;
};

/// The tensors of a checkpoint, `<prefix><name>` each. Shapes that differ from the file's throw Failure that names both.
template <class T>
class LoadedTensors final : public Tensors<T> {
 public:
  LoadedTensors(std::shared_ptr<const Checkpoint> checkpoint, std::string prefix)
      : checkpoint_(std::move(checkpoint)), prefix_(std::move(prefix)) {}

  arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols, const Start& start) override;
  arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols, const std::vector<std::uint32_t>& ids,
                       const Start& start) override;
  arma::Col<T> vector(const std::string& name, arma::uword size, const Start& start) override;

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::string prefix_;
};

}  // namespace ranklab
