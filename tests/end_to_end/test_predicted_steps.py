"""Steps that the curvature of a layer predicts, their validation on another batch, and `export --what advice`.

All matrices are diagonal unless noted, so that tr(D M D' B) is the sum of D_i^2 M_i B_i.
"""
import csv
import io
import itertools
import os
import unittest

from program import ProgramTest, loads
from stored_tensors import safetensors
from test_files import diagonal, flat

COLUMNS = ("layer,role,m,k,n,stable_rank,nuclear_rank,ratio,ratio_low,ratio_high,advice,direction,"
           "predicted_decrease,length")


def packed(rows):
    """The lower triangle, row by row."""
    entries = [x for i, row in enumerate(rows) for x in row[:i + 1]]
    return [len(entries)], entries


class PredictedStepsTest(ProgramTest):
    def record(self, folder, gradient, moment, errors, name="fc"):
        os.makedirs(self.path(folder), exist_ok=True)
        tensors = {"gradient": flat(gradient), "second_moment": packed(moment)}
        if errors:
            tensors["error_moment"] = packed(errors)
        self.write(f"{folder}/0.safetensors", safetensors(tensors))
        layer = {"name": name, "parameter": f"{name}.weight", "file": "0.safetensors", "samples": 9, "role": "hidden"}
        self.write(f"{folder}/recording.json", {"format": "ranklab.recording/1", "layers": [layer], "not_seen": {}})

    def advise(self, folder, *flags):
        self.run_program(["advise", folder, *flags, "--force", "--out", "out.json"])
        document = loads(self.read("out.json"))
        return document, {name: scalar["mean"] for name, scalar in document["scalars"].items()}

    def two_batches(self):
        self.record("dump/step3.batch0", diagonal(3, 3, [3.0, 2.0, 1.0]), diagonal(3, 3, [4.0, 1.0, 1.0]), diagonal(3, 3, [1.0, 2.0, 1.0]))
        self.record("dump/step3.batch1", diagonal(3, 3, [1.0, -1.0, 2.0]), diagonal(3, 3, [1.0, 1.0, 1.0]), diagonal(3, 3, [1.0, 1.0, 1.0]))

    def close(self, scalars, expected):
        for name, value in expected.items():
            self.assertAlmostEqual(scalars[name] / value, 1, places=12, msg=name)

    def test_the_best_steps_of_one_batch(self):
        self.record("dump", diagonal(3, 3, [3.0, 2.0, 1.0]), diagonal(3, 3, [4.0, 1.0, 1.0]), diagonal(3, 3, [1.0, 2.0, 1.0]))
        document, scalars = self.advise("dump")
        # Slopes <G, D>: 14 along G, 6 along polar(G) = I; curvatures 45 and 7.
        self.close(scalars, {"fc.gradient.length": 14 / 45, "fc.gradient.decrease": 196 / 90, "fc.polar.length": 6 / 7,
                             "fc.polar.decrease": 36 / 14, "fc.sign.decrease": 36 / 14, "fc.advantage": (36 / 14) / (196 / 90),
                             "fc.stable_rank": 1.5})
        self.assertNotIn("fc.polar-per-part.length", scalars)
        row = dict(zip(document["table"]["columns"], document["table"]["rows"][0]))
        self.assertEqual((row["polar/G"], row["length"]), ("1.181", "0.8571"))
        without = self.record("old", diagonal(3, 3, [3.0, 2.0, 1.0]), diagonal(3, 3, [4.0, 1.0, 1.0]), None)
        document, scalars = self.advise("old")
        self.assertNotIn("polar/G", document["table"]["columns"])
        self.assertNotIn("fc.polar.length", scalars)

    def test_a_packed_triangle_is_a_symmetric_matrix(self):
        """M = [[2, 1], [1, 2]] and B = [[1, 0.5], [0.5, 1]], with G = I: tr(M B) = 2 + 0.5 + 0.5 + 2 = 5, st = 4/3."""
        self.record("dump", diagonal(2, 2, [1.0, 1.0]), [[2.0, 1.0], [1.0, 2.0]], [[1.0, 0.5], [0.5, 1.0]])
        self.close(self.advise("dump")[1], {"fc.stable_rank": 4 / 3, "fc.polar.length": 2 / 5, "fc.gradient.decrease": 4 / 10})
        self.write("dump/0.safetensors", safetensors({"gradient": flat(diagonal(2, 2, [1.0, 1.0])), "second_moment": ([4], [1.0] * 4)}))
        self.refused("advise dump", "packed triangle", "4", exit_code=1)

    def of_samples(self, folder, gradient, inputs, outputs, samples=9):
        self.record(folder, gradient, [], None)
        tensors = {"gradient": flat(gradient), "inputs": flat(inputs), "output_gradients": flat(outputs)}
        self.write(f"{folder}/0.safetensors", safetensors(tensors))

    def test_samples_give_the_numbers_of_their_second_moments(self):
        """Few inputs and many, of one batch and of two; M = A'A and B = E'E."""
        moment = lambda x: [[sum(row[i] * row[j] for row in x) for j in range(len(x[0]))] for i in range(len(x[0]))]
        gradient = [[3.0, 1.0, 0.5], [-1.0, 2.0, 0.25]]
        inputs = [[[1.0, 2.0, 0.5]], [[1.0, 2.0, 0.5], [0.5, -1.0, 2.0]],
                  [[1.0, 2.0, 0.5], [0.5, -1.0, 2.0], [1.0, 1.0, 1.0], [2.0, 0.0, 0.25]]]
        outputs = [[[1.0, -0.5]], [[1.0, -0.5], [0.25, 2.0], [3.0, 1.0]]]
        for number, (a, b, e) in enumerate(itertools.product(inputs, inputs, outputs)):
            for batch, x in enumerate((a, b)):
                self.of_samples(f"samples{number}/step1.batch{batch}", gradient, x, e)
                self.record(f"moments{number}/step1.batch{batch}", gradient, moment(x), moment(e))
            expected, found = (self.advise(f"{kind}{number}", "--validate")[1] for kind in ("moments", "samples"))
            self.assertEqual(set(found), set(expected))
            self.assertIn("fc.polar.length", found)
            for name, value in expected.items():
                if value is None:
                    self.assertIsNone(found[name], name)
                else:
                    self.assertLessEqual(abs(found[name] - value), 1e-12 * max(1, abs(value)), name)

    def test_samples_that_do_not_fit(self):
        gradient = [[3.0, 1.0, 0.5], [-1.0, 2.0, 0.25]]
        self.of_samples("dump", gradient, [[1.0, 2.0]], [[1.0, 2.0]])
        self.refused("advise dump", "fc", "n x k", "same k", exit_code=1)
        self.of_samples("dump", gradient, [[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]])
        self.refused("advise dump", "fc", "output gradients are not n x m", "m is 2", exit_code=1)
        self.of_samples("dump", gradient, [[1.0, 2.0, 3.0]] * 10, [[1.0, 2.0]])
        self.refused("advise dump", "fc", "at most 9 samples", "10 x 3", exit_code=1)
        self.of_samples("dump", gradient, [[1.0, float("nan"), 3.0]], [[1.0, 2.0]])
        self.refused("advise dump", "fc", "not finite", exit_code=1)
        self.of_samples("dump", gradient, [[1.0, 2.0, 0.0]], [[1.0, 2.0]])  # G has a third column
        self.refused("advise dump", "fc", "14.29 % of the gradient's norm lies outside", exit_code=1)

    def test_a_moment_of_other_outputs_or_with_infinite_entries(self):
        self.record("dump", diagonal(3, 3, [3.0, 2.0, 1.0]), diagonal(3, 3, [4.0, 1.0, 1.0]), diagonal(2, 2, [1.0, 2.0]))
        self.refused("advise dump", "fc", "output gradients", "m is 3", exit_code=1)
        self.record("dump", diagonal(3, 3, [3.0, 2.0, 1.0]), diagonal(3, 3, [4.0, 1.0, 1.0]), diagonal(3, 3, [1.0, 2.0, float("inf")]))
        self.assertNotIn("fc.polar.length", self.advise("dump")[1])

    def test_parts_have_rows_of_the_whole_polar_factor_and_one_of_their_own(self):
        """G = [[3, 0], [4, 0]]: polar(G) = [[0.6, 0], [0.8, 0]]. With M = B = I, part 1 has the best lengths 1.8 / 0.36 and 3 / 1."""
        self.record("dump", [[3.0, 0.0], [4.0, 0.0]], diagonal(2, 2, [1.0, 1.0]), diagonal(2, 2, [1.0, 1.0]))
        scalars = self.advise("dump", "--split", "fc=2")[1]
        self.close(scalars, {"fc.1.polar.length": 5, "fc.1.polar-per-part.length": 3, "fc.2.polar.length": 5, "fc.2.polar-per-part.length": 4})

    def test_batches_are_joined_and_checked_on_each_other(self):
        self.two_batches()
        document, scalars = self.advise("dump", "--validate")
        # Joined: G = diag(2, 0.5, 1.5), M = diag(5, 2, 2), B = diag(0.5, 0.75, 0.5); 4 along I, curvature 5.
        self.close(scalars, {"fc.polar.length": 0.8, "fc.polar.decrease": 1.6})
        # Along I from batch 0, batch 1 has slope 2 and curvature 3: the best decrease is 2/3, and 9/28 along G of batch 0. Along
        # diag(1, -1, 1) from batch 1, batch 0 has 4/14, and 9/20 along G of batch 1. At the expected lengths 6/7 and 4/3 (of the
        # decreases 36/14 and 8/3) the decreases are 30/49 and -32/9.
        self.close(scalars, {"validation.polar_is_better": 0.5,
                             "validation.decrease_kept": (30 / 49 / (36 / 14) + (4 / 3 * 2 - 16 / 18 * 7) / (8 / 3)) / 2,
                             "validation.best_length": ((2 / 3) / (6 / 7) + (2 / 7) / (4 / 3)) / 2})
        self.assertTrue(any(note.startswith("Validation: Over 1 pair of batches") for note in document["notes"]))
        self.assertNotIn("validation.decrease_kept_low", scalars)  # one pair has no interval
        shown = self.run_program("advise dump --validate").stdout
        self.assertIn("the polar factor is the better direction in 50 %", shown)
        self.assertIn("At the predicted length the loss rises: the decrease is -0.5476 times the predicted one", shown)
        self.record("one", diagonal(3, 3, [3.0, 2.0, 1.0]), diagonal(3, 3, [4.0, 1.0, 1.0]), diagonal(3, 3, [1.0, 2.0, 1.0]))
        self.refused("advise one --validate", "--validate", "two batches", exit_code=1)
        self.write("w.safetensors", safetensors({"fc": flat(diagonal(2, 2, [1.0, 1.0]))}))
        self.refused("advise w.safetensors --validate", "--validate")

    def test_advice_as_csv(self):
        self.two_batches()
        self.advise("dump")
        rows = list(csv.DictReader(io.StringIO(self.run_program("export out.json --what advice").stdout)))
        self.assertEqual(",".join(rows[0]), COLUMNS)
        self.assertEqual([row["direction"] for row in rows], ["gradient", "polar", "sign"])
        self.assertEqual({(row["layer"], row["role"], row["m"], row["k"]) for row in rows}, {("fc", "hidden", "3.0", "3.0")})
        self.assertAlmostEqual(float(rows[1]["length"]), 0.8, places=12)
        self.assertLess(float(rows[0]["ratio_low"]), float(rows[0]["ratio"]))
        self.record("old", diagonal(3, 3, [3.0, 2.0, 1.0]), diagonal(3, 3, [4.0, 1.0, 1.0]), None)
        self.advise("old")
        rows = list(csv.DictReader(io.StringIO(self.run_program("export out.json --what advice").stdout)))
        self.assertEqual([(row["layer"], row["direction"], row["ratio_low"]) for row in rows], [("fc", "", "")])

    def test_export_replaces_only_its_own_tables(self):
        self.two_batches()
        self.advise("dump")
        export = "export out.json --what advice --out table.csv"
        self.run_program(export)
        self.run_program(export)
        for flags in ("--what scalars", "--what claims"):
            self.refused(f"export out.json {flags} --out table.csv", "--out", "table.csv", "--force")
        self.run_program("export out.json --what scalars --out table.csv --force")
        self.assertTrue(self.read("table.csv").startswith("name,mean"))
        self.run_program("random-features --study trajectory --k 8 --n 8 --steps 2 --trials 1 --out other.json")
        self.refused("export other.json --what advice", "no advice", exit_code=1)


if __name__ == "__main__":
    unittest.main()
