"""One trial on 1 to 4 threads: its parts (parts of a batch, blocks of samples, layers of a model) give the same numbers."""
import itertools
import os
import random

from program import ProgramTest, reproducible
from stored_tensors import recording, write_pairs
from test_files import flat

GPT = "one-step-compare --study gpt --vocab char --layers 2 --dim 16 --heads 2 --context 32 --batch 40 --steps 5 --trials 1 --precision f32"
TRAIN = "rank-collapse --study train --steps 5 --dim 16 --heads 2 --batch 96 --trials 1 --precision f32"
PATCHES = TRAIN + " --task patches --train-size 192 --test-size 96 --layers 3 --variant post,pre,de-escalated"


class PartsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.draw = random.Random(1)

    def same_for_any_number_of_threads(self, arguments):
        one = reproducible(self.result_text(f"{arguments} --threads 1"))
        for threads in (2, 3, 4):
            with self.subTest(arguments, threads=threads):
                self.assertEqual(one, reproducible(self.result_text(f"{arguments} --threads {threads}")))

    def test_gpt(self):
        """Batches of 40 sequences in 5 parts; optimizers, steps along single matrices, held-out losses."""
        self.same_for_any_number_of_threads(GPT + " --optimizer adam,muon --one-step on --one-step-at 4,5")

    def test_recall(self):
        self.same_for_any_number_of_threads(TRAIN + " --model attention,linear-attention,mamba2,mamba1,s4d --lambda 1,learned")

    def test_patches(self):
        self.same_for_any_number_of_threads(PATCHES)

    def test_the_transformer_of_curvature(self):
        self.same_for_any_number_of_threads("one-step-compare --study curvature --model transformer --activation gelu --d 8 --n 2048 --layers 2"
                                            " --steps 4 --measure-steps 0,4 --trials 1")

    def test_a_network(self):
        self.same_for_any_number_of_threads("one-step-compare --study mlp --d 12 --width 24 --n 64 --steps 30 --trials 1 --precision f32")

    def test_features(self):
        """Samples in six blocks."""
        for command in ("spiked-model", "teacher-student"):
            self.same_for_any_number_of_threads(f"{command} --study features --k 24,60 --d 20 --n 5001 --trials 1")
            self.same_for_any_number_of_threads(f"{command} --study features --k 24,60 --d 20 --n 5001 --activation gelu --trials 1")

    def normal(self, rows, columns):
        return [[self.draw.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]

    def test_files(self):
        """Four layers, the most expensive not first."""
        pairs = {}
        for name, k, n, m in (("a", 30, 200, 40), ("b", 40, 300, 20), ("c", 12, 300, 12), ("d", 45, 46, 47)):
            pairs[name] = (self.normal(k, n), self.normal(m, k))
        self.same_for_any_number_of_threads(f"ranks {' '.join(write_pairs(self, pairs))}")

    def test_a_recording(self):
        """Four layers at two steps with three batches each."""
        shapes = {"fc": (6, 9), "wide": (12, 5), "square": (7, 7), "head": (20, 4)}
        os.makedirs(self.path("dump"))
        for step, batch in itertools.product((1, 5), range(3)):
            tensors = {}
            for name, (m, k) in shapes.items():
                a, e = self.normal(30, k), self.normal(30, m)
                tensors[f"{name}.gradient"] = flat([[sum(e[s][i] * a[s][j] for s in range(30)) for j in range(k)] for i in range(m)])
                tensors[f"{name}.activations"] = flat(a)
            layers = [{"name": name, "n": 30, "role": "hidden"} for name in shapes]
            self.write(f"dump/step{step}.batch{batch}.safetensors", recording(layers, tensors))
        self.same_for_any_number_of_threads("ranks --from dump")
