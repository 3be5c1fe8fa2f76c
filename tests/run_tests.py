#!/usr/bin/env python3
"""Runs the unit tests and the end-to-end tests (or, with the word `smoke`, the smoke runs alone) and counts them.

The last line is `N passed, N failed`. The environment's RANKLAB_BUILD names the build folder (default: build).
"""
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))
sys.dont_write_bytecode = True


def unit_tests(build):
    """Passed and failed test cases of the doctest binary; one that dies counts as failed."""
    run = subprocess.run([os.path.join(ROOT, build, "unit-tests"), "--no-intro=1", "--no-version=1"], stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="", flush=True)
    counts = re.search(r"test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed", run.stdout)
    if not counts or int(counts.group(1)) == 0:
        return 0, 1
    passed, failed = int(counts.group(2)), int(counts.group(3))
    return passed, max(failed, 1 if run.returncode else 0)


def end_to_end_tests(pattern):
    suite = unittest.defaultTestLoader.discover(os.path.join(ROOT, "tests", "end_to_end"), pattern=pattern)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    failed = len(result.failures) + len(result.errors)
    return result.testsRun - failed - len(result.skipped), failed if result.testsRun else 1


def main():
    build = os.environ.get("RANKLAB_BUILD", "build")
    smoke_alone = sys.argv[1:] == ["smoke"]
    counts = [] if smoke_alone else [unit_tests(build)]
    counts.append(end_to_end_tests("test_smoke.py" if smoke_alone else "test_*.py"))
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
