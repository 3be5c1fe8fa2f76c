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

    def write_preset(self, name, **config):
        self.write(name, {"command": "rank-collapse", "title": "t", "summary": "s", "config": dict({"study": "train"}, **config)})

    def notes(self, arguments):
        return loads(self.run_program(f"{arguments} --dry-run").stdout)["notes"]

    def test_a_value_of_the_users_file_never_gives_way(self):
        self.write_preset("mine.json", steps=[4], warmup=20)
        refusal = "with --config mine.json: --warmup: 20 is not allowed; allowed: at most --steps"
        self.refused(f"{TRAIN} --config mine.json", f"{refusal} 4")
        self.refused(f"{TRAIN} --config mine.json --steps 5", f"{refusal} 5")
        self.assertEqual(self.config(f"{TRAIN} --config mine.json --warmup 3")["warmup"], 3)  # a flag decides
        self.write_preset("mine.json", task="patches", heads=5)
        self.refused(f"{TRAIN} --config mine.json --dim 24", "with --config mine.json: --heads: 5 does not divide --dim 24")
        self.write_preset("mine.json", task="patches", dim=30)  # the program's default of 4 heads gives way to a file, too
        self.assertEqual(self.config(f"{TRAIN} --config mine.json")["heads"], 3)
        self.write_preset("mine.json", heads=0)
        self.refused(f"{TRAIN} --config mine.json", "--config mine.json: heads: '0' is not allowed; allowed: integer from 1")

    def test_a_preset_that_the_user_wrote_is_no_preset_of_the_program(self):
        with open(os.path.join(ROOT, "experiments", "shallow-fig06.json"), encoding="utf-8") as file:
            text = file.read()
        os.mkdir(self.path("experiments"))
        self.write("experiments/shallow-fig06.json", text)  # a copy
        self.assertEqual(self.config("run shallow-fig06 --steps 4")["warmup-post"], [0, 4])
        preset = loads(text)
        preset["config"]["warmup-post"] = [0, 30]
        for name in ("shallow-fig06", "mine"):
            self.write(f"experiments/{name}.json", preset)
            self.refused(f"run {name} --steps 4", f"with preset {name}: --warmup-post: 30 is not allowed; allowed: at most --steps 4")
            self.assertEqual(self.notes(f"run {name}"), [])

    def test_the_run_says_what_gives_way(self):
        os.symlink(os.path.join(ROOT, "experiments"), self.path("experiments"))
        for arguments, beginning in ((f"{TRAIN} --task patches --dim 30", "Assumed: --heads 3 instead of the default 4, because "),
                                     ("run shallow-fig06 --steps 4", "Assumed: --warmup-post 0,4 instead of 0,20 of preset shallow-fig06, because ")):
            notes = self.notes(arguments)
            self.assertEqual(len(notes), 1)
            self.assertTrue(notes[0].startswith(beginning), notes)
        self.assertEqual(self.notes("run shallow-fig06"), [])
        run = f"{TRAIN} --task recall --model attention --dim 16 --batch 2 --length 8 --steps 2 --trials 2"
        note = "Assumed: --pairs 2 instead of the default 4, because --pairs 4 is not allowed; allowed: 1 to 2, a quarter of --length 8."
        summary = self.run_program(f"{run} --out out.json").stdout
        self.assertEqual([line for line in summary.splitlines() if "assumed" in line], ["  assumed         " + note[len("Assumed: "):]])
        notes = loads(self.read("out.json"))["notes"]
        self.assertEqual([text for text in notes if text.startswith("Assumed")], [note])
        # A replay has the same notes, so that verify finds the same result. Parts of a run have them, too.
        self.assertEqual(self.result("rank-collapse --config out.json", name="again.json")["notes"], notes)
        self.assertIn("reproduced bit for bit", self.run_program("verify out.json").stdout)
        for i in (1, 2):
            self.run_program(f"{run} --shard {i}/2 --out {i}.part")
        self.run_program("merge 1.part 2.part --out merged.json")
        self.assertEqual(loads(self.read("merged.json"))["notes"], notes)
        # The values of a result are explicit.
        self.refused("rank-collapse --config out.json --length 4", "with --config out.json: --pairs 2 is not allowed")

    def test_a_value_without_effect_is_named(self):
        self.write_preset("mine.json", task="text", pairs=7, dim=32)
        self.assertEqual(self.notes(f"{TRAIN} --config mine.json"),
                         ["Caution: --config mine.json: pairs has no effect in this run; it needs --task recall."])
        config = self.config(f"{TRAIN} --task text")
        self.write("all.json", {"command": "rank-collapse", "title": "t", "summary": "s", "config": config})
        self.assertEqual(self.notes(f"{TRAIN} --config all.json"), [])

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
