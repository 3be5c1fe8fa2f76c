// The named tensors from which a block is built: drawn from a trial's streams here, read from a
// checkpoint elsewhere. A block asks for each tensor by name and shape, and gives the law of its
// initial values.
//
// A linear map is stored as W (in, out), so that rows are multiplied from the right as in the
// papers, Y = X W; with one token per column that is W' X. The memory of a PyTorch weight (out x
// in, row by row) is this matrix.
#pragma once

#include <armadillo>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/entry_law.hpp"
#include "core/random.hpp"

namespace ranklab {

template <class T>
class Tensors {
 public:
  virtual ~Tensors() = default;
  /// rows x cols. Throws a Failure that names the tensor if the source has it with another shape.
  virtual arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols,
                              const EntryLaw& start) = 0;
  /// Columns `ids` of the matrix `name` (rows x cols), one per id: an embedding table of which few
  /// columns are needed.
  virtual arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols,
                               const std::vector<std::uint32_t>& ids, const EntryLaw& start) = 0;
  /// A gain, a bias, one number per channel or head.
  virtual arma::Col<T> vector(const std::string& name, arma::uword size, const EntryLaw& start) = 0;
};

/// Draws every tensor from the trial's stream `<prefix><name>`, so that draws are independent of
/// each other. Entries of matrices, but not of vectors, are multiplied by `scale`. Counts the drawn
/// entries.
template <class T>
class DrawnTensors final : public Tensors<T> {
 public:
  DrawnTensors(const Streams& streams, std::string prefix, double scale = 1.0)
      : streams_(streams), prefix_(std::move(prefix)), scale_(scale) {}

  arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols,
                      const EntryLaw& start) override;
  /// A column depends only on its id. parameters() counts all `cols` columns, drawn or not.
  arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols,
                       const std::vector<std::uint32_t>& ids, const EntryLaw& start) override;
  arma::Col<T> vector(const std::string& name, arma::uword size, const EntryLaw& start) override;
  /// Number of entries drawn or set so far: the parameters of the blocks built from this source.
  std::uint64_t parameters() const { return parameters_; }

 private:
  const Streams& streams_;
  std::string prefix_;
  double scale_;
  std::uint64_t parameters_ = 0;
};

/// Requests each tensor from other tensors once, for several blocks with the same weights in
/// several threads. Returned matrices share its memory, because weights take hundreds of megabytes:
/// it must outlive the blocks, and no block may change them.
template <class T>
class CachedTensors final : public Tensors<T> {
 public:
  explicit CachedTensors(Tensors<T>& tensors) : tensors_(tensors) {}

  arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols,
                      const EntryLaw& start) override;
  /// Not cached.
  arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols,
                       const std::vector<std::uint32_t>& ids, const EntryLaw& start) override;
  arma::Col<T> vector(const std::string& name, arma::uword size, const EntryLaw& start) override;

 private:
  Tensors<T>& tensors_;
  std::mutex lock_;
  std::map<std::tuple<std::string, arma::uword, arma::uword>, arma::Mat<T>>
      matrices_;  // by name and shape
  std::map<std::string, arma::Col<T>> vectors_;
};

}  // namespace ranklab
