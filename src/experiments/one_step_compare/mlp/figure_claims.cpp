#include "experiments/one_step_compare/mlp/figure_claims.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "experiments/one_step_compare/mlp/methods.hpp"

namespace ranklab::mlp {
namespace {

using Records = std::vector<TrialRecord>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Why a statement about the sizes of Figures 1 and 4 says nothing of this run; empty where it does.
std::string not_printed_sizes(const MlpConfig& config) {
  const bool same = config.d == 128 && config.width == 512 && config.n == 512;
  return same ? "" : "the figure has d = 128, width 512, n = 512";
}

std::string beside(const Records& records) {
  return short_number(summarise(scalars_of(records, "X.stable_rank")).mean);
}

// Figure 1: small against what? The text says "relative to the input dimension".
Claim small_claim(const MlpConfig& config, const Records& records, const Method& method) {
  const Text text{"spectral/fig-1/stable-rank-small/" + method.name, "Section 1.1, Figure 1",
                  "along " + method.label + " the stable ranks of the post-activations stay below a tenth of the input dimension"};
  double cases = 0, violations = 0, largest = -infinity;
  const double limit = small_part * static_cast<double>(config.d);
  for (const TrialRecord& record : records) {
    for (std::size_t l = 1; l <= hidden_layers; ++l) {
      for (const double st : record.array(stable_rank_name(method.name, l))) {
        if (!std::isfinite(st)) continue;
        cases += 1;
        violations += !(st < limit);
        largest = std::max(largest, st);
      }
    }
  }
  return judge_violations(text.id, text.source, text.statement, violations, cases,
                          "largest " + short_number(largest) + ", against d = " + std::to_string(config.d) +
                              ", st(X) = " + beside(records) + " and rank " + std::to_string(std::min(config.width, config.n)));
}

/// A violation for each trial and matrix whose measured rank at the start breaks `allowed`.
Claim rank_claim(const MlpConfig& config, const Records& records, const Text& text, const std::vector<std::string>& matrices,
                 const std::function<bool(const std::string& matrix, double rank)>& allowed) {
  double cases = 0, violations = 0;
  std::string measured;
  for (const std::string& matrix : matrices) {
    for (const TrialRecord& record : records) {
      const double rank = record.scalar(matrix + ".rank");
      if (!std::isfinite(rank)) continue;
      cases += 1;
      violations += !allowed(matrix, rank);
    }
    measured += (measured.empty() ? "mean rank at W_0: " : ", ") + matrix + " " +
                short_number(summarise(scalars_of(records, matrix + ".rank")).mean);
  }
  return unless(text, not_printed_sizes(config),
                [&] { return judge_violations(text.id, text.source, text.statement, violations, cases, measured); });
}

// The printed maximum is half of what the shapes allow, and less than the ranks that the matrices have: a rank bounds the stable
// and nuclear rank, and a matrix with equal singular values attains it.
void add_maximum_claims(const MlpConfig& config, const Records& records, std::vector<Claim>& out) {
  const std::vector<std::string> A = {"A1", "A2", "A3"}, W = {"W1", "W2", "W3"};
  const auto up_to_printed = [](const std::string& matrix, double rank) { return rank <= (matrix == "W1" ? 128 : 256); };
  const auto beyond_printed = [](const std::string& matrix, double rank) {
    return matrix == "W1" ? rank <= 128 : rank > 256 && rank <= 512;
  };
  out.push_back(rank_claim(
      config, records,
      {"spectral/fig-1/maximum/as-printed", "Figure 1, caption", "the largest possible stable rank of the post-activations is 256"},
      A, up_to_printed));
  out.push_back(rank_claim(config, records,
                           {"spectral/fig-1/maximum/corrected", "Figure 1, caption",
                            "the largest possible stable rank is 4 d = n = 512, and the post-activations have ranks beyond 256"},
                           A, beyond_printed));
  out.push_back(rank_claim(config, records,
                           {"spectral/fig-4/maximum/as-printed", "Figure 4, caption",
                            "the largest possible nuclear rank is 128 at layer 1 and 256 at layers 2 and 3"},
                           W, up_to_printed));
  out.push_back(rank_claim(config, records,
                           {"spectral/fig-4/maximum/corrected", "Figure 4, caption",
                            "the largest possible nuclear rank is 128 at layer 1 and 512 at layers 2 and 3, where the "
                            "gradients have ranks beyond 256"},
                           W, beyond_printed));
}

std::string phase_text(const MlpConfig& config, const Records& records) {
  std::vector<double> ends;
  for (const TrialRecord& record : records) ends.push_back(phase_end(config, record));
  const Summary summary = summarise(ends);
  const std::string phase = "the initial phase, where nr >= 2 st at layers 2 and 3 of GD";
  if (summary.n == 0) return "no trial starts in " + phase;
  return "log10 of the ratio of the losses at the end of " + phase + ": iteration " + short_number(summary.mean) + " on average";
}

// Figure 4: the nuclear rank is large at first, and not later.
Claim large_at_first_claim(const Records& records, std::size_t layer) {
  const std::string l = std::to_string(layer);
  const Text text{"spectral/fig-4/nuclear-rank-large-at-first/W" + l, "Figure 4",
                  "along GD the nuclear rank of the gradient of W_" + l + " is at least twice as large at the start as at the end"};
  std::vector<double> ratios;
  for (const TrialRecord& record : records) {
    const std::vector<double>& rank = record.array(nuclear_rank_name("gd", layer));
    ratios.push_back(rank.front() / rank.back());
  }
  return judge_mean(text.id, text.source, text.statement, ratios, 2.0, infinity, "start over end");
}

// Steps until the loss has fallen to a tenth; NaN where it never does.
double steps_to_a_tenth(const std::vector<double>& loss) {
  const auto found = std::find_if(loss.begin(), loss.end(), [&](double value) { return value <= loss.front() / 10; });
  return found == loss.end() ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(found - loss.begin());
}

// The same claim by another measure, which a seed that diverges later does not upset.
Claim first_to_a_tenth_claim(const Records& records, const Method& method) {
  const Text text{"spectral/fig-4/first-to-a-tenth/" + method.name, "Figure 4",
                  method.label + " brings the loss down to a tenth in fewer steps than GD"};
  std::vector<double> ratios;
  double fewer = 0, reached = 0;
  for (const TrialRecord& record : records) {
    const double gd = steps_to_a_tenth(record.array("gd.loss")), other = steps_to_a_tenth(record.array(method.name + ".loss"));
    ratios.push_back(std::log10(other / gd));
    if (std::isfinite(ratios.back())) reached += 1;
    if (other < gd) fewer += 1;
  }
  return judge_mean(text.id, text.source, text.statement, ratios, -infinity, 0.0,
                    "log10 of the ratio of the steps; fewer in " + short_number(fewer) + " of the " + short_number(reached) +
                        " trials in which both get there, of " + std::to_string(records.size()));
}

}  // namespace

Claim unless(const Text& text, const std::string& reason, const std::function<Claim()>& judge) {
  return reason.empty() ? judge() : not_applicable(text.id, text.source, text.statement, reason);
}

void add_figure_1_claims(const MlpConfig& config, const Records& records, std::vector<Claim>& out) {
  for (const Method& method : methods(config)) out.push_back(small_claim(config, records, method));
  add_maximum_claims(config, records, out);
}

void add_figure_4_claims(const MlpConfig& config, const Records& records, std::vector<Claim>& out) {
  for (const std::size_t layer : {2, 3}) out.push_back(large_at_first_claim(records, layer));
  for (const Method& method : methods(config)) {
    if (method.name == "gd") continue;
    const Text early{"spectral/fig-4/faster-at-first/" + method.name, "Figure 4",
                     method.label + " lowers the loss faster than GD in the initial phase, when the nuclear rank is large"};
    out.push_back(judge_mean(early.id, early.source, early.statement, early_log_ratios(config, records, method.name), -infinity,
                             0.0, phase_text(config, records)));
    out.push_back(first_to_a_tenth_claim(records, method));
    const Text end{"spectral/fig-4/ahead-at-the-end/" + method.name, "Figure 4", method.label + " ends below GD"};
    out.push_back(judge_mean(end.id, end.source, end.statement, final_log_ratios(records, method.name), -infinity, 0.0,
                             "log10 of the ratio of the last losses"));
  }
}

}  // namespace ranklab::mlp
