"""Help, version, and bad input: one line that names the flag, the value and what is allowed; exit 2; nothing written."""
import json
import unittest

from program import TINY, ProgramTest, loads

RF = "random-features --study trajectory"


class HelpTest(ProgramTest):
    def test_help_and_version(self):
        self.assertIn("random-features", self.run_program("--help").stdout)
        self.assertRegex(self.run_program("--version").stdout, r"^ranklab \d+\.\d+")
        for command in ("random-features", "plot", "report", "verify", "list"):
            run = self.run_program(f"{command} --help")
            self.assertIn(command, run.stdout)
            self.assertEqual(run.stderr, "")

    def test_help_lists_each_flag_with_its_default(self):
        text = self.run_program("random-features --help").stdout
        for flag in ("--study", "--preset", "--config", "--out", "--seed", "--trials", "--threads", "--blas-threads", "--precision", "--progress",
                     "--quiet", "--dry-run", "--strict", "--resume", "--activation", "--m", "--k", "--d", "--n", "--steps", "--restart-every",
                     "--from-peak", "--scale", "--polar-rtol", "--depth"):
            self.assertRegex(text, rf"(?m)^  {flag}\s", flag)
        self.assertRegex(text, r"--steps\s+T: .*\[1000\]")


class BadFlagTest(ProgramTest):
    def test_unknown_names_are_refused_with_the_nearest_known_one(self):
        self.refused("random-featurs --trials 1", "random-featurs", "random-features")
        self.refused("spiked-models", "unknown command")
        self.refused(f"{RF} --trails 3", "--trails", "--trials")
        self.refused(f"{RF} --no-such-flag 1", "--no-such-flag")
        self.refused("random-features --preset spectral-fig3", "--preset", "spectral-fig3", "spectral-fig03")
        self.refused("random-features --study trajectry", "--study", "trajectry", "trajectory")
        self.refused(f"{RF} --activation rellu", "--activation", "rellu", "'relu'")
        self.refused(f"{RF} stray", "stray")
        self.refused("", "--help")

    def test_values_outside_the_domain(self):
        for flag, value in (("--trials", "0"), ("--trials", "-3"), ("--trials", "abc"), ("--trials", "2x"), ("--trials", ""), ("--trials", "1e3"),
                            ("--seed", "-1"), ("--seed", "18446744073709551616"), ("--steps", "-5"), ("--steps", "0"), ("--k", "0"), ("--n", "1.5"),
                            ("--precision", "f16"), ("--scale", "huge"), ("--progress", "maybe"), ("--polar-rtol", "-1"), ("--polar-rtol", "nan"),
                            ("--polar-rtol", "inf"), ("--threads", "0"), ("--blas-threads", "0"), ("--from-peak=maybe", "")):
            words = RF.split() + ([flag, value] if "=" not in flag else [flag])
            self.refused(words, flag.split("=")[0], value)

    def test_settings_of_a_model_that_do_not_fit_together(self):
        rc = "rank-collapse --study layers"
        self.refused(f"{rc} --tokens 1", "--tokens 1", "at least 2")
        self.refused(f"{rc} --model post-norm --dim 10 --heads 4", "--heads 4", "--dim 10")
        self.refused(f"{rc} --model attention --heads 2", "--heads 2", "attention")
        self.refused(f"{rc} --tau 1.5", "--tau", "1.5", "from 0 to 1")
        self.refused(f"{rc} --model post-norm --tau 0.5 --lambda 1,2", "--lambda", "--tau")
        self.refused(f"{rc} --model lti-ssm --gating on", "--gating on", "mamba2")
        self.refused(f"{rc} --model bert --norm rows", "--norm rows", "layer|none")
        self.refused(f"{rc} --model mamba", "--model", "did you mean 'mamba2'?")
        self.refused(f"{rc} --lambda 1,x", "--lambda", "x")
        self.refused(f"{rc} --also bert:0", "--also", "bert:0")
        self.refused("rank-collapse --study ablation --norm none", "--norm none")

    def test_lambda_of_minus_one_with_a_unit_diagonal_counts_its_zero_rows(self):
        document = self.result("rank-collapse --study examples --lambda -1 --layers 5")
        self.assertGreater(document["scalars"]["degenerate_rows"]["mean"], 0)

    def test_a_model_keeps_its_own_settings_in_the_result(self):
        plan = loads(self.run_program("rank-collapse --model albert --lambda -1,1 --dry-run").stdout)["config"]
        self.assertEqual((plan["norm"], plan["share-weights"], plan["heads"], plan["lambda"]), ("layer", "on", 4, [-1, 1]))

    def test_a_flag_without_its_value(self):
        self.refused(f"{RF} --trials", "--trials", "needs a value")
        self.refused(f"{RF} --trials --seed 3", "--trials", "needs a value")

    def test_a_flag_of_another_study(self):
        self.refused(f"{RF} --depth 3", "--depth", "stable-rank")

    def test_single_letter_flags_switches_and_repeats(self):
        plan = loads(self.run_program(f"{RF} --m=7 --from-peak off --steps 3 --steps 5 --dry-run").stdout)
        self.assertEqual((plan["config"]["m"], plan["config"]["from-peak"], plan["config"]["steps"]), (7, False, 5))
        plan = loads(self.run_program(f"{RF} --from-peak --seed 18446744073709551615 --dry-run").stdout)
        self.assertEqual((plan["config"]["from-peak"], plan["config"]["seed"]), (True, 18446744073709551615))

    def test_a_run_too_large_for_the_machine(self):
        message = self.refused(f"{RF} --k 1000000 --n 1000000", "--k 1000000", "memory", "TB")
        self.assertNotIn("--m", message)
        plan = loads(self.run_program(f"{RF} --k 1000000 --n 1000000 --dry-run").stdout)
        self.assertFalse(plan["estimate"]["fits"])

    def test_control_characters_are_not_echoed(self):
        message = self.refused(RF.split() + ["--activation", "re\x1b[31mlu"], "\\x1b")
        self.assertNotIn("\x1b", message)


class ConfigFileTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.document = self.result(TINY)

    def refuse(self, change, *needles, exit_code=2):
        document = json.loads(json.dumps(self.document))
        change(document)
        self.write("config.json", document)
        self.refused("random-features --config config.json", "config.json", *needles, exit_code=exit_code)

    def test_keys_and_values(self):
        self.refuse(lambda d: d["config"].update({"stepz": 3}), "stepz", "steps")
        self.refuse(lambda d: d["config"].update({"activation": "rellu"}), "activation", "rellu")
        self.refuse(lambda d: d["config"].update({"steps": "many"}), "steps", "many")
        self.refuse(lambda d: d["config"].update({"steps": 2.5}), "steps", "2.5")
        self.refuse(lambda d: d["config"].update({"steps": None}), "steps", "null")
        self.refuse(lambda d: d["config"].update({"trials": -1}), "trials", "-1")
        self.refuse(lambda d: d["config"].update({"from-peak": "yes"}), "from-peak", "yes")
        self.refuse(lambda d: d["config"].update({"study": "trajectry"}), "trajectry", "trajectory")
        self.refuse(lambda d: d["config"].update({"depth": 3}), "depth", "stable-rank")
        self.refuse(lambda d: d["config"].update({"threads": 3}), "threads")
        self.refuse(lambda d: d.update({"command": "spiked-model"}), "spiked-model")
        self.refuse(lambda d: d.update({"schema": "ranklab.result/2"}), "ranklab.result/1")
        self.refuse(lambda d: d.pop("config"), "config")

    def test_files_that_are_no_config(self):
        self.write("half.json", json.dumps(self.document)[:200])
        self.refused("random-features --config half.json", "half.json", exit_code=1)
        self.write("twice.json", '{"command": "random-features", "config": {"steps": 3, "steps": 4}}')
        self.refused("random-features --config twice.json", "steps", "twice", exit_code=1)
        self.write("list.json", "[1, 2]")
        self.refused("random-features --config list.json", "list.json")
        self.write("key.json", {"command": "random-features", "sumary": "x", "config": {}})
        self.refused("random-features --config key.json", "sumary", "summary")
        self.write("bytes.json", b"\xff\xfe\x00")
        self.refused("random-features --config bytes.json", "bytes.json", exit_code=1)
        self.refused("random-features --config none.json", "none.json", exit_code=1)
        self.refused("random-features --config .", exit_code=1)


class OutputPathTest(ProgramTest):
    def test_unwritable_out_is_found_before_the_first_trial(self):
        self.write("file", "x")
        self.refused(f"{TINY} --trials 1000000 --out file/out.json", "file/out.json", exit_code=1)
        self.refused(f"{TINY} --trials 1000000 --out .", "folder", exit_code=1)

    def test_resume_needs_a_file(self):
        self.refused(f"{TINY} --resume --out -", "--resume")


if __name__ == "__main__":
    unittest.main()
