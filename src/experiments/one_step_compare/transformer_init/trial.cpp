#include "experiments/one_step_compare/transformer_init/trial.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/one_step_compare/transformer_init/bounds.hpp"
#include "linalg/spectra.hpp"
#include "models/blocks/decoder_block.hpp"
#include "models/blocks/norms.hpp"
#include "models/tokens.hpp"

namespace ranklab {
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
  record.set("inverse_p_max", 1 / counts.p_max());
  record.set("distinct_tokens", static_cast<double>(counts.id.size()));
  record.set("embedding.norm_deviation", std::max(columns.high - 1, 1 - columns.low));
  return X;
}

// Series over blocks, by name.
class Depth {
 public:
  void add(const std::string& name, double value) { values_[name].push_back(value); }
  void add_norms(const std::string& name, const SquaredNorms& norms) {
    add(name + ".stable_rank", norms.stable_rank());
    add(name + ".frobenius_squared", norms.frobenius);
    add(name + ".operator_squared", norms.op);
  }
  void add_columns(const std::string& name, const ColumnRange& columns) {
    add(name + ".column_low", columns.low);
    add(name + ".column_high", columns.high);
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
  const arma::mat embedded = draw_sequence(config, trial, record);
  arma::Mat<T> X = arma::conv_to<arma::Mat<T>>::from(embedded);
  SquaredNorms norms_X = squared_norms(widened(X));
  ColumnRange columns_X = column_range(widened(X));
  Depth depth;
  for (std::uint64_t block = 1; block <= config.layers; ++block) {
    trial.check_interrupt();
    const DecoderStates<T> states = decoder_block(draw_decoder_weights<T>(trial, block, config.d, config.k), X);
    const std::pair<const char*, const arma::Mat<T>*> measured[] = {
        {"A_rms", &states.A_rms}, {"H", &states.H}, {"X_att", &states.X_att}, {"A_mlp_rms", &states.A_mlp_rms}, {"B", &states.B}};
    depth.add_norms("X", norms_X);
    depth.add_columns("X", columns_X);
    for (const auto& [name, M] : measured) depth.add_norms(name, squared_norms(widened(*M)));
    depth.add_columns("X_att", column_range(widened(states.X_att)));
    X = states.X_plus;
    norms_X = squared_norms(widened(X));
    columns_X = column_range(widened(X));
    depth.add_norms("X_plus", norms_X);
    depth.add_columns("X_plus", columns_X);
  }
  std::move(depth).store(record);
  rms_norm(X, 0.0);
  record.set("A_final.stable_rank", stable_rank(widened(X)));
  return record;
}

}  // namespace

const std::vector<std::string>& block_matrices() {
  static const std::vector<std::string> names = {"X", "A_rms", "H", "X_att", "A_mlp_rms", "B", "X_plus"};
  return names;
}

TrialRecord transformer_init_trial(const TransformerInitConfig& config, bool single_precision, const Trial& trial) {
  return single_precision ? measure<float>(config, trial) : measure<double>(config, trial);
}

}  // namespace ranklab
