#include "experiments/rank_collapse/bounds/norm_lemmas.hpp"

#include <algorithm>
#include <string>

#include "experiments/rank_collapse/stacked_model.hpp"
#include "linalg/decompositions.hpp"
#include "nn/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

// A norm of W for which Theorem A.8 guarantees nothing.
constexpr double large_norm = 1.5;

arma::mat gaussian_of(const Trial& trial, const std::string& name, arma::uword rows,
                      arma::uword cols) {
  arma::mat G(rows, cols);
  Stream stream = trial.stream(say("{}.{}x{}", name, rows, cols));
  stream.fill_normal({G.memptr(), G.n_elem});
  return G;
}

}  // namespace

// Lemma A.1 ---------------------------------------------------------------------------------------

void judge_product(const arma::mat& A, const arma::mat& B, double slack, TrialRecord& record) {
  const arma::vec sigma = singular_values(B);
  const double size = arma::norm(A, "fro"), product = arma::norm(arma::mat(A * B), "fro"),
               rounding = slack * size * sigma.front();
  const double of_rows = B.n_cols < B.n_rows ? 0.0 : sigma.back();  // sqrt(lambda_min(BB'))
  compare(record, lemma_A_1.as_printed, sigma.back() * size, product, rounding);
  compare(record, lemma_A_1.corrected, of_rows * size, product, rounding);
}

void judge_products(Sizes sizes, const Trial& trial, TrialRecord& record) {
  const double slack = tolerance::residual<double>;
  const arma::uword N = sizes.tokens, d = sizes.dim;
  for (const arma::uword p : {std::max<arma::uword>(1, d / 2), d, 2 * d}) {
    const arma::mat A = gaussian_of(trial, say("lemma-A.1.A.{}", p), N, d),
                    B = gaussian_of(trial, "lemma-A.1.B", d, p);
    judge_product(A, B, slack, record);
    const arma::mat worst = symmetric_eigen(B * B.t()).Q.col(0);
    judge_product(worst.t(), B, slack, record);
  }
}

// Lemma A.5 ---------------------------------------------------------------------------------------

void judge_scales(const arma::mat& Y, const arma::mat& M, const arma::mat& S, double slack,
                  TrialRecord& record) {
  constexpr double zero_row = 1e-10;  // D sets shorter rows to zero
  const double N = static_cast<double>(Y.n_cols), sigma_max = singular_values(S).front(),
               lambda_max = symmetric_eigenvalues((S + S.t()) / 2).back();
  const arma::rowvec rows = arma::sqrt(arma::sum(arma::square(arma::mat(Y * M.t())), 0));
  for (const double row : rows) {
    if (row < zero_row) continue;
    const double D = 1 / row;
    if (lambda_max > 0)
      compare(record, lemma_A_5.as_printed, 1 / (std::pow(N, 1.5) * lambda_max), D, slack * D);
    compare(record, lemma_A_5.corrected, 1 / (N * sigma_max), D, slack * D);
  }
}

void judge_skewed(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record) {
  ModelSpec spec = stack_spec(config, "selective-ssm", sizes, "rows");
  spec.state = spec.dim;
  const arma::mat G = gaussian_of(trial, "lemma-A.5.S", spec.dim, spec.dim) /
                      std::sqrt(static_cast<double>(spec.dim));
  for (const double skew : skews) {
    arma::mat S = skew * (G - G.t());
    S.diag() += 1;
    GivenMatrices weights(
        {{"W_C", arma::mat(spec.dim, spec.dim, arma::fill::eye)}, {"W_B", arma::mat(S.t())}});
    const auto block = make_block_of<BareBlock>(spec, weights);
    State<double> state = draw_input<double>(spec, trial);
    for (std::uint64_t k = 0; k < spec.layers; ++k) {
      trial.check_interrupt();
      judge_scales(state.Y, block->mixing_matrix(state), S, tolerance::residual<double>, record);
      block->forward(state, 0.0);
      if (state.degenerate_rows > 0) break;  // Lemma A.5 assumes unit rows
    }
    add_degenerate_rows(record, state.degenerate_rows);
  }
}

// Lemma A.6 and Theorem A.8 -----------------------------------------------------------------------

void judge_growth(const LtiLogs& logs, double slack, TrialRecord& record) {
  compare_logs(record, lemma_A_6, logs.norm, logs.spectral + logs.start, slack);
}

void judge_step_A_8(const LtiLogs& logs, double slack, TrialRecord& record) {
  compare_logs(record, step_A_8.as_printed, std::log(logs.N) / 2 + logs.norm,
               logs.frobenius + logs.start, slack);
  compare_logs(record, step_A_8.corrected, logs.norm, logs.spectral + logs.start, slack);
}

void count_large_norm(const LtiLogs& logs, TrialRecord& record) {
  const double change = logs.mu - logs.mu_start + logs.k * std::log(large_norm) - logs.frobenius;
  if (std::isfinite(change)) record.count(large_norm_vanishes, change < std::log(vanished));
}

// Claims ------------------------------------------------------------------------------------------

void judge_lemma_A_1(const Records& records, Claims& claims) {
  judge_counted(lemma_A_1, records, claims, "worked example: A = (0, 1), B = (1, 0)'",
                "Theorem 4.1 does not use the lemma; C_V is square, for which both forms agree");
}

void judge_lemma_A_5(const Records& records, Claims& claims) {
  judge_counted(
      lemma_A_5.as_printed, records, claims,
      "worked example: two tokens 60 degrees apart, S = I + 4 J with the rotation J by 90 "
      "degrees, for which all hypotheses of Theorem 4.3 hold; the proof gives 1/(N "
      "lambda_max), without the factor sqrt N of the statement",
      "lambda_max <= 0 in every stack");
  judge_counted(lemma_A_5.corrected, records, claims,
                "by ||M Y row i|| <= sum_j |M_ij| <= N sigma_max(S)");
}

void judge_lemma_A_6(const Records& records, Claims& claims) {
  judge_counted(lemma_A_6, records, claims);
  judge_counted(step_A_8, records, claims,
                "||I - 11'/N||_2 = 1 does not need the factor sqrt N; worked example: W = ((1, 0), "
                "(0, 0)), Y^0 = (1, 0)'");
  Tally stacks = tally_of(records, large_norm_vanishes);
  stacks.add(worked_examples().tally(large_norm_vanishes));
  claims.number(norm_not_needed, stacks.violations, at_least(1),
                say("number of stacks of {} in which mu falls below a tenth of mu(Y^0); with one "
                    "causal W for all layers it vanishes if the diagonal |K[0]| is below 1; one "
                    "stack is a worked example: W = ((1/2, 0), (2, 1/2)), W^k = 2^-k ((1, 0), (4k, "
                    "1))",
                    count_text(stacks.cases)));
}

}  // namespace ranklab::bounds
