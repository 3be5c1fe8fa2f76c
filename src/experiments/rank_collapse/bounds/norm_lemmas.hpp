// Lemmas A.1, A.5 and A.6 of [LambdaSkip], the norms on which its proofs rest, and two statements
// that use them: a step of Theorem A.8 and the size of W in Appendix A.13.1.
//
// The symbols are defined in with_skip.hpp. S = W_C W_B' (d, d) is that of a selective state-space
// model, M_ij = alpha^(i-j) y_i'S y_j for i >= j.
#pragma once

#include <armadillo>
#include <cmath>
#include <vector>

#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace ranklab::bounds {

// Lemma A.1 ---------------------------------------------------------------------------------------

inline const Misprint lemma_A_1 =
    Place{"lambda-skip/lemma-A.1", "lambda-skip/", "Lemma A.1"}.misprint(
        "lambda-skip/lemma-A.1/shape", "lemma-A.1",
        "||AB||_F >= sigma_min(B) ||A||_F for A (m, n) and B (n, p), where sigma_min(B) is the "
        "smallest of the min(n, p) singular values of B",
        "||AB||_F >= sqrt(lambda_min(BB')) ||A||_F, where BB' is (n, n): this is sigma_min(B) if p "
        ">= "
        "n, and 0 if p < n");

/// Counts Lemma A.1 for A (m, n) and B (n, p).
void judge_product(const arma::mat& A, const arma::mat& B, double slack, TrialRecord& record);

/// Gaussian A (N, d) with Gaussian B (d, p), for p below, at and above d; and for each B the row A
/// for which ||AB|| / ||A|| is smallest.
void judge_products(Sizes sizes, const Trial& trial, TrialRecord& record);

// Lemma A.5 ---------------------------------------------------------------------------------------

inline const Misprint lemma_A_5 =
    Place{"lambda-skip/lemma-A.5", "lambda-skip/", "Lemma A.5"}.misprint(
        "lambda-skip/lemma-A.5/lambda-max", "lemma-A.5",
        "D_ii >= 1/(N^(3/2) lambda_max) in a selective state-space model with normalized rows and "
        "no "
        "skip, where lambda_max is the largest eigenvalue of (S + S')/2, S = W_C W_B'",
        "D_ii >= 1/(N sigma_max(S))");

/// Counts Lemma A.5 for every row of M Y, with D_ii = 1/||row i of M Y||. Y (d, N) has unit
/// columns. Rows that D sets to zero are left out, and so is the printed form if lambda_max <= 0.
void judge_scales(const arma::mat& Y, const arma::mat& M, const arma::mat& S, double slack,
                  TrialRecord& record);

/// Selective stacks with S = I + skew (G - G'), for Gaussian G: (S + S')/2 = I, so lambda_min =
/// lambda_max = 1 as Theorem 4.3 allows, but S has larger singular values.
inline constexpr double skews[] = {0, 0.5, 5};
void judge_skewed(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record);

// Lemma A.6 and Theorem A.8 -----------------------------------------------------------------------

inline const Statement lemma_A_6 = {
    "lambda-skip/lemma-A.6", "lambda-skip/lemma-A.6", "Lemma A.6",
    "||Y^k||_F <= ||W||_2^k ||Y^0||_F in an LTI state-space model without norm and skip, with one "
    "W for all layers"};
inline const Misprint step_A_8 =
    Place{"lambda-skip/thm-A.8", "lambda-skip/thm-A.8/", "Theorem A.8, proof", Part::proof}
        .misprint("lambda-skip/thm-A.8/sqrt-n", "step-norm",
                  "sqrt(N) ||Y^K||_F <= prod_k ||W^(k)||_F ||Y^0||_F",
                  "||Y^K||_F <= prod_k ||W^(k)||_2 ||Y^0||_F");
inline const Statement norm_not_needed = beyond(Statement{
    "lambda-skip/section-A.13.1/norm-below-1", "lambda-skip/section-A.13.1/norm-below-1",
    "not in the paper, which calls ||W^(k)||_F < 1 sufficient",
    "mu vanishes with the depth in some LTI stacks with ||W||_F = 1.5: ||W||_F < 1 is not "
    "necessary"});
// Counts the stacks with ||W||_F = 1.5; a "violation" is a stack in which mu vanishes.
inline const std::string large_norm_vanishes = norm_not_needed.id + "/vanishes";

/// Logarithms of an LTI stack after k layers with the matrices W^(1), ..., W^(k).
struct LtiLogs {
  double N = 0, k = 0;
  double start = 0, norm = 0;          // log ||Y^0||_F and log ||Y^k||_F
  double spectral = 0, frobenius = 0;  // sums of log ||W||_2 and of log ||W||_F
  double mu_start = 0, mu = 0;         // log mu(Y^0) and log mu(Y^k)
};
/// Counts Lemma A.6, for equal matrices.
void judge_growth(const LtiLogs& logs, double slack, TrialRecord& record);
/// Counts the step of Theorem A.8.
void judge_step_A_8(const LtiLogs& logs, double slack, TrialRecord& record);
/// Counts whether mu vanishes although every W is scaled to ||W||_F = 1.5.
void count_large_norm(const LtiLogs& logs, TrialRecord& record);

// Claims ------------------------------------------------------------------------------------------

void judge_lemma_A_1(const Records& records, Claims& claims);
void judge_lemma_A_5(const Records& records, Claims& claims);
void judge_lemma_A_6(const Records& records, Claims& claims);

}  // namespace ranklab::bounds
