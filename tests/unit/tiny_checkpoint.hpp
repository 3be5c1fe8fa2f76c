// Small versions of published checkpoints for tests. Every name and storage order is written out
// here again, from the layouts of the models' own files, to check the tables of the program
// independently.
#pragma once

#include <armadillo>
#include <cstdint>
#include <string>
#include <vector>

#include "io/tensors/tensor_file.hpp"
#include "nn/blocks/model_spec.hpp"

struct TinySizes {
  std::uint64_t layers = 3, dim = 6, ffn = 10, heads = 3, state = 4, groups = 1, taps = 4,
                embedding = 5, vocabulary = 11, positions = 7;
};

/// The choices that files differ in.
struct Spelling {
  bool prefix = true;    // "bert.", "albert.", "transformer.", "backbone."
  bool variant = false;  // bert and albert: gamma and beta; mamba2: "embeddings"
  bool extras =
      false;  // includes tensors that hidden states do not need: heads, poolers, masks, ids
};

/// All spellings of a model, each once.
std::vector<Spelling> spellings_of(const std::string& model);

struct TinyTensor {
  enum class Storage { vector, out_in, in_out, filters, not_read };
  std::string key, name;  // in the file; as blocks request it
  std::vector<std::uint64_t> shape;
  Storage storage = Storage::not_read;
  double center = 0.0, spread = 1.0;  // entries are uniform on center -+ spread
  ranklab::Dtype dtype = ranklab::Dtype::f32;
  std::vector<double> entries = {};  // row by row, rounded to the type

  /// The tensor as blocks request it: a linear map (in, out), filters (taps, channels), a table
  /// (width, rows), a vector as a column.
  arma::mat expected() const;
  /// Sets the entries from such a matrix, rounded to the type.
  void set(const arma::mat& W);
};

/// Every tensor of a model, without entries. Heads and masks have Storage::not_read and their own
/// types.
std::vector<TinyTensor> tiny_layout(const std::string& model, const Spelling& spelling,
                                    const TinySizes& sizes);

class TinyCheckpoint {
 public:
  TinyCheckpoint(const std::string& model, const Spelling& spelling, ranklab::Dtype dtype,
                 const TinySizes& sizes = {});

  std::vector<TinyTensor>& tensors() { return tensors_; }
  /// Finds a tensor by key, or by the name under which blocks request it. Throws std::out_of_range.
  TinyTensor& at(const std::string& key);
  TinyTensor& named(const std::string& name);
  void remove(const std::string& key);
  /// Adds a tensor with entries between -1 and 1 (0 and 1 if they are integers).
  void add(const std::string& key, const std::vector<std::uint64_t>& shape, ranklab::Dtype dtype);
  /// Changes the shape and draws new entries.
  void reshape(const std::string& key, const std::vector<std::uint64_t>& shape);
  /// Changes the type and rounds the entries to it.
  void retype(const std::string& key, ranklab::Dtype dtype);

  void write(const std::string& path) const;
  /// Distributes the tensors over `count` files in turn, at most nine. `path` is the path of the
  /// index and ends in .safetensors.index.json.
  void write_shards(const std::string& path, std::size_t count) const;

 private:
  std::vector<TinyTensor> tensors_;
};

/// The resolved spec of a drawn model with these sizes and number of tokens.
ranklab::ModelSpec tiny_spec(const std::string& model, const TinySizes& sizes,
                             std::uint64_t tokens);

/// x rounded to the nearest number of the type, ties to even; truncated for integer types.
double rounded(double x, ranklab::Dtype dtype);

/// Writes a mamba2 of any size for benchmarks, with entries in the range of initial values; each
/// tensor repeats a few thousand numbers.
void write_synthetic_mamba2(const std::string& path, const TinySizes& sizes, ranklab::Dtype dtype);
