// The constants J and H of [Spectral] Section 4.2.1 for attention, H(Q, K, V) = V P with P =
// softmax(K'Q / sqrt(d)) over columns: the operator norm of its derivative, and the size of its
// second derivative. Q = W_Q A, K = W_K A and V = W_V A are (d, T), and the columns of A have norm
// sqrt(d), as after RMSNorm.
//
// The paper bounds both by the operator norms of the projections, times a constant that depends
// neither on d nor on T. Two examples contradict this. Let R be the largest row sum of P: the
// attention that one token receives in sum, between 1 and T. For projections of operator norm at
// most 1,
//   J <= sqrt(R) (1 + sqrt(d)) + sqrt(d)
//   H <= R (4 sqrt(d) + 4)
// because a change of q_t changes h_t by at most sqrt(d), the norm of v, times that of k / sqrt(d);
// and P, whose columns sum to one, has operator norm at most sqrt(R).
#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "linalg/spectra.hpp"
#include "nn/blocks/attention.hpp"

namespace ranklab::curvature {
namespace {

constexpr std::size_t most_iterations = 200, random_directions = 4;
constexpr double converged = 1e-8;      // relative change of a squared slope
constexpr double largest_growth = 0.1;  // exponent that counts as "does not grow"

double root(arma::uword d) {
  return std::sqrt(static_cast<double>(d));
}

arma::mat normal(arma::uword rows, arma::uword columns, Stream stream) {
  arma::mat out(rows, columns);
  stream.fill_normal({out.memptr(), out.n_elem});
  return out;
}

Projected random_direction(arma::uword d, arma::uword T, const Streams& streams,
                           const std::string& name) {
  Projected U{normal(d, T, streams.stream(name + ".Q")), normal(d, T, streams.stream(name + ".K")),
              normal(d, T, streams.stream(name + ".V"))};
  const double norm = U.norm();
  U.Q /= norm, U.K /= norm, U.V /= norm;
  return U;
}

// Every p_j (x_j - mean of x) in each column, where p weighs the mean.
arma::mat weighted_deviation(const arma::mat& P, arma::mat X) {
  const arma::rowvec mean = arma::sum(P % X, 0);
  X.each_row() -= mean;
  return P % X;
}

// What a trial records ----------------------------------------------------------------------------

constexpr char slope_of_normal[] = "J of attention for normal tokens and Gaussian projections",
               slope_of_example[] = "J of attention in the example that the bound is judged with";
constexpr Measure normal_by_width = {"attention.J.normal.over_width", "J", slope_of_normal},
                  normal_by_length = {"attention.J.normal.over_length", "J", slope_of_normal},
                  two_sided_by_width = {"attention.J.two_sided.over_width", "J", slope_of_example},
                  second_by_width = {"attention.H.two_sided.over_width", "H",
                                     "size of the second derivative of attention in the example"},
                  one_sided_by_length = {"attention.J.one_sided.over_length", "J",
                                         slope_of_example};

const Place section{spectral::section_4_2_1_bounded, "spectral/section-4.2.1/",
                    "Section 4.2.1, transformer blocks"};
const std::string attention = spectral::section_4_2_1_bounded_attention;

// The printed statements about all tokens and projections, with their corrections.
const std::string for_all = ", for all normalized tokens and projections of operator norm 1";
const Misprint slope_and_width = section.misprint(
    attention, "J/width", "J of attention does not grow with d" + for_all,
    "J <= sqrt(R) (1 + sqrt(d)) + sqrt(d), where R is the largest attention that a token receives "
    "in sum");
const Statement slope_and_length = showing(
    attention, section("J/length/as-printed", "J of attention does not grow with T" + for_all));
const Misprint second_and_width = section.misprint(
    attention, "H/width", "H of attention does not grow with d" + for_all,
    "H <= R (4 sqrt(d) + 4), where R is the largest attention that a token receives "
    "in sum, along random directions and that of the example");

}  // namespace

double Projected::norm() const {
  return std::sqrt(arma::dot(Q, Q) + arma::dot(K, K) + arma::dot(V, V));
}

AttentionMap::AttentionMap(Projected at)
    : at_(std::move(at)), P_(attention_matrix<double>(at_.Q, at_.K, 1 / root(at_.Q.n_rows))) {}

arma::mat AttentionMap::change_of_scores(const Projected& U) const {
  return (at_.K.t() * U.Q + U.K.t() * at_.Q) / root(width());
}

arma::mat AttentionMap::derivative(const Projected& U) const {
  return U.V * P_ + at_.V * weighted_deviation(P_, change_of_scores(U));
}

Projected AttentionMap::transposed(const arma::mat& G) const {
  const arma::mat dS = weighted_deviation(P_, at_.V.t() * G) / root(width());
  return {at_.K * dS, at_.Q * dS.t(), G * P_.t()};
}

arma::mat AttentionMap::second_derivative(const Projected& U) const {
  const arma::mat S = change_of_scores(U), first = weighted_deviation(P_, S);
  // P'' = P o (z^2 - E z^2 + S'' - E S''), where z = S' - E S' and E weighs by P.
  arma::mat z = S;
  z.each_row() -= arma::sum(P_ % S, 0);
  const arma::mat second =
      weighted_deviation(P_, arma::square(z) + 2 * U.K.t() * U.Q / root(width()));
  return 2 * U.V * first + at_.V * second;
}

double AttentionMap::slope(Stream start) const {
  arma::mat G = arma::mat(arma::size(at_.V));
  start.fill_normal({G.memptr(), G.n_elem});
  double squared = 0;
  for (std::size_t k = 0; k < most_iterations; ++k) {
    G /= arma::norm(G, "fro");
    G = derivative(transposed(G));
    const double next = arma::norm(G, "fro");
    if (std::abs(next - squared) <= converged * next) return std::sqrt(next);
    squared = next;
  }
  return std::sqrt(squared);
}

double AttentionMap::most_attended() const {
  return arma::sum(P_, 1).max();
}

double slope_bound(const AttentionMap& map) {
  return std::sqrt(map.most_attended()) * (1 + root(map.width())) + root(map.width());
}

double second_derivative_bound(const AttentionMap& map) {
  return map.most_attended() * (4 * root(map.width()) + 4);
}

void count_bounds(const AttentionMap& map, double slope, const std::vector<Projected>& along,
                  TrialRecord& record) {
  const double bound = slope_bound(map);
  record.count(slope_and_width.corrected.id, !(slope <= bound), slope / bound);
  for (const Projected& U : along) {
    const double share = arma::norm(map.second_derivative(U), "fro") / second_derivative_bound(map);
    record.count(second_and_width.corrected.id, !(share <= 1), share);
  }
}

AttentionMap normal_attention(arma::uword d, arma::uword T, const Streams& streams) {
  const std::string of = say("attention d={},T={}/", d, T);
  const arma::mat A = root(d) * arma::normalise(normal(d, T, streams.stream(of + "A")));
  const auto projected = [&](const char* name) {
    const arma::mat W = normal(d, d, streams.stream(of + name));
    return arma::mat(W * A / operator_norm(W));
  };
  return AttentionMap({projected("W_Q"), projected("W_K"), projected("W_V")});
}

AttentionMap two_sided_attention(arma::uword d, arma::uword T) {
  arma::mat A(d, T, arma::fill::zeros);  // v is the first unit vector, and W_Q A = 0
  for (arma::uword t = 0; t < T; ++t) A(0, t) = (t % 4 == 0 ? 1 : -1) * root(d);
  return AttentionMap({arma::mat(d, T, arma::fill::zeros), A, A});
}

AttentionMap one_sided_attention(arma::uword d, arma::uword T) {
  const double part = root(d) / std::sqrt(2.0);
  arma::mat A(d, T, arma::fill::zeros), Q = A, K = A;
  A.row(0).fill(part);
  A.row(1).fill(-part);
  A(1, 0) = part;
  Q.row(0) = A.row(0);
  K.row(0) = A.row(1);
  return AttentionMap({Q, K, A});
}

void measure_attention(const Trial& trial, TrialRecord& record) {
  std::map<std::string, std::vector<double>> arrays;
  const Stream start = trial.stream("attention/start");
  const auto measure = [&](const Measure& name, const AttentionMap& map, arma::uword T,
                           std::vector<Projected> along) {
    trial.check_interrupt();
    const double slope = map.slope(start);
    arrays[name].push_back(slope);
    for (std::size_t k = 0; k < random_directions; ++k) {
      along.push_back(random_direction(map.width(), T, trial, say("attention/U{}", k)));
    }
    count_bounds(map, slope, along, record);
  };
  for (const double size : attention_sizes) {
    const auto n = static_cast<arma::uword>(size);
    measure(normal_by_width, normal_attention(n, attention_size, trial), attention_size, {});
    measure(normal_by_length, normal_attention(attention_size, n, trial), n, {});
    const AttentionMap two_sided = two_sided_attention(n, attention_size);
    const arma::mat zero(n, attention_size, arma::fill::zeros);
    Projected U{zero, zero, zero};
    U.Q(0, 0) = 1;
    arrays[second_by_width].push_back(arma::norm(two_sided.second_derivative(U), "fro"));
    measure(two_sided_by_width, two_sided, attention_size, {U});
    measure(one_sided_by_length, one_sided_attention(attention_size, n), n, {});
  }
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
}

void judge_attention(const Records& records, Claims& claims) {
  const std::string in_exponent = say("{} in the exponent", largest_growth);
  const auto growth = [&](const Measure& name) {
    return slopes_over(
        records, attention_sizes,
        [&](const TrialRecord& record, std::size_t i) { return record.array(name)[i]; }, fit_power);
  };
  for (const auto& [id, name, size] : {std::tuple{"J/normal/width", normal_by_width, "d"},
                                       {"J/normal/length", normal_by_length, "T"}}) {
    claims.mean(
        reading(section(id, say("Exponent of {} in J of attention, for normal tokens and Gaussian "
                                "projections of operator norm 1: at most 0.1",
                                size)),
                in_exponent + ", normal tokens; ours"),
        growth(name), at_most(largest_growth), "exponent, from 16 to 256");
  }
  // The examples are the same in every trial.
  for (const auto& [statement, name, size] :
       {std::tuple{&slope_and_width.as_printed, two_sided_by_width, "d"},
        {&slope_and_length, one_sided_by_length, "T"},
        {&second_and_width.as_printed, second_by_width, "d"}}) {
    Statement judged = asymptotic(*statement, say("{} of {}, an example", in_exponent, size));
    judged.text += say(" (the number is an exponent of {} in an example)", size);
    claims.number(judged, growth(name).front(), at_most(largest_growth),
                  "exponent, from 16 to 256, in an example");
  }
  for (const Misprint* statement : {&slope_and_width, &second_and_width}) {
    const Tally tally = tally_of(records, statement->corrected.id);
    claims.never_violated(statement->corrected, tally,
                          say("largest share of the bound {}", tally.largest), WorstCase::largest);
  }
}

void derive_attention(Numbers& out) {
  for (const Measure& each : {normal_by_width, normal_by_length, two_sided_by_width,
                              second_by_width, one_sided_by_length})
    out.series(each, "size", attention_sizes);
}

void show_attention(Display& out) {
  const CurveLook points{.style = LineStyle::line_points, .band = BandKind::interval};
  out.panel("J of attention at operator norms 1", log_axis("d or T, the other at 64"),
            log_axis("J"))
      .curve(normal_by_width, "normal tokens, over d", points)
      .curve(normal_by_length, "normal tokens, over T", points)
      .curve(two_sided_by_width, "example, over d", points)
      .curve(one_sided_by_length, "example, over T", points);
}

}  // namespace ranklab::curvature
