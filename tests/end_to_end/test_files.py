"""ranks: the binary reads matrices in every format, named in every supported way."""
import math
import os
import random
import re
import unittest
import zipfile

from program import ROOT, ProgramTest, loads, reproducible
from stored_tensors import npy, recording, safetensors

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

    def test_pairs_in_every_format(self):
        formats = {"f8": npy(GRADIENT), "f4": npy(GRADIENT, "<f4"), "f2": npy(GRADIENT, "<f2"), "big": npy(GRADIENT, ">f4"),
                   "fortran": npy(GRADIENT, "<f8", True), "both": npy(GRADIENT, ">f8", True)}
        self.write("a.npy", npy(SPIKED))
        words = []
        for name, content in formats.items():
            self.write(f"{name}.npy", content)
            words += ["--pair", f"{name},a.npy,{name}.npy"]
        for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
            with zipfile.ZipFile(self.path(f"{name}.npz"), "w", method) as archive:
                archive.writestr("g.npy", npy(GRADIENT, "<f4"))
                archive.writestr("other.npy", npy(EQUAL))
            words += ["--pair", f"{name},a.npy,{name}.npz:g"]
        self.write("t.safetensors", safetensors({"x:y": flat(GRADIENT), "half": (*flat(GRADIENT), "BF16")}))
        words += ["--pair", "tensor,a.npy,t.safetensors:x:y", "--pair", "bf16,a.npy,t.safetensors:half"]
        document = self.files(words)
        self.assertEqual(len(document["table"]["rows"]), 10)
        for name in list(formats) + ["stored", "deflated", "tensor", "bf16"]:
            self.check_layer(document, name, SPIKED_STABLE_RANK, 3, "holds")

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
        turned = [list(column) for column in zip(*EQUAL)]
        self.write("acts.safetensors", safetensors({"one": flat([list(c) for c in zip(*SPIKED)]), "two": flat(turned), "only": flat(turned),
                                                     "cube": ([2, 2, 2], [1.0] * 8)}))
        self.write("grads.safetensors", safetensors({"two": flat(GRADIENT), "one": flat(GRADIENT), "bias": ([3], [1.0] * 3), "cube": flat(GRADIENT)}))
        words = ["--activations", "acts.safetensors", "--gradients", "grads.safetensors", "--transpose-activations"]
        document = self.files(words)
        self.check_layer(document, "one", SPIKED_STABLE_RANK, 3, "holds")
        self.check_layer(document, "two", 4, 3, "fails")
        skipped = {entry["name"]: entry["reason"] for entry in document["skipped"]}
        self.assertEqual(set(skipped), {"only", "bias", "cube"})
        self.assertIn("2 x 2 x 2", skipped["cube"])
        self.assertIn("acts.safetensors", skipped["only"])
        self.assertIn("grads.safetensors", skipped["bias"])
        self.refused(f"{STUDY} " + " ".join(words[:-1]), "6 x 4", "5 x 4", "--transpose-activations", exit_code=1)
        # One archive without the other gives only its own measurements.
        alone = self.files(["--gradients", "grads.safetensors"])
        self.assertEqual(alone["claims"], [])
        self.assertIn("two.nuclear_rank", alone["scalars"])

    def test_paths_in_a_manifest_are_relative_to_the_manifest(self):
        os.mkdir(self.path("dump"))
        self.write("dump/a.npy", npy([list(c) for c in zip(*SPIKED)]))
        self.write("dump/g.npy", npy(GRADIENT))
        self.write("dump/pairs.json", {"pairs": [{"name": "fc", "activation": "a.npy", "gradient": "g.npy", "transpose_activations": True}]})
        self.check_layer(self.files(["--manifest", "dump/pairs.json"]), "fc", SPIKED_STABLE_RANK, 3, "holds")
        self.write("dump/pairs.json", {"pairs": [{"name": "fc", "activation": "a.npy", "gradent": "g.npy"}]})
        self.refused(f"{STUDY} --manifest dump/pairs.json", "gradent", "gradient", exit_code=1)
        self.refused(f"{STUDY} --manifest none.json", "none.json", exit_code=1)

    def test_a_manifest_does_not_choose_files_outside_its_folder(self):
        os.mkdir(self.path("m"))
        self.write("a.npy", npy(SPIKED))
        self.write("g.npy", npy(GRADIENT))
        for path in (self.path("a.npy"), "../a.npy", "x/../../a.npy", "../m/../a.npy"):
            self.write("m/pairs.json", {"pairs": [{"name": "fc", "activation": path, "gradient": "g.npy"}]})
            self.refused(f"{STUDY} --manifest m/pairs.json", "m/pairs.json: pair 1", "'activation'", "below the folder of the manifest", exit_code=1)
        # A shard takes checksums of the files that a manifest names, each once.
        os.mkdir(self.path("mm"))
        self.write("mm/a.npy", npy(SPIKED))
        self.write("mm/g.npy", npy(GRADIENT))
        self.write("mm/pairs.json", {"pairs": [{"name": "fc", "activation": "a.npy", "gradient": "g.npy"}]})
        self.write("mm/b.json", {"more": ["./b.json", "../mm/b.json", "pairs.json", "./../mm/./pairs.json", "c/../b.json"]})
        os.mkdir(self.path("mm/c"))
        self.run_program(f"{STUDY} --manifest ./mm/pairs.json --manifest mm/pairs.json --quiet --out p.json", 2, timeout=20)
        self.run_program(f"{STUDY} --manifest mm/pairs.json --include fc --quiet --out p.json", timeout=20)
        self.write("mm/pairs.json", {"pairs": [{"name": "./pairs.json", "activation": "a.npy", "gradient": "g.npy"},
                                               {"name": "../mm/pairs.json", "activation": "a.npy", "gradient": "g.npy"}]})
        self.run_program(f"{STUDY} --manifest mm/pairs.json --quiet --out q.json", timeout=20)

    def test_the_table_and_skipped_layers_are_printed(self):
        broken = [row[:] for row in GRADIENT]
        broken[1][2] = float("nan")
        self.write("a.npy", npy(SPIKED))
        self.write("g.npy", npy(GRADIENT))
        self.write("bad.npy", npy(broken))
        self.write("zero.npy", npy(diagonal(5, 4, [])))
        words = STUDY.split() + ["--pair", "fc,a.npy,g.npy", "--pair", "bad,a.npy,bad.npy", "--pair", "zero,a.npy,zero.npy", "--out", "out.json"]
        run = self.run_program(words)
        self.assertRegex(run.stdout, r"fc +- +5 x 4 +6 +1.188 +3 +2.526 +yes")
        self.assertRegex(run.stdout, r"skipped +bad: the gradient has 1 entry that is not finite, the first in row 1, column 2")
        self.assertRegex(run.stdout, r"skipped +zero: the gradient is zero")
        self.assertEqual(self.run_program(words + ["--quiet"]).stderr, "")
        self.assertIn("no layer is left", self.run_program(f"{STUDY} --pair bad,a.npy,bad.npy --out x.json", 1).stderr)
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
        self.assertEqual(series["table.predicted_ratio"]["x"], [0, 10, 100])
        for measured, expected in zip(series["table.nuclear_rank"]["mean"], (2, 1.5 ** 2 / 1.25, 1)):
            self.assertAlmostEqual(measured, expected, places=12)
        self.assertEqual(document["scalars"]["fc.predicted_ratio"]["mean"], series["fc.predicted_ratio"]["mean"][0])
        rows = {row[0]: row for row in document["table"]["rows"]}
        self.assertEqual(rows["fc"][-1], "yes")
        # The geometric mean over the steps. Two layers: each borrows the variance of the other as one value, so Student's quantile has
        # three degrees of freedom: 5.8409 in tables.
        logs = [math.log(nr / (4 / 3)) for nr in (2, 1.5 ** 2 / 1.25, 1)]
        mean = sum(logs) / 3
        own = sum((log - mean) ** 2 for log in logs) / 2
        half = 5.840909 * math.sqrt(2 * own / 3 / 3)
        for name, expected in (("ratio", mean), ("ratio_low", mean - half), ("ratio_high", mean + half)):
            self.assertAlmostEqual(math.log(document["scalars"][f"table.{name}"]["mean"]), expected, places=6)
        self.assertEqual(rows["table"][-1], "undecided")
        verdicts = {claim["id"]: claim["verdict"] for claim in document["claims"]}
        self.assertEqual(verdicts, {"fc/eq-1.8": "holds", "table/eq-1.8": "not-applicable"})
        self.assertEqual(document["figure"]["panels"][0]["x"]["label"], "step")
        for batch, scale in enumerate((1.0, 0.9, 0.8)):
            self.recorded(f"batches/step5.batch{batch}.safetensors", scale)
        document = self.files(["--from", "batches"])
        self.assertIn("pooled over 3 batches", document["claims"][1]["detail"])
        message = self.run_program(f"{STUDY} --from batches --include x* --out other.json", 2).stderr
        self.assertEqual(message.count("fc"), 1, message)
        self.assertTrue(document["table"]["rows"][0][6].startswith("2.526"))

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
        self.refused(f"{STUDY} --weights-only w.safetensors --pair a,b.npy,c.npy", "--weights-only")
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

    def test_stacks_of_experts_and_convolutions(self):
        # Three 2 x 4 gradients of rank 1, 2, 2, with one activation each ("moe") or one for all ("one").
        experts = [diagonal(2, 4, values) for values in ([1.0, 0.0], [1.0, 1.0], [1.0, 0.5])]
        inputs = [diagonal(4, 5, values) for values in ([2.0, 1.0, 1.0, 1.0], [1.0] * 4, [3.0, 1.0, 1.0, 1.0])]
        stack = lambda matrices: ([len(matrices), len(matrices[0]), len(matrices[0][0])], [x for m in matrices for row in m for x in row])
        self.write("g.safetensors", safetensors({"moe": stack(experts), "one": stack(experts), "conv.weight": ([2, 2, 2], [1.0, 0, 0, 0, 0, 0, 0, 1.0]),
                                                 "conv2d": ([2, 1, 2, 2], [1.0, 0, 0, 0, 0, 0, 0, 1.0])}))
        self.write("a.safetensors", safetensors({"moe": stack(inputs), "one": flat(inputs[0]), "conv.weight": flat(inputs[1]), "conv2d": flat(inputs[1])}))
        document = self.files(["--activations", "a.safetensors", "--gradients", "g.safetensors"])
        for name, st, nr in (("moe.1", 7 / 4, 1), ("moe.2", 4, 2), ("moe.3", 12 / 9, 1.5 ** 2 / 1.25), ("one.1", 7 / 4, 1), ("one.2", 7 / 4, 2),
                             ("conv", 4, 2), ("conv2d", 4, 2)):
            with self.subTest(name):
                self.assertAlmostEqual(document["scalars"][f"{name}.stable_rank"]["mean"], st, places=12)
                self.assertAlmostEqual(document["scalars"][f"{name}.nuclear_rank"]["mean"], nr, places=12)
        self.assertNotIn("skipped", document)
        # Without an activation a stack looks like a convolution: it is read as a convolution, and a note says so.
        alone = self.files(["--gradients", "g.safetensors"])
        self.assertIn("moe.nuclear_rank", alone["scalars"])
        self.assertTrue(any("moe, one" in note and "--experts" in note for note in alone["notes"]), alone["notes"])
        taken = self.files(["--weights-only", "g.safetensors", "--experts", "moe,one"])
        self.assertAlmostEqual(taken["scalars"]["moe.3.nuclear_rank"]["mean"], 1.5 ** 2 / 1.25)
        self.assertEqual(taken["scalars"]["conv.k"]["mean"], 4)
        # Batches of sequences, as PyTorch stores them.
        self.write("b.safetensors", safetensors({"fc": ([2, 3, 4], [x for row in zip(*diagonal(4, 6, [2.0, 1.0, 1.0, 1.0])) for x in row])}))
        self.write("h.safetensors", safetensors({"fc": flat(experts[1])}))
        words = ["--activations", "b.safetensors", "--gradients", "h.safetensors"]
        self.assertAlmostEqual(self.files(words + ["--transpose-activations"])["scalars"]["fc.stable_rank"]["mean"], 7 / 4)
        self.refused(f"{STUDY} " + " ".join(words), "2 x 3 x 4", exit_code=1)

    def test_manifests_of_steps_with_second_moments(self):
        for step, largest in ((0, 4.0), (50, 1.0)):
            self.write(f"{step}.safetensors", safetensors({"m": flat(diagonal(4, 4, [largest, 1.0, 1.0, 1.0])), "g": flat(GRADIENT)}))
            self.write(f"{step}.json", {"step": step, "pairs": [{"name": "fc", "second_moment": f"{step}.safetensors:m", "samples": 6,
                                                                 "gradient": f"{step}.safetensors:g"}]})
        words = ["--manifest", "0.json", "--manifest", "50.json"]
        document = self.files(words)
        series = {each["name"]: each for each in document["series"]}
        self.assertEqual(series["fc.stable_rank"]["x"], [0, 50])
        self.assertEqual(series["fc.stable_rank"]["mean"], [7 / 4, 4])
        self.assertEqual(document["config"]["manifest"], words[1::2])
        # A gradient with a component outside the span of the samples cannot come from these samples.
        self.write("0.safetensors", safetensors({"m": flat(diagonal(4, 4, [1.0, 1.0, 1.0])), "g": flat(diagonal(5, 4, [1.0, 0.0, 0.0, 1.0]))}))
        self.refused(f"{STUDY} --manifest 0.json --out other.json", "70.71 % of the gradient's norm lies outside", exit_code=1)

    def test_unequal_parts_and_globs(self):
        self.write("a.npy", npy(SPIKED))
        self.write("g.npy", npy(diagonal(8, 4, [1.0] * 4)))
        pairs = ["--pair", "h.0.qkv,a.npy,g.npy", "--pair", "h.1.qkv,a.npy,g.npy", "--pair", "fc,a.npy,g.npy"]
        document = self.files(pairs + ["--split", "*.qkv=1+2+1"])
        shapes = {row[0]: row[2] for row in document["table"]["rows"]}
        self.assertEqual({name: shapes[name] for name in ("h.0.qkv.1", "h.1.qkv.2", "fc")},
                         {"h.0.qkv.1": "2 x 4", "h.1.qkv.2": "4 x 4", "fc": "8 x 4"})
        self.assertAlmostEqual(document["scalars"]["h.0.qkv.2.nuclear_rank"]["mean"], 2, places=12)
        self.refused([*STUDY.split(), *pairs, "--split", "fc=1+2"], "--split fc=1+2", "3 equal blocks", "8 rows")
        self.refused([*STUDY.split(), *pairs, "--split", "fc=1+"], "--split", "32+8+8")

    def test_names_from_a_file_are_escaped(self):
        self.write("g.safetensors", safetensors({"\x1b[31mred": flat(GRADIENT)}))
        run = self.run_program(f"{STUDY} --gradients g.safetensors --out out.json")
        self.assertNotIn("\x1b", run.stderr)
        self.assertIn("\\x1b[31mred.nuclear_rank", loads(self.read("out.json"))["scalars"])

    def test_the_picture_has_bars(self):
        self.write("a.npy", npy(SPIKED))
        self.write("g.npy", npy(GRADIENT))
        document = self.files("--pair one,a.npy,g.npy --pair two,a.npy,g.npy".split())
        self.assertEqual({c["style"] for panel in document["figure"]["panels"] for c in panel["curves"]}, {"bars"})
        self.run_program("plot out.json --quiet")
        self.assertIn("nuclear rank nr(G) of the gradient (bars)", self.read("out.svg"))

    def test_threads_replay_and_verify(self):
        draw = random.Random(1)
        rows = [[draw.gauss(0, 1) for _ in range(700)] for _ in range(60)]
        self.write("a.npy", npy(rows, "<f4"))
        self.write("g.npy", npy([row[:60] for row in rows[:40]]))
        one = self.result_text(f"{STUDY} --pair fc,a.npy,g.npy --threads 1")
        self.assertEqual(reproducible(one), reproducible(self.result_text(f"{STUDY} --pair fc,a.npy,g.npy --threads 4 --seed 1", name="b.json")))
        self.assertEqual(reproducible(one), reproducible(self.result_text("ranks --config out.json", name="c.json")))
        self.assertIn("reproduced bit for bit", self.run_program("verify out.json").stdout)
        seeds = [loads(self.result_text(f"{STUDY} --pair fc,a.npy,g.npy --seed {seed}"))["scalars"] for seed in (1, 2)]
        self.assertEqual(seeds[0], seeds[1])

    def test_bad_input_is_refused(self):
        self.write("a.npy", npy(SPIKED))
        self.write("g.npy", npy(GRADIENT))
        good = f"{STUDY} --pair fc,a.npy,g.npy"
        self.refused(STUDY, "ranks --help")
        self.refused(f"{STUDY} --heads 2", "--pair")
        self.refused(f"{STUDY} --pair fc", "--pair", "NAME,ACTIVATION_FILE,GRADIENT_FILE")
        self.refused(f"{good} --split fc=3", "--split", "5 rows")
        self.refused(f"{good} --split fd=5", "--split", "fd", "fc")
        self.refused(f"{good} --heads 3", "--heads 3")
        self.refused(f"{good} --include x*", "--include", "x*", "fc")
        self.refused(f"{good} --pair fc,a.npy,g.npy", "--pair", "twice")
        self.refused(f"{STUDY} --pair fc,none.npy,g.npy", "none.npy", exit_code=1)
        self.refused(f"{STUDY} --pair fc,g.npy,a.npy", "5 x 4", "4 x 6", exit_code=1)
        self.write("short.npy", npy(GRADIENT)[:-8])
        self.refused(f"{STUDY} --pair fc,a.npy,short.npy", "short.npy", exit_code=1)
        self.write("g.safetensors", safetensors({"weight": flat(GRADIENT), "other": flat(GRADIENT)}))
        self.refused(f"{STUDY} --pair fc,a.npy,g.safetensors:wieght", "wieght", "weight", exit_code=1)

    def test_a_dry_run_estimates_from_the_sizes_in_the_files(self):
        for name, k in (("small", 4), ("large", 400)):
            self.write(f"{name}.a.npy", npy([[1.0] * 6] * k))
            self.write(f"{name}.g.npy", npy([[1.0] * k] * 5))
        plans = {name: loads(self.run_program(f"{STUDY} --pair fc,{name}.a.npy,{name}.g.npy --dry-run").stdout) for name in ("small", "large")}
        self.assertGreater(plans["large"]["estimate"]["memory_bytes"], plans["small"]["estimate"]["memory_bytes"])
        self.assertEqual(plans["small"]["config"]["pair"], ["fc,small.a.npy,small.g.npy"])


if __name__ == "__main__":
    unittest.main()
