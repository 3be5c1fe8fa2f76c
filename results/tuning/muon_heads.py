#!/usr/bin/env python3
"""Tunes the learning rates of muon-heads and muon-heads-facts: trains every point of a fixed grid
on a seed that no preset uses, and writes muon-heads.csv next to this file. Its columns are the text,
the run, its rates, and the final held-out loss in nats.

    RANKLAB=build/ranklab python3 results/tuning/muon_heads.py     # 20 minutes on one core
"""
import csv
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

RANKLAB = os.environ.get("RANKLAB", "build/ranklab")
WAYS = ["whole", "heads", "q=heads+k=heads", "v=heads+o=heads", "v=heads", "fused"]
GRIDS = {
    "Bible": {
        "flags": [],
        "adam": {"lr-adam": [0.0025, 0.005, 0.01, 0.02],
                 "lr-embedding": [0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]},
        "muon": {"lr-muon": [0.005, 0.01, 0.02, 0.04], "lr-embedding": [0.0125, 0.025, 0.05, 0.1]}},
    "facts": {
        "flags": ["--text", "zipf-facts"],
        "adam": {"lr-adam": [0.0025, 0.005, 0.01],
                 "lr-embedding": [0.0025, 0.005, 0.01, 0.025, 0.05]},
        "also adam": {"lr-adam": [0.02], "lr-embedding": [0.02]},  # 0.01 for both was at the end
        "muon": {"lr-muon": [0.005, 0.01, 0.02, 0.04], "lr-embedding": [0.0125, 0.025, 0.05]}},
}


def runs(grid):
    """Each run and its rates."""
    for key, ways in (("adam", ["whole"]), ("also adam", ["whole"]), ("muon", WAYS)):
        rates = grid.get(key, {"lr-adam": []})
        optimizer = key.split()[-1]
        for way in ways:
            for values in itertools.product(*rates.values()):
                run = optimizer + ("" if way == "whole" else ",muon-parts=" + way)
                yield run, dict(zip(rates, values))


def main():
    rows = []
    for text, grid in GRIDS.items():
        words = {run + "".join(f",{key}={value}" for key, value in rates.items()): (run, rates)
                 for run, rates in runs(grid)}
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "result.json")
            # The first run has a rate that no point of the grid has.
            subprocess.run([RANKLAB, "one-step-compare", "--study", "gpt", "--precision", "f32",
                            *grid["flags"], "--lr-adam", "0.001", "--measure-steps", "300",
                            "--seed", "0", "--trials", "1", *(f"--also={word}" for word in words),
                            "--quiet", "--out", out], check=True)
            scalars = json.loads(out.read_text())["scalars"]
        for word, (run, rates) in words.items():
            loss = scalars[word + ".final_validation_loss"]["mean"]
            rows.append([text, run, rates.get("lr-adam", ""), rates.get("lr-muon", ""),
                         rates["lr-embedding"], f"{loss:.4f}"])
    with open(pathlib.Path(__file__).with_name("muon-heads.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow("text run lr_adam lr_muon lr_embedding loss".split())
        table.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
