// The layered model against finite differences of its loss, gradient and pre-activations, the
// constants against other routes, and verdicts on handmade records.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "experiments/result_parts.hpp"
#include "nn/gpt.hpp"

namespace curvature_test {

using namespace ranklab;
using namespace ranklab::curvature;

namespace {

const Streams streams(3, 0);

arma::mat drawn(const std::string& name, arma::uword rows, arma::uword columns, double scale = 1) {
  arma::mat out(rows, columns);
  streams.stream(name).fill_normal({out.memptr(), out.n_elem});
  return scale * out;
}

struct Case {
  Network network;
  arma::mat A_0 = drawn("A_0", 3, 6), Y;
  Blocks D;

  explicit Case(const std::string& activation, Loss loss)
      : network{{&find_activation(activation), {}}, second_derivative(activation), loss} {
    const arma::uword sizes[] = {3, 5, 4, 3};
    for (int l = 0; l < 3; ++l) {
      network.W.push_back(drawn("W" + std::to_string(l), sizes[l + 1], sizes[l], 0.7));
      D.push_back(drawn("D" + std::to_string(l), sizes[l + 1], sizes[l]));
    }
    Y.zeros(3, 6);
    for (arma::uword j = 0; j < 6; ++j) Y(j % 3, j) = 1;
  }
  Pass at(double t) const {
    Network moved = network;
    for (std::size_t l = 0; l < D.size(); ++l) moved.W[l] += t * D[l];
    return Pass(moved, A_0, Y);
  }
};

template <class Visit>
void for_each_case(const Visit& visit) {
  for (const std::string& activation : smooth_activations()) {
    for (const Loss loss : {Loss::squares, Loss::cross_entropy}) {
      CAPTURE(activation);
      CAPTURE(static_cast<int>(loss));
      visit(Case(activation, loss));
    }
  }
}

/// Richardson's extrapolation of central differences.
template <class F>
auto slope_at_0(const F& f) {
  const double h = 1e-3;
  const auto d = [&](double step) -> decltype(f(0.0)) { return (f(step) - f(-step)) / (2 * step); };
  return decltype(f(0.0))((4 * d(h) - d(2 * h)) / 3);
}

double all_of(const Blocks& blocks) {
  double sum = 0;
  for (const arma::mat& block : blocks) sum += arma::accu(arma::square(block));
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("second derivatives of the activations are slopes of the first") {
  for (const std::string& name : smooth_activations()) {
    double (*const second)(double) = second_derivative(name);
    for (double t = -4; t <= 4; t += 0.37) {
      CAPTURE(name);
      CAPTURE(t);
      CHECK(std::fabs(second(t) - slope_at_0([&](double h) {
                        return find_activation(name).derivative(t + h);
                      })) < 1e-9);
    }
  }
}

TEST_CASE("slope and curvature along a direction are derivatives of the loss and the gradient") {
  for_each_case([](const Case& of) {
    const Along found = along(of.network, of.at(0), of.D);
    const double slope = slope_at_0([&](double t) { return of.at(t).loss; });
    CHECK(std::fabs(found.slope - slope) < 1e-9 * (1 + std::fabs(slope)));
    const double curvature = slope_at_0([&](double t) {
      const Pass pass = of.at(t);
      double sum = 0;
      for (std::size_t l = 0; l < of.D.size(); ++l) sum += arma::dot(pass.G[l], of.D[l]);
      return sum;
    });
    CHECK(std::fabs(found.curvature - curvature) < 1e-8 * (1 + std::fabs(curvature)));
  });
}

TEST_CASE("U and U~ are derivatives of the pre-activations, and B is the change of one layer") {
  for_each_case([](const Case& of) {
    const Along found = along(of.network, of.at(0), of.D);
    Blocks U, U_tilde;
    double B = 0, op = 0;
    for (std::size_t l = 0; l < of.D.size(); ++l) {
      const auto Z_at = [&](double t) -> arma::mat {
        const Pass pass = of.at(t);
        return l < pass.Z.size() ? pass.Z[l] : pass.output;
      };
      U.push_back(slope_at_0(Z_at));
      U_tilde.push_back(slope_at_0([&](double t) -> arma::mat {
        return slope_at_0([&](double s) -> arma::mat { return Z_at(t + s); });
      }));
      B += arma::accu(arma::square(of.D[l] * of.at(0).input(l)));
      op += std::pow(arma::svd(of.D[l]).max(), 2);
    }
    CHECK(found.U == doctest::Approx(all_of(U)).epsilon(1e-9));
    CHECK(found.U_tilde == doctest::Approx(all_of(U_tilde)).epsilon(1e-6));
    CHECK(found.B == doctest::Approx(B).epsilon(1e-12));
    CHECK(found.op == doctest::Approx(op).epsilon(1e-12));
  });
}

TEST_CASE("the Gauss-Newton part is the curvature of a network that is linear in the weights") {
  // One layer has no activation, so that U~ = 0.
  for (const Loss loss : {Loss::squares, Loss::cross_entropy}) {
    Case of("tanh", loss);
    of.network.W.resize(1);
    of.D.resize(1);
    of.Y = arma::repmat(arma::vec{1, 0, 0, 0, 0}, 1, 6);
    const Along found = along(of.network, of.at(0), of.D);
    CHECK(found.gauss_newton == doctest::Approx(found.curvature).epsilon(1e-12));
    if (loss == Loss::squares) {
      CHECK(found.gauss_newton ==
            doctest::Approx(arma::accu(arma::square(of.D[0] * of.A_0)) / 6).epsilon(1e-12));
    }
  }
}

TEST_CASE("constants agree with their definitions and with a worked example") {
  for_each_case([](const Case& of) {
    const Pass pass = of.at(0);
    const Constants found = constants_of(of.network, pass);
    // No direction in the outputs has a larger curvature of f, and the best of many comes close.
    double largest = 0;
    for (int i = 0; i < 6000; ++i) {
      arma::mat U(3, 6, arma::fill::zeros);
      U.col(static_cast<arma::uword>(i % 6)) = drawn("U" + std::to_string(i), 3, 1);
      U /= arma::norm(U, "fro");
      const auto f_at = [&](double t) {
        const arma::mat X = pass.output + t * U;
        if (of.network.loss == Loss::squares) return arma::accu(arma::square(X - of.Y)) / 12;
        double sum = 0;
        for (arma::uword j = 0; j < 6; ++j)
          sum += std::log(arma::accu(arma::exp(X.col(j)))) - arma::dot(of.Y.col(j), X.col(j));
        return sum / 6;
      };
      const double h = 1e-3, second = (f_at(h) - 2 * f_at(0) + f_at(-h)) / (h * h);
      largest = std::max(largest, second);
    }
    CHECK(largest <= found.H_f * (1 + 1e-6));
    CHECK(largest >= found.H_f * 0.97);
  });
  // tanh at 0: sigma' = 1 and sigma'' = 0. L = 3, all operator norms 2, squares with n = 6.
  Case of("tanh", Loss::squares);
  of.network.W = {2 * arma::eye(5, 3), 2 * arma::eye(4, 5), 2 * arma::eye(3, 4)};
  of.A_0.zeros();
  const Constants found = constants_of(of.network, of.at(0));
  CHECK(found.J_phi == 1);
  CHECK(found.H_phi == 0);
  CHECK(found.W_star == doctest::Approx(2).epsilon(1e-12));
  CHECK(found.Gamma == doctest::Approx(std::sqrt(2.0) * 27).epsilon(1e-12));  // sqrt(2) 9^(3/2)
  CHECK(found.Theta == doctest::Approx(9).epsilon(1e-12));
  CHECK(found.J_f == doctest::Approx(std::sqrt(6.0) / 6).epsilon(1e-12));
  // Gamma^2 = 1458: 1458 / 6 + (1 / 6) 9 * 1458 * 3
  CHECK(found.C_F == doctest::Approx(243 + 6561).epsilon(1e-12));
  CHECK(found.C_op == doctest::Approx(9).epsilon(1e-12));
}

TEST_CASE("curvature of a transformer is the second difference of its loss") {
  SequenceShape shape = gpt_shape(find_activation("gelu"), Norm::rms, false, true);
  shape.vocabulary = 7, shape.layers = 2, shape.dim = 6, shape.heads = 1, shape.length = 5,
  shape.hidden = 8;
  SequenceModel<double> model(shape, gpt_initial_weights("gauss", shape, streams));
  SequenceBatch<double> batch;
  Stream tokens = streams.stream("tokens");
  for (int i = 0; i < 15; ++i) {
    batch.ids.push_back(static_cast<std::uint32_t>(tokens.uniform() * 7));
    batch.targets.push_back(static_cast<std::uint32_t>(tokens.uniform() * 7));
  }
  const auto measured = measured_transformer(model, batch);
  std::vector<Parameter<double>*> inside;
  for (const auto& weight : gpt_weights(model)) {
    if (weight.role == WeightRole::in_layer) inside.push_back(weight.parameter);
  }
  REQUIRE(measured->G().size() == inside.size());
  for (const std::size_t only_one : {std::size_t(99), std::size_t(2), std::size_t(11)}) {
    Blocks D, start;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      D.push_back(drawn("D" + std::to_string(i), inside[i]->W.n_rows, inside[i]->W.n_cols, 0.2));
      if (only_one < inside.size() && i != only_one) D.back().zeros();
      start.push_back(inside[i]->W);
    }
    const Along found = measured->along(D);
    const auto loss_at = [&](double t) {
      for (std::size_t i = 0; i < inside.size(); ++i) inside[i]->W = start[i] + t * D[i];
      model.forward(batch);
      const double loss = model.loss(batch, false);
      for (std::size_t i = 0; i < inside.size(); ++i) inside[i]->W = start[i];
      return loss;
    };
    const double slope = slope_at_0(loss_at), h = 2e-3,
                 second = (-loss_at(2 * h) + 16 * loss_at(h) - 30 * loss_at(0) + 16 * loss_at(-h) -
                           loss_at(-2 * h)) /
                          (12 * h * h);
    CHECK(found.slope == doctest::Approx(slope).epsilon(1e-7));
    CHECK(found.curvature == doctest::Approx(second).epsilon(1e-4));
    double B = 0;  // what a step changes in the outputs of the matrices, their inputs held
    for (std::size_t i = 0; i < inside.size(); ++i)
      B += std::pow(arma::norm(D[i] * measured->A()[i], "fro"), 2);
    CHECK(found.B == doctest::Approx(B).epsilon(1e-12));
  }
  // A step in Wo changes the stream after attention by D H, and one in W2 the block's output by
  // D S.
  std::size_t matrix = 0;
  for (const auto& weight : gpt_weights(model)) {
    if (weight.role != WeightRole::in_layer) continue;
    const std::size_t i = matrix++;
    if (weight.block != "Wo" && weight.block != "W2") continue;
    const auto stream = [&]() -> arma::mat {
      model.forward(batch);
      return weight.block == "Wo" ? model.block(weight.layer).middle()
                                  : model.stream(weight.layer + 1);
    };
    const arma::mat before = stream(), start = weight.parameter->W,
                    D = drawn("step " + std::to_string(i), start.n_rows, start.n_cols, 0.1);
    weight.parameter->W = start + D;
    const arma::mat change = stream() - before;
    weight.parameter->W = start;
    CHECK(arma::norm(change - D * measured->A()[i], "fro") <= 1e-12 * arma::norm(change, "fro"));
  }
}

namespace {

const FlagValues tiny = {
    {"d", "4"},     {"width", "6"},  {"classes", "3"},           {"n", "12"},
    {"steps", "8"}, {"layers", "3"}, {"measure-steps", "8,0,2"}, {"directions", "2"}};

Result run(const FlagValues& more = {}, std::uint64_t trials = 1, std::uint64_t threads = 1) {
  FlagValues all = tiny;
  all.insert(all.end(), more.begin(), more.end());
  return run_configured(make_curvature_study(), all, trials, threads);
}

}  // namespace

TEST_CASE("the advantage is nr/st times what (1.8) takes as 1, and the bounds hold") {
  for (const char* optimizer : {"adam", "muon", "sgd"}) {
    const Result result = run({{"optimizer", optimizer}});
    for (int l = 1; l <= 3; ++l) {
      const auto of = [&](const char* what) -> const Series& {
        return find_series(result, "layer" + std::to_string(l) + "." + what);
      };
      CHECK(of("ratio").x == std::vector<double>{0, 2, 8});
      for (std::size_t t = 0; t < 3; ++t) {
        const double product = of("ratio").mean[t] * of("slack").mean[t] * of("constant").mean[t];
        if (std::isfinite(product))
          CHECK(of("advantage").mean[t] == doctest::Approx(product).epsilon(1e-10));
      }
    }
    for (const char* id : {"lemma-4.1", "lemma-4.2", "prop-4.3", "eq-4.14", "eq-4.15"})
      CHECK(find_claim(result, std::string("spectral/") + id).verdict == Verdict::holds);
    CHECK(find_series(result, "loss").mean.back() < find_series(result, "loss").mean.front());
  }
}

TEST_CASE("worked examples come near the bounds of Sections 4.2 and 4.4") {
  TrialRecord record;
  count_worked_examples(record);
  const auto largest = [&](const Inequality& statement, double cases) {
    const Tally tally = record.tally(statement.id);
    CHECK(tally.cases == cases);
    CHECK(tally.violations == 0);
    return tally.largest;
  };
  // ||[1 0; w 1]|| = (w + sqrt(w^2 + 4))/2, and Gamma = sqrt(2) (1 + 2 w^2) for w = 0.13.
  const double w = 0.13;
  CHECK(largest(first_order, 3) ==
        doctest::Approx((w + std::sqrt(w * w + 4)) / 2 / (std::sqrt(2.0) * (1 + 2 * w * w)))
            .epsilon(1e-12));
  CHECK(record.tally(first_order.id).smallest == doctest::Approx(std::sqrt(0.5)).epsilon(1e-12));
  // U~ = 40, and 2 sqrt(2) sqrt(2 (400 + 1e-6)) = 80.
  CHECK(largest(second_order, 3) == doctest::Approx(0.5).epsilon(1e-8));
  CHECK(record.tally(second_order.id).smallest == doctest::Approx(0.25).epsilon(1e-12));
  // 400 of (2 + 400) + (400 + 1e-6).
  CHECK(largest(hessian_bound, 3) == doctest::Approx(400.0 / 802).epsilon(1e-8));
  for (const Inequality* statement : {&euclidean_decrease, &spectral_decrease}) {
    CHECK(largest(*statement, 2) == doctest::Approx(1 / (2 - 1 / 2.02)).epsilon(1e-12));
    CHECK(record.tally(statement->id).smallest ==
          doctest::Approx(1 / (2 - 1 / 2.02)).epsilon(1e-12));
  }
}

TEST_CASE("a training whose bounds overflow has diverged, although its weights are finite") {
  const Result result = run({{"activation", "identity"},
                             {"optimizer", "sgd"},
                             {"lr", "30"},
                             {"layers", "3"},
                             {"steps", "8"},
                             {"measure-steps", "0,1,2,3,4,5,6,7,8"}},
                            2);
  CHECK(result.diverged);
  CHECK(find_scalar(result, "diverged") == std::vector<double>{1, 1});
  CHECK(std::isfinite(find_series(result, "loss").mean.front()));
  CHECK(std::isnan(find_series(result, "loss").mean.back()));
}

TEST_CASE("threads do not change a number") {
  const Result one = run({}, 3), four = run({}, 3, 4);
  for (const char* name : {"gradient.bound_over_curvature", "layer2.advantage", "C_F.over_n"})
    CHECK(find_series(one, name).mean == find_series(four, name).mean);
}

namespace {

/// Three trials of two layers at two steps; `change` alters each record.
std::map<std::string, Verdict> judged(const std::function<void(TrialRecord&)>& change) {
  curvature::Config config;
  config.layers = 2;
  Records records;
  for (const double seed : {0.0, 0.01, -0.01}) {
    TrialRecord record;
    for (const Inequality* statement :
         {&first_order, &second_order, &hessian_bound, &euclidean_decrease, &spectral_decrease})
      record.count(statement->id, false, 0.5);
    // Like 1/sqrt(n).
    record.set(diverged, 0.0);
    record.set(C_F_over_n, std::vector<double>{2 + seed, std::sqrt(2.0), 1, std::sqrt(0.5)});
    for (const JointDirection& direction : joint_directions)
      record.set(direction.of(single_share), std::vector<double>{0.7 + seed, 0.8});
    for (std::size_t l = 1; l <= 2; ++l) {
      const double of_layer = static_cast<double>(l);
      record.set(of_matrix(config.matrices()[l - 1], rank_ratio),
                 std::vector<double>{0.5 + seed, 2 * of_layer});
      record.set(of_matrix(config.matrices()[l - 1], advantage),
                 std::vector<double>{0.6, 3 * of_layer + seed});
      record.set(of_matrix(config.matrices()[l - 1], constant),
                 std::vector<double>{1.2, 0.9 + seed});
      record.set(of_matrix(config.matrices()[l - 1], slack), std::vector<double>{1.1 + seed, 0.8});
    }
    change(record);
    records.push_back(record);
  }
  Claims claims;
  config.judge(records, claims);
  std::map<std::string, Verdict> out;
  for (const Claim& claim : claims.take()) out[claim.id] = claim.verdict;
  return out;
}

}  // namespace

TEST_CASE("each statement about the curvature fails if its own number is wrong") {
  const auto right = judged([](TrialRecord&) {});
  for (const auto& [id, verdict] : right) {
    const auto& shown = id;  // clang 14 cannot capture a structured binding
    CAPTURE(shown);
    CHECK(verdict == (id.ends_with("/as-printed") ? Verdict::fails : Verdict::holds));
  }
  const auto with = [](const std::string& name, const std::vector<double>& values) {
    return [=](TrialRecord& record) { record.set(name, values); };
  };
  const auto violated = [](const Inequality& statement) {
    return [&statement](TrialRecord& record) { record.count(statement.id, true, 2); };
  };
  const std::vector<std::pair<std::string, std::function<void(TrialRecord&)>>> wrong = {
      {"lemma-4.1", violated(first_order)},
      {"lemma-4.2", violated(second_order)},
      {"prop-4.3", violated(hessian_bound)},
      {"eq-4.14", violated(euclidean_decrease)},
      {"eq-4.15", violated(spectral_decrease)},
      {"section-4.2/C_F/n", with(C_F_over_n, {1, 2, 4, 8})},
      {"section-4.2/C_F/feature-term/corrected", with(C_F_over_n, {1, 1, 1, 1})},
      {"section-4.4/constant", with("layer1.constant", {30, 0.01})},
      {"section-4.4/choice",
       [](TrialRecord& record) {
         for (int l = 1; l <= 2; ++l)
           record.set("layer" + std::to_string(l) + ".advantage", std::vector<double>{1.5, 0.9});
       }},
      {"section-4.4/own-share/gradient", with("gradient.own_share", {0.7, 2.1})},
      {"section-4.4/own-share/polar", with("polar.own_share", {0.4, 0.9})},
  };
  CHECK(right.size() == wrong.size() + 1);
  const std::string printed = "spectral/section-4.2/C_F/feature-term/as-printed";
  CHECK(judged(with(C_F_over_n, {8, 4, 2, 1})).at(printed) == Verdict::holds);
  for (const auto& [id, change] : wrong) {
    const auto& shown = id;
    CAPTURE(shown);
    CHECK(judged(change).at("spectral/" + id) == Verdict::fails);
  }
}

TEST_CASE("a training that diverged violates nothing afterwards, and two of three decide nothing") {
  // The second measured step comes after the divergence.
  const auto diverging = [](int trials) {
    return judged([left = trials](TrialRecord& record) mutable {
      if (left-- <= 0) return;
      record.set(diverged, 1.0);
      for (const JointDirection& direction : joint_directions)
        record.set(direction.of(single_share), std::vector<double>{0.7, std::nan("")});
    });
  };
  for (const char* id : {"own-share/gradient", "own-share/polar", "constant", "choice"}) {
    const std::string claim = std::string("spectral/section-4.4/") + id;
    CAPTURE(claim);
    CHECK(diverging(0).at(claim) == Verdict::holds);
    CHECK(diverging(2).at(claim) == Verdict::not_applicable);
  }
  CHECK(diverging(1).at("spectral/section-4.4/own-share/polar") == Verdict::holds);
  CHECK(diverging(3).at("spectral/prop-4.3") == Verdict::holds);
}

}  // namespace curvature_test
