"""`advise`: prints which layers to train with Muon, for each kind of path, and writes only what is asked for."""
import os
import unittest

from program import ProgramTest, loads, reproducible
from stored_tensors import npy, safetensors
from test_files import EQUAL, GRADIENT, SPIKED, flat

STUDY = "one-step-compare --study files"
# st(SPIKED) = 19/16 and nr(GRADIENT) = 3, so nr/st = 48/19.
ROW = "2.526"


class AdviseTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("dump"))
        self.write("a.npy", npy(SPIKED))
        self.write("g.npy", npy(GRADIENT))
        self.write("acts.safetensors", safetensors({"fc": flat(SPIKED)}))
        self.write("grads.safetensors", safetensors({"fc": flat(GRADIENT)}))
        for name in ("one", "two"):
            self.write(f"{name}.json", {"pairs": [{"name": name, "activation": "a.npy", "gradient": "g.npy"}]})
        layer = {"name": "fc", "parameter": "fc.weight", "file": "0.safetensors", "samples": 6, "role": "hidden"}
        second_moment = [[sum(x * y for x, y in zip(a, b)) for b in SPIKED] for a in SPIKED]
        self.write("dump/0.safetensors", safetensors({"second_moment": flat(second_moment), "gradient": flat(GRADIENT)}))
        self.write("dump/recording.json", {"format": "ranklab.recording/1", "layers": [layer], "not_seen": {}})

    def advise(self, words, exit_code=0):
        """Standard output of `advise`, which must write nothing else and no file."""
        before = sorted(os.listdir(self.folder))
        run = self.run_program(f"advise {words}", exit_code)
        self.assertEqual(run.stderr, "")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return run.stdout

    def test_the_table_of_each_kind_of_path_is_that_of_its_flag(self):
        for paths, flags in (("dump", "--from dump"), ("one.json two.json", "--manifest one.json --manifest two.json"),
                             ("acts.safetensors grads.safetensors", "--activations acts.safetensors --gradients grads.safetensors"),
                             ("a.npy g.npy", "--pair layer,a.npy,g.npy"), ("--pair layer,a.npy,g.npy", "--pair layer,a.npy,g.npy")):
            with self.subTest(paths):
                shown = self.advise(paths)
                self.assertIn(ROW, shown)
                self.assertIn("Muon: its guaranteed step gains at least as much as that of gradient descent", shown)
                lines = self.run_program(f"{STUDY} {flags} --force --out out.json").stderr.splitlines()[1:]
                self.assertEqual(shown.splitlines(), lines[:len(shown.splitlines())])
                self.assertNotIn("eq-1.8", shown)
                os.remove(self.path("out.json"))

    def test_weights_get_ranks_without_advice(self):
        self.write("weights.safetensors", safetensors({"fc": flat(EQUAL)}))
        shown = self.advise("weights.safetensors")
        self.assertIn("effective rank", shown)
        self.assertNotIn("advice", shown)

    def test_a_result_is_written_if_asked_for_and_verifies(self):
        run = self.run_program("advise dump --out result.json")
        self.assertIn(ROW, run.stdout)
        self.assertEqual(run.stderr, "result.json\n")
        document = loads(self.read("result.json"))
        self.check_schema(document)
        self.assertEqual((document["command"], document["config"]["study"], document["config"]["from"]), ("one-step-compare", "files", "dump"))
        self.run_program(f"{STUDY} --from dump --out same.json")
        self.assertEqual(reproducible(self.read("result.json")), reproducible(self.read("same.json")))
        self.run_program("verify result.json --quiet")
        self.assertEqual(loads(self.run_program("advise dump --out -").stdout)["config"], document["config"])
        self.refused("advise dump --out a.npy", "a.npy", "--force")

    def test_gates_set_the_exit_status(self):
        self.assertIn("gate fails", self.advise("dump --fail-if fc:ratio<3", exit_code=3))
        self.assertEqual(self.advise("dump --fail-if fc:ratio<3 --quiet", exit_code=3), "")
        self.advise("dump --fail-if fc:ratio<2")

    def test_bad_input(self):
        self.write("model.bin", "x")
        os.mkdir(self.path("empty"))
        for words, needles, code in (("", ("advise takes a folder or files", "advise --help"), 2), ("missing", ("missing", "no such file or folder"), 1),
                                     ("model.bin", ("model.bin", ".safetensors"), 2), ("dump dump", ("dump", "a folder"), 2),
                                     ("a.npy", ("a.npy", "two .npy"), 2), ("dump --from dump", ("--from",), 2),
                                     ("dump --study gpt", ("--study",), 2), ("dump --shard 1/2", ("--shard",), 2),
                                     ("dump --resume", ("--resume", "--out"), 2), ("dump --dim 4", ("--dim", "files"), 2),
                                     ("empty", ("empty",), 1), ("dump --spllit x", ("--spllit", "--split"), 2)):
            with self.subTest(words):
                self.refused(f"advise {words}", *needles, exit_code=code)

    def test_help_lists_the_flags_of_the_study(self):
        shown = self.run_program("advise --help").stdout
        for word in ("FOLDER|FILE...", "--fail-if", "--groups", "--out", "--quiet"):
            self.assertIn(word, shown)
        for word in ("--shard", "--dim"):
            self.assertNotIn(word, shown)


if __name__ == "__main__":
    unittest.main()
