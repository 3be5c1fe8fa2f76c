// Claims about eq. (2.15) and Lemma 2.9 of [Spectral].
#include <cmath>

#include "core/text.hpp"
#include "experiments/random_features/stable_rank/claims.hpp"
#include "experiments/token_embedding.hpp"
#include "models/tokens.hpp"

namespace ranklab {
namespace {

constexpr double identity_tolerance = 1e-9;  // relative, of eq. (2.15)
// What the paper observes, and for which law it says so.
constexpr double observed = 26.0, observed_zipf = 0.86;
constexpr std::uint64_t observed_vocabulary = 50257;
constexpr double about = 0.1;  // "about 26" for a random sequence: within a tenth

std::vector<double> over_trials(const std::vector<TrialRecord>& records, const std::string& name) {
  std::vector<double> values;
  for (const auto& record : records) values.push_back(record.scalar(name));
  return values;
}

Claim indicator_claim(const std::vector<TrialRecord>& records) {
  double violations = 0.0, largest = 0.0;
  for (const auto& record : records) {
    const double expected = record.scalar("token_indicator.inverse_p_max");
    const double error = std::fabs(record.scalar("token_indicator.stable_rank") - expected) / expected;
    largest = std::max(largest, error);
    if (!(error <= identity_tolerance)) violations += 1.0;
  }
  return judge_violations("spectral/eq-2.15", "Section 2.2.1, eq. (2.15)", "st(H) = 1/p_max for the token indicator H", violations,
                          static_cast<double>(records.size()),
                          "largest relative difference " + short_number(largest) + ", st(H) by power iteration");
}

void add_zipf_claims(const StableRankConfig& config, const std::vector<TrialRecord>& records, std::vector<Claim>& claims) {
  const std::string id = "spectral/eq-2.15/zipf", source = "Section 2.2.1, below eq. (2.15)";
  const std::string exact = "1/p_max is about 26 for p_j ~ j^(-0.86) over 50,257 tokens";
  const std::string sampled = "st(H) is about 26 for a sequence drawn from that law";
  if (config.zipf != observed_zipf || config.vocabulary != observed_vocabulary) {
    const std::string reason = "the paper speaks of s = 0.86 and V = 50257, here s = " + short_number(config.zipf) +
                               " and V = " + std::to_string(config.vocabulary);
    claims.push_back(not_applicable(id, source, exact, reason));
    claims.push_back(not_applicable(id + "/sampled", source, sampled, reason));
    return;
  }
  const double measured = ZipfLaw(config.vocabulary, config.zipf).inverse_p_max();
  Claim claim{id, source, exact, Verdict::fails, measured, std::pair(observed - 0.5, observed + 0.5), "from the law itself"};
  if (std::fabs(measured - observed) <= 0.5) claim.verdict = Verdict::holds;
  claims.push_back(claim);
  claims.push_back(judge_mean(id + "/sampled", source, sampled, over_trials(records, "token_indicator.stable_rank"),
                              observed * (1.0 - about), observed * (1.0 + about),
                              std::to_string(config.tokens) + " tokens; about: within 10 %"));
}

void add_embedding_claim(const std::vector<TrialRecord>& records, std::vector<Claim>& claims) {
  const auto measured = [](const TrialRecord& record) {
    return EmbeddedSequence{record.scalar("embedding.stable_rank"), record.scalar("embedding.norm_deviation"),
                            record.scalar("token_indicator.inverse_p_max")};
  };
  Claims judged;
  judge_lemma_2_9(records, measured, false, judged);
  claims.push_back(judged.list().front());
}

Claim rms_claim(const std::vector<TrialRecord>& records) {
  double violations = 0.0, largest = 0.0;
  for (const auto& record : records) {
    const double ratio = record.scalar("embedding_rms.stable_rank") / record.scalar("token_indicator.inverse_p_max");
    largest = std::max(largest, ratio);
    if (!(ratio <= 1.0 + embedding_slack(false))) violations += 1.0;
  }
  return judge_violations("spectral/lemma-2.9/rms-normalised", "Lemma 2.9", "st(A^rms) <= 1/p_max for RMS-normalised embeddings",
                          violations, static_cast<double>(records.size()),
                          "the lemma's bound with eps = 0; largest st(A^rms) p_max " + short_number(largest));
}

}  // namespace

std::vector<Claim> token_claims(const StableRankConfig& config, const std::vector<TrialRecord>& records) {
  std::vector<Claim> claims = {indicator_claim(records)};
  add_zipf_claims(config, records, claims);
  add_embedding_claim(records, claims);
  claims.push_back(rms_claim(records));
  return claims;
}

}  // namespace ranklab
