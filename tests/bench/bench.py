#!/usr/bin/env python3
"""Prints the table of `make bench`: building blocks, whole runs with wall time and peak memory, and training compared with PyTorch.

Usage: bench.py BUILD_FOLDER. Each measurement is printed next to its target. A missed target is not an error, because machines are
shared and noisy. Whole runs are the median of three runs; training is the best of five.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

# (name, arguments, target in seconds, target in MB). The authors' script for Figure 3 takes about 60 s per trial on 2 cores.
RUNS = (
    ("spectral-fig03, one trial", "random-features --preset spectral-fig03 --trials 1", 5.0, 200),
    ("spectral-fig11", "random-features --preset spectral-fig11", None, 200),
    ("spectral-fig12", "random-features --preset spectral-fig12", 30.0, 400),
    ("spectral-fig14a", "spiked-model --preset spectral-fig14a", 60.0, 500),
    ("spectral-fig16", "spiked-model --preset spectral-fig16", None, 500),
    ("shallow-fig02", "rank-collapse --preset shallow-fig02", 60.0, 500),
    ("lambda-skip-fig04", "rank-collapse --preset lambda-skip-fig04", None, 500),
    ("4096 tokens, linear attention, d 256", "rank-collapse --model linear-attention --tokens 4096 --layers 4 --lambda 1 --trials 1", None, 400),
    ("4096 tokens, selective SSM, d 256", "rank-collapse --model selective-ssm --tokens 4096 --layers 4 --lambda 1 --trials 1", None, 400),
    ("spectral-fig04, one trial, every rank at every step", "one-step-compare --preset spectral-fig04 --trials 1", 40.0, 300),
    ("files, 4096 x 4096, 65536 samples, f32", "one-step-compare --study files --pair layer,{folder}/activation.npy,{folder}/gradient.npy", 120.0, 4000),
    ("mamba2-130m, 32 sequences of 128 tokens, f32", "rank-collapse --model mamba2 --weights {folder}/mamba2.safetensors --tokens 128 --lambda 1 --trials 32 --precision f32", 60.0, 1000),
    ("gpt, one seed of Adam, 300 measured steps", "one-step-compare --study gpt --trials 1 --precision f32", 15.0, 300),
    ("start-up (--version)", "--version", 0.1, 60),
)

# (name, arguments, script in tests/peers with its arguments, target of the ratio)
TRAINING = [
    (f"gpt, d {dim}, {rule}", f"one-step-compare --study gpt --measure-steps 0 --dim {dim} --optimizer {rule}", f"gpt.py --dim {dim} --optimizer {rule}", target)
    for dim, target in ((64, 1.5), (128, 1.0)) for rule in ("adam", "muon")
] + [
    (f"{task}, {model}", f"rank-collapse --study train --task {task} --model {model}", f"sequence.py --task {task} --model {model}", target)
    for task, model, target in (("recall", "attention", 1.5), ("recall", "linear-attention", None), ("recall", "mamba2", 3.0), ("recall", "mamba1", 3.0), ("recall", "s4d", 3.0), ("pixels", "attention", 1.5))
] + [
    (f"{task}, {variant}, 24 blocks", f"rank-collapse --study train --task {task} --variant {variant} --layers 24", f"variants.py --task {task} --variant {variant}", 1.5)
    for task in ("patches", "text") for variant in ("post", "de-escalated")
]


def measure_process(binary, arguments, folder):
    """Wall time in seconds and peak resident memory in MB of one process."""
    words = arguments.format(folder=folder).split()
    if not arguments.startswith("--"):
        words += ["--quiet", "--force", "--out", os.path.join(folder, "out.json")]
    start = time.monotonic()
    process = subprocess.Popen([binary] + words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{arguments}: exit {process.returncode}")
    return time.monotonic() - start, usage.ru_maxrss / 1000


def training_seconds(binary, arguments, steps, folder):
    """Seconds of one training run on one thread, without setup and output."""
    measure_process(binary, f"{arguments} --trials 1 --threads 1 --precision f32 --steps {steps}", folder)
    with open(os.path.join(folder, "out.json")) as file:
        return json.load(file)["timing"]["trials_s"]


def compare_with_pytorch(binary, folder):
    """Compares training speed with PyTorch: one thread each, alternating, the best of five. The time of a run with few steps is subtracted
    from that of a run with many steps, which removes the measurements at the start and at the end."""
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        return print("\nPyTorch (python3-torch) is not installed: no comparison of training speed")
    print(f"\n{'training, steps per second on one thread':46} {'ranklab':>8} {'PyTorch':>8} {'ratio':>6} {'target':>8}")
    peers = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers")
    # PyTorch does not change the threads of OpenBLAS.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    few, many = 20, 120
    for what, arguments, peer, target in TRAINING:
        script, *flags = peer.split()
        command = ["/usr/bin/python3", os.path.join(peers, script), *flags]
        short, long, theirs = [], [], []
        for _ in range(5):
            short.append(training_seconds(binary, arguments, few, folder))
            long.append(training_seconds(binary, arguments, many, folder))
            theirs.append(float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout))
        a, b = (many - few) / (min(long) - min(short)), max(theirs)
        print(f"{what:46} {a:8.1f} {b:8.1f} {a / b:6.2f} {f'> {target:g}' if target else '-':>8}", flush=True)


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    subprocess.run([os.path.join(build, "ranklab"), "--version"], check=True)
    print()
    for line in subprocess.run([os.path.join(build, "bench")], check=True, capture_output=True, text=True).stdout.splitlines():
        name, value, unit = line.split("\t")
        print(f"{name:46} {value:>8} {unit}")
    print(f"\n{'whole runs (median of three)':46} {'seconds':>8} {'target':>8} {'MB':>6} {'target':>8}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(build, "bench"), folder], check=True)
        for what, arguments, seconds, megabytes in RUNS:
            runs = [measure_process(os.path.join(build, "ranklab"), arguments, folder) for _ in range(3)]
            target = f"< {seconds:g}" if seconds else "-"
            print(f"{what:46} {statistics.median(r[0] for r in runs):8.2f} {target:>8} {max(r[1] for r in runs):6.0f} {'< %d' % megabytes:>8}")
        compare_with_pytorch(os.path.join(build, "ranklab"), folder)


if __name__ == "__main__":
    main()
