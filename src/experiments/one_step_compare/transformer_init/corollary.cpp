// Verdicts about Corollary 2.15 of [Spectral].
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fits.hpp"
#include "core/text.hpp"
#include "experiments/one_step_compare/transformer_init/judge.hpp"

namespace ranklab::transformer_init {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// The corollary's layers l = 1 ... L at which A_rms is known, the last of them after the last block.
std::vector<double> stable_ranks_from_1(const TrialRecord& record, const std::string& matrix) {
  const std::vector<double>& all = record.array(matrix + ".stable_rank");
  std::vector<double> out(all.begin() + 1, all.end());
  if (matrix == "A_rms") out.push_back(record.scalar("A_final.stable_rank"));
  return out;
}

Claim growth_claim(const Judge& judge, const std::string& matrix) {
  const Text text{"cor-2.15/growth/" + matrix, "Corollary 2.15",
                  "st(" + matrix + ") grows at most as (1 + l)^2 over the layers l >= 1"};
  std::vector<double> exponents;
  double constant = 0, deepest = 0;
  for (const TrialRecord& record : judge.records()) {
    const std::vector<double> y = stable_ranks_from_1(record, matrix);
    std::vector<double> x;
    for (std::size_t i = 0; i < y.size(); ++i) {
      x.push_back(static_cast<double>(i) + 2);
      constant = std::max(constant, y[i] / (x.back() * x.back()));
    }
    if (x.size() < 3)
      return not_applicable("spectral/" + text.id, text.source, text.statement, "an exponent needs more layers: --layers 4");
    exponents.push_back(fit_power(x, y).slope);
    deepest = std::max(deepest, y.back());
  }
  return judge_mean("spectral/" + text.id, text.source, text.statement, exponents, -std::numeric_limits<double>::infinity(), 2.0,
                    "exponent of a power law in 1 + l, one fit per trial; smallest C that serves " + short_number(constant) +
                        "; st at the deepest layer at most " + short_number(deepest));
}

}  // namespace

void add_corollary(const Judge& judge, std::vector<Claim>& claims) {
  const std::string source = "Corollary 2.15", constants = "constants of Appendix F, delta = 1/(8 L), eps measured, below 1";
  const auto depth = [&judge](const TrialRecord& record) {
    return depth_bounds(judge.config().layers, record.scalar("embedding.norm_deviation"), record.scalar("inverse_p_max"));
  };
  double C_in = 0;
  for (const TrialRecord& record : judge.records()) {
    for (const char* name : {"X.stable_rank", "A_rms.stable_rank", "A_mlp_rms.stable_rank"}) {
      C_in = std::max(C_in, at(record, name, 0) / record.scalar("inverse_p_max"));
    }
  }
  claims.push_back(judge.every_block({"cor-2.15/B", source, "st(B) <= 2 pi in every block, uniformly over depth"},
                                     over_bound(judge.config(), "B", &BlockBounds::B)));
  claims.push_back(judge.every_block(
      {"cor-2.15/embedding-layer", source, "st <= C_in / p_max for X, A_rms and A_mlp_rms of the first block"},
      [&](const TrialRecord& record, std::size_t block) {
        const DepthBounds bounds = depth(record);
        if (block > 0 || std::isnan(bounds.X[0])) return undefined;
        return std::max({at(record, "X.stable_rank", 0) / bounds.X[0], at(record, "A_rms.stable_rank", 0) / bounds.A_rms[0],
                         at(record, "A_mlp_rms.stable_rank", 0) / bounds.A_mlp_rms[0]});
      },
      constants + "; C_in is not given, the smallest that serves is " + short_number(C_in)));
  claims.push_back(judge.every_block(
      {"cor-2.15/depth", source,
       "st(A_rms) and st(A_mlp_rms) stay below a bound of order (1 + l)^2, and st(A_final) of order (1 + L)^2"},
      [&](const TrialRecord& record, std::size_t block) {
        const DepthBounds bounds = depth(record);
        if (std::isnan(bounds.X[0])) return undefined;
        const double inside = std::max(at(record, "A_rms.stable_rank", block) / bounds.A_rms[block],
                                       at(record, "A_mlp_rms.stable_rank", block) / bounds.A_mlp_rms[block]);
        if (block + 1 < judge.config().layers) return inside;
        return std::max(inside, record.scalar("A_final.stable_rank") / bounds.final_rms);
      },
      constants));
  for (const std::string matrix : {"A_rms", "A_mlp_rms"}) claims.push_back(growth_claim(judge, matrix));
}

}  // namespace ranklab::transformer_init
