"""A value that nobody typed fits the values that the user typed; a typed one is refused, and so is a file that contradicts itself."""
import gzip
import json
import os
import random
import struct
import unittest

from program import ROOT, ProgramTest, loads

TRAIN = "rank-collapse --study train"
GPT = "one-step-compare --study gpt"


class FittingDefaultsTest(ProgramTest):
    def config(self, arguments):
        return loads(self.run_program(f"{arguments} --dry-run").stdout)["config"]

    def test_defaults_fit_what_is_typed(self):
        for arguments, key, value in (
                (f"{TRAIN} --task patches --dim 30", "heads", 3),          # the default 4 does not divide 30
                (f"{TRAIN} --task patches --model mamba2", "readout", "mean"),
                (f"{TRAIN} --task pixels --variant de-escalated", "at", "ffn"),
                (f"{TRAIN} --length 8", "pairs", 2),                       # a quarter of the tokens
                (f"{TRAIN} --length 64", "vocab", "128"),                  # above the tokens
                (f"{GPT} --dim 36", "heads", 3),                           # heads of even width
                ("random-features --study stable-rank --d 2", "rank", 2),
                ("one-step-compare --study regression --k-high 1", "k-low", 1),
                ("one-step-compare --study curvature --steps 4", "measure-steps", [0, 4])):
            with self.subTest(arguments):
                self.assertEqual(self.config(arguments)[key], value)

    def test_values_of_a_preset_fit_what_is_typed(self):
        os.symlink(os.path.join(ROOT, "experiments"), self.path("experiments"))
        self.assertEqual(self.config("run shallow-fig06 --steps 4")["warmup-post"], [0, 4])
        self.assertEqual(self.config("run shallow-fig06")["warmup-post"], [0, 20])
        self.assertEqual(self.config("run spectral-gpt --steps 4")["one-step-at"], [4])
        changed = loads(self.run_program("run shallow-fig06 --steps 4 --dry-run").stdout)["changed"]
        self.assertIn({"name": "warmup-post", "preset": [0, 20], "run": [0, 4]}, changed)

    def test_typed_values_are_refused(self):
        for arguments, needles in (
                (f"{TRAIN} --task patches --dim 30 --heads 4", ("--heads: 4", "--dim 30")),
                (f"{TRAIN} --length 8 --pairs 4", ("--pairs 4", "--length 8")),
                (f"{TRAIN} --steps 4 --warmup 20", ("--warmup: 20", "--steps 4")),
                (f"{GPT} --dim 33", ("--dim: 33", "even")),
                (f"{GPT} --steps 4 --measure-steps 7", ("--measure-steps: 7", "--steps 4")),
                ("random-features --study stable-rank --d 2 --rank 3", ("--rank 3",))):
            with self.subTest(arguments):
                self.refused(arguments, *needles)

    def test_the_values_of_one_file_must_fit_each_other(self):
        self.write("mine.json", {"command": "rank-collapse", "title": "t", "summary": "s",
                                 "config": {"study": "train", "steps": [4], "warmup": 20}})
        self.refused(f"{TRAIN} --config mine.json", "--warmup: 20", "--steps 4")
        self.assertEqual(self.config(f"{TRAIN} --config mine.json --steps 5")["warmup"], 5)

    def test_images_of_the_user_limit_the_defaults(self):
        pixels = random.Random(1)
        for part, count in (("train", 60), ("t10k", 40)):
            images, labels = bytes(pixels.randrange(256) for _ in range(count * 9)), bytes(i % 10 for i in range(count))
            for name, sizes, content in ((f"{part}-images-idx3-ubyte.gz", (count, 3, 3), images), (f"{part}-labels-idx1-ubyte.gz", (count,), labels)):
                os.makedirs(self.path("images"), exist_ok=True)
                self.write(f"images/{name}", gzip.compress(struct.pack(f">{1 + len(sizes)}I", 0x800 + len(sizes), *sizes) + content))
        for task, key in (("pixels", "pool"), ("patches", "patch")):  # the defaults are 4 and 7
            config = self.config(f"{TRAIN} --task {task} --idx images")
            self.assertEqual((config["train-size"], config["test-size"], config[key]), (60, 40, 3))
        self.refused(f"{TRAIN} --task pixels --idx images --train-size 61", "--train-size 61 is not allowed", "60 images")
        result = self.result(f"{TRAIN} --task pixels --idx images --dim 16 --steps 2 --trials 1 --pool 1")
        self.assertEqual(result["config"]["train-size"], 60)
        self.result("rank-collapse --config out.json", name="again.json")


if __name__ == "__main__":
    unittest.main()
