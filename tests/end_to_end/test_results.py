"""Results of runs: equal numbers for any number of threads, replay, precedence of settings, output paths, exit codes, divergence."""
import json
import math
import os
import unittest

from program import ROOT, TINY, TINY_STABLE_RANK, ProgramTest, loads, reproducible


class SeedsTest(ProgramTest):
    def test_the_results_that_make_fuzz_starts_from_are_valid(self):
        """From a file of an older form, it finds nothing beyond the first check."""
        folder = os.path.join(ROOT, "tests", "fuzz", "seeds", "result")
        for name in os.listdir(folder):
            self.run_program(["plot", os.path.join(folder, name), "--out", f"{name}.svg", "--quiet"])


class DeterminismTest(ProgramTest):
    def test_numbers_do_not_depend_on_threads_or_progress(self):
        for arguments in (TINY, TINY_STABLE_RANK):
            one = self.result_text(f"{arguments} --threads 1")
            for threads in (2, 3, 7):
                self.assertEqual(reproducible(one), reproducible(self.result_text(f"{arguments} --threads {threads}")))
            shown = self.run_program(f"{arguments} --progress always --out -")
            self.assertEqual(reproducible(one), reproducible(shown.stdout))
            self.assertIn("\x1b[K[", shown.stderr)

    def test_one_trial_does_not_depend_on_threads(self):
        one = self.result_text(f"{TINY} --trials 1 --threads 1")
        self.assertEqual(reproducible(one), reproducible(self.result_text(f"{TINY} --trials 1 --threads 4")))

    def test_the_seed_changes_results_and_fewer_trials_are_the_first_ones(self):
        first, second = self.result(TINY), self.result(f"{TINY} --seed 2")
        self.assertNotEqual(first["scalars"], second["scalars"])
        few = self.result(f"{TINY} --trials 2")
        for name, values in few["trial_values"].items():
            self.assertEqual(values, first["trial_values"][name][:2])

    def test_another_activation_draws_the_same_matrices(self):
        both = self.result(f"{TINY_STABLE_RANK} --activation relu,abs")
        alone = self.result(f"{TINY_STABLE_RANK} --activation abs")
        self.assertEqual(both["trial_values"]["abs.stable_rank"], alone["trial_values"]["abs.stable_rank"])


class DegenerateTest(ProgramTest):
    """Runs in which a statement says nothing, or the numbers are equal up to rounding."""

    def check(self, arguments, expected):
        """expected: id -> (verdict, a part of the detail, or the number of violations)"""
        claims = {claim["id"]: claim for claim in self.result(arguments.split())["claims"]}
        for name, (verdict, words) in expected.items():
            self.assertEqual(claims[name]["verdict"], verdict, claims[name])
            if isinstance(words, int):
                self.assertEqual(claims[name]["evidence"]["violations"], words)
            else:
                self.assertIn(words, claims[name]["detail"])

    def test_another_step_than_that_of_the_statement(self):
        none = "not-applicable", "no case to judge"
        self.check("random-features --m 12 --k 12 --d 6 --n 40 --steps 20 --trials 3 --polar-rtol 0.5",
                   {"spectral/eq-1.4/guarantee-specgd": none, "spectral/eq-1.5/two-sided": none})

    def test_restarts_without_a_step(self):
        self.check("random-features --m 20 --k 20 --d 10 --n 80 --steps 8 --restart-every 0 --trials 6",
                   {"spectral/fig-3/restarts-ahead": ("not-applicable", "no case to judge")})

    def test_matrices_of_rank_one(self):
        self.check("random-features --m 4 --k 5 --d 3 --n 1 --steps 10 --trials 5 --seed 9",
                   {"spectral/eq-1.5/specgd": ("holds", 0)})

    def test_sizes_far_below_the_hypothesis(self):
        unmet = "not-applicable", "the statement needs d >= C delta^-2 log n"
        self.check("one-step-compare --study transformer-init --layers 2 --d 4 --n 64 --trials 3 --delta 0.01",
                   {"spectral/prop-2.14/i": unmet, "spectral/eq-2.17/attention": unmet, "spectral/eq-E.7/column-norms": unmet})
        self.check("teacher-student --study multi-spike --d 16,32,64 --spikes 2 --trials 3 --spike-low 0.5 --spike-high 1.5",
                   {"spectral/eq-3.23": ("not-applicable", "Assumption H requires u <= 1")})

    def test_a_singular_problem_of_features(self):
        shown = self.result("teacher-student --study features --k 4,8 --d 1 --n 20 --trials 4 --wide-d 2".split())
        self.assertEqual(shown["trial_values"]["k4.decay"], [None] * 4)

    def test_tokens_that_are_almost_equal(self):
        cone = "--tokens 8 --dim 4 --lambda 5 --a 0.5 --trials 5 --input cone --cone-width 0.01"
        equal = "not-applicable", "almost equal"
        self.check(f"rank-collapse --study bounds --model lti-ssm --layers 2 {cone}",
                   {f"lambda-skip/thm-A.{i}/{what}": equal for i in (7, 8) for what in ("norm", "normalised")})
        self.check(f"rank-collapse --study bounds --model attention --layers 6 {cone}",
                   {"lambda-skip/section-A.13.1/attention": ("not-applicable", "tokens that do not differ much")})

    def test_constant_and_undefined_curves(self):
        self.check("rank-collapse --study layers --model pre-norm --layers 5 --tokens 6 --dim 8 --heads 1 --trials 4 --weight-scale 0",
                   {"shallow/fig-4-norm-grows": ("fails", 5)})
        self.check("rank-collapse --study layers --model bert --layers 2 --tokens 3 --dim 2 --heads 1 --trials 3 --dropout 0.9 --seed 4",
                   {"shallow/fig-1-same-curve/bert/dropout": ("not-applicable", "no finite value")})

    def test_limits_far_from_the_limit(self):
        self.check("rank-collapse --study escalation-lemmas --tokens 8 --dim 4 --t 1 --alpha 1,2 --trials 10",
                   {"shallow/rem-2.8/maximum": ("not-applicable", "not near 0"), "shallow/rem-2.8/rate": ("not-applicable", "not near 0")})

    def test_few_values_of_lambda(self):
        sweep = "rank-collapse --study lambda-sweep --refine 0 --layers 3 --tokens 6 --dim 8 --trials 3 --lambda"
        self.check(f"{sweep} 0,5", {"lambda-skip/fig-2/attention/flat-at-large-lambda": ("not-applicable", "no finite value")})
        self.check(f"{sweep} 0,0.5", {"lambda-skip/fig-2/attention/dip-at-0": ("not-applicable", "no abs(lambda) of at least 1")})

    def test_training_that_ends_without_a_gradient(self):
        tiny = "one-step-compare --study curvature --layers 2 --d 2 --width 3 --classes 2 --n 4 --steps 3 --trials 3"
        for optimizer, steps in ("sgd", "0,3"), ("adam", "3"):
            document = self.result(f"{tiny} --lr 1000 --optimizer {optimizer} --measure-steps {steps}".split())
            self.assertEqual(document["status"], "complete")
        self.assertEqual(self.result(tiny.split())["config"]["measure-steps"], [0])  # the default ones up to --steps
        self.refused(f"{tiny} --measure-steps 4", "--measure-steps", "4 is beyond the last step")


SPIKED = [f"{command} --study {study}" for command in ("spiked-model", "teacher-student")
          for study in ("gradient-rank --k 8,12,16 --steps 12 --sample-steps 0,1,2,12 --trials 2", "features --k 8,16 --trials 2",
                        "multi-spike --d 16,20 --trials 2")]


class SpikedModelTest(ProgramTest):
    def test_results_do_not_depend_on_threads_and_replay_exactly(self):
        for arguments in SPIKED:
            with self.subTest(arguments):
                one = self.result_text(f"{arguments} --threads 1", name="one.json")
                self.assertEqual(reproducible(one), reproducible(self.result_text(f"{arguments} --threads 3")))
                command = arguments.split()[0]
                self.assertEqual(reproducible(one), reproducible(self.result_text(f"{command} --config one.json")))

    def test_sample_steps_are_numbers_in_the_config(self):
        self.assertEqual(self.result(SPIKED[0])["config"]["sample-steps"], [0, 1, 2, 12])
        every = self.result("spiked-model --k 8,12,16 --steps 5 --trials 2")
        self.assertEqual(every["config"]["sample-steps"], ["all"])
        series = next(s for s in every["series"] if s["name"] == "k8.nuclear_rank")
        self.assertEqual(series["x"], [0, 1, 2, 3, 4, 5])

    def test_the_numbers_of_a_size_do_not_depend_on_other_sizes(self):
        few = self.result("spiked-model --k 8 --steps 3 --trials 2")["trial_values"]
        many = self.result("spiked-model --k 8,12,16 --steps 3 --trials 2")["trial_values"]
        self.assertEqual(few["k8.nuclear_rank_1"], many["k8.nuclear_rank_1"])

    def test_a_single_dimension_gives_scalars_without_a_prefix(self):
        for command in ("spiked-model", "teacher-student"):
            scalars = self.result(f"{command} --study multi-spike --d 24 --trials 2")["scalars"]
            self.assertIn("burn_in", scalars)
            self.assertIn("window_end", scalars)

    def test_bad_input(self):
        self.refused("spiked-model --k 1", "--k", "'1'")
        self.refused("spiked-model --k 8,8", "--k", "twice")
        self.refused("spiked-model --sample-steps 0,9999", "--sample-steps", "9999")
        self.refused("spiked-model --sample-steps all,1", "--sample-steps")
        self.refused("spiked-model --study multi-spike --d 1", "--d")
        self.refused("teacher-student --study features --d 4 --steps 3", "--steps", "gradient-rank")


class ReplayTest(ProgramTest):
    def test_an_earlier_result_replays(self):
        for arguments in (TINY, TINY_STABLE_RANK):
            first = self.result_text(arguments, name="first.json")
            again = self.result_text("random-features --config first.json", name="again.json")
            self.assertEqual(reproducible(first), reproducible(again))
            self.assertEqual(loads(first)["title"], loads(again)["title"])

    def test_flags_override_the_config_file_which_overrides_the_preset(self):
        self.write("mine.json", {"command": "random-features", "title": "Mine", "config": {"study": "trajectory", "steps": 7, "trials": 2, "m": 9}})
        plan = loads(self.run_program("random-features --preset spectral-fig11 --config mine.json --m 5 --dry-run").stdout)["config"]
        self.assertEqual((plan["m"], plan["steps"], plan["trials"], plan["activation"], plan["polar-rtol"]), (5, 7, 2, "swiglu", 0.0))
        self.assertEqual(plan["preset"], "spectral-fig11")

    def test_a_preset_gives_title_source_and_output_path(self):
        self.run_program("random-features --preset spectral-fig11 --trials 1 --steps 5 --quiet")
        document = loads(self.read("results/spectral-fig11.json"))
        self.check_schema(document)
        self.assertEqual((document["preset"], document["source"]["figure"]), ("spectral-fig11", "Figure 11"))
        with open(os.path.join(ROOT, "experiments", "spectral-fig11.json"), encoding="utf-8") as file:
            self.assertEqual(document["title"], json.load(file)["title"])


class PlaceTest(ProgramTest):
    def test_a_run_writes_only_the_default_output_file(self):
        run = self.run_program(f"{TINY} --quiet")
        self.assertEqual((run.stdout, run.stderr), ("", ""))
        left = [os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names]
        self.assertEqual(left, [self.path("results/random-features-trajectory.json")])

    def test_output_to_standard_output_and_special_files(self):
        run = self.run_program(f"{TINY} --out -")
        self.check_schema(loads(run.stdout))
        self.run_program(f"{TINY} --out /dev/null")
        self.assertEqual(os.listdir(self.folder), [])
        self.assertTrue(os.path.exists("/dev/null"))

    def test_dry_run_writes_nothing(self):
        plan = loads(self.run_program(f"{TINY} --steps 37 --dry-run --out a/b.json").stdout)
        self.assertEqual((plan["config"]["steps"], plan["out"]), (37, "a/b.json"))
        self.assertGreater(plan["estimate"]["memory_bytes"], 0)
        self.assertEqual(os.listdir(self.folder), [])

    def test_missing_folders_are_created(self):
        self.run_program(f"{TINY} --quiet --out a/b/c.json")
        self.check_schema(loads(self.read("a/b/c.json")))

    def test_no_progress_bar_if_standard_error_is_not_a_terminal(self):
        run = self.run_program(f"{TINY} --out -")
        self.assertNotIn("\r", run.stderr)
        self.assertNotIn("\x1b", run.stderr)
        self.assertIn("spectral/eq-1.5/gd", run.stderr)

    def test_a_full_disk_is_an_error(self):
        run = self.run_program(f"{TINY} --out /dev/full", exit_code=1)
        self.assertIn("/dev/full", run.stderr)


class VerdictTest(ProgramTest):
    def test_strict_exits_with_3_if_a_claim_fails(self):
        # SwiGLU violates eq. (1.5) at this size too, as in Figure 11.
        arguments = "rank-collapse --study examples --system sys1 --layers 40"
        document = self.result(arguments)
        self.assertIn("fails", [claim["verdict"] for claim in document["claims"]])
        self.result(f"{arguments} --strict", exit_code=3)
        holding = self.result(f"{TINY} --strict", exit_code=0)
        self.assertNotIn("fails", [claim["verdict"] for claim in holding["claims"]])

    def test_one_trial_leaves_claims_about_means_undecided(self):
        document = self.result(f"{TINY} --trials 1")
        claim = next(c for c in document["claims"] if c["id"] == "spectral/fig-3/specgd-ahead")
        self.assertEqual(claim["verdict"], "not-applicable")
        self.assertTrue(claim["undecided"])
        self.assertIn("at least 3 independent units are needed", claim["detail"])

    def test_divergence_is_reported_and_counted(self):
        document = self.result(f"{TINY} --step-scale 3 --steps 600 --restart-every 0")
        self.assertEqual(document["status"], "diverged")
        gap = next(s for s in document["series"] if s["name"] == "gd.objective_gap")["mean"]
        self.assertEqual(len(gap), 601)
        self.assertIsNotNone(gap[300])
        self.assertIsNone(gap[600])
        self.assertTrue(all(v >= 1 for v in document["trial_values"]["diverged_trajectories"]))
        self.assertGreater(document["non_finite"], 0)
        self.run_program("plot out.json --quiet")

    def test_the_page_names_the_methods_that_diverged(self):
        """With a hundred times their steps, GD, SpecGD and its restart multiply the loss by at least 10^3 in each iteration."""
        run = "random-features --m 12 --k 10 --d 5 --n 30 --trials 2 --step-scale 100 --steps 400"
        document = self.result(run)
        named = {each["method"]: each["trials"] for each in document["diverged"]}
        self.assertEqual({"gd": 2, "specgd": 2}, {method: named[method] for method in ("gd", "specgd")})
        self.assertLessEqual(set(named), {"gd", "specgd", "specgd_from_peak"})  # GD ends before 100
        self.run_program("report out.json --quiet --out page.html")
        self.assertIn("<code>gd</code> in 2 of 2, <code>specgd</code> in 2 of 2", self.read("page.html"))
        self.assertNotIn("diverged", self.result(run.replace("100", "1")))
        # The key is optional: a result without it says less.
        del document["diverged"]
        self.write("older.json", document)
        self.run_program("report older.json --quiet --out page.html")
        self.assertIn("Some trials reached values that are not finite", self.read("page.html"))

    def test_the_picture_of_the_gap_has_the_mean_of_its_logarithm(self):
        for flags in ("--m 12 --k 10 --d 5 --n 30 --steps 20", "--m 2 --k 1 --d 1 --n 3 --steps 50"):  # the second reaches a gap of 0
            series = {s["name"]: s for s in self.result(f"random-features {flags} --restart-every 0 --trials 3 --keep-trials")["series"]}
            for run in ("gd", "specgd"):
                for gaps, mean in zip(zip(*series[f"{run}.objective_gap"]["trials"]), series[f"{run}.log10_gap"]["mean"]):
                    logs = [math.log10(gap) for gap in gaps if gap > 0]
                    if logs:
                        self.assertAlmostEqual(mean, sum(logs) / len(logs), delta=1e-9 * max(1, abs(mean)))
                    else:
                        self.assertIsNone(mean)

    def test_a_zero_feature_matrix_is_undefined_not_a_crash(self):
        # A single ReLU feature of a single sample is zero in about half of the trials.
        document = self.result("random-features --m 1 --k 1 --d 1 --n 1 --steps 3 --restart-every 0 --trials 16")
        values = document["trial_values"]["stable_rank_A"]
        self.assertIn(None, values)
        self.assertIn(1, [v for v in values if v is not None])
        self.assertGreater(document["non_finite"], 0)


if __name__ == "__main__":
    unittest.main()
