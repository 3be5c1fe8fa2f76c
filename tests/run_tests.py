#!/usr/bin/env python3
"""Runs the unit tests and the end-to-end tests (or, with the word `smoke`, the smoke runs alone) and counts them.

Every core works: the end-to-end tests run beside shares of the unit tests. What they print comes in the order of the tests, whoever
ends first. Then come the ten slowest, and the last line is `N passed, N failed`. The environment's RANKLAB_BUILD names the build
folder (default: build).
"""
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
SHARES = 32
SLOWEST = 10


class Outcome:
    """What one task prints, its counts, and (seconds, name) of each of its tests."""

    def __init__(self, text, passed, failed, times):
        self.text, self.passed, self.failed, self.times = text, passed, failed, times


def run_unit_tests(*flags):
    # One BLAS thread, as inside a trial: the cores are busy with other shares.
    return subprocess.run([UNIT_TESTS, "--no-intro=1", "--no-version=1", *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))


def unit_tests(first, last):
    """Cases `first` to `last` of the doctest binary, counted from 1. A case that was not finished counts as failed."""
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
    # Subtests may fail several times within one test.
    passed = max(0, result.testsRun - failed - len(result.skipped))
    return Outcome("" if result.wasSuccessful() else output.getvalue(), passed, failed, [(time.monotonic() - start, name)])


def names_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names_of(test)
        else:
            yield test.id()


def end_to_end_tasks(pattern):
    suite = unittest.defaultTestLoader.discover(os.path.join(ROOT, "tests", "end_to_end"), pattern=pattern)
    return [(end_to_end_test, name) for name in names_of(suite)]


def unit_test_tasks():
    counted = re.search(r"filters: (\d+)", run_unit_tests("--count").stdout)
    cases = int(counted.group(1)) if counted else 0
    bounds = [cases * share // SHARES for share in range(SHARES + 1)]
    return [(unit_tests, low + 1, high) for low, high in zip(bounds, bounds[1:]) if low < high]


def main():
    smoke_alone = sys.argv[1:] == ["smoke"]
    tasks = end_to_end_tasks("test_smoke.py" if smoke_alone else "test_*.py")
    if not tasks:
        raise SystemExit("no end-to-end tests")
    if not smoke_alone:
        shares = unit_test_tasks()
        if not shares:
            raise SystemExit("no unit tests")
        tasks += shares
    passed, failed, times = 0, 0, []
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for future in [pool.submit(*task) for task in tasks]:
            outcome = future.result()
            print(outcome.text, end="", flush=True)
            passed, failed, times = passed + outcome.passed, failed + outcome.failed, times + outcome.times
    print(f"the slowest {SLOWEST}:")
    for seconds, name in sorted(times, reverse=True)[:SLOWEST]:
        print(f"{seconds:7.2f} s  {name}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
