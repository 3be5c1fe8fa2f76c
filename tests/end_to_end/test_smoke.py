"""Every command and study at toy size: runs, fits the schema, draws, reports."""
import os
import unittest

from program import ROOT, TINY, TINY_STABLE_RANK, ProgramTest, loads

RUNS = {
    "trajectory": TINY,
    "trajectory of a gated activation": TINY + " --activation swiglu",
    "trajectory in single precision": TINY + " --precision f32",
    "trajectory at the paper's scale": TINY + " --scale paper --from-peak off --restart-every 0",
    "stable-rank": TINY_STABLE_RANK,
}
for _command in ("spiked-model", "teacher-student"):
    RUNS[f"{_command} gradient-rank"] = f"{_command} --study gradient-rank --k 8,12,16 --steps 12 --trials 3"
    RUNS[f"{_command} features"] = f"{_command} --study features --k 8,16,24 --trials 3"
    RUNS[f"{_command} multi-spike"] = f"{_command} --study multi-spike --d 16,20,24 --trials 3"


class SmokeTest(ProgramTest):
    def test_every_study_runs_draws_and_reports(self):
        for number, (what, arguments) in enumerate(RUNS.items()):
            with self.subTest(what):
                document = self.result(arguments, name=f"{number}.json")
                self.assertEqual(document["status"], "complete")
                self.assertTrue(document["claims"])
                self.run_program(f"plot {number}.json --quiet")
                self.assertIn("<svg", self.read(f"{number}.svg"))
        self.run_program(["report", "--quiet", "--out", "report.html"] + [f"{i}.json" for i in range(len(RUNS))])
        self.assertIn("</html>", self.read("report.html"))

    def test_every_preset_is_listed_and_resolves(self):
        presets = sorted(name[:-5] for name in os.listdir(os.path.join(ROOT, "experiments")) if name.endswith(".json"))
        listed = self.run_program("list").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listed[1:]], presets)
        for line, preset in zip(listed[1:], presets):
            command = line.split()[1]
            plan = loads(self.run_program(f"{command} --preset {preset} --dry-run").stdout)
            self.assertEqual(plan["config"]["preset"], preset)
            self.assertEqual(plan["out"], f"results/{preset}.json")
            self.assertTrue(plan["estimate"]["fits"])


if __name__ == "__main__":
    unittest.main()
