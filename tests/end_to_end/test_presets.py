"""Settings that differ from the preset are listed in the result, shown in the picture, and kept by a replay."""
import json
import os
import unittest

from program import ProgramTest, loads

PRESET = {"command": "random-features", "title": "A small run", "summary": "for tests", "trial": "seed", "seconds": 12,
          "source": {"paper": "[Spectral]", "figure": "Figure 3"},
          "config": {"study": "trajectory", "m": 12, "k": 10, "d": 5, "n": 30, "steps": 20, "restart-every": 10, "trials": 3}}
RUN = "random-features --preset small"


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
        self.assertEqual(document["title"], "A small run")

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
