#include <algorithm>
#include <cmath>
#include <functional>

#include "core/undefined.hpp"
#include "experiments/one_step_compare/transformer_init/transformer_init.hpp"
#include "experiments/token_embedding.hpp"

namespace ranklab::transformer_init {
namespace {

// Relative excess allowed for rounding: some bounds hold with equality (Lemma 2.10 with equal
// columns).
constexpr double rounding_slack = 1e-5;

const Place lemma_2_10{"spectral/lemma-2.10", "spectral/lemma-2.10/", "Lemma 2.10"};
// The paper leaves the constants c and C of its probabilities open.
const std::string open_constants = "every block of every trial; the paper leaves c and C open";
const Statement eq_2_16 =
    asymptotic(Statement{"spectral/lemma-2.12", "spectral/eq-2.16/relu", "Lemma 2.12, eq. (2.16)",
                         "||B||_F^2 >= (1-eps) (1/2)(1-Phi(1)) (k/d) ||A_mlp_rms||_F^2"},
               "every block of every trial, eps = delta");
const Place eq_2_17{"spectral/lemma-2.13", "spectral/eq-2.17/", "Lemma 2.13, eq. (2.17)"};
const auto proof_of_2_14 = [](const std::string& prefix, const std::string& equation) {
  return Place{"spectral/prop-2.14", prefix, "Proof of Proposition 2.14, " + equation, Part::proof};
};
const Statement eq_E_7 = asymptotic(
    proof_of_2_14("spectral/eq-E.7/", "eq. (E.7)")(
        "column-norms",
        "(1-delta) c_- d <= ||x_t^att||^2 <= (1+delta)(c_+ + 1) d for every column of X_att"),
    open_constants);
const Misprint step_E_7 = proof_of_2_14("spectral/eq-E.7/", "step before eq. (E.7)")
                              .misprint("spectral/prop-2.14/eq-E.7", "step",
                                        "(1+delta/16)(c_+ + 1+delta) <= (1+delta)(c_+ + 1)",
                                        "(1+delta/16)(c_+ + (1+delta/16)^2) <= (1+delta)(c_+ + 1)");
const std::string mlp_side = "||B||_F^2 >= (1-delta/16) c_sigma/c_+^att (k/d)";
const Misprint eq_E_12 = proof_of_2_14("spectral/", "eq. (E.12)")
                             .misprint("spectral/prop-2.14/eq-E.12", "eq-E.12",
                                       mlp_side + " d ||X_att||_F^2", mlp_side + " ||X_att||_F^2");
const std::string rank_side = " + 1 <= 1 + c_+^att/(c_sigma (1-delta))";
const Misprint eq_E_14 =
    proof_of_2_14("spectral/", "eq. (E.14)")
        .misprint("spectral/prop-2.14/eq-E.14", "eq-E.14", "2 c_+^att/c_sigma" + rank_side,
                  "c_+^att/((1-delta/16) c_sigma)" + rank_side);
const Statement prop_2_14_columns = asymptotic(
    Statement{"spectral/prop-2.14", "spectral/prop-2.14/i", "Proposition 2.14 (i)",
              "(1-delta)^2 c_- d <= ||x_t^+||^2 <= (1+delta)^2 (c_+ + 2) d for every column of "
              "X_plus"},
    open_constants);
const Place prop_2_14_ranks{"spectral/prop-2.14", "spectral/prop-2.14/ii/",
                            "Proposition 2.14 (ii)"};
const Place cor_2_15{"spectral/cor-2.15", "spectral/cor-2.15/", "Corollary 2.15"};
const std::string depth_constants = "the constants of Appendix F; " + open_constants;

// The bounded quantity of a statement over its bound, at one block of one trial.
using RatioAt = std::function<double(const MeasuredBlock& block)>;

// Judges statements about every block of every trial. A ratio above 1 is a violation; a NaN is not
// a case.
class EveryBlock {
 public:
  EveryBlock(const Records& records, Claims& claims) : records_(records), claims_(claims) {}

  void operator()(const Statement& statement, const RatioAt& ratio,
                  const std::string& detail = "") const {
    const Tally found = tally_of(records_, [&](const TrialRecord& record, Tally& tally) {
      for (std::size_t block = 0; block < record.array(rank_of("X")).size(); ++block) {
        const double value = ratio({record, block});
        if (!std::isnan(value)) tally.count(value > 1 + rounding_slack, value);
      }
    });
    claims_.never_violated(
        statement, found,
        clauses("largest ratio to the bound " + short_number(std::max(0.0, found.largest)), detail),
        WorstCase::largest);
  }

 private:
  const Records& records_;
  Claims& claims_;
};

// A ratio that is at most 1 if all squared column norms are within the allowed range.
RatioAt columns_ratio(const std::string& matrix, double delta,
                      ColumnRange (*allowed)(const ColumnRange&, double)) {
  return [=](const MeasuredBlock& block) {
    const ColumnRange range = allowed(block.columns("X"), delta), columns = block.columns(matrix);
    return std::max(columns.high / range.high, range.low / columns.low);
  };
}

RatioAt over_bound(const BoundedRank& rank, double delta) {
  return [=](const MeasuredBlock& block) { return rank.over_bound(block, delta); };
}

// The constants, and the largest C for which the hypothesis d >= C delta^-2 log n holds.
std::string hypothesis(const TransformerInitConfig& config) {
  const double d = static_cast<double>(config.d), n = static_cast<double>(config.n);
  return "delta = " + short_number(config.delta) +
         ", c_- and c_+ are measured; the paper does not give the C of d >= C delta^-2 log n, "
         "which holds for C <= " +
         short_number(d * config.delta * config.delta / std::log(n));
}

// Why the statements about concentration say nothing at this size.
std::string unmet_hypothesis(const TransformerInitConfig& config) {
  const double d = static_cast<double>(config.d), n = static_cast<double>(config.n);
  return d * config.delta * config.delta >= std::log(n)
             ? ""
             : "the statement needs d >= C delta^-2 log n, and d is below delta^-2 log n = " +
                   short_number(std::log(n) / config.delta / config.delta);
}

void judge_lemmas(const TransformerInitConfig& config, const EveryBlock& every_block,
                  Claims& claims) {
  const double delta = config.delta, d = static_cast<double>(config.d),
               k = static_cast<double>(config.k), n = static_cast<double>(config.n);
  const auto rms_ratio = [](const std::string& before, const std::string& after) {
    return [=](const MeasuredBlock& block) {
      const ColumnRange columns = block.columns(before);
      return block.rank(after) / (columns.high / columns.low * block.rank(before));
    };
  };
  every_block(
      lemma_2_10("attention-input",
                 "st(RMSNorm(X)) <= (U/L) st(X), where L <= ||x_t||^2 <= U for every column of X"),
      rms_ratio("X", "A_rms"), "L and U are measured");
  every_block(lemma_2_10("mlp-input",
                         "st(RMSNorm(X_att)) <= (U/L) st(X_att), where L <= ||x_t^att||^2 <= U for "
                         "every column of X_att"),
              rms_ratio("X_att", "A_mlp_rms"), "L and U are measured");
  every_block(
      eq_2_16,
      [=](const MeasuredBlock& block) {
        return (1 - delta) * relu_small_ball() * k / d * block.norms("A_mlp_rms").frobenius /
               block.norms("B").frobenius;
      },
      "eps = delta = " + short_number(delta) +
          "; with c1 = p/2 the lemma allows each block a failure probability of " +
          short_number(std::min(1.0, 2 * n * std::exp(-relu_small_ball() * delta * delta * k))));

  const auto residual_ratio = [=](const std::string& X, const std::string& H,
                                  const std::string& sum, double d_over_k) {
    return [=](const MeasuredBlock& block) {
      return block.rank(sum) / residual_bound(block.norms(X), block.norms(H), d_over_k, delta);
    };
  };
  const auto needed = claims.only_where(unmet_hypothesis(config));
  every_block(
      asymptotic(eq_2_17("attention",
                         "st(X + W_O H) <= (1+delta)/(1-delta) (||X||_F^2 + (d/k)||H||_F^2) / "
                         "max(||X||_op^2, (d/k)||H||_op^2), where k = d"),
                 open_constants),
      residual_ratio("X", "H", "X_att", 1.0), "delta = " + short_number(delta));
  every_block(
      asymptotic(
          eq_2_17("mlp",
                  "st(X_att + W_2 B) <= (1+delta)/(1-delta) (||X_att||_F^2 + (d/k)||B||_F^2) / "
                  "max(||X_att||_op^2, (d/k)||B||_op^2)"),
          open_constants),
      residual_ratio("X_att", "B", "X_plus", d / k), "delta = " + short_number(delta));
  every_block(eq_E_7, columns_ratio("X_att", delta, attention_columns), hypothesis(config));

  const auto mlp_ratio = [=](double factor) {
    return [=](const MeasuredBlock& block) {
      const double c_att = attention_columns(block.columns("X"), delta).high;
      return (1 - delta / 16) * relu_small_ball() / c_att * k / d * factor *
             block.norms("X_att").frobenius / block.norms("B").frobenius;
    };
  };
  every_block(eq_E_12.as_printed, mlp_ratio(d));
  every_block(eq_E_12.corrected, mlp_ratio(1.0));
}

// Two inequalities between numbers, over delta and c_+. (E.14) is divided by K_B.
void judge_arithmetic(Claims& claims) {
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
                          "delta from 0.01 to 0.24 and c_+ from 0.01 to 10; largest quotient of "
                          "both sides " +
                              short_number(tally.largest),
                          WorstCase::largest);
  };
  judge(step_E_7.as_printed, printed_E_7);
  judge(step_E_7.corrected, corrected_E_7);
  judge(eq_E_14.as_printed, printed_E_14);
  judge(eq_E_14.corrected, corrected_E_14);
}

void judge_proposition(const TransformerInitConfig& config, const EveryBlock& every_block,
                       Claims& claims) {
  const auto needed = claims.only_where(unmet_hypothesis(config));
  every_block(prop_2_14_columns, columns_ratio("X_plus", config.delta, output_columns),
              hypothesis(config));
  for (const BoundedRank& each : bounded_ranks) {
    const Statement statement = prop_2_14_ranks(each.matrix, each.text);
    every_block(each.for_every_weight ? statement : asymptotic(statement, open_constants),
                over_bound(each, config.delta), hypothesis(config));
  }
}

// st(matrix) at layer l of the corollary. A_rms is also measured at l = L, after the last block.
double rank_at_layer(const TrialRecord& record, const std::string& matrix, std::size_t l) {
  const std::vector<double>& ranks = record.array(rank_of(matrix));
  return matrix == "A_rms" && l == ranks.size() ? record.scalar(final_rank) : ranks.at(l);
}

void judge_growth(const std::string& matrix, const TransformerInitConfig& config,
                  const Records& records, Claims& claims) {
  const Statement growth = asymptotic(
      cor_2_15("growth/" + matrix,
               "st(" + matrix + ") grows at most as fast as (1 + l)^2 over the layers l >= 1"),
      "an exponent of at most 2 over the layers of one network");
  std::vector<double> x;  // 1 + l
  for (std::size_t l = 1; l < config.layers + (matrix == "A_rms" ? 1 : 0); ++l)
    x.push_back(static_cast<double>(l) + 1);
  const std::string unmet =
      "an exponent needs at least three layers l >= 1, for example --layers 4";
  if (!claims.applies(growth, x.size() < 3 && !records.empty() ? unmet : "")) return;
  const ValueAtSize rank = [&](const TrialRecord& record, std::size_t i) {
    return rank_at_layer(record, matrix, i + 1);
  };
  Tally constant, deepest;
  for (const TrialRecord& record : records) {
    for (std::size_t i = 0; i < x.size(); ++i)
      constant.count(false, rank(record, i) / (x[i] * x[i]));
    deepest.count(false, rank(record, x.size() - 1));
  }
  claims.mean(
      growth, slopes_over(records, x, rank, fit_power), at_most(2.0),
      "exponent of a power law in 1 + l, one fit per trial; smallest C with st <= C (1 + l)^2: " +
          short_number(std::max(0.0, constant.largest)) + "; largest st at the deepest layer " +
          short_number(std::max(0.0, deepest.largest)));
}

void judge_corollary(const TransformerInitConfig& config, const Records& records,
                     const EveryBlock& every_block, Claims& claims) {
  const std::string constants =
      "constants of Appendix F with delta = 1/(8 L) and the measured eps, in trials with eps < 1";
  double C_in = 0;
  for (const TrialRecord& record : records) {
    for (const char* matrix : {"X", "A_rms", "A_mlp_rms"}) {
      C_in = std::max(C_in, MeasuredBlock(record, 0).rank(matrix) / record.scalar(inverse_p_max));
    }
  }
  every_block(asymptotic(cor_2_15("B", "st(B) <= 2 pi in every block"), depth_constants),
              over_bound(bounded_B, config.delta));
  every_block(
      asymptotic(
          cor_2_15(
              "embedding-layer",
              "st(X), st(A_rms) and st(A_mlp_rms) of the first block are at most C_in / p_max"),
          depth_constants),
      [&](const MeasuredBlock& block) {
        if (block.index() > 0) return undefined;
        const DepthBounds bounds = corollary_bounds(config, block.trial());
        if (std::isnan(bounds.X[0])) return undefined;
        return std::max({block.rank("X") / bounds.X[0], block.rank("A_rms") / bounds.A_rms[0],
                         block.rank("A_mlp_rms") / bounds.A_mlp_rms[0]});
      },
      constants + "; the paper does not give C_in, the smallest possible value is " +
          short_number(C_in));
  every_block(
      asymptotic(
          cor_2_15(
              "depth",
              "st(A_rms) and st(A_mlp_rms) of layer l are below a bound of order (1 + l)^2, and "
              "st(A_final) is below a bound of order (1 + L)^2"),
          depth_constants),
      [&](const MeasuredBlock& block) {
        const DepthBounds bounds = corollary_bounds(config, block.trial());
        if (std::isnan(bounds.X[0])) return undefined;
        const std::size_t l = block.index();
        const double inside = std::max(block.rank("A_rms") / bounds.A_rms[l],
                                       block.rank("A_mlp_rms") / bounds.A_mlp_rms[l]);
        return l + 1 < config.layers
                   ? inside
                   : std::max(inside, block.trial().scalar(final_rank) / bounds.final_rms);
      },
      constants);
  for (const char* matrix : {"A_rms", "A_mlp_rms"}) judge_growth(matrix, config, records, claims);
}

}  // namespace

double BoundedRank::at(const MeasuredBlock& block, double delta) const {
  return block_bounds(block.columns("X"), block.rank("X"), delta).*bound;
}

double BoundedRank::over_bound(const MeasuredBlock& block, double delta) const {
  return block.rank(matrix) / at(block, delta);
}

DepthBounds corollary_bounds(const TransformerInitConfig& config, const TrialRecord& record) {
  return depth_bounds(config.layers, record.scalar(norm_deviation), record.scalar(inverse_p_max));
}

void judge(const TransformerInitConfig& config, const Records& records, Claims& claims) {
  const EveryBlock every_block(records, claims);
  const auto embedded = [](const TrialRecord& record) {
    return EmbeddedSequence{MeasuredBlock(record, 0).rank("X"), record.scalar(norm_deviation),
                            record.scalar(inverse_p_max)};
  };
  judge_lemma_2_9(records, embedded, claims);
  judge_lemmas(config, every_block, claims);
  judge_arithmetic(claims);
  judge_proposition(config, every_block, claims);
  judge_corollary(config, records, every_block, claims);
}

}  // namespace ranklab::transformer_init
