#include "experiments/rank_collapse/ablation.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/rank_collapse/layers.hpp"
#include "experiments/result_parts.hpp"

using namespace ranklab;

namespace {

const FlagValues tiny = {{"layers", "4"}, {"tokens", "8"}, {"dim", "8"}, {"state", "4"}};

Result ablate(FlagValues flags, std::uint64_t trials = 3) {
  flags.insert(flags.begin(), tiny.begin(), tiny.end());
  return run_configured(make_ablation_study(), flags, trials);
}

}  // namespace

TEST_CASE("the combinations are the runs of the study of the layers with those switches") {
  const Result result = ablate({});
  for (const std::string gate : {"on", "off"}) {
    for (const std::string norm : {"on", "off"}) {
      FlagValues flags = tiny;
      flags.insert(flags.end(), {{"model", "mamba2"}, {"gating", gate}, {"norm", norm == "on" ? "rms" : "none"}, {"lambda", "1"}});
      const Result layers = run_configured(make_layers_study(), flags, 3);
      const std::string name = "gating=" + gate + ",norm=" + norm;
      CHECK(find_series(result, name + ".mu_normalized").mean == find_series(layers, "lambda=1.mu_normalized").mean);
      CHECK(find_series(result, name + ".mu_normalized").x.size() == 5);
    }
  }
}

TEST_CASE("without a skip, lambda is zero") {
  const Result result = ablate({{"model", "s4d"}, {"lambda", "0.5"}});
  FlagValues flags = tiny;
  flags.insert(flags.end(), {{"model", "s4d"}, {"lambda", "0,0.5"}});
  const Result layers = run_configured(make_layers_study(), flags, 3);
  CHECK(find_series(result, "skip=off,norm=on.mu_normalized").mean == find_series(layers, "lambda=0.mu_normalized").mean);
  CHECK(find_series(result, "skip=on,norm=on.mu_normalized").mean == find_series(layers, "lambda=0.5.mu_normalized").mean);
}

TEST_CASE("claims of Figures 3 and 4 are judged by the runs") {
  const Result gates = ablate({{"layers", "40"}}, 4), skips = ablate({{"model", "s4d"}}, 4);
  for (const Claim& claim : gates.claims) CHECK(claim.id.starts_with("lambda-skip/fig-3/"));
  for (const Claim& claim : skips.claims) CHECK(claim.id.starts_with("lambda-skip/fig-4/"));
  CHECK(gates.claims.size() == 6);
  CHECK(skips.claims.size() == 4);
  // The same numbers against a threshold that nothing reaches: every 'does not collapse' turns.
  const Result strict = ablate({{"model", "s4d"}, {"threshold", "1"}}, 4);
  for (const Claim& claim : strict.claims) CHECK(claim.verdict == Verdict::fails);
}

TEST_CASE("attention without a skip collapses, as Theorem 4.2 says") {
  const Result result = ablate({{"model", "attention"}, {"layers", "16"}}, 4);
  CHECK(find_claim(result, "lambda-skip/section-4.2.1/skip=off,norm=on").verdict == Verdict::holds);
  CHECK(find_series(result, "skip=on,norm=on.mu_normalized").mean.back() >
        find_series(result, "skip=off,norm=on.mu_normalized").mean.back());
}

TEST_CASE("what the study removes itself may not be removed by a flag") {
  CHECK_THROWS_AS(configured(make_ablation_study(), {{"norm", "none"}}), UsageError);
  CHECK_THROWS_AS(configured(make_ablation_study(), {{"gating", "off"}}), UsageError);
  CHECK_THROWS_AS(configured(make_ablation_study(), {{"model", "s4d"}, {"lambda", "0"}}), UsageError);
}
