"""Help, version and bad input: one line names the flag, its value and what is allowed; exit status 2; no file is written."""
import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import termios
import unittest

from program import BINARY, PRESETS, ROOT, TINY, ProgramTest, loads
from stored_tensors import npy

RF = "random-features --study trajectory"


class HelpTest(ProgramTest):
    def test_help_and_version(self):
        self.assertIn("random-features", self.run_program("--help").stdout)
        self.assertRegex(self.run_program("--version").stdout, r"^ranklab \d+\.\d+")
        for command in ("random-features", "run", "plot", "report", "verify", "compare", "export", "list"):
            run = self.run_program(f"{command} --help")
            self.assertIn(command, run.stdout)
            self.assertEqual(run.stderr, "")

    def test_help_lists_each_flag_with_its_default(self):
        text = self.run_program("random-features --help").stdout
        for flag in ("--study", "--preset", "--config", "--out", "--seed", "--trials", "--threads", "--blas-threads", "--progress",
                     "--quiet", "--dry-run", "--strict", "--expect", "--force", "--resume", "--activation", "--m", "--k", "--d", "--n", "--steps", "--restart-every",
                     "--from-peak", "--scale", "--polar-rtol", "--depth"):
            self.assertRegex(text, rf"(?m)^  (-\w, )?{flag}\s", flag)
        self.assertRegex(text, r"--steps\s+T: .*\[1000\]")


    def test_help_of_one_study_shows_only_its_flags_and_a_working_example(self):
        for command in ("rank-collapse", "random-features", "spiked-model", "teacher-student", "one-step-compare"):
            whole = self.run_program(f"{command} --help").stdout
            studies = re.findall(r"(?m)^Flags of --study (\S+) ", whole)
            self.assertGreater(len(studies), 1)
            for study in studies:
                text = self.run_program(f"{command} --study {study} --help").stdout
                self.assertEqual(re.findall(r"(?m)^Flags of --study (\S+) ", text), [study])
                example = text.split("Example:\n")[1].strip().splitlines()
                self.assertLessEqual(len(example), 2)
                for line in example:
                    words = shlex.split(line)
                    if words[0] == "python3":  # this line makes two matrices with NumPy; the tests must work without NumPy
                        self.write("A.npy", npy([[1.0, 0.5, 2.0], [0.0, 1.0, -1.0]]))
                        self.write("G.npy", npy([[2.0, 1.0], [0.0, 1.0]]))
                    else:
                        self.assertEqual(words[:4], ["ranklab", command, "--study", study])
                        self.run_program(words[1:] + ["--dry-run"])
        self.refused("rank-collapse --study layer --help", "--study", "'layer'", "layers")

    def test_help_of_a_preset_shows_only_its_study_with_its_values(self):
        text = self.run_program("run spectral-fig11 --help").stdout
        self.assertTrue(text.startswith("Usage: ranklab run spectral-fig11 [flags]\n"))
        self.assertEqual(re.findall(r"(?m)^Flags of --study (\S+) ", text), ["trajectory"])
        self.assertRegex(text, r"(?s)--activation .*?\[swiglu\]")
        self.assertRegex(text, r"(?m)^  --steps .*\[400\]$")
        self.assertNotIn("--depth", text)
        self.assertEqual(self.run_program("random-features --preset spectral-fig11 --help").stdout, text)
        example = shlex.split(text.split("Example:\n")[1])
        self.assertEqual(loads(self.run_program(example[1:] + ["--dry-run"]).stdout)["config"]["preset"], "spectral-fig11")
        other = self.run_program("run spectral-fig11 --study stable-rank --help").stdout
        self.assertEqual(other, self.run_program("random-features --study stable-rank --help").stdout)
        self.refused("run spectral-fig1 --help", "'spectral-fig1'", "'spectral-fig01'")

    def test_help_with_other_flags(self):
        for words in ("--describe x", "--config nowhere.json", "--shard 1/2", "--weights nowhere", "--lambda 3"):
            text = self.run_program(f"rank-collapse --study layers {words} --help").stdout
            self.assertTrue(text.startswith("Usage: ranklab rank-collapse --study layers"), words)
        self.refused("rank-collapse --study layers --lambda x --help", "--lambda")
        self.refused("rank-collapse --study layers --foo --help", "--foo")

    def test_help_followed_by_a_command_is_the_help_of_that_command(self):
        for rest in ("plot", "random-features", "random-features --study trajectory"):
            self.assertEqual(self.run_program(f"help {rest}").stdout, self.run_program(f"{rest} --help").stdout)
        self.assertEqual(self.run_program("help").stdout, self.run_program("--help").stdout)
        self.refused("help plto", "plto", "'plot'")
        # The name of a command that is a term as well: first what it means.
        shown = self.run_program("help rank-collapse").stdout
        self.assertIn("become equal", shown)
        self.assertTrue(shown.endswith("\n\n" + self.run_program("rank-collapse --help").stdout))

    def test_terms(self):
        self.assertEqual(self.run_program(["help", "stable rank"]).stdout, self.run_program("help stable-rank").stdout)
        self.refused("mu", "'mu' is a term", "help mu")


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
        overview = self.run_program("", exit_code=2).stderr
        self.assertLessEqual(len(overview.splitlines()), 25)
        for word in ("ranklab run spectral-fig03", "ranklab ranks", "ranklab verify"):
            self.assertIn(word, overview)
        for term in re.split(r",\s+", re.search("explains one of: (.*)", overview, re.DOTALL)[1].strip()):
            self.assertTrue(self.run_program(f"help {term}").stdout.startswith(f"{term}\n    "))
        self.refused("help stabel-rank", "stable-rank")

    def test_values_outside_the_domain_are_refused(self):
        for flag, value in (("--trials", "0"), ("--trials", "-3"), ("--trials", "abc"), ("--trials", "2x"), ("--trials", ""), ("--trials", "1.5e0"),
                            ("--seed", "-1"), ("--seed", "18446744073709551616"), ("--steps", "-5"), ("--steps", "0"), ("--k", "0"), ("--n", "1.5"),
                            ("--scale", "huge"), ("--progress", "maybe"), ("--polar-rtol", "-1"), ("--polar-rtol", "nan"),
                            ("--polar-rtol", "inf"), ("--threads", "0"), ("--blas-threads", "0"), ("--from-peak=maybe", "")):
            words = RF.split() + ([flag, value] if "=" not in flag else [flag])
            self.refused(words, flag.split("=")[0], value)

    def test_only_studies_of_networks_have_single_precision(self):
        for study in ("mlp", "gpt"):
            self.refused(f"one-step-compare --study {study} --precision f16", "--precision", "f16", "f64|f32")
        self.refused("one-step-compare --study regression --precision f64", "--precision", "belongs to --study mlp, gpt", "--study regression")
        self.refused(f"{RF} --precision f32", "--precision", "unknown flag")
        self.write("x.json", {"command": "random-features", "config": {"precision": "f64"}})
        self.refused("random-features --config x.json", "x.json", "precision")

    def test_model_settings_that_do_not_fit_together_are_refused(self):
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

    def test_the_config_records_the_default_settings_of_the_model(self):
        plan = loads(self.run_program("rank-collapse --model albert --lambda -1,1 --dry-run").stdout)["config"]
        self.assertEqual((plan["norm"], plan["share-weights"], plan["heads"], plan["lambda"]), ("layer", "on", 4, [-1, 1]))

    def test_empty_values_and_zeros_are_refused(self):
        rc = "rank-collapse --study layers --model post-norm"
        self.refused(f"{rc} --heads 0", "--heads", "'0'", "from 1")
        self.refused(f"{rc} --ffn 0", "--ffn", "'0'", "from 1")
        self.refused(rc.split() + ["--lambda", ""], "--lambda", "''")
        self.refused(rc.split() + ["--tau", ""], "--tau", "''")
        self.refused(TINY.split() + ["--out", ""], "--out", "''")
        self.refused(["report", "x.json", "--out", ""], "--out", "''")

    def test_single_letter_flags_work(self):
        plan = loads(self.run_program(f"{TINY} -j2 -o a/b.json --dry-run").stdout)
        self.assertEqual((plan["threads"], plan["out"]), (2, "a/b.json"))
        self.assertEqual(self.run_program(f"{TINY} -j 1 -q -o x.json").stderr, "")
        self.refused(f"{TINY} -o", "needs a value")

    def test_a_preset_with_the_wrong_command_shows_the_correct_command_line(self):
        self.refused("rank-collapse --preset spectral-fig03 --steps 5 --progress never", "is for random-features, not rank-collapse",
                     f"`{BINARY} random-features --preset spectral-fig03 --steps 5 --progress never`")
        self.refused(["one-step-compare", "--preset=spectral-fig03", "-o", "my file.json"],
                     f"`{BINARY} random-features --preset=spectral-fig03 -o 'my file.json'`")

    def test_run_finds_the_command_of_a_preset(self):
        plan = loads(self.run_program("run spectral-fig11 --trials 2 --dry-run").stdout)
        self.assertEqual((plan["command"], plan["config"]["preset"], plan["config"]["trials"]), ("random-features", "spectral-fig11", 2))
        self.refused("run spectral-fig3", "spectral-fig3", "'spectral-fig03'")
        self.refused("run", "preset")
        self.refused("run --trials 2 spectral-fig03", "preset")
        self.assertIn("run PRESET", self.run_program("run --help").stdout)

    def test_an_alias_is_its_preset_but_for_the_file_of_the_result(self):
        short = "--trials 1 --steps 2 --sample-steps 0,1 --k 8,16 --quiet"
        for name in ("spectral-fig14a", "spectral-fig15a"):
            self.assertEqual(self.run_program(f"run {name} {short}").returncode, 0)
        mine, alias = (loads(self.read(f"results/{name}.json")) for name in ("spectral-fig14a", "spectral-fig15a"))
        self.assertEqual(alias["preset"], "spectral-fig14a")
        for key in ("config", "claims", "series", "title"):
            self.assertEqual(alias[key], mine[key], key)
        self.assertEqual(self.run_program("verify results/spectral-fig15a.json --quiet").returncode, 0)
        self.assertIn("run spectral-fig14a", self.run_program("run spectral-fig15a --help").stdout)
        self.assertIn("spectral-fig15a", self.run_program(["list", "Figure 15"]).stdout)
        plan = loads(self.run_program("spiked-model --preset spectral-fig15a --dry-run").stdout)
        self.assertEqual((plan["config"]["preset"], plan["out"]), ("spectral-fig14a", "results/spectral-fig15a.json"))

    def test_a_flag_without_its_value_is_refused(self):
        self.refused(f"{RF} --trials", "--trials", "needs a value")
        self.refused(f"{RF} --trials --seed 3", "--trials", "needs a value")

    def test_a_flag_of_another_study_is_refused(self):
        self.refused(f"{RF} --depth 3", "--depth", "stable-rank")

    def test_switches_and_repeated_flags(self):
        run = self.run_program(f"{RF} --m=7 --from-peak off --steps 3 --steps 5 --dry-run")
        config = loads(run.stdout)["config"]
        self.assertEqual((config["m"], config["from-peak"], config["steps"]), (7, False, 5))
        self.assertEqual(run.stderr, "ranklab: --steps is given twice (3, 5); the last value counts\n")
        for words in (f"{RF} --steps 3 --steps 5 -q", f"{RF} --steps 5 --steps 5", f"{RF} --claim m>1 --claim m<99", "run spectral-fig11 --steps 5"):
            self.assertEqual(self.run_program(f"{words} --dry-run").stderr, "", words)
        plan = loads(self.run_program(f"{RF} --from-peak --seed 18446744073709551615 --dry-run").stdout)
        self.assertEqual((plan["config"]["from-peak"], plan["config"]["seed"]), (True, 18446744073709551615))

    def test_a_run_too_large_for_the_machine_is_refused(self):
        message = self.refused(f"{RF} --k 1000000 --n 1000000", "--k 1000000", "memory", "TB")
        self.assertNotIn("--m", message)
        plan = loads(self.run_program(f"{RF} --k 1000000 --n 1000000 --dry-run").stdout)
        self.assertFalse(plan["estimate"]["fits"])

    def test_control_characters_are_not_echoed(self):
        message = self.refused(RF.split() + ["--activation", "re\x1b[31mlu"], "\\x1b")
        self.assertNotIn("\x1b", message)

    def test_long_values_are_cut_in_messages(self):
        long, bars = "x" * 5000, "\u2264" * 2000
        for arguments in ([long], ["help", long], [f"--{long}"], ["run", long], ["list", long], ["plot", f"--{long}", "a.json"],
                          ["random-features", "--study", long], ["random-features", f"--{long}", "1"], ["random-features", "--no-such=" + long],
                          ["random-features", "--activation", long], ["random-features", "--activation", bars], ["random-features", long],
                          ["random-features", "--n", "1" * 5000], ["random-features", "--preset", long], ["random-features", "--shard", long],
                          ["rank-collapse", "--lambda", "1," * 2500 + "x"], ["rank-collapse", "--also", long],
                          ["rank-collapse", "--lambda", ",".join(map(str, range(2000))) + ",7"],
                          ["rank-collapse", "--study", "train", "--lambda", long], ["rank-collapse", "--study", "train", "--lr", long],
                          ["rank-collapse", "--study", "train", "--norm", long], ["rank-collapse", "--study", "train", "--vocab", long],
                          ["one-step-compare", "--study", "gpt", "--also", long], ["one-step-compare", "--study", "gpt", "--vocab", long],
                          ["ranks", "--split", long], ["spiked-model", "--sample-steps", long]):
            with self.subTest(" ".join(word[:20] for word in arguments)):
                message = self.refused(arguments)
                self.assertLess(len(message), 700)
                self.assertNotIn("\\x", message)  # no character is cut in half
        for arguments in (["plot", long], ["random-features", "--config", long], ["random-features", "--out", long + "/out.json"]):
            with self.subTest(" ".join(word[:20] for word in arguments)):
                self.assertLess(len(self.refused(arguments, exit_code=1)), 700)


class WhatPeopleTypeTest(ProgramTest):
    def test_a_figure_or_a_file_in_place_of_a_preset(self):
        for typed in ("Figure 3", "fig. 3"):
            self.refused(["run", typed], f"unknown preset '{typed}'; presets of {typed}: lambda-skip-fig03, ", "shallow-fig03, spectral-fig03")
        for name in ("spectral-fig03.json", "experiments/spectral-fig03.json"):
            self.refused(["run", name], f"unknown preset '{name}'; leave out the folder and .json: spectral-fig03")
        self.refused(["run", "mine/peak.json"], "unknown preset 'mine/peak.json'; a preset is a file of the folder experiments/, run by its name without .json")
        self.refused("spectral-fig03", "'spectral-fig03' is a preset; `", "run spectral-fig03` runs it")
        for command in ("verify", "plot", "judge"):
            self.refused([command, "spectral-fig03"], f"{command} takes results, and spectral-fig03 is a preset; `", "writes results/spectral-fig03.json")

    def test_the_beginning_of_a_name_is_enough_if_no_other_one_begins_so(self):
        for typed, name in (("spectral-thm1", "spectral-thm1.5"), ("spectral-fig04", "spectral-fig04"), ("lambda-skip-sys2", "lambda-skip-sys2")):
            plan = loads(self.run_program(f"run {typed} --dry-run").stdout)
            self.assertEqual((plan["config"]["preset"], plan["out"]), (name, f"results/{name}.json"))
        self.refused("run spectral-fig15", "run: unknown preset 'spectral-fig15'; 2 names begin so: spectral-fig15a, spectral-fig15b\n")
        self.refused("run spectral", " names begin so: spectral-fig01, ", ", ...\n")
        self.refused("random-features --preset spectral-thm1", "--preset: unknown preset")  # scripts give whole names
        for typed in ("Section 4.2, scaling", "Sec. 4.2, scaling with"):
            self.assertIn("Section 4.2, scaling with the number of samples", self.run_program(["papers", "spec", typed]).stdout)

    def test_help_of_a_preset_a_figure_and_a_term_of_two_words(self):
        self.assertIn("[Spectral] Figure 3", self.run_program("help spectral-fig03").stdout)
        self.assertNotIn("\\x0a", self.run_program("help spectral-fig03").stdout)
        self.assertTrue(self.run_program("help stable rank").stdout.startswith("stable-rank\n"))
        self.refused(["help", "Thm 4.1"], "presets of Thm 4.1: lambda-skip-thm4.1; `", "papers` has its statements")

    def test_a_list_of_some_presets(self):
        for figure in ("Figure 2", "Fig. 2"):
            lines = self.run_program(["list", "lambda", figure]).stdout.splitlines()
            self.assertEqual([line.split()[0] for line in lines if "rank-collapse" in line], ["lambda-skip-fig02", "lambda-skip-fig02-trained"])
        self.refused("list zzz", "no preset has 'zzz' in its name, figure or command")

    def test_a_preset_with_a_mistake_does_not_hide_the_others(self):
        preset = {"command": "random-features", "summary": "a", "config": {"study": "trajectory"}}
        os.makedirs(self.path("experiments"))
        self.write("experiments/good.json", preset)
        self.write("experiments/broken.json", dict(preset, colour="red"))
        run = self.run_program("list")
        self.assertIn("good", run.stdout)
        self.assertTrue(run.stdout.endswith("\n1 preset\n"), run.stdout)  # no time: it names none
        self.assertRegex(run.stderr, "^ranklab: left out: preset broken: .*colour.*\n$")

    def test_integers_in_scientific_notation(self):
        config = loads(self.run_program("random-features --steps 1e3 --seed 2e0 --dry-run").stdout)["config"]
        self.assertEqual((config["steps"], config["seed"]), (1000, 2))
        for text in ("1.5e0", "1e400", "-1e3", "1e", "1e17x"):
            self.refused(f"random-features --steps {text} --dry-run", "allowed: integer from 1")

    def test_a_folder_of_results(self):
        self.run_program("random-features --m 4 --k 4 --d 3 --n 6 --steps 2 --trials 2 --out results/a.json -q")
        self.run_program("report results --out page.html -q")
        self.write("results/other.json", {"a": 1})  # is passed over
        self.run_program("report results --out page.html -q")
        self.assertIn("</html>", self.read("page.html"))
        os.makedirs(self.path("empty"))
        self.refused("report empty", "empty: the folder has no result")


class ConfigFileTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.document = self.result(TINY)

    def refuse(self, change, *needles, exit_code=2):
        document = json.loads(json.dumps(self.document))
        change(document)
        self.write("config.json", document)
        self.refused("random-features --config config.json", "config.json", *needles, exit_code=exit_code)

    def test_bad_keys_and_values_are_refused(self):
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
        self.refuse(lambda d: d.update({"schema": "ranklab.result/4"}), "ranklab.result/3")
        self.refuse(lambda d: d.pop("config"), "config")

    def test_files_that_are_not_a_config_are_refused(self):
        self.write("half.json", json.dumps(self.document)[:200])
        self.refused("random-features --config half.json", "half.json", exit_code=1)
        self.write("twice.json", '{"command": "random-features", "config": {"steps": 3, "steps": 4}}')
        self.refused("random-features --config twice.json", "steps", "twice", exit_code=1)
        self.write("list.json", "[1, 2]")
        self.refused("random-features --config list.json", "list.json")
        self.write("key.json", {"command": "random-features", "sumary": "x", "config": {}})
        self.refused("random-features --config key.json", "sumary", "summary")
        self.write("see.json", {"command": "random-features", "see": 1, "config": {}})
        self.refused("random-features --config see.json", "see.json: see: must be text")
        for wrong in ("spectral-fig04", {"spectral-fig04": "spectral/*"}, {"spectral-fig04": [1]}):
            self.write("judged.json", {"command": "random-features", "judged_in": wrong, "config": {}})
            self.refused("random-features --config judged.json", "judged.json: judged_in")
        finding = {"claim": "spectral/fig-3/x", "verdict": "holds", "sentence": "It holds.", "panel": 1}
        for wrong in ("It holds.", {**finding, "panel": "1"}, {**finding, "claim": 1}, {"claim": "spectral/fig-3/x"}, {**finding, "more": 1}):
            self.write("finding.json", {"command": "random-features", "finding": wrong, "config": {}})
            self.refused("random-features --config finding.json", "finding.json: finding")
        self.write("bytes.json", b"\xff\xfe\x00")
        self.refused("random-features --config bytes.json", "bytes.json", exit_code=1)
        self.refused("random-features --config none.json", "none.json", exit_code=1)
        self.refused("random-features --config .", exit_code=1)


class OutputPathTest(ProgramTest):
    def test_an_unwritable_out_is_refused_before_the_first_trial(self):
        self.write("file", "x")
        run = TINY.replace("--trials 3", "--trials 1000000")
        self.refused(f"{run} --out file/out.json", "file/out.json", exit_code=1)
        self.refused(f"{run} --out .", "folder", exit_code=1)

    def test_a_name_of_another_kind_of_file_is_refused(self):
        self.result(TINY)
        for words, out, message in ((TINY, "x.csv", "the run writes a result as JSON; allowed: a name such as x.json, and then "
                                                    f"`{BINARY} export x.json --out x.csv`"),
                                    (TINY, "x.svg", f"`{BINARY} plot x.json --out x.svg`"), (TINY, "a/x.html", f"`{BINARY} report a/x.json --out a/x.html`"),
                                    (TINY, "x.XLSX", "allowed: a name such as x.json\n"), (TINY, "x.txt", "allowed: a name such as x.json\n"),
                                    ("export out.json", "t.xlsx", "export writes a table as CSV; allowed: a name such as t.csv\n"),
                                    ("export out.json", "t.json", "allowed: a name such as t.csv\n"),
                                    ("report out.json", "x.docx", "report writes a page; allowed: a name such as x.html\n"),
                                    ("plot out.json", "x.bmp", "a picture must end in .svg, .png, .pdf or .eps")):
            with self.subTest(words + out):
                self.assertIn(message, self.refused(f"{words} --out {out}", f"--out {out}: "))
        for out in ("table", "t.txt", "t.csv"):
            self.run_program(f"export out.json --out {out}")
        self.run_program(f"{TINY} --out result -q")

    def test_a_folder_that_is_created_is_named(self):
        line = "ranklab: --out a/b/x.json: created the folder a/b\n"
        self.assertTrue(self.run_program(f"{TINY} --out a/b/x.json").stderr.startswith(line))
        self.assertNotIn("created", self.run_program(f"{TINY} --out a/b/y.json").stderr)
        self.assertEqual(self.run_program(f"{TINY} --out c/x.json -q").stderr, "")
        self.assertNotIn("created", self.run_program(TINY).stderr)  # results/ is the default
        self.assertTrue(self.run_program(f"{TINY} --shard 1/2 --out p/1.part").stderr.startswith("ranklab: --out p/1.part: created the folder p\n"))

    def test_resume_needs_a_file(self):
        self.refused(f"{TINY} --resume --out -", "--resume")


class ListTest(ProgramTest):
    def test_the_list_has_every_preset_within_100_columns(self):
        run = self.run_program("list")
        lines = [line for line in run.stdout.splitlines()[1:-1] if line and not line.startswith(" ")]
        listed = [line.split()[0] for line in lines if not line.startswith("[")]
        aliases = [alias for preset in loads(self.run_program("list --json").stdout) for alias in preset.get("aliases", ())]
        self.assertIn("spectral-fig01", aliases)
        self.assertEqual(sorted(listed), sorted(PRESETS + aliases))
        self.assertEqual([line.split()[0] for line in lines if line.startswith("[")], [f"[{paper['paper']}]" for paper in loads(self.run_program("papers --json").stdout)])
        for earlier, later in (("spectral-fig04", "spectral-fig18a"), ("spectral-fig18b", "spectral-thm1.5"), ("spectral-thm3.6", "lambda-skip-fig01")):
            self.assertLess(listed.index(earlier), listed.index(later))
        self.assertLessEqual(max(map(len, run.stdout.splitlines())), 100)

    def test_the_json_list_has_every_preset_in_full_with_the_numbers_of_its_findings(self):
        for preset in loads(self.run_program("list --json").stdout):
            name = preset.pop("name")
            with open(os.path.join(ROOT, "experiments", f"{name}.json"), encoding="utf-8") as file:
                written = json.load(file)
            written["see"] = re.sub(r"{{.*? = ([^{}]*)}}", r"\1", written["see"])
            self.assertEqual(preset, written)
        self.refused("list stray", "stray")


class MistakesTest(ProgramTest):
    """What newcomers typed."""

    def test_the_answer_says_what_to_type(self):
        self.result(TINY)
        self.write("model.pt", b"x")
        self.write("preset.json", {"command": "random-features", "title": "t", "summary": "s", "config": {}})
        os.mkdir(self.path("folder"))
        for words, needles in ((["help", "thm-3.7"], ("Theorem 3.7 of [Spectral]", "papers spectral thm-3.7`")),
                               (["help", "Lemma", "2.13"], ("papers spectral lemma-2.13`",)),
                               (["ranks", "out.json"], ("is a result of ranklab", "recordings")),
                               (["ranks", "model.pt"], ("safetensors.torch.save_file",)),
                               (["plot", "folder"], ("is a folder", "folder/*.json", "plot $file"))):
            with self.subTest(words):
                self.refused(words, *needles)
        for words, needle in (("run fig03", "unknown preset 'fig03'; presets of fig03: lambda-skip-fig03, "),
                              ("run fig3", "presets of fig3: lambda-skip-fig03, lambda-skip-fig03-trained, shallow-fig03, spectral-fig03\n"),
                              ("run thm4.1", "presets of thm4.1: lambda-skip-thm4.1\n"),
                              (f"{RF} -steps 5", "unknown flag '-steps'; did you mean '--steps'?\n"),
                              ("--steps 20 random-features", f"'--steps': the command comes first: `{BINARY} random-features --steps 20`\n"),
                              ("--verison", "did you mean '--version'?\n"),
                              ("version", "unknown command 'version'; did you mean '--version'?\n"),
                              ("rank-collapse --lambda 1 2 3", "unexpected argument '2'; lists have commas: --lambda 1,2,3\n"),
                              ("rank-collapse --lambda -1 -2", "unexpected argument '-2'; lists have commas: --lambda -1,-2\n"),
                              ("run spectral-fig03 spectral-fig04",
                               f"run takes one preset; `{BINARY} reproduce spectral-fig03 spectral-fig04` runs several\n"),
                              ("plot out.json f.pdf", "plot takes one result file, not 'f.pdf'; the file to write is --out f.pdf\n"),
                              ("export out.json t.csv", "the file to write is --out t.csv\n"),
                              ("plot out.json --size 84mm", "unknown flag '--size'; did you mean '--width'?\n"),
                              ("ranks --data x.npy", f"unknown flag '--data'; the usage is `{BINARY} ranks PATH...`; --help lists the flags\n"),
                              ("reproduce --only x", f"unknown flag '--only'; the usage is `{BINARY} reproduce [PRESET...]`; --help lists the flags\n"),
                              (f"{TINY} --resume --force", "--resume and --force contradict each other")):
            with self.subTest(words):
                self.assertIn(needle, self.refused(words))
        for command in ("plot", "verify"):
            self.refused(f"{command} preset.json", "not a result file but a preset", "run NAME", exit_code=1)


class ThreadsTest(ProgramTest):
    def test_more_blas_threads_than_cores_are_named(self):
        cores = len(os.sched_getaffinity(0))
        run = f"{TINY.replace('--trials 3', '--trials 1')} --steps 2 -o x.json --force --threads"
        line = f"ranklab: --threads {cores} with --blas-threads 2 needs {2 * cores} cores, and {cores} {'is' if cores == 1 else 'are'} available; "
        self.assertIn(line, self.run_program(f"{run} {cores} --blas-threads 2").stderr)
        for words in (f"{cores} --blas-threads 2 -q", f"{4 * cores}", f"{cores}", *([f"{cores // 2} --blas-threads 2"] if cores > 1 else [])):
            self.assertNotIn("cores", self.run_program(f"{run} {words}").stderr)
        # The default number of threads leaves cores for the BLAS.
        if cores > 1:
            self.assertNotIn("cores", self.run_program(f"{TINY} --blas-threads 2 -o y.json").stderr)


class SummaryTest(ProgramTest):
    """The summary that a run prints on standard output, or with `--out -` on standard error. On a terminal it has color and the width of the terminal."""

    # Zero weights: the norm does not grow, and two trials are too few for the other claims.
    ARGUMENTS = ("rank-collapse --study layers --model pre-norm --layers 5 --tokens 6 --dim 8 --heads 1 --trials 2 --weight-scale 0 "
                 "--progress never --force")

    def summary_on_terminal(self, columns, **env):
        try:
            master, slave = pty.openpty()
        except OSError as error:  # in a container without pseudo-terminals
            self.skipTest(f"no terminal can be opened here: {error}")
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm", "LC_ALL": "C"} | env
        process = subprocess.Popen([BINARY] + self.ARGUMENTS.split(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=slave,
                                   stderr=subprocess.DEVNULL, env=environment)
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 65536):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        os.close(master)
        self.assertEqual(process.wait(), 0)
        return shown.decode().replace("\r\n", "\n")

    STANDINGS = ["fails", "slip", "not seen", "does not hold", "holds", "undecided", "not applicable"]

    def standing(self, claim):
        """The verdict as a reader sees it."""
        if claim["verdict"] == "not-applicable":
            return "undecided" if claim.get("undecided") else "not applicable"
        if claim["verdict"] == "holds":
            return "consistent" if claim["kind"] == "asymptotic" else "holds"
        if claim["kind"] == "beyond":
            return "does not hold"
        return "slip" if "slip" in claim else "fails" if claim["kind"] == "theorem" else "not seen"

    def test_claims_that_fail_come_first_and_verdicts_are_counted(self):
        run = self.run_program(self.ARGUMENTS + " -o -")
        verdicts = [self.standing(claim) for claim in loads(run.stdout)["claims"]]
        shown = re.findall(r"(?m)^  (fails|slip|not seen|does not hold|holds|consistent|undecided|not applicable) ", run.stderr)
        self.assertEqual(sorted(shown), sorted(verdicts))
        self.assertIn("undecided", verdicts)  # two trials are too few for a mean
        self.assertEqual(shown, sorted(shown, key=lambda word: self.STANDINGS.index(word.replace("consistent", "holds"))))
        not_seen = verdicts.count("not seen")
        self.assertGreater(not_seen, 0)
        self.assertIn(f"{not_seen} not seen", run.stderr)
        self.assertNotIn("\x1b", run.stderr)

    def test_it_is_on_standard_output_unless_the_result_is(self):
        without_time = lambda text: re.sub(r"in [\d.]+ s,", "", text)
        with_result = self.run_program(self.ARGUMENTS + " -o -")
        run = self.run_program(self.ARGUMENTS + " -o out.json")
        self.assertEqual((without_time(run.stdout), run.stderr), (without_time(with_result.stderr), "out.json\n"))
        for out in ("/dev/stdout", "-"):
            with open(self.path("piped.json"), "wb") as file:
                subprocess.run(f"{BINARY} {self.ARGUMENTS} -o {out} | cat", shell=True, cwd=self.folder, stdout=file, stderr=subprocess.DEVNULL, check=True)
            self.assertEqual(loads(self.read("piped.json"))["claims"], loads(with_result.stdout)["claims"])
        self.assertEqual(without_time(self.run_program(self.ARGUMENTS + " -o /dev/null").stdout), without_time(run.stdout))
        self.assertEqual(self.run_program(self.ARGUMENTS + " -q -o out.json").stdout, "")

    def test_a_terminal_in_utf_8_shows_symbols(self):
        plain, symbols = (self.summary_on_terminal(100, LC_ALL=locale) for locale in ("C", "C.UTF-8"))
        self.assertTrue(plain.isascii())
        self.assertRegex(symbols, "[\u00b1\u03bc\u03bb\u2264\u2265\u2212]")

    def test_a_terminal_shows_color_unless_turned_off(self):
        self.assertIn("  \x1b[33mnot seen\x1b[0m", self.summary_on_terminal(100))
        self.assertNotIn("\x1b", self.summary_on_terminal(100, NO_COLOR="1"))
        self.assertNotIn("\x1b", self.summary_on_terminal(100, TERM="dumb"))

    def test_lines_fit_the_terminal_and_details_are_complete(self):
        details = [claim["detail"] for claim in loads(self.run_program(self.ARGUMENTS + " -o -").stdout)["claims"]]
        for columns in (72, 100):
            shown = self.summary_on_terminal(columns, NO_COLOR="1")
            self.assertLessEqual(max(map(len, shown.splitlines())), columns)
            self.assertGreater(max(map(len, shown.splitlines())), columns - 12)  # a line is filled up to a long word
            for detail in details:
                self.assertIn(detail, " ".join(shown.split()))


if __name__ == "__main__":
    unittest.main()
