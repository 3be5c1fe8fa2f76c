"""Statements of one's own, judged by the program and again from the curves of single trials, in plain Python."""
import math
import os
import statistics
import subprocess
import textwrap
import unittest

from program import BINARY, ROOT, ProgramTest, loads

TOY = "random-features --study trajectory --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 5"
RUN = TOY + " --keep-trials"


def own_claims(result):
    return [claim for claim in result["claims"] if claim["kind"] == "own"]


class Trial:
    """The numbers of one trial by name: curves as lists, scalars as numbers."""

    def __init__(self, result, trial):
        self.values = {name: values[trial] for name, values in result["trial_values"].items()}
        self.values.update({series["name"]: series["trials"][trial] for series in result["series"] if "trials" in series})

    def __getitem__(self, name):
        return self.values[name]


def trials_of(result):
    return [Trial(result, trial) for trial in range(result["trials"]["completed"])]


GD, SPECGD, NR = "gd.objective_gap", "specgd.objective_gap", "gd.nuclear_rank"


def share(cases):
    return sum(cases) / len(cases)


def slope(x, y):
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)


def when(curve, bound):
    return next((i for i, x in enumerate(curve) if x <= bound), math.inf)


def diff(curve):
    return [b - a for a, b in zip(curve, curve[1:])]


# Statements whose cases are counted, and the cases of one trial.
COUNTED = {
    "nuclear_rank[run=gd] >= 3": lambda t: [x >= 3 for x in t[NR]],
    "nuclear_rank[ run = 'specgd' ] >= 3": lambda t: [x >= 3 for x in t["specgd.nuclear_rank"]],
    "nuclear_rank[run=*] >= 3": lambda t: [x >= 3 for name in (NR, "specgd.nuclear_rank") for x in t[name]],
    "gd.nuclear_rank >= stable_rank_A": lambda t: [x >= t["stable_rank_A"] for x in t[NR]],
    "gd.nuclear_rank > 2 * stable_rank_A": lambda t: [x > 2 * t["stable_rank_A"] for x in t[NR]],
    "never diff(gd.nuclear_rank) > 0": lambda t: [not x > 0 for x in diff(t[NR])],
    "never diff(gd.nuclear_rank / stable_rank_A) > 0 from iteration >= 5": lambda t: [not x > 0 for x in diff(t[NR][5:])],
    "gd.objective_gap < first(gd.objective_gap) from iteration >= 1 and iteration <= 4": lambda t: [x < t[GD][1] for x in t[GD][1:5]],
    "gd.objective_gap <= specgd.objective_gap": lambda t: [a <= b for a, b in zip(t[GD], t[SPECGD])],
    "not gd.objective_gap <= specgd.objective_gap": lambda t: [not a <= b for a, b in zip(t[GD], t[SPECGD])],
    "gd.nuclear_rank >= 3 and gd.objective_gap >= 0.1": lambda t: [a >= 3 and b >= 0.1 for a, b in zip(t[NR], t[GD])],
    "gd.nuclear_rank >= 3 or gd.objective_gap >= 0.1": lambda t: [a >= 3 or b >= 0.1 for a, b in zip(t[NR], t[GD])],
    "(gd.nuclear_rank >= 3 or gd.objective_gap >= 0.1) and iteration >= 3":
        lambda t: [(a >= 3 or b >= 0.1) and i >= 3 for i, (a, b) in enumerate(zip(t[NR], t[GD]))],
    "sqrt(gd.objective_gap) * exp(-iteration / 10) <= abs(-1)": lambda t: [math.sqrt(x) * math.exp(-i / 10) <= 1 for i, x in enumerate(t[GD])],
    "last(gd.objective_gap) <= 0.5": lambda t: [t[GD][-1] <= 0.5],
    "last(objective_gap[gd]) <= last(objective_gap[specgd])": lambda t: [t[GD][-1] <= t[SPECGD][-1]],
    "max(gd.objective_gap, specgd.objective_gap) >= 0.2": lambda t: [max(a, b) >= 0.2 for a, b in zip(t[GD], t[SPECGD])],
    "*gd.objective_gap >= 0.05": lambda t: [x >= 0.05 for curve in (GD, SPECGD) for x in t[curve]],
    "'gd.nuclear_rank' ^ 2 >= m": lambda t: [x ** 2 >= 12 for x in t[NR]],
    "gd.nuclear_rank >= 3 from iteration >= m": lambda t: [x >= 3 for x in t[NR][12:]],
    "never diff(gd.nuclear_rank) > 0 from iteration > gd.nuclear_rank_peak_iteration + 1":
        lambda t: [not x > 0 for x in diff(t[NR][t[NR].index(max(t[NR])) + 2:])],
    "gd.nuclear_rank >= 3 from iteration <= argmax(gd.nuclear_rank)": lambda t: [x >= 3 for x in t[NR][:t[NR].index(max(t[NR])) + 1]],
    "gd.objective_gap <= 0.5 from gd.nuclear_rank >= 3": lambda t: [x <= 0.5 for x, nr in zip(t[GD], t[NR]) if nr >= 3],
    "when(specgd.objective_gap <= first(gd.objective_gap) / 2) <= when(gd.objective_gap <= first(gd.objective_gap) / 2)":
        lambda t: [when(t[SPECGD], t[GD][0] / 2) <= when(t[GD], t[GD][0] / 2)],
}
# Statements about the mean of a number, and the number in one trial.
MEANS = {
    "mean log10(last(specgd.objective_gap) / last(gd.objective_gap)) <= 0": lambda t: math.log10(t[SPECGD][-1] / t[GD][-1]),
    "mean share(gd.nuclear_rank >= 2 * stable_rank_A) in [0.5, 1]": lambda t: share([x >= 2 * t["stable_rank_A"] for x in t[NR]]),
    "mean sum(gd.nuclear_rank) >= 1": lambda t: math.fsum(t[NR]),
    "mean mean(gd.nuclear_rank) >= 1": lambda t: statistics.fmean(t[NR]),
    "mean median(gd.nuclear_rank) >= 1": lambda t: statistics.median(t[NR]),
    "mean min(gd.nuclear_rank) > 1": lambda t: min(t[NR]),
    "mean max(gd.nuclear_rank) < 9": lambda t: max(t[NR]),
    "mean argmax(gd.nuclear_rank) <= 20": lambda t: t[NR].index(max(t[NR])),
    "mean argmin(gd.objective_gap) >= 2 * 10": lambda t: t[GD].index(min(t[GD])),
    "mean at(gd.nuclear_rank, 7) - first(gd.nuclear_rank) >= 0": lambda t: t[NR][7] - t[NR][0],
    "mean log(first(gd.objective_gap)) + log2(4) <= 9": lambda t: math.log(t[GD][0]) + 2,
    "mean last(gd.nuclear_rank) / min(m, k, n, d) in [0, 1]": lambda t: t[NR][-1] / 5,
    "mean max(gd.nuclear_rank) <= 1e3 from iteration <= 3": lambda t: max(t[NR][:4]),
    "mean -min(-gd.nuclear_rank) in [-inf, inf]": lambda t: max(t[NR]),
    "mean share(diff(gd.objective_gap) < 0) >= 0.9": lambda t: share([x < 0 for x in diff(t[GD])]),
    "slope log(gd.objective_gap) over iteration <= 0": lambda t: slope(range(21), [math.log(x) for x in t[GD]]),
    "slope log(gd.objective_gap) over log(iteration) <= 0 from iteration >= 3":
        lambda t: slope([math.log(i) for i in range(3, 21)], [math.log(x) for x in t[GD][3:]]),
    "alike gd.nuclear_rank_peak, max(gd.nuclear_rank) within 0.01": lambda t: t["gd.nuclear_rank_peak"] - max(t[NR]),
    "alike last(gd.objective_gap), last(specgd.objective_gap) within 1e-9": lambda t: t[GD][-1] - t[SPECGD][-1],
}

MISTAKES = {
    "": "--claim: '' is not allowed",
    " ": "column 2: expected a number, a name or a function, got the end",
    "gd.nuclear_rank": "column 1: this is no condition",
    "gd.nuclear_rank >=": "column 19: expected a number, a name or a function, got the end",
    "gd.nuclear_rank => 2": "column 17: compare by <, <=, >, >=",
    "gd.nuclear_rank == 2": "column 17: compare by <, <=, >, >=",
    "gd.nuclear_rank != 2": "column 17: compare by <, <=, >, >=",
    "gd.nuclear_rank >= 2)": "column 21: ')' is not expected here",
    "(gd.nuclear_rank >= 2": "column 22: expected ')', got the end",
    "1 <= gd.nuclear_rank <= 2": "column 22: join two comparisons by and",
    "always gd.nuclear_rank >= 2": "column 1: 'always' begins no statement; allowed: never, mean, often, slope, alike, or",
    "Mean last(gd.nuclear_rank) >= 2": "column 1: 'Mean' begins no statement",
    "gd.nuclear_rank \u2265 2": "column 17: only ASCII is allowed here; write >= for \u2265",
    "log2(lambda=1.mu) >= 2": "column 12: compare by <, <=, >, >=; `alike A, B within 0.01` says that two are equal; a name with such characters needs quotes",
    "1 <= 2": "column 1: the statement names no quantity",
    "mean last(gd.nuclear_rank) <= first(gd.nuclear_rank)": "column 31: must be a number; compare two quantities as",
    "gd.nuclear_rank >= 2 and": "column 25: expected a number",
    "gd.nuclear_rank >= 2 & a": "column 22: '&' is not allowed here",
    "gd.nuclear_rank >= 2x": "column 20: '2x' is not a number",
    "gd.nuclear_rank >= 1.2.3": "column 20: '1.2.3' is not a number",
    "'gd.nuclear_rank >= 2": "column 1: the quote is not closed",
    "nuclear_rank[gd >= 2": "column 13: the bracket is not closed",
    "nuclear_rank[run=nothing] >= 2": "column 1: 'nuclear_rank' was not measured at run=nothing; allowed: gd, specgd",
    "nuclear_rank[layer=1] >= 2": "column 1: 'nuclear_rank' was not measured at layer=1; its axes: run",
    "nuclear[run=gd] >= 2": "column 1: nothing called 'nuclear' was measured in this run",
    "nuclear_rank[run=gd, 2] >= 2": "column 22: expected AXIS=PLACE in the bracket, such as layer=1",
    "mean gd.nuclear_rank": "column 21: expected <=, >=, <, > or `in [LOW, HIGH]`, got the end",
    "mean last(gd.nuclear_rank) in [2, 1]": "column 28: the interval is empty",
    "mean last(gd.nuclear_rank) in 2": "column 31: expected '[', got '2'",
    "mean last(gd.nuclear_rank) in [2]": "column 33: expected ',', got ']'",
    "mean last(gd.nuclear_rank) <= stable_rank_A": "column 31: must be a number, not 'stable_rank_A'; compare two quantities as",
    "mean last(gd.nuclear_rank) <= 2 3": "column 33: '3' is not expected here",
    "mean last gd.nuclear_rank <= 2": "column 11: expected <=",
    "mean lst(gd.nuclear_rank) <= 2": "column 6: unknown function 'lst'; did you mean 'last'?",
    "mean at(gd.nuclear_rank) <= 2": "column 6: at() takes 2 arguments, got 1",
    "mean last(gd.nuclear_rank, 2) <= 2": "column 6: last() takes 1 argument, got 2",
    "slope gd.nuclear_rank <= 2": "column 23: expected 'over', got '<='",
    "alike stable_rank_A within 0.1": "column 21: expected ',', got 'within'",
    "alike stable_rank_A, m within 0": "column 32: the margin after 'within' must be positive",
    "alike stable_rank_A, m within -1": "the margin after 'within' must be positive",
    "not": "column 4: expected a number",
    "median last(gd.nuclear_rank) <= 2": "column 1: 'median' begins no statement; allowed: never, mean, often, slope, alike, or a comparison; of the median over the trials, write `often",
    "often last(gd.nuclear_rank) <= 2 >= 90%": "column 39: '%' is not allowed here; write 0.9 for 90 %",
    "gd.nuclear_rank >= 2 && stable_rank_A > 1": "column 22: '&' is not allowed here; write and, or",
    "gd.nuclear_rank ≤ 2": "column 17: only ASCII is allowed here; write <= for",
    "never mean last(gd.nuclear_rank) > 2": "column 12: 'last' is not expected here",
    "gd.nuclear_rank >= 2 from": "column 26: expected a number",
    "(" * 60 + "1" + ")" * 60 + " > 0": "more than 40 levels of parentheses",
    "stable_rank_A > " + "1 + " * 300 + "1": "column 1000: the statement has more than 1000 characters",
}
# Mistakes that only the run shows.
UNFIT = {
    "gd.rank >= 2": "column 1: no quantity 'gd.rank' in this run; did you mean 'gd.nuclear_rank'?",
    "gd.nuclear_rnk >= 2": "column 1: no quantity 'gd.nuclear_rnk' in this run; did you mean 'gd.nuclear_rank'?",
    "gd.loss >= 2": "column 1: no quantity 'gd.loss' in this run; it has gd.log10_gap, gd.nuclear_rank, ",
    "2 <= zzz": "column 6: no quantity 'zzz' in this run; it has ",
    "slope gd.nuclear_rank over t <= 0": "column 28: no quantity 't' in this run; it has ",
    "mean peak <= 3": "column 6: no quantity 'peak' in this run; did you mean 'gd.nuclear_rank_peak'?",
    "layer*.loss >= 2": "column 1: no quantity matches 'layer*.loss'; a product needs blanks around its star",
    "a*b*c*d*e >= 2": "column 1: a name has at most 3 stars",
    "gd.nuclear_rank >= specgd_from_10.objective_gap": "column 17: the left side has 21 values over iteration, the right side 11 values over iteration",
    "mean gd.nuclear_rank <= 3": "column 6: this is a curve, 21 values over iteration; first, last, mean",
    "mean gd.nuclear_rank >= 2 <= 3": "column 27: '<=' is not expected here",
    "mean (gd.nuclear_rank >= 2) <= 3": "column 23: this is a curve",
    "mean (stable_rank_A >= 2) <= 3": "column 21: a condition is no number; use share(...)",
    "mean last(gd.nuclear_rank >= 2) <= 3": "column 6: last() takes numbers; share(...) is how often a condition holds",
    "mean share(gd.nuclear_rank) <= 3": "column 6: share() takes a condition, such as share(a >= b)",
    "mean sum(diff(stable_rank_A)) <= 3": "column 10: diff() takes a curve, not one number",
    "mean at(gd.nuclear_rank, 7.5) <= 3": "column 26: the curve has no iteration 7.5; it has 21 from 0 to 20",
    "mean at(stable_rank_A, 1) <= 3": "column 24: at() takes a curve and a place on it",
    "slope stable_rank_A over m <= 3": "column 7: a slope needs two curves over the same x, or several results",
    "gd.nuclear_rank and stable_rank_A >= 1": "column 17: 'and' joins conditions, such as a >= b",
    "1 + (gd.nuclear_rank >= 2) >= 1": "column 3: a condition is no number; share(...) is how often it holds",
    "log(gd.nuclear_rank >= 2) >= 1": "column 1: a condition is no number; share(...) is how often it holds",
    "not gd.nuclear_rank": "column 1: 'not' takes a condition, such as not a >= b",
    "stable_rank_A >= 1 from iteration >= 1": "column 35: 'from' restricts curves, and the statement has none",
    "gd.nuclear_rank >= 1 from step >= 1": "column 32: 'from' needs a condition on iteration",
    "gd.nuclear_rank >= 1 from iteration >= specgd_from_10.objective_gap": "column 37: the left side has 21 values over iteration, the right side 11",
    "gd.nuclear_rank >= 1 from argmax(gd.nuclear_rank) >= 3": "column 51: 'from' needs a condition at every iteration",
    "zzz >= 1 from iteration >= 1": "column 1: no quantity 'zzz' in this run",
    "mean when(gd.nuclear_rank) <= 3": "column 6: when() takes a condition on a curve",
    "mean when(stable_rank_A >= 1) <= 3": "column 6: when() takes a condition on a curve",
    "gd.nuclear_rank >= 1 from iteration + 1": "column 37: 'from' needs a condition",
    "gd.nuclear_rank >= 1 from iteration >= 100": "column 37: no iteration of the run meets this condition",
}


class OwnStatementTest(ProgramTest):
    def judged(self, statements, name="out.json"):
        words = ["judge", name, "--out", "judged.json", "--force"]
        for statement in statements:
            words += ["--claim", statement]
        self.assertEqual(self.run_program(words).stderr, "judged.json\n")
        self.check_schema(loads(self.read("judged.json")))
        return own_claims(loads(self.read("judged.json")))

    def test_every_construct_agrees_with_plain_python(self):
        result = self.result(RUN)
        trials = trials_of(result)
        self.assertEqual(len(trials), 5)
        for claim, (text, cases) in zip(self.judged(COUNTED), COUNTED.items(), strict=True):
            self.assertEqual(claim["claim"], text)
            of_all = [case for trial in trials for case in cases(trial)]
            self.assertEqual((claim["evidence"]["violations"], claim["evidence"]["cases"]), (of_all.count(False), len(of_all)), text)
            self.assertEqual(claim["verdict"], "holds" if all(of_all) else "fails", text)
        self.assertEqual({claim["verdict"] for claim in self.judged(COUNTED)}, {"holds", "fails"})
        for claim, (text, number) in zip(self.judged(MEANS), MEANS.items(), strict=True):
            numbers = [number(trial) for trial in trials]
            evidence, mean = claim["evidence"], statistics.fmean(numbers)
            if len(set(numbers)) == 1 or text.startswith("alike gd.nuclear_rank_peak"):  # equal values, up to rounding, are counted
                self.assertEqual((evidence["type"], evidence["cases"], evidence["mean"], evidence["violations"]), ("count", 5, mean, 0), text)
                self.assertEqual(claim["verdict"], "holds", text)
                continue
            half = 4.604094871415898 * statistics.stdev(numbers) / math.sqrt(5)  # Student, 4 degrees, 99 %
            size = max(abs(mean), half, 1e-12)
            for key, expected in (("mean", mean), ("low", mean - half), ("high", mean + half)):
                self.assertLess(abs(evidence[key] - expected), 1e-9 * size, f"{text}: {key}")
            self.assertEqual(evidence["n"], 5)
            low, high = (-claim["evidence"]["margin"], claim["evidence"]["margin"]) if "margin" in evidence else claim["expected"]
            low, high = -math.inf if low is None else low, math.inf if high is None else high
            verdict = ("holds" if low <= mean - half and mean + half <= high else
                       "fails" if mean + half < low or mean - half > high else "not-applicable")
            self.assertEqual(claim["verdict"], verdict, text)

    def test_a_count_names_the_case_with_the_least_margin(self):
        margins = {"never diff(gd.nuclear_rank) > 0": lambda t: [(-x, i) for i, x in enumerate(diff(t[NR]), 1)],
                   "gd.nuclear_rank >= 3": lambda t: [(x - 3, i) for i, x in enumerate(t[NR])],
                   "gd.objective_gap < specgd.objective_gap": lambda t: [(b - a, i) for i, (a, b) in enumerate(zip(t[GD], t[SPECGD]))]}
        trials = trials_of(self.result(RUN))
        for claim, of_trial in zip(self.judged(margins), margins.values(), strict=True):
            margin, i, trial = min((margin, i, number) for number, t in enumerate(trials) for margin, i in of_trial(t))
            self.assertIn(f"least margin {margin:.4g} at iteration {i} of trial {trial}", claim["detail"])

    def test_the_printed_claims_of_a_trajectory_in_the_language(self):
        condition = "gd.nuclear_rank / stable_rank_A >= 1", "specgd.nuclear_rank / stable_rank_A >= 1"
        last = "log10(last(specgd.objective_gap) / last(gd.objective_gap))"
        for activation, statements in {
                "relu": {"spectral/eq-1.5/gd": condition[0], "spectral/eq-1.5/specgd": condition[1],
                         "spectral/fig-3/specgd-ahead": f"mean {last} < 0",
                         "spectral/fig-3/restarts-ahead": "last(specgd_from_10.objective_gap) < last(gd.objective_gap)"},
                "swiglu": {"spectral/fig-11/gd-ahead": f"mean {last} > 0"}}.items():
            result = self.result(f"{RUN} --activation {activation} --from-peak off")
            printed = {claim["id"]: claim for claim in result["claims"]}
            for (name, _), own in zip(statements.items(), self.judged(statements.values()), strict=True):
                self.assertEqual(own["evidence"], printed[name]["evidence"], name)
                self.assertEqual(own["verdict"], printed[name]["verdict"], name)
                self.assertEqual(own["unit"], printed[name]["unit"])

    def test_the_printed_exponents_of_a_study_over_sizes_in_the_language(self):
        result = self.result("spiked-model --study gradient-rank --k 8,16,32,64 --steps 20 --trials 4 --keep-trials")
        printed = {claim["id"]: claim for claim in result["claims"]}
        statements = {"spectral/fig-15a/nr-0-bounded": "slope log(nuclear_rank_0) over log(k) <= 0.25",
                      "spectral/fig-15a/nr-1-linear": "slope log(nuclear_rank_1) over log(k) in [0.9, 1.1]",
                      "spectral/fig-15a/eq-1.5-increasingly": "slope log(nuclear_rank_1 / stable_rank_A) over log(k) > 0",
                      "spectral/fig-14a/window-grows": "slope log(window_length) over log(k) >= 0.75"}
        for (name, text), own in zip(statements.items(), self.judged(statements.values()), strict=True):
            for key, value in printed[name]["evidence"].items():
                if isinstance(value, float):
                    self.assertAlmostEqual(own["evidence"][key], value, delta=1e-12, msg=f"{text}: {key}")
                else:
                    self.assertEqual(own["evidence"][key], value, f"{text}: {key}")
            self.assertEqual(own["verdict"], printed[name]["verdict"], name)
            self.assertEqual(own["unit"], printed[name]["unit"])

    def test_statements_come_to_a_merged_result(self):
        for shard in ("1/2", "2/2"):
            self.run_program([*TOY.split(), "--shard", shard, "--out", shard[0] + ".part", "-q"])
        self.run_program(["merge", "1.part", "2.part", "--out", "merged.json", "-q", "--keep-trials", "--claim", "gd.nuclear_rank >= stable_rank_A"])
        merged, whole = loads(self.read("merged.json")), self.result([*RUN.split(), "--claim", "gd.nuclear_rank >= stable_rank_A"])
        self.assertEqual(merged["claims"], whole["claims"])
        self.assertEqual(merged["series"], whole["series"])
        for flag in (["--claim", "gd.nuclear_rank >= 1"], ["--keep-trials"]):
            self.refused([*TOY.split(), "--shard", "1/2", "--out", "x.part", *flag], flag[0] + ": a shard writes no result; give the flag to `")

    def test_every_mistake_is_one_line_that_names_the_column(self):
        self.assertGreaterEqual(len(MISTAKES) + len(UNFIT), 50)
        self.result(RUN)
        for text, message in MISTAKES.items():
            line = self.refused(["judge", "out.json", "--claim", text], message)
            self.assertIn("--claim", line)
        for text, message in UNFIT.items():
            self.refused(["judge", "out.json", "--claim", text], message)
        # A run refuses what it can know before its first trial.
        self.refused([*TOY.split(), "--claim", "gd.nuclear_rank == 2"], "--claim 'gd.nuclear_rank == 2': column 17")

    def test_a_mistake_in_a_statement_is_refused_before_the_run(self):
        run = [*TOY.split(), "--out", "r.json"]
        self.refused([*run, "--claim", "gd.rank >= 2"], "--claim: mine/1: column 1: no quantity 'gd.rank' in this run; did you mean 'gd.nuclear_rank'?")
        self.refused([*run, "--claim", "gd.nuclear_rank >= 2", "--claim", "mean gd.nuclear_rank <= 1"], "--claim: mine/2: column 6: this is a curve")
        self.preset(claims=[{"id": "mine/a", "claim": "gd.nuclear_rnk >= 2"}])
        self.refused("run conjecture --out r.json", "preset conjecture: report.claims[0]: mine/a: column 1: ", "did you mean 'gd.nuclear_rank'?")
        failed = self.run_program("reproduce conjecture --out all", exit_code=1)
        self.assertRegex(failed.stderr, "conjecture +failed: preset conjecture: report.claims.0.: mine/a: column 1: no quantity")

    def test_a_name_that_this_run_lacks_keeps_the_result(self):
        # Only runs that diverge have the number.
        curvature = ("one-step-compare --study curvature --d 16 --width 24 --classes 3 --n 64 --layers 4 --steps 8 --measure-steps 0,8 "
                     "--directions 1 --optimizer sgd --activation gelu --lr 0.1 --trials 3 --out r.json --claim")
        run = self.run_program([*curvature.split(), "mean diverged <= 1", "--claim", "d > 1"], exit_code=2)
        self.assertIn("ranklab: mine/1: column 6: no quantity 'diverged' in this run", run.stderr)
        self.assertIn("ranklab judge r.json --claim", run.stderr)
        result = loads(self.read("r.json"))
        self.assertTrue(result["keeps_trials"])
        self.assertEqual(own_claims(result)[0]["verdict"], "not-applicable")

    def test_what_only_some_trials_show_is_judged(self):
        # Every construct of the language, from the first trial on.
        words = [word for text in (*COUNTED, *MEANS) for word in ("--claim", text)]
        self.assertEqual(len(own_claims(self.result([*TOY.split(), "--threads", "1", *words]))), len(COUNTED) + len(MEANS))
        # No point of the first trial is kept.
        trials = trials_of(self.result(RUN))
        first = max(trials[0][NR])
        self.assertTrue(any(max(trial[NR]) > first for trial in trials[1:]))
        text = f"gd.objective_gap >= 0 from gd.nuclear_rank > {first}"
        result = self.result([*TOY.split(), "--threads", "1", "--claim", text], name="from.json")
        self.assertEqual(own_claims(result)[0]["evidence"]["violations"], 0)
        # The first trial is not one of those that diverge.
        curvature = ("one-step-compare --study curvature --d 16 --width 24 --classes 3 --n 64 --layers 4 --steps 8 --measure-steps 0,8 "
                     "--directions 1 --optimizer sgd --activation gelu --lr 30 --threads 1 --claim")
        result = self.result([*curvature.split(), "mean diverged <= 1", "--trials", "4"], name="curvature.json")
        values = result["trial_values"]["diverged"]
        self.assertEqual((values[0], max(values)), (0, 1))
        self.assertEqual(own_claims(result)[0]["measured"], statistics.fmean(values))

    def test_two_trials_refute_a_count_but_do_not_confirm_it(self):
        statements = "gd.nuclear_rank >= 1", "gd.nuclear_rank >= 1000"  # nr(G) is from 1 to the rank of G, at most 10
        for trials, verdicts in ((2, [("not-applicable", True), ("fails", False)]), (3, [("holds", False), ("fails", False)])):
            self.result(RUN.replace("--trials 5", f"--trials {trials}"), name="out.json")
            own = self.judged(statements)
            self.assertEqual([(claim["verdict"], claim.get("undecided", False)) for claim in own], verdicts)

    def preset(self, claims=None, **more):
        os.makedirs(self.path("experiments"), exist_ok=True)
        self.write("experiments/conjecture.json", {
            "command": "random-features", "title": "A conjecture", "summary": "for tests", "trial": "seed", "seconds": 1,
            "source": {"paper": "[Spectral]", "figure": "Figure 3"},
            "report": {"claims": claims or [
                       {"id": "mine/criterion", "says": "The criterion holds along GD", "claim": "gd.nuclear_rank >= stable_rank_A"},
                       {"id": "mine/monotone", "says": "nr/st <falls> along GD", "claim": "never diff(gd.nuclear_rank / stable_rank_A) > 0"},
                       {"claim": "mean log10(last(specgd.objective_gap) / last(gd.objective_gap)) <= 0"}]},
            "config": {"study": "trajectory", "m": 12, "k": 10, "d": 5, "n": 30, "steps": 20, "restart-every": 0, "trials": 5}, **more})

    def test_a_preset_with_statements_from_the_first_run_to_the_page(self):
        self.preset()
        run = self.run_program(["run", "conjecture", "--out", "r.json", "--claim", "mean last(gd.objective_gap) <= 9"])
        result = loads(self.read("r.json"))
        self.check_schema(result)
        own = own_claims(result)
        self.assertEqual([claim["id"] for claim in own], ["mine/criterion", "mine/monotone", "mine/3", "mine/4"])
        self.assertEqual([claim["verdict"] for claim in own], ["holds", "fails", "holds", "holds"])
        self.assertIn("does not hold   mine/monotone: ", run.stdout)
        self.assertIn("says: nr/st <falls> along GD", run.stdout)
        self.assertIn("3 of 4 of your own hold", run.stdout)
        self.assertNotIn("trials", result["series"][0])
        self.run_program("report r.json --out page.html")
        page = self.read("page.html")
        self.assertIn("Own statements: 3 of 4 hold", page)
        self.assertIn("nr/st &lt;falls&gt; along GD", page)
        self.assertIn("<caption>Own statements</caption>", page)
        self.assertIn("<tr><td colspan=4><code>never diff(gd.nuclear_rank / stable_rank_A) &gt; 0</code>", page)
        self.assertIn("reproduced bit for bit", self.run_program("verify r.json").stdout)
        # A run with the config of a result has its statements.
        self.run_program("random-features --config r.json --out again.json -q")
        again = loads(self.read("again.json"))
        self.assertEqual(own_claims(again), own)
        self.assertIn("0 of 14 verdicts", self.run_program("compare r.json again.json").stdout)
        table = self.run_program("export r.json --what claims").stdout.splitlines()
        self.assertTrue(any(line.startswith("mine/monotone,mine/monotone,ours,own,") for line in table))

    def test_a_preset_with_a_mistaken_statement_is_refused(self):
        for claims, message in (([{"claim": "a >"}], "preset conjecture: report.claims 'a >': column 4"),
                                ([{"id": "spectral/thm-1", "claim": "a > 1"}], "the id 'spectral/thm-1' is not allowed; allowed: mine/NAME"),
                                ([{"id": "mine/a", "claim": "a > 1"}, {"id": "mine/a", "claim": "a > 2"}], "another statement has the id 'mine/a'"),
                                ([{"says": "a"}], "preset conjecture: report.claims[0].claim: is missing"),
                                ([{"claim": "a > 1", "verdict": "holds"}], "unknown key 'verdict'")):
            self.preset(claims=claims)
            self.refused("run conjecture --out r.json", message)

    def test_short_runs_withhold_what_needs_the_whole(self):
        self.preset()
        self.run_program("run conjecture --out r.json -q --steps 10")
        verdicts = {claim["id"]: (claim["verdict"], claim.get("shortened", False)) for claim in own_claims(loads(self.read("r.json")))}
        self.assertEqual(verdicts["mine/3"], ("not-applicable", True))
        # A count may fail at a later step, as one about a figure.
        self.assertEqual(verdicts["mine/criterion"], ("not-applicable", True))
        self.assertEqual(verdicts["mine/monotone"], ("not-applicable", True))
        # So do several results of which one is short.
        self.run_program("run conjecture --out full.json -q --keep-trials")
        self.run_program("run conjecture --out short.json -q --keep-trials --steps 10")
        claim = ["--claim", "gd.nuclear_rank >= stable_rank_A"]
        self.assertIn("holds", self.run_program(["judge", "full.json", "full.json", *claim]).stdout)
        self.assertIn("undecided       mine/1: 0 violations in 160 cases; shortened", self.run_program(["judge", "full.json", "short.json", *claim]).stdout)

    def test_statements_are_judged_over_several_results(self):
        names, logs = [], []
        for n in (20, 40, 80):
            result = self.result(f"random-features --study trajectory --m 8 --k 10 --d 5 --n {n} --steps 3 --restart-every 0 --trials 4",
                                 name=f"{n}.json")
            names.append(f"{n}.json")
            logs.append([math.log(value) for value in result["trial_values"]["nuclear_rank_init"]])
        slopes = [slope([math.log(n) for n in (20, 40, 80)], [values[trial] for values in logs]) for trial in range(4)]
        text = "slope log(nuclear_rank_init) over log(n) in [-1, 1]"
        out = self.run_program(["judge", *names, "--claim", text, "--claim", "nuclear_rank_init >= 1", "--claim", "mean stable_rank_A >= 1"]).stdout
        self.assertIn(f"mean {statistics.fmean(slopes):.4g} +- ", out)
        self.assertIn("mine/2: 0 violations in 12 cases", out)
        for result, name in enumerate(names, 1):
            self.assertRegex(out, f"mine/3/{result}: mean [^\n]*; {name}")
        self.result("rank-collapse --study eta --dim 4,8 --t 0.1,1 --trials 2", name="eta.json")
        self.refused(["judge", "20.json", "eta.json", "--claim", "stable_rank_A >= 1"], "no quantity 'stable_rank_A' in eta.json")
        self.refused(["judge", *names, "--claim", text, "--out", "x.json"], "--out: needs exactly one result")

    def test_trials_without_a_value_leave_a_statement_undecided(self):
        statements = "gd.objective_gap < 1e308", "mean max(gd.objective_gap) <= 1e308", "never gd.objective_gap > first(gd.objective_gap)"
        result = self.result(RUN.replace("--steps 20", "--steps 400 --step-scale 100"))
        self.assertTrue(all(t[GD][-1] is None for t in trials_of(result)))
        own = self.judged(statements)
        self.assertEqual([claim["verdict"] for claim in own], ["not-applicable", "not-applicable", "fails"])
        self.assertIn("ends undefined, or is at most of its points, in trials 0 to 4", own[0]["detail"])
        self.assertIn("undefined in trials 0 to 4", own[1]["detail"])

    def test_a_slope_says_through_how_many_points(self):
        self.result(RUN)
        own = self.judged(["slope log(gd.nuclear_rank) over log(iteration) <= 0", "slope gd.nuclear_rank over 0 * iteration <= 0"])
        self.assertIn("through 20 points in each trial; 5 undefined points left out", own[0]["detail"])
        self.assertIn("no line in trials 0 to 4: it needs three different x", own[1]["detail"])

    def test_a_tie_is_undecided_where_equal_is_not_allowed(self):
        self.result(RUN)
        tie = "mean gd.nuclear_rank_peak - max(gd.nuclear_rank) "
        self.assertEqual([claim["verdict"] for claim in self.judged([tie + "< 0", tie + "> 0", tie + "<= 0"])], ["not-applicable", "not-applicable", "holds"])

    def test_out_replaces_no_input_and_no_other_file(self):
        self.result(RUN)
        self.result(RUN + " --seed 2", name="other.json")
        self.write("notes.txt", "mine")
        claim = ["--claim", "gd.nuclear_rank >= 1"]
        for out, message in (("out.json", "is a result that is judged; name another file"),
                             ("other.json", "holds a different run; --force replaces it"),
                             ("notes.txt", "is not a ranklab result; --force replaces it")):
            before = self.read(out)
            self.refused(["judge", "out.json", *claim, "--out", out], f"--out {out}: {message}")
            self.assertEqual(self.read(out), before)
        self.refused(["judge", "out.json", *claim, "--out", "out.json", "--force"], "is a result that is judged")
        self.run_program(["judge", "out.json", *claim, "--out", "notes.txt", "--force"])
        self.assertEqual([claim["id"] for claim in own_claims(loads(self.read("notes.txt")))], ["mine/1"])

    def test_stored_statements_stay(self):
        result = self.result([*RUN.split(), "--claim", "gd.nuclear_rank >= 1"])
        self.run_program(["judge", "out.json", "--claim", "mean stable_rank_A >= 1", "--out", "more.json"])
        more = own_claims(loads(self.read("more.json")))
        self.assertEqual([claim["id"] for claim in more], ["mine/1", "mine/2"])
        self.assertEqual(more[0], own_claims(result)[0])
        self.run_program(["judge", "out.json", "--strict", "--claim", "gd.nuclear_rank >= 1000"], exit_code=3)
        self.refused("judge more.json --out again.json", "--out: needs --claim TEXT or --with FILE.json")

    def test_means_are_corrected_for_the_others_of_the_run(self):
        result = self.result(RUN)
        values = [trial[GD][0] for trial in trials_of(result)]
        mean, error = statistics.fmean(values), statistics.stdev(values) / math.sqrt(5)
        # p = 0.008 alone: decided; among five such statements Holm's method needs 0.002.
        text = f"mean first(gd.objective_gap) <= {mean + 4.9 * error}"
        self.assertEqual([claim.get("holm_undecided", False) for claim in self.judged([text])], [False])
        many = self.judged([text + " + 0 * 1" * i for i in range(5)])
        self.assertEqual([claim.get("holm_undecided", False) for claim in many], [True] * 5)

    def test_curves_of_single_trials_are_kept_on_request(self):
        plain, kept = self.result(TOY), self.result(RUN, name="kept.json")
        self.assertTrue(kept["keeps_trials"])
        self.assertNotIn("keeps_trials", plain)
        curves = [series for series in kept["series"] if "trials" in series]
        self.assertGreater(len(curves), 4)
        for series in curves:
            for i in range(len(series["x"])):
                finite = [values[i] for values in series["trials"] if values[i] is not None]
                self.assertAlmostEqual(series["mean"][i], statistics.fmean(finite), delta=1e-12 * max(1, abs(series["mean"][i])))
        rows = [line.split(",") for line in self.run_program("export kept.json --what curves").stdout.splitlines()]
        self.assertEqual(rows[0], ["series", "trial", "x", "value"])
        self.assertEqual(len(rows) - 1, sum(5 * len(series["x"]) for series in curves))
        name, trial, x, value = rows[1 + 21 + 3]
        self.assertEqual((name, trial, x), (kept["series"][0]["name"], "1", "3.0"))
        self.assertEqual(float(value), kept["series"][0]["trials"][1][3])
        self.refused("export out.json --what curves", "a run with --keep-trials has them", exit_code=1)
        self.refused(["judge", "out.json", "--claim", "gd.nuclear_rank >= 1"], "has only the mean of 'gd.nuclear_rank' over its trials", "--keep-trials")
        self.assertIn("reproduced bit for bit", self.run_program("verify kept.json").stdout)

    def test_the_lines_for_pandas_run_as_printed(self):
        python = next((each for each in ("python3", "/usr/bin/python3")
                       if subprocess.run([each, "-c", "import pandas"], capture_output=True).returncode == 0), None)
        if python is None:
            self.skipTest("pandas is not installed")
        with open(os.path.join(ROOT, "experiments", "your-experiment.md"), encoding="utf-8") as file:
            page = file.read()
        code = textwrap.dedent(page.split("```python\n")[1].split("```")[0])
        self.result(RUN, name="fig3.json")
        os.makedirs(self.path("build"))
        os.symlink(BINARY, self.path("build/ranklab"))
        run = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        rises = [sum(x > 0 for x in diff(trial[NR])) for trial in trials_of(loads(self.read("fig3.json")))]
        self.assertEqual([int(line.split()[1]) for line in run.stdout.splitlines()[1:6]], rises)

    def test_a_statement_of_a_stranger_is_data(self):
        document = self.result(RUN)
        claim = dict(document["claims"][0], id="mine/x", statement_id="mine/x", kind="own", part="ours", paper="", figures=[],
                     statement="<script>alert(1)</script>", claim="gd.nuclear_rank >= 1", detail="\x1b[31m")
        for text, exit_code in (("gd.nuclear_rank >= <script>", 2), ("(" * 400, 2), ("x" * 2000, 2), ("*" * 900 + " > 1", 1), ("x" * 900, 1)):
            self.write("stranger.json", dict(document, claims=[dict(claim, claim=text)]))
            self.run_program("report stranger.json --out page.html")
            self.assertNotIn("<script>alert", self.read("page.html"))
            run = self.run_program("verify stranger.json", exit_code)
            self.assertLessEqual(len(run.stderr.splitlines()), 1, run.stderr)
            if exit_code == 2:
                self.assertIn("stranger.json: claims '", run.stderr)

    def test_help_explains_every_form(self):
        text = self.run_program("help claim").stdout
        for word in ("never", "mean", "slope", "alike", "from", "share", "argmax", "at(", "layer*"):
            self.assertIn(word, text)


class TerminalTest(ProgramTest):
    LONG = "spiked-model --study features --k 8,16 --trials 3"

    def test_a_long_run_counts_by_statement(self):
        brief = self.run_program(self.LONG + " --out a.json --force").stdout
        every = self.run_program(self.LONG + " --out a.json --force --claims all").stdout
        claims = [claim for claim in loads(self.read("a.json"))["claims"] if "judged_in" not in claim]
        self.assertGreater(len(claims), 20)
        self.assertTrue(all(f" {claim['id']}: " in every for claim in claims))
        self.assertIn("[Spectral] Theorem 3.2: 1 slip, 3 hold, ", brief)
        self.assertIn("--claims all lists every claim", brief)
        self.assertLess(len(brief.splitlines()), len(every.splitlines()) / 2)

    def test_a_claim_that_does_not_hold_says_what_it_claims(self):
        run = self.run_program("rank-collapse --study eta --dim 4,8 --t 0.1,1 --trials 2 --out a.json".split())
        undecided = [claim for claim in loads(self.read("a.json"))["claims"] if claim.get("undecided")]
        self.assertTrue(undecided)
        for claim in undecided:
            self.assertIn("says: " + claim["statement"], " ".join(run.stdout.split()))


if __name__ == "__main__":
    unittest.main()
