#!/usr/bin/env python3
"""Measures the rows of rows.py, and writes a result that `ranklab plot` draws.

    bench.py [--build build] [--out results/bench/bench.json] [--full | --tiny] [--rows NAME,...]
    bench.py --markdown results/bench/bench.json   the README's table; --all, --growth, --threads

--full measures all rows, how the cost of each study grows with its main parameter, and what more
threads gain.

A missed target is not an error, because machines are shared and noisy. A peer that computes other
numbers than ranklab is one: exit 1.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import growth
import threads
from measure import Disagreement, Peers, Program, measure_row
from result import bench_result, full_table, markdown, short_table, tables, text_table
from rows import ROWS, TINY


def selected_rows(options):
    rows = TINY if options.tiny else [row for row in ROWS if options.full or not row.full]
    if options.rows is not None:
        named = {row.name: row for row in ROWS + TINY}
        unknown = [name for name in options.rows if name not in named]
        if unknown:
            sys.exit(f"no row {unknown[0]!r}; rows: {', '.join(named)}")
        rows = [named[name] for name in options.rows]
    return rows


def selected_sweeps(options):
    """The sweeps of sizes and the runs on several threads."""
    if options.tiny:
        return growth.TINY_SWEEPS, threads.TINY_RUNS
    return (growth.SWEEPS if options.full or options.growth else [],
            threads.RUNS if options.full or options.threads else [])


def say(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def measure_all(options):
    """Writes the result after every row, so that an interrupted run keeps what it has measured."""
    rows, begin, loaded = selected_rows(options), time.monotonic(), os.getloadavg()[0]
    sweeps, runs = selected_sweeps(options)
    measured, grown, sped_up = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        program = Program(options.build, folder)
        environment = program.environment()
        peers = Peers(environment["blas_core"], folder)

        def save(status):
            result = bench_result(measured, block_runs, environment, time.monotonic() - begin,
                                  loaded, options.full, grown, sped_up, status)
            write(result, options.out)
            return result

        with_limits = rows and not options.tiny
        block_runs = [program.building_blocks()] if with_limits else []
        for row in rows:
            say(row.work)
            turns = 2 if options.tiny else options.turns
            found = measure_row(program, peers, row, turns, options.budget)
            if found:
                measured.append(found)
            save("interrupted")
        for sweep in sweeps:
            say(f"growth of {sweep.name} with {sweep.parameter}")
            grown.append(growth.measure_sweep(program, sweep))
            save("interrupted")
        for one in runs:
            say(f"threads: {one.work}")
            sped_up.append(threads.measure_speed_up(program, one, options.turns))
            save("interrupted")
        if with_limits:
            block_runs.append(program.building_blocks())
        return save("complete")


def write(result, path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1, allow_nan=False)
        file.write("\n")
    os.replace(path + ".new", path)


def draw(result, path, build):
    if result["figure"]:
        picture = (path[:-5] if path.endswith(".json") else path) + ".svg"
        subprocess.run([os.path.join(build, "ranklab"), "plot", path, "--out", picture, "--quiet"],
                       check=True)


def print_markdown(options):
    with open(options.markdown, encoding="utf-8") as file:
        result = json.load(file)
    for chosen, columns in ((options.growth, growth.COLUMNS), (options.threads, threads.COLUMNS)):
        if chosen:
            return print(markdown(tables(result)[columns[0]]))
    if options.all:
        return print(full_table(result))
    measured = result["config"]["row"]
    return print(short_table(result, [row for row in ROWS + TINY
                                      if row.headline and row.name in measured]))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="folder of the build (default: build)")
    parser.add_argument("--out", default="results/bench/bench.json", help="the result")
    parser.add_argument("--full", action="store_true", help="all rows, --growth and --threads")
    parser.add_argument("--tiny", action="store_true", help="toy rows, for tests")
    parser.add_argument("--rows", type=lambda text: [t for t in text.split(",") if t],
                        help="only these rows")
    parser.add_argument("--turns", type=int, default=3, help="turns per row (default: 3)")
    parser.add_argument("--budget", type=float, default=10,
                        help="seconds after which a row gets no third turn (default: 10)")
    parser.add_argument("--markdown", metavar="RESULT", help="print the table of a result")
    parser.add_argument("--growth", action="store_true",
                        help="how the cost grows with the size; with --markdown: that table")
    parser.add_argument("--threads", action="store_true",
                        help="what more threads gain; with --markdown: that table")
    parser.add_argument("--all", action="store_true", help="with --markdown: all rows")
    options = parser.parse_args()
    if options.markdown:
        return print_markdown(options)
    try:
        result = measure_all(options)
    except Disagreement as error:
        sys.exit(f"bench: {error}")
    draw(result, options.out, options.build)
    print(text_table(result))
    print(options.out)


if __name__ == "__main__":
    main()
