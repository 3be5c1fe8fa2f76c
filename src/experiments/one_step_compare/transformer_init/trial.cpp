#include <algorithm>
#include <map>

#include "experiments/one_step_compare/transformer_init/decoder_block.hpp"
#include "experiments/one_step_compare/transformer_init/transformer_init.hpp"
#include "linalg/spectra.hpp"
#include "models/tokens.hpp"
#include "nn/blocks/norms.hpp"

namespace ranklab::transformer_init {
namespace {

SquaredNorms squared_norms(const arma::mat& M) {
  const double op = operator_norm(M);
  return {arma::dot(M, M), op * op};
}

ColumnRange column_range(const arma::mat& M) {
  const arma::rowvec squares = arma::sum(arma::square(M), 0) / static_cast<double>(M.n_rows);
  return {squares.min(), squares.max()};
}

// Draws the embedded sequence X (d, n) and records the quantities of Lemma 2.9.
arma::mat draw_sequence(const TransformerInitConfig& config, const Trial& trial,
                        TrialRecord& record) {
  Stream tokens = trial.stream("tokens"), embedding = trial.stream("embedding");
  const TokenCounts counts =
      count_tokens(ZipfLaw(config.vocabulary, config.zipf).draw(config.n, tokens));
  const arma::mat E = draw_embedding(config.d, counts, embedding);
  arma::mat X(config.d, config.n, arma::fill::none);
  for (arma::uword t = 0; t < X.n_cols; ++t) X.col(t) = E.col(counts.index[t]);
  const ColumnRange columns = column_range(X);
  record.set(inverse_p_max, 1 / counts.p_max());
  record.set(distinct_tokens, static_cast<double>(counts.id.size()));
  record.set(norm_deviation, std::max(columns.high - 1, 1 - columns.low));
  return X;
}

struct Measured {
  SquaredNorms norms;
  ColumnRange columns;
};
Measured measured(const arma::mat& M) {
  return {squared_norms(M), column_range(M)};
}

// Collects the arrays over blocks.
class OverBlocks {
 public:
  void add(const std::string& matrix, const Measured& M) {
    values_[rank_of(matrix)].push_back(M.norms.stable_rank());
    values_[frobenius_of(matrix)].push_back(M.norms.frobenius);
    values_[operator_of(matrix)].push_back(M.norms.op);
    if (std::ranges::count(column_matrices, matrix) == 0) return;
    values_[column_low_of(matrix)].push_back(M.columns.low);
    values_[column_high_of(matrix)].push_back(M.columns.high);
  }
  void store(TrialRecord& record) && {
    for (auto& [name, values] : values_) record.set(name, std::move(values));
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

}  // namespace

TrialRecord run_trial(const TransformerInitConfig& config, const Trial& trial) {
  TrialRecord record;
  arma::mat X = draw_sequence(config, trial, record);
  Measured of_X = measured(X);
  OverBlocks blocks;
  for (std::uint64_t block = 1; block <= config.layers; ++block) {
    trial.check_interrupt();
    const DecoderStates states =
        decoder_block(draw_decoder_weights(trial, block, config.d, config.k), X);
    blocks.add("X", of_X);
    blocks.add("A_rms", measured(states.A_rms));
    blocks.add("H", measured(states.H));
    blocks.add("X_att", measured(states.X_att));
    blocks.add("A_mlp_rms", measured(states.A_mlp_rms));
    blocks.add("B", measured(states.B));
    X = states.X_plus;
    of_X = measured(X);
    blocks.add("X_plus", of_X);
  }
  std::move(blocks).store(record);
  rms_norm(X, 0.0);
  record.set(final_rank, stable_rank(X));
  return record;
}

}  // namespace ranklab::transformer_init
