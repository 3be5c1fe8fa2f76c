#!/usr/bin/env python3
"""Runs the unit tests and the end-to-end tests, or with the argument `smoke` only the smoke runs, and counts them.

The end-to-end tests and groups of unit tests run in parallel on all cores. Their output is printed in the order of the tests, then the
ten slowest tests, the seconds of each part, and last the line `N passed, N failed`. The environment variable RANKLAB_BUILD sets the
build folder (default: build), and RANKLAB_BUILD_SECONDS says how long the build took.
"""
import collections
import concurrent.futures
import io
import os
import re
import subprocess
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))
sys.dont_write_bytecode = True

UNIT_TESTS = os.path.join(ROOT, os.environ.get("RANKLAB_BUILD", "build"), "unit-tests")
GROUPS = 32
SLOWEST = 10
# The parts of the tests whose seconds are printed, by the file of a test.
PARTS = {"test_smoke": "smoke runs", "test_soak": "short soak"}


class Outcome:
    """The output of one task, its numbers of passed and failed tests, and (seconds, name) of each test."""

    def __init__(self, text, passed, failed, times):
        self.text, self.passed, self.failed, self.times = text, passed, failed, times


def run_unit_tests(*flags):
    # One BLAS thread, as inside a trial, because the other cores run other tasks.
    return subprocess.run([UNIT_TESTS, "--no-intro=1", "--no-version=1", *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))


def unit_tests(first, last):
    """Runs test cases `first` to `last` of the doctest binary, counted from 1. An unfinished case counts as failed."""
    run = run_unit_tests("--duration=1", f"--first={first}", f"--last={last}")
    times, rest = [], []
    for line in run.stdout.splitlines(keepends=True):
        case = re.fullmatch(r"(\d+\.\d+) s: (.*)\n", line)
        if case:
            times.append((float(case.group(1)), case.group(2)))
        elif not line.startswith(("[doctest]", "=" * 79)):
            rest.append(line)
    summary = re.search(r"test cases:.*\| *(\d+) failed", run.stdout)
    failed = int(summary.group(1)) if summary else 0
    failed = max(failed, last - first + 1 - len(times), 1 if run.returncode else 0)
    return Outcome("".join(rest) if failed else "", last - first + 1 - failed, failed, times)


def end_to_end_test(name):
    start = time.monotonic()
    output = io.StringIO()
    result = unittest.TextTestRunner(stream=output).run(unittest.defaultTestLoader.loadTestsFromName(name))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    # Several subtests of one test may fail.
    passed = max(0, result.testsRun - failed - len(result.skipped))
    return Outcome("" if result.wasSuccessful() else output.getvalue(), passed, failed, [(time.monotonic() - start, name)])


def test_names(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from test_names(test)
        else:
            yield test.id()


def end_to_end_tasks(pattern):
    suite = unittest.defaultTestLoader.discover(os.path.join(ROOT, "tests", "end_to_end"), pattern=pattern)
    return [(end_to_end_test, name) for name in test_names(suite)]


def unit_test_tasks():
    match = re.search(r"filters: (\d+)", run_unit_tests("--count").stdout)
    cases = int(match.group(1)) if match else 0
    bounds = [cases * part // GROUPS for part in range(GROUPS + 1)]
    return [(unit_tests, low + 1, high) for low, high in zip(bounds, bounds[1:]) if low < high]


def timed(task, *arguments):
    """Runs a task; returns its outcome, the part to which it belongs, and its seconds."""
    start = time.monotonic()
    outcome = task(*arguments)
    part = "unit tests" if task is unit_tests else PARTS.get(arguments[0].split(".")[0], "end-to-end tests")
    return outcome, part, time.monotonic() - start


def print_seconds(wall, parts):
    """Prints the wall time of the build and of the tests, and the parts of the latter, which add up over the processes."""
    build = os.environ.get("RANKLAB_BUILD_SECONDS", "")
    print("seconds: " + (f"{build} build, " if build else "") + f"{wall:.0f} tests; summed over processes: "
          + ", ".join(f"{seconds:.0f} {part}" for part, seconds in sorted(parts.items(), key=lambda part: -part[1])))


def main():
    start = time.monotonic()
    smoke_only = sys.argv[1:] == ["smoke"]
    tasks = end_to_end_tasks("test_smoke.py" if smoke_only else "test_*.py")
    if not tasks:
        raise SystemExit("no end-to-end tests")
    if not smoke_only:
        groups = unit_test_tasks()
        if not groups:
            raise SystemExit("no unit tests")
        tasks += groups
    passed, failed, times, parts = 0, 0, [], collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for future in [pool.submit(timed, *task) for task in tasks]:
            outcome, part, seconds = future.result()
            parts[part] += seconds
            print(outcome.text, end="", flush=True)
            passed, failed, times = passed + outcome.passed, failed + outcome.failed, times + outcome.times
    print(f"{SLOWEST} slowest tests:")
    for seconds, name in sorted(times, reverse=True)[:SLOWEST]:
        print(f"{seconds:7.2f} s  {name}")
    print_seconds(time.monotonic() - start, parts)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
