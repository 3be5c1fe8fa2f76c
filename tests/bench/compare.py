#!/usr/bin/env python3
"""Which rows became slower or faster between two builds on one machine.

    compare.py A B [--rows NAME,...] [--turns 6]

If A and B are folders of builds, both run each row in turn, A B, B A, A B, ... The times of a turn
are a pair, and the interval is that of the mean log ratio of the pairs. If A and B are results of
`make bench`, the turns are not pairs: the interval is Welch's, which is wider, and a load that
differed between the two measurements is part of the difference.

The level of an interval is 99 % for all rows together. A row is `slower` or `faster` if its
interval excludes a change of 1 %, which is the least that is worth a look. Exit 1 if a row is
slower.
"""
import argparse
import json
import math
import os
import sys
import tempfile

from intervals import interval_of_difference, interval_of_mean
from measure import Program
from rows import ROWS, TINY

LEVEL, LEAST = 0.99, 0.01
# Rows that run within seconds, for comparisons without --rows.
DEFAULT = ["figure-3", "figure-12", "figure-14a", "shallow-2", "mamba2-lambdas", "gpt2-layers",
           "gpt-64-adam", "recall-mamba2", "start-up"]


def verdict(change, width):
    """Of a change of log time, B minus A."""
    if not math.isfinite(width):
        return "unknown"
    if change - width > math.log1p(LEAST):
        return "slower"
    if change + width < -math.log1p(LEAST):
        return "faster"
    return "same" if abs(change) + width < math.log(1.1) else "undecided"


def paired(a, b, level):
    return interval_of_mean([math.log(y / x) for x, y in zip(a, b)], level)


def unpaired(a, b, level):
    return interval_of_difference(*([math.log(x) for x in times] for times in (a, b)), level)


def line(name, a, b, interval, level):
    """The text of a row, and its verdict."""
    if min(*a, *b) <= 0:  # the difference of two short trainings, lost in noise
        return f"{name:26} too short to measure", "unknown"
    change, width = interval(a, b, level)
    found = verdict(change, width)
    text = f"{name:26} {sum(a) / len(a):8.4g} s {sum(b) / len(b):8.4g} s "
    text += f"{100 * math.expm1(change):+10.1f} %"
    if math.isfinite(width):
        low, high = (100 * math.expm1(c) for c in (change - width, change + width))
        text += f" {low:+9.1f} to {high:+7.1f} %"
    return f"{text}  {found}", found


def measure_pairs(builds, rows, turns):
    """The seconds of each build, row by row."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        programs = [Program(build, folder) for build, folder in zip(builds, (first, second))]
        for row in rows:
            for program in programs:
                program.write_inputs(row)
                program.measure(row)  # fills the caches of files
            times = [[], []]
            for turn in range(turns):
                for i in ((0, 1) if turn % 2 == 0 else (1, 0)):
                    times[i].append(programs[i].measure(row)[0])
            for program in programs:
                program.remove_inputs()
            yield row.name, *times


def stored_turns(paths):
    """The seconds of the rows that both results have."""
    results = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            results.append(json.load(file))
    if any(result.get("command") != "bench" for result in results):
        sys.exit("compare: both files must be results of `make bench`")
    cpus = [result["environment"]["cpu"] for result in results]
    if cpus[0] != cpus[1]:
        print(f"Different processors, {cpus[0]} and {cpus[1]}: not a change of the program")
    values = [result["trial_values"] for result in results]
    for name in results[0]["config"]["row"]:
        key = name + ".ranklab_s"
        if key in values[1]:
            yield name, values[0][key], values[1][key]


def selected(names):
    known = {row.name: row for row in ROWS + TINY}
    unknown = [name for name in names if name not in known or known[name].script]
    if unknown:
        sys.exit(f"compare: no row {unknown[0]!r}")
    return [known[name] for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", metavar="A")
    parser.add_argument("b", metavar="B")
    parser.add_argument("--rows", type=lambda text: text.split(","), default=DEFAULT)
    parser.add_argument("--turns", type=int, default=6, help="pairs per row (default: 6)")
    options = parser.parse_args()
    places = [options.a, options.b]
    folders = [os.path.isdir(place) for place in places]
    missing = [place for place in places if not os.path.exists(place)]
    if missing:
        sys.exit(f"compare: {missing[0]} does not exist")
    if folders[0] != folders[1]:
        sys.exit("compare: A and B must both be folders of builds, or both results of `make bench`")
    if folders[0]:
        rows = selected(options.rows)
        count, measured, interval = len(rows), measure_pairs(places, rows, options.turns), paired
        print(f"Paired: both builds in turn, {options.turns} times")
    else:
        measured = list(stored_turns(places))
        count, interval = len(measured), unpaired
        print("Unpaired: two stored results; the intervals are wider than those of two builds")
    level = 1 - (1 - LEVEL) / max(count, 1)
    print(f"Interval: {100 * LEVEL:g} % for all {count} rows together\n")
    print(f"{'row':26} {'A':>10} {'B':>10} {'change of B':>12} {'interval':>22}  verdict")
    slower = False
    for name, a, b in measured:
        text, found = line(name, a, b, interval, level)
        slower |= found == "slower"
        print(text, flush=True)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
