"""--reuse-trials: the finished trials of another build, as after an edit of what a study judges or shows."""
import os
import subprocess
import unittest

from program import BINARY, ROOT, TINY, ProgramTest, loads


class ReuseTest(ProgramTest):
    def other_build(self):
        """The program with another checksum: bytes after its end do not run."""
        with open(BINARY, "rb") as file:
            content = file.read()
        os.makedirs(self.path("build"), exist_ok=True)
        self.write("build/ranklab", content + b"another build")
        os.chmod(self.path("build/ranklab"), 0o755)
        os.symlink(os.path.join(ROOT, "experiments"), self.path("experiments"))
        return self.path("build/ranklab")

    def run_other(self, words, exit_code=0):
        run = subprocess.run([self.path("build/ranklab"), *words.split()], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(run.returncode, exit_code, run.stderr)
        return run

    def test_trials_of_another_build_are_judged_again(self):
        self.other_build()
        whole = loads(self.result_text(TINY, name="whole.json"))
        self.run_program(TINY + " --out r.json --reuse-trials -q")
        self.assertEqual(sorted(os.listdir(self.folder)), ["build", "experiments", "r.json", "r.json.journal", "whole.json"])
        first = loads(self.read("r.json"))
        self.assertNotIn("trials_of", first["environment"])
        # Another build refuses them, unless it is asked to take them.
        self.assertIn("program is ", self.run_other(TINY + " --out r.json --resume", 2).stderr)
        self.run_other(TINY + " --out r.json --reuse-trials -q")
        second = loads(self.read("r.json"))
        self.check_schema(second)
        self.assertEqual(second["environment"]["trials_of"], {key: first["environment"][key] for key in ("git", "program")})
        self.assertTrue(any("of another build of this version" in note and "no reference" in note for note in second["notes"]))
        for key in ("scalars", "trial_values", "series", "claims", "figure"):
            self.assertEqual(second[key], whole[key], key)
        self.assertEqual(second["timing"]["trials_s"], 0)  # none ran
        # Other numbers are another run, also for it.
        self.run_other(TINY + " --seed 2 --out r.json --reuse-trials -q", 2)

    def test_another_report_takes_the_trials_of_the_same_build(self):
        os.makedirs(self.path("experiments"))
        preset = {"command": "random-features", "summary": "for tests",
                  "config": {"study": "trajectory", "m": 6, "k": 5, "d": 4, "n": 10, "steps": 5, "restart-every": 0, "trials": 3},
                  "report": {"claims": [{"id": "mine/a", "claim": "gd.nuclear_rank >= 1"}]}}
        self.write("experiments/mine.json", preset)
        self.run_program("run mine --out r.json --reuse-trials -q")
        preset["report"]["claims"][0]["claim"] = "gd.nuclear_rank >= 1000"
        self.write("experiments/mine.json", preset)
        self.run_program("run mine --out r.json --resume", exit_code=2)
        self.run_program("run mine --out r.json --reuse-trials -q")
        result = loads(self.read("r.json"))
        self.assertNotIn("trials_of", result["environment"])
        self.assertEqual([claim["verdict"] for claim in result["claims"] if claim["kind"] == "own"], ["fails"])
        self.assertEqual(result["timing"]["trials_s"], 0)

    def test_what_it_does_not_go_with_is_refused(self):
        self.refused(TINY + " --reuse-trials --force --out r.json", "--reuse-trials and --force contradict each other")
        self.refused(TINY + " --reuse-trials --out -", "--reuse-trials needs an --out file")
        self.refused(TINY + " --reuse-trials --shard 1/2 --out r.part", "--reuse-trials: a shard keeps its trials in its part")


if __name__ == "__main__":
    unittest.main()
