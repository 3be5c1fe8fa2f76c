#include "experiments/one_step_compare/transformer_init/claims.hpp"

#include <algorithm>
#include <string>

#include "core/text.hpp"
#include "experiments/one_step_compare/transformer_init/judge.hpp"
#include "experiments/token_embedding.hpp"

namespace ranklab {
namespace {

using namespace transformer_init;
using Records = std::vector<TrialRecord>;

SquaredNorms norms_at(const TrialRecord& record, const std::string& name, std::size_t block) {
  return {at(record, name + ".frobenius_squared", block), at(record, name + ".operator_squared", block)};
}

// How far columns leave [low, high], as a ratio that is at most 1 inside.
RatioAt columns_ratio(const std::string& matrix, double delta, ColumnRange (*allowed)(const ColumnRange&, double)) {
  return [=](const TrialRecord& record, std::size_t block) {
    const ColumnRange range = allowed(input_columns(record, block), delta);
    return std::max(at(record, matrix + ".column_high", block) / range.high, range.low / at(record, matrix + ".column_low", block));
  };
}

void add_proposition(const Judge& judge, std::vector<Claim>& claims) {
  const TransformerInitConfig& config = judge.config();
  claims.push_back(judge.every_block({"prop-2.14/i", "Proposition 2.14 (i)",
                                      "(1-delta)^2 c_- d <= ||x_t^+||^2 <= (1+delta)^2 (c_+ + 2) d for every column of X_plus"},
                                     columns_ratio("X_plus", config.delta, output_columns), judge.hypothesis()));
  const struct {
    const char *matrix, *statement;
    double BlockBounds::*field;
  } parts[] = {
      {"A_rms", "st(A_rms) <= (c_+/c_-) st(X)", &BlockBounds::A_rms},
      {"X_att", "st(X_att) <= (1+delta)/(1-delta) (1 + 2/c_-) st(X)", &BlockBounds::X_att},
      {"A_mlp_rms", "st(A_mlp_rms) <= ((1+delta)/(1-delta))^2 (c_+ + 1)/c_- (1 + 2/c_-) st(X)", &BlockBounds::A_mlp_rms},
      {"B", "st(B) <= 2 pi", &BlockBounds::B},
      {"X_plus", "st(X_plus) <= 2 pi (1+delta)/(1-delta) (1 + (1+delta)(c_+ + 1) / ((1/2)(1-Phi(1))(1-delta)))",
       &BlockBounds::X_plus},
  };
  for (const auto& part : parts) {
    claims.push_back(judge.every_block({std::string("prop-2.14/ii/") + part.matrix, "Proposition 2.14 (ii)", part.statement},
                                       over_bound(config, part.matrix, part.field), judge.hypothesis()));
  }
}

// Lemma 2.9, with eps measured.
Claim embedding_claim(const Records& records, bool single_precision) {
  const auto measured = [](const TrialRecord& record) {
    return EmbeddedSequence{at(record, "X.stable_rank", 0), record.scalar("embedding.norm_deviation"),
                            record.scalar("inverse_p_max")};
  };
  Claims judged;
  judge_lemma_2_9(records, measured, single_precision, judged);
  return judged.list().front();
}

void add_lemmas(const Judge& judge, bool single_precision, std::vector<Claim>& claims) {
  const double delta = judge.config().delta;
  const double d = static_cast<double>(judge.config().d), k = static_cast<double>(judge.config().k),
               n = static_cast<double>(judge.config().n);
  claims.push_back(embedding_claim(judge.records(), single_precision));
  const auto rms_ratio = [](const std::string& before, const std::string& after) {
    return [=](const TrialRecord& record, std::size_t block) {
      const double widest = at(record, before + ".column_high", block) / at(record, before + ".column_low", block);
      return at(record, after + ".stable_rank", block) / (widest * at(record, before + ".stable_rank", block));
    };
  };
  claims.push_back(judge.every_block({"lemma-2.10/attention-input", "Lemma 2.10", "st(RMSNorm(X)) <= (U/L) st(X)"},
                                     rms_ratio("X", "A_rms"), "U and L measured"));
  claims.push_back(judge.every_block({"lemma-2.10/mlp-input", "Lemma 2.10", "st(RMSNorm(X_att)) <= (U/L) st(X_att)"},
                                     rms_ratio("X_att", "A_mlp_rms"), "U and L measured"));
  claims.push_back(judge.every_block(
      {"eq-2.16/relu", "Lemma 2.12, eq. (2.16)", "||B||_F^2 >= (1-eps) (1/2)(1-Phi(1)) (k/d) ||A_mlp_rms||_F^2"},
      [=](const TrialRecord& record, std::size_t block) {
        return (1 - delta) * relu_small_ball() * k / d * at(record, "A_mlp_rms.frobenius_squared", block) /
               at(record, "B.frobenius_squared", block);
      },
      "eps = delta = " + short_number(delta)));
  const auto residual_ratio = [=](const std::string& X, const std::string& H, const std::string& sum, double d_over_k) {
    return [=](const TrialRecord& record, std::size_t block) {
      return at(record, sum + ".stable_rank", block) /
             residual_bound(norms_at(record, X, block), norms_at(record, H, block), d_over_k, delta);
    };
  };
  const std::string lemma = "Lemma 2.13, eq. (2.17)",
                    bound = "(1+delta)/(1-delta) (||X||_F^2 + (d/k)||H||_F^2) / max(||X||_op^2, (d/k)||H||_op^2)";
  claims.push_back(judge.every_block({"eq-2.17/attention", lemma, "st(X + W_O H) <= " + bound + ", k = d"},
                                     residual_ratio("X", "H", "X_att", 1.0), "delta = " + short_number(delta)));
  claims.push_back(judge.every_block({"eq-2.17/mlp", lemma, "st(X_att + W_2 B) <= the same bound of X_att and B"},
                                     residual_ratio("X_att", "B", "X_plus", d / k), "delta = " + short_number(delta)));
  claims.push_back(judge.every_block(
      {"eq-E.7/column-norms", "Proof of Proposition 2.14, eq. (E.7)", "(1-delta) c_- d <= ||x_t^att||^2 <= (1+delta)(c_+ + 1) d"},
      columns_ratio("X_att", delta, attention_columns), judge.hypothesis()));
  // nd = ||A_mlp_rms||_F^2 and ||X_att||_F^2 <= c_+^att n d give the right-hand side without a further d.
  const auto mlp_ratio = [=](double factor) {
    return [=](const TrialRecord& record, std::size_t block) {
      const double c_att = attention_columns(input_columns(record, block), delta).high;
      return (1 - delta / 16) * relu_small_ball() / c_att * k / d * factor * at(record, "X_att.frobenius_squared", block) /
             at(record, "B.frobenius_squared", block);
    };
  };
  const std::string source = "Proof of Proposition 2.14, eq. (E.12)", left = "||B||_F^2 >= (1-delta/16) c_sigma/c_+^att (k/d)";
  claims.push_back(
      judge.every_block({"eq-E.12/as-printed", source, left + " d ||X_att||_F^2"}, mlp_ratio(d),
                        "the d is one too many: ||A_mlp_rms||_F^2 = n d >= ||X_att||_F^2 / c_+^att; n = " + short_number(n)));
  claims.push_back(judge.every_block({"eq-E.12/corrected", source, left + " ||X_att||_F^2"}, mlp_ratio(1.0)));
}

}  // namespace

ColumnRange input_columns(const TrialRecord& record, std::size_t b) {
  return {transformer_init::at(record, "X.column_low", b), transformer_init::at(record, "X.column_high", b)};
}

std::vector<Claim> transformer_init_claims(const TransformerInitConfig& config, const Records& records, bool single_precision) {
  const Judge judge(config, records);
  std::vector<Claim> claims;
  add_lemmas(judge, single_precision, claims);
  add_proposition(judge, claims);
  add_corollary(judge, claims);
  return claims;
}

}  // namespace ranklab
