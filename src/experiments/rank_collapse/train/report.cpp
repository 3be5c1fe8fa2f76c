#include "core/text.hpp"
#include "experiments/rank_collapse/train/figures.hpp"
#include "experiments/rank_collapse/train/purpose.hpp"

namespace ranklab::train {
namespace {

void add_curve(ResultBuilder& out, const Plan& plan, const Task& task, const Curve& curve) {
  const std::string prefix = curve.name + ".";
  const Purpose& purpose = purpose_of(plan.config);
  out.series(prefix + train_loss, "step", tenths_of(curve, 1));
  out.series(prefix + accuracy, "step", tenths_of(curve, 0));
  for (const std::string& when : moments) {
    for (const std::string& name : purpose.representation_series(when))
      out.series(prefix + when + name, "layer");
    for (const std::string& name : purpose.block_series(when))
      out.series(prefix + when + name, "block", 1);
  }
  if (purpose.follows_test_loss) out.series(prefix + test_loss, "step", tenths_of(curve, 0));
  if (purpose.looks_ahead && task.is_text()) {
    for (const char* name : {future_loss, future_excess, future_gradient})
      out.scalar(prefix + name);
  }
  for (const char* name :
       {final_train_loss, final_test_loss, final_accuracy, steps_to_90, diverged})
    out.scalar(prefix + name);
  if (curve.learns_tau) out.series(prefix + learned_tau, "block", 1);
  if (!curve.learns) return;
  for (std::uint64_t l = 1; l <= curve.layers; ++l)
    out.scalar(prefix + learned_lambda + std::to_string(l));
  out.series(
      prefix + "learned_lambda", "block",
      [&] {
        std::vector<double> blocks;
        for (std::uint64_t l = 1; l <= curve.layers; ++l) blocks.push_back(static_cast<double>(l));
        return blocks;
      }(),
      [&curve](const TrialRecord& record, std::size_t i) {
        return record.scalar(curve.name + "." + learned_lambda + std::to_string(i + 1));
      });
}

}  // namespace

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
    out.note(curve.name + " diverged in " + short_number(count) + " of " +
             counted(records.size(), "trial") + ".");
  }
  return out.take();
}

}  // namespace ranklab::train
