"""`ranks`: prints the table for each kind of path, and writes only what is asked for."""
import os
import subprocess
import unittest

from program import ROOT, ProgramTest, loads, reproducible
from stored_tensors import recording, safetensors
from test_files import EQUAL, GRADIENT, SPIKED, flat

# st(SPIKED) = 19/16 and nr(GRADIENT) = 3, so nr/st = 48/19.
ROW = "2.526"


class RanksTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("dump"))
        os.mkdir(self.path("model"))
        self.write("acts.safetensors", safetensors({"fc": flat(SPIKED)}))
        self.write("grads.safetensors", safetensors({"fc": flat(GRADIENT)}))
        second_moment = [[sum(x * y for x, y in zip(a, b)) for b in SPIKED] for a in SPIKED]
        one = recording([{"name": "fc", "n": 6, "role": "hidden"}], {"fc.second_moment": flat(second_moment), "fc.gradient": flat(GRADIENT)})
        for path in ("dump/step100.safetensors", "step3.safetensors", "step4.safetensors"):
            self.write(path, one)
        for shard, key in (("model-1.safetensors", "fc.weight"), ("model-2.safetensors", "out.weight")):
            self.write(f"model/{shard}", safetensors({key: flat(EQUAL)}))
        self.index = {"metadata": {"total_size": 9}, "weight_map": {"fc.weight": "model-1.safetensors", "out.weight": "model-2.safetensors"}}
        self.write("model/model.safetensors.index.json", self.index)

    def ranks(self, words, exit_code=0):
        """Standard output of `ranks`, which must write nothing else and no file."""
        before = sorted(os.listdir(self.folder))
        run = self.run_program(f"ranks {words}", exit_code)
        self.assertEqual(run.stderr, "")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return run.stdout

    def test_the_table_of_each_kind_of_path_is_that_of_its_flag(self):
        for paths, flags in (("dump", "--from dump"), ("dump/step100.safetensors", "--from dump/step100.safetensors"),
                             ("step3.safetensors step4.safetensors", "--from step3.safetensors --from step4.safetensors"),
                             ("--activations acts.safetensors --gradients grads.safetensors",) * 2):
            with self.subTest(paths):
                shown = self.ranks(paths)
                self.assertIn(ROW, shown)
                self.assertIn("it does not say which optimizer trains faster", " ".join(shown.split()))
                self.assertIn("One batch has no interval", " ".join(shown.split()))
                self.assertNotRegex(shown, "Muon|Euclidean")
                self.assertEqual(shown, self.ranks(flags))
                self.assertNotIn("eq-1.8", shown)

    def test_weights_get_ranks_without_a_verdict(self):
        self.write("weights.safetensors", safetensors({"fc": flat(EQUAL)}))
        shown = self.ranks("weights.safetensors")
        self.assertIn("effective rank", shown)
        self.assertIn("random st", shown)
        self.assertNotIn("(1.8)", shown)
        for path in ("model", "model/model.safetensors.index.json"):
            shown = self.ranks(path)
            self.assertRegex(shown, r"(?m)^  fc +4 x 6 ")
            self.assertRegex(shown, r"(?m)^  out +4 x 6 ")
        os.remove(self.path("model/model-2.safetensors"))
        self.refused("ranks model", "model-2.safetensors", exit_code=1)

    def test_a_result_is_written_if_asked_for_and_verifies(self):
        run = self.run_program("ranks dump --out result.json")
        self.assertIn(ROW, run.stdout)
        self.assertEqual(run.stderr, "result.json\n")
        document = loads(self.read("result.json"))
        self.check_schema(document)
        self.assertEqual((document["command"], document["config"]["study"], document["config"]["from"]), ("ranks", "files", ["dump"]))
        self.run_program("ranks --from dump --out same.json")
        self.assertEqual(reproducible(self.read("result.json")), reproducible(self.read("same.json")))
        self.run_program("verify result.json --quiet")
        self.assertEqual(loads(self.run_program("ranks dump --out -").stdout)["config"], document["config"])
        self.refused("ranks dump --out acts.safetensors", "acts.safetensors", "--force")

    def test_gates_set_the_exit_status(self):
        self.assertIn("gate fails", self.ranks("dump --fail-if fc:ratio<3", exit_code=3))
        self.assertEqual(self.ranks("dump --fail-if fc:ratio<3 --quiet", exit_code=3), "")
        self.ranks("dump --fail-if fc:ratio<2")

    def test_bad_input(self):
        self.write("model.bin", "x")
        os.mkdir(self.path("empty"))
        for words, needles, code in (("", ("ranks takes files or folders", "ranks --help"), 2), ("missing", ("missing", "no such file or folder"), 1),
                                     ("model.bin", ("model.bin", ".safetensors"), 2), ("dump model", ("dump", "not allowed together"), 2),
                                     ("acts.safetensors dump", ("acts.safetensors", "not allowed together"), 2),
                                     ("dump --study gpt", ("--study",), 2), ("dump --shard 1/2", ("--shard",), 2),
                                     ("dump --resume", ("--resume", "--out"), 2), ("dump --dim 4", ("--dim", "ranks PATH..."), 2),
                                     ("empty", ("empty",), 1), ("model model", ("model and model are not measured together", "compare"), 2), ("dump --spllit x", ("--spllit", "--split"), 2)):
            with self.subTest(words):
                self.refused(f"ranks {words}", *needles, exit_code=code)
        self.refused("one-step-compare --study files --from dump", "--study", "'files'")

    def test_results_of_earlier_versions_are_refused_with_the_cure(self):
        self.run_program("ranks dump --out old.json --quiet")
        self.write("old.json", loads(self.read("old.json")) | {"command": "one-step-compare"})
        for command in ("plot", "report", "verify"):
            self.refused(f"{command} old.json", "old.json", "earlier version", "ranks PATH... --out FILE", exit_code=1)

    def test_a_recording_of_the_python_package_has_the_ranks_of_the_samples(self):
        script = """
import torch, ranklab
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(12, 20), torch.nn.ReLU(), torch.nn.Linear(20, 6))
x, y = torch.randn(64, 12), torch.randn(64, 6)
with ranklab.record(model, "step7.safetensors"):
    ((model(x) - y) ** 2).mean().backward()
inputs = {"0": x, "2": model[1](model[0](x))}
for name, a in inputs.items():
    s = torch.linalg.svdvals(a.detach().double())
    g = torch.linalg.svdvals(model[int(name)].weight.grad.double())
    print(name, float((s ** 2).sum() / s[0] ** 2), float(g.sum() ** 2 / (g ** 2).sum()))
"""
        if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
            self.skipTest("needs PyTorch")
        run = subprocess.run(["/usr/bin/python3", "-c", script], cwd=self.folder, capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.run_program("ranks step7.safetensors --out out.json --quiet")
        scalars = loads(self.read("out.json"))["scalars"]
        for line in run.stdout.splitlines():
            name, st, nr = line.split()
            self.assertAlmostEqual(scalars[f"{name}.stable_rank"]["mean"], float(st), delta=1e-5 * float(st))
            self.assertAlmostEqual(scalars[f"{name}.nuclear_rank"]["mean"], float(nr), delta=1e-5 * float(nr))
        self.assertEqual(len(run.stdout.splitlines()), 2)

    def test_advise_names_its_successor(self):
        for words in ("", " dump", " --help"):
            run = self.run_program(f"advise{words}", 2)
            self.assertEqual(run.stdout, "")
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
            self.assertIn("ranklab ranks", run.stderr)

    def test_help_lists_the_flags_of_the_study(self):
        shown = self.run_program("ranks --help").stdout
        for word in ("PATH...", "--fail-if", "--out", "--quiet"):
            self.assertIn(word, shown)
        for word in ("--shard", "--dim", "--groups", "--validate"):
            self.assertNotIn(word, shown)


if __name__ == "__main__":
    unittest.main()
