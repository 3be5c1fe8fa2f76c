"""Long runs: over 10,000 trials the number of open files stays the same, and memory grows by the
records of the trials only, whose size is that of the journal."""
import os
import time

from harness import Check, expect, finish, start

TRIALS, SHORT_TRIALS = 10_000, 1500
RUNS = {
    "trajectory": "random-features --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10"
                  " --threads 2",
    "regression": "one-step-compare --study regression --m-high 8 --k-high 8 --n-high 16"
                  " --threads 2",
    "train": "rank-collapse --study train --steps 1 --batch 1 --dim 4 --length 8 --vocab 16"
             " --pairs 2 --layers 1 --threads 2",
    # Trials whose matrices are large, and whose records have many small arrays.
    "redraws": "rank-collapse --study escalation-rate --layers 3 --dim 512 --ffn 512 --threads 2",
}
WARM_UP = 0.1  # share of the samples that is not looked at
# Growth that is allowed: a constant, which covers the warm-up of the allocator in the short form, and
# a factor of the growth of the journal.
MEGABYTES, SHORT_MEGABYTES, PER_RECORD = 8.0, 24.0, 1.5


def sample(process, journal):
    """Resident memory and size of the journal in megabytes, and the number of open files."""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        fields = dict(line.split(":", 1) for line in file)
    return (int(fields["VmRSS"].split()[0]) / 1024, os.path.getsize(journal) / 2**20,
            len(os.listdir(f"/proc/{process.pid}/fd")))


def samples_of(process, journal):
    samples = []
    while process.poll() is None:
        try:
            samples.append(sample(process, journal))
        except (OSError, KeyError):
            pass  # before the first trial, or after the last one
        time.sleep(0.01)
    return samples


def steady_run(name, trials, megabytes):
    def check(folder):
        words = f"{RUNS[name]} --trials {trials} --quiet --out out.json"
        process = start(words, folder)
        samples = samples_of(process, os.path.join(folder, "out.json.journal"))
        errors = finish(process, 60, words)
        expect(process.returncode == 0, f"exit {process.returncode}: {errors[-500:]}")
        # Judging and writing the result after the last trial takes memory of its own.
        samples = [sample for sample in samples if sample[1] < samples[-1][1]]
        expect(len(samples) >= 20, f"only {len(samples)} samples: the run is too short")
        samples = samples[int(WARM_UP * len(samples)):]
        half = len(samples) // 2
        (memory, journal, files), (later_memory, later_journal, later_files) = (
            [max(column) for column in zip(*part)] for part in (samples[:half], samples[half:]))
        what = (f"{trials} trials: {memory:.1f} then {later_memory:.1f} MB, of the journal "
                f"{journal:.1f} then {later_journal:.1f} MB; {files} then {later_files} files")
        growth = megabytes + PER_RECORD * (later_journal - journal)
        expect(later_memory <= memory + growth, what)
        expect(later_files <= files + 1, what)  # one more when the result is written
        return what
    return Check(name, check)


def checks(_, short):
    if short:
        return [steady_run(name, SHORT_TRIALS, SHORT_MEGABYTES)
                for name in ("trajectory", "redraws")]
    return [steady_run(name, TRIALS, MEGABYTES) for name in RUNS]
