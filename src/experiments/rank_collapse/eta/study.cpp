#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/eta/eta.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace eta {
namespace {

constexpr char eta_std[] = "eta_std", eta_sample_means[] = "eta_sample_means",
               eta_sample_means_error[] = "eta_sample_means_error";

void add_scalars(const Plan& plan, ResultBuilder& out) {
  for (const std::uint64_t d : plan.dim) {
    out.scalar(at_dim(d, "mean_abs_eta"), per_trial(out.records(), [&](const TrialRecord& record) {
                 double sum = 0;
                 for (const double value : record.array(at_dim(d, eta_by_expectation)))
                   sum += std::abs(value);
                 return sum / static_cast<double>(plan.t.size());
               }));
  }
  // This study normalizes nothing, but every study of the command has this scalar.
  out.scalar("degenerate_rows", std::vector<double>(out.records().size(), 0.0));
}

void add_series(const Plan& plan, ResultBuilder& out) {
  for (const std::uint64_t d : plan.dim) {
    for (const char* name : {eta_by_expectation, xi[0], xi[1], expected_xi[0], expected_xi[1],
                             mu_squared[0], mu_squared[1]}) {
      out.series(at_dim(d, name), "t", plan.t);
    }
    std::vector<double> spread, means, errors;
    for (std::size_t i = 0; i < plan.t.size(); ++i) {
      const Summary by_means = summarize(eta_values(out.records(), Reading::sample_means, d, i));
      spread.push_back(summarize(eta_values(out.records(), Reading::expectation, d, i)).std);
      means.push_back(by_means.mean);
      errors.push_back(standard_error(by_means));
    }
    out.series_of_points(at_dim(d, eta_std), "t", plan.t, spread);
    out.series_of_points(at_dim(d, eta_sample_means), "t", plan.t, means);
    out.series_of_points(at_dim(d, eta_sample_means_error), "t", plan.t, errors);
  }
}

// One column for each reading of the paper's expectation: the mean of eta above, and below how far
// eta spreads.
void add_figure(const Plan& plan, ResultBuilder& out) {
  const Axis t = {"t (size of the noise in X = e v' + t Q)"};
  const auto add_panel = [&](const std::string& title, Axis axis, const char* quantity) {
    PanelBuilder panel = out.panel(title, t, std::move(axis));
    int color = 0;
    for (const std::uint64_t d : plan.dim) {
      panel.curve(at_dim(d, quantity), "d = " + std::to_string(d),
                  {.color = color++, .band = BandKind::interval});
    }
  };
  const std::string mean = "eta, mean over draws of W";
  add_panel("Exact E[xi_i]: mean of eta", {mean}, eta_by_expectation);
  add_panel("Sample means for E[xi_i]: mean of eta", {mean}, eta_sample_means);
  add_panel("Exact E[xi_i]: spread of eta", log_axis("standard deviation over draws"), eta_std);
  add_panel("Sample means for E[xi_i]: error of that mean", log_axis("standard error of the mean"),
            eta_sample_means_error);
  out.columns(2);
}

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("Concentration of xi_1/xi_2 over redraws of W", records);
  out.claims().set_unit(Unit::draw);
  add_scalars(plan, out);
  add_series(plan, out);
  judge(plan, records, out.claims());
  add_figure(plan, out);
  out.note(
      "The paper says only that v and Q are randomly chosen. Here their entries are N(0, 1). v, Q, "
      "W_q and W_k are drawn once for each d, and W is redrawn for every sample, d and t.");
  out.note(
      "eta uses the exact E[xi_i] = 1 + alpha^2 d sigma^2 mu_i^2 from eq. (9). eta_sample_means "
      "uses the means of xi_i over the " +
      std::to_string(records.size()) +
      " samples instead, which is another reading of the paper's \"(sample mean)\".");
  out.note(
      "With the exact expectation, eta has the spread of xi_1, about sqrt(4 alpha^2 + 2 "
      "alpha^4)/sqrt(d), for every small t. With sample means this spread cancels, and the rest "
      "falls with t.");
  return out.take();
}

}  // namespace
}  // namespace eta

namespace {

class EtaStudy : public Study {
 public:
  std::vector<Field> fields() override {
    EtaConfig& c = config_;
    return {
        size_field("tokens", c.tokens, 2, largest_size, "n", "number of rows of X"),
        size_list_field("dim", c.dim, 1, largest_size, "d",
                        "number of columns of X, one curve per value"),
        excluding_low(
            real_list_field("t", c.t, 0.0, 1.0, "t", "strength of the noise Q in X = e v' + t Q")),
        excluding_low(real_field("alpha", c.alpha, 0.0, 1e6, "alpha",
                                 "strength of attention in Y = X + alpha P X W")),
    };
  }

  void validate() const override {
    std::map<std::string, double> names;
    for (const double t : config_.t) {
      if (!names.emplace(short_number(t), t).second) {
        throw UsageError(
            "--t: two values have the same first four digits, which identify the samples of W; "
            "give values that differ in them");
      }
    }
  }

  Estimate estimate() const override {
    Estimate cost;
    const double n = static_cast<double>(config_.tokens),
                 values = static_cast<double>(config_.t.size());
    double largest = 0;
    for (const std::uint64_t dim : config_.dim) {
      const double d = static_cast<double>(dim);
      cost.bytes += values * 8 * 2 * n * d;
      largest = std::max(largest, 8 * (5 * n * n + 8 * n * d + 4 * d * d));
    }
    cost.bytes += largest;
    return cost;
  }

  Work work() const override { return eta::work_of(eta::Plan(config_)); }
  Result report(const Records& records) const override {
    return eta::report(eta::Plan(config_), records);
  }

 private:
  EtaConfig config_;
};

}  // namespace

EtaConfig::EtaConfig() {
  for (int i = 1; i <= 20; ++i) t.push_back(i / 20.0);
}

std::unique_ptr<Study> make_eta_study() {
  return std::make_unique<EtaStudy>();
}

}  // namespace ranklab
