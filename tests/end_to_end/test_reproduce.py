"""`reproduce`: runs the cheap presets first, keeps finished results, and continues if a preset fails."""
import os
import signal
import subprocess
import time
import unittest

from program import BINARY, ROOT, ProgramTest, loads

TRAJECTORY = {"study": "trajectory", "m": 12, "k": 10, "d": 5, "n": 30, "steps": 20, "restart-every": 0, "trials": 5, "seed": 1}
MLP = {"study": "mlp", "d": 6, "width": 8, "n": 16, "steps": 5, "trials": 2, "seed": 1}


class ReproduceTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("experiments"))
        self.preset("slow", "random-features", TRAJECTORY, seconds=30, trial="seed", reproduce={"config": {"trials": 2}, "seconds": 3})
        self.preset("losses", "one-step-compare", dict(MLP, panels=["loss"]), seconds=1)
        self.preset("ranks", "one-step-compare", dict(MLP, panels=["stable-rank"]), seconds=2)

    def preset(self, name, command, config, **more):
        self.write(f"experiments/{name}.json", {"command": command, "title": f"Preset {name}", "config": config, **more})

    def lines(self, arguments="", exit_code=0, **kw):
        run = self.run_program(f"reproduce {arguments}", exit_code, **kw)
        self.assertEqual(run.stdout, "")
        return run.stderr.splitlines()

    def result_of(self, name):
        document = loads(self.read(f"results/{name}.json"))
        self.check_schema(document)
        return document

    def test_cheap_presets_run_first_and_finished_ones_are_kept(self):
        lines = self.lines()
        self.assertEqual(lines[0], "3 presets, about 6 s left")
        for line, start in zip(lines[1:4], ("[1/3] losses ", "[2/3] ranks ", "[3/3] slow ")):
            self.assertTrue(line.startswith(start), line)
            self.assertRegex(line, r"\d s  \d+ (hold|fail|slip|not seen|beyond|undecided|not applicable)")
        self.assertRegex(lines[4], r"^results/report.html after \d+ s$")
        self.assertIn("2 of 5 seeds", self.read("results/slow.svg"))
        self.assertEqual(self.result_of("slow")["trials"]["completed"], 2)
        for name in ("losses", "ranks", "slow"):
            self.assertIn(f"Preset {name}", self.read("results/report.html"))
        before = {name: self.read(f"results/{name}.json") for name in ("losses", "ranks", "slow")}
        lines = self.lines()
        self.assertEqual(lines[0], "3 presets, 3 of them finished, about 0 s left")
        self.assertTrue(all("  kept  " in line for line in lines[1:4]), lines)
        self.assertEqual(before, {name: self.read(f"results/{name}.json") for name in before})

    def test_a_short_run_leaves_claims_undecided_that_the_full_run_may_change(self):
        self.lines("slow")
        withheld = [claim for claim in self.result_of("slow")["claims"] if claim.get("shortened")]
        self.assertTrue(withheld)
        for claim in withheld:
            self.assertEqual(claim["verdict"], "not-applicable")
            self.assertTrue(claim["detail"].startswith("shortened: 2 of 5 seeds; "), claim["detail"])
        self.assertIn("undecided: short run", self.read("results/report.html"))
        self.lines("slow --full")
        self.assertFalse([claim for claim in self.result_of("slow")["claims"] if claim.get("shortened")])

    def test_finished_trials_survive_if_the_result_cannot_be_written(self):
        self.preset("slow", "random-features", dict(TRAJECTORY, steps=400, trials=60), seconds=30)
        process = subprocess.Popen([BINARY, "reproduce", "slow", "--threads", "1"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        journal = self.path("results/slow.json.journal")
        while process.poll() is None and not (os.path.exists(journal) and os.path.getsize(journal) > 10_000):
            time.sleep(0.001)
        os.mkdir(self.path("results/slow.json"))  # so that the result cannot be put there
        self.assertIn("failed: cannot write results/slow.json", process.communicate(timeout=60)[1])
        self.assertEqual(process.returncode, 1)
        kept = os.path.getsize(journal)
        os.rmdir(self.path("results/slow.json"))
        self.lines("slow")
        self.assertEqual(self.result_of("slow")["trials"]["completed"], 60)
        self.assertFalse(os.path.exists(journal))
        self.assertGreater(kept, 10_000)

    def test_a_changed_input_file_runs_again(self):
        self.write("ids.json", [[3, 0, 7, 7], [5, 2, 9, 4]])
        self.preset("measured", "rank-collapse", {"model": "gpt2", "layers": 2, "dim": 8, "tokens-file": "ids.json"}, seconds=1)
        self.assertNotIn("  kept  ", self.lines("measured")[1])
        self.assertIn("  kept  ", self.lines("measured")[1])
        self.write("ids.json", [[3, 0, 7, 7], [5, 2, 9, 8]])
        self.assertNotIn("  kept  ", self.lines("measured")[1])

    def test_contradictions_with_the_reference_are_found(self):
        self.lines("losses")
        document = self.result_of("losses")
        os.mkdir(self.path("reference"))
        decided = next(claim for claim in document["claims"] if claim["verdict"] == "fails")

        def compare(verdict):
            decided["verdict"] = verdict
            self.write("reference/losses.json", document)
            return subprocess.run([os.path.join(ROOT, "tests", "check_verdicts.py"), self.path("results"), self.path("reference")],
                                  capture_output=True, text=True)

        for verdict in ("fails", "not-applicable"):
            run = compare(verdict)
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertIn("0 contradictions", run.stdout)
        run = compare("holds")
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"losses: {decided['id']}: fails here, holds in", run.stdout)

    def test_a_result_is_that_of_run(self):
        self.lines()
        for name in ("losses", "ranks"):
            reproduced, alone = self.result_of(name), self.result(f"run {name}")
            for key in ("config", "scalars", "trial_values", "series", "claims", "figure"):
                self.assertEqual(reproduced[key], alone[key], key)

    def test_a_full_result_replaces_a_reduced_one_and_is_kept(self):
        self.lines("slow")
        self.assertEqual(self.lines("slow --full")[0], "1 preset, about 30 s left")
        document = self.result_of("slow")
        self.assertEqual(document["trials"]["completed"], 5)
        self.assertNotIn("changed", document)
        self.assertIn("  kept  ", self.lines("slow")[1])
        # Even if another build wrote it: a full result is not replaced by a reduced one.
        document["environment"]["program"] = "0"
        self.write("results/slow.json", document)
        self.assertIn("  kept  ", self.lines("slow")[1])
        self.assertNotIn("  kept  ", self.lines("slow --full")[1])

    def test_results_of_another_build_and_interrupted_results_are_run_again(self):
        self.lines("losses")
        for key, value in (("program", "0"), ("status", "interrupted")):
            document = self.result_of("losses")
            (document["environment"] if key == "program" else document)[key] = value
            self.write("results/losses.json", document)
            self.assertNotIn("  kept  ", self.lines("losses")[1])

    def test_a_preset_that_fails_does_not_stop_the_others(self):
        self.preset("broken", "rank-collapse", {"model": "gpt2", "tokens-file": "ids.json"}, seconds=0)
        lines = self.lines(exit_code=1)
        self.assertRegex(lines[1], r"^\[1/4\] broken .*ids\.json")
        self.assertRegex(lines[-1], "1 preset failed$")
        self.assertEqual(self.result_of("slow")["status"], "complete")

    def test_a_preset_with_an_unknown_key_does_not_stop_the_others(self):
        self.preset("odd", "random-features", {"study": "trajectory", "nothing": 1}, seconds=0)
        lines = self.lines(exit_code=1)
        self.assertRegex(lines[1], r"^\[1/4\] odd .*failed: .*nothing")
        self.assertIn("[4/4] slow", lines[4])
        self.lines("losses")

    def test_the_page_keeps_the_results_of_another_program_and_of_other_parameters(self):
        self.lines("losses")
        result = self.result_of("losses")
        result["environment"]["program"] = "0"
        result["config"]["seed"] = 77
        self.write("results/losses.json", result)
        self.lines("ranks")
        for name in ("losses", "ranks"):
            self.assertIn(f"Preset {name}", self.read("results/report.html"))
        self.assertEqual(self.result_of("losses"), result)

    def test_the_page_shows_all_finished_presets_including_earlier_ones(self):
        self.lines("losses")
        self.assertNotIn("Preset ranks", self.read("results/report.html"))
        self.lines("ranks")
        for name in ("losses", "ranks"):
            self.assertIn(f"Preset {name}", self.read("results/report.html"))

    def test_the_page_of_one_preset_is_the_page_of_the_folder(self):
        self.lines()
        for names in ("", "losses"):
            self.lines(names)
            self.run_program(["report", *(f"results/{name}.json" for name in ("losses", "ranks", "slow")), "--quiet", "--out", "all.html"])
            self.assertEqual(self.read("results/report.html"), self.read("all.html"))

    def test_a_picture_older_than_its_result_is_drawn_again(self):
        self.lines("losses")
        picture = self.read("results/losses.svg")
        self.write("results/losses.svg", "of another run")
        os.utime(self.path("results/losses.svg"), (1, 1))
        self.lines("losses")
        self.assertEqual(self.read("results/losses.svg"), picture)

    def test_a_run_that_ends_between_two_pictures_draws_them_later(self):
        self.preset("all", "one-step-compare", MLP, seconds=1)
        self.lines("all")
        pictures = [f"results/all{which}.svg" for which in ("", ".2")]
        before = [self.read(path) for path in pictures]
        for path in pictures:
            os.remove(self.path(path))
        os.mkdir(self.path(pictures[1]))  # the second picture cannot be written
        self.lines("all", 1)
        os.rmdir(self.path(pictures[1]))
        self.lines("all")
        self.assertEqual(before, [self.read(path) for path in pictures])

    def test_a_result_with_different_parameters_is_not_overwritten(self):
        self.run_program("run losses --seed 7 --quiet --out results/losses.json")
        before = self.read("results/losses.json")
        lines = self.lines(exit_code=1)
        self.assertRegex(lines[1], r"^\[1/3\] losses .*failed: results/losses.json .*different parameters.*--force")
        self.assertEqual(self.read("results/losses.json"), before)
        self.lines("losses --force")
        self.assertEqual(self.result_of("losses")["config"]["seed"], 1)

    def test_an_interrupted_run_is_continued(self):
        self.preset("long", "random-features", dict(TRAJECTORY, steps=300, trials=4000), seconds=60)
        run = subprocess.Popen([BINARY, "reproduce", "--threads", "1"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        journal = self.path("results/long.json.journal")
        deadline = time.monotonic() + 30
        while (not os.path.exists(journal) or os.path.getsize(journal) < 20000) and time.monotonic() < deadline:
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=30)
        self.assertEqual(run.returncode, 130)
        self.assertIn("continues", errors)
        self.assertIn("Preset ranks", self.read("results/report.html"), "the page is written before all presets are finished")
        size = os.path.getsize(journal)
        run = subprocess.Popen([BINARY, "reproduce", "long", "--threads", "1"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        sizes = [size]
        while sizes[-1] <= size and time.monotonic() < deadline:
            time.sleep(0.002)
            sizes.append(os.path.getsize(journal))
        self.assertGreater(sizes[-1], size, "the journal does not grow")
        self.assertEqual(min(sizes), size, "the journal was started again instead of continued")
        run.kill()
        run.communicate()

    def test_bad_input(self):
        self.refused("reproduce nothing", "nothing")
        self.refused("reproduce --fulll", "--fulll", "--full")


if __name__ == "__main__":
    unittest.main()
