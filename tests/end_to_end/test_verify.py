"""`ranklab verify` sees a change of any field that the program writes, and names the words that only an author can know."""
import concurrent.futures
import functools
import copy
import os
import re
import unittest

from program import TINY, ProgramTest, loads
from stored_tensors import write_pairs

PRESET = {"command": "rank-collapse", "title": "Two tokens", "summary": "for tests", "seconds": 1, "trial": "draw", "see": "Both go to zero.",
          "source": {"paper": "[LambdaSkip]", "figure": "Proposition A.10.1"},
          "finding": {"claim": "lambda-skip/prop-A.10.1/as-printed", "panel": 1, "sentence": "It does not hold.", "verdict": "fails"},
          "config": {"study": "examples", "system": "sys1", "lambda": [-2.5, 0, 1], "layers": 40}}
# The input of the check, and what it says about machines.
NOT_COMPARED = ("config", "environment", "timing")


def edits(value, place=()):
    """(place, edited value) for each edit of a JSON value: another number, text or switch, or an element that is missing."""
    if isinstance(value, (dict, list)):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            for inner, edited in edits(value[key], place + (key,)):
                out = copy.copy(value)
                out[key] = edited
                yield inner, out
            out = copy.copy(value)
            del out[key]
            yield place + (key, "missing"), out
    else:
        yield place, (not value) if isinstance(value, bool) else value + "x" if isinstance(value, str) else 1 if value is None else value + 1


def first_and_last_of_each_kind(edited):
    """Of the edits at places that differ in the index in lists only, the first and the last."""
    kinds = {}
    for place, document in edited:
        kinds.setdefault(tuple("#" if isinstance(key, int) else key for key in place), []).append((place, document))
    return [edit for of in kinds.values() for edit in of[::max(1, len(of) - 1)][:2]]


class VerifyTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("experiments"))
        self.write("experiments/mine.json", PRESET)

    def not_seen(self, result):
        """The places of edits after which the result is still reproduced."""
        tried = [edit for edit in first_and_last_of_each_kind(edits(result)) if edit[0][0] not in NOT_COMPARED]

        def reproduced(numbered):
            number, (place, document) = numbered
            self.write(f"{number}.json", document)
            run = self.program_run(f"verify {number}.json --quiet --threads 1")
            self.assertIn(run.returncode, (0, 1, 2), place)
            return run.returncode == 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(reproduced, enumerate(tried)))
        self.assertGreater(len(tried), 80)

        def says_the_same(place):  # a number without a quantity is what its name says
            if place[-2:] != ("quantity", "missing"):
                return False
            of = functools.reduce(lambda part, key: part[key], place[:-2], result)
            return of["quantity"] == of.get("name", place[-3])
        return {place for (place, _), same in zip(tried, found) if same and not says_the_same(place)}

    def program_run(self, arguments):
        for code in (0, 1, 2):
            try:
                return self.run_program(arguments, code)
            except AssertionError:
                continue
        raise AssertionError(arguments)

    def test_every_field_of_a_run_of_a_preset(self):
        result = self.result(["run", "mine", "--lambda", "0,1", "--keep-trials", "--claim", '"lambda=1.mu" >= 0'])
        self.assertLess({"see", "finding", "changed", "keeps_trials", "source", "notes"}, set(result))
        self.assertIn("reproduced bit for bit", self.run_program("verify out.json").stdout)
        # What a statement of one's own says, and that somebody made it.
        own = len(result["claims"]) - 1
        self.assertEqual(self.not_seen(result), {("claims", own, "statement"), ("claims", own, "missing")})

    def test_every_field_of_a_result_with_a_table(self):
        square = [[1.0, 1.0], [1.0, 2.0]]
        result = self.result(["ranks", *write_pairs(self, {"one": (square, square), "two": (square, [[1.0, 1.0, 1.0]])})])
        self.assertLess({"table", "skipped"}, set(result))
        self.assertEqual(self.not_seen(result), set())

    def test_words_of_the_author_are_named(self):
        self.result(["run", "mine", "--lambda", "0,1", "--claim", '"lambda=1.mu" >= 0'])
        self.assertEqual(self.run_program("verify out.json").stdout, "out.json: reproduced bit for bit\n")
        result = loads(self.read("out.json"))
        own = next(claim for claim in result["claims"] if claim["kind"] == "own")
        own["statement"] = "It is never negative."
        self.write("out.json", result)
        self.assertEqual(self.run_program("verify out.json").stdout,
                         "out.json: reproduced bit for bit\n  1 statement's words: the author's, not certified\n")
        # Elsewhere, the preset is not at hand.
        os.remove(self.path("experiments/mine.json"))
        self.assertEqual(self.run_program("verify out.json").stdout,
                         "out.json: reproduced bit for bit\n  title, source, see, finding, the unit of a trial, the values of the preset, "
                         "1 statement's words: the author's, not certified\n")
        # --config reads words too; of a run without a preset, the title alone is the program's.
        self.result(f"{TINY}", name="plain.json")
        self.result("random-features --config plain.json", name="again.json")
        self.assertEqual(self.run_program("verify again.json").stdout, "again.json: reproduced bit for bit\n")
        for name, code in (("plain.json", 1), ("again.json", 0)):
            self.write(name, re.sub('"title": "', '"title": "My ', self.read(name), count=1))
            printed = self.run_program(f"verify {name}", code).stdout
            self.assertIn("another title" if code else "title: the author's, not certified", printed)

    def test_elsewhere_words_are_compared_and_numbers_have_error_bars(self):
        result = self.result("run mine --lambda 0,1")
        result["environment"]["git"] = "another"
        for key, other in (("see", "All go to zero."), ("finding", None), ("changed", []), ("title", "Three tokens"), ("trials", {"requested": 1, "completed": 1})):
            self.write("edited.json", {**result, key: other})
            self.assertIn(f"another {key}", self.run_program("verify edited.json", 1).stdout)


if __name__ == "__main__":
    unittest.main()
