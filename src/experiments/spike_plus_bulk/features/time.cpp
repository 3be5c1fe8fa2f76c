// Eq. (1.9) at the first two iterates, and the time that gradient descent takes, [Spectral]
// Sections 1 and 3.1.4. Shapes: W, W-bar (k, k); B, B-bar (k, k). The Hessian of L is I (x) B, so
// L_t = ||B||_op, and the curvature along the polar factor P of the gradient is J_t = tr(P B P').
#include "experiments/spike_plus_bulk/features/features.hpp"
#include "linalg/decompositions.hpp"

namespace ranklab::features {

// The trial ---------------------------------------------------------------------------------------

namespace {

constexpr double longest_time = 1e9;  // iterations that are searched

// J/L, nr, and the decrease of L(W) = tr(W B W')/2 - tr(W C') by the best step along P, divided by
// ||G||_F^2/(2 ||B||), the decrease that GD guarantees. C = W-bar B-bar, G = W B - C.
void measure_hessian_ratio(const arma::mat& W, const arma::mat& B, const arma::mat& C,
                           double largest, std::size_t iterate, TrialRecord& record) {
  const auto loss = [&](const arma::mat& X) { return arma::dot(X, 0.5 * X * B - C); };
  const arma::mat G = W * B - C;
  const Svd<double> svd = thin_svd(G);
  const arma::mat P = svd.U * svd.V.t();
  const double nuclear = arma::accu(svd.s), squared = arma::dot(svd.s, svd.s),
               curvature = arma::dot(P, P * B);
  record.set(hessian_ratio[iterate], curvature / largest);
  record.set(gradient_rank[iterate], nuclear * nuclear / squared);
  record.set(polar_gain[iterate],
             (loss(W) - loss(W - nuclear / curvature * P)) / (squared / (2.0 * largest)));
}

}  // namespace

double remaining_error(const arma::vec& lambda, const arma::vec& g, double t) {
  return arma::dot(g, arma::pow(1.0 - lambda / lambda.back(), 2.0 * t));
}

double descent_time(const arma::vec& lambda, const arma::vec& g, double error) {
  const auto reached = [&](double t) { return remaining_error(lambda, g, t) <= error; };
  if (reached(0.0)) return 0.0;
  double low = 0.0, high = 1.0;
  while (!reached(high)) {
    low = high;
    high *= 2.0;
    if (high > longest_time) return undefined;
  }
  while (high - low > 1.0) {
    const double middle = std::floor((low + high) / 2.0);
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

void measure_times(const TwoMaps& maps, const Trial& trial, TrialRecord& record) {
  const arma::mat B = maps.B(), C = maps.W_bar * maps.B_bar();
  const SymmetricEigen& gram = maps.gram;
  const double largest = gram.w.back();
  record.set(stable_rank_A, arma::accu(gram.w) / largest);
  const arma::mat W_0(arma::size(C), arma::fill::zeros);
  measure_hessian_ratio(W_0, B, C, largest, 0, record);
  trial.check_interrupt();
  measure_hessian_ratio(C / maps.inverse_step(), B, C, largest, 1, record);
  trial.check_interrupt();

  // L(W_t) - min L = sum_i lambda_i ||E_0 q_i||^2 (1 - eta lambda_i)^(2t) / 2 with eta = 1/||B||,
  // E_0 = W_0 - W* and W* = W# or C B^-1.
  constexpr double rounding = 1e-12;  // such as two features of one input: d = 1 and relu
  const bool singular = maps.size.n <= maps.size.k || gram.w.front() <= rounding * largest;
  record.set(decay, singular ? undefined : -2.0 * std::log1p(-gram.w.front() / largest));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const arma::mat rotated = (i == realizable_labels ? maps.W_bar : C) * gram.Q;
    const arma::vec squares = arma::sum(arma::square(rotated), 0).t();
    const arma::vec g =
        0.5 * (i == realizable_labels ? arma::vec(squares % gram.w) : arma::vec(squares / gram.w));
    std::vector<double> relative, absolute;
    for (const double error : relative_errors) {
      relative.push_back(singular ? undefined : descent_time(gram.w, g, error * arma::accu(g)));
    }
    for (const double error : absolute_errors) {
      absolute.push_back(singular ? undefined : descent_time(gram.w, g, error));
    }
    record.set(relative_time[i], relative);
    record.set(absolute_time[i], absolute);
  }
}

// Claims ------------------------------------------------------------------------------------------

namespace {

// Eq. (1.9): J_t/L_t <= nr(grad L(W_t)) up to a constant. [Spectral] reports it from Shen et al.
// (2025), about a small MLP, and defines neither J_t nor L_t. Here J_t = tr(P B P') with the polar
// factor P of the gradient, and L_t = ||B||.
void judge_hessian_ratio(const FeatureClaims& over_d) {
  const Place eq_1_9 = beyond(Place{spectral::eq_1_9, "/", "Section 1.3, eq. (1.9)"});
  const std::string defined =
      "J_t = tr(P B P') with the polar factor P of the gradient, L_t = ||B||";
  over_d.everywhere(
      eq_1_9("first-step", "J_t/L_t <= nr(grad L(W_t)) at W_1, with constant 1"),
      [](const AtSize& at) { return at(gradient_rank[1]) - at(hessian_ratio[1]); },
      say("J/L is {}, nr {}; {}", over_d.range(hessian_ratio[1]), over_d.range(gradient_rank[1]),
          defined));
  over_d.exponent(eq_1_9("grows", "The margin of (1.9) at W_1, nr over J_t/L_t, is of order d"),
                  ratio(gradient_rank[1], hessian_ratio[1]), of_order_d,
                  say("the quotient is {}; {}",
                      over_d.range(ratio(gradient_rank[1], hessian_ratio[1])), defined));
  const Tally gains = over_d.tally([](const AtSize& at, Tally& tally) {
    for (std::size_t t = 0; t < hessian_ratio.size(); ++t) {
      if (!(at(hessian_ratio[t]) <= at(gradient_rank[t]))) continue;
      tally.count(!(at(polar_gain[t]) >= 1.0 - rounding_of_norms), at(polar_gain[t]));
    }
  });
  over_d.claims.never_violated(
      eq_1_9("guarantee",
             "Where (1.9) holds with constant 1, a step along the polar factor of the "
             "gradient has a better guarantee than a step of GD"),
      gains,
      say("decrease of the loss by the best step along P, over the decrease ||G||_F^2/(2 L_t) that "
          "GD guarantees, at W_0 and W_1: {}",
          gains.cases > 0 ? say("{} to {}", gains.smallest, gains.largest) : "no case"),
      WorstCase::smallest);
  const Tally ratios = over_d.tally([](const AtSize& at, Tally& tally) {
    for (const Measure& each : hessian_ratio) {
      const double quotient = at(each) / at(stable_rank_A);
      tally.count(!(quotient <= 1.0 + rounding_of_norms), quotient);
    }
  });
  over_d.claims.never_violated(
      eq_1_9("stable-rank",
             "J_t/L_t <= st(A) on random features, so condition (1.5) implies (1.9)"),
      ratios,
      say("J_t/L_t over st(A), at W_0 and W_1: {} to {}; equal if the gradient has full column "
          "rank, "
          "because then P'P = I",
          ratios.smallest, ratios.largest),
      WorstCase::largest);
}

void judge_descent(const FeatureClaims& over_d) {
  const Place introduction{spectral::section_1_gd_time, "spectral/section-1/",
                           "Section 1, before Section 1.1"},
      section{spectral::section_3_1_4_gd_time, "spectral/section-3.1.4/",
              "Section 3.1.4, before Theorem 3.6"};
  const double delta = relative_errors[judged_relative], epsilon = absolute_errors[judged_absolute];
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string with = say("{} labels", labels[i]), id = say("gd-time/{}", labels[i]);
    const Metric relative = [=](const AtSize& at) {
      return at.record.array(at.place / relative_time[i]).at(judged_relative);
    };
    const Metric absolute = [=](const AtSize& at) {
      return at.record.array(at.place / absolute_time[i]).at(judged_absolute);
    };
    const Metric printed =
        ratio(relative, [=](const AtSize& at) { return at.x * std::log(at.x / delta); });
    const Metric per_d = ratio(relative, [](const AtSize& at) { return at.x; });
    const Metric to_epsilon =
        ratio(absolute, [=](const AtSize& at) { return at.x * std::log(at.x / epsilon); });
    const Misprint time = introduction.misprint(
        spectral::section_1_gd_time_relative, id,
        "GD needs at least of order d log(d/delta) steps to a relative error delta, " + with,
        "GD needs of order d log(1/delta) steps to a relative error delta, " + with);
    const std::string at_delta = say("delta = {} of the initial L - min L, step 1/||B||", delta);
    over_d.exponent(
        asymptotic(time.as_printed, "none: an exponent below 0 at 99 %"), printed, at_least(0.0),
        say("steps over d log(d/delta) {}, {}; judged without slack because log d grows "
            "slowly",
            over_d.range(printed), at_delta));
    over_d.exponent(time.corrected, per_d, of_order_one,
                    say("steps over d {}, {}", over_d.range(per_d), at_delta));
    // The sentence is about (3.1), that is realizable labels; it bounds the time from above.
    const Statement sentence = section(
        id, "GD finds an eps-optimal solution after at most of order d log(d/eps) steps, " + with);
    over_d.exponent(i == realizable_labels ? sentence : beyond(sentence), to_epsilon, does_not_grow,
                    say("steps over d log(d/eps) {}, L - min L <= eps = {}, step 1/||B||",
                        over_d.range(to_epsilon), epsilon));
  }
}

}  // namespace

void judge_times(const FeatureClaims& over_d) {
  judge_hessian_ratio(over_d);
  const auto definite = over_d.claims.only_where(
      over_d.config.singular()
          ? "n <= k at some size, so B is singular and its smallest eigenvalue is 0"
          : "");
  judge_descent(over_d);
}

}  // namespace ranklab::features
