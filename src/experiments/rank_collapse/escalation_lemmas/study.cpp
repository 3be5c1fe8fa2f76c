#include <algorithm>
#include <cmath>

#include "experiments/rank_collapse/escalation_lemmas/escalation_lemmas.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace escalation_lemmas {
namespace {

// One panel: how the exponent of (28) at |xi_1 - E[xi_1]| = 1 depends on d.
void add_exponents(const Plan& plan, ResultBuilder& out) {
  const std::vector<double> dim(plan.dim.begin(), plan.dim.end());
  PanelBuilder panel = out.panel("Bound (28) on |xi_1 - E[xi_1]| >= 1: its exponent", log_axis("d"),
                                 log_axis("c d / kappa_1^2"));
  for (const auto& [which, name, label] :
       {std::tuple{Kappa::from_27, "exponent.from_27", "kappa_1 of (27)"},
        std::tuple{Kappa::without_d, "exponent.without_d", "kappa_1 without d"}}) {
    std::vector<double> exponents;
    for (std::size_t k = 0; k < dim.size(); ++k) {
      const double scale = kappa(plan, out.records().front(), k, 0, which);
      exponents.push_back(lemma_constant * dim[k] / (scale * scale));
    }
    out.series_of_points(name, "d", dim, exponents);
    panel.curve(name, label, {.style = LineStyle::line_points});
  }
}

// One panel for each attention: E[r] - 1 and its bound over alpha, at the largest t and d.
void add_rates(const Plan& plan, Attention attention, ResultBuilder& out) {
  const TrialRecord& record = out.records().front();
  std::vector<double> exact, guaranteed;
  std::vector<std::size_t> cells;
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    const Cell& cell = plan.cells[c];
    if (cell.attention != attention || cell.t != plan.t.back() || cell.dim != plan.dim.back())
      continue;
    cells.push_back(c);
    exact.push_back((at(record, ratio, c) - 1) * at(record, similarity, c));
    guaranteed.push_back(guaranteed_rate(plan, record, c) - 1);
  }
  const std::string name = name_of(attention);
  out.series(name + ".rate_minus_1", "alpha", plan.alpha,
             [cells](const TrialRecord& of, std::size_t k) { return at(of, rate, cells[k]) - 1; });
  out.series_of_points(name + ".expected", "alpha", plan.alpha, exact);
  out.series_of_points(name + ".bound", "alpha", plan.alpha, guaranteed);
  out.panel(name + ": escalation rate", log_axis("alpha"), log_axis("rate - 1"))
      .curve(name + ".rate_minus_1", "mean over draws of W",
             {.style = LineStyle::points, .band = BandKind::standard_error})
      .curve(name + ".expected", "E[r] - 1, by quadrature")
      .curve(name + ".bound", "bound (16)", {.style = LineStyle::dashed});
}

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("Lemmas behind the expected escalation rate", records);
  out.claims().set_unit(Unit::draw);
  for (std::size_t k = 0; k < plan.dim.size(); ++k) {
    for (const char* name : {attention_growth, net_growth}) {
      out.scalar(name + (".d=" + std::to_string(plan.dim[k])),
                 per_trial(records, [&](const TrialRecord& of) { return at(of, name, k); }));
    }
  }
  // This study normalizes no state, but every study of the command has this scalar.
  out.scalar("degenerate_rows", std::vector<double>(records.size(), 0.0));
  judge(plan, records, out.claims());
  add_exponents(plan, out);
  for (const Attention attention : attentions) add_rates(plan, attention, out);
  out.columns(2);
  out.note(
      "X = e v' + t Q with normal v and Q, drawn once for each d with W_q and W_k. A draw is a W "
      "for each d, with entries N(0, 1/d), which all attentions, t and alpha share.");
  out.note(
      "The lemmas leave the constant c open. Here it is 1/8, which can be proved for normal W. A "
      "bound is compared with the draws where it is below 1 and at least 200 divided by the number "
      "of draws. (26) is compared with an exact probability.");
  out.note("The panels show t = " + short_number(plan.t.back()) +
           " and d = " + std::to_string(plan.dim.back()) + "; the first shows the softmax at t = " +
           short_number(plan.t.front()) + " and alpha = " + short_number(plan.alpha.front()) + ".");
  return out.take();
}

}  // namespace
}  // namespace escalation_lemmas

namespace {

class EscalationLemmasStudy : public Study {
 public:
  std::vector<Field> fields() override {
    EscalationLemmasConfig& c = config_;
    return {
        size_field("tokens", c.tokens, 2, largest_size, "n", "number of rows of X"),
        size_list_field("dim", c.dim, 1, largest_size, "d", "number of columns of X"),
        excluding_low(
            real_list_field("t", c.t, 0.0, 1.0, "t", "strength of the noise Q in X = e v' + t Q")),
        excluding_low(real_list_field("alpha", c.alpha, 0.0, 1e3, "alpha",
                                      "strength of attention in Y = X + alpha P X W")),
    };
  }

  Estimate estimate() const override {
    const double n = static_cast<double>(config_.tokens),
                 steps = static_cast<double>(escalation_lemmas::attentions.size() *
                                             config_.t.size() * config_.alpha.size());
    Estimate cost;
    double largest = 0;
    for (const std::uint64_t dim : config_.dim) {
      const double d = static_cast<double>(dim);
      cost.bytes += 8 * (2 * steps * n * d + d * d);
      largest = std::max(largest, 8 * (6 * n * n + 10 * n * d + 6 * d * d));
    }
    cost.bytes += largest;
    return cost;
  }

  Work work() const override {
    return escalation_lemmas::work_of(escalation_lemmas::Plan(config_));
  }
  Result report(const Records& records) const override {
    return escalation_lemmas::report(escalation_lemmas::Plan(config_), records);
  }

 private:
  EscalationLemmasConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_escalation_lemmas_study() {
  return std::make_unique<EscalationLemmasStudy>();
}

}  // namespace ranklab
