// The gradient after one step, [Spectral] Section 3.2.3: Theorem 3.9 with (3.21) and (3.22), its
// proof, and Lemmas G.1 and G.2 that the proof uses; on the matrices of the run and in worked
// examples. Shapes: B = L S L', B-bar = L-bar S-bar R-bar' (k, k), singular values descending; r_0,
// l_0 (k) are the first columns of R-bar and L, R_0 and L_0 (k, k - 1) the others; Q (k, k) with
// S-bar R-bar'L (I - eta S) = Diag(1, s-bar_2, ...) Q.
#include <algorithm>
#include <tuple>

#include "experiments/spike_plus_bulk/features/features.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::features {

// The trial ---------------------------------------------------------------------------------------

namespace {

double vector_distance(const arma::vec& a, const arma::vec& b) {
  return std::min(arma::norm(a - b), arma::norm(a + b));
}

}  // namespace

// Both sides of (3.21) and (3.22), where u is the mean of the features, and Theorem 3.9's nuclear
// ranks.
void measure_theorem_3_9(const TwoMaps& maps, const Trial& trial, TrialRecord& record) {
  const arma::mat B = maps.B(), B_bar = maps.B_bar();
  const SymmetricEigen left = symmetric_eigen(arma::mat(B_bar * B_bar.t()));
  trial.check_interrupt();
  const arma::vec mean = maps.student.right_mean(), u_hat = arma::normalise(mean);
  const arma::vec l_0 = maps.gram.Q.tail_cols(1),
                  r_0 = arma::normalise(arma::vec(B_bar.t() * left.Q.tail_cols(1)));
  record.set(distance_gram, vector_distance(u_hat, l_0));
  record.set(distance_cross, vector_distance(u_hat, r_0));
  record.set(alignment_defect, 1.0 - std::fabs(arma::dot(r_0, l_0)));

  // Davis-Kahan and Wedin in the form of Yu, Wang, Samworth 2015, Corollary 1 and Theorem 4, for a
  // spike of rank one.
  const arma::vec Gamma = symmetric_eigenvalues(maps.student.centered_gram());
  const double spike_factor = 1.0 + 0.5 / real(maps.size.d);  // of nu-bar mu-bar' in Corollary 3.8
  const double root = std::pow(2.0, 1.5),
               s = spike_factor * arma::norm(mean) * arma::norm(maps.cross.left_mean()),
               e = record.scalar(sigma_1);
  record.set(gram_bulk_min, Gamma.front());
  record.set(gram_bulk_max, Gamma.back());
  record.set(distance_gram_bound, root * Gamma.back() / arma::dot(mean, mean));
  record.set(distance_cross_bound, root * (2.0 * s + e) * e / (s * s));
  trial.check_interrupt();

  const arma::mat M_bar = maps.W_bar * left.Q.tail_cols(std::min(maps.size.d, maps.size.k));
  record.set(norm_ratio, arma::accu(singular_values(M_bar)) / arma::norm(maps.W_bar, "fro"));
  trial.check_interrupt();
  const double eta = 1.0 / maps.inverse_step();
  record.set(nuclear_rank_1, nuclear_rank(arma::mat(maps.W_bar * (B_bar - eta * B_bar * B))));
}

void measure_proof_3_9(const TwoMaps& maps, const Trial& trial, TrialRecord& record) {
  const arma::mat B = maps.B(), B_bar = maps.B_bar(), &W_bar = maps.W_bar;
  const Svd<double> svd = thin_svd(B_bar);
  trial.check_interrupt();
  const arma::mat L = arma::fliplr(maps.gram.Q);
  const arma::vec factor = 1.0 - arma::reverse(maps.gram.w) / maps.inverse_step();  // I - eta S
  const arma::mat rotation = svd.V.t() * L;                                         // R-bar'L
  const arma::uword last = rotation.n_rows - 1;
  record.set(block_row, arma::norm(rotation(0, arma::span(1, last))));
  record.set(block_column, arma::norm(rotation(arma::span(1, last), 0)));
  record.set(angle_error,
             std::fabs(singular_values(rotation(arma::span(1, last), arma::span(1, last))).back() -
                       std::fabs(rotation(0, 0))));
  record.set(step_factor, factor(0));
  trial.check_interrupt();

  arma::mat Q = rotation * arma::diagmat(factor);
  Q.row(0) *= svd.s(0);
  arma::mat blocked = Q;  // [a z'; 0 D]
  blocked(arma::span(1, last), 0).zeros();
  record.set(corner, std::fabs(Q(0, 0)));
  record.set(corner_row, arma::norm(Q(0, arma::span(1, last))));
  record.set(corner_error, arma::norm(Q(arma::span(1, last), 0)));
  const arma::vec whole = singular_values(Q);
  trial.check_interrupt();
  const arma::vec D = singular_values(Q(arma::span(1, last), arma::span(1, last)));
  trial.check_interrupt();
  record.set(Q_max, whole.front());
  record.set(Q_min, whole.back());
  record.set(D_max, D.front());
  record.set(D_min, D.back());
  record.set(blocked_min, singular_values(blocked).back());
  trial.check_interrupt();

  const arma::mat rotated = W_bar * svd.U;
  arma::vec scale = svd.s;
  scale(0) = 1.0;
  const arma::vec h = singular_values(rotated * arma::diagmat(scale));
  trial.check_interrupt();
  record.set(H_nuclear, arma::accu(h));
  record.set(H_frobenius, arma::norm(h));
  record.set(M_nuclear,
             arma::accu(singular_values(rotated.head_cols(std::min(maps.size.d, maps.size.k)))));
  record.set(W_frobenius, arma::norm(W_bar, "fro"));
  record.set(W_norm, operator_norm(W_bar));
  trial.check_interrupt();
  const double rank = nuclear_rank(arma::mat(W_bar * (B_bar - B_bar * B / maps.inverse_step())));
  record.set(rank_quotient, rank / nuclear_rank(h));
}

// Claims: Theorem 3.9 -----------------------------------------------------------------------------

namespace {

// u = v = sqrt(d) e_1 and Gamma = Sigma = I, so that B = B-bar = d e_1 e_1' + I and L-bar = I, with
// r = k = d, the offset c = 10 of the step, and W-bar = Diag(1, 1, 0, ..., 0). The gradient at W_1
// has the singular values 10(d + 1)/(d + 11) and 1 - 1/(d + 11), and ||M-bar||_*/||W-bar||_F =
// sqrt(2).
struct SmallTeacher {
  double nuclear_rank, ratio;
};
SmallTeacher small_teacher(double d) {
  constexpr double c = 10.0;
  const double eta = 1.0 / (c + d + 1.0);
  const arma::vec B = {d + 1.0, 1.0}, W = {1.0, 1.0};  // diagonals, where W-bar is not 0
  const arma::vec gradient = W % B % (1.0 - eta * B);
  return {std::pow(arma::accu(gradient), 2) / arma::dot(gradient, gradient),
          arma::accu(W) / arma::norm(W)};
}

void judge_step(const FeatureClaims& over_d) {
  const std::string theorem = spectral::thm_3_9;
  const Place eq_3_19{theorem, "spectral/eq-3.19/", "Theorem 3.9, eq. (3.19)"},
      particular{theorem, eq_3_19.prefix, "Theorem 3.9, from eq. (3.19) to eq. (3.20)",
                 Part::proof};
  const std::string square = spectral::thm_3_9_square;
  const std::string step = say(", eta = 1/(c + ||B||), c = {}", over_d.config.offset);
  const Metric excess = ratio(nuclear_rank_1, norm_ratio);
  const Metric squared = [](const AtSize& at) {
    return at(nuclear_rank_1) / std::pow(at(norm_ratio), 2);
  };
  const Region at_least_order_d = at_least(1.0 - exponent_slack);
  const Statement printed =
      showing(square, eq_3_19("as-printed", "nr(grad L(W_1)) >= ||M-bar||_* / ||W-bar||_F"));
  constexpr double d_of_example = 1000.0;
  const SmallTeacher example = small_teacher(d_of_example);
  Tally cases = over_d.tally([&](const AtSize& at, Tally& t) {
    if (!std::isnan(excess(at))) t.count(excess(at) < 1.0);
  });
  cases.count(example.nuclear_rank < example.ratio);
  over_d.claims.never_violated(
      printed, cases,
      say("quotient of the two sides {} for Gaussian weights{}; in a "
          "worked example with d = {} and c = 10, nr is {} and the right "
          "side {}",
          over_d.range(excess), step, d_of_example, example.nuclear_rank, example.ratio));
  const Misprint order =
      particular.misprint(square, "order",
                          "||M-bar||_* / ||W-bar||_F, the right side of (3.19) as printed, is at "
                          "least of the order d that (3.20) requires",
                          "(||M-bar||_* / ||W-bar||_F)^2, the squared right side of (3.19), is at "
                          "least of the order d that (3.20) requires");
  over_d.exponent(order.as_printed, norm_ratio, at_least_order_d,
                  "||M-bar||_* / ||W-bar||_F is " + over_d.range(norm_ratio));
  over_d.exponent(
      order.corrected, [](const AtSize& at) { return std::pow(at(norm_ratio), 2); },
      at_least_order_d, "measured: the square of ||M-bar||_* / ||W-bar||_F");
  over_d.exponent(
      correcting(printed,
                 eq_3_19("corrected",
                         "nr(grad L(W_1)) >= C (||M-bar||_* / ||W-bar||_F)^2 for a constant C")),
      squared, does_not_shrink, say("quotient of the two sides {}{}", over_d.range(squared), step));
  over_d.exponent({theorem, "spectral/eq-3.20", "Theorem 3.9, eq. (3.20)",
                   "nr(grad L(W_1)) is at least of order d"},
                  nuclear_rank_1, at_least_order_d,
                  say("nr(grad L(W_1)) is {}{}", over_d.range(nuclear_rank_1), step));
}

void judge_alignment(const FeatureClaims& over_d) {
  const Region like_inverse = at_most(-1.0 + exponent_slack);
  for (const auto& [number, distance, bound, vector] :
       {std::tuple{"3.21", distance_gram, distance_gram_bound, "the top eigenvector of B"},
        std::tuple{"3.22", distance_cross, distance_cross_bound,
                   "the top right singular vector of B-bar"}}) {
    const Place equation{spectral::thm_3_9, say("spectral/eq-{}", number),
                         say("Theorem 3.9, proof, eq. ({})", number), Part::proof};
    const std::string the_distance =
        say("The distance between {} and u/||u||, up to sign, is ", vector);
    over_d.exponent(
        equation("", the_distance + "O(1/d)"), distance, like_inverse,
        say("distance {}; the paper prints argmin over q instead of min", over_d.range(distance)));
    over_d.everywhere(
        equation("/davis-kahan", the_distance + "at most the bound of Davis, Kahan and Wedin, "
                                                "where u is the sample mean"),
        [d = distance, b = bound](const AtSize& at) { return at(b) - at(d); },
        "in the form of Yu, Wang and Samworth (2015); the bound is " + over_d.range(bound));
  }
  over_d.exponent(
      {spectral::thm_3_9, "spectral/thm-3.9/alignment", "Theorem 3.9, proof",
       "| r_0'l_0 - 1 | = O(1/d)", Part::proof},
      alignment_defect, like_inverse,
      say("1 - |r_0'l_0| is {}; (3.21) and (3.22) imply O(1/d^2)", over_d.range(alignment_defect)));
}

// Claims: the proof of Theorem 3.9 ----------------------------------------------------------------

const Place proof_3_9{spectral::thm_3_9, "/", "Theorem 3.9, proof", Part::proof};

void judge_blocks(const FeatureClaims& over_d) {
  const Region like_inverse = at_most(-1.0 + exponent_slack),
               like_inverse_square = at_most(-2.0 + exponent_slack);
  over_d.rate(proof_3_9("block-row", "||r_0'L_0|| is O(1/d)"), block_row, like_inverse);
  over_d.rate(proof_3_9("block-column", "||R_0'l_0|| is O(1/d)"), block_column, like_inverse);
  over_d.everywhere(
      proof_3_9("principal-angles", "s_(k-1)(R_0'L_0) = |r_0'l_0|"),
      [](const AtSize& at) { return rounding_of_norms - at(angle_error); },
      "largest difference " + over_d.range(angle_error));
  over_d.rate(proof_3_9("step-factor", "1 - eta s_1 is of order 1/d"), step_factor,
              within(-1.0, exponent_slack));
  over_d.rate(proof_3_9("corner", "a, the corner of Q, is of order 1"), corner, of_order_one);
  over_d.rate(proof_3_9("corner-row", "||z||, the rest of the first row of Q, is bounded"),
              corner_row, does_not_grow);
  over_d.rate(proof_3_9("corner-error",
                        "||E||, the norm of the first column of Q below the corner, is O(1/d^2)"),
              corner_error, like_inverse_square);
  over_d.rate(proof_3_9("D-above", "s_1(D) is bounded"), D_max, does_not_grow);
  over_d.rate(proof_3_9("D-below", "s_(k-1)(D) is bounded below"), D_min, does_not_shrink);
  over_d.rate(proof_3_9("Q-above", "s_1(Q) is bounded"), Q_max, does_not_grow);
  over_d.rate(proof_3_9("Q-below", "s_k(Q) is bounded below"), Q_min, does_not_shrink);
}

void judge_norms_of_step(const FeatureClaims& over_d) {
  over_d.rate(
      proof_3_9("same-rank",
                "nr(grad L(W_1)) is of the order of nr(H), H = W-bar L-bar Diag(1, s_2, ..., "
                "s_k)"),
      rank_quotient, of_order_one, " for the quotient");
  over_d.rate(proof_3_9("H-nuclear", "||H||_* is at least of the order of ||M-bar||_*"),
              ratio(H_nuclear, M_nuclear), does_not_shrink, " for the quotient");
  over_d.rate(proof_3_9("H-frobenius", "||H||_F is at most of the order of ||W-bar||_F"),
              ratio(H_frobenius, W_frobenius), does_not_grow, " for the quotient");
  over_d.rate(proof_3_9("W-frobenius", "||W-bar||_F is O(sqrt(d)) for a Gaussian W-bar"),
              W_frobenius, at_most(0.5 + exponent_slack));
  over_d.rate(proof_3_9("W-norm", "||W-bar|| is bounded for a Gaussian W-bar"), W_norm,
              does_not_grow);
  over_d.rate(proof_3_9("M-nuclear", "||M-bar||_* is at least of order d for a Gaussian W-bar"),
              M_nuclear, at_least(1.0 - exponent_slack));
}

// Lemma G.1 ---------------------------------------------------------------------------------------
//
// M = [a z'; 0 D] = A N with A = [a 0; 0 D] (q, p + 1) and N = [1 z'/a; 0 I] (p + 1, p + 1). In the
// proof of Theorem 3.9 q = p + 1 = k.

// sigma_(p+1)(N), the smallest: N has the singular values s, 1, ..., 1, 1/s with s - 1/s =
// ||z||/|a|.
double smallest_of_N(double a, double z) {
  return 2.0 / (z / a + std::hypot(z / a, 2.0));
}

// q = p = 2, a = 1, z = (2, 0)', D = [1 0].
struct Blocked {
  double M, A, N, smallest_of_N;  // sigma_2 of each, and sigma_3(N)
};
Blocked blocked_example() {
  const arma::mat A = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}},
                  N = {{1.0, 2.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  const arma::vec of_N = singular_values(N);
  return {singular_values(arma::mat(A * N))(1), singular_values(A)(1), of_N(1), of_N(2)};
}

void judge_blocked(const FeatureClaims& over_d) {
  const Place lemma{spectral::lemma_G_1, spectral::lemma_G_1,
                    "Lemma G.1, in the proof of Theorem 3.9"},
      proof{lemma.statement_id, "spectral/lemma-G.1/", "Lemma G.1, proof, eq. (G.1)", Part::proof};
  const Metric of_A = [](const AtSize& at) { return std::min(at(corner), at(D_min)); };
  const Metric bound = [=](const AtSize& at) {
    return of_A(at) / (1.0 + at(corner_row) / at(corner));
  };
  over_d.everywhere(
      lemma("",
            "The smallest singular value of [a z'; 0 D] is at least min(|a|, s_(k-1)(D)) / (1 + "
            "||z||/|a|)"),
      [=](const AtSize& at) { return at(blocked_min) * (1.0 + rounding_of_norms) - bound(at); },
      "quotient of the two sides " + over_d.range(ratio(blocked_min, bound)));

  const Misprint index = proof.misprint(
      spectral::lemma_G_1_index, "index", "sigma_q(M) >= sigma_q(A) sigma_q(N) for M = A N",
      "sigma_q(M) >= sigma_q(A) sigma_(p+1)(N) for M = A N, with the smallest singular value of N");
  const Metric product = [=](const AtSize& at) {
    return of_A(at) * smallest_of_N(at(corner), at(corner_row));
  };
  const Blocked example = blocked_example();
  const auto judge = [&](const Statement& statement, double right) {
    Tally cases = over_d.tally([&](const AtSize& at, Tally& t) {
      if (std::isnan(at(blocked_min))) return;
      t.count(at(blocked_min) * (1.0 + rounding_of_norms) < product(at));
    });
    cases.count(example.M * (1.0 + rounding_of_norms) < right);
    over_d.claims.never_violated(statement, cases,
                                 say("q = p + 1 in the run, where both forms agree; in the example "
                                     "q = p = 2, a = 1, z = (2, "
                                     "0)', D = [1 0] the sides are {} and {}",
                                     example.M, right));
  };
  judge(index.as_printed, example.A * example.N);
  judge(index.corrected, example.A * example.smallest_of_N);
}

// Lemma G.2 ---------------------------------------------------------------------------------------

// Smallest eigenvalues of M Diag(v)^2 M' - q^2 X, q = min over P of |v_i|, where X is M e_P e_P' M'
// as printed or M_P M_P'.
struct Gap {
  double as_printed, corrected;
};
Gap gap_of(const arma::mat& M, const arma::vec& v, const arma::uvec& P) {
  const double q = arma::abs(v.elem(P)).min();
  const arma::mat scaled = M * arma::diagmat(v), M_P = M.cols(P), left = scaled * scaled.t();
  const arma::vec sum = arma::sum(M_P, 1);
  return {symmetric_eigenvalues(left - q * q * sum * sum.t()).front(),
          symmetric_eigenvalues(left - q * q * M_P * M_P.t()).front()};
}

double without_rounding(double eigenvalue) {
  return std::fabs(eigenvalue) < rounding_of_norms ? 0.0 : eigenvalue;
}

void judge_columns(const FeatureClaims& over_d) {
  const Place lemma{spectral::lemma_G_2, spectral::lemma_G_2,
                    "Lemma G.2, in the proof of Theorem 3.9"},
      proof{lemma.statement_id, "spectral/lemma-G.2/", "Lemma G.2, proof", Part::proof};
  const Metric bound = [](const AtSize& at) {
    return std::min(1.0, at(cross_sigma_d)) * at(M_nuclear);
  };
  over_d.everywhere(
      lemma("",
            "||H||_* >= min_(i in P) |v_i| ||M_P||_* for H = M Diag(v), here with M = W-bar L-bar "
            "and P = {1, ..., d}"),
      [=](const AtSize& at) { return at(H_nuclear) * (1.0 + rounding_of_norms) - bound(at); },
      "quotient of the two sides " + over_d.range(ratio(H_nuclear, bound)));

  const Misprint diagonal = proof.misprint(
      spectral::lemma_G_2_diagonal, "diagonal",
      "M Diag(v)^2 M' >= q^2 M e_P e_P' M' = q^2 M_P M_P' for the vector e_P with ones in P",
      "M Diag(v)^2 M' >= q^2 M Diag(e_P) M' = q^2 M_P M_P'");
  // M = I, v = (1, 1)', P = {1, 2}: the eigenvalues of I - e_P e_P' are 1 and -1. Then M_ij =
  // 1/(i + j - 1), v = (1, -2, 3, -4)', and all subsets P.
  Tally as_printed, corrected;
  const auto count = [&](const arma::mat& M, const arma::vec& v, const arma::uvec& P) {
    const Gap gap = gap_of(M, v, P);
    as_printed.count(gap.as_printed < -rounding_of_norms, gap.as_printed);
    corrected.count(gap.corrected < -rounding_of_norms, gap.corrected);
  };
  count(arma::mat(2, 2, arma::fill::eye), {1.0, 1.0}, {0, 1});
  arma::mat hilbert(3, 4);
  for (arma::uword i = 0; i < 3; ++i) {
    for (arma::uword j = 0; j < 4; ++j) hilbert(i, j) = 1.0 / static_cast<double>(i + j + 1);
  }
  for (unsigned subset = 1; subset < 16; ++subset) {
    std::vector<arma::uword> P;
    for (unsigned j = 0; j < 4; ++j) {
      if ((subset >> j & 1U) != 0) P.push_back(j);
    }
    count(hilbert, {1.0, -2.0, 3.0, -4.0}, P);
  }
  const std::string shown =
      "smallest eigenvalue of the difference of the two sides, over the example M = I, v = (1, "
      "1)', "
      "P = {1, 2} and 15 subsets of 4 columns: ";
  over_d.claims.never_violated(diagonal.as_printed, as_printed,
                               shown + short_number(as_printed.smallest), WorstCase::smallest);
  over_d.claims.never_violated(diagonal.corrected, corrected,
                               shown + short_number(without_rounding(corrected.smallest)),
                               WorstCase::smallest);
}

}  // namespace

void judge_theorem_3_9(const FeatureClaims& over_d) {
  judge_step(over_d);
  judge_alignment(over_d);
}

void judge_proof_3_9(const FeatureClaims& over_d) {
  judge_blocks(over_d);
  judge_norms_of_step(over_d);
  judge_blocked(over_d);
  judge_columns(over_d);
}

}  // namespace ranklab::features
