"""The scripts of `make bench` and `make bench-compare`, at toy sizes, and the table of the README."""
import copy
import csv
import json
import math
import os
import subprocess
import sys
import unittest

import jsonschema

from program import BINARY, ROOT, SCHEMA, ProgramTest, loads

BENCH, PEERS = os.path.join(ROOT, "tests", "bench"), os.path.join(ROOT, "tests", "peers")
sys.path.insert(0, BENCH)
import compare
import growth
import intervals
import measure
import memory
import operations
import result
import rows
import threads

STORED = os.path.join(ROOT, "results", "bench", "bench.json")

ENVIRONMENT = {"version": "0", "git": "0", "compiler": "", "flags": "", "armadillo": "", "blas": "",
               "blas_core": "", "program": "", "threads": 1, "argv": []}


def bench_schema():
    """The schema of results, but for the command."""
    schema = copy.deepcopy(SCHEMA.schema)
    schema["properties"]["command"] = {"const": "bench"}
    return jsonschema.Draft7Validator(schema)


def run_script(name, *arguments):
    return subprocess.run([sys.executable, os.path.join(BENCH, name), *arguments],
                          capture_output=True, text=True, timeout=120, cwd=ROOT)


def bench_file(turns):
    """A result with one row and these CPU seconds."""
    row = measure.Measured(rows.TINY[0])
    row.ours, row.memory = turns, [10.0] * len(turns)
    return result.bench_result([row], [], ENVIRONMENT, 1.0, 0.0, False)


class BenchTest(ProgramTest):
    def test_toy_rows_make_a_result_that_plot_and_export_read(self):
        path = self.path("bench.json")
        run = run_script("bench.py", "--tiny", "--build", os.path.dirname(BINARY), "--out", path)
        self.assertEqual(run.returncode, 0, run.stderr)
        found = loads(self.read("bench.json"))
        self.assertEqual([e.message for e in bench_schema().iter_errors(found)], [])
        self.assertIn("kernel", found["environment"])
        self.assertIn("cpu", found["environment"])
        for row in rows.TINY:
            self.assertIn(f"{row.name}.ranklab_s", found["scalars"])
            self.assertIn(row.work, run.stdout)
        self.assertGreater(found["scalars"]["tiny-figure-3.ranklab_mb"]["mean"], 1)
        if measure.missing_modules("figure_3.py"):
            self.assertIn("no peer", run.stdout)
        else:
            self.assertGreater(found["scalars"]["tiny-figure-3.ratio"]["mean"], 0)
            self.assertIn("tiny-figure-3: the peer's numbers differ by at most", run.stdout)
            self.assertIn("<svg", self.read("bench.svg"))
        names = [series["name"] for series in found["series"]]
        for what in ("seconds", "memory_mb", "predicted_memory_mb"):
            self.assertIn(f"growth.tiny.{what}", names)
        self.assertIn("| tiny | k 16 to 32 |",
                      run_script("bench.py", "--markdown", path, "--growth").stdout)
        self.assertIn("threads.tiny.computed", names)
        self.assertEqual(found["series"][names.index("threads.tiny.measured")]["x"][0], 1)
        self.assertIn("| toy sizes |",
                      run_script("bench.py", "--markdown", path, "--threads").stdout)
        csv = self.run_program(["export", path, "--what", "scalars"]).stdout
        self.assertIn("tiny-figure-3.ranklab_s", csv)
        table = run_script("bench.py", "--markdown", path).stdout.splitlines()
        self.assertEqual(table[2].split(" | ")[0], "| Figure 3, 20 steps")
        self.assertEqual(len(table), 3)

    def test_the_share_of_the_limit_is_the_least_time_over_ours(self):
        row = measure.Measured(rows.Row("a", "a", "", needs={"dgemm": 6e9, "svd": 2e9}))
        row.ours = [2.0, 4.0]
        self.assertEqual(result.share_of_limit(row, {"dgemm": 10.0, "svd": 5.0}), [0.5, 0.25])
        self.assertIsNone(result.share_of_limit(row, {"dgemm": 10.0}))

    def test_a_limit_is_the_better_of_two_runs_and_a_machine_with_other_load_is_named(self):
        def with_limits(dgemm, svd, seconds):
            row = measure.Measured(rows.Row("a", "a", "", needs={"dgemm": 6e9}))
            row.ours, row.memory = [seconds], [10.0]
            block_runs = [[("limit dgemm", g, "GFLOP/s"), ("limit svd", s, "GFLOP/s"),
                           ("polar factor", 2.0, "ms")] for g, s in zip(dgemm, svd)]
            return result.bench_result([row], block_runs, ENVIRONMENT, 1.0, 0.0, False)

        def noise(found):
            return [note for note in found["notes"] if note.startswith("Not quiet")]

        quiet = with_limits((9.5, 10.0), (5.0, 5.4), 1.0)
        self.assertEqual([e.message for e in bench_schema().iter_errors(quiet)], [])
        self.assertEqual(noise(quiet), [])
        self.assertEqual(quiet["trial_values"]["limit.dgemm"], [10.0])
        self.assertEqual(quiet["trial_values"]["limit_runs.dgemm"], [9.5, 10.0])
        self.assertEqual(quiet["trial_values"]["block.polar-factor.ms"], [2.0])
        self.assertEqual(quiet["trial_values"]["a.limit_share"], [0.6])
        self.assertIn("Limit dgemm: 10 GFLOP/s, the lower run 9.5.", quiet["notes"])
        self.assertEqual(noise(with_limits((10.0, 10.0), (5.0, 4.4), 1.0)), [
            "Not quiet: the limit svd changed by 12 % between the start and the end."])
        self.assertEqual(noise(with_limits((10.0, 10.0), (5.0, 5.0), 0.5)), [
            "Not quiet: a ran faster than the measured limits allow."])
        self.assertEqual(noise(with_limits((10.0,), (5.0,), 1.0)), [])

    def test_counts_of_operations(self):
        self.assertEqual(operations.singular_values(3), {"svd": 4 * 27 - 36})
        self.assertEqual(operations.singular_values(2, 5), operations.singular_values(5, 2))
        self.assertEqual(operations.total({"a": 1}, operations.times(2, {"a": 1, "b": 3})),
                         {"a": 3, "b": 6})
        # Six operations per weight and token, and 12 d^2 weights per layer, without attention.
        step = operations.gpt_step(8, "adam", layers=3, batch=1, context=1, vocabulary=1)["sgemm"]
        self.assertEqual(step, 6 * (12 * 64 * 3 + 8) + 3 * 2 * 3 * 2 * 8)

    def test_a_peer_with_other_numbers_is_refused(self):
        row = rows.Row("a", "a", "", "a.py", {"x": 1e-6, "s": (1e-6, 2)})
        ours = {"scalars": {"x": {"mean": 1.0}}, "series": [{"name": "s", "mean": [1, 2, None]}]}
        peer = {"scalars": {"x": 1.0 + 1e-9}, "series": {"s": [1, 2, 9]}}
        self.assertAlmostEqual(measure.check_agreement(row, ours, peer), 1e-9, delta=1e-12)
        for broken in ({"scalars": {"x": 1.1}, "series": peer["series"]},
                       {"scalars": peer["scalars"], "series": {"s": [1, 3, 9]}},
                       {"scalars": peer["scalars"], "series": {"s": [1, 2]}},
                       {"scalars": {"x": None}, "series": peer["series"]}):
            with self.assertRaises(measure.Disagreement):
                measure.check_agreement(row, ours, broken)

    def test_growth_fits_the_exponent_of_the_last_three_values(self):
        self.assertAlmostEqual(growth.exponent([1, 2, 4, 8], [9.0, 8.0, 64.0, 512.0]), 3)
        self.assertIsNone(growth.exponent([1, 2, 4], [1.0, 0.0, 2.0]))
        sweep = growth.Sweep("a", "k", "x --k {v} --d {v/2} --n {4v}", (2, 4, 8), 2, 1, "")
        self.assertEqual(growth.filled(sweep.command, 6), "x --k 6 --d 3 --n 24 --trials 1")
        grown = growth.Grown(sweep)
        grown.seconds, grown.memory = [1.0, 4.0, 16.0], [1.0, 2.0, 4.0]
        self.assertAlmostEqual(grown.time_exponent, 2)
        self.assertAlmostEqual(grown.memory_exponent, 1)
        self.assertAlmostEqual(grown.practical[0], 8 * math.sqrt(600 / 16))
        self.assertEqual(grown.practical[1], "10 min")
        grown.memory = [1e3, 2e3, 4e3]
        self.assertAlmostEqual(grown.practical[0], 32)
        self.assertEqual(grown.practical[1], "16 GB")

    def test_the_speed_up_is_the_wall_time_of_one_thread_over_that_of_more(self):
        class Program(measure.Program):
            """One thread takes 12 s, n threads 12 / n + 2 s."""

            def measure_once(self, row, options=(), threads=1):
                self.wall = 12.0 if threads == 1 else 12 / threads + 2

        one = threads.OneTrial("a", "work", "x", parts=False)
        found = threads.measure_speed_up(Program("", self.folder), one, turns=3, cores=5)
        self.assertEqual(found.measured, {2: [1.5] * 3, 4: [2.4] * 3})
        self.assertEqual(found.cells(), ["work", "1.50 (-)", "2.40 (-)", "- (-)", "- (-)", "> 1.7"])
        self.assertEqual(found.series()[0]["mean"], [1.0, 1.5, 2.4])

    def test_rows_have_their_scripts_and_compare_numbers(self):
        names = [row.name for row in rows.ROWS + rows.TINY]
        self.assertEqual(len(set(names)), len(names))
        for row in rows.ROWS:
            for command in (row.peer, row.ours if row.script else None):
                if command:
                    self.assertTrue(os.path.exists(os.path.join(PEERS, command.split()[0])), command)
            if row.peer and not row.steps and not row.block:
                self.assertTrue(row.agree, row.name)
        self.assertLessEqual(sum(row.headline for row in rows.ROWS), 8)

    def test_the_readme_shows_the_stored_table(self):
        if not os.path.exists(STORED):
            self.skipTest("no results/bench/bench.json")
        details = os.path.join("tests", "bench", "README.md")
        for document, option in (("README.md", []), (details, ["--all"]), (details, ["--growth"]),
                                 (details, ["--threads"])):
            table = run_script("bench.py", "--markdown", STORED, *option).stdout
            self.assertGreater(len(table.splitlines()), 3)
            with open(os.path.join(ROOT, document), encoding="utf-8") as file:
                self.assertIn(table, file.read(), document)

    def test_the_stored_result_fits_the_schema(self):
        if not os.path.exists(STORED):
            self.skipTest("no results/bench/bench.json")
        with open(STORED, encoding="utf-8") as file:
            found = loads(file.read())
        self.assertEqual([e.message for e in bench_schema().iter_errors(found)], [])


class MemoryTest(ProgramTest):
    def test_the_memory_of_a_preset_goes_into_its_file(self):
        text = '{\n  "seconds": 1,\n  "memory_mb": 7,\n  "config": {}\n}\n'
        path = self.write("preset.json", text)
        for megabytes in (30, 25):
            memory.write_memory(path, megabytes)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(json.load(file), {"seconds": 1, "memory_mb": megabytes, "config": {}})

    def test_the_table_keeps_the_rows_of_other_presets(self):
        path = self.write("memory.csv", "preset,seconds,memory_mb\na,1,10\nb,2,20\ngone,1,1\n")
        listed = [{"name": name, "seconds": seconds, "memory_mb": 30} for name, seconds in (("b", 5), ("a", 5), ("new", 6))]
        memory.write_table(path, listed, ["b", "new"])
        self.assertEqual(self.read("memory.csv"), "preset,seconds,memory_mb\nb,5,30\na,1,10\nnew,6,30\n")

    def test_every_preset_has_its_memory_and_the_table_shows_it(self):
        listed = json.loads(subprocess.check_output([BINARY, "list", "--json"], cwd=ROOT))
        with open(os.path.join(ROOT, "results", "bench", "memory.csv"), encoding="utf-8") as file:
            table = {row["preset"]: float(row["memory_mb"]) for row in csv.DictReader(file)}
        measured = {preset["name"]: preset.get("memory_mb") for preset in listed}
        lacking = sorted(name for name, megabytes in measured.items() if megabytes is None or name not in table)
        self.assertEqual(lacking, [], f"no \"memory_mb\", or no row in results/bench/memory.csv: `make memory ONLY={','.join(lacking)}` measures it")
        self.assertEqual(table, measured)
        self.assertEqual({name: megabytes for name, megabytes in table.items() if megabytes > 1000}, {})


class CompareTest(ProgramTest):
    def compare(self, a, b):
        return run_script("compare.py", self.write("a.json", bench_file(a)),
                          self.write("b.json", bench_file(b)))

    def test_two_results(self):
        noise = [1.0, 1.001, 0.999, 1.0005]
        for times, verdict, code in (([1.3 * t for t in noise], "slower", 1),
                                     ([t / 1.3 for t in noise], "faster", 0),
                                     (noise, "same", 0), ([0.9, 1.3, 0.95, 1.1], "undecided", 0),
                                     ([1.0], "unknown", 0)):
            run = self.compare(noise, times)
            self.assertEqual(run.stdout.split()[-1], verdict, run.stdout)
            self.assertEqual(run.returncode, code, run.stdout)
            self.assertIn("Unpaired", run.stdout)

    def test_pairs_find_what_noise_common_to_both_hides(self):
        a = [1.0, 1.3, 0.9, 1.1, 1.6]  # a load that both builds share
        b = [1.02 * t * s for t, s in zip(a, (1.0, 1.001, 0.999, 1.0005, 0.9995))]
        self.assertEqual(compare.verdict(*compare.paired(a, b, 0.99)), "slower")
        self.assertNotEqual(compare.verdict(*compare.unpaired(a, b, 0.99)), "slower")

    def test_two_builds(self):
        build = os.path.dirname(BINARY)
        run = run_script("compare.py", build, build, "--rows", "tiny-start-up", "--turns", "2")
        self.assertEqual(run.stderr, "")
        self.assertIn("Paired", run.stdout)
        self.assertRegex(run.stdout, r"tiny-start-up +\S+ s +\S+ s")

    def test_refusals(self):
        stored = self.write("a.json", bench_file([1.0, 1.0]))
        other = self.write("b.json", {"command": "random-features"})
        build = os.path.dirname(BINARY)
        for arguments, message in (([stored, build], "both be folders"), ([stored, other], "bench"),
                                   ([stored, self.path("c.json")], "does not exist"),
                                   ([build, build, "--rows", "nothing"], "no row 'nothing'")):
            run = run_script("compare.py", *arguments)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(message, run.stderr)


class IntervalsTest(unittest.TestCase):
    def test_student_quantiles(self):
        # Tables of the t distribution.
        for degrees, quantile in ((1, 63.657), (2, 9.925), (4, 4.604), (9, 3.250), (30, 2.750)):
            self.assertAlmostEqual(intervals.student_quantile(0.99, degrees), quantile, delta=6e-4)

    def test_interval_of_mean(self):
        mean, width = intervals.interval_of_mean([1.0, 2.0, 3.0], 0.99)
        self.assertEqual(mean, 2.0)
        self.assertAlmostEqual(width, 9.925 / math.sqrt(3), delta=1e-3)
        self.assertEqual(intervals.interval_of_mean([1.0], 0.99)[1], math.inf)

    def test_interval_of_difference(self):
        # Equal sizes and variances: Welch's degrees of freedom are 2 n - 2 = 4.
        difference, width = intervals.interval_of_difference([1, 2, 3], [2, 3, 4], 0.99)
        self.assertEqual(difference, 1.0)
        self.assertAlmostEqual(width, 4.604 * math.sqrt(2 / 3), delta=1e-3)
