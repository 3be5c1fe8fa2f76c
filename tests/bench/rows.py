"""The rows of `make bench`. A row is one piece of work: our command, and a peer that does the same.

Both run on one thread, and times are CPU times. {folder} in a command is a temporary folder, into
which build/bench writes the row's inputs. A row with `steps` is a training: its time is that of one
step, the difference between a run of many steps and one of few, which leaves out the start and the
final measurements.
"""
from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple

import operations


@dataclass(frozen=True)
class Row:
    name: str  # prefix of the row's scalars
    work: str
    # Arguments of the program; if `script`, a script in tests/peers and its arguments; if `block`,
    # arguments of build/bench.
    ours: str
    peer: Optional[str] = None  # script in tests/peers with its arguments
    # Scalar or series -> largest relative difference from the peer's value. A series may have a
    # pair (difference, n): only its first n entries are compared, because later ones are chaotic.
    agree: Mapping[str, object] = field(default_factory=dict)
    needs: Mapping[str, float] = field(default_factory=dict)  # operations.py: limit -> operations
    target: Optional[float] = None  # of the ratio peer / ours
    seconds: Optional[float] = None  # target for our time
    share: Optional[float] = None  # target for the share of the machine's limit
    steps: Optional[Tuple[int, int]] = None  # few and many steps of a training
    inputs: Optional[str] = None  # arguments of build/bench that write the inputs
    script: bool = False
    block: bool = False
    full: bool = False  # only with FULL=1
    headline: bool = False  # in the README's table


def training(name, work, ours, peer, target, full=True, headline=False, needs=None):
    return Row(name, work, f"{ours} --trials 1 --precision f32", peer, needs=needs or {},
               target=target, steps=(20, 120), full=full, headline=headline)


def gpt(dim, rule, target, **options):
    return training(f"gpt-{dim}-{rule}", f"training step of a GPT, d {dim}, {rule.title()}",
                    f"one-step-compare --study gpt --measure-steps 0 --dim {dim} "
                    f"--optimizer {rule}", f"gpt.py --dim {dim} --optimizer {rule}", target,
                    needs=operations.gpt_step(dim, rule), **options)


def sequence(task, model, target, **options):
    return training(f"{task}-{model}", f"training step on {task}, {model}",
                    f"rank-collapse --study train --task {task} --model {model}",
                    f"sequence.py --task {task} --model {model}", target, **options)


def variant(task, name):
    return training(f"{task}-{name}", f"training step on {task}, 24 {name} blocks",
                    f"rank-collapse --study train --task {task} --variant {name} --layers 24",
                    f"variants.py --task {task} --variant {name}", 1.5)


def gradient_rank(figure, command, peer, samples, **options):
    """Exact closed forms in both, so every number agrees to rounding."""
    agree = {f"k{k}.{what}": 1e-9 for k in (64, 512)
             for what in ("nuclear_rank", "stable_rank_A", "nuclear_rank_W", "bulk_smallest",
                          "nuclear_rank_1_offset", "window_start", "window_end")}
    return Row(f"figure-{figure}", f"Figure {figure[:-1]} ({figure[-1]}), one seed",
               f"{command} --preset spectral-fig{figure} --trials 1", f"figure_14.py{peer}", agree,
               operations.figure_14(samples), target=1, **options)


def files(side, samples, flag="", **options):
    """With --single the peer computes in single precision, ranklab in double as always."""
    tolerance = 1e-3 if flag else 1e-9
    return Row(f"files-{side}{flag.replace('--', '-')}",
               f"files: {side} x {side}, {samples} samples" + (", peer in f32" if flag else ""),
               f"ranks --activations {{folder}}/activation{side}.safetensors"
               f" --gradients {{folder}}/gradient{side}.safetensors",
               f"files.py {{folder}}/activation{side}.npy {{folder}}/gradient{side}.npy {flag}",
               {"layer.stable_rank": tolerance, "layer.nuclear_rank": tolerance},
               operations.files(side, samples), target=1,
               inputs=f"layer {{folder}} {side} {samples}", **options)


def recorder(mode, work, target, name="", size="--steps 10"):
    return Row(f"recorder-{mode}{name}", f"training step in PyTorch, {work}",
               f"recorder.py {mode} {size}", f"recorder.py plain {size}", {"loss": 0.0},
               target=target, script=True)


SWEEP = "-3,-1,0,1,3"
ROWS = [
    Row("figure-3", "Figure 3, one seed with all restarts",
        "random-features --preset spectral-fig03 --trials 1", "figure_3.py",
        {"stable_rank_A": 1e-9, "gd.nuclear_rank_peak": 1e-9, "gd.objective_gap": 1e-9,
         "gd.nuclear_rank": 1e-9, "specgd.objective_gap": 1e-9, "specgd.nuclear_rank": 1e-9,
         "specgd_from_peak.objective_gap": 1e-9, "specgd_from_100.objective_gap": 1e-9,
         # Late iterates of GD have ill-conditioned gradients, whose polar factor is less exact.
         "specgd_from_500.objective_gap": 1e-2, "specgd_from_900.objective_gap": 1e-2},
        operations.figure_3(), target=1, seconds=5, headline=True),
    Row("figure-4", "Figure 4, one seed, 100 steps, all ranks",
        "one-step-compare --preset spectral-fig04 --trials 1 --steps 100", "figure_4.py",
        # Rounding in single precision drives the trajectories apart: SpecGD within 20 steps.
        {"gd.loss": (1e-3, 50), "gd.layer1.stable_rank": 1e-3, "gd.layer3.stable_rank": (1e-3, 50),
         "gd.W2.nuclear_rank": (1e-3, 50), "specgd.loss": (1e-3, 10),
         "specgd.layer2.stable_rank": (1e-3, 10), "specgd.W2.nuclear_rank": (1e-3, 10),
         "specgd.W3.nuclear_rank": (1e-3, 10)},
        operations.figure_4(), target=1, headline=True),
    Row("figure-12", "Figure 12, one draw", "random-features --preset spectral-fig12 --trials 1",
        "figure_12.py",
        {**{f"{sigma}.depth.stable_rank": 1e-9 for sigma in ("abs", "relu2", "gelu", "silu")},
         "silu.stable_rank_power_law": 1e-9, "relu.stable_rank_low_rank": 1e-9,
         "embedding.stable_rank": 1e-9, "embedding_rms.stable_rank": 1e-9,
         "token_indicator.stable_rank": 1e-9}, operations.figure_12(), target=1),
    gradient_rank("14a", "spiked-model", "", 21),
    gradient_rank("14b", "teacher-student", " --teacher", 21, full=True),
    Row("shallow-2", "Figure 2 of [Shallow], 10 inputs",
        "rank-collapse --preset shallow-fig02 --trials 10", "shallow_2.py",
        {"token_similarity": 1e-9, "omega": 1e-6, "delta": 1e-9,
         **{f"step{s}.xi_ratio": 1e-9 for s in (1, 2, 3, 4)}},
        operations.shallow_2(10), target=1),
    Row("mamba2-lambdas", "24 Mamba-2 blocks, d 768, five lambdas",
        "rank-collapse --study lambda-sweep --model mamba2 --layers 24 --dim 768 --tokens 128 "
        f"--lambda {SWEEP} --refine 0 --precision f32 --trials 1",
        f"depth.py mamba2 --layers 24 --lambda={SWEEP}",
        {"final.mu_normalized": 1e-5, "final.rank_one_residual": 1e-5,
         "final.cosine_similarity": 1e-3}, operations.mamba2(5, 24), target=1),
    Row("gpt2-layers", "12 GPT-2 blocks, d 768, 128 tokens",
        "rank-collapse --study layers --model gpt2 --layers 12 --dim 768 --heads 12 --tokens 128 "
        "--lambda 1 --precision f32 --trials 1", "depth.py gpt2 --layers 12 --lambda 1",
        {"lambda=1.mu_normalized": 1e-5, "lambda=1.rank_one_residual": 1e-5,
         "lambda=1.stable_rank": 1e-5}, operations.gpt2(), target=1),
    files(2048, 16384),
    files(2048, 16384, "--single", full=True),
    files(4096, 65536, full=True),
    gpt(64, "adam", 1.5, full=False),
    gpt(64, "muon", 1.5),
    gpt(128, "adam", 1.0),
    gpt(128, "muon", 1.0, full=False),
    Row("gpt2-adam", "training step of GPT-2's size, 162 M parameters, Adam", "gpt2 5",
        "gpt.py --gpt2 --steps 5 --warmup 2",
        needs=operations.gpt_step(768, "adam", layers=12, batch=4, vocabulary=50257), target=1,
        block=True, full=True, headline=True),
    sequence("recall", "attention", 1.5),
    sequence("recall", "linear-attention", None),
    sequence("recall", "mamba2", 3.0, full=False),
    sequence("recall", "mamba1", 3.0),
    sequence("recall", "s4d", 3.0),
    sequence("pixels", "attention", 1.5),
    variant("patches", "post"), variant("patches", "de-escalated"),
    variant("text", "post"), variant("text", "de-escalated"),
    recorder("record", "recorded at every step", 1 / 1.5),
    recorder("record", "d 768, recorded at every step", 1 / 1.5, "-768",
             "--steps 4 --width 768 --batch 4"),
    recorder("record", "linear layers alone, recorded at every step", 1 / 1.5, "-linear",
             "--steps 10 --linear"),
    recorder("watch", "watched at every tenth step", None),
    Row("start-up", "start of the program (--version)", "--version", seconds=0.1),
    Row("figure-16", "Figure 16, all seeds", "spiked-model --preset spectral-fig16", full=True),
    Row("ablation-s4d", "Figure 4 of [LambdaSkip], 32 inputs",
        "rank-collapse --preset lambda-skip-fig04", full=True),
    Row("tokens-linear-attention", "4096 tokens, linear attention, d 256",
        "rank-collapse --model linear-attention --tokens 4096 --layers 4 --lambda 1 --trials 1",
        full=True),
    Row("tokens-selective-ssm", "4096 tokens, selective SSM, d 256",
        "rank-collapse --model selective-ssm --tokens 4096 --layers 4 --lambda 1 --trials 1",
        full=True),
    Row("mamba2-130m", "mamba2-130m from a file, 32 sequences of 128 tokens",
        "rank-collapse --model mamba2 --weights {folder}/mamba2.safetensors --tokens 128 "
        "--lambda 1 --trials 32 --precision f32",
        needs=operations.mamba2(1, 24, sequences=32), seconds=60, full=True,
        inputs="mamba2 {folder}/mamba2.safetensors 24 768"),
    # The whole presets, in proportion: every run of one seed.
    Row("spectral-gpt", "preset spectral-gpt, one seed",
        "one-step-compare --preset spectral-gpt --trials 1", needs=operations.spectral_gpt(),
        share=0.55, full=True),
    Row("lambda-skip-fig02", "Figure 2 of [LambdaSkip], one input",
        "rank-collapse --preset lambda-skip-fig02 --trials 1 --refine 0",
        needs=operations.lambda_skip_2(), share=0.6, full=True),
    Row("figure-18b", "Figure 18 (b), one seed, 20 steps",
        "one-step-compare --preset spectral-fig18b --trials 1 --steps 20",
        needs=operations.figure_18b(20, measured=2), share=0.6, full=True),
    Row("lambda-skip-fig01", "Figure 1 of [LambdaSkip], one input",
        "rank-collapse --preset lambda-skip-fig01 --trials 1",
        needs=operations.lambda_skip_1(), share=0.6, full=True),
    Row("lambda-skip-fig03", "Figure 3 of [LambdaSkip], one input",
        "rank-collapse --preset lambda-skip-fig03 --trials 1",
        needs=operations.lambda_skip_3(), share=0.6, full=True),
    Row("lambda-skip-fig05", "preset lambda-skip-fig05, one seed, a fifth of its steps",
        "rank-collapse --preset lambda-skip-fig05 --trials 1 --steps fan:60,small:300",
        needs=operations.times(6 * (60 + 300), operations.sequence_step(32, 64, 8, 49, 32)),
        share=0.55, full=True),
    Row("gpt-measured", "GPT, one seed of Adam, 300 measured steps",
        "one-step-compare --study gpt --trials 1 --precision f32", seconds=15, full=True),
]

# Toy sizes for the tests of the scripts.
TINY = [
    Row("tiny-figure-3", "Figure 3, 20 steps",
        "random-features --preset spectral-fig03 --trials 1 --steps 20", "figure_3.py --steps 20",
        {"stable_rank_A": 1e-9, "gd.objective_gap": 1e-9, "specgd.nuclear_rank": (1e-9, 5)},
        target=1, headline=True),
    Row("tiny-training", "one training step of a GPT, d 16",
        "one-step-compare --study gpt --measure-steps 0 --dim 16 --layers 1 --trials 1",
        needs={"dgemm": 1e6}, steps=(1, 3)),
    Row("tiny-start-up", "start of the program", "--version", seconds=0.1),
]
