#!/usr/bin/env python3
"""Runs the fuzz targets, one process for each core: `fuzz.py SECONDS [TARGET...]`. `make fuzz` builds build-fuzz/fuzz and calls this.

Each target starts from its seeds, its past findings and the corpus that earlier runs left in build-fuzz/corpus. libFuzzer stops at a
finding; this script saves the input in build-fuzz/findings and starts libFuzzer again until the time is over. Findings with the same
exception and the same innermost frame of our code count once. The exit status is 1 if there is a finding.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "tests", "fuzz")
BUILD = os.path.join(ROOT, "build-fuzz")
FUZZ = os.path.join(BUILD, "fuzz")
TIMEOUT = 10  # seconds for one input
MEMORY = 1024  # MiB
MOST_FINDINGS = 20  # of one target in one run
# Each execution writes files. On a disk this takes most of the time.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
SLACK = 120  # seconds that a target may take in addition: start, seeds, a last input
# Large inputs make every execution slow and find nothing that small ones do not.
MAX_LENGTH = {"result": 20480, "images": 8192, "config": 8192}
# Files of the project that are seeds as they are.
MORE_SEEDS = {"config": ["experiments"]}
ENVIRONMENT = {"ASAN_OPTIONS": "quarantine_size_mb=16:malloc_context_size=6:allocator_may_return_null=0:detect_odr_violation=0",
               "UBSAN_OPTIONS": "print_stacktrace=1", "OPENBLAS_NUM_THREADS": "1"}


def names_in_presets():
    """The parameters and words of the presets, for the dictionaries of configs, flags and command lines."""
    words = set()
    folder = os.path.join(ROOT, "experiments")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                words.update(re.findall(r'"([a-z0-9.+-]{1,40})"', file.read()))
    return sorted(words)


def write_dictionary(target, path):
    """tests/fuzz/<target>.dict, or json.dict for the targets that read JSON, and the words of the presets."""
    lines = []
    for name in (target, "json"):
        source = os.path.join(HERE, name + ".dict")
        if os.path.exists(source) and (name == target or target in JSON):
            with open(source, encoding="utf-8") as file:
                lines += file.read().splitlines()
    if target in ("config", "flags", "command_line", "part"):
        lines += [f'"{word}"' for word in names_in_presets()]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


JSON = ("config", "result", "recording", "token_ids", "model_config", "safetensors", "part")


class Tally:
    def __init__(self, target):
        self.target = target
        self.executions, self.edges, self.inputs = 0, 0, 0
        self.findings = {}  # (kind, place) -> path of the input
        self.trouble = ""  # why the target could not run

    def line(self):
        return (f"{self.target:13} {self.executions:9,} executions  {self.edges:6,} edges  {self.inputs:5,} inputs  {len(self.findings)} findings"
                + (f"  ({self.trouble})" if self.trouble else ""))


def kind_of(log):
    """What went wrong, and the innermost frame of our code."""
    kind = "crash"
    for pattern in (r"terminate called after throwing an instance of '([^']+)'", r"runtime error: (.{1,60})", r"ERROR: (\w+Sanitizer: [\w-]+)",
                    r"ERROR: libFuzzer: (\w[\w -]*)"):
        found = re.search(pattern, log)
        if found:
            kind = found.group(1).strip()
            break
    frame = re.search(r"#\d+ 0x\w+ in .*? \S*?((?:src|tests)/\S+:\d+)", log)
    return kind, frame.group(1) if frame else "unknown place"


def counts(log, tally):
    """Adds the figures of one libFuzzer process."""
    found = re.findall(r"^stat::number_of_executed_units:\s+(\d+)|^#(\d+)\s", log, re.MULTILINE)
    tally.executions += max((int(total or last) for total, last in found), default=0)
    edges = re.findall(r"\bcov: (\d+)", log)
    tally.edges = max([tally.edges] + [int(count) for count in edges])


def content(path):
    with open(path, "rb") as file:
        return file.read()


def copy_seeds(target, folder):
    """Copies the seeds, the past findings and further files, so that keep_finding can remove those that fail."""
    sources = [os.path.join(HERE, kind, target) for kind in ("seeds", "findings")] + [os.path.join(ROOT, path) for path in MORE_SEEDS.get(target, ())]
    os.mkdir(folder)
    for source in filter(os.path.isdir, sources):
        for name in sorted(os.listdir(source)):
            if os.path.isfile(os.path.join(source, name)):
                shutil.copy(os.path.join(source, name), os.path.join(folder, os.path.basename(source) + "-" + name))


def keep_finding(log, crashes, corpora, tally):
    """Moves the input to build-fuzz/findings unless its place is already known, and removes it from the corpora, where it would end the next
    process too. Returns whether there was a finding."""
    inputs = [os.path.join(crashes, name) for name in sorted(os.listdir(crashes))]
    if not inputs:
        return False
    key = kind_of(log)
    if key not in tally.findings:
        folder = os.path.join(BUILD, "findings", tally.target)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, os.path.basename(inputs[0]))
        shutil.copy(inputs[0], path)
        with open(path + ".log", "w", encoding="utf-8") as file:
            file.write(log)
        tally.findings[key] = path
    bad = [content(path) for path in inputs]
    for folder in corpora:
        for name in os.listdir(folder):
            if content(os.path.join(folder, name)) in bad:
                os.remove(os.path.join(folder, name))
    for path in inputs:
        os.remove(path)
    return True


def run_target(target, seconds):
    tally = Tally(target)
    corpus = os.path.join(BUILD, "corpus", target)
    os.makedirs(corpus, exist_ok=True)
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="ranklab-fuzz-", dir=IN_MEMORY) as scratch:
        crashes, seeds, work = (os.path.join(scratch, name) for name in ("crashes", "seeds", "work"))
        os.mkdir(crashes)
        copy_seeds(target, seeds)
        dictionary = os.path.join(scratch, "words")
        write_dictionary(target, dictionary)
        while len(tally.findings) < MOST_FINDINGS:
            left = max(1, int(end - time.monotonic()))
            shutil.rmtree(work, ignore_errors=True)
            os.mkdir(work)
            words = [FUZZ, f"--target={target}", f"-max_total_time={left}", f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}",
                     f"-malloc_limit_mb={MEMORY}", f"-artifact_prefix={crashes}/", f"-dict={dictionary}", f"-max_len={MAX_LENGTH.get(target, 4096)}",
                     "-print_final_stats=1", "-reload=0", corpus, seeds]
            try:
                run = subprocess.run(words, cwd=work, env=dict(os.environ, TMPDIR=work, **ENVIRONMENT), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True, errors="replace", timeout=left + SLACK)
                log, code = run.stderr, run.returncode
            except subprocess.TimeoutExpired as stuck:
                tally.trouble = "the watchdog ended it"
                log, code = (stuck.stderr or b"").decode(errors="replace"), 0
            counts(log, tally)
            found = keep_finding(log, crashes, (corpus, seeds), tally)
            if code != 0 and not found:
                tally.trouble = f"exit status {code}: " + (log.strip().splitlines() or ["no message"])[-1][:200]
                break
            if not found or time.monotonic() >= end:
                break
    tally.inputs = len(os.listdir(corpus))
    print(tally.line(), flush=True)
    return tally


def main():
    seconds, chosen = int(sys.argv[1]), sys.argv[2:]
    targets = subprocess.run([FUZZ, "--targets"], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout.split()
    unknown = [name for name in chosen if name not in targets]
    if unknown:
        sys.exit(f"fuzz: no target {', '.join(unknown)}; the targets are {', '.join(targets)}")
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        tallies = list(pool.map(lambda target: run_target(target, seconds), chosen or targets))
    for tally in tallies:
        for (kind, place), path in sorted(tally.findings.items()):
            print(f"{tally.target}: {kind} at {place}\n  replay: build-fuzz/fuzz --target={tally.target} {os.path.relpath(path)}")
    findings = sum(len(tally.findings) for tally in tallies)
    print(f"fuzz: {len(tallies)} targets, {sum(tally.inputs for tally in tallies):,} inputs, {findings} findings")
    sys.exit(1 if findings or any(tally.trouble for tally in tallies) else 0)


if __name__ == "__main__":
    main()
