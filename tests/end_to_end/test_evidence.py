"""What a verdict may rest on: results with made-up numbers, and what `judge` concludes from them.

The rule is in results/verdicts.md, "The verdict on a claim". Expected verdicts follow from it by hand; expected
numbers are closed forms, or come from Python's statistics module.
"""
import copy
import json
import math
import os
import random
import statistics
import unittest

from program import ProgramTest, TINY, loads

NAN = None  # an undefined number in a result file


class MadeTest(ProgramTest):
    """Result files whose curves and numbers are given."""
    base = None

    def made(self, curves=None, scalars=None, name="made.json", **more):
        """A result with these curves {name: [trial][x]} and numbers {name: [trial]}; returns its name."""
        if MadeTest.base is None:
            MadeTest.base = self.result(TINY + " --keep-trials", name="base.json")
        out = copy.deepcopy(MadeTest.base)
        trials = len(next(iter((curves or scalars).values())))
        out.update({"claims": [], "series": [], "scalars": {}, "trial_values": {}, "figure": None, "non_finite": 0, **more})
        out.pop("more_figures", None)
        out["config"]["trials"] = out["trials"]["requested"] = out["trials"]["completed"] = trials
        for key, values in (curves or {}).items():
            x = list(range(len(values[0])))
            out["series"].append({"name": key, "x_name": "iteration", "x": x, "mean": [0.0] * len(x), "std": [0.0] * len(x), "trials": values})
        for key, values in (scalars or {"z": [0.0] * trials}).items():
            out["scalars"][key] = {"mean": 0.0, "std": 0.0, "n": trials}
            out["trial_values"][key] = values
        self.write(name, out)
        return name

    def judge(self, names, *claims, exit_code=0):
        """The standard output."""
        words = ["judge", *([names] if isinstance(names, str) else names)]
        for claim in claims:
            words += ["--claim", claim]
        return self.run_program(words, exit_code).stdout

    def claims_of(self, name, *claims):
        words = ["judge", name, "--out", "judged.json", "--force"]
        for claim in claims:
            words += ["--claim", claim]
        self.run_program(words)
        result = loads(self.read("judged.json"))
        self.check_evidence(result)
        return [claim for claim in result["claims"] if claim["kind"] == "own"]

    def check_evidence(self, result):
        for claim in result["claims"]:
            evidence = claim["evidence"]
            if "units" in evidence:
                self.assertLessEqual(evidence.get("units_violated", 0), evidence.get("units_with_case", 0))
                self.assertLessEqual(evidence.get("units_with_case", 0), evidence["units"])

    def verdict(self, name, claim):
        own = self.claims_of(name, claim)[0]
        return "undecided" if own.get("undecided") else own["verdict"]


class UnitsTest(MadeTest):
    def test_cases_in_one_trial_of_twelve_confirm_nothing(self):
        name = self.made({"g": [[1.0] * 10] * 11 + [[1.0] * 9 + [9.0]]})
        own = self.claims_of(name, "g >= 5 from g > 5.8")[0]
        self.assertTrue(own["undecided"])
        self.assertEqual(own["evidence"], {"type": "count", "violations": 0, "cases": 1, "worst": None, "units": 12, "units_with_case": 1})
        self.assertIn("no case in trials 0 to 10", own["detail"])
        # One violation is enough.
        self.assertEqual(self.verdict(name, "g <= 5 from g > 5.8"), "fails")

    def test_a_restriction_that_is_undefined_in_most_trials(self):
        lost = [[1.0, 3, 2] + [NAN] * 7] * 11 + [[1.0, 3, 2] + [1.0] * 7]
        self.assertEqual(self.verdict(self.made({"a": [[1.0] * 10] * 12, "g": lost}), "a >= 1 from iteration > argmax(g)"), "undecided")

    def test_two_of_three_trials_have_a_value(self):
        name = self.made({"g": [[1.0] * 10] * 2 + [[1.0] * 5 + [NAN] * 5]})
        self.assertEqual(self.verdict(name, "last(g) >= 0"), "undecided")
        self.assertEqual(self.verdict(name, "first(g) >= 0"), "holds")
        self.assertEqual(self.verdict(name, "mean last(g) >= 0"), "undecided")

    def test_seven_of_twelve_trials_are_a_majority_for_a_mean_only(self):
        rising = [[float(i + t) for i in range(10)] for t in range(7)]
        name = self.made({"g": rising + [[1.0] * 5 + [NAN] * 5] * 5})
        self.assertEqual(self.verdict(name, "g <= 50"), "undecided")  # at every point of every trial
        self.assertEqual(self.verdict(name, "never g > 50"), "undecided")
        self.assertEqual(self.verdict(name, "g <= 5"), "fails")
        own = self.claims_of(name, "mean last(g) <= 50")[0]
        self.assertEqual((own["verdict"], own["evidence"]["n"]), ("holds", 7))
        self.assertIn("undefined in trials 7 to 11", own["detail"])
        self.assertEqual(self.verdict(self.made({"g": rising[:6] + [[1.0] * 5 + [NAN] * 5] * 6}), "mean last(g) <= 50"), "undecided")

    def test_a_run_that_diverged_is_not_compared(self):
        a, b = [[3.0 - t / 100] * 4 for t in range(12)], [[2.0] * 4 for _ in range(12)]
        statements = "mean last(a) - last(b) > 0", "last(a) > last(b)", "a > b", "alike last(a), last(b) within 9", "slope a - b over iteration in [-1, 1]"
        name = self.made({"a": a, "b": b})
        self.assertEqual([self.verdict(name, text) for text in statements], ["holds"] * 5)
        name = self.made({"a": a, "b": b[:11] + [[2.0, 2.0, 2.0, NAN]]})
        self.assertEqual([self.verdict(name, text) for text in statements], ["undecided"] * 5)
        # If both diverge in one trial, the others decide, except at every point.
        name = self.made({"a": a[:11] + [[3.0, NAN, NAN, NAN]], "b": b[:11] + [[2.0, 2.0, 2.0, NAN]]})
        self.assertEqual([self.verdict(name, text) for text in statements], ["holds", "holds", "undecided", "holds", "holds"])

    def test_a_curve_that_is_mostly_undefined_confirms_nothing(self):
        name = self.made({"g": [[NAN] * 9 + [2.0]] * 12})
        for text in ("g >= 1", "mean max(g) <= 9", "mean mean(g) <= 9", "slope g over iteration <= 9", "mean share(g >= 1) >= 0"):
            self.assertIn(self.verdict(name, text), ("undecided", "not-applicable"), text)
        self.assertEqual(self.verdict(name, "last(g) >= 1"), "holds")
        half = self.made({"g": [[NAN] * 5 + [2.0] * 5] * 12})
        self.assertEqual(self.verdict(half, "g >= 1"), "holds")
        # log10 of 0 and of negative numbers is undefined.
        self.assertEqual(self.verdict(self.made({"g": [[-1.0] * 9 + [2.0]] * 12}), "log10(g) >= 0"), "undecided")

    def test_undefined_values_are_counted_once(self):
        own = self.claims_of(self.made({"g": [[1.0, NAN, 1.0]] * 12}), "1 <= mean(g)")[0]
        self.assertIn("12 undefined values of curves left out", own["detail"])

    def test_violations_are_counted_by_trial(self):
        name = self.made({"g": [[0.0, 2.0, 2.0]] * 9 + [[0.0, 0.0, 0.0]] * 3})
        self.assertIn("18 violations in 36 cases, in 9 of 12 seeds", self.judge(name, "g <= 1"))

    def test_a_slope_needs_three_different_x_and_a_curve_that_ends(self):
        two = self.made({"g": [[1.0, 2.0, 3.0, 4.0]] * 12, "x": [[1.0, 1.0, 2.0, 2.0]] * 12})
        self.assertEqual(self.verdict(two, "slope g over x in [0, 9]"), "not-applicable")
        rising = [[math.exp(0.5 * i) for i in range(8)]] * 12
        self.assertEqual(self.verdict(self.made({"g": rising}), "slope log(g) over iteration in [0.49, 0.51]"), "holds")
        lost = [curve[:7] + [NAN] for curve in rising]
        self.assertIn(self.verdict(self.made({"g": lost}), "slope log(g) over iteration in [0.49, 0.51]"), ("undecided", "not-applicable"))


class NumbersTest(MadeTest):
    def test_equal_values_are_counted(self):
        name = self.made(scalars={"k": [1.0, 1.0, 1.0]})
        own = self.claims_of(name, "mean k in [0.99, 1.01]")[0]
        self.assertEqual(own["evidence"], {"type": "count", "violations": 0, "cases": 3, "worst": None, "units": 3, "units_with_case": 3, "mean": 1.0})
        self.assertIn("1 in each of 3 seeds", self.judge(name, "mean k in [0.99, 1.01]"))
        # Values without spread are no mean among Holm's means: {5.5, 6.5, 7.5} is above 0 with p = 0.0078.
        name = self.made(scalars={"a": [5.5, 6.5, 7.5], "k": [1.0, 1.0, 1.0]})
        self.assertFalse(self.claims_of(name, "mean a >= 0", "mean k < 1")[0].get("holm_undecided", False))

    def test_shares_of_trials_have_the_binomial_interval(self):
        name = self.made({"g": [[1.0] * 5] * 3})
        self.assertEqual(self.verdict(name, "mean share(last(g) > 0) >= 0.999"), "undecided")
        for text in ("often last(g) > 0 >= 0.17", "mean share(last(g) > 0) >= 0.17"):
            own = self.claims_of(name, text)[0]
            self.assertEqual(own["verdict"], "holds")
            self.assertAlmostEqual(own["evidence"]["low"], 0.005 ** (1 / 3), delta=1e-9)  # p^3 = 0.005
            self.assertEqual((own["evidence"]["high"], own["evidence"]["n"], own["evidence"]["binomial"]), (1, 3, True))
        self.assertEqual(self.verdict(name, "often last(g) > 0 >= 0.18"), "undecided")

    def test_often_counts_the_trials_in_which_a_condition_holds(self):
        # 9 of 12: the ends solve P(X >= 9) = 0.005 and P(X <= 9) = 0.005.
        name = self.made(scalars={"a": [2.0] * 9 + [0.0] * 3, "b": [1.0] * 12})
        evidence = self.claims_of(name, "often a > b and not a < b >= 0.3")[0]["evidence"]
        tail = lambda p, least: sum(math.comb(12, k) * p ** k * (1 - p) ** (12 - k) for k in range(least, 13))
        self.assertEqual(evidence["mean"], 0.75)
        self.assertAlmostEqual(tail(evidence["low"], 9), 0.005, delta=1e-9)
        self.assertAlmostEqual(1 - tail(evidence["high"], 10), 0.005, delta=1e-9)
        for region, verdict in ((">= 0.3", "holds"), (">= 0.5", "undecided"), ("in [0.3, 1]", "holds"), ("<= 0.2", "fails"), ("< 0.99", "holds")):
            self.assertEqual(self.verdict(name, f"often a > b {region}"), verdict, region)
        # A trial without a value is none of them.
        own = self.claims_of(self.made(scalars={"a": [2.0] * 9 + [NAN] * 3}), "often a > 1 >= 0.5")[0]
        self.assertEqual((own["evidence"]["mean"], own["evidence"]["n"]), (1, 9))
        self.assertEqual(self.verdict(self.made(scalars={"a": [2.0] * 6 + [NAN] * 6}), "often a > 1 >= 0.1"), "undecided")

    def test_often_is_refused_with_its_cure(self):
        name = self.made({"g": [[1.0] * 5] * 3}, {"a": [1.0] * 3})
        for text, message in (("often g > 0 >= 0.9", "column 9: 'often' takes a condition on one number of each trial"),
                              ("often a >= 0.9", "column 15: expected <=, >=, <, >"),
                              ("often a + 1 >= 0.9 >= 0.5 >= 1", "column 27: '>=' is not expected here"),
                              ("often a", "column 8: expected <=, >=, <, >")):
            self.refused(["judge", name, "--claim", text], message)
        self.refused(["judge", name, "--claim", "often (a > 0 > 1) >= 0.5"], "join two comparisons by and")

    def test_two_times_that_are_never_reached_are_not_compared(self):
        never, late, soon = [[9.0] * 6] * 12, [[9.0] * 4 + [0.0] * 2] * 12, [[9.0] + [0.0] * 5] * 12
        name = self.made({"lost": never, "nor": never, "late": late, "soon": soon})
        for text, verdict in (("when(lost <= 1) <= when(nor <= 1) / 2", "not-applicable"), ("when(lost <= 1) < when(nor <= 1)", "not-applicable"),
                              ("when(soon <= 1) <= when(late <= 1) / 2", "holds"), ("when(late <= 1) < when(lost <= 1)", "holds"),
                              ("when(lost <= 1) < when(late <= 1)", "fails"), ("when(lost <= 1) < inf", "fails"), ("when(late <= 1) < inf", "holds"),
                              ("when(lost <= 1) >= inf", "holds"), ("mean when(lost <= 1) < inf", "fails"), ("mean when(late <= 1) <= 4", "holds"),
                              ("mean when(lost <= 1) - when(nor <= 1) <= 0", "not-applicable")):
            self.assertEqual(self.verdict(name, text), verdict, text)
        some = self.made({"g": never[:6] + late[:6]})
        self.assertEqual(self.verdict(some, "mean when(g <= 1) < inf"), "undecided")
        self.assertEqual(self.verdict(some, "when(g <= 1) < inf"), "fails")
        own = self.claims_of(some, "often when(g <= 1) < inf >= 0.1")[0]
        self.assertEqual((own["verdict"], own["evidence"]["mean"]), ("holds", 0.5))

    def test_a_median_keeps_infinities(self):
        x = [[0.0, 1.0, 2.0, 4.0, 8.0, 16.0]] * 12
        with_infinity = sorted([math.inf] + [1 / v for v in x[0][1:]])
        own = self.claims_of(self.made({"x": x}), "mean median(1 / x) in [0, 9]", "mean median(1 / x) in [0, 9] from iteration >= 1")
        self.assertEqual([claim["measured"] for claim in own], [statistics.median(with_infinity), statistics.median(with_infinity[:-1])])

    def test_comparisons_are_up_to_the_rounding_of_what_is_compared(self):
        ulp = 2.0 ** -52
        name = self.made({"a": [[1.0, 1.0 + ulp, 1.0]] * 12, "b": [[1.0 + ulp] * 3] * 12, "c": [[1.0] * 3] * 12, "big": [[1e9, 1e9 * (1 + ulp), 1e9]] * 12})
        for text in ("never diff(a) > 0", "c - b >= 0", "b - c <= 0", "never b - c > 0", "c >= b", "never diff(big) / 1e3 > 0", "(c - b) * 1e6 >= 0",
                     "log(c) - log(b) >= 0", "never max(diff(a)) > 0", "never sum(diff(a)) > 0", "never sqrt(big) - sqrt(1e9) > 0"):
            self.assertEqual(self.verdict(name, text), "holds", text)
        # What is larger by more than rounding is larger.
        name = self.made({"a": [[1.0, 1.0 + 1e-9, 1.0]] * 12, "c": [[1.0] * 3] * 12})
        for text in ("never diff(a) > 0", "c - a >= 0"):
            self.assertEqual(self.verdict(name, text), "fails", text)
        tie = self.made(scalars={"a": [1.0 + ulp] * 12, "c": [1.0] * 12})
        self.assertEqual(self.verdict(tie, "mean a - c > 0"), "undecided")

    def test_a_place_that_one_trial_lacks_is_undefined_there(self):
        name = self.made({"g": [[1.0, 5.0, 2.0, 1.0]] * 11 + [[1.0, 2.0, 5.0, 1.0]]})
        own = self.claims_of(name, "mean at(g, 1) >= 0 from iteration >= argmax(g)")[0]
        self.assertEqual((own["verdict"], own["evidence"]["units_with_case"], own["measured"]), ("holds", 11, 5.0))
        self.assertIn("undefined in trial 11", own["detail"])
        self.refused(["judge", name, "--claim", "mean at(g, 7) >= 0"], "the curve has no iteration 7; it has 4 from 0 to 3")


class FilesTest(MadeTest):
    def test_holm_is_over_all_means_of_a_file(self):
        draw = random.Random(5)
        scalars = {f"q{i}": [draw.gauss(0.9, 1) for _ in range(12)] for i in range(1, 12)}
        many = self.made({"g": [[1.0] * 5] * 12}, scalars, name="many.json")
        texts = [f"mean {name} > 0" for name in scalars]
        at_once = {claim["claim"]: claim.get("holm_undecided", False) for claim in self.claims_of(many, *texts) if claim["verdict"] == "holds"}
        self.assertEqual(set(at_once.values()), {True, False})
        now = many
        for i, text in enumerate(texts):
            self.run_program(["judge", now, "--claim", text, "--out", f"step{i}.json"])
            now = f"step{i}.json"
        one_by_one = [claim for claim in loads(self.read(now))["claims"] if claim["verdict"] == "holds"]
        self.assertEqual({claim["claim"]: claim.get("holm_undecided", False) for claim in one_by_one}, at_once)
        # What is undecided after the correction does not count as holding.

    def test_a_second_judge_into_a_file_keeps_its_statements(self):
        name = self.made({"g": [[1.0] * 5] * 12})
        for text in ("g >= 0", "g <= 9", "g >= 0.5"):
            self.run_program(["judge", name, "--claim", text, "--out", "e.json"])
        self.assertEqual([(claim["id"], claim["claim"]) for claim in loads(self.read("e.json"))["claims"]],
                         [("mine/1", "g >= 0"), ("mine/2", "g <= 9"), ("mine/3", "g >= 0.5")])
        self.run_program(["judge", name, "--claim", "g >= 0.7", "--out", "e.json", "--force"])
        self.assertEqual([claim["claim"] for claim in loads(self.read("e.json"))["claims"]], ["g >= 0.7"])

    def test_kept_curves_are_replaced_only_with_force(self):
        for flags, name in ((" --keep-trials", "kept.json"), ("", "plain.json")):
            self.run_program(f"{TINY}{flags} --out {name} -q")
        before = self.read("kept.json")
        claim = ["--claim", "mean stable_rank_A >= 0"]
        self.refused(["judge", "plain.json", *claim, "--out", "kept.json"], "keeps the curves of every trial, which plain.json does not; --force")
        self.refused(f"{TINY} --out kept.json", "keeps the curves of every trial; add --keep-trials; --force replaces it")
        self.assertEqual(self.read("kept.json"), before)
        self.run_program(f"{TINY} --keep-trials --out kept.json -q")
        self.run_program(f"{TINY} --out kept.json -q --force")
        self.assertNotIn("keeps_trials", loads(self.read("kept.json")))

    def test_statements_of_a_file_are_replaced_only_with_force(self):
        claim = ["--claim", "gd.nuclear_rank >= 1"]
        self.run_program([*TINY.split(), "--out", "r.json", "-q", *claim])
        self.refused(f"{TINY} --out r.json", "has a statement of your own that this run does not judge", "gd.nuclear_rank >= 1", "--force")
        self.run_program([*TINY.split(), "--out", "r.json", "-q", *claim])
        self.run_program(f"{TINY} --out r.json -q --force")

    def test_damaged_results_are_refused_with_their_place(self):
        scalars = {"a": [1.0] * 12, "b": [1.0] * 12}
        good = loads(self.read(self.made({"g": [[1.0] * 5] * 12, "h": [[1.0] * 5] * 12}, scalars)))
        def damaged(change):
            out = copy.deepcopy(good)
            change(out)
            self.write("bad.json", out)
            return self.refused(["judge", "bad.json", "--claim", "a >= 0"], "bad.json: ", exit_code=1)
        self.assertIn("trial_values.b: has 5 trials, and trial_values.a has 12", damaged(lambda r: r["trial_values"].update(b=[1.0] * 5)))
        self.assertIn("series[1].trials: has 4 trials, and trial_values.a has 12", damaged(lambda r: r["series"][1].update(trials=[[1.0] * 5] * 4)))
        self.assertIn("series[1].name: another curve has the name 'g'", damaged(lambda r: r["series"][1].update(name="g")))

    def test_a_slope_over_results_needs_three_sizes_and_names_other_differences(self):
        for name, flags in (("a", "--n 30"), ("b", "--n 30 --seed 2"), ("c", "--n 60"), ("d", "--n 120 --activation gelu")):
            self.run_program(f"{TINY} {flags} --out {name}.json -q")
        text = "slope log(stable_rank_A) over log(n) in [-9, 9]"
        self.assertIn("no line in trials 0 to 2: it needs three different x", self.judge(["a.json", "b.json", "c.json"], text))
        out = self.judge(["a.json", "c.json", "d.json"], text)
        self.assertIn("holds", out)
        self.assertIn("the results also differ in activation (relu, gelu)", " ".join(out.split()))


if __name__ == "__main__":
    unittest.main()
