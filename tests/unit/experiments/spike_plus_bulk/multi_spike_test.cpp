// The multi-spike study agrees with plain gradient descent, which iterates W_t and decomposes every
// gradient.
#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>

#include "ensembles/random_features.hpp"
#include "ensembles/spiked_gram.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/result_parts.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "svd_by_rotations.hpp"

namespace multi_spike_test {

using namespace ranklab;

namespace {

constexpr std::uint64_t trials = 2;

Result run_study(LabelModel model, const FlagValues& values, std::uint64_t threads = 1,
                 std::uint64_t repetitions = trials) {
  return run_configured(make_multi_spike_study(model), values, repetitions, threads);
}

// nr(grad L(W_t)) for t = 0 ... last, from W_0 = 0.
std::vector<double> iterate(LabelModel model, std::uint64_t index, const SpikedShape& shape,
                            double c, std::uint64_t last) {
  const Trial trial(1, index, 0);
  const SpikedGram gram = draw_spiked_gram(trial, shape);
  const bool teacher = model == LabelModel::teacher;
  const std::string name = (teacher ? "W_bar" : "W_sharp") + shape.suffix();
  const arma::mat labels =
      draw_gaussian<double>(trial, name.c_str(), shape.d, shape.d, 1 / std::sqrt(double(shape.d)));
  const arma::mat B = gram.B(),
                  target = labels * (teacher ? draw_spiked_cross_gram(trial, shape, gram).B() : B);
  const double eta = 1 / (c * svd_by_rotations(B).s(0));
  arma::mat W(shape.d, shape.d, arma::fill::zeros);
  std::vector<double> ranks;
  for (std::uint64_t t = 0; t <= last; ++t) {
    const arma::mat G = W * B - target;
    const arma::vec s = svd_by_rotations(G).s;
    ranks.push_back(std::pow(arma::accu(s), 2) / arma::dot(s, s));
    W -= eta * G;
  }
  return ranks;
}

void check_against_iteration(LabelModel model, double c) {
  CAPTURE(c);
  const Result result = run_study(model, {{"d", "16"},
                                          {"spikes", "2"},
                                          {"spike-low", "0.7"},
                                          {"c", c == 1 ? "1" : "2"},
                                          {"steps", "700"}});
  SpikedShape shape;
  shape.d = 16;
  shape.spikes = 2;
  shape.low = 0.7;
  const double level = model == LabelModel::realizable ? 4.0 : 3.2;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const auto ranks = iterate(model, i, shape, c, 700);
    const auto start =
        std::find_if(ranks.begin(), ranks.end(), [&](double nr) { return nr >= level; });
    const auto end = std::find_if(start, ranks.end(), [&](double nr) { return nr < level; });
    REQUIRE(end != ranks.end());
    CHECK(find_scalar(result, "burn_in")[i] == static_cast<double>(start - ranks.begin()));
    CHECK(find_scalar(result, "window_end")[i] == static_cast<double>(end - ranks.begin()));
    CHECK(find_scalar(result, "window_length")[i] == static_cast<double>(end - start));
    // The longer window uses the realizable level, 16^(1 - 1/2) = 4, for both models.
    const auto longer = std::find_if(start, ranks.end(), [](double nr) { return nr >= 4.0; });
    const auto longer_end = std::find_if(longer, ranks.end(), [](double nr) { return nr < 4.0; });
    CHECK(find_scalar(result, "remark_window_end")[i] ==
          static_cast<double>(longer_end - ranks.begin()));
    const double peak = *std::max_element(ranks.begin(), ranks.end());
    CHECK(find_scalar(result, "peak")[i] == doctest::Approx(peak).epsilon(1.1e-3));
    CHECK(find_scalar(result, "nuclear_rank_0")[i] == doctest::Approx(ranks[0]).epsilon(1e-9));
    CHECK(find_scalar(result, "nuclear_rank_1")[i] == doctest::Approx(ranks[1]).epsilon(1e-9));
  }
  const Series& series = find_series(result, "d=16.nuclear_rank");
  CHECK(series.x.front() == 0.0);
  CHECK(series.x.back() == 700.0);
  const auto first = iterate(model, 0, shape, c, 60), second = iterate(model, 1, shape, c, 60);
  for (std::size_t j = 0; j < series.x.size() && series.x[j] <= 60; ++j) {
    const auto t = static_cast<std::size_t>(series.x[j]);
    CHECK(series.mean[j] == doctest::Approx((first[t] + second[t]) / 2).epsilon(1e-7));
  }
}

// A record in which every quantity obeys the theorem, with burn-in = 0.9 d^(u-l) log d and window
// end = 10 d^u.
TrialRecord conforming_record(const multi_spike::Config& config, double burn_in_power,
                              double end_power) {
  TrialRecord record;
  for (const multi_spike::SpikePair& pair : config.pairs()) {
    for (const std::uint64_t size : config.d) {
      const double d = static_cast<double>(size);
      const At at = multi_spike::at_size(pair.place, size);
      for (const char* name : {"bulk_smallest", "bulk_largest", "eigenvalue_gap", "W_norm",
                               "cross_bulk_norm", "cross_bulk_smallest", "lambda_cross_rank"}) {
        record.set(at / name, 1.0);
      }
      for (const char* name :
           {"signal_remainder", "signal_smallest", "cross_bulk_remainder", "left_distance",
            "right_distance", "left_vector_distance", "right_vector_distance", "leak"}) {
        record.set(at / name, 0.0);
      }
      record.set(at / "spike_largest", std::pow(d, pair.high));
      record.set(at / "spike_smallest", std::pow(d, pair.low));
      record.set(at / "lambda_spikes", std::pow(d, pair.low));
      record.set(at / "M_nuclear", d);
    }
  }
  for (const multi_spike::SpikeFamily& family : config.families()) {
    for (const multi_spike::Setting& setting : family.settings) {
      const double d = static_cast<double>(setting.d);
      const double burn_in = 0.9 * family.pair.burn_in_scale(d) * std::pow(d / 64, burn_in_power),
                   end = 10 * std::pow(d, end_power);
      const auto set = [&](const char* name, double value) {
        record.set(setting.place / name, value);
      };
      for (const char* name : {"burn_in", "burn_in_crossing", "remark_burn_in"}) set(name, burn_in);
      set("window_end", end);
      set("window_length", end);
      set("remark_window_end", 3 * end * std::log(d));
      for (const char* name : {"peak", "peak_iteration", "nuclear_rank_0", "nuclear_rank_1",
                               "evaluations", "nuclear_rank"}) {
        set(name, 1.0);
      }
      set("M_nuclear", d);
      set("M_frobenius", std::sqrt(d));
      set("W_frobenius", std::sqrt(d));
      set("window_nuclear", d / 2);
      set("window_frobenius", std::sqrt(d));
    }
  }
  return record;
}

Result judged(multi_spike::Config config, LabelModel model, double burn_in_power = 0,
              double end_power = 1) {
  config.model = model;
  return config.report(Records(3, conforming_record(config, burn_in_power, end_power)));
}

}  // namespace

TEST_CASE(
    "burn-in, window, peak and series equal those of a direct iteration, for both models and step "
    "sizes") {
  for (const LabelModel model : {LabelModel::realizable, LabelModel::teacher}) {
    for (const double c : {1.0, 2.0}) check_against_iteration(model, c);
  }
}

TEST_CASE("norms over the predicted window, M-bar and subspace distances equal their definitions") {
  multi_spike::Config config;
  config.d = {24};
  config.spikes = 2;
  config.spike_low = {0.7};
  config.steps = 60;
  SpikedShape shape;
  shape.d = 24;
  shape.spikes = 2;
  shape.low = 0.7;
  const Trial trial(1, 0, 0);
  const SpikedGram gram = draw_spiked_gram(trial, shape);
  const SpikedCrossGram cross = draw_spiked_cross_gram(trial, shape, gram);
  const arma::mat B = gram.B();
  const RotatedSvd of_B = svd_by_rotations(B), of_B_bar = svd_by_rotations(cross.B());
  const arma::mat& L = of_B.U;
  const auto norm = [](const arma::mat& M) { return svd_by_rotations(M).s(0); };
  // The window runs from c u d^(u-l) log d = 16.5 to c d^u = 48.
  const auto gradient = [&](const arma::mat& G_0, int t) {
    const arma::mat D = arma::eye(24, 24) - B / (2 * of_B.s(0));
    arma::mat G = G_0;
    for (int i = 0; i < t; ++i) G = G * D;
    return G;
  };
  const auto nuclear = [](const arma::mat& M) { return arma::accu(svd_by_rotations(M).s); };
  for (const bool teacher : {false, true}) {
    config.model = teacher ? LabelModel::teacher : LabelModel::realizable;
    const TrialRecord record = multi_spike::run_trial(config, trial);
    const arma::mat W = draw_gaussian<double>(trial, teacher ? "W_bar/d=24" : "W_sharp/d=24", 24,
                                              24, 1 / std::sqrt(24.0));
    const arma::mat G_0 = W * (teacher ? cross.B() : B);
    // For the teacher, columns 3 to 10 of 24: from p + 1 to r - p with r = 12.
    const arma::mat M =
        teacher ? arma::mat(W * of_B_bar.U.cols(2, 9)) : arma::mat(W * L.tail_cols(22));
    const auto check = [&](const char* name, double expected) {
      CAPTURE(name);
      CHECK(record.scalar(std::string("d=24.") + name) == doctest::Approx(expected).epsilon(1e-9));
    };
    check("window_nuclear", nuclear(gradient(G_0, 48)));
    check("window_frobenius", arma::norm(gradient(G_0, 17), "fro"));
    check("M_nuclear", nuclear(M));
    check("M_frobenius", arma::norm(M, "fro"));
    check("W_norm", norm(W));
    check("W_frobenius", arma::norm(W, "fro"));
    if (!teacher) continue;
    const arma::mat U = gram.U, L_1 = L.head_cols(2), R_1 = of_B_bar.V.head_cols(2);
    check("left_distance", norm(U * U.t() - L_1 * L_1.t()));
    check("right_distance", norm(U * U.t() - R_1 * R_1.t()));
    check("leak", norm(arma::diagmat(of_B_bar.s.head(2)) * R_1.t() * L.tail_cols(22)));
    check("cross_bulk_norm", norm(cross.Sigma));
  }
}

TEST_CASE(
    "the numbers at one size do not depend on the lists, and plain names refer to the last "
    "values") {
  const FlagValues more = {{"d", "8,12"},           {"spikes", "2"}, {"spike-low", "0.5,0.8"},
                           {"spike-high", "1,0.6"}, {"c", "2,1"},    {"steps", "50"}};
  const Result many = run_study(LabelModel::realizable, more),
               one = run_study(LabelModel::realizable, {{"d", "8"},
                                                        {"spikes", "2"},
                                                        {"spike-low", "0.5"},
                                                        {"spike-high", "0.6"},
                                                        {"c", "2"},
                                                        {"steps", "50"}});
  for (const char* name : {"burn_in", "peak", "nuclear_rank_1"}) {
    CHECK(find_scalar(many, std::string("l=0.5,u=0.6,c=2,d=8.") + name) == find_scalar(one, name));
    CHECK(find_scalar(one, std::string("d=8.") + name) == find_scalar(one, name));
    // (0.8, 0.6) is not a valid pair, so the last one is (0.8, 1).
    CHECK(find_scalar(many, name) == find_scalar(many, std::string("l=0.8,u=1,c=1,d=12.") + name));
  }
  const auto excluded = [](const Scalar& s) { return s.name.starts_with("l=0.8,u=0.6"); };
  CHECK(std::none_of(many.scalars.begin(), many.scalars.end(), excluded));
  // With one trial on two threads, the second thread works on parts of the same trial.
  const Result threaded = run_study(LabelModel::realizable, more, 2, 1);
  REQUIRE(threaded.scalars.size() == many.scalars.size());
  for (std::size_t i = 0; i < many.scalars.size(); ++i) {
    const double x = many.scalars[i].per_trial[0], y = threaded.scalars[i].per_trial[0];
    CHECK((x == y || (std::isnan(x) && std::isnan(y))));
  }
}

TEST_CASE(
    "if the level is not reached by the last iteration, burn-in and window are undefined and not "
    "judged") {
  const Result result =
      run_study(LabelModel::realizable, {{"d", "64"}, {"steps", "2"}, {"c", "4"}});
  for (const char* name : {"burn_in", "window_end", "window_length"})
    CHECK(std::isnan(find_scalar(result, name)[0]));
  CHECK(find_claim(result, "spectral/thm-3.6/window").verdict == Verdict::not_applicable);
}

TEST_CASE(
    "the figure shows the last size with its level and the predicted windows, in the colors of the "
    "curves; further figures show the other sizes and the ends of the window over d") {
  for (const LabelModel model : {LabelModel::realizable, LabelModel::teacher}) {
    const Result result =
        run_study(model, {{"d", "12,16"}, {"spikes", "2"}, {"c", "2,3"}, {"steps", "9"}}, 1, 1);
    REQUIRE(result.figure.panels.size() == 1);
    const Panel& panel = result.figure.panels[0];
    CHECK(panel.title == "spikes from d^0.75 to d (l = 0.75, u = 1)");
    CHECK(panel.y.label == "nuclear rank nr(G) at d = 16");
    REQUIRE(panel.lines.size() == 1);
    CHECK(panel.lines[0].y ==
          doctest::Approx(model == LabelModel::realizable ? 4 : 3.2).epsilon(1e-12));
    CHECK(panel.lines[0].label == (model == LabelModel::realizable ? "d/4" : "d/5"));
    REQUIRE(panel.curves.size() == 2);
    REQUIRE(panel.bands.size() == 2);
    CHECK(panel.curves[0].label == "c = 2: step 1/(2 ||B||)");
    CHECK(panel.curves[0].series.ends_with("c=2,d=16.nuclear_rank"));
    // The window runs from c u d^(u-l) log d = 2 c log 16 = 5.55 c to c d^u = 16 c. The axis shows
    // the iteration + 1.
    const std::vector<std::pair<double, double>> windows = {{13, 33}, {18, 49}};
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(panel.curves[i].x_offset == 1);
      CHECK(std::pair(panel.bands[i].x_low, panel.bands[i].x_high) == windows[i]);
      CHECK(panel.bands[i].label == "predicted window, c = " + std::to_string(i + 2));
      CHECK(panel.bands[i].color == panel.curves[i].color);
    }

    REQUIRE(result.more_figures.size() == 2);
    const auto& others = result.more_figures[0].panels;
    REQUIRE(others.size() == 1);
    CHECK(others[0].title == "d = 12, l = 0.75, u = 1");
    CHECK(others[0].curves[1].series.ends_with("c=3,d=12.nuclear_rank"));
    const auto& over_d = result.more_figures[1].panels;
    REQUIRE(over_d.size() == 2);
    CHECK(over_d[0].title == "Burn-in, l = 0.75, u = 1");
    CHECK(over_d[1].title == "End of the window, l = 0.75, u = 1");
    for (const Panel& end : over_d) {
      REQUIRE(end.curves.size() == 4);  // measured and predicted for each c
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(end.curves[i].label.starts_with(i % 2 == 0 ? "measured" : "predicted"));
        CHECK(end.curves[i].label.ends_with(i < 2 ? "c = 2" : "c = 3"));
        CHECK(end.curves[i].color == static_cast<int>(i / 2));
      }
    }
  }
}

TEST_CASE("small multiples: one column per pair, one row per size; the first sizes are left out") {
  const Result result = run_study(
      LabelModel::realizable,
      {{"d", "4,5,6,7,8"}, {"spikes", "1"}, {"spike-high", "0.5,0.6,0.7"}, {"steps", "2"}}, 1, 1);
  REQUIRE(result.figure.panels.size() == 3);
  CHECK(result.figure.columns == 3);
  CHECK(result.figure.panels[0].title == "one spike d^0.5 (l = u = 0.5)");
  CHECK(result.figure.panels[2].y.label == "nuclear rank nr(G) at d = 8");
  REQUIRE(result.more_figures.size() == 2);
  const Figure &others = result.more_figures[0], &over_d = result.more_figures[1];
  REQUIRE(others.panels.size() == 9);
  CHECK(others.columns == 3);
  CHECK(others.panels[0].title == "d = 5, l = u = 0.5");
  CHECK(others.panels[8].title == "d = 7, l = u = 0.7");
  REQUIRE(over_d.panels.size() == 6);
  CHECK(over_d.columns == 3);
  for (const Panel& panel : others.panels) CHECK(panel.group == others.panels[0].group);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(over_d.panels[i].group == over_d.panels[i / 3 * 3].group);
  CHECK(over_d.panels[0].group != over_d.panels[3].group);
  const auto has_note = [&](const std::string& start) {
    return std::any_of(result.notes.begin(), result.notes.end(),
                       [&](const std::string& note) { return note.starts_with(start); });
  };
  CHECK(has_note("The figures of single sizes show the last 4 values of d."));
  CHECK_FALSE(has_note("The figures show the first"));
}

TEST_CASE("the figures show at most five pairs, and a note says so") {
  const Result result = run_study(
      LabelModel::realizable,
      {{"d", "4"}, {"spikes", "1"}, {"spike-high", "0.5,0.6,0.7,0.8,0.9,1"}, {"steps", "2"}}, 1, 1);
  CHECK(result.figure.panels.size() == 5);
  CHECK(result.figure.columns == 5);
  CHECK(result.more_figures.empty());  // a single size
  CHECK(std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
    return note.starts_with("The figures show the first 5 of 6 pairs (l, u).");
  }));
}

TEST_CASE(
    "Assumption F as printed needs a full-rank signal; the corrected form holds for the drawn "
    "matrices") {
  const Result some = run_study(LabelModel::realizable,
                                {{"d", "8"}, {"spikes", "2"}, {"steps", "10"}}),
               all = run_study(LabelModel::realizable,
                               {{"d", "8"}, {"spikes", "8"}, {"steps", "10"}});
  CHECK(find_claim(some, "spectral/eq-3.10/as-printed").verdict == Verdict::fails);
  CHECK(find_claim(some, "spectral/eq-3.10/corrected").verdict == Verdict::holds);
  CHECK(find_claim(some, "spectral/eq-3.10/as-printed").part == Part::definition);
  CHECK(find_claim(all, "spectral/eq-3.10/as-printed").verdict == Verdict::holds);
  CHECK(find_claim(all, "spectral/thm-3.6/window").verdict == Verdict::not_applicable);
}

TEST_CASE("verdicts follow from the numbers: they fail if the growth orders are broken") {
  multi_spike::Config config;
  config.c = {1.0};
  for (const LabelModel model : {LabelModel::realizable, LabelModel::teacher}) {
    const std::string id =
        model == LabelModel::realizable ? "spectral/thm-3.6/" : "spectral/cor-3.12/";
    const Result good = judged(config, model);
    for (const char* name : {"window", "window-order", "burn-in-at-most", "burn-in-of-order"}) {
      CAPTURE(name);
      CHECK(find_claim(good, id + name).verdict == Verdict::holds);
    }
    // 0.9 is the coefficient of log d in burn_in / d^(u-l).
    CHECK(find_claim(good, id + "burn-in-at-most").measured == doctest::Approx(0.9).epsilon(1e-9));
    const std::string remark =
        model == LabelModel::realizable ? "spectral/remark-1/" : "spectral/remark-2/";
    for (const char* name : {"window", "order", "longer"})
      CHECK(find_claim(good, remark + name).verdict == Verdict::holds);

    // A burn-in that grows like d^(u-l) d^(1/2) log d exceeds any constant multiple of the order,
    // and ends after the start of the window.
    const Result slow = judged(config, model, 0.5);
    CHECK(find_claim(slow, id + "burn-in-at-most").verdict == Verdict::fails);
    CHECK(find_claim(slow, id + "window").verdict == Verdict::fails);
    // A burn-in that shrinks is at most of the claimed order, but not of that order; the theorem
    // bounds it from above only.
    const Result fast = judged(config, model, -0.5);
    CHECK(find_claim(fast, id + "burn-in-at-most").verdict == Verdict::holds);
    CHECK(find_claim(fast, id + "burn-in-at-most").kind == Kind::asymptotic);
    CHECK(find_claim(fast, id + "burn-in-of-order").verdict == Verdict::fails);
    CHECK(find_claim(fast, id + "burn-in-of-order").kind == Kind::beyond);
    // A window that ends at 10 d^0.5: its order is too small by d^0.5, and at the largest size it
    // ends before c d^u.
    const Result brief = judged(config, model, 0, 0.5);
    CHECK(find_claim(brief, id + "window-order").verdict == Verdict::fails);
    CHECK(find_claim(brief, id + "window-order").measured == doctest::Approx(-0.5).epsilon(1e-9));
    CHECK(find_claim(brief, id + "window").verdict == Verdict::fails);
    CHECK(find_claim(brief, remark + "order").verdict == Verdict::fails);
  }
}

TEST_CASE("the theorems lack a condition: a largest spike below d^u shortens the window") {
  // d = 2: the eigenvalues are 1 + spike and 2. With c = 1 the first step removes the top one.
  CHECK(multi_spike::nuclear_rank_of_example(2, 4, 1, 3) == doctest::Approx(1).epsilon(1e-12));
  // At t = 0 the gradient is B itself: (5 + 2)^2/(25 + 4).
  CHECK(multi_spike::nuclear_rank_of_example(2, 4, 2, 0) ==
        doctest::Approx(49.0 / 29.0).epsilon(1e-12));
  // c = 2, t = 1: 5 * 0.5 and 2 * 0.8.
  CHECK(multi_spike::nuclear_rank_of_example(2, 4, 2, 1) ==
        doctest::Approx(4.1 * 4.1 / (2.5 * 2.5 + 1.6 * 1.6)).epsilon(1e-12));
  const struct {
    LabelModel model;
    const char* place;
    double printed, corrected;  // exponents of d, from a loop in another language
  } cases[] = {{LabelModel::realizable, "thm-3.6", -0.514, 0.007},
               {LabelModel::realizable, "remark-1", -0.453, 0.061},
               {LabelModel::teacher, "thm-3.11", -0.514, 0.007},
               {LabelModel::teacher, "cor-3.12", -0.427, 0.004},
               {LabelModel::teacher, "remark-2", -0.378, 0.151}};
  for (const auto& each : cases) {
    const Result result = judged({}, each.model);
    const std::string id = say("spectral/{}/spike-order/", each.place);
    const Claim printed = find_claim(result, id + "as-printed"),
                corrected = find_claim(result, id + "corrected");
    CHECK(printed.verdict == Verdict::fails);
    CHECK(printed.slip == say("spectral/{}/spike-order", each.place));
    CHECK(printed.measured == doctest::Approx(each.printed).epsilon(2e-3));
    CHECK(corrected.verdict == Verdict::holds);
    CHECK(std::abs(corrected.measured - each.corrected) < 2e-3);
    // The claims about trials, whose largest spike is d^u, are about the corrected theorem.
    for (const Claim& claim : result.claims) {
      if (claim.statement_id == say("spectral/{}", each.place) && claim.part == Part::statement)
        CHECK((claim.id == printed.id || claim.misprint_of == printed.id));
    }
  }
}

TEST_CASE("unmet hypotheses are named in the detail of the claim") {
  const auto detail = [](const multi_spike::Config& config, LabelModel model,
                         const std::string& id) {
    const Claim claim = find_claim(judged(config, model), id);
    CHECK(claim.verdict == Verdict::not_applicable);
    return claim.detail;
  };
  multi_spike::Config few;
  few.d = {64, 128};
  CHECK(detail(few, LabelModel::realizable, "spectral/thm-3.6/window-order").find("three sizes") !=
        std::string::npos);
  multi_spike::Config steep;
  steep.c = {0.8};
  CHECK(detail(steep, LabelModel::realizable, "spectral/thm-3.6/window").find("c >= 1") !=
        std::string::npos);
  multi_spike::Config apart;
  apart.spike_low = {0.4};
  CHECK(detail(apart, LabelModel::teacher, "spectral/cor-3.12/window").find("1/2") !=
        std::string::npos);
  multi_spike::Config crowded;
  crowded.spikes = 20;
  CHECK(detail(crowded, LabelModel::teacher, "spectral/thm-3.11/nuclear").find("column") !=
        std::string::npos);
  multi_spike::Config many;
  many.spikes = 15;  // 15 < 256^(1/2) = 16, but 15 > 64^(1/2) = 8
  CHECK(find_claim(judged(many, LabelModel::teacher), "spectral/cor-3.12/window").verdict ==
        Verdict::holds);
  many.spikes = 7;
  many.spike_low = {0.6};  // 7 > 256^0.2 = 3.03
  CHECK(detail(many, LabelModel::teacher, "spectral/cor-3.12/window").find("p = o(") !=
        std::string::npos);
}

TEST_CASE(
    "a single spike of order d: (3.21) and (3.22) hold, and the printed counts of the proofs "
    "fail") {
  multi_spike::Config config;
  config.spikes = 1;
  const auto pairs = config.pairs();
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].low == 1.0);  // not the default 0.75, because a single spike is the largest
  const Result result = judged(config, LabelModel::teacher);
  // In the invented record, lambda_(d/2) is 1 and ||M-bar||_* is d.
  CHECK(find_claim(result, "spectral/thm-3.11/separation/as-printed").verdict == Verdict::fails);
  CHECK(find_claim(result, "spectral/thm-3.11/separation/corrected").verdict == Verdict::holds);
  CHECK(find_claim(result, "spectral/cor-3.12/M-nuclear/as-printed").verdict == Verdict::fails);
  CHECK(find_claim(result, "spectral/cor-3.12/M-nuclear/corrected").verdict == Verdict::holds);
  const Claim& separation = find_claim(result, "spectral/thm-3.11/separation/as-printed");
  CHECK(separation.kind == Kind::asymptotic);
  CHECK(separation.part == Part::proof);
  // The mean of log d over 64, 128, 256 is log 128.
  CHECK(separation.threshold.starts_with(short_number(1 / std::log(128.0)) + " "));

  const FlagValues values = {
      {"d", "16,32,64"}, {"spikes", "1"}, {"spike-high", "1"}, {"steps", "10"}};
  const Result drawn = run_study(LabelModel::teacher, values, 1, 3);
  for (const char* id : {"spectral/eq-3.24", "spectral/eq-3.25/corrected", "spectral/eq-3.23"}) {
    CAPTURE(id);
    CHECK(find_claim(drawn, id).verdict == Verdict::holds);
  }
  // The drawn matrices obey (3.25) as printed. The worked example does not: B-bar = [9.8 s; s 0.2],
  // s^2 = 0.96, has the top eigenvector (cos a, sin a) with tan 2a = 2 s/9.6, and sin^2 a = (1 -
  // cos 2a)/2.
  const Claim& wedin = find_claim(drawn, "spectral/eq-3.25/as-printed");
  const double distance = std::sqrt((1 - 9.6 / std::sqrt(9.6 * 9.6 + 4 * 0.96)) / 2);
  CHECK(distance == doctest::Approx(0.10051).epsilon(1e-4));
  CHECK(wedin.verdict == Verdict::fails);
  CHECK(wedin.measured == 1);
  CHECK(wedin.slip == "spectral/thm-3.11/wedin");
  CHECK(wedin.detail.find(short_number(distance) + " and the bound 0.1") != std::string::npos);
  CHECK(find_claim(drawn, "spectral/eq-3.23").kind == Kind::beyond);
  // A bulk whose eigenvalues have standard deviation 1/sqrt(12) turns the top eigenvector of B by
  // about 0.29/d.
  for (const double exponent : {find_claim(drawn, "spectral/eq-3.21").measured,
                                find_claim(drawn, "spectral/eq-3.22").measured}) {
    CHECK(std::abs(exponent) < 0.5);
  }
  const double mean_distance = summarize(find_scalar(drawn, "d=64.left_distance")).mean;
  CHECK(mean_distance == doctest::Approx(1 / std::sqrt(12.0) / 64).epsilon(0.3));
}

TEST_CASE("combinations of flags that define no problem are usage errors that name the flag") {
  const auto refuses = [](const FlagValues& values, const std::string& flag) {
    CHECK(refusal(make_multi_spike_study(LabelModel::realizable), values).find(flag) !=
          std::string::npos);
  };
  refuses({{"spike-low", "0.9"}, {"spike-high", "0.5"}}, "--spike-low");
  refuses({{"d", "64,8"}, {"spikes", "9"}}, "--spikes");
  refuses({{"steps", "1"}}, "--steps");
  refuses({{"epsilon", "1"}}, "--epsilon");
}

}  // namespace multi_spike_test
