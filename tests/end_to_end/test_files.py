"""ranks: the binary reads recordings, weights, and pairs of archives."""
import math
import os
import random
import re
import unittest
import zipfile

from program import ROOT, ProgramTest, loads, reproducible
from stored_tensors import npy, recording, safetensors, write_pairs

STUDY = "ranks"


def diagonal(rows, cols, values):
    return [[values[i] if i == j and i < len(values) else 0.0 for j in range(cols)] for i in range(rows)]


def flat(rows):
    return [len(rows), len(rows[0])], [x for row in rows for x in row]


# The singular values of SPIKED are 2, 1/2, 1/2, 1/2: st = 19/16. Those of EQUAL (st = 4) and of GRADIENT (nr = 3) are equal.
SPIKED = diagonal(4, 6, [2.0, 0.5, 0.5, 0.5])
SPIKED_STABLE_RANK = 19 / 16
EQUAL = diagonal(4, 6, [2.0] * 4)
GRADIENT = diagonal(5, 4, [-0.5] * 3)


class FilesTest(ProgramTest):
    def files(self, words):
        return self.result(STUDY.split() + words)

    def check_layer(self, document, name, stable_rank, nuclear_rank, verdict):
        scalars = document["scalars"]
        for metric, expected in (("stable_rank", stable_rank), ("nuclear_rank", nuclear_rank), ("predicted_ratio", nuclear_rank / stable_rank)):
            self.assertLess(abs(scalars[f"{name}.{metric}"]["mean"] - expected), 1e-12 * expected, f"{name}.{metric}")
        claim = [c for c in document["claims"] if c["id"] == f"{name}/eq-1.8"]
        self.assertEqual([c["verdict"] for c in claim], [verdict])

    def test_archives_in_every_format(self):
        """An archive of one format, one of another, and entries of every type."""
        kinds = {"f8": (), "f4": ("<f4",), "f2": ("<f2",), "big": (">f4",), "fortran": ("<f8", True), "both": (">f8", True)}
        for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
            with zipfile.ZipFile(self.path(f"{name}.npz"), "w", method) as archive:
                for kind, of in kinds.items():
                    archive.writestr(f"{kind}.npy", npy(GRADIENT, *of))
        self.write("t.safetensors", safetensors({**{kind: flat(GRADIENT) for kind in kinds}, "f8": (*flat(GRADIENT), "BF16")}))
        self.write("a.safetensors", safetensors({kind: flat(SPIKED) for kind in kinds}))
        for gradients in ("stored.npz", "deflated.npz", "t.safetensors"):
            document = self.files(["--activations", "a.safetensors", "--gradients", gradients])
            self.assertEqual(len(document["table"]["rows"]), len(kinds))
            for kind in kinds:
                self.check_layer(document, kind, SPIKED_STABLE_RANK, 3, "holds")

    def test_the_example_in_the_guide_works_on_several_blas_kernels(self):
        with open(os.path.join(ROOT, "experiments", "ranks.md"), encoding="utf-8") as file:
            guide = file.read()
        example = re.search(r"```sh\n(build/ranklab one-step-compare --study mlp .*\n.*)\n```\n\n```\n((?:.*\n)*?)```", guide)
        train, ranks = (line.split()[1:] for line in example[1].splitlines())
        for kernel in ("", "Haswell", "Prescott"):
            with self.subTest(kernel):
                env = {"OPENBLAS_CORETYPE": kernel} if kernel else {}
                self.run_program(train + ["--force", "--quiet"], env=env)
                self.assertIn(example[2], self.run_program(ranks, env=env).stdout)

    def test_archives_are_paired_by_key(self):
        self.write("acts.safetensors", safetensors({"one": flat(SPIKED), "two": flat(EQUAL), "only": flat(EQUAL), "cube": ([2, 2, 2], [1.0] * 8),
                                                     "turned": flat([list(c) for c in zip(*SPIKED)])}))
        self.write("grads.safetensors", safetensors({"two": flat(GRADIENT), "one": flat(GRADIENT), "bias": ([3], [1.0] * 3), "cube": flat(GRADIENT),
                                                     "turned": flat(GRADIENT)}))
        words = ["--activations", "acts.safetensors", "--gradients", "grads.safetensors"]
        document = self.files(words)
        self.check_layer(document, "one", SPIKED_STABLE_RANK, 3, "holds")
        self.check_layer(document, "two", 4, 3, "fails")
        skipped = {entry["name"]: entry["reason"] for entry in document["skipped"]}
        self.assertEqual(set(skipped), {"only", "bias", "cube", "turned"})
        self.assertIn("2 x 2 x 2", skipped["cube"])
        self.assertIn("acts.safetensors", skipped["only"])
        self.assertIn("grads.safetensors", skipped["bias"])
        for part in ("6 x 4", "5 x 4", "they fit if the activation is transposed"):
            self.assertIn(part, skipped["turned"])
        self.refused([STUDY, *words, "--include", "turned", "--out", "other.json"], "6 x 4", "5 x 4", exit_code=1)
        self.refused([STUDY, *words[:2]], "--activations", "--gradients", "one without the other")
        self.refused([STUDY, "acts.safetensors", "grads.safetensors"], "not measured together", "--activations acts.safetensors --gradients grads.safetensors")

    def test_two_checkpoints_are_never_activations_and_gradients(self):
        for name, last in (("one", 1.0), ("two", 3.0)):
            tensors = {"proj.weight": flat(diagonal(4, 4, [4.0, 2.0, 1.0, last])), "proj.bias": ([4], [1.0] * 4)}
            self.write(f"{name}.safetensors", safetensors(tensors))
        self.refused([STUDY, "one.safetensors", "two.safetensors"], "each checkpoint", "--out NAME.json", "compare ONE.json OTHER.json")
        words = [STUDY, "--activations", "one.safetensors", "--gradients", "two.safetensors"]
        self.refused(words, "two checkpoints", "`", exit_code=1)
        for name in ("one", "two"):  # the cure
            self.run_program([STUDY, f"{name}.safetensors", "--out", f"{name}.json", "--quiet"])
        self.assertIn("proj.stable_rank", self.run_program(["compare", "one.json", "two.json"], 1).stdout)

    def test_the_table_and_skipped_layers_are_printed(self):
        broken = [row[:] for row in GRADIENT]
        broken[1][2] = float("nan")
        words = [STUDY, *write_pairs(self, {"fc": (SPIKED, GRADIENT), "bad": (SPIKED, broken), "zero": (SPIKED, diagonal(5, 4, []))})]
        run = self.run_program([*words, "--out", "out.json"])
        self.assertRegex(run.stdout, r"fc +- +5 x 4 +6 +1.188 +3 +2.526 +yes")
        self.assertRegex(run.stdout, r"skipped +bad: the gradient has 1 entry that is not finite, the first in row 1, column 2")
        self.assertRegex(run.stdout, r"skipped +zero: the gradient is zero")
        self.assertEqual(self.run_program([*words, "--out", "out.json", "--quiet"]).stderr, "")
        self.assertIn("no layer is left", self.run_program([*words, "--include", "bad", "--out", "x.json"], 1).stderr)
        self.assertFalse(os.path.exists(self.path("x.json")))

    def recorded(self, path, scale=1.0, role="head", **changes):
        """Writes two layers: the second moment of SPIKED, and an embedding whose rows were used 3, 1 and 0 times."""
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        tensors = {"fc.second_moment": flat(diagonal(4, 4, [4.0, 0.25, 0.25, 0.25])), "fc.gradient": flat(GRADIENT),
                   "table.counts": ([3], [3.0, 1.0, 0.0]), "table.gradient": flat([[1.0, 0.0, 0.0], [0.0, scale, 0.0]])}
        layers = [{"name": "fc", "role": role, "n": 6, "blocks": 1}, {"name": "table", "role": "embedding", "n": 4, "blocks": 1},
                  {"name": "tied", "role": "tied", "n": 4, "cause": "tied", "reason": "tied: two uses"}]
        not_seen = {"odd": {"cause": "unused", "reason": "used by einsum"}, "fc.bias": {"cause": "no-matrix", "reason": "a vector"}}
        self.write(path, recording(**dict({"layers": layers, "tensors": tensors, "not_seen": not_seen}, **changes)))

    def test_a_recording_of_a_model(self):
        self.recorded("dump.safetensors")
        document = self.files(["--from", "dump.safetensors"])
        self.check_layer(document, "fc", SPIKED_STABLE_RANK, 3, "holds")
        self.check_layer(document, "table", 4 / 3, 2, "holds")
        self.assertEqual({entry["name"]: entry["reason"] for entry in document["skipped"]}, {"tied": "tied: two uses", "odd": "used by einsum"})
        self.assertEqual([row[1] for row in document["table"]["rows"]], ["head", "embedding"])
        self.refused(f"{STUDY} --from .", "--from", "step<N>", exit_code=1)
        for key, value in (("blocks", 10**18), ("blocks", 2**64 - 1), ("n", -1), ("name", ""), ("loss_scale", 0), ("blocks", 4)):
            with self.subTest(key=key, value=value):
                self.recorded("wrong.safetensors", layers=[dict({"name": "fc", "n": 6, "role": "head"}, **{key: value})])
                self.refused(f"{STUDY} --from wrong.safetensors", "fc" if value == 4 else key, exit_code=1)
        self.recorded("other.safetensors", format="ranklab.recording/1")
        self.refused(f"{STUDY} --from other.safetensors", "other.safetensors", "ranklab.recording/2", exit_code=1)

    def test_recordings_over_training(self):
        for step, scale in ((0, 1.0), (10, 0.5), (100, 0.0)):
            self.recorded(f"run/step{step}.safetensors", scale)
        document = self.files(["--from", "run"])
        series = {each["name"]: each for each in document["series"]}
        expected = [nr / (4 / 3) for nr in (2, 1.5 ** 2 / 1.25, 1)]
        for name in ("table.predicted_ratio", "table.ratio"):
            self.assertEqual(series[name]["x"], [0, 10, 100])
            for measured, ratio in zip(series[name]["mean"], expected):
                self.assertAlmostEqual(measured, ratio, places=12)
        self.assertEqual(document["scalars"]["fc.predicted_ratio"]["mean"], series["fc.predicted_ratio"]["mean"][0])
        # One row for each step; no interval over the steps, and one claim about all of them.
        self.assertEqual(document["table"]["columns"][2], "step")
        rows = [row for row in document["table"]["rows"] if row[0] == "table"]
        self.assertEqual([(row[2], row[-1]) for row in rows], [("0", "yes"), ("10", "yes"), ("100", "no")])
        self.assertNotIn("table.ratio_low", {**document["scalars"], **series})
        verdicts = {claim["id"]: claim["verdict"] for claim in document["claims"]}
        self.assertEqual(verdicts, {"fc/eq-1.8": "holds", "table/eq-1.8": "fails"})
        self.assertEqual(document["figure"]["panels"][0]["x"]["label"], "step")
        for batch, scale in enumerate((1.0, 0.9, 0.8)):
            self.recorded(f"batches/step5.batch{batch}.safetensors", scale)
        document = self.files(["--from", "batches"])
        self.assertIn("pooled over 3 batches", document["claims"][1]["detail"])
        # The spread of the batches. Two layers: each borrows the variance of the other as one value, so Student's quantile has three
        # degrees of freedom: 5.8409 in tables.
        logs = [math.log((1 + scale) ** 2 / (1 + scale ** 2) / (4 / 3)) for scale in (1.0, 0.9, 0.8)]
        mean = sum(logs) / 3
        half = 5.840909 * math.sqrt(2 * sum((log - mean) ** 2 for log in logs) / 2 / 3 / 3)
        center = math.log(document["scalars"]["table.ratio"]["mean"])
        for name, end in (("ratio_low", center - half), ("ratio_high", center + half)):
            self.assertAlmostEqual(math.log(document["scalars"][f"table.{name}"]["mean"]), end, places=6)
        message = self.run_program(f"{STUDY} --from batches --include x* --out other.json", 2).stderr
        self.assertEqual(message.count("fc"), 1, message)
        self.assertTrue(document["table"]["rows"][0][7].startswith("2.526"))

    def test_gates(self):
        self.recorded("dump.safetensors")
        good = f"{STUDY} --from dump.safetensors --force".split()
        for gate, failed in (("*: ratio<1", ["tied", "odd"]), ("fc: ratio<2.6", ["fc"]), ("fc: ratio > 2.6", []), ("t*: ratio>1.4", ["table", "tied"])):
            with self.subTest(gate):
                self.run_program(good + ["--fail-if", gate, "--out", "gate.json"], 3 if failed else 0)
                gates = loads(self.read("gate.json")).get("failed_gates", [])
                self.assertEqual([text.split(":")[0] for text in gates], failed)
        self.refused(good + ["--fail-if", "nothing: ratio<1"], "--fail-if", "nothing")
        for wrong in ("fc", "fc: ratio<1 2", "fc: ratio", "fc: ratio<x", ": ratio<1", "fc: st<1", "fc: ratio<nan"):
            self.refused(good + ["--fail-if", wrong], "--fail-if", "GLOB: ratio<X")

    def test_spectra_of_weights_alone(self):
        self.write("w.safetensors", safetensors({"b.weight": flat(diagonal(4, 5, [4.0, 2.0, 1.0, 0.5])), "bias": ([3], [1.0] * 3)}))
        document = self.files(["--weights-only", "w.safetensors"])
        shares = [4 / 7.5, 2 / 7.5, 1 / 7.5, 0.5 / 7.5]
        expected = {"stable_rank": 21.25 / 16, "nuclear_rank": 7.5 ** 2 / 21.25, "condition": 8,
                    "effective_rank": math.exp(-sum(p * math.log(p) for p in shares)), "random_stable_rank": 20 / (2 + math.sqrt(5)) ** 2}
        for name, value in expected.items():
            self.assertAlmostEqual(document["scalars"][f"b.{name}"]["mean"], value, places=12)
        self.assertEqual([entry["name"] for entry in document["skipped"]], ["bias"])
        self.assertEqual(document["claims"], [])
        self.refused(f"{STUDY} --weights-only w.safetensors --from r.safetensors", "one source of matrices", "not several")
        self.refused(f"{STUDY} --weights-only w.safetensors --fail-if a:ratio<1", "--weights-only")

    def test_a_checkpoint_with_tensors_that_are_no_weights(self):
        """Each tensor that is no matrix of weights has its reason, and the others are measured."""
        weight = flat(diagonal(4, 5, [4.0, 2.0, 1.0, 0.5]))
        mask = ([1, 1, 4, 4], [float(j <= i) for i in range(4) for j in range(4)])
        self.write("w.safetensors", safetensors({
            "fc.weight": weight, "h.0.attn.bias": mask, "position_ids": ([1, 12], list(range(12)), "I64"), "ln.weight": ([8], [1.0] * 8),
            "scaled_fp8": ([0], [], "F8_E4M3"), "f4.weight": ([4, 4], [1] * 8, "F4"), "g.qweight": ([2, 4], [7] * 8, "I32"),
            "g.scales": ([1, 4], [1.0] * 4), "b.weight": ([16, 1], [1] * 16, "U8"), "b.weight.absmax": ([2], [1.0] * 2),
            # LLM.int8: diag(2, 1), as codes up to 127 and the largest modulus of each row
            "int8.weight": ([2, 2], [127, 0, 0, 127], "I8"), "int8.SCB": ([2], [2.0, 1.0])}))
        document = self.files(["--weights-only", "w.safetensors"])
        self.assertEqual([row[0] for row in document["table"]["rows"]], ["fc", "int8"])
        self.assertAlmostEqual(document["scalars"]["fc.stable_rank"]["mean"], 21.25 / 16, places=12)
        self.assertAlmostEqual(document["scalars"]["int8.stable_rank"]["mean"], 5 / 4, places=12)
        reasons = {entry["name"]: entry["reason"] for entry in document["skipped"]}
        for name, part in (("h.0.attn.bias", "causal mask"), ("position_ids", "I64"), ("ln", "shape 8"), ("scaled_fp8", "empty"), ("f4.weight", "F4"),
                           ("g.qweight", "packed"), ("g.scales", "g.qweight"), ("b.weight", "bitsandbytes"), ("b.weight.absmax", "b.weight"),
                           ("int8.SCB", "int8.weight")):
            self.assertIn(part, reasons.pop(name), name)
        self.assertEqual(reasons, {})

    def test_convolutions(self):
        kernel = [1.0, 0, 0, 0, 0, 0, 0, 1.0]
        self.write("g.safetensors", safetensors({"conv.weight": ([2, 2, 2], kernel), "conv2d": ([2, 1, 2, 2], kernel)}))
        self.write("a.safetensors", safetensors({"conv.weight": flat(EQUAL), "conv2d": flat(EQUAL)}))
        document = self.files(["--activations", "a.safetensors", "--gradients", "g.safetensors"])
        for name in ("conv", "conv2d"):
            self.check_layer(document, name, 4, 2, "fails")
        # Among weights, a tensor of three dimensions may be a stack of matrices: a note says how it was read.
        alone = self.files(["--weights-only", "g.safetensors"])
        self.assertEqual(alone["scalars"]["conv.k"]["mean"], 4)
        self.assertTrue(any("convolution: conv. A stack" in note for note in alone["notes"]), alone["notes"])

    def test_unequal_parts_and_globs(self):
        gradient = diagonal(8, 4, [1.0] * 4)
        words = write_pairs(self, {name: (SPIKED, gradient) for name in ("h.0.qkv", "h.1.qkv", "fc")})
        document = self.files([*words, "--split", "*.qkv=1+2+1"])
        shapes = {row[0]: row[2] for row in document["table"]["rows"]}
        self.assertEqual({name: shapes[name] for name in ("h.0.qkv.1", "h.1.qkv.2", "fc")},
                         {"h.0.qkv.1": "2 x 4", "h.1.qkv.2": "4 x 4", "fc": "8 x 4"})
        self.assertAlmostEqual(document["scalars"]["h.0.qkv.2.nuclear_rank"]["mean"], 2, places=12)
        self.refused([STUDY, *words, "--split", "fc=1+2"], "--split fc=1+2", "3 equal blocks", "8 rows")
        self.refused([STUDY, *words, "--split", "fc=1+"], "--split", "32+8+8")

    def test_names_from_a_file_are_escaped(self):
        self.write("g.safetensors", safetensors({"\x1b[31mred": flat(GRADIENT)}))
        run = self.run_program(f"{STUDY} --weights-only g.safetensors --out out.json")
        self.assertNotIn("\x1b", run.stderr)
        self.assertIn("\\x1b[31mred.nuclear_rank", loads(self.read("out.json"))["scalars"])

    def test_the_picture_has_bars(self):
        document = self.files(write_pairs(self, {"one": (SPIKED, GRADIENT), "two": (SPIKED, GRADIENT)}))
        self.assertEqual({c["style"] for panel in document["figure"]["panels"] for c in panel["curves"]}, {"bars"})
        self.run_program("plot out.json --quiet")
        self.assertIn("nuclear rank nr(G) of the gradient (bars)", self.read("out.svg"))

    def test_threads_replay_and_verify(self):
        draw = random.Random(1)
        rows = [[draw.gauss(0, 1) for _ in range(700)] for _ in range(60)]
        run = " ".join([STUDY, *write_pairs(self, {"fc": (rows, [row[:60] for row in rows[:40]])})])
        one = self.result_text(f"{run} --threads 1")
        self.assertEqual(reproducible(one), reproducible(self.result_text(f"{run} --threads 4 --seed 1", name="b.json")))
        self.assertEqual(reproducible(one), reproducible(self.result_text("ranks --config out.json", name="c.json")))
        self.assertIn("reproduced bit for bit", self.run_program("verify out.json").stdout)
        seeds = [loads(self.result_text(f"{run} --seed {seed}"))["scalars"] for seed in (1, 2)]
        self.assertEqual(seeds[0], seeds[1])

    def test_bad_input_is_refused(self):
        good = " ".join([STUDY, *write_pairs(self, {"fc": (SPIKED, GRADIENT)})])
        self.refused(STUDY, "ranks --help")
        self.refused(f"{STUDY} --heads 2", "--from FILE")
        self.refused(f"{good} --split fc=3", "--split", "5 rows")
        self.refused(f"{good} --split fd=5", "--split", "fd", "fc")
        self.refused(f"{good} --heads 3", "--heads 3")
        self.refused(f"{good} --include x*", "--include", "x*", "fc")
        self.refused(f"{good} --from r.safetensors", "not several")
        self.refused(f"{STUDY} --activations none.npz --gradients g.safetensors", "none.npz", exit_code=1)
        for gone in ("--pair a,b,c", "--manifest m.json", "--transpose-activations", "--transpose-gradients", "--allow-repeats", "--split-columns a=2",
                     "--experts a"):
            self.refused(f"{good} {gone}", gone.split()[0], "unknown flag")
        write_pairs(self, {"fc": (GRADIENT, SPIKED)})
        self.refused(good, "5 x 4", "4 x 6", exit_code=1)
        with open(self.path("g.safetensors"), "rb") as file:
            whole = file.read()
        self.write("g.safetensors", whole[:-8])
        self.refused(good, "g.safetensors", exit_code=1)
        self.write("a.npy", npy(SPIKED))
        self.refused(f"{STUDY} a.npy", "a.npy", "numpy.savez")
        self.write("m.json", {"pairs": []})
        self.refused(f"{STUDY} m.json", "m.json", "no index of weights")

    def test_a_dry_run_estimates_from_the_sizes_in_the_files(self):
        plans = []
        for k in (4, 400):
            words = write_pairs(self, {"fc": ([[1.0] * 6] * k, [[1.0] * k] * 5)})
            plans.append(loads(self.run_program([STUDY, *words, "--dry-run"]).stdout))
        self.assertGreater(plans[1]["estimate"]["memory_bytes"], plans[0]["estimate"]["memory_bytes"])
        self.assertEqual(plans[0]["config"]["activations"], "a.safetensors")


if __name__ == "__main__":
    unittest.main()
