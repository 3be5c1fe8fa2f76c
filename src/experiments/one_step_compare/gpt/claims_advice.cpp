// Does following the advice pay? Final losses of runs that put Muon on the matrices that the advice
// names, against simpler choices. Each run has its own learning rates, so that each can be tuned.
#include <algorithm>
#include <set>

#include "experiments/one_step_compare/gpt/claims.hpp"

namespace ranklab::gpt {
namespace {

using Words = std::vector<std::string>;

/// The first run of this workload in which `optimizer` updates these matrices, or null.
const Run* run_on(const Plan& plan, const Changes& workload, const std::string& optimizer,
                  const Words& matrices) {
  const auto found = std::find_if(plan.runs.begin(), plan.runs.end(), [&](const Run& run) {
    return workload_of(run) == workload && run.optimizer == optimizer &&
           run.config.spectral_on == matrices;
  });
  return found == plan.runs.end() ? nullptr : &*found;
}

std::string text_of(const Changes& workload, const std::string& between) {
  std::string out;
  for (const auto& [key, value] : workload) out += (out.empty() ? "" : between) + key + "=" + value;
  return out;
}

void judge_workload(const Plan& plan, const Changes& workload, const Records& records,
                    Claims& claims) {
  const std::string id = text_of(workload, ",");
  const Place place{"spectral/eq-1.8", "spectral/eq-1.8/advice/" + (id.empty() ? "" : id + "/"),
                    "Section 1.2.1, eq. (1.8)"};
  const Run* const advised = run_on(plan, workload, "muon", {advice_word});
  const struct {
    const char *id, *what;
    const Run* run;
  } others[] = {
      {"adam", "Adam on all matrices", run_on(plan, workload, "adam", {"hidden"})},
      {"hidden", "Muon on all matrices inside layers", run_on(plan, workload, "muon", {"hidden"})},
      {"everything", "Muon on all matrices, embedding and head included",
       run_on(plan, workload, "muon", {"hidden", "embedding", "head"})},
      {"reverse", "Muon on the other matrices inside layers",
       run_on(plan, workload, "muon", {against_advice_word})}};
  for (const auto& other : others) {
    judge_pair(beyond(place(other.id,
                            "Muon on the matrices inside layers with nr/st of 2 or more at steps 4 "
                            "to 32 ends at a held-out loss of at most that of " +
                                std::string(other.what) +
                                (id.empty() ? "" : " (" + text_of(workload, ", ") + ")"))),
               advised, other.run, "needs a run of " + std::string(other.what),
               compared(at_most(0.0)), records, claims);
  }
}

}  // namespace

void judge_advice(const Plan& plan, const Records& records, Claims& claims) {
  std::set<Changes> workloads;
  for (const Run& run : plan.runs) {
    if (run.optimizer == "muon" && run.config.spectral_on == Words{advice_word})
      workloads.insert(workload_of(run));
  }
  for (const Changes& workload : workloads) judge_workload(plan, workload, records, claims);
}

}  // namespace ranklab::gpt
