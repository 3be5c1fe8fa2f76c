"""A report of one's own in a preset: its numbers against plain Python, its checks before the run, and its guide."""
import copy
import json
import math
import os
import re
import statistics
import subprocess
import unittest

import jsonschema

from program import BINARY, ROOT, ProgramTest, loads

CONFIG = {"study": "trajectory", "m": 12, "k": 10, "d": 5, "n": 30, "steps": 20, "restart-every": 0, "trials": 5}
PRESET = {
    "command": "random-features", "title": "A ratio", "summary": "for tests", "config": CONFIG,
    "report": {
        "quantities": [{"name": "ratio", "is": "nuclear_rank / stable_rank_A", "label": "nr(G)/st(A)"}],
        "claims": [{"id": "mine/falls", "says": ["It", "falls."], "claim": "slope log(ratio[run=gd]) over log(iteration) <= 0 from iteration >= 5"}],
        "panels": [{"title": "Ratio", "x": "iteration", "y": {"scale": "log"},
                    "curves": [{"of": "ratio", "each": "run", "band": "interval"}], "lines": [{"y": 1, "label": "(1.5)"}]}],
        "notes": ["It ends at {{last(ratio[run=gd]) | .6f}} over", ["its peak is at most", "{{largest max(ratio[run=gd]) | .6f}}."]]}}
ETA = {
    "command": "rank-collapse", "title": "eta", "summary": "for tests",
    "config": {"study": "eta", "dim": [4, 16, 64], "t": [0.1, 0.5, 1], "trials": 6},
    "report": {
        "quantities": [{"name": "worst", "is": "max(abs(eta))", "label": "max |eta|"}, {"name": "scaled", "is": "eta * sqrt(d) * t"}],
        "panels": [{"title": "Worst", "x": {"of": "d", "scale": "log"}, "curves": [{"of": "worst"}]},
                   {"title": "eta at d = {d}", "each": "d", "curves": [{"of": "scaled"}, {"of": "eta", "style": "dashed"}],
                    "lines": [{"y": "worst", "label": "worst"}]}]}}
SCHEMA_FILE = os.path.join(ROOT, "experiments", "experiment.schema.json")


def changed(path, value):
    """PRESET with another value at the path; None: without the last key; a key with + is new."""
    out = copy.deepcopy(PRESET)
    at = out
    *head, last = path
    for key in head:
        at = at[key]
    if value is None:
        del at[last]
    else:
        at[last.removeprefix("+") if isinstance(last, str) else last] = value
    return out


Q, C, P, N = ("report", "quantities", 0), ("report", "claims", 0), ("report", "panels", 0), ("report", "notes")
# Each with what its one line says.
MISTAKES = [
    (("report", "+quantites"), [], "report: unknown key 'quantites'; did you mean 'quantities'?"),
    (("report", "+note"), [], "report: unknown key 'note'; did you mean 'notes'?"),
    (("report", "quantities"), {}, "report.quantities: must be a list"),
    (("report", "quantities"), PRESET["report"]["quantities"] * 2, "report.quantities[1].name: 'ratio' is measured already"),
    ((*Q, "name"), "2x", "report.quantities[0].name: '2x' is not allowed; allowed: letters, digits and _"),
    ((*Q, "name"), "nuclear_rank", "report.quantities[0].name: 'nuclear_rank' is measured already"),
    ((*Q, "name"), "stable_rank_A", "report.quantities[0].name: 'stable_rank_A' is measured already"),
    ((*Q, "name"), "mean", "report.quantities[0].name: 'mean' is a word of formulas"),
    ((*Q, "name"), "iteration", "report.quantities[0].name: 'iteration' is what curves are over"),
    ((*Q, "name"), "steps", "report.quantities[0].name: 'steps' is a flag of the run"),
    ((*Q, "is"), "nuclear_rnk / stable_rank_A", "report.quantities[0].is: column 1: no quantity 'nuclear_rnk' in this run; did you mean 'nuclear_rank'?"),
    ((*Q, "is"), "nuclear_rank*2", "report.quantities[0].is: column 1: no quantity matches 'nuclear_rank*2'; a product needs blanks around its star"),
    ((*Q, "is"), "nuclear_rank /", "report.quantities[0].is: column 15: expected a number"),
    ((*Q, "is"), "nuclear_rank >= 2", "report.quantities[0].is: column 14: '>=' is not expected here"),
    ((*Q, "is"), "nuclear_rank[rn=gd]", "report.quantities[0].is: column 1: 'nuclear_rank' was not measured at rn=gd; its axes: run"),
    ((*Q, "is"), "nuclear_rank[run=adam]", "report.quantities[0].is: column 1: 'nuclear_rank' was not measured at run=adam"),
    ((*Q, "is"), "at(nuclear_rank, 999)", "report.quantities[0].is: column 18: the curve has no iteration 999"),
    ((*Q, "is"), "nuclear_rank from iteration >= 999", "report.quantities[0].is: column 29: no iteration of the run meets"),
    ((*Q, "is"), "nuclear_rank from nuclear_rank[run=gd] > 3", "report.quantities[0].is: column 40: this leaves other points in each trial"),
    ((*Q, "is"), "max(nuclear_rank[run=gd], nuclear_rank_peak[run=specgd])", "'nuclear_rank_peak' was not measured at run=specgd"),
    ((*Q, "is"), "specgd.nuclear_rank.even + gd.nuclear_rank", "report.quantities[0].is: column 26: the left side has 11 values"),
    ((*Q, "is"), None, "report.quantities[0].is: is missing"),
    ((*Q, "+lable"), "x", "report.quantities[0]: unknown key 'lable'; did you mean 'label'?"),
    ((*Q, "label"), 3, "report.quantities[0].label: must be text"),
    ((*C, "id"), "spectral/thm-1.5", "the id 'spectral/thm-1.5' is not allowed; allowed: mine/NAME"),
    ((*C, "id"), "mine/", "the id 'mine/' is not allowed"),
    ((*C, "claim"), "mean ratio[run=gd] <= 0", "report.claims[0]: mine/falls: column 6: this is a curve"),
    ((*C, "claim"), "mean last(ratio) <= 0", "report.claims[0]: mine/falls: column 11: 'ratio' was measured at 2 places; name one, such as ratio[run=gd]"),
    ((*C, "claim"), "mean last(ratoi[run=gd]) <= 0", "report.claims[0]: mine/falls: column 11: nothing called 'ratoi' was measured in this run; did you mean 'ratio'?"),
    ((*C, "claim"), "mean last(ratio[run=gd]) <=", "column 28"),
    ((*C, "claim"), None, "report.claims[0].claim: is missing"),
    (("report", "claims"), PRESET["report"]["claims"] * 2, "another statement has the id 'mine/falls'"),
    ((*C, "+kind"), "theorem", "report.claims[0]: unknown key 'kind'; allowed: id, says, claim"),
    ((*P, "+titel"), "x", "report.panels[0]: unknown key 'titel'; did you mean 'title'?"),
    ((*P, "x"), "iteratoin", "report.panels[0].curves[0].of: 'gd.ratio' is a curve over iteration, not over 'iteratoin'; did you mean 'iteration'?"),
    ((*P, "y", "scale"), "lgo", "report.panels[0].y.scale: must be one of linear, log, log10, percent; did you mean 'log'?"),
    ((*P, "y", "+unit"), "x", "report.panels[0].y: unknown key 'unit'; allowed: label, scale, covers"),
    ((*P, "curves"), [], "report.panels[0].curves: a panel needs at least one"),
    ((*P, "curves", 0, "of"), "ratoi", "report.panels[0].curves[0].of: column 1: no quantity 'ratoi' in this run; did you mean 'ratio'?"),
    ((*P, "curves", 0, "of"), "2 * ratio", "report.panels[0].curves[0].of: column 1: a curve is of one quantity; give the formula a name"),
    ((*P, "curves", 0, "of"), "stable_rank_A", "report.panels[0].curves[0].each: 'run' is not an axis of 'stable_rank_A'"),
    ((*P, "curves", 0, "each"), "rnu", "report.panels[0].curves[0].each: 'rnu' is not an axis of 'gd.ratio'; did you mean 'run'?"),
    ((*P, "curves", 0, "each"), None, "report.panels[0].curves[0].of: 'ratio' was measured at several places of 'run' (gd, specgd); draw one curve for each"),
    ((*P, "curves", 0, "band"), "intervall", "report.panels[0].curves[0].band: must be one of std, standard-error, interval, trials; did you mean 'interval'?"),
    ((*P, "curves", 0, "+style"), "lines", "report.panels[0].curves[0].style: must be one of"),
    ((*P, "curves", 0, "+color"), "red", "report.panels[0].curves[0].color: must be an integer"),
    ((*P, "curves", 0, "+colour"), 1, "report.panels[0].curves[0]: unknown key 'colour'; did you mean 'color'?"),
    ((*P, "curves", 0, "+label"), "in {rnu}", "report.panels[0].curves[0]: '{rnu}' is not an axis of \"each\"; did you mean 'run'?"),
    ((*P, "lines", 0, "y"), "-1", "report.panels[0].lines[0].y: -1 is not allowed on a log scale; allowed: above 0"),
    ((*P, "curves"), [{"of": "stable_rank_A"}], "report.panels[0].curves[0].of: 'stable_rank_A' is one number for each trial and not measured over 'iteration'; draw a line"),
    ((*P, "+each"), "layer", "report.panels[0].each: 'layer' is not an axis of 'gd.ratio'; its axes: run"),
    ((*P, "lines", 0, "y"), "last(ratio)", "report.panels[0].lines[0].y: it was measured at several places (run=gd; run=specgd)"),
    ((*P, "lines", 0, "y"), "stable_rank_B", "report.panels[0].lines[0].y: column 1: no quantity 'stable_rank_B' in this run; did you mean 'stable_rank_A'?"),
    ((*P, "lines", 0, "y"), "gd.ratio", "report.panels[0].lines[0].y: column 1: this is a curve"),
    ((*P, "lines", 0, "y"), True, "report.panels[0].lines[0].y: must be a number, or a formula as text"),
    (N, "one", "report.notes: must be a list"),
    ((*N, 0), 7, "report.notes[0]: must be text"),
    ((*N, 0), "x {{last(ratio)}}", "report.notes[0]: {{last(ratio)}}: column 6: 'ratio' was measured at 2 places"),
    ((*N, 0), "{{last(ratio[run=gd]) | .3z}}", "report.notes[0]: {{last(ratio[run=gd]) | .3z}}: unknown format '.3z'"),
    ((*N, 0), "{{claim mine/fals}}", "report.notes[0]: {{claim mine/fals}}: no claim 'mine/fals'; did you mean 'mine/falls'?"),
    ((*N, 0), "{{ratio[run=gd]}}", "report.notes[0]: {{ratio[run=gd]}}: column 1: this is a curve"),
    ((*N, 0), "{{last(ratio[run=gd])}", "report.notes[0]: a '{{' without '}}'"),
    ((*N, 0), "{last(ratio[run=gd])}}", "report.notes[0]: a '}}' without '{{'"),
    ((*Q, "is"), "later + stable_rank_A", "report.quantities[0].is: column 1: no quantity 'later'"),
    ((*Q, "is"), "2 * ratio", "report.quantities[0].is: column 5: 'ratio' is defined by itself"),
    (("report", "quantities"), [{"name": "a", "is": "1 + b"}, {"name": "b", "is": "stable_rank_A"}], "report.quantities[0].is: column 5: 'b' is defined further down; move it up"),
    ((*C, "claim"), "often last(ratio[run=gd]) >= 2 >= 30", "a share of the trials is between 0 and 1"),
    (("+reprot",), {}, "unknown key 'reprot'; did you mean 'report'?"),
    (("+claims",), [], "claims: belong into \"report\""),
]


class OwnReportTest(ProgramTest):
    def preset(self, document=PRESET, name="mine"):
        os.makedirs(self.path("experiments"), exist_ok=True)
        self.write(f"experiments/{name}.json", document)

    def run_preset(self, document=PRESET, name="mine"):
        self.preset(document, name)
        return self.result(["run", name, "--keep-trials"])

    def test_its_numbers_are_those_of_plain_python(self):
        result = self.run_preset()
        series = {each["name"]: each for each in result["series"]}
        st = result["trial_values"]["stable_rank_A"]
        for run in ("gd", "specgd"):
            ratio, nr = series[f"{run}.ratio"], series[f"{run}.nuclear_rank"]
            self.assertEqual((ratio["quantity"], ratio["at"], ratio["x_name"], ratio["x"]), ("ratio", {"run": run}, "iteration", nr["x"]))
            expected = [[value / st[trial] for value in values] for trial, values in enumerate(nr["trials"])]
            self.assertEqual(ratio["trials"], expected)
            for i, mean in enumerate(ratio["mean"]):
                self.assertAlmostEqual(mean, statistics.fmean(values[i] for values in expected), delta=1e-12 * mean)
        gd = series["gd.ratio"]["trials"]
        slopes = [self.slope([math.log(i) for i in range(5, 21)], [math.log(x) for x in values[5:]]) for values in gd]
        claim = next(claim for claim in result["claims"] if claim["id"] == "mine/falls")
        self.assertEqual((claim["kind"], claim["statement"]), ("own", "It falls."))
        self.assertAlmostEqual(claim["evidence"]["mean"], statistics.fmean(slopes), delta=1e-12)
        self.assertEqual(result["notes"][-2:], [f"It ends at {statistics.fmean(values[-1] for values in gd):.6f} over",
                                                f"its peak is at most {max(map(max, gd)):.6f}."])
        panels = result["figure"]["panels"]
        self.assertEqual([panel.get("own", False) for panel in panels], [False, False, True])
        self.assertEqual(panels[-1], {
            "title": "Ratio", "x": {"label": "iteration", "scale": "linear"}, "y": {"label": "nr(G)/st(A)", "scale": "log"},
            "curves": [{"series": f"{run}.ratio", "label": run, "style": "line", "band": "interval"} for run in ("gd", "specgd")],
            "lines": [{"y": 1.0, "label": "(1.5)"}], "own": True})

    @staticmethod
    def slope(x, y):
        mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
        return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)

    def test_numbers_at_places_are_drawn_over_them_or_in_panels(self):
        result = self.run_preset(ETA)
        series = {each["name"]: each for each in result["series"]}
        values = result["trial_values"]
        worst = series["worst over d"]
        self.assertEqual((worst["x"], worst["x_name"]), ([4, 16, 64], "d"))
        for i, d in enumerate((4, 16, 64)):
            eta, t = series[f"d={d}.eta"]["trials"], (0.1, 0.5, 1)
            self.assertEqual(values[f"d={d}.worst"], [max(map(abs, trial)) for trial in eta])
            self.assertEqual([trial[i] for trial in worst["trials"]], values[f"d={d}.worst"])
            for scaled, trial in zip(series[f"d={d}.scaled"]["trials"], eta):
                for a, b, x in zip(scaled, trial, t):
                    self.assertAlmostEqual(a, b * math.sqrt(d) * x, delta=1e-14)
        own = [panel for panel in result["figure"]["panels"] if panel.get("own")]
        self.assertEqual([panel["title"] for panel in own], ["Worst", "eta at d = 4", "eta at d = 16", "eta at d = 64"])
        self.assertEqual([[curve["series"] for curve in panel["curves"]] for panel in own],
                         [["worst over d"], *([f"d={d}.scaled", f"d={d}.eta"] for d in (4, 16, 64))])
        for panel, d in zip(own[1:], (4, 16, 64)):
            self.assertAlmostEqual(panel["lines"][0]["y"], statistics.fmean(values[f"d={d}.worst"]), delta=1e-12)
            self.assertEqual(panel["group"], own[1]["group"])
        self.run_program("plot out.json --out all.svg -q")

    def test_the_list_of_quantities_has_them(self):
        self.preset(ETA)
        listed = self.run_program("list mine --quantities").stdout
        self.assertIn("worst   max |eta|\n    max(abs(eta))\n    d: 4, 16, 64\n    names: d=4.worst, d=16.worst, d=64.worst\n", listed)

    def test_labels_become_ticks(self):
        preset = copy.deepcopy(PRESET)
        preset["report"]["quantities"].append({"name": "end", "is": "last(ratio)"})
        preset["report"]["panels"] = [{"title": "End", "x": "run", "curves": [{"of": "end"}]}]
        panel = self.run_preset(preset)["figure"]["panels"][-1]
        self.assertEqual((panel["x"]["ticks"], panel["curves"][0]["style"], panel["curves"][0]["series"]), (["gd", "specgd"], "points", "end over run"))

    def test_mistakes_are_refused_before_the_run(self):
        self.assertGreaterEqual(len(MISTAKES), 60)
        schema = jsonschema.Draft7Validator(json.loads(open(SCHEMA_FILE, encoding="utf-8").read()))
        for path, value, message in MISTAKES:
            with self.subTest(path=path, value=value):
                document = changed(path, value)
                self.preset(document)
                self.refused("run mine --out r.json", "preset mine: ", message)
        self.preset()
        self.refused("run mine --shard 1/2 --out r.part --trials 3 --steps 4", "no iteration of the run meets this condition")
        self.refused(["run", "mine", "--out", "r.json", "--claim", "gd.rank > 1"], "--claim: mine/2: column 1: no quantity 'gd.rank'")
        schema_errors = sum(any(schema.iter_errors(changed(path, value))) for path, value, _ in MISTAKES)
        self.assertGreater(schema_errors, 20)

    def test_the_schema_for_editors_takes_every_preset(self):
        with open(SCHEMA_FILE, encoding="utf-8") as file:
            schema = jsonschema.Draft7Validator(json.load(file))
        folder = os.path.join(ROOT, "experiments")
        names = [name for name in os.listdir(folder) if name.endswith(".json") and not name.endswith(".schema.json")]
        self.assertGreater(len(names), 50)
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                self.assertEqual([error.message for error in schema.iter_errors(json.load(file))], [], name)
        for document in (PRESET, ETA, {"$schema": "experiment.schema.json", **PRESET}):
            self.assertEqual([error.message for error in schema.iter_errors(document)], [])
            self.preset(document)
            self.run_program("run mine --dry-run")

    def test_the_report_belongs_to_the_run(self):
        other = changed((*C, "says"), "It falls, of course")
        self.preset()
        for shard in ("1", "2"):
            self.run_program(["run", "mine", "--shard", shard + "/2", "--out", shard + ".part", "-q"])
        whole = self.run_preset()
        self.run_program("merge 1.part 2.part --out merged.json --keep-trials -q")
        merged = loads(self.read("merged.json"))
        for key in ("series", "claims", "figure", "notes", "report"):
            self.assertEqual(merged[key], whole[key], key)
        self.assertIn("reproduced bit for bit", self.run_program("verify merged.json").stdout)
        again = self.run_program("random-features --config merged.json --out again.json -q") and loads(self.read("again.json"))
        self.assertEqual((again["report"], again["claims"]), (whole["report"], whole["claims"]))
        self.preset(other)
        self.run_program("run mine --shard 2/2 --out 2.part -q --force")
        self.refused("merge 1.part 2.part --out other.json", "belongs to a different run than 1.part: another report", exit_code=1)
        self.refused("run mine --shard 1/2 --out 1.part", "is a part of a different run (another report)")

    def test_a_report_is_applied_to_a_finished_result(self):
        result = self.run_preset()
        other = changed((*C, "claim"), "mean last(ratio[run=gd]) >= 0")
        other["report"]["notes"] = ["No numbers."]
        other["report"]["panels"][0]["curves"][0]["band"] = "trials"
        self.write("other.json", {"report": other["report"]})
        shown = self.run_program("judge out.json --with other.json --out judged.json").stdout
        self.assertIn("holds           mine/falls: mean", shown)
        self.assertIn("  No numbers.", shown)
        judged = loads(self.read("judged.json"))
        self.check_schema(judged)
        fresh = self.run_preset(other, name="other")
        for key in ("series", "scalars", "claims", "figure", "notes", "report"):
            self.assertEqual(judged[key], fresh[key], key)
        self.assertEqual(len(judged["series"]), len(result["series"]))
        self.run_program("plot out.json --with other.json --out mine.svg --width 84mm -q")
        self.assertIn("Ratio", self.read("mine.svg"))
        self.assertNotIn("Objective gap", self.read("mine.svg"))
        # Curves of single trials are needed for new formulas only.
        self.preset()
        self.result(["run", "mine"], name="plain.json")
        self.run_program("judge plain.json --with experiments/mine.json", exit_code=2)
        self.run_program("plot plain.json --with experiments/mine.json --out mine.svg -q")
        self.refused("plot plain.json --with other.json --out x.svg", "report.panels[0].curves[0].band: the result has no curves of single trials")
        other["report"]["quantities"][0]["is"] += " + 1"
        self.write("other.json", {"report": other["report"]})
        self.refused("plot plain.json --with other.json --out x.svg", "--keep-trials")
        for document, message in (({"report": {"panels": []}}, "report: has no panels"), ({"config": {}}, "has no \"report\""),
                                  ({**PRESET, "command": "rank-collapse"}, "is for rank-collapse, the result is of random-features")):
            self.write("bad.json", document)
            self.refused("plot out.json --with bad.json --out x.svg", "--with bad.json: ", message)

    def test_judge_lists_the_names(self):
        self.result(["random-features", *(word for key, value in CONFIG.items() for word in ("--" + key, str(value)))])
        listed = self.run_program("judge out.json").stdout
        for text in ("nuclear_rank\n    a curve over iteration: 0, 1, 2, ..., 20 (21 values)\n    run: gd, specgd\n", "flags\n", "stable_rank_A"):
            self.assertIn(text, listed)

    def test_comments_are_for_presets(self):
        self.preset(json.dumps(PRESET).replace('"config"', '// mine\n /* yours */ "config"'))
        self.run_program("run mine --dry-run")
        self.write("out.json", json.dumps(self.run_preset()).replace('"config"', '// mine\n "config"'))
        self.refused("plot out.json", "not valid JSON", exit_code=1)

    def test_the_commands_of_the_guide_run_as_printed(self):
        with open(os.path.join(ROOT, "experiments", "your-experiment.md"), encoding="utf-8") as file:
            page = file.read()
        blocks = re.findall(r"^( *)```(\w+)\n(.*?)^ *```$", page, re.MULTILINE | re.DOTALL)
        os.makedirs(self.path("build"))
        os.symlink(BINARY, self.path("build/ranklab"))
        commands = 0
        for indent, language, code in blocks:
            code = re.sub("^" + indent, "", code, flags=re.MULTILINE)
            if language == "json":
                self.preset(code, "peak")
            elif language == "sh":
                run = subprocess.run(["bash", "-e", "-c", code], cwd=self.folder, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, code + run.stderr)
                commands += code.count("build/ranklab")
        self.assertGreaterEqual(commands, 9)
        self.assertIn("BoundingBox", self.read("peak.eps"))
        own = [claim for claim in loads(self.read("results/peak2.json"))["claims"] if claim["kind"] == "own"]
        self.assertEqual([claim["id"] for claim in own], ["mine/early", "mine/falls"])


if __name__ == "__main__":
    unittest.main()
