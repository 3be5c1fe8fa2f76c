// Published checkpoints in miniature for tests: every name and storage order is written out here once more, from the layouts
// that the models' own files have, so that the tables of the program are held against a second account.
#pragma once

#include <armadillo>
#include <cstdint>
#include <string>
#include <vector>

#include "io/tensors/tensor_file.hpp"
#include "models/blocks/model_spec.hpp"

struct TinySizes {
  std::uint64_t layers = 3, dim = 6, ffn = 10, heads = 3, state = 4, groups = 1, taps = 4, embedding = 5, vocabulary = 11,
                positions = 7;
};

/// The choices that files differ in.
struct Spelling {
  bool prefix = true;    // "bert.", "albert.", "transformer.", "backbone."
  bool variant = false;  // bert, albert: gamma and beta; mamba2: "embeddings"
  bool extras = false;   // with what no hidden state needs: heads, poolers, masks, ids
};

/// All spellings of a model, each once.
std::vector<Spelling> spellings_of(const std::string& model);

struct TinyTensor {
  enum class Lies { vector, out_in, in_out, filters, nowhere };
  std::string key, name;  // in the file; as blocks ask for it
  std::vector<std::uint64_t> shape;
  Lies lies = Lies::nowhere;
  double centre = 0.0, spread = 1.0;  // entries are uniform on centre -+ spread
  ranklab::Dtype dtype = ranklab::Dtype::f32;
  std::vector<double> entries = {};  // row by row, as the type holds them

  /// As blocks ask for it: a linear map (in, out), filters (taps, channels), a table (width, rows), a vector as a column.
  arma::mat wanted() const;
  /// Sets the entries to such a matrix, rounded to the type.
  void set(const arma::mat& W);
};

/// Every tensor of a model, without entries. Those of heads and masks lie nowhere and have types of their own.
std::vector<TinyTensor> tiny_layout(const std::string& model, const Spelling& spelling, const TinySizes& sizes);

class TinyCheckpoint {
 public:
  TinyCheckpoint(const std::string& model, const Spelling& spelling, ranklab::Dtype dtype, const TinySizes& sizes = {});

  std::vector<TinyTensor>& tensors() { return tensors_; }
  /// By key, and by the name under which blocks ask for it. Throws std::out_of_range.
  TinyTensor& at(const std::string& key);
  TinyTensor& named(const std::string& name);
  void remove(const std::string& key);
  /// A further tensor, of entries between -1 and 1 (0 and 1 where they are integers).
  void add(const std::string& key, const std::vector<std::uint64_t>& shape, ranklab::Dtype dtype);
  /// Another shape, with new entries.
  void reshape(const std::string& key, const std::vector<std::uint64_t>& shape);
  /// Another type; the entries are rounded to it.
  void retype(const std::string& key, ranklab::Dtype dtype);

  void write(const std::string& path) const;
  /// Spreads the tensors over `count` files in turn, at most nine; the index's path is `path`, which ends in
  /// .safetensors.index.json.
  void write_shards(const std::string& path, std::size_t count) const;

 private:
  std::vector<TinyTensor> tensors_;
};

/// The settled spec of a model of these sizes, drawn, for so many tokens.
ranklab::ModelSpec tiny_spec(const std::string& model, const TinySizes& sizes, std::uint64_t tokens);

/// x to the nearest number that the type has, ties to even; integers are truncated.
double rounded(double x, ranklab::Dtype dtype);

/// A mamba2 of any size, starting values in range, each tensor a repetition of some thousand numbers: for benchmarks.
void write_synthetic_mamba2(const std::string& path, const TinySizes& sizes, ranklab::Dtype dtype);
