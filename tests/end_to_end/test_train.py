"""rank-collapse --study train: names of curves, data sets, output files that other studies read, bad input."""
import gzip
import os
import random
import statistics
import struct
import unittest

from program import ProgramTest, reproducible

_SMALL = "rank-collapse --study train --steps 10 --batch 4 --dim 16"
TINY = _SMALL + " --trials 2"
TEXT = _SMALL + " --trials 1 --task text --vocab char --length 8 --model attention,mamba2 --heads 2 --norm layer,mamba2:rms --ffn 32,mamba2:0"


def idx(*sizes, content):
    return gzip.compress(struct.pack(f">I{len(sizes)}I", 0x800 + len(sizes), *sizes) + bytes(content))


class TrainTest(ProgramTest):
    def write_images(self, folder="images", count=40):
        """Writes 8 x 8 images whose class is given by which half is bright."""
        draw = random.Random(1)
        os.makedirs(self.path(folder), exist_ok=True)
        for part in ("train", "t10k"):
            labels = [i % 2 for i in range(count)]
            pixels = [draw.randrange(128) + (127 if (column < 4) == (label == 0) else 0)
                      for label in labels for row in range(8) for column in range(8)]
            self.write(f"{folder}/{part}-images-idx3-ubyte.gz", idx(count, 8, 8, content=pixels))
            self.write(f"{folder}/{part}-labels-idx1-ubyte.gz", idx(count, content=labels))
        return folder

    def test_names_of_curves_list_the_settings_that_vary_or_were_given(self):
        def curves(flags):
            return [name[:-len(".final_accuracy")] for name in self.result(TINY + flags)["scalars"] if name.endswith(".final_accuracy")]

        self.assertEqual(curves(""), ["attention"])
        self.assertEqual(curves(" --lambda -1 --variant post --layers 3"), ["attention,lambda=-1,post,L=3"])
        self.assertEqual(curves(" --model mamba2,attention --lambda 1,learned"),
                         ["mamba2,lambda=1", "mamba2,lambda=learned", "attention,lambda=1", "attention,lambda=learned"])
        names = [series["name"] for series in self.result(TINY + " --lambda learned")["series"]]
        for what in ("train_loss", "accuracy", "start.mu_normalized", "end.mu_normalized", "start.token_similarity",
                     "end.token_similarity", "start.gradient_norm", "eighth.gradient_norm", "end.gradient_norm"):
            self.assertIn("attention,lambda=learned." + what, names)
        self.assertIn("attention,lambda=learned.learned_lambda.2", self.result(TINY + " --lambda learned")["scalars"])

    def test_a_replayed_config_gives_the_same_result(self):
        arguments = TINY + " --model attention,mamba2 --lambda -0.5,learned --steps 8,mamba2:6 --lr 0.003,mamba2:0.01"
        first = self.result_text(arguments, name="first.json")
        self.assertEqual(reproducible(first), reproducible(self.result_text("rank-collapse --study train --config first.json")))
        self.assertEqual(self.result(arguments)["config"]["lambda"], [-0.5, "learned"])

    def test_training_learns_images(self):
        folder = self.write_images()
        result = self.result(f"rank-collapse --study train --task pixels --idx {folder} --pool 2 --train-size 40 --test-size 40 --dim 16 "
                             "--steps 60 --lr 0.01 --trials 3 --lambda 0,1")
        self.assertEqual(result["scalars"]["attention,lambda=1.final_accuracy"]["mean"], 1.0)
        self.assertTrue(any("4 x 4 pixels" in note for note in result["notes"]), result["notes"])

    def test_digits_and_cifar_files_are_read(self):
        rows = "".join(",".join(str((i * j + i) % 17) for j in range(64)) + f",{i % 10}\n" for i in range(50))
        self.write("digits.csv.gz", gzip.compress(rows.encode()))
        notes = self.result(TINY + " --task pixels --digits digits.csv.gz --pool 2")["notes"]
        self.assertTrue(any("40 training images, 10 held-out images" in note for note in notes), notes)
        os.mkdir(self.path("batches"))
        for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
            self.write(f"batches/{name}.bin", b"".join(bytes([i % 10]) + bytes((i + j) % 256 for j in range(3072)) for i in range(6)))
        notes = self.result(TINY + " --task pixels --cifar batches --train-size 30 --test-size 6")["notes"]
        self.assertTrue(any("8 x 8 pixels" in note for note in notes), notes)

    def test_saved_weights_can_be_read_as_published_weights(self):
        """The independent forward passes of training and of published models agree on the same windows of text."""
        trained = self.result(TEXT + " --save kept/model.safetensors", name="trained.json")
        self.write("windows.txt", "".join(self.read("kept/model.tokens.txt").splitlines(keepends=True)[:4]))
        page = self.run_program("report trained.json kept/model.mamba2.config.json --out page.html")
        self.assertIn("skipped 1 file: the config of saved weights is not a result", page.stderr)
        self.refused("report kept/model.mamba2.config.json", "one or more result files")
        depth = self.result("rank-collapse --weights kept/model.mamba2.safetensors --also kept/model.attention.safetensors "
                            "--tokens-file windows.txt --lambda 1", name="depth.json")
        expected, found = ({s["name"]: s["mean"] for s in document["series"]} for document in (trained, depth))
        for curve, model in (("mamba2", ""), ("attention", "gpt2.")):
            for measure in ("mu_normalized", "token_similarity"):
                for a, b in zip(expected[f"{curve}.end.{measure}"], found[f"{model}lambda=1.{measure}"], strict=True):
                    self.assertLess(abs(a - b), 1e-12)
        sweep = self.result("rank-collapse --study lambda-sweep --weights kept/model.mamba2.safetensors --also kept/model.attention.safetensors "
                            "--tokens-file windows.txt --lambda -1,1", name="sweep.json")
        self.assertTrue(any(claim["id"] == "lambda-skip/fig-2/gpt2/dip-at-0" or "gpt2" in claim["id"] for claim in sweep["claims"]))

    def test_several_trainings_of_a_model_are_the_trials(self):
        """Each trial is one training; its value is the mean over the sequences that its weights give alone."""
        self.result(TEXT + " --trials 3 --save kept/model.safetensors", name="trained.json")
        files = {model: [f"kept/model.{model}{number}.safetensors" for number in ("", ".2", ".3")] for model in ("mamba2", "attention")}
        for study, values in (("layers", "--lambda 0,1"), ("lambda-sweep", "--lambda -1,0,1")):
            run = f"rank-collapse --study {study} --tokens-file kept/model.tokens.txt {values}"
            also = ",".join(files["mamba2"][1:] + files["attention"])
            joint = self.result(f"{run} --weights {files['mamba2'][0]} --also {also}", name="joint.json")
            self.assertEqual(joint["trials"]["completed"], 3)
            self.assertEqual({claim["unit"] for claim in joint["claims"]}, {"training"})
            alone = [self.result(f"{run} --weights {a} --also {b}", name="alone.json") for a, b in zip(*files.values())]
            for index, series in enumerate(joint["series"]):
                for point, (mean, std) in enumerate(zip(series["mean"], series["std"])):
                    values_alone = [result["series"][index]["mean"][point] for result in alone]
                    self.assertAlmostEqual(mean, statistics.mean(values_alone), delta=1e-12)
                    self.assertAlmostEqual(std, statistics.stdev(values_alone), delta=1e-12)
        self.refused(f"{run} --weights {files['mamba2'][0]} --also {files['mamba2'][1]},{files['attention'][0]}", "--also", "the same number for every model")

    def test_the_gate_is_removed_from_several_trainings(self):
        """A trial of `ablation` is one training too. The effect of the gate is the difference of two curves at the last layer."""
        self.result(TEXT + " --trials 3 --save kept/model.safetensors", name="trained.json")
        files = [f"kept/model.mamba2{number}.safetensors" for number in ("", ".2", ".3")]
        run = "rank-collapse --study ablation --tokens-file kept/model.tokens.txt"
        joint = self.result(f"{run} --weights {files[0]} --also {files[1]},{files[2]}", name="joint.json")
        self.assertEqual(joint["trials"]["completed"], 3)
        self.assertEqual({claim["unit"] for claim in joint["claims"]}, {"training"})
        alone = [self.result(f"{run} --weights {file}", name="alone.json") for file in files]
        last = {}
        for index, series in enumerate(joint["series"]):
            per_training = [result["series"][index]["mean"] for result in alone]
            last[series["name"]] = [mean[-1] for mean in per_training]
            for point, (mean, std) in enumerate(zip(series["mean"], series["std"])):
                self.assertAlmostEqual(mean, statistics.mean(values[point] for values in per_training), delta=1e-12)
                self.assertAlmostEqual(std, statistics.stdev(values[point] for values in per_training), delta=1e-12)
        claims = {claim["id"].split("/")[2]: claim for claim in joint["claims"]}
        gains = [a - b for a, b in zip(last["gating=on,norm=on.mu_normalized"], last["gating=off,norm=on.mu_normalized"])]
        self.assertAlmostEqual(claims["gate-raises-mu"]["measured"], statistics.mean(gains), delta=1e-12)
        for statement in ("no-gate-with-norm-collapses", "no-gate-no-norm-rises", "no-norm-unstable"):
            self.assertEqual(claims[statement]["verdict"], "not-applicable")
            self.assertIn("hypothesis not met: 4 layers; the model of the figure has 64", claims[statement]["detail"])
        self.refused(f"{run} --weights {files[0]} --also kept/model.attention.safetensors", "--also", "further trainings of mamba2")
        self.refused(f"{run} --weights {files[0]} --also attention:2", "--also", "attention:2")
        self.refused(f"rank-collapse --study ablation --also {files[0]}", "--also", files[0], "weights files of further trainings")

    def test_a_preset_without_its_trained_weights_names_the_missing_files(self):
        self.refused("run lambda-skip-fig01-trained --out out.json", "results/lambda-skip-trained/model.", "ranklab run lambda-skip-trained`",
                     exit_code=1)

    def test_reproduce_first_runs_the_preset_that_another_one_reads(self):
        os.mkdir(self.path("experiments"))
        train = {"study": "train", "task": "text", "vocab": "char", "length": 8, "dim": 16, "batch": 4, "steps": [3], "norm": ["rms"], "ffn": [0],
                 "model": ["mamba2"], "trials": 1, "save": "results/kept.safetensors"}
        read = {"study": "layers", "weights": "results/kept.safetensors", "model-config": "results/kept.config.json",
                "tokens-file": "results/kept.tokens.txt", "lambda": [0, 1]}
        for name, extra in (("a-reads", {"seconds": 1, "after": "b-writes", "config": read}), ("b-writes", {"seconds": 2, "config": train})):
            self.write(f"experiments/{name}.json", {"command": "rank-collapse", "title": name, **extra})
        run = self.run_program("reproduce a-reads")
        self.assertNotIn("failed", run.stderr)
        self.assertLess(run.stderr.index("] b-writes"), run.stderr.index("] a-reads"))
        self.assertEqual(sorted(name for name in os.listdir(self.path("results")) if name.endswith("s.json")), ["a-reads.json", "b-writes.json"])

    def test_every_variant_has_its_curves_and_series(self):
        folder = self.write_images()
        flags = (f" --task patches --idx {folder} --patch 4 --train-size 40 --test-size 40 --heads 2 --layers 2 --variant post,de-escalated "
                 "--lr-post 0.002,0.001 --warmup-post 0,2")
        first = self.result_text(TINY + flags, name="first.json")
        result = self.result("rank-collapse --study train --config first.json")
        self.assertEqual(reproducible(first), reproducible(self.result_text("rank-collapse --study train --config first.json")))
        curves = [name[:-len(".final_accuracy")] for name in result["scalars"] if name.endswith(".final_accuracy")]
        self.assertEqual(curves, [f"attention,post,L=2,lr={lr},warmup={steps}" for lr in ("0.002", "0.001") for steps in (0, 2)] +
                         ["attention,de-escalated,L=2"])
        names = {series["name"] for series in result["series"]}
        for moment in ("start", "eighth", "half", "end"):
            for what in ("token_similarity", "cosine_similarity", "rms", "branch_ratio", "gradient_norm"):
                self.assertIn(f"attention,de-escalated,L=2.{moment}.{what}", names)
        self.assertIn("attention,de-escalated,L=2.test_loss", names)
        self.assertTrue(any("patches of 4 x 4" in note for note in result["notes"]), result["notes"])

    def test_a_mean_over_the_segment_leaks_later_tokens(self):
        result = self.result(_SMALL + " --steps 40 --lr 0.01 --trials 1 --task text --length 16 --heads 2 --layers 2 --variant pre,de-escalated "
                             "--mean segment,strict,prefix")
        for curve in ("attention,pre,L=2", "attention,de-escalated,L=2,mean=strict", "attention,de-escalated,L=2,mean=prefix"):
            for what in ("future_excess", "future_gradient_share"):
                self.assertEqual(result["scalars"][f"{curve}.{what}"]["mean"], 0.0, curve + what)
        self.assertGreater(result["scalars"]["attention,de-escalated,L=2,mean=segment.future_gradient_share"]["mean"], 0.01)

    def test_patches_of_cifar_have_colors(self):
        os.mkdir(self.path("batches"))
        for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
            # The classes differ in color only: both have the same gray value.
            self.write(f"batches/{name}.bin", b"".join(bytes([i % 2]) + bytes([200 if i % 2 else 0]) * 1024 + bytes([0 if i % 2 else 102]) * 1024 +
                                                       bytes(1024) for i in range(20)))
        result = self.result("rank-collapse --study train --task patches --cifar batches --train-size 100 --test-size 20 --patch 8 --dim 16 "
                             "--layers 2 --batch 10 --steps 60 --lr 0.01 --trials 1")
        self.assertEqual(result["scalars"]["attention,L=2.final_accuracy"]["mean"], 1.0)

    def test_all_studies_refuse_a_lambda_that_is_given_twice_in_the_same_words(self):
        lines = {self.run_program(f"rank-collapse --study {study} --lambda 0.1,1e-1", exit_code=2).stderr
                 for study in ("layers", "lambda-sweep", "train")}
        self.assertEqual(lines, {"ranklab: --lambda: '1e-1' is given twice\n"})

    def test_bad_input_is_refused_in_one_line(self):
        self.write_images()
        self.write("images/train-images-idx3-ubyte.gz", b"no images")
        for flags, needles in (
                ("--lambda one", ("--lambda", "one", "learned")),
                ("--lambda 1,1.0", ("--lambda: '1.0' is given twice",)),
                ("--lambda learned:0.5,learned:5e-1", ("--lambda: 'learned:5e-1' is given twice",)),
                ("--lambda learned,learned:1e-1 --lambda-rate 0.1", ("--lambda: 'learned:1e-1' is given twice",)),
                ("--lambda learner", ("--lambda: 'learner' is not allowed",)),
                ("--lambda 0.1234567,0.12345671", ("--lambda", "six digits")),
                ("--task text --vocab char --variant de-escalated --removal ffn:0.5,ffn:5e-1", ("--removal: 'ffn:5e-1' is given twice",)),
                ("--pairs 9", ("--pairs", "9")),
                ("--vocab 20", ("--vocab",)),
                ("--vocab many", ("--vocab", "many")),
                ("--length 31", ("--length",)),
                ("--task pixels --length 64", ("--length", "pixels")),
                ("--task pixels --pool 3", ("--pool",)),
                ("--task pixels --pool 64", ("--pool 64", "divisors")),
                ("--heads 3", ("--heads", "3", "--dim 16")),
                ("--model mamba2 --dim 24", ("--dim", "24", "mamba2")),
                ("--model gru", ("--model", "gru", "mamba2")),
                ("--steps 100,200", ("--steps", "100", "200")),
                ("--steps mamba2:100", ("--steps", "attention")),
                ("--steps gru:100", ("--steps", "gru")),
                ("--lr -1", ("--lr", "-1")),
                ("--norm batch", ("--norm", "batch")),
                ("--warmup 20", ("--warmup", "20", "--steps 10")),
                ("--task patches --length 64", ("--length", "patches")),
                ("--task pixels --patch 7", ("--patch", "pixels", "patches")),
                ("--task patches --patch 5", ("--patch 5", "28 x 28")),
                ("--task patches --positions relative", ("--positions", "patches")),
                ("--task text --positions relative --dim 17 --heads 1", ("--dim", "17", "even")),
                ("--task patches --model mamba2 --readout class", ("--readout", "mamba2", "mean")),
                ("--task patches --model mamba1 --readout class", ("--readout", "mamba1", "mean")),
                ("--readout class", ("--readout", "--task pixels or patches")),
                ("--task patches --readout mean --variant de-escalated --at end", ("--tau", "zero", "below 1")),
                ("--variant de-escalated --at branch --ffn 0", ("--at", "--ffn 0", "end|ffn")),
                ("--variant middle", ("--variant", "middle", "de-escalated")),
                ("--variant post --lr-post 0", ("--lr-post", "0")),
                ("--mean all", ("--mean", "all", "strict")),
                ("--task pixels --idx a --cifar b", ("--idx", "--cifar"))):
            with self.subTest(flags):
                self.refused(f"{TINY} {flags} --out out.json", *needles)
        self.refused(f"{TINY} --task pixels --idx images --out out.json", "train-images-idx3-ubyte.gz", exit_code=1)
        self.refused(f"{TINY} --task pixels --idx none --out out.json", "none", exit_code=1)
        self.refused(f"{TINY} --task pixels --digits none.csv.gz --out out.json", "none.csv.gz", exit_code=1)
        self.refused(f"{TINY} --task text --text none.txt --out out.json", "none.txt", exit_code=1)
        self.refused(f"{TINY} --save /proc/none/w.safetensors --out out.json", "/proc/none", exit_code=1)

    def test_a_run_that_needs_too_much_memory_is_refused(self):
        self.refused(f"{TINY} --dim 30000 --layers 900 --out out.json", "--dim 30000", "memory")


if __name__ == "__main__":
    unittest.main()
