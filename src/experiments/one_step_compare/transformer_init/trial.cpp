#include <algorithm>
#include <map>

#include "experiments/one_step_compare/transformer_init/decoder_block.hpp"
#include "experiments/one_step_compare/transformer_init/transformer_init.hpp"
#include "linalg/spectra.hpp"
#include "models/blocks/norms.hpp"
#include "models/tokens.hpp"

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

template <class T>
arma::mat widened(const arma::Mat<T>& M) {
  return arma::conv_to<arma::mat>::from(M);
}

// The embedded sequence X (d, n), and what Lemma 2.9 needs of it.
arma::mat draw_sequence(const TransformerInitConfig& config, const Trial& trial, TrialRecord& record) {
  Stream tokens = trial.stream("tokens"), embedding = trial.stream("embedding");
  const TokenCounts counts = count_tokens(ZipfLaw(config.vocabulary, config.zipf).draw(config.n, tokens));
  const arma::mat E = draw_embedding(config.d, counts, embedding);
  arma::mat X(config.d, config.n, arma::fill::none);
  for (arma::uword t = 0; t < X.n_cols; ++t) X.col(t) = E.col(counts.place[t]);
  const ColumnRange columns = column_range(X);
  record.set(inverse_p_max, 1 / counts.p_max());
  record.set(distinct_tokens, static_cast<double>(counts.id.size()));
  record.set(norm_deviation, std::max(columns.high - 1, 1 - columns.low));
  return X;
}

// The arrays over blocks, by name.
class OverBlocks {
 public:
  void add(const std::string& matrix, const SquaredNorms& norms) {
    values_[rank_of(matrix)].push_back(norms.stable_rank());
    values_[frobenius_of(matrix)].push_back(norms.frobenius);
    values_[operator_of(matrix)].push_back(norms.op);
  }
  void add(const std::string& matrix, const ColumnRange& columns) {
    values_[column_low_of(matrix)].push_back(columns.low);
    values_[column_high_of(matrix)].push_back(columns.high);
  }
  void store(TrialRecord& record) && {
    for (auto& [name, values] : values_) record.set(name, std::move(values));
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

template <class T>
TrialRecord measure(const TransformerInitConfig& config, const Trial& trial) {
  TrialRecord record;
  arma::Mat<T> X = arma::conv_to<arma::Mat<T>>::from(draw_sequence(config, trial, record));
  SquaredNorms norms_X = squared_norms(widened(X));
  ColumnRange columns_X = column_range(widened(X));
  OverBlocks measured;
  for (std::uint64_t block = 1; block <= config.layers; ++block) {
    trial.check_interrupt();
    const DecoderStates<T> states = decoder_block(draw_decoder_weights<T>(trial, block, config.d, config.k), X);
    measured.add("X", norms_X);
    measured.add("X", columns_X);
    measured.add("A_rms", squared_norms(widened(states.A_rms)));
    measured.add("H", squared_norms(widened(states.H)));
    measured.add("X_att", squared_norms(widened(states.X_att)));
    measured.add("X_att", column_range(widened(states.X_att)));
    measured.add("A_mlp_rms", squared_norms(widened(states.A_mlp_rms)));
    measured.add("B", squared_norms(widened(states.B)));
    X = states.X_plus;
    norms_X = squared_norms(widened(X));
    columns_X = column_range(widened(X));
    measured.add("X_plus", norms_X);
    measured.add("X_plus", columns_X);
  }
  std::move(measured).store(record);
  rms_norm(X, 0.0);
  record.set(final_rank, stable_rank(widened(X)));
  return record;
}

}  // namespace

TrialRecord run_trial(const TransformerInitConfig& config, bool single_precision, const Trial& trial) {
  return single_precision ? measure<float>(config, trial) : measure<double>(config, trial);
}

}  // namespace ranklab::transformer_init
