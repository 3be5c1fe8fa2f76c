"""--expect and --strict: whether runs give the published verdicts, those of results/reference."""
import os
import shutil
import subprocess
import unittest

from program import BINARY, ROOT, ProgramTest, loads

CHEAP = ("lambda-skip-sys1", "lambda-skip-sys2", "shallow-fig08")  # at most 0.1 s each


def published_claims(preset):
    """The claims of the reference that have a verdict of its own."""
    with open(os.path.join(ROOT, "results", "reference", preset + ".json"), encoding="utf-8") as file:
        claims = loads(file.read())["claims"]
    return [claim for claim in claims if "judged_in" not in claim and (claim["verdict"] != "not-applicable" or "undecided" in claim)]


class ExpectTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("experiments"))
        for preset in CHEAP:
            shutil.copy(os.path.join(ROOT, "experiments", preset + ".json"), self.path("experiments"))

    def own_preset(self, name, **config):
        with open(os.path.join(ROOT, "experiments", "lambda-skip-sys1.json"), encoding="utf-8") as file:
            preset = loads(file.read())
        preset["config"].update(config)
        self.write(f"experiments/{name}.json", preset)

    def program_with(self, verdict, instead_of, claim):
        """A copy of the program in which the published verdict on a claim is another one of equal length."""
        with open(BINARY, "rb") as file:
            program = file.read()
        at = program.index(b'"id": "%s",' % claim.encode())
        at = program.index(b'"verdict": ', at)
        self.assertEqual(program[at:at + 18], b'"verdict": "%s"' % instead_of.encode())
        with open(self.path("altered"), "wb") as file:
            file.write(program[:at] + b'"verdict": "%s"' % verdict.encode() + program[at + 18:])
        os.chmod(self.path("altered"), 0o755)
        return self.path("altered")

    def altered(self, arguments):
        return subprocess.run([self.path("altered"), *arguments.split()], cwd=self.folder, capture_output=True, text=True)

    def test_a_full_run_gives_the_published_verdicts(self):
        for preset in CHEAP:
            n = len(published_claims(preset))
            run = self.run_program(f"run {preset} --expect -q --out -")
            self.assertEqual(run.stderr, f"ranklab: {n} of {n} verdicts as published\n")
            self.assertEqual(loads(run.stdout)["preset"], preset)
        run = self.run_program("rank-collapse --preset lambda-skip-sys1 --expect --out loud.json")
        n = len(published_claims("lambda-skip-sys1"))
        self.assertIn(f"\nranklab: {n} of {n} verdicts as published\n", run.stderr)

    def test_a_shorter_run_withholds_verdicts(self):
        run = self.run_program("run shallow-fig08 --trials 10 --expect -q --out short.json")
        decided = {claim["id"]: claim["verdict"] for claim in loads(self.read("short.json"))["claims"] if claim["verdict"] != "not-applicable"}
        published = {claim["id"]: claim["verdict"] for claim in published_claims("shallow-fig08")}
        self.assertEqual({id: published[id] for id in decided}, decided)
        n, withheld = len(decided), len(published) - len(decided)
        self.assertGreater(min(n, withheld), 0)
        self.assertEqual(run.stderr, f"ranklab: {n} of {n} verdicts as published; {withheld} withheld, the run is shorter\n")

    def test_a_contradiction_is_status_3_and_named(self):
        claim = next(claim for claim in published_claims("lambda-skip-sys1") if claim["verdict"] == "holds")["id"]
        n = len(published_claims("lambda-skip-sys1"))
        self.program_with("fails", "holds", claim)
        line = f"{n - 1} of {n} verdicts as published; 1 contradicts: lambda-skip-sys1 {claim} (published fails, here holds)"
        run = self.altered("run lambda-skip-sys1 --expect -q --out r.json")
        self.assertEqual((run.returncode, run.stderr), (3, f"ranklab: {line}\n"))
        self.assertEqual(self.altered("run lambda-skip-sys2 --expect -q --out r2.json").returncode, 0)
        run = self.altered("reproduce lambda-skip-sys1 --expect")
        self.assertEqual(run.returncode, 3)
        self.assertIn(f"\n{line}\n", run.stderr)

    def test_merged_shards_are_compared(self):
        for i in (1, 2):
            self.run_program(f"run shallow-fig08 -q --shard {i}/2 --out {i}.part")
        n = len(published_claims("shallow-fig08"))
        self.assertEqual(self.run_program("merge 1.part 2.part -q --expect --out -").stderr, f"ranklab: {n} of {n} verdicts as published\n")

    def test_what_has_no_published_verdicts_is_refused(self):
        self.own_preset("mine")
        self.own_preset("lambda-skip-sys2", layers=7)
        for arguments, needles in (
                ("rank-collapse --study eta --expect", ["needs a preset"]),
                ("run mine --expect", ["mine has no published verdicts"]),
                ("reproduce mine --expect", ["mine has no published verdicts"]),
                ("run shallow-fig08 --seed 2 --expect", ["a shorter run", "seed 2 instead of 1"]),
                ("run shallow-fig08 --trials 51 --expect", ["a shorter run", "trials 51 instead of 50"]),
                ("run shallow-fig08 --expect --shard 1/2", ["ranklab merge --expect`"]),
                ("run lambda-skip-sys2 --expect", ["lambda-skip-sys2 is not the published one", " is "])):
            with self.subTest(arguments):
                self.refused(arguments, "--expect: ", *needles)

    def test_reproduce_prints_one_line_about_all_presets(self):
        self.own_preset("mine")
        n = sum(len(published_claims(preset)) for preset in CHEAP)
        lines = self.run_program("reproduce --expect").stderr.splitlines()
        about = f"{n} of {n} verdicts as published; not compared: mine: the preset mine has no published verdicts"
        self.assertEqual(lines.count(about), 1, lines)
        # Results of another program say nothing about this one.
        result = loads(self.read("results/lambda-skip-sys1.json"))
        result["environment"]["program"] = "another"
        self.write("results/lambda-skip-sys1.json", result)
        self.assertIn(about, self.run_program("reproduce --expect").stderr)  # it was run again

    def test_strict_counts_only_what_is_not_expected_to_fail(self):
        # The form as printed of Proposition A.10.1 and its copies fail by design; a claim beyond the paper is published as failing.
        result = self.result("run lambda-skip-sys1 --strict")
        failing = [claim for claim in result["claims"] if claim["verdict"] == "fails"]
        self.assertEqual({"slip" in claim for claim in failing}, {True, False})
        self.result("run lambda-skip-sys2 --strict", name="slips.json")
        # Without the preset, nothing is published about the run.
        self.result("rank-collapse --study examples --system sys1 --layers 40 --strict", exit_code=3, name="free.json")
        self.result(["run", "lambda-skip-sys2", "--strict", "--claim", '"lambda=1.mu" < 0'], exit_code=3, name="own.json")
        self.program_with("holds", "fails", next(claim["id"] for claim in failing if "slip" not in claim))
        self.assertEqual(self.altered("run lambda-skip-sys1 --strict -q --out r.json").returncode, 3)


if __name__ == "__main__":
    unittest.main()
