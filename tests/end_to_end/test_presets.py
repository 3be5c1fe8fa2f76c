"""Settings that differ from the preset are listed in the result, shown in the picture, and kept by a replay."""
import json
import os
import re
import unittest

from program import PRESETS, ProgramTest, ROOT, loads

PRESET = {"command": "random-features", "title": "A small run", "summary": "for tests", "trial": "seed", "seconds": 12,
          "source": {"paper": "[Spectral]", "figure": "Figure 3"},
          "config": {"study": "trajectory", "m": 12, "k": 10, "d": 5, "n": 30, "steps": 20, "restart-every": 10, "trials": 3}}
RUN = "random-features --preset small"


class UselessFlagsTest(ProgramTest):
    """A flag that does nothing with the other values is refused, and help tells it from the others."""

    def help_of(self, words):
        """The names that help lists as flags, and as flags that do nothing, with what these need."""
        text = self.run_program(words).stdout.split("\nFlags of every experiment")[0]
        used, _, others = text.partition("Flags that do nothing")
        lines = re.findall(r"^  (--.*): (.*(?:\n    .*)*)", others, flags=re.M)
        return set(re.findall(r"^  --([a-z0-9-]+)", used, flags=re.M)), {name: needs for names, needs in lines for name in re.findall(r"--([a-z0-9-]+)", names)}

    def test_they_are_refused_with_what_they_need(self):
        train = "rank-collapse --study train --task recall"
        for flag, needs in {"lr-post 0.1": "--variant post", "warmup-post 3": "--variant post", "tau 0.5": "--variant de-escalated, and no --removal",
                            "tau-rate 2": "--variant de-escalated --removal PLACE:learned", "mean strict": "--variant de-escalated",
                            "at end": "--variant de-escalated", "removal end:1": "--variant de-escalated", "init-variance 1": "--init normal",
                            "lambda-rate 2": "--lambda learned", "lambda-start 0": "--lambda learned", "pool 2": "--task pixels or patches",
                            "train-size 5": "--task pixels or patches", "idx nowhere": "--task pixels or patches", "text nowhere": "--task text"}.items():
            self.refused(f"{train} --{flag}", f"--{flag.split()[0]}: does nothing in this run; it needs {needs}")
        gpt = "one-step-compare --study gpt"
        self.refused(f"{gpt} --save-steps 3", "--save-steps: does nothing in this run; it needs --save or --record")
        self.refused(f"{gpt} --one-step-at 4", "--one-step-at: does nothing in this run; it needs --one-step")
        self.refused(f"{gpt} --lr-muon 1", "--lr-muon: does nothing in this run; it needs a run of muon")
        self.run_program(f"{gpt} --lr-muon 1 --also muon,spectral-on=W2 --dry-run")
        layers = "rank-collapse --study layers --model attention"
        for flag in ("ffn 4", "state 4", "vocabulary 9", "cone-width 1"):
            self.refused(f"{layers} --{flag}", f"--{flag.split()[0]}: does nothing in this run; it needs --")
        self.run_program(f"{layers} --input cone --cone-width 1 --dry-run")

    def test_a_replayed_result_may_have_them(self):
        self.result("rank-collapse --study train --task recall --dim 16 --steps 2 --trials 1 --batch 2", name="first.json")
        self.result("rank-collapse --config first.json --trials 1", name="second.json")

    def test_help_shows_the_flags_of_the_values_at_hand(self):
        study = "help rank-collapse --study train"
        used, others = self.help_of(study)
        self.assertLessEqual({"pairs", "lambda", "steps"}, used)
        self.assertEqual(others["lr-post"], "--variant post")
        self.assertEqual(used & set(others), set())
        used, others = self.help_of(f"{study} --task patches --variant post,de-escalated")
        self.assertLessEqual({"patch", "idx", "train-size", "lr-post", "mean", "tau"}, used)
        self.assertLessEqual({"pairs", "text", "vocab"}, set(others))

    def test_help_of_train_groups_its_flags_and_shows_the_defaults_of_each_task(self):
        text = self.run_program("help rank-collapse --study train --task patches --variant de-escalated").stdout
        groups = re.findall(r"^ (\w[\w ]*):$", text, flags=re.M)
        self.assertEqual(groups, ["Data", "Model", "Skip", "Mean token", "Training"])
        lines = text.split("\nDefaults of each task:\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual(re.split(r"  +", lines[0].strip()), ["recall", "pixels", "patches", "text", "text, post"])
        rows = {row.split()[0]: row.split()[1:] for row in lines[1:]}
        for column, flags in ((0, "--task recall"), (1, "--task pixels"), (2, "--task patches --variant post"), (4, "--task text --variant post")):
            config = loads(self.run_program(f"rank-collapse --study train {flags} --dry-run").stdout)["config"]
            for name in ("dim", "heads", "batch", "activation"):
                self.assertEqual(rows[name][column], str(config[name]))
            self.assertEqual(rows["layers"][column], ",".join(map(str, config["layers"])))

    def test_no_preset_has_one(self):
        folder = os.path.join(ROOT, "experiments")
        os.symlink(folder, self.path("experiments"))
        for name in PRESETS:
            with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
                config = loads(file.read())["config"]
            _, others = self.help_of(f"run {name} --help")
            self.assertEqual(set(config) & set(others), set(), name)


class MistakesTest(ProgramTest):
    """Mistakes in a preset of one's own: one line that names the preset, the key and what is allowed."""

    def test_each_is_one_line(self):
        os.mkdir(self.path("experiments"))
        self.write("experiments/other.json", PRESET)
        for change, message in (({"command": "random-feature"}, "command: 'random-feature' is not allowed; allowed: rank-collapse|random-features|"),
                                ({"command": "plot"}, "command: 'plot' is not allowed; allowed: rank-collapse|"),
                                ({"seconds": -3}, "seconds: must be at least 0"), ({"memory_mb": -1}, "memory_mb: must be at least 0"),
                                ({"seconds": "x"}, "seconds: must be a number"), ({"config": [1]}, "config: must be an object"),
                                ({"title": 3}, "title: must be text"), ({"sumary": "x"}, "unknown key 'sumary'; did you mean 'summary'?"),
                                ({"source": {"paper": "[Spectral]"}}, "source.figure: is missing"),
                                ({"config": PRESET["config"] | {"threads": 3}}, "threads: is no parameter of the run; give the flag --threads"),
                                ({"config": PRESET["config"] | {"out": "x.json"}}, "out: is no parameter of the run; give the flag --out"),
                                ({"config": PRESET["config"] | {"stepz": 3}}, "stepz: unknown parameter; did you mean 'steps'?"),
                                ({"config": PRESET["config"] | {"from-peak": "yes"}}, 'from-peak: "yes" is not allowed; allowed: true|false'),
                                ({"config": PRESET["config"] | {"trials": 3.5}}, "trials: '3.5' is not allowed; allowed: integer from 1 to 1000000"),
                                ({"report": {"note": ["x"]}}, "report: unknown key 'note'; did you mean 'notes'?")):
            with self.subTest(change):
                self.write("experiments/mine.json", PRESET | change)
                self.refused("run mine", "ranklab: preset mine: " + message)
        self.write("experiments/mine.json", json.dumps(PRESET, indent=1).replace('"title"', '"title" "x"'))
        self.refused("run mine", "mine.json: not valid JSON, at line 3, column 12", exit_code=1)
        self.write("experiments/mine.json", PRESET | {"after": "othr"})
        self.refused("reproduce mine", "preset mine: after: unknown preset 'othr'; did you mean 'other'?")
        self.write("experiments/mine.json", PRESET | {"reproduce": {"config": {"trails": 2}, "seconds": 1}})
        failed = self.run_program("reproduce mine", exit_code=1)
        self.assertIn("failed: preset mine: reproduce: trails: unknown parameter; did you mean 'trials'?\n", failed.stderr)
        self.refused("numbers", "numbers takes texts, none given")


class PresetTest(ProgramTest):
    """Sets up a folder of presets with one small, fast preset."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("experiments"))
        self.write("experiments/small.json", PRESET)


class ChangedTest(PresetTest):
    def test_an_unmodified_preset_lists_no_changes(self):
        document = self.result(RUN)
        self.assertNotIn("changed", document)
        self.assertEqual(document["trials"], {"requested": 3, "completed": 3, "unit": "seed"})
        self.assertNotIn("changed", self.result(f"{RUN} --steps 20 --m=12"))

    def test_every_changed_key_is_listed(self):
        document = self.result(f"{RUN} --trials 2 --scale paper --m 9")
        self.assertEqual(document["changed"], [{"name": "trials", "preset": 3, "run": 2}, {"name": "m", "preset": 12, "run": 9},
                                               {"name": "scale", "preset": "code", "run": "paper"}])
        self.assertEqual(document["title"], "GD compared with SpecGD on random-feature regression, relu features")  # of the study

    def test_a_run_without_a_preset_lists_no_changes(self):
        document = self.result("random-features --m 12 --k 10 --d 5 --n 30 --steps 20 --trials 2")
        self.assertNotIn("changed", document)
        self.assertNotIn("unit", document["trials"])

    def test_a_replay_lists_the_same_changes_with_and_without_the_preset_file(self):
        first = self.result(f"{RUN} --trials 2", name="first.json")["changed"]
        self.assertEqual(self.result("random-features --config first.json", name="second.json")["changed"], first)
        os.remove(self.path("experiments/small.json"))
        third = self.result("random-features --config first.json --m 9", name="third.json")
        self.assertEqual(third["changed"], first + [{"name": "m", "preset": 12, "run": 9}])
        self.assertEqual(third["trials"]["unit"], "seed")

    def test_the_picture_shows_a_reduced_number_of_trials(self):
        self.result(f"{RUN} --trials 2")
        self.run_program("plot out.json --quiet")
        self.assertIn("2 of 3 seeds", self.read("out.svg"))

    def test_a_broken_finding_is_refused_before_the_run(self):
        """It is needed only when the result is written."""
        finding = {"claim": "spectral/eq-1.5/gd", "verdict": "maybe", "sentence": "GD keeps nr >= st.", "panel": 1}
        self.write("experiments/small.json", {**PRESET, "finding": finding})
        self.refused(f"{RUN} --dry-run", "preset small: finding.verdict: must be one of holds")

    def test_broken_changes_of_a_replayed_file_are_refused(self):
        document = self.result(f"{RUN} --trials 2")
        os.remove(self.path("experiments/small.json"))
        for broken in (7, [7], [{"name": 7}], [{"name": "m"}]):
            self.write("config.json", json.loads(json.dumps(document)) | {"changed": broken})
            self.refused("random-features --config config.json --out x.json", "config.json", "changed")


if __name__ == "__main__":
    unittest.main()
