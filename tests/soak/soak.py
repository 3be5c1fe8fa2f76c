#!/usr/bin/env python3
"""`make soak`: long checks of reliability: sequences, kills, full disks, long runs, signals, limits.

soak.py [--seconds N] [--seed N] [--short] [SECTION...]

Each section is a module of this folder with a function checks(seed, short), which returns a list of
checks. The sections run one after another, the checks of a section in parallel. Each section gets a
share of the seconds; time that a section does not use goes to those that follow. Checks for which
no time is left are counted and named. The last line is `soak: N passed, N failed`.
"""
import argparse
import concurrent.futures
import importlib
import os
import random
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import BINARY, CORES, Failed, Skipped, Unneeded  # noqa: E402

# The sections and their shares of the time.
SECTIONS = {"sequences": 8, "kills": 30, "disks": 10, "steady": 5, "signals": 30, "limits": 10,
            "environments": 8, "figures": 8, "kernels": 12, "hostile": 15, "precision": 15}


def outcome(check):
    """Runs a check in a new folder; returns its result ("passed", "failed", "skipped" or
    "unneeded") and a message."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="ranklab-soak-"))
    try:
        return "passed", check.function(folder) or ""
    except Skipped as reason:
        return "skipped", str(reason)
    except Unneeded:
        return "unneeded", ""
    except Failed as problem:
        return "failed", str(problem)
    except Exception as problem:  # a defect of the check itself also counts as a failure
        return "failed", f"{type(problem).__name__}: {problem}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_section(name, checks, deadline):
    """Runs the checks that can start before the deadline; returns their results."""
    results = []

    def attempt(check):
        if time.monotonic() > deadline:
            return "left out", ""
        return outcome(check)

    together = [check for check in checks if not check.alone]
    alone = [check for check in checks if check.alone]
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        futures = {pool.submit(attempt, check): check for check in together}
        for future in concurrent.futures.as_completed(futures):
            results.append((futures[future], *future.result()))
            report(name, *results[-1])
    for check in alone:
        results.append((check, *attempt(check)))
        report(name, *results[-1])
    return results


def report(section, check, result, message):
    if result in ("failed", "skipped") or message:
        print(f"  {result}: {section}: {check.name}{': ' + message if message else ''}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Long checks of reliability.")
    parser.add_argument("--seconds", type=float, default=1800, help="limit of the total time")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--short", action="store_true", help="the checks that `make test` runs")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    options = parser.parse_args()
    for name in options.sections:
        if name not in SECTIONS:
            parser.error(f"unknown section {name}; the sections are {', '.join(SECTIONS)}")
    if not os.access(BINARY, os.X_OK):
        raise SystemExit(f"{BINARY} is missing: run `make build`")
    os.environ.pop("OPENBLAS_CORETYPE", None)  # ranklab chooses the kernel
    names = options.sections or list(SECTIONS)
    print(f"soak: seed {options.seed}, at most {options.seconds:g} s, {CORES} cores", flush=True)
    start, shares = time.monotonic(), sum(SECTIONS[name] for name in names)
    counts = {"passed": 0, "failed": 0, "skipped": 0, "left out": 0}
    for name in names:
        begin = time.monotonic()
        share = (start + options.seconds - begin) * SECTIONS[name] / shares
        shares -= SECTIONS[name]
        checks = importlib.import_module(name).checks(options.seed, options.short)
        results = run_section(name, checks, begin + share)
        of = {result: sum(row[1] == result for row in results) for result in counts}
        counts = {result: counts[result] + of[result] for result in counts}
        print(f"{name}: " + ", ".join(f"{of[result]} {result}" for result in of
                                      if of[result] or result == "passed")
              + f", {time.monotonic() - begin:.0f} s", flush=True)
    if counts["left out"]:
        print(f"soak: no time for {counts['left out']} checks; SECONDS= sets the limit")
    print(f"soak: {counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
