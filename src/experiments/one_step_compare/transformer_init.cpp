// `one-step-compare --study transformer-init`: stable ranks inside a transformer at initialization
// ([Spectral] Section 2.2), over the depth of a stack of single-head decoder blocks whose input is
// a sequence of Gaussian token embeddings. A block, without mask and position encoding, is
// (Section 2.2.2, Figure 13)
//
//   A_rms = RMSNorm(X),  Q = W_Q A_rms,  K = W_K A_rms,  V = W_V A_rms,
//   P = softmax(d^(-1/2) K' Q),  H = V P,  X_att = X + W_O H,
//   A_mlp_rms = RMSNorm(X_att),  B = relu(W_1 A_mlp_rms),  X_plus = X_att + W_2 B
//
// Columns are tokens. X, A_rms, Q, K, V, H, X_att, A_mlp_rms, X_plus (d, n); P (n, n), columns that
// sum to one; W_Q, W_K, W_V, W_O (d, d); W_1 (k, d); W_2 (d, k); B (k, n).
// RMSNorm(x) = sqrt(d) x / ||x||: gain 1, no epsilon.
#include "experiments/one_step_compare/transformer_init.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numbers>

#include "core/fits.hpp"
#include "ensembles/random_features.hpp"
#include "ensembles/tokens.hpp"
#include "experiments/kit.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "experiments/token_embedding.hpp"
#include "linalg/spectra.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/norms.hpp"

namespace ranklab::transformer_init {

// The block ---------------------------------------------------------------------------------------

DecoderWeights draw_decoder_weights(const Trial& trial, std::uint64_t number, std::uint64_t d,
                                    std::uint64_t k) {
  const auto draw = [&](const char* name, std::uint64_t rows, std::uint64_t columns) {
    return draw_gaussian<double>(trial, say("block{}.{}", number, name).c_str(), rows, columns,
                                 1 / std::sqrt(static_cast<double>(columns)));
  };
  return {draw("W_Q", d, d), draw("W_K", d, d), draw("W_V", d, d),
          draw("W_O", d, d), draw("W_1", k, d), draw("W_2", d, k)};
}

namespace {

arma::mat rms_normalized(arma::mat X) {
  rms_norm(X, 0.0);
  return X;
}

}  // namespace

DecoderStates decoder_block(const DecoderWeights& weights, const arma::mat& X) {
  DecoderStates out;
  // A_rms = RMSNorm(X)
  out.A_rms = rms_normalized(X);
  // P = softmax(d^(-1/2) K' Q), H = V P
  const arma::mat Q = weights.W_Q * out.A_rms, K = weights.W_K * out.A_rms;
  const arma::mat P = attention_matrix(Q, K, 1 / std::sqrt(static_cast<double>(X.n_rows)));
  out.H = weights.W_V * out.A_rms * P;
  // X_att = X + W_O H
  out.X_att = X + weights.W_O * out.H;
  // B = relu(W_1 RMSNorm(X_att))
  out.A_mlp_rms = rms_normalized(out.X_att);
  out.B = weights.W_1 * out.A_mlp_rms;
  for (double& b : out.B) b = b < 0 ? 0 : b;  // keeps NaN
  // X_plus = X_att + W_2 B
  out.X_plus = out.X_att + weights.W_2 * out.B;
  return out;
}

// The bounds --------------------------------------------------------------------------------------

namespace {

// K_B, the bound on st(B) that Theorem 2.7 gives.
constexpr double activation_bound = 2 * std::numbers::pi;

double square(double x) {
  return x * x;
}

}  // namespace

double relu_small_ball() {
  const double upper_tail = std::erfc(1 / std::numbers::sqrt2) / 2;  // 1 - Phi(1)
  return upper_tail / 2;
}

ColumnRange attention_columns(const ColumnRange& input, double delta) {
  return {(1 - delta) * input.low, (1 + delta) * (input.high + 1)};
}

ColumnRange output_columns(const ColumnRange& input, double delta) {
  return {square(1 - delta) * input.low, square(1 + delta) * (input.high + 2)};
}

BlockBounds block_bounds(const ColumnRange& input, double stable_rank_X, double delta) {
  const double spread = (1 + delta) / (1 - delta), residual = 1 + 2 / input.low;
  return {input.high / input.low * stable_rank_X, spread * residual * stable_rank_X,
          square(spread) * (input.high + 1) / input.low * residual * stable_rank_X,
          activation_bound,
          activation_bound * spread *
              (1 + (1 + delta) * (input.high + 1) / (relu_small_ball() * (1 - delta)))};
}

double residual_bound(const SquaredNorms& X, const SquaredNorms& H, double d_over_k, double delta) {
  return (1 + delta) / (1 - delta) * (X.frobenius + d_over_k * H.frobenius) /
         std::max(X.op, d_over_k * H.op);
}

DepthBounds depth_bounds(std::uint64_t layers, double eps, double one_over_p_max) {
  const double delta = 1 / (8 * static_cast<double>(layers));
  ColumnRange columns{1 - eps, 1 + eps};
  double stable_rank_X = embedding_bound(eps, one_over_p_max);
  DepthBounds out;
  for (std::uint64_t l = 0; l < layers; ++l) {
    const BlockBounds block = block_bounds(columns, stable_rank_X, delta);
    out.X.push_back(stable_rank_X);
    out.A_rms.push_back(block.A_rms);
    out.A_mlp_rms.push_back(block.A_mlp_rms);
    stable_rank_X = block.X_plus;
    columns = output_columns(columns, delta);
  }
  out.final_rms = columns.high / columns.low * stable_rank_X;
  return out;
}

namespace {

// Flags -------------------------------------------------------------------------------------------

constexpr double largest_delta = 0.25;  // Proposition 2.14 needs a smaller delta

struct Config : Study {
  std::uint64_t layers = 12, d = 256, n = 256, k = 0;  // k = 0: 4 d
  std::uint64_t vocabulary = 50257;
  double zipf = 0.86, delta = 0.2;

  std::vector<Field> flags() override;
  void fill_defaults() override {
    if (k == 0) k = 4 * d;
  }
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override {
    return "Stable ranks inside a transformer at initialization";
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;
};

std::vector<Field> Config::flags() {
  return {
      size_field("layers", layers, 1, 10'000, "L", "decoder blocks"),
      size_field("d", d, 1, largest_size, "d", "hidden dimension"),
      size_field("n", n, 2, largest_size, "n", "tokens"),
      size_field("k", k, 0, largest_size, "k", "hidden units of the MLP; 0: 4 d"),
      size_field("vocabulary", vocabulary, 1, 10'000'000, "V",
                 "vocabulary size: number of distinct tokens"),
      real_field("zipf", zipf, 0.0, 10.0, "s",
                 "Zipf exponent: token j has probability proportional to j^(-s)"),
      excluding_low(real_field("delta", delta, 0.0, largest_delta, "delta",
                               "constant of Lemma 2.13 and Proposition 2.14; below 0.25")),
  };
}

void Config::check() const {
  if (delta >= largest_delta) throw UsageError("--delta: 0.25 is not allowed; allowed: below 0.25");
  if (k < d) {
    throw Misfit(
        say("--k: {} is not allowed; allowed: at least --d = {}, because Lemma 2.13 needs k >= d",
            k, d),
        "k", std::to_string(d), {"d"});
  }
}

Estimate Config::memory() const {
  const double D = static_cast<double>(d), N = static_cast<double>(n), K = static_cast<double>(k);
  return {.bytes = 8 * (6 * D * D + 3 * D * K + 10 * D * N + 2 * N * N + 2 * K * N +
                        static_cast<double>(vocabulary))};
}

// What a trial records ----------------------------------------------------------------------------

// The measured matrices of a block, from its input X to its output X_plus, and those whose column
// norms are measured.
const std::vector<std::string> block_matrices = {"X",         "A_rms", "H",     "X_att",
                                                 "A_mlp_rms", "B",     "X_plus"},
                               column_matrices = {"X", "X_att", "X_plus"};

// Arrays with an entry for each block.
constexpr Measure block_rank = {"stable_rank", "st(M)", "stable rank of a matrix of the block"},
                  frobenius_squared = {"frobenius_squared", "||M||_F^2", "squared Frobenius norm"},
                  operator_squared = {"operator_squared", "||M||_op^2", "squared operator norm"},
                  column_low = {"column_low", "min_t ||m_t||^2/d",
                                "smallest squared norm of a column, over d"},
                  column_high = {"column_high", "max_t ||m_t||^2/d",
                                 "largest squared norm of a column, over d"};
// Numbers.
constexpr Measure
    inverse_p_max = {"inverse_p_max", "1/p_max",
                     "tokens of the sequence for each occurrence of the most frequent one"},
    distinct_tokens = {"distinct_tokens", "", "different tokens in the sequence"},
    norm_deviation = {"embedding.norm_deviation", "max_t | ||x_t||^2/d - 1 |",
                      "how far the squared norm of an embedded token is from d, at most"},
    final_rank = {"A_final.stable_rank", "st(A_final)",
                  "stable rank of the normalized output of the last block"};
// Of the result.
constexpr Measure
    bound = {"bound", "", "bound on st(M) by Proposition 2.14 (ii), from the measured block input"},
    over_bound = {"over_bound", "", "measured stable rank over that bound"},
    bound_on_low = {"column_low.bound", "", "lower bound on the squared norm of a column, over d"},
    bound_on_high = {"column_high.bound", "",
                     "upper bound on the squared norm of a column, over d"},
    corollary_bound = {"corollary_bound", "", "bound on st(M) by Corollary 2.15 at this depth"};

Quantity of_matrix(const std::string& matrix, const Measure& measure) {
  return At("matrix", matrix) / measure;
}
Quantity rank_of(const std::string& matrix) {
  return of_matrix(matrix, block_rank);
}
Quantity frobenius_of(const std::string& matrix) {
  return of_matrix(matrix, frobenius_squared);
}
Quantity operator_of(const std::string& matrix) {
  return of_matrix(matrix, operator_squared);
}
Quantity column_low_of(const std::string& matrix) {
  return of_matrix(matrix, column_low);
}
Quantity column_high_of(const std::string& matrix) {
  return of_matrix(matrix, column_high);
}
const Quantity column_low_bound = of_matrix("X_plus", bound_on_low),
               column_high_bound = of_matrix("X_plus", bound_on_high);

// A trial -----------------------------------------------------------------------------------------

SquaredNorms squared_norms(const arma::mat& M) {
  const double op = operator_norm(M);
  return {arma::dot(M, M), op * op};
}

ColumnRange column_range(const arma::mat& M) {
  const arma::rowvec squares = arma::sum(arma::square(M), 0) / static_cast<double>(M.n_rows);
  return {squares.min(), squares.max()};
}

// Draws the embedded sequence X (d, n) and records the quantities of Lemma 2.9.
arma::mat draw_sequence(const Config& c, const Trial& trial, TrialRecord& record) {
  Stream tokens = trial.stream("tokens"), embedding = trial.stream("embedding");
  const TokenCounts counts = count_tokens(ZipfLaw(c.vocabulary, c.zipf).draw(c.n, tokens));
  const arma::mat E = draw_embedding(c.d, counts, embedding);
  arma::mat X(c.d, c.n, arma::fill::none);
  for (arma::uword t = 0; t < X.n_cols; ++t) X.col(t) = E.col(counts.index[t]);
  const ColumnRange columns = column_range(X);
  record.set(inverse_p_max, 1 / counts.p_max());
  record.set(distinct_tokens, static_cast<double>(counts.id.size()));
  record.set(norm_deviation, std::max(columns.high - 1, 1 - columns.low));
  return X;
}

TrialRecord measure_blocks(const Config& c, const Trial& trial) {
  TrialRecord record;
  arma::mat X = draw_sequence(c, trial, record);
  std::map<std::string, std::vector<double>> arrays;
  const auto add = [&](const std::string& matrix, const SquaredNorms& norms,
                       const ColumnRange& columns) {
    arrays[rank_of(matrix)].push_back(norms.stable_rank());
    arrays[frobenius_of(matrix)].push_back(norms.frobenius);
    arrays[operator_of(matrix)].push_back(norms.op);
    if (std::ranges::count(column_matrices, matrix) == 0) return;
    arrays[column_low_of(matrix)].push_back(columns.low);
    arrays[column_high_of(matrix)].push_back(columns.high);
  };
  SquaredNorms norms_X = squared_norms(X);
  ColumnRange columns_X = column_range(X);
  for (std::uint64_t block = 1; block <= c.layers; ++block) {
    trial.check_interrupt();
    const DecoderStates states = decoder_block(draw_decoder_weights(trial, block, c.d, c.k), X);
    add("X", norms_X, columns_X);
    const auto measure = [&](const char* matrix, const arma::mat& M) {
      add(matrix, squared_norms(M), column_range(M));
    };
    measure("A_rms", states.A_rms);
    measure("H", states.H);
    measure("X_att", states.X_att);
    measure("A_mlp_rms", states.A_mlp_rms);
    measure("B", states.B);
    X = states.X_plus;
    norms_X = squared_norms(X);
    columns_X = column_range(X);
    add("X_plus", norms_X, columns_X);
  }
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
  rms_norm(X, 0.0);
  record.set(final_rank, stable_rank(X));
  return record;
}

// The measurements of one block of one trial; blocks count from 0.
struct MeasuredBlock {
  const TrialRecord& trial;
  std::size_t index;

  double rank(const std::string& matrix) const { return at(rank_of(matrix)); }
  SquaredNorms norms(const std::string& matrix) const {
    return {at(frobenius_of(matrix)), at(operator_of(matrix))};
  }
  ColumnRange columns(const std::string& matrix) const {
    return {at(column_low_of(matrix)), at(column_high_of(matrix))};
  }

 private:
  double at(const std::string& name) const { return trial.array(name).at(index); }
};

// Claims ------------------------------------------------------------------------------------------

// Relative excess allowed for rounding: some bounds hold with equality (Lemma 2.10 with equal
// columns).
constexpr double rounding_slack = 1e-5;

// The bounded quantity of a statement over its bound, at one block of one trial.
using RatioAt = std::function<double(const MeasuredBlock& block)>;

struct Judging {
  const Config& c;
  const Records& records;
  Claims& claims;

  // A statement about every block of every trial. A ratio above 1 is a violation; a NaN is not a
  // case.
  void every_block(const Statement& statement, const RatioAt& ratio,
                   const std::string& detail = "") const {
    const Tally found = tally_of(records, [&](const TrialRecord& record, Tally& tally) {
      for (std::size_t block = 0; block < record.array(rank_of("X")).size(); ++block) {
        const double value = ratio({record, block});
        if (!std::isnan(value)) tally.count(value > 1 + rounding_slack, value);
      }
    });
    claims.never_violated(
        statement, found,
        clauses(say("largest ratio to the bound {}", std::max(0.0, found.largest)), detail),
        WorstCase::largest);
  }
};

// The paper leaves the constants c and C of its probabilities open.
const std::string open_constants = "every block of every trial; the paper leaves c and C open";

Place proof_of_2_14(const std::string& prefix, const std::string& equation) {
  return {spectral::prop_2_14, prefix, "Proof of Proposition 2.14, " + equation, Part::proof};
}

// A ratio that is at most 1 if all squared column norms are within the allowed range.
RatioAt columns_ratio(const std::string& matrix, double delta,
                      ColumnRange (*allowed)(const ColumnRange&, double)) {
  return [=](const MeasuredBlock& block) {
    const ColumnRange range = allowed(block.columns("X"), delta), columns = block.columns(matrix);
    return std::max(columns.high / range.high, range.low / columns.low);
  };
}

// The constants, and the largest C for which the hypothesis d >= C delta^-2 log n holds.
std::string hypothesis(const Config& c) {
  const double d = static_cast<double>(c.d), n = static_cast<double>(c.n);
  return say(
      "delta = {}, c_- and c_+ are measured; the paper does not give the C of d >= C delta^-2 log "
      "n, which holds for C <= {}",
      c.delta, d * c.delta * c.delta / std::log(n));
}

// Why the statements about concentration say nothing at this size.
std::string unmet_hypothesis(const Config& c) {
  const double d = static_cast<double>(c.d), n = static_cast<double>(c.n);
  return d * c.delta * c.delta >= std::log(n)
             ? ""
             : say("the statement needs d >= C delta^-2 log n, and d is below delta^-2 log n = {}",
                   std::log(n) / c.delta / c.delta);
}

void judge_lemmas(const Judging& judging) {
  const Config& c = judging.c;
  const double delta = c.delta, d = static_cast<double>(c.d), k = static_cast<double>(c.k),
               n = static_cast<double>(c.n);
  const auto rms_ratio = [](const std::string& before, const std::string& after) {
    return [=](const MeasuredBlock& block) {
      const ColumnRange columns = block.columns(before);
      return block.rank(after) / (columns.high / columns.low * block.rank(before));
    };
  };
  const Place lemma_2_10{spectral::lemma_2_10, "/", "Lemma 2.10"};
  judging.every_block(
      lemma_2_10("attention-input",
                 "st(RMSNorm(X)) <= (U/L) st(X), where L <= ||x_t||^2 <= U for every column of X"),
      rms_ratio("X", "A_rms"), "L and U are measured");
  judging.every_block(
      lemma_2_10("mlp-input",
                 "st(RMSNorm(X_att)) <= (U/L) st(X_att), where L <= ||x_t^att||^2 <= U for "
                 "every column of X_att"),
      rms_ratio("X_att", "A_mlp_rms"), "L and U are measured");
  judging.every_block(
      asymptotic(Statement{spectral::lemma_2_12, "spectral/eq-2.16/relu", "Lemma 2.12, eq. (2.16)",
                           "||B||_F^2 >= (1-eps) (1/2)(1-Phi(1)) (k/d) ||A_mlp_rms||_F^2"},
                 "every block of every trial, eps = delta"),
      [=](const MeasuredBlock& block) {
        return (1 - delta) * relu_small_ball() * k / d * block.norms("A_mlp_rms").frobenius /
               block.norms("B").frobenius;
      },
      say("eps = delta = {}; with c1 = p/2 the lemma allows each block a failure probability of {}",
          delta, std::min(1.0, 2 * n * std::exp(-relu_small_ball() * delta * delta * k))));

  const auto residual_ratio = [=](const std::string& X, const std::string& H,
                                  const std::string& sum, double d_over_k) {
    return [=](const MeasuredBlock& block) {
      return block.rank(sum) / residual_bound(block.norms(X), block.norms(H), d_over_k, delta);
    };
  };
  const auto needed = judging.claims.only_where(unmet_hypothesis(c));
  const Place eq_2_17{spectral::lemma_2_13, "spectral/eq-2.17/", "Lemma 2.13, eq. (2.17)"};
  judging.every_block(
      asymptotic(eq_2_17("attention",
                         "st(X + W_O H) <= (1+delta)/(1-delta) (||X||_F^2 + (d/k)||H||_F^2) / "
                         "max(||X||_op^2, (d/k)||H||_op^2), where k = d"),
                 open_constants),
      residual_ratio("X", "H", "X_att", 1.0), say("delta = {}", delta));
  judging.every_block(
      asymptotic(
          eq_2_17("mlp",
                  "st(X_att + W_2 B) <= (1+delta)/(1-delta) (||X_att||_F^2 + (d/k)||B||_F^2) / "
                  "max(||X_att||_op^2, (d/k)||B||_op^2)"),
          open_constants),
      residual_ratio("X_att", "B", "X_plus", d / k), say("delta = {}", delta));
  judging.every_block(
      asymptotic(
          proof_of_2_14("spectral/eq-E.7/", "eq. (E.7)")(
              "column-norms",
              "(1-delta) c_- d <= ||x_t^att||^2 <= (1+delta)(c_+ + 1) d for every column of X_att"),
          open_constants),
      columns_ratio("X_att", delta, attention_columns), hypothesis(c));

  const std::string mlp_side = "||B||_F^2 >= (1-delta/16) c_sigma/c_+^att (k/d)";
  const Misprint eq_E_12 =
      proof_of_2_14("spectral/", "eq. (E.12)")
          .misprint(spectral::prop_2_14_eq_E_12, "eq-E.12", mlp_side + " d ||X_att||_F^2",
                    mlp_side + " ||X_att||_F^2");
  const auto mlp_ratio = [=](double factor) {
    return [=](const MeasuredBlock& block) {
      const double c_att = attention_columns(block.columns("X"), delta).high;
      return (1 - delta / 16) * relu_small_ball() / c_att * k / d * factor *
             block.norms("X_att").frobenius / block.norms("B").frobenius;
    };
  };
  judging.every_block(eq_E_12.as_printed, mlp_ratio(d));
  judging.every_block(eq_E_12.corrected, mlp_ratio(1.0));
}

// Two inequalities between numbers, over delta and c_+. (E.14) is divided by K_B.
void judge_arithmetic(Claims& claims) {
  const Misprint step_E_7 =
      proof_of_2_14("spectral/eq-E.7/", "step before eq. (E.7)")
          .misprint(spectral::prop_2_14_eq_E_7, "step",
                    "(1+delta/16)(c_+ + 1+delta) <= (1+delta)(c_+ + 1)",
                    "(1+delta/16)(c_+ + (1+delta/16)^2) <= (1+delta)(c_+ + 1)");
  const std::string rank_side = " + 1 <= 1 + c_+^att/(c_sigma (1-delta))";
  const Misprint eq_E_14 =
      proof_of_2_14("spectral/", "eq. (E.14)")
          .misprint(spectral::prop_2_14_eq_E_14, "eq-E.14", "2 c_+^att/c_sigma" + rank_side,
                    "c_+^att/((1-delta/16) c_sigma)" + rank_side);
  Tally printed_E_7, corrected_E_7, printed_E_14, corrected_E_14;
  const auto count = [](Tally& tally, double left, double right) {
    tally.count(left > right, left / right);
  };
  for (const double delta : {0.01, 0.05, 0.1, 0.2, 0.24}) {
    for (const double c_plus : {0.01, 0.1, 1.0, 10.0}) {
      const double small = 1 + delta / 16, c_sigma = relu_small_ball(),
                   c_att = attention_columns({0, c_plus}, delta).high;
      count(printed_E_7, small * (c_plus + 1 + delta), c_att);
      count(corrected_E_7, small * (c_plus + small * small), c_att);
      const double right = 1 + c_att / (c_sigma * (1 - delta));
      count(printed_E_14, 2 * c_att / c_sigma + 1, right);
      count(corrected_E_14, c_att / ((1 - delta / 16) * c_sigma) + 1, right);
    }
  }
  const auto judge = [&](const Statement& statement, const Tally& tally) {
    claims.never_violated(statement, tally,
                          say("delta from 0.01 to 0.24 and c_+ from 0.01 to 10; largest quotient "
                              "of both sides {}",
                              tally.largest),
                          WorstCase::largest);
  };
  judge(step_E_7.as_printed, printed_E_7);
  judge(step_E_7.corrected, corrected_E_7);
  judge(eq_E_14.as_printed, printed_E_14);
  judge(eq_E_14.corrected, corrected_E_14);
}

// A bound of Proposition 2.14 (ii).
struct BoundedRank {
  std::string matrix, in_words;
  double BlockBounds::*bound;
  std::string text;
  bool for_every_weight = false;  // not only with high probability

  // The bound, from the measured input of the block.
  double at(const MeasuredBlock& block, double delta) const {
    return block_bounds(block.columns("X"), block.rank("X"), delta).*bound;
  }
  // st(matrix) over its bound.
  double over_bound(const MeasuredBlock& block, double delta) const {
    return block.rank(matrix) / at(block, delta);
  }
};
const BoundedRank bounded_B = {"B", "hidden units of the MLP", &BlockBounds::B, "st(B) <= 2 pi"};
const std::vector<BoundedRank> bounded_ranks = {
    {"A_rms", "normalized attention input", &BlockBounds::A_rms, "st(A_rms) <= (c_+/c_-) st(X)",
     true},
    {"X_att", "stream after attention", &BlockBounds::X_att,
     "st(X_att) <= (1+delta)/(1-delta) (1 + 2/c_-) st(X)"},
    {"A_mlp_rms", "normalized MLP input", &BlockBounds::A_mlp_rms,
     "st(A_mlp_rms) <= ((1+delta)/(1-delta))^2 (c_+ + 1)/c_- (1 + 2/c_-) st(X)"},
    bounded_B,
    {"X_plus", "block output", &BlockBounds::X_plus,
     "st(X_plus) <= 2 pi (1+delta)/(1-delta) (1 + (1+delta)(c_+ + 1) / "
     "((1/2)(1-Phi(1))(1-delta)))"},
};

RatioAt ratio_to_bound(const BoundedRank& of, double delta) {
  return [=](const MeasuredBlock& block) { return of.over_bound(block, delta); };
}

void judge_proposition(const Judging& judging) {
  const double delta = judging.c.delta;
  const auto needed = judging.claims.only_where(unmet_hypothesis(judging.c));
  judging.every_block(
      asymptotic(Statement{spectral::prop_2_14, "spectral/prop-2.14/i", "Proposition 2.14 (i)",
                           "(1-delta)^2 c_- d <= ||x_t^+||^2 <= (1+delta)^2 (c_+ + 2) d for every "
                           "column of X_plus"},
                 open_constants),
      columns_ratio("X_plus", delta, output_columns), hypothesis(judging.c));
  const Place ranks{spectral::prop_2_14, "/ii/", "Proposition 2.14 (ii)"};
  for (const BoundedRank& each : bounded_ranks) {
    const Statement statement = ranks(each.matrix, each.text);
    judging.every_block(each.for_every_weight ? statement : asymptotic(statement, open_constants),
                        ratio_to_bound(each, delta), hypothesis(judging.c));
  }
}

const Place cor_2_15{spectral::cor_2_15, "/", "Corollary 2.15"};

// The bounds of the corollary, from the embedding of one trial.
DepthBounds corollary_bounds(const Config& c, const TrialRecord& record) {
  return depth_bounds(c.layers, record.scalar(norm_deviation), record.scalar(inverse_p_max));
}

// A_rms is also measured at l = L, after the last block.
void judge_growth(const std::string& matrix, bool also_after_blocks, const Judging& judging) {
  const Statement growth = asymptotic(
      cor_2_15("growth/" + matrix,
               say("st({}) grows at most as fast as (1 + l)^2 over the layers l >= 1", matrix)),
      "an exponent of at most 2 over the layers of one network");
  std::vector<double> x;  // 1 + l
  for (std::size_t l = 1; l < judging.c.layers + also_after_blocks; ++l)
    x.push_back(static_cast<double>(l) + 1);
  const char* unmet = "an exponent needs at least three layers l >= 1, for example --layers 4";
  if (!judging.claims.applies(growth, x.size() < 3 ? unmet : "")) return;
  const ValueAtSize rank = [&](const TrialRecord& record, std::size_t i) {
    const std::size_t l = i + 1;
    return l < judging.c.layers ? record.array(rank_of(matrix)).at(l) : record.scalar(final_rank);
  };
  Tally constant, deepest;
  for (const TrialRecord& record : judging.records) {
    for (std::size_t i = 0; i < x.size(); ++i)
      constant.count(false, rank(record, i) / (x[i] * x[i]));
    deepest.count(false, rank(record, x.size() - 1));
  }
  judging.claims.mean(
      growth, slopes_over(judging.records, x, rank, fit_power), at_most(2.0),
      say("exponent of a power law in 1 + l, one fit per trial; smallest C with st <= C (1 + l)^2: "
          "{}; largest st at the deepest layer {}",
          std::max(0.0, constant.largest), std::max(0.0, deepest.largest)));
}

void judge_corollary(const Judging& judging) {
  const Config& c = judging.c;
  const std::string depth_constants = "the constants of Appendix F; " + open_constants;
  const std::string measured_constants =
      "constants of Appendix F with delta = 1/(8 L) and the measured eps, in trials with eps < 1";
  double C_in = 0;
  for (const TrialRecord& record : judging.records) {
    for (const char* matrix : {"X", "A_rms", "A_mlp_rms"}) {
      C_in = std::max(C_in, MeasuredBlock{record, 0}.rank(matrix) / record.scalar(inverse_p_max));
    }
  }
  judging.every_block(asymptotic(cor_2_15("B", "st(B) <= 2 pi in every block"), depth_constants),
                      ratio_to_bound(bounded_B, c.delta));
  judging.every_block(
      asymptotic(
          cor_2_15(
              "embedding-layer",
              "st(X), st(A_rms) and st(A_mlp_rms) of the first block are at most C_in / p_max"),
          depth_constants),
      [&](const MeasuredBlock& block) {
        if (block.index > 0) return undefined;
        const DepthBounds bounds = corollary_bounds(c, block.trial);
        if (std::isnan(bounds.X[0])) return undefined;
        return std::max({block.rank("X") / bounds.X[0], block.rank("A_rms") / bounds.A_rms[0],
                         block.rank("A_mlp_rms") / bounds.A_mlp_rms[0]});
      },
      say("{}; the paper does not give C_in, the smallest possible value is {}", measured_constants,
          C_in));
  judging.every_block(
      asymptotic(
          cor_2_15(
              "depth",
              "st(A_rms) and st(A_mlp_rms) of layer l are below a bound of order (1 + l)^2, and "
              "st(A_final) is below a bound of order (1 + L)^2"),
          depth_constants),
      [&](const MeasuredBlock& block) {
        const DepthBounds bounds = corollary_bounds(c, block.trial);
        if (std::isnan(bounds.X[0])) return undefined;
        const std::size_t l = block.index;
        const double inside = std::max(block.rank("A_rms") / bounds.A_rms[l],
                                       block.rank("A_mlp_rms") / bounds.A_mlp_rms[l]);
        return l + 1 < c.layers
                   ? inside
                   : std::max(inside, block.trial.scalar(final_rank) / bounds.final_rms);
      },
      measured_constants);
  judge_growth("A_rms", true, judging);
  judge_growth("A_mlp_rms", false, judging);
}

void Config::judge(const Records& records, Claims& claims) const {
  judge_lemma_2_9(
      records,
      [](const TrialRecord& record) {
        return EmbeddedSequence{MeasuredBlock{record, 0}.rank("X"), record.scalar(norm_deviation),
                                record.scalar(inverse_p_max)};
      },
      claims);
  const Judging judging{*this, records, claims};
  judge_lemmas(judging);
  judge_arithmetic(claims);
  judge_proposition(judging);
  judge_corollary(judging);
}

// The result --------------------------------------------------------------------------------------

void add_scalars(Numbers& out) {
  for (const Measure& each : {inverse_p_max, distinct_tokens, norm_deviation, final_rank})
    out.scalar(each);
  for (const std::string& matrix : block_matrices) {
    const Quantity ranks = rank_of(matrix);
    out.scalar(At("block", "first") / ranks,
               per_trial(out.records(),
                         [&](const TrialRecord& record) { return record.array(ranks).front(); }));
    out.scalar(At("block", "last") / ranks,
               per_trial(out.records(),
                         [&](const TrialRecord& record) { return record.array(ranks).back(); }));
  }
}

void add_series(const Config& c, Numbers& out) {
  std::vector<double> blocks;
  for (std::uint64_t block = 1; block <= c.layers; ++block)
    blocks.push_back(static_cast<double>(block));
  for (const std::string& matrix : block_matrices) out.series(rank_of(matrix), "block", blocks);
  for (const std::string& matrix : column_matrices) {
    out.series(column_low_of(matrix), "block", blocks);
    out.series(column_high_of(matrix), "block", blocks);
  }
  const auto over_blocks = [&](const Quantity& quantity, const RatioAt& value) {
    out.series(quantity, "block", blocks, [&](const TrialRecord& record, std::size_t block) {
      return value({record, block});
    });
  };
  for (const BoundedRank& each : bounded_ranks) {
    over_blocks(of_matrix(each.matrix, bound),
                [&](const MeasuredBlock& block) { return each.at(block, c.delta); });
    over_blocks(of_matrix(each.matrix, over_bound), ratio_to_bound(each, c.delta));
  }
  const auto output = [&](const MeasuredBlock& block) {
    return output_columns(block.columns("X"), c.delta);
  };
  over_blocks(column_low_bound, [&](const MeasuredBlock& block) { return output(block).low; });
  over_blocks(column_high_bound, [&](const MeasuredBlock& block) { return output(block).high; });
  const auto corollary = [&](const std::string& matrix, std::vector<double> DepthBounds::*part) {
    const Quantity quantity = of_matrix(matrix, corollary_bound);
    const auto bounds = per_trial(out.records(), [&](const TrialRecord& record) {
      return corollary_bounds(c, record).*part;
    });
    out.series(quantity, series_over_trials(quantity, "block", blocks, bounds));
  };
  corollary("A_rms", &DepthBounds::A_rms);
  corollary("A_mlp_rms", &DepthBounds::A_mlp_rms);
}

// Proposition 2.14 (ii): each measured rank and its bound, one panel per matrix.
void add_main_figure(Display& out) {
  for (const BoundedRank& each : bounded_ranks) {
    out.panel(say("{} {}", capitalized(each.in_words), each.matrix), {"block"},
              rank_axis("stable rank"))
        .curve(rank_of(each.matrix), "measured", {LineStyle::line, 0})
        .curve(of_matrix(each.matrix, bound), "bound of Proposition 2.14 (ii)",
               {LineStyle::dashed, 1})
        .group("matrices");
  }
  out.columns(bounded_ranks.size());
}

void add_further_figure(Display& out) {
  out.next_figure("Distance from the bounds, unbounded ranks and column norms");
  PanelBuilder shares =
      out.panel("Stable rank over its bound", {"block"}, log_axis("measured over bound"));
  int color = 0;
  for (const BoundedRank& each : bounded_ranks) {
    shares.curve(of_matrix(each.matrix, over_bound), say("{} {}", each.in_words, each.matrix),
                 {LineStyle::line, color++});
  }
  shares.line(1.0, "bound");
  out.panel("Stable ranks without a bound of their own", {"block"}, rank_axis("stable rank"))
      .curve(rank_of("X"), "block input X", {LineStyle::line, 0})
      .curve(rank_of("H"), "output H of the attention", {LineStyle::line, 1});
  out.panel("Columns of the block output, Proposition 2.14 (i)", {"block"},
            log_axis("squared norm / d"))
      .curve(column_low_of("X_plus"), "smallest", {LineStyle::line, 0})
      .curve(column_low_bound, "lower bound", {LineStyle::dashed, 0})
      .curve(column_high_of("X_plus"), "largest", {LineStyle::line, 1})
      .curve(column_high_bound, "upper bound", {LineStyle::dashed, 1});
}

void Config::derive(Numbers& out) const {
  add_scalars(out);
  add_series(*this, out);
}

void Config::show(Display& out) const {
  add_main_figure(out);
  add_further_figure(out);
  const auto embedded = per_trial(
      out.records(), [](const TrialRecord& record) { return record.array(rank_of("X")).front(); });
  const Summary first = summarize(embedded),
                last = summarize(scalars_of(out.records(), final_rank));
  if (layers > 1 && last.mean < first.mean) {
    out.note(
        say("The stable ranks decrease with depth, from {} for the embedded tokens to {} for the "
            "normalized last output: the tokens align, although Corollary 2.15 allows the ranks to "
            "grow like (1 + l)^2.",
            first.mean, last.mean));
  }
}

Work Config::work() const {
  return each_trial([c = *this](Trial& trial) { return measure_blocks(c, trial); });
}

}  // namespace
}  // namespace ranklab::transformer_init

namespace ranklab {

std::unique_ptr<Study> make_transformer_init_study() {
  return std::make_unique<transformer_init::Config>();
}

}  // namespace ranklab
