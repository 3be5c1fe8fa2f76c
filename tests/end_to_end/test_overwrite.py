"""No result is overwritten silently: if the --out file holds a different run, --force is needed."""
import os
import unittest

from program import TINY, ProgramTest, loads

OUT = "--quiet --out out.json"


class OverwriteTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.before = self.result_text(TINY)

    def refused_and_kept(self, arguments, *needles):
        self.refused(arguments, "--out out.json", "--force", *needles)
        self.assertEqual(self.read("out.json"), self.before)

    def test_another_config_is_refused_and_says_what_differs(self):
        self.refused_and_kept(f"{TINY} --seed 2 {OUT}", "seed 1, now 2")
        self.refused_and_kept(f"{TINY} --seed 2 --steps 19 --trials 9 {OUT}", "seed 1, now 2", "steps 20, now 19", "trials 3, now 9")
        self.refused_and_kept(f"random-features --study stable-rank {OUT}", 'study "trajectory", now "stable-rank"')
        self.refused_and_kept(f"spiked-model {OUT}", 'command "random-features", now "spiked-model"')

    def test_fewer_trials_are_refused_and_more_are_accepted(self):
        self.refused_and_kept(f"{TINY} --trials 2 {OUT}", "trials 3, now 2")
        self.run_program(f"{TINY} --trials 4 {OUT}")
        self.assertEqual(loads(self.read("out.json"))["trials"]["completed"], 4)

    def test_only_finished_trials_of_the_old_result_count(self):
        document = loads(self.before)
        document["config"]["trials"], document["trials"]["requested"], document["status"] = 9, 9, "interrupted"
        self.write("out.json", document)
        self.run_program(f"{TINY} --trials 4 {OUT}")

    def test_the_same_config_and_force_are_accepted(self):
        self.run_program(f"{TINY} {OUT}")
        self.run_program(f"{TINY} --seed 2 --force {OUT}")
        self.assertEqual(loads(self.read("out.json"))["config"]["seed"], 2)

    def test_the_name_of_the_preset_is_not_compared(self):
        os.mkdir(self.path("experiments"))
        config = {k: v for k, v in loads(self.before)["config"].items() if k != "preset"}
        self.write("experiments/mine.json", {"command": "random-features", "title": "t", "config": config})
        self.run_program(f"random-features --preset mine {OUT}")
        self.assertEqual(loads(self.read("out.json"))["preset"], "mine")

    def test_a_replay_does_not_overwrite_its_own_input(self):
        self.refused_and_kept(f"random-features --config out.json --m 13 {OUT}", "m 12, now 13")
        self.run_program(f"random-features --config out.json {OUT}")

    def test_a_file_that_is_not_a_result_is_refused_and_an_empty_file_is_replaced(self):
        for content in ("precious notes", "{}", '{"schema": "ranklab.result/3"}'):
            self.before = content
            self.write("out.json", content)
            self.refused_and_kept(f"{TINY} {OUT}", "is not a ranklab result")
        self.write("out.json", "")
        self.run_program(f"{TINY} {OUT}")

    def test_a_page_does_not_replace_a_result(self):
        self.refused("report out.json --out out.json", "--out out.json", "is one of the results")
        os.symlink("out.json", self.path("link.html"))
        self.refused("report out.json --out link.html", "--out link.html", "is one of the results")
        self.write("notes", "precious notes")
        self.refused("report out.json --out notes", "--out notes", "not a page")
        self.assertEqual((self.read("out.json"), self.read("notes")), (self.before, "precious notes"))
        for _ in range(2):
            self.run_program("report out.json --out page.html --quiet")

    def test_no_file_of_the_run_replaces_a_foreign_one(self):
        gpt = "one-step-compare --study gpt --layers 1 --dim 4 --heads 1 --context 4 --batch 2 --steps 1 --vocab char --trials 1 --quiet"
        train = "rank-collapse --study train --task text --model attention --vocab char --layers 1 --dim 4 --heads 1 --length 4 --batch 2 --steps 1 " \
                "--trials 2 --quiet"
        mlp = "one-step-compare --study mlp --d 3 --n 8 --steps 1 --trials 1 --quiet"
        self.write("text.tokens.txt", "the quick brown fox jumps over the lazy dog, " * 40)
        for run, foreign in ((f"{gpt} --save w.safetensors", "w.safetensors"), (f"{gpt} --save w.safetensors", "w.config.json"),
                             (f"{gpt} --record dump", "dump/step1.safetensors"), (f"{train} --save w.safetensors", "w.config.json"),
                             (f"{train} --save w.safetensors", "w.tokens.txt"), (f"{train} --save w.safetensors", "w.2.safetensors"),
                             (f"{mlp} --dump .", "gradients.safetensors"), (f"{mlp} --dump d", "d/activations.safetensors")):
            with self.subTest(run=run, foreign=foreign):
                os.makedirs(os.path.dirname(self.path(foreign)), exist_ok=True)
                self.write(foreign, "precious notes")
                self.refused(f"{run} --out own.json", foreign, "exists and is not", "--force")
                self.assertEqual(self.read(foreign), "precious notes")
                self.assertFalse(os.path.exists(self.path("own.json")))
                os.remove(self.path(foreign))
        self.refused(f"{train} --text text.tokens.txt --save text.safetensors --out own.json --force", "text.tokens.txt", "it reads")
        self.refused(f"{gpt} --save own.json --out ./own.json", "own.json", "is the file of --out")
        for _ in range(2):  # its own files
            self.run_program(f"{train} --save w.safetensors --out own.json")
        self.refused(f"{train} --save w.safetensors --out own2.json", "w.safetensors", "exists and is not")
        self.run_program(f"{train} --save w.safetensors --out own2.json --force")
        self.assertEqual(self.read("out.json"), self.before)

    def test_the_default_output_file_is_protected_too(self):
        self.run_program(f"{TINY} --quiet")
        self.refused(f"{TINY} --seed 2 --quiet", "results/random-features-trajectory.json", "--force")


if __name__ == "__main__":
    unittest.main()
