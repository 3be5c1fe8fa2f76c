#include "cli/execute.hpp"

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "linalg/blas.hpp"
#include "report/environment.hpp"
#include "report/result_json.hpp"
#include "run/interrupt.hpp"
#include "run/pool.hpp"

namespace ranklab {

Execution execute(ResolvedRun& run, Journal* journal, bool show_progress, const std::vector<std::string>& argv) {
  const CommonOptions& options = run.options;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  set_blas_threads(options.blas_threads);
  const InterruptGuard guard;
  Pool pool({options.seed, options.trials, options.threads, options.precision == "f32", show_progress}, journal);
  const Result result = run.study->run(pool);

  Execution out;
  out.completed = pool.completed();
  // A signal that came after the last trial changes nothing.
  out.signal = out.completed < options.trials ? interrupt_signal() : 0;
  out.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (out.completed == 0) return out;

  ResultFile file;
  file.command = run.experiment->name;
  file.study = options.study;
  file.preset = options.preset;
  file.title = run.title;
  file.paper = run.paper;
  file.figure = run.figure;
  file.trial_unit = run.trial_unit;
  const nlohmann::ordered_json changed = run.changed();
  file.changed = &changed;
  file.trials_requested = options.trials;
  file.trials_completed = out.completed;
  file.interrupted = out.signal != 0;
  file.wall_seconds = out.wall_seconds;
  file.cpu_seconds = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  file.trial_seconds = pool.trial_seconds();
  for (const Claim& claim : result.claims) out.a_claim_fails |= claim.verdict == Verdict::fails;
  out.document = result_json(file, result, run.config(), environment_json(options.threads, argv));
  return out;
}

}  // namespace ranklab
