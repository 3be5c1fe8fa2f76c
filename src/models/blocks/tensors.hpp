// The named tensors that a block is built from: drawn from a trial's streams here, read from a checkpoint elsewhere. A block
// asks for each tensor by name and shape, and says how it starts where nothing is loaded.
//
// A linear map is held as W (in, out), so that rows are multiplied from the right as in the papers, Y = X W; with one token
// per column that is W' X. A PyTorch weight (out x in, row by row) is this matrix as it lies in the file.
#pragma once

#include <armadillo>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "run/trials.hpp"

namespace ranklab {

/// The law of independent entries, each passed through `map` after it was drawn.
struct Start {
  enum class Law { constant, normal, uniform, ramp };
  Law law = Law::constant;
  double first = 0.0;   // the constant; the mean; the lower end; the step
  double second = 0.0;  // unused; the standard deviation; the upper end; the period
  double (*map)(double) = nullptr;

  static Start constant(double value) { return {Law::constant, value, 0.0}; }
  static Start normal(double standard_deviation) { return {Law::normal, 0.0, standard_deviation}; }
  static Start uniform(double low, double high) { return {Law::uniform, low, high}; }
  /// 0, step, 2 step, ..., and from 0 again after `period` entries.
  static Start ramp(double step, arma::uword period) { return {Law::ramp, step, static_cast<double>(period)}; }
  /// Uniform on (-1/sqrt(fan_in), 1/sqrt(fan_in)): what PyTorch gives linear maps and convolutions.
  static Start fan_in(arma::uword inputs);
  Start mapped(double (*f)(double)) const { return {law, first, second, f}; }
};

template <class T>
class Tensors {
 public:
  virtual ~Tensors() = default;
  /// rows x cols. A source that holds a tensor of this name with another shape throws Failure that names it.
  virtual arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols, const Start& start) = 0;
  /// Columns `ids` of the matrix `name` (rows x cols), one for each id: an embedding table of which few columns are used.
  virtual arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols, const std::vector<std::uint32_t>& ids,
                               const Start& start) = 0;
  /// A gain, a bias, one number per channel or head.
  virtual arma::Col<T> vector(const std::string& name, arma::uword size, const Start& start) = 0;
};

/// Draws every tensor from the trial's stream `<prefix><name>`, so that no draw depends on another. Entries of matrices,
/// not of vectors, are multiplied by `scale`. Counts what it drew.
template <class T>
class DrawnTensors final : public Tensors<T> {
 public:
  DrawnTensors(const Trial& trial, std::string prefix, double scale = 1.0)
      : trial_(trial), prefix_(std::move(prefix)), scale_(scale) {}

  arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols, const Start& start) override;
  /// Each column is drawn by its id, whichever others are; `cols` is counted in parameters(), not drawn.
  arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols, const std::vector<std::uint32_t>& ids,
                       const Start& start) override;
  arma::Col<T> vector(const std::string& name, arma::uword size, const Start& start) override;
  /// Numbers drawn or set so far: the parameters of what was built.
  std::uint64_t parameters() const { return parameters_; }

 private:
  void fill(Stream stream, std::span<T> out, const Start& start, double scale) const;

  const Trial& trial_;
  std::string prefix_;
  double scale_;
  std::uint64_t parameters_ = 0;
};

/// Asks its source for each tensor once: for several blocks of one layer with the same weights, in several threads. The matrices
/// that it gives lie in its own memory, weights of a hundred megabytes: it must outlive the blocks, and none may change them.
template <class T>
class RememberedTensors final : public Tensors<T> {
 public:
  explicit RememberedTensors(Tensors<T>& source) : source_(source) {}

  arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols, const Start& start) override;
  /// Not remembered.
  arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols, const std::vector<std::uint32_t>& ids,
                       const Start& start) override;
  arma::Col<T> vector(const std::string& name, arma::uword size, const Start& start) override;

 private:
  Tensors<T>& source_;
  std::mutex lock_;
  std::map<std::tuple<std::string, arma::uword, arma::uword>, arma::Mat<T>> matrices_;  // by name and shape
  std::map<std::string, arma::Col<T>> vectors_;
};

}  // namespace ranklab
