// Tensors of a checkpoint in the form that blocks request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/blocks/tensors.hpp"
#include "nn/checkpoints/checkpoint.hpp"

namespace ranklab {

/// The tensors of a checkpoint, named `<prefix><name>`. Throws a Failure that names the tensor if a
/// shape differs from the file's, an id is outside of its table, or an entry is not finite. Safe to
/// call from several threads.
template <class T>
class LoadedTensors final : public Tensors<T> {
 public:
  LoadedTensors(std::shared_ptr<const Checkpoint> checkpoint, std::string prefix)
      : checkpoint_(std::move(checkpoint)), prefix_(std::move(prefix)) {}

  arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols,
                      const EntryLaw& start) override;
  arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols,
                       const std::vector<std::uint32_t>& ids, const EntryLaw& start) override;
  arma::Col<T> vector(const std::string& name, arma::uword size, const EntryLaw& start) override;

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::string prefix_;
};

}  // namespace ranklab
