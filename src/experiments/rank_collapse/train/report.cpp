#include "core/text.hpp"
#include "experiments/rank_collapse/train/figures.hpp"
#include "experiments/rank_collapse/train/purpose.hpp"

namespace ranklab::train {
namespace {

/// first, first + 1, ... last.
std::vector<double> counts(std::uint64_t first, std::uint64_t last) {
  std::vector<double> out;
  for (std::uint64_t i = first; i <= last; ++i) out.push_back(static_cast<double>(i));
  return out;
}

void add_curve(ResultBuilder& out, const Plan& plan, const Task& task, const Curve& curve) {
  out.add(columns_of(plan, task, curve), curve.name + ".");
  if (!curve.learns) return;
  out.series(curve.name + ".learned_lambda", "block", counts(1, curve.layers),
             [&curve](const TrialRecord& record, std::size_t i) {
               return record.scalar(curve.name + "." + learned_lambda_of(i + 1));
             });
}

}  // namespace

std::vector<Column> columns_of(const Plan& plan, const Task& task, const Curve& curve) {
  const Purpose& purpose = purpose_of(plan.config);
  const std::vector<double> layers = counts(0, curve.layers), blocks = counts(1, curve.layers);
  std::vector<Column> out = {{train_loss, "step", tenths_of(curve, 1)},
                             {accuracy, "step", tenths_of(curve, 0)}};
  for (const std::string& when : moments) {
    for (const std::string& name : purpose.representation_series(when))
      out.push_back({when + name, "layer", layers});
    for (const std::string& name : purpose.block_series(when))
      out.push_back({when + name, "block", blocks});
  }
  if (purpose.follows_test_loss) out.push_back({test_loss, "step", tenths_of(curve, 0)});
  if (purpose.looks_ahead && task.is_text()) {
    for (const char* name : {future_loss, future_excess, future_gradient}) out.push_back({name});
  }
  for (const char* name :
       {final_train_loss, final_test_loss, final_accuracy, steps_to_90, diverged})
    out.push_back({name});
  if (curve.learns_tau) out.push_back({learned_tau, "block", blocks});
  for (const double block : blocks) {
    if (curve.learns) out.push_back({learned_lambda_of(static_cast<std::uint64_t>(block))});
  }
  return out;
}

Result report(const Plan& plan, const Task& task, const Records& records) {
  const Purpose& purpose = purpose_of(plan.config);
  ResultBuilder out(purpose.title, records);
  out.claims().set_unit(Unit::training);
  for (const Curve& curve : plan.curves) add_curve(out, plan, task, curve);
  purpose.judge(plan, task, records, out.claims());
  out.note(task.description());
  purpose.draw(out, plan, task);
  for (const Curve& curve : plan.curves) {
    double count = 0;
    for (const TrialRecord& record : records) count += record.scalar(curve.name + "." + diverged);
    if (count == 0) continue;
    out.diverged_where(curve.name + "." + diverged);
    out.note(say("{} diverged in {} of {}.", curve.name, count, plural(records.size(), "trial")));
  }
  return out.take();
}

}  // namespace ranklab::train
